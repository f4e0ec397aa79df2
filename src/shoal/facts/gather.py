"""`Facts`: counts and shares of a run, taken while the original table is at hand.

The release does not keep the original, and the report needs a few things about it. Facts hold
these and nothing else: aggregates over published rows, and labels that are part of a published
cell (the rules are in `shoal.facts.bars`). No value that is not published, nothing about one row,
and nothing at all about rows that were left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.facts.bars import Bar, compare_bars
from shoal.measure.base import Grouped
from shoal.publish.loss import (
    covered_shares,
    is_stretched,
    ordered_sum,
    public_scores,
    published_loss,
)
from shoal.table.closure import IntervalClosures, SetClosures, TreeClosures
from shoal.table.schema import Kind

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.measure.scores import Scores
    from shoal.publish.recode import Style
    from shoal.table.closure import Closures
    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.partition import Partition

__all__ = ["ColumnFacts", "Facts", "column_facts", "gather_facts", "heat_of"]

MOST_BUCKETS = 10
_WIDTHS: tuple[tuple[float, str], ...] = (
    (0.05, "up to 5 % of the range"),
    (0.1, "5 to 10 %"),
    (0.25, "10 to 25 %"),
    (0.5, "25 to 50 %"),
    (np.inf, "more than half of the range"),
)
_SET_SIZES: tuple[tuple[float, str], ...] = (
    (2, "one of 2 values"),
    (5, "one of 3 to 5"),
    (10, "one of 6 to 10"),
    (np.inf, "one of more than 10"),
)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_EXACT, _NOTHING = "exact", "not published"

Floats = np.ndarray[Any, np.dtype[np.float64]]


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
    """

    columns: tuple[ColumnFacts, ...]
    tuple_sizes: tuple[tuple[int, int], ...]
    heat: tuple[tuple[float, ...], ...]
    bucket_rows: tuple[int, ...]
    scores: Scores


def gather_facts(
    table: EncodedTable, partition: Partition, published: pl.DataFrame, *, k: int, style: Style
) -> Facts:
    """Return the facts of a run.

    Cost: a few passes over each column and one sort of the rows, small beside any search.
    """
    grouped = Grouped(table, partition)
    sizes = partition.sizes
    losses = np.empty((len(table.attributes), partition.n_groups))
    columns = []
    for number, (attribute, closures) in enumerate(
        zip(table.attributes, grouped.closures, strict=True)
    ):
        losses[number] = published_loss(table, number, closures, partition.n_groups)
        before = attribute.counts
        if partition.n_suppressed:
            before = np.bincount(
                attribute.codes[partition.labels >= 0], minlength=attribute.size + 1
            ).astype(np.int64)
        centres = None
        if publishes_centres(attribute, style):
            centres = published.get_column(attribute.name).drop_nulls().value_counts()
        columns.append(
            column_facts(
                attribute, closures, sizes, losses[number], before, centres, k=k, style=style
            )
        )
    heat, rows = heat_of(losses, sizes, table.weights)
    kept = np.flatnonzero(partition.labels >= 0)
    tuples = _tuple_sizes(table if len(kept) == table.n_rows else table.take(kept))
    scores = public_scores(table, grouped.closures, partition, style)
    return Facts(tuple(columns), tuples, heat, rows, scores)


def publishes_centres(attribute: Attribute, style: Style) -> bool:
    """Return whether a column publishes means or medians."""
    return style.numeric in ("mean", "median") and attribute.kind is Kind.NUMERIC


def column_facts(
    attribute: Attribute,
    closures: Closures,
    sizes: NDArray[np.int64],
    loss: Floats,
    before: NDArray[np.int64],
    centres: pl.DataFrame | None,
    *,
    k: int,
    style: Style,
) -> ColumnFacts:
    """Return what became of one column.

    Args:
        attribute: the column.
        closures: what is published in it ("everything" last).
        sizes: how many rows publish each closure.
        loss: of each closure.
        before: published rows of each original value, missing last.
        centres: the means or medians that are published, with how many rows have each (``count``);
            None for a column that publishes none.
        k: the fewest rows that a bar may stand for.
        style: how cells are written.
    """
    n_groups = len(sizes)
    n_rows = max(int(sizes.sum()), 1)
    exact = closures.single()[:n_groups]
    if isinstance(closures, TreeClosures):
        assert attribute.taxonomy is not None
        nothing = ~exact & (closures.node[:n_groups] == attribute.taxonomy.root)
    else:
        nothing = closures.everything[:n_groups]
    suppressed, kept = (float(sizes[mask].sum()) / n_rows for mask in (nothing, exact))
    hidden = publishes_centres(attribute, style)
    shares = covered_shares(attribute, closures, sizes.astype(np.float64))
    return ColumnFacts(
        name=attribute.name,
        kind=attribute.kind.value,
        loss=ordered_sum(loss * sizes) / n_rows,
        kept=kept,
        generalised=max(1.0 - kept - suppressed, 0.0),
        suppressed=suppressed,
        spread=_spread(attribute, closures, sizes, loss, exact, nothing),
        bars=compare_bars(attribute, closures, sizes, before, k=k, style=style, centres=centres),
        covered=None if shares is None or hidden else ordered_sum(shares * sizes) / n_rows,
    )


def _spread(
    attribute: Attribute,
    closures: Closures,
    sizes: NDArray[np.int64],
    loss: Floats,
    exact: NDArray[np.bool_],
    nothing: NDArray[np.bool_],
) -> tuple[tuple[str, float], ...]:
    """Return how coarse the cells became: (what, share of the published rows)."""
    between = ~exact & ~nothing
    n_rows = max(int(sizes.sum()), 1)
    steps: list[tuple[str, NDArray[np.bool_]]] = [(_EXACT, exact)]
    if isinstance(closures, TreeClosures):
        assert attribute.taxonomy is not None
        height = np.append(attribute.taxonomy.height, 0)[closures.node[: len(sizes)]]
        for level in range(1, attribute.taxonomy.tree_height):
            plural = "" if level == 1 else "s"
            steps.append((f"{level} level{plural} coarser", between & (height == level)))
    else:
        amount, limits = loss, _WIDTHS
        if isinstance(closures, SetClosures):
            amount = np.diff(closures.indptr)[: len(sizes)].astype(np.float64)
            limits = _SET_SIZES
        assert isinstance(closures, IntervalClosures | SetClosures)
        low = -np.inf
        for high, what in limits:
            steps.append((what, between & (amount > low) & (amount <= high)))
            low = high
    steps.append((_NOTHING, nothing))
    return tuple((what, int(sizes[mask].sum()) / n_rows) for what, mask in steps)


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
