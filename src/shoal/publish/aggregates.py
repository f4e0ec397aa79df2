"""`Facts`: counts and shares of a run, taken while the original table is at hand.

The release does not keep the original, and the report needs a few things about it. Facts hold
these and nothing else: aggregates over published rows, and labels that are part of a published
cell (the rules are in `shoal.publish.aggregates`). No value that is not published, nothing about
one row, and nothing at all about rows that were left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.hierarchy import canonical_label
from shoal.measure.scores import Scores
from shoal.messages import Message, plural
from shoal.publish.loss import (
    covered_shares,
    is_stretched,
    ordered_sum,
    public_scores,
)
from shoal.publish.recode import unite_equal
from shoal.table.closure import IntervalClosures, SetClosures, TreeClosures, shown
from shoal.table.schema import Algebra, Kind

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.recode import Style
    from shoal.table.closure import Closures
    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.grid_cells import Cells
    from shoal.table.partition import Partition


# How the values of a column were spread before and after, told in published labels only.
#
# Two rules keep the picture from telling more than the release:
#
# 1. *Labels.* A value, a label or a bound may be named only if it is (part of) a published cell.
#    Values that were generalised away are counted under the closest label that was published.
# 2. *Counts.* A bar stands for at least k published rows as they were before. Bars that would
#    stand for fewer are joined with a neighbour (or the next coarser label), or left out.
#
# Suppressed rows are in no bar, and shares are rounded to whole per cents.

MOST_BARS = 12
BELOW_HALF = 0.002
_HIDDEN = Message("not published")
_MISSING = Message("missing")

Floats = np.ndarray[Any, np.dtype[np.float64]]
_CLOCK = re.compile(r" \d{2}:\d{2}:\d{2}(?:\.\d+)?")
_MIDNIGHT = " 00:00:00"

Counted = tuple[str, float, float]
"""Label, rows before, rows after."""


@dataclass(frozen=True)
class Bar:
    """Share of the published rows under one label, before and after, in whole per cents.

    `BELOW_HALF` stands for every share that would be rounded to none.
    """

    label: str
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class _Pieces:
    """What the groups publish on the number line: from where to where, and for how many rows."""

    start: Floats
    stop: Floats
    rows: Floats


@dataclass(frozen=True, eq=False)
class _Edges:
    """Published positions at which bars may begin, and how each of them is published."""

    position: Floats
    label: Callable[[int], str]
    open_below: bool = False
    open_above: bool = False

    def coded(self, number: int) -> str:
        """Return how an edge is published where it may stand for all beyond it."""
        if not (self.open_below or self.open_above):
            return self.label(number)
        from shoal.table.coding import BOTTOM, TOP

        if number == 0 and self.open_below:
            return BOTTOM.format(self.label(number))
        last = number == len(self.position) - 1
        return TOP.format(self.label(number)) if last and self.open_above else self.label(number)


@dataclass(frozen=True, eq=False)
class GroupedColumn:
    """A quasi-identifier before and after.

    Attributes:
        attribute: the column.
        closures: what is published in it ("everything" last).
        sizes: how many rows publish each closure.
        before: published rows of each original value, missing last.
        centres: the means or medians that are published, with how many rows have each (``count``);
            None for a column that publishes none.
        k: the fewest rows that a bar may stand for.
        style: how cells are written.
    """

    attribute: Attribute
    closures: Closures
    sizes: NDArray[np.int64]
    before: NDArray[np.int64]
    centres: pl.DataFrame | None
    k: int
    style: Style


def compare_bars(column: GroupedColumn) -> tuple[Bar, ...]:
    """Return the bars of one column."""
    attribute, closures, sizes = column.attribute, column.closures, column.sizes
    n_groups, n_rows = len(sizes), int(sizes.sum())
    counted = _BARS[closures.algebra](column)
    missing = int(column.before[attribute.size])
    if missing >= column.k:
        missing_after = int(sizes[closures.missing(attribute)[:n_groups]].sum())
        counted.append((_MISSING, missing, missing_after))
    shares = [(label, was / n_rows, now / n_rows) for label, was, now in counted]
    return tuple(
        Bar(label, *(round(x, 2) or (BELOW_HALF if x > 1e-9 else 0.0) for x in was_and_now))
        for label, *was_and_now in shares
    )


# -- numbers, dates and ordered values ---------------------------------------------------


def _interval_bars(column: GroupedColumn) -> list[Counted]:
    attribute, closures, sizes = column.attribute, column.closures, column.sizes
    place = attribute.positions
    assert place is not None
    assert isinstance(closures, IntervalClosures)
    n_groups = len(sizes)
    everything = closures.everything[:n_groups]
    shown = ~everything & (closures.low[:n_groups] < attribute.size)
    # Whole numbers and days fill the gap to the next one; [3-5] is three values, not two.
    unit = 1.0 if bool(np.all(place == np.floor(place))) else 0.0
    cells = attribute.cells
    if cells is not None:
        unit = float(cells.closed)
    if column.centres is not None:
        pieces, edges = _centres(column.centres)
    else:
        low, high = closures.low[:n_groups][shown], closures.high[:n_groups][shown]
        codes = np.unique(np.concatenate((low, high)))
        stop = place if cells is None else cells.upper_positions
        pieces = _Pieces(place[low], stop[high] + unit, sizes[shown].astype(np.float64))
        edges = _Edges(
            place[codes], lambda number: _value_label(attribute.values, int(codes[number]))
        )
        if cells is not None and len(low):
            edges = _grid_edges(attribute, cells, low, int(high.max()))
        if len(codes):
            edges = replace(
                edges,
                open_below=attribute.open_below and codes[0] == 0,
                open_above=attribute.open_above and codes[-1] == attribute.size - 1,
            )
    counted: list[Counted] = []
    if len(edges.position):
        counted = _bins(attribute, pieces, edges, column.before[: attribute.size], column.k, unit)
    if everything.any():
        counted.append((_HIDDEN, 0, int(sizes[everything].sum())))
    return counted


def _grid_edges(attribute: Attribute, cells: Cells, low: NDArray[np.int32], last: int) -> _Edges:
    """Return the lower ends that are published, and the highest upper end."""
    assert attribute.positions is not None
    codes = np.unique(low)
    position = attribute.positions[codes]
    if cells.upper_positions[last] > position[-1]:
        position = np.append(position, cells.upper_positions[last])

    def label(number: int) -> str:
        if number < len(codes):
            return _value_label(attribute.values, int(codes[number]))
        return _value_label(cells.upper, last)

    return _Edges(position, label)


def _centres(counts: pl.DataFrame) -> tuple[_Pieces, _Edges]:
    """Return what a column of means or medians publishes: points."""
    counts = counts.sort(counts.columns[0])
    values = counts.to_series(0).to_list()
    points = np.array([float(value) for value in values])
    rows = counts.get_column("count").to_numpy().astype(np.float64)
    return _Pieces(points, points, rows), _Edges(points, lambda n: canonical_label(values[n]))


def _bins(
    attribute: Attribute,
    pieces: _Pieces,
    edges: _Edges,
    before: NDArray[np.int64],
    k: int,
    unit: float,
) -> list[Counted]:
    place = attribute.positions
    assert place is not None
    at = edges.position
    targets = np.linspace(at[0], at[-1], MOST_BARS) if len(at) > MOST_BARS else at
    chosen = np.unique(np.searchsorted(at, targets, side="right") - 1).tolist()
    rows = np.bincount(
        np.searchsorted(at[chosen[1:]], place, side="right"),
        weights=before,
        minlength=len(chosen),
    ).astype(np.int64)
    starts, counts = _join_small(chosen, rows.tolist(), k)
    below = np.array([_mass_below(pieces, at[start]) for start in starts[1:]])
    total = float(pieces.rows.sum())
    after = np.diff(np.concatenate(([0.0], below, [total])))
    filled = np.flatnonzero(before)
    reaches_below = bool(len(filled) and place[filled[0]] < at[0])
    reaches_above = bool(len(filled) and place[filled[-1]] > at[-1])
    dates = not attribute.kind.has_mean

    def label(number: int) -> Message:
        start = starts[number]
        first, open_below = edges.coded(start), number == 0 and reaches_below
        if number < len(starts) - 1:
            stop = starts[number + 1]
            single = bool(unit) and at[stop] == at[start] + 1
            return _below(first, edges.label(stop), single, open_below, dates)
        if open_below:
            return Message("all values")
        if reaches_above:
            return Message("{first} and above", first=first)
        if start == len(at) - 1:
            return Message("{first}", first=first)
        return Message("{first} to {last}", first=first, last=edges.coded(len(at) - 1))

    labels = [label(number) for number in range(len(counts))]
    clocks = _CLOCK.findall(" ".join(labels)) if attribute.kind is Kind.DATETIME else []
    if set(clocks) == {_MIDNIGHT}:  # days are meant, and labels are short on paper and phones
        labels = [each.mapped(lambda text: text.replace(_MIDNIGHT, "")) for each in labels]
    return list(zip(labels, counts, after.tolist(), strict=True))


def _below(first: str, end: str, single: bool, open_below: bool, dates: bool) -> Message:  # noqa: FBT001 - of `_bins` only
    """Return the label of a bar that ends before a number or a date."""
    if open_below:
        return Message("before {end}", end=end) if dates else Message("under {end}", end=end)
    if single:
        return Message("{first}", first=first)
    if dates:
        return Message("{first} to before {end}", first=first, end=end)
    return Message("{first} to under {end}", first=first, end=end)


def _join_small(starts: list[int], counts: list[int], k: int) -> tuple[list[int], list[int]]:
    """Join bars of fewer than k rows with their smaller neighbour."""
    starts, counts = list(starts), list(counts)
    while len(counts) > 1 and min(counts) < k:
        least = counts.index(min(counts))
        right = least == 0 or (least < len(counts) - 1 and counts[least + 1] < counts[least - 1])
        gone = least + 1 if right else least
        counts[gone - 1] += counts.pop(gone)
        starts.pop(gone)
    return starts, counts


def _mass_below(pieces: _Pieces, cut: float) -> float:
    """Return the rows below a cut if those of a piece are spread evenly over it."""
    width = pieces.stop - pieces.start
    wide = width > 0
    share = np.where(
        wide,
        np.clip(cut - pieces.start, 0.0, width) / np.where(wide, width, 1.0),
        pieces.start < cut,
    )
    # Sorted, so that no rounding tells how the run has numbered its groups.
    return float(np.sum(np.sort(pieces.rows * np.clip(share, 0.0, 1.0))))


def _value_label(values: Sequence[Any], code: int) -> str:
    import polars as pl

    if isinstance(values, pl.Series) and values.dtype == pl.Float32:
        return canonical_label(np.float32(values[code]))  # its short text, as it is published
    return canonical_label(values[code])


# -- hierarchies, flat columns and sets --------------------------------------------------


def _tree_bars(column: GroupedColumn) -> list[Counted]:
    attribute, closures, sizes = column.attribute, column.closures, column.sizes
    tree = attribute.taxonomy
    assert tree is not None
    assert isinstance(closures, TreeClosures)
    node = closures.node[: len(sizes)]
    known = node < tree.n_nodes
    after = np.bincount(node[known], weights=sizes[known], minlength=tree.n_nodes)
    leaves, inner = np.arange(tree.n_leaves), np.arange(tree.n_leaves, tree.n_nodes)
    down = inner[np.argsort(tree.depth[inner], kind="stable")].tolist()
    home = np.full(tree.n_nodes + 1, -1, dtype=np.int64)  # closest published label at or above
    over = np.append(tree.parent, -1)
    over[tree.root] = tree.n_nodes  # which has no home
    for each in down:
        home[each] = each if after[each] > 0 else home[over[each]]
    home[leaves] = np.where(after[leaves] > 0, leaves, home[over[leaves]])
    was = np.zeros(tree.n_nodes + 1, dtype=np.int64)
    np.add.at(was, home[leaves], column.before[leaves])  # no home at all: the last place
    for each in reversed(down):
        if was[each] < column.k:
            was[home[over[each]]] += was[each]
            was[each] = 0
    plain = attribute.kind is not Kind.CATEGORICAL

    def label(of: int) -> str:
        return column.style.suppressed if of == tree.root and plain else tree.labels[of]

    shown = [each for each in np.flatnonzero(after > 0).tolist() if each != tree.root]
    counted = _most_frequent([(label(n), int(was[n]), float(after[n])) for n in shown])
    if after[tree.root] > 0:
        whole = Message("{label} ({hidden})", label=label(tree.root), hidden=_HIDDEN)
        counted.append((whole, int(was[tree.root]), float(after[tree.root])))
    return counted


def _set_bars(column: GroupedColumn) -> list[Counted]:
    attribute, closures, sizes = column.attribute, column.closures, column.sizes
    assert isinstance(closures, SetClosures)
    n_groups = len(sizes)
    length = np.diff(closures.indptr)[:n_groups]
    everything = closures.everything[:n_groups]
    weight = np.where(everything, 0.0, sizes / np.maximum(length, 1))
    members = closures.members[: closures.indptr[n_groups]]
    visible = ~np.repeat(everything, length)
    after = np.bincount(
        members[visible], weights=np.repeat(weight, length)[visible], minlength=attribute.size + 1
    )[: attribute.size]
    known = column.before[: attribute.size]
    shown = np.flatnonzero((after > 0) & (known >= column.k)).tolist()
    counted = _most_frequent(
        [(_value_label(attribute.values, n), int(known[n]), float(after[n])) for n in shown]
    )
    rest = np.setdiff1d(np.arange(attribute.size), shown)
    if len(rest) and known[rest].sum() >= column.k:
        counted.append((Message("other values"), int(known[rest].sum()), float(after[rest].sum())))
    if everything.any():
        counted.append((_HIDDEN, 0, int(sizes[everything].sum())))
    return counted


_BARS: dict[Algebra, Callable[[GroupedColumn], list[Counted]]] = {
    "interval": _interval_bars,
    "tree": _tree_bars,
    "set": _set_bars,
}


def _most_frequent(counted: list[Counted]) -> list[Counted]:
    """Return the labels with most rows, largest first, and the others as one."""
    ranked = sorted(counted, key=lambda each: (-max(each[1:]), each[0]))
    if len(ranked) <= MOST_BARS:
        return ranked
    kept, rest = ranked[: MOST_BARS - 1], ranked[MOST_BARS - 1 :]
    other = Message("{n:,} other labels", n=len(rest))
    return [*kept, (other, sum(each[1] for each in rest), sum(each[2] for each in rest))]


MOST_BUCKETS = 10
_WIDTHS: tuple[tuple[float, str], ...] = (
    (0.05, Message("up to 5 % of the range")),
    (0.1, Message("5 to 10 %")),
    (0.25, Message("10 to 25 %")),
    (0.5, Message("25 to 50 %")),
    (np.inf, Message("more than half of the range")),
)
_SET_SIZES: tuple[tuple[float, str], ...] = (
    (2, Message("one of 2 values")),
    (5, Message("one of 3 to 5")),
    (10, Message("one of 6 to 10")),
    (np.inf, Message("one of more than 10")),
)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_EXACT = Message("exact")


@dataclass(frozen=True)
class ColumnFacts:
    """What became of one quasi-identifier; shares are of the published rows.

    Attributes:
        name: the column.
        kind: its kind.
        loss: mean loss per published cell, 0 (exact) to 1 (all hidden).
        covered: of numbers and dates, the mean share of the people that a published interval
            covers; None for others, and for means and medians.
        kept: share of cells that are as they were.
        generalised: share of cells that were made coarser.
        suppressed: share of cells that tell nothing any more.
        spread: how much coarser, from exact to nothing: (what, share).
        bars: distribution before and after, in published labels.
    """

    name: str
    kind: str
    loss: float
    kept: float
    generalised: float
    suppressed: float
    spread: tuple[tuple[str, float], ...]
    bars: tuple[Bar, ...]
    covered: float | None = None

    @property
    def stretched(self) -> bool:
        """Whether the column loses far more for its people than its range says."""
        return is_stretched(self.loss, self.covered)


@dataclass(frozen=True)
class Stratum:
    """What became of the rows of one value of the column that groups lie within.

    Attributes:
        label: the value, as it is published.
        rows: published rows.
        groups: how many groups a reader can tell apart.
        smallest: rows of the smallest of them.
        loss: mean loss per published cell, 0 (exact) to 1 (all hidden).
    """

    label: str
    rows: int
    groups: int
    smallest: int
    loss: float


@dataclass(frozen=True)
class Facts:
    """Aggregates of a run.

    Attributes:
        columns: the quasi-identifiers, in the order of the table.
        tuple_sizes: how many of the published rows shared all quasi-identifiers in the *input*,
            as (rows, how many such tuples); people instead of rows where people are counted.
        heat: per column, the mean loss in each bucket of groups; buckets hold about equally
            many rows and run from the groups that lost least to those that lost most.
        bucket_rows: published rows of each bucket.
        scores: what was lost, as far as the published cells tell it (`shoal.publish.loss`).
        strata: of a release whose groups lie within the values of a column, these values.
    """

    columns: tuple[ColumnFacts, ...]
    tuple_sizes: tuple[tuple[int, int], ...]
    heat: tuple[tuple[float, ...], ...]
    bucket_rows: tuple[int, ...]
    scores: Scores
    strata: tuple[Stratum, ...] = ()


def gather_facts(
    table: EncodedTable,
    partition: Partition,
    published: pl.DataFrame,
    *,
    k: int,
    style: Style,
    within: str | None = None,
) -> Facts:
    """Return the facts of a run; of the strata of a column, if groups lie within its values.

    Cost: a few passes over each column and one sort of the rows, small beside any search.
    """
    closures_shown = [shown(attribute, partition) for attribute in table.attributes]
    sizes = partition.sizes
    losses = np.empty((len(table.attributes), partition.n_groups))
    columns = []
    for number, (attribute, closures) in enumerate(
        zip(table.attributes, closures_shown, strict=True)
    ):
        losses[number] = closures.published_loss(attribute, partition.n_groups)
        before = attribute.counts
        if partition.n_suppressed:
            before = np.bincount(
                attribute.codes[partition.labels >= 0], minlength=attribute.size + 1
            ).astype(np.int64)
        centres = None
        if publishes_centres(attribute, style):
            centres = published.get_column(attribute.name).drop_nulls().value_counts()
        column = GroupedColumn(attribute, closures, sizes, before, centres, k, style)
        columns.append(column_facts(column, losses[number]))
    heat, rows = heat_of(losses, sizes, table.weights)
    kept = np.flatnonzero(partition.labels >= 0)
    tuples = _tuple_sizes(table if len(kept) == table.n_rows else table.take(kept))
    scores = public_scores(table, closures_shown, partition, style)
    strata = () if within is None else _strata(table, partition, style, losses, within)
    return Facts(tuple(columns), tuples, heat, rows, scores, strata)


def _strata(
    table: EncodedTable, partition: Partition, style: Style, losses: Floats, name: str
) -> tuple[Stratum, ...]:
    """Return what became of each value of a column that groups lie within, the largest first."""
    column = next(each for each in table.attributes if each.name == name)
    lost = partition.sizes * np.average(losses, axis=0, weights=table.weights)
    of_group = column.codes[partition.heads]
    united = unite_equal(table, partition, style)
    of_seen = column.codes[united.heads]
    found = []
    for code in np.unique(of_group).tolist():
        sizes = united.sizes[of_seen == code]
        label = _MISSING if code == column.size else _value_label(column.values, code)
        loss = ordered_sum(lost[of_group == code]) / int(sizes.sum())
        found.append(Stratum(label, int(sizes.sum()), len(sizes), int(sizes.min()), round(loss, 4)))
    return tuple(sorted(found, key=lambda each: (-each.rows, each.label)))


def without_intervals(facts: Facts) -> Facts:
    """Return facts of a table that publishes exact values: no share of people is covered."""
    columns = tuple(replace(each, covered=None) for each in facts.columns)
    by_column = {name: each for name, each in facts.scores.by_column.items() if name != "covered"}
    return replace(facts, columns=columns, scores=Scores(facts.scores, by_column))


def publishes_centres(attribute: Attribute, style: Style) -> bool:
    """Return whether a column publishes means or medians."""
    return style.numeric in ("mean", "median") and attribute.kind.has_mean


def column_facts(column: GroupedColumn, loss: Floats) -> ColumnFacts:
    """Return what became of one column, from the loss of each closure."""
    attribute, closures, sizes = column.attribute, column.closures, column.sizes
    n_groups = len(sizes)
    n_rows = max(int(sizes.sum()), 1)
    exact = closures.single()[:n_groups]
    nothing = ~exact & closures.everything[:n_groups]
    suppressed, kept = (float(sizes[mask].sum()) / n_rows for mask in (nothing, exact))
    hidden = publishes_centres(attribute, column.style)
    shares = covered_shares(attribute, closures, sizes.astype(np.float64))
    between = ~exact & ~nothing
    steps: list[tuple[str, NDArray[np.bool_]]] = [(_EXACT, exact)]
    amount: NDArray[Any]
    # an interval is told by its share of the range, a set by its size, a node by its height
    amount, limits = loss, _WIDTHS
    if closures.algebra == "set":
        amount, limits = closures.n_values(attribute)[:n_groups].astype(np.float64), _SET_SIZES
    elif attribute.taxonomy is not None:
        assert isinstance(closures, TreeClosures)
        amount = np.append(attribute.taxonomy.height, 0)[closures.node[:n_groups]]
        levels = range(1, attribute.taxonomy.tree_height)
        limits = tuple((n, plural("{n} level coarser", "{n} levels coarser", n)) for n in levels)
    low = -np.inf
    for high, what in limits:
        steps.append((what, between & (amount > low) & (amount <= high)))
        low = high
    steps.append((_HIDDEN, nothing))
    return ColumnFacts(
        name=attribute.name,
        kind=attribute.kind.value,
        loss=ordered_sum(loss * sizes) / n_rows,
        kept=kept,
        generalised=max(1.0 - kept - suppressed, 0.0),
        suppressed=suppressed,
        spread=tuple((what, int(sizes[mask].sum()) / n_rows) for what, mask in steps),
        bars=compare_bars(column),
        covered=None if shares is None or hidden else ordered_sum(shares * sizes) / n_rows,
    )


def heat_of(
    losses: Floats, sizes: NDArray[np.int64], weights: Floats
) -> tuple[tuple[tuple[float, ...], ...], tuple[int, ...]]:
    """Return the mean loss of each column in buckets of groups, by how much they lost."""
    n_groups = len(sizes)
    if not n_groups:
        return tuple(() for _ in losses), ()
    # Ties are broken by what the groups lost, never by how the run has numbered them.
    total = (weights[:, np.newaxis] * losses).sum(axis=0)
    order = np.lexsort((sizes, *losses, total))
    middle = np.cumsum(sizes[order]) - sizes[order] / 2
    n_buckets = min(MOST_BUCKETS, n_groups)
    bucket = np.minimum((middle * n_buckets / sizes.sum()).astype(np.int64), n_buckets - 1)
    rows = np.bincount(bucket, weights=sizes[order], minlength=n_buckets)
    used = rows > 0
    heat = tuple(
        tuple(
            (np.bincount(bucket, weights=(loss * sizes)[order], minlength=n_buckets)[used])
            / rows[used]
        )
        for loss in losses
    )
    plain = tuple(tuple(round(float(value), 4) for value in column) for column in heat)
    return plain, tuple(int(count) for count in rows[used])


def _tuple_sizes(table: EncodedTable) -> tuple[tuple[int, int], ...]:
    """Count the rows that agree in every quasi-identifier.

    A tuple becomes one 64-bit number: exactly where the domains allow it, else by a hash, which
    takes two of a million different tuples for one with a probability below 10⁻⁷.
    """
    key = np.zeros(table.n_rows, dtype=np.uint64)
    sizes_of = [
        a.size + 1 if a.cells is None else int(a.cells.n_values.sum()) + 1 for a in table.attributes
    ]
    exact = math.prod(sizes_of) < 1 << 64
    for attribute, size in zip(table.attributes, sizes_of, strict=True):
        if exact:
            key *= np.uint64(size)
        else:  # multiply and shift mix every bit of the tuple so far into the others
            key *= _ODD
            key ^= key >> np.uint64(29)
            key *= _ODD
            key ^= key >> np.uint64(32)
        key += attribute.as_they_were
    if table.person is not None:  # one row for each person with a tuple
        order = np.lexsort((table.person, key))
        key, person = key[order], table.person[order]
        key = key[np.append(True, (key[1:] != key[:-1]) | (person[1:] != person[:-1]))]
    key.sort()
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    sizes, numbers = np.unique(np.diff(np.append(first, len(key))), return_counts=True)
    return tuple(zip(sizes.tolist(), numbers.tolist(), strict=True))
