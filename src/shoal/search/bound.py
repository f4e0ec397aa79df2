"""A lower bound: no release of this table, whoever makes it, can lose less.

The claim: let c(x) be the least cost of any closure that covers row x and at least k rows of the
table. Then every k-anonymous release loses at least Σ_x c(x), because

1. a published row x lies in a group of at least k rows, and what is published for it covers the
   closure C of that group, which covers x and at least k rows: x pays at least cost(C) ≥ c(x)
   (costs never fall when a closure grows);
2. a suppressed row pays for "everything", which covers all rows.

c(x) itself is bounded from below, in two ways of which the better counts.

* Nearest rows: C covers x and k − 1 other rows; with each of them alone, x already costs at most
  cost(C); so c(x) ≥ the (k−1)-th smallest join of x with another row.
* Counting by what stays exact: C lies, in every tree, some number of levels above x, and covers
  only rows that part from x within these levels. Let L be these levels, cost(L) what they cost,
  and rest(C) what C costs in all columns that are no trees. Of the rows that fit L, C covers k
  (x among them), and rest(C) ≥ rest(x ∪ i) for each; so cost(C) ≥ cost(L) + the k-th smallest
  rest(x ∪ i) among the rows i that fit L, and c(x) ≥ the least of these over all L. A flat column
  is a tree of one level, so L is a subset of the flat columns that stay exact and the count is
  that of the rows that agree with x on them. The join with one such row costs cost(its own
  levels) + rest ≤ cost(L) + rest, so this is never below the first bound; where it would take
  too long for a row, the first one is used.

Equal rows have equal c(x), so each distinct tuple is searched once.

The others of its group pay, too. Charge every row x a price y(x). Prices are fair if in every
possible group C, Σ y(x) over its rows ≤ |C| · cost(C), and no price exceeds what a suppressed row
pays; then every release loses at least Σ y(x), as its groups and suppressed rows together lose at
least what they are charged. y = c is fair. Raising y(x) by the least slack |C| · cost(C) − Σ y
over the groups C that x could be in keeps prices fair, and that slack is bounded from below: C
costs some D per row, D ≥ join of x and i and D ≥ c(i) for each row i of it, and holds k − 1 rows
besides x; so the slack is at least D − y(x) + Σ (D − y(i)) over the k − 1 rows of highest price
among those with max(join, c(i)) ≤ D, and over any further ones priced above D. The least of that
over all D is what y(x) is raised by, row after row, the dearest first. Rows far from everybody are
charged for the k − 1 neighbours that they draw into a group far too dear for these.

Integers of the search that are rounded (see `shoal.search.scan`) are lowered by the largest
possible error, so that the result stays a bound.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, OptionError, PromiseError
from shoal.kernels.bound import PriceScratch, raise_prices
from shoal.kernels.callers import door
from shoal.kernels.space import COST
from shoal.measure.base import (
    CostMeasure,
    CostModel,
    CountForm,
    IndicatorForm,
    LinearForm,
    LogForm,
    TreeForm,
)
from shoal.measure.scores import create_measure
from shoal.runtime.threads import Pieces
from shoal.search.blocked import BlockedRows
from shoal.search.scan import Scanner
from shoal.search.suppress import everything_cost
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from shoal.measure.base import Form
    from shoal.table.encode import EncodedTable


BLOCK_ROWS = 64
AROUND = 128
WORK = 8_000_000_000
"""Comparisons for all tuples together; beyond a tuple's share its nearest rows decide."""
RAISE_WORK = 2_000_000_000
"""Comparisons for raising prices; with more, the dearest rows alone are raised."""
MOST_EXTRA = 64
MOST_WORK = 1_000_000
"""Comparisons for one tuple at most."""
SLICE = 256
N_BUCKETS = 4096


@door
def lower_bound(  # noqa: PLR0913 - the arguments of anonymize that matter here
    frame: Any,
    k: int,
    *,
    quasi_identifiers: str | Iterable[str],
    sensitive: str | Iterable[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    kinds: Mapping[str, Any] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    weights: Mapping[str, float] | None = None,
    grid: Mapping[str, Any] | str | None = None,
    default_grid: bool = True,
    measure: str = "ncp",
    measure_options: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> float:
    """Return a loss that no k-anonymous release of the table can be below.

    The unit is that of the measure's score, so ``release.scores["ncp"] / lower_bound(...)`` says
    how many times the best possible loss a release has at most. Privacy models beyond k can only
    make a release lose more, so the bound holds for them too. The proof is in `shoal.search.bound`.

    Args:
        frame: the *original* table (pandas, polars or pyarrow).
        k: smallest allowed group, at least 2.
        quasi_identifiers: as in `anonymize`.
        sensitive: as in `anonymize`; changes nothing here.
        hierarchies: as in `anonymize`.
        kinds: as in `anonymize`.
        orders: as in `anonymize`.
        weights: as in `anonymize`.
        grid: as in `anonymize`.
        default_grid: as in `anonymize`.
        measure: what the release minimises; one that never falls when groups grow.
        measure_options: options of that measure.
        threads: how many threads may be used; all cores by default.

    Raises:
        OptionError: k or an option is wrong, or the measure has no such bound.
        PromiseError: the table has fewer than k rows.
        ShoalError: the table or a column is wrong.
    """
    import narwhals as nw

    from shoal.table.encode import encode
    from shoal.table.frames import to_polars
    from shoal.table.infer import schema_of_used

    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 2:
        raise OptionError("k must be a whole number of at least 2, got {k!r}.", k=k)
    found = create_measure(measure, measure_options)
    table = to_polars(frame)
    schema = schema_of_used(
        nw.from_native(table),
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        hierarchies=hierarchies,
        kinds=kinds,
        orders=orders,
        weights=weights,
        grid=grid,
        default_grid=default_grid,
    )
    if table.height == 0:
        raise DataError("The table has no rows; there is nothing to bound.")
    return bound_table(encode(table, schema), int(k), found, threads)


def bound_table(
    table: EncodedTable,
    k: int,
    measure: object,
    threads: int | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> float:
    """Return the bound for an encoded table, in the unit of the measure's score.

    Raises:
        OptionError: the measure is none that can be bounded.
        PromiseError: the table has fewer than k rows.
    """
    checked = check_measure(measure)
    if table.n_rows < k:
        raise PromiseError(
            "The table has {n_rows} rows, fewer than k = {k}, so no k-anonymous release "
            "exists; lower k or add rows.",
            n_rows=table.n_rows,
            k=k,
        )
    model = CostModel.bind(checked, table)
    distinct = Partition.of_equal_rows([attribute.codes for attribute in table.attributes])
    mult, tuples = distinct.sizes, table.take(distinct.heads)
    scanner = Scanner.build(tuples, model)
    costs, order = _least_costs(tuples, scanner, mult, k, threads, progress)
    least = np.empty(len(mult), np.int64)
    least[order] = costs
    prices = _raise(scanner, distinct.labels, least, k, progress)
    units = float(np.sum(prices)) - table.n_rows * _rounding(model, scanner.scale)
    constants = [checked.constant(attribute) for attribute in table.attributes]
    # sums of millions of floats are off in the last digits, and so is the score
    total = units / scanner.scale * (1 - 1e-12) - float(np.sum(model.weights * constants))
    if checked.per_cell:
        total /= table.n_rows * float(np.sum(model.weights))
    return max(total - 1e-12 * abs(total), 0.0)


def _raise(
    tuples: Scanner,
    labels: NDArray[np.int32],
    least: NDArray[np.int64],
    k: int,
    progress: Callable[[int, int, str], None] | None,
) -> NDArray[np.int64]:
    """Return prices of all rows: what each costs at least, and more where its group must pay it.

    Args:
        tuples: the distinct tuples.
        labels: the tuple of each row.
        least: what a group of each tuple costs per row at least.
        k: smallest group.
        progress: whom to tell.
    """
    scanner, floor = tuples.take(labels), least[labels]
    n, prices = scanner.n_rows, floor.copy()
    scratch = PriceScratch(
        scanner.query(),
        np.empty(n, COST),
        np.empty(n, np.int64),
        np.empty(N_BUCKETS, np.int64),
        np.empty(n, np.int64),
        np.empty(k - 1, np.int64),
        np.empty(MOST_EXTRA, np.int64),
    )
    # the dearest rows first: their groups have the largest slack; of equals by what they are, so
    # that the bound depends on the rows and not on their order
    order = np.lexsort((labels, -floor))[: max(RAISE_WORK // n, 1)]
    everything = int(everything_cost(scanner)[0])
    for start in range(0, len(order), SLICE):
        if progress is not None:
            progress(start, len(order), "raising the bound")
        part = order[start : start + SLICE]
        raise_prices(scanner.records, part, k, everything, floor, prices, scratch)
    return prices


def check_measure(measure: object) -> CostMeasure:
    """Return the measure if it never falls when a closure grows.

    Raises:
        OptionError: it is a score without a cost, of means, or looks at the sensitive column.
    """
    if not isinstance(measure, CostMeasure):
        name = getattr(measure, "name", "")
        raise OptionError(
            "Measure {name!r} is a score and has no lower bound; choose one such as 'ncp', "
            "'lm' or 'mi'.",
            name=name,
        )
    if measure.of_means:
        raise OptionError(
            "Measure {name!r} is of means, not of intervals, so no lower bound is known for "
            "it; choose one such as 'ncp', 'lm' or 'mi'.",
            name=measure.name,
        )
    if measure.needs_sensitive:
        raise OptionError(
            "Measure {name!r} may fall when groups grow, so no lower bound is known for it; "
            "choose one such as 'ncp', 'lm' or 'mi'.",
            name=measure.name,
        )
    return measure


def gap_of(loss: float, bound: float) -> float:
    """Return loss ÷ bound: how many times the best possible loss this is at most."""
    if bound > 0:
        return max(loss / bound, 1.0)
    return 1.0 if loss <= 1e-12 else float("inf")


def _least_costs(
    table: EncodedTable,
    scanner: Scanner,
    mult: NDArray[np.int64],
    k: int,
    threads: int | None,
    progress: Callable[[int, int, str], None] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the bound of one row of each tuple, in integers, and the order they stand in."""
    from shoal.kernels.bound import least_closures

    rows = BlockedRows.cut(table, scanner, BLOCK_ROWS)
    ordered = mult[rows.blocks.ids]
    n = len(ordered)
    out = np.empty(n, np.int64)
    share = min(MOST_WORK, WORK // n)

    def work(scratch: tuple[Any, Any], start: int) -> None:
        query, room = scratch
        least_closures(
            scanner.space, rows.blocks, ordered, AROUND, start,
            min(n, start + SLICE), k, share, query, room, out,
        )  # fmt: skip

    starts = range(0, n, SLICE)
    count = max(1, min(threads or os.cpu_count() or 1, len(starts)))
    idle = [(scanner.query(), _scratch(scanner, rows, n)) for _ in range(count)]

    def one(start: int) -> None:
        mine = idle.pop()  # as many as threads, and a list is safe to share
        try:
            work(mine, start)
        finally:
            idle.append(mine)

    done = 0
    with Pieces[None](count) as pieces:
        for ended in pieces.ends([partial(one, start) for start in starts]):
            done += SLICE * len(ended)
            if progress is not None:
                progress(min(done, n), n, "bounding")
    return out, rows.blocks.ids


def _scratch(scanner: Scanner, rows: BlockedRows, n: int) -> Any:
    from shoal.kernels.bound import BoundScratch

    first = scanner.space.tree_first
    n_trees = len(first) - 1
    levels = int(np.diff(first).max()) if n_trees else 0
    return BoundScratch(
        np.empty(max(rows.longest, BLOCK_ROWS), COST),
        np.empty(rows.n_blocks, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty((n_trees, n), np.uint8),
        np.zeros((n_trees, levels + 1), np.int64),
        np.empty((n_trees + 1, n), np.int64),
        np.empty(n_trees + 1, np.int64),
        np.empty(n_trees + 1, np.int64),
        np.empty(n_trees + 1, np.int64),
        np.empty(N_BUCKETS, np.int64),
        np.empty(n_trees, np.int64),
    )


def _rounding(model: CostModel, scale: float) -> float:
    """Return how much the integer cost of a row may exceed its true cost, 0 where it is exact."""
    error = 0.0
    for weight, form in zip(model.weights, model.forms, strict=True):
        # both ends of an interval are rounded on their own; anything else once
        if any(abs(v - round(v)) > 1e-6 for v in _charges(form) * float(weight) * scale):
            error += 1.0 if isinstance(form, LinearForm) else 0.5
    return error


def _charges(form: Form) -> NDArray[np.float64]:
    if isinstance(form, TreeForm):
        return np.unique(form.node)
    if isinstance(form, LinearForm):
        upper = form.position if form.upper is None else form.upper
        return np.concatenate((form.position, upper, [form.full]))
    if isinstance(form, CountForm):
        return np.array([form.unit, form.full])
    if isinstance(form, IndicatorForm):
        return np.array([form.full])
    assert isinstance(form, LogForm)
    return np.array([0.25])  # logarithms are never whole
