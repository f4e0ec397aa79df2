"""How the values of a column were spread before and after, told in published labels only.

Two rules keep the picture from telling more than the release:

1. *Labels.* A value, a label or a bound may be named only if it is (part of) a published cell.
   Values that were generalised away are counted under the closest label that was published.
2. *Counts.* A bar stands for at least k published rows as they were before. Bars that would
   stand for fewer are joined with a neighbour (or the next coarser label), or left out.

Suppressed rows are in no bar, and shares are rounded to whole per cents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.hierarchy import canonical_label
from shoal.table.closure import IntervalClosures, SetClosures, TreeClosures
from shoal.table.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.recode import Style
    from shoal.table.cells import Cells
    from shoal.table.closure import Closures
    from shoal.table.encode import Attribute

__all__ = ["Bar", "compare_bars"]

MOST_BARS = 12
BELOW_HALF = 0.002
_HIDDEN = "not published"
_MISSING = "missing"

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


def compare_bars(
    attribute: Attribute,
    closures: Closures,
    sizes: NDArray[np.int64],
    before: NDArray[np.int64],
    *,
    k: int,
    style: Style,
    centres: pl.DataFrame | None,
) -> tuple[Bar, ...]:
    """Return the bars of one column.

    Args:
        attribute: the column.
        closures: what each group publishes ("everything" last).
        sizes: rows of each group.
        before: published rows of each original value, missing last.
        k: the fewest rows that a bar may stand for.
        style: how cells are written.
        centres: the means or medians that are published, with how many rows have each (``count``);
            None for a column that publishes none.
    """
    n_groups, n_rows = len(sizes), int(sizes.sum())
    if isinstance(closures, TreeClosures):
        counted = _tree_bars(attribute, closures.node[:n_groups], sizes, before, k, style)
        missing_after = int(sizes[closures.node[:n_groups] == closures.n_nodes].sum())
    elif isinstance(closures, SetClosures):
        counted = _set_bars(attribute, closures, sizes, before, k)
        only = np.diff(closures.indptr)[:n_groups] == 1
        first = closures.members[closures.indptr[:n_groups]]
        missing_after = int(sizes[only & (first == attribute.size)].sum())
    else:
        counted = _interval_bars(attribute, closures, sizes, before, k, centres)
        missing_after = int(sizes[closures.low[:n_groups] == attribute.size].sum())
    missing = int(before[attribute.size])
    if missing >= k:
        counted.append((_MISSING, missing, missing_after))
    return tuple(
        Bar(label, _whole_per_cents(was / n_rows), _whole_per_cents(now / n_rows))
        for label, was, now in counted
    )


def _whole_per_cents(share: float) -> float:
    return round(share, 2) or (BELOW_HALF if share > 1e-9 else 0.0)


# -- numbers, dates and ordered values ---------------------------------------------------


def _interval_bars(
    attribute: Attribute,
    closures: IntervalClosures,
    sizes: NDArray[np.int64],
    before: NDArray[np.int64],
    k: int,
    centres: pl.DataFrame | None,
) -> list[Counted]:
    place = attribute.positions
    assert place is not None
    n_groups = len(sizes)
    everything = closures.everything[:n_groups]
    shown = ~everything & (closures.low[:n_groups] < attribute.size)
    # Whole numbers and days fill the gap to the next one; [3-5] is three values, not two.
    unit = 1.0 if bool(np.all(place == np.floor(place))) else 0.0
    cells = attribute.cells
    if cells is not None:
        unit = float(cells.closed)
    if centres is not None:
        pieces, edges = _centres(centres)
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
    counted: list[Counted] = []
    if len(edges.position):
        counted = _bins(attribute, pieces, edges, before[: attribute.size], k, unit)
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
    seen = np.flatnonzero(before)
    reaches_below = bool(len(seen) and place[seen[0]] < at[0])
    reaches_above = bool(len(seen) and place[seen[-1]] > at[-1])
    under = "under" if attribute.kind is Kind.NUMERIC else "before"

    def label(number: int) -> str:
        start = starts[number]
        first = edges.label(start)
        if number == len(starts) - 1:
            if number == 0 and reaches_below:
                return "all values"
            if reaches_above:
                return f"{first} and above"
            last = len(at) - 1
            return first if start == last else f"{first} to {edges.label(last)}"
        stop = starts[number + 1]
        if number == 0 and reaches_below:
            return f"{under} {edges.label(stop)}"
        if unit and at[stop] == at[start] + 1:
            return first
        return f"{first} to {under} {edges.label(stop)}"

    labels = [label(number) for number in range(len(counts))]
    clocks = _CLOCK.findall(" ".join(labels)) if attribute.kind is Kind.DATETIME else []
    if set(clocks) == {_MIDNIGHT}:  # days are meant, and labels are short on paper and phones
        labels = [each.replace(_MIDNIGHT, "") for each in labels]
    return list(zip(labels, counts, after.tolist(), strict=True))


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


def _tree_bars(
    attribute: Attribute,
    node: NDArray[np.int32],
    sizes: NDArray[np.int64],
    before: NDArray[np.int64],
    k: int,
    style: Style,
) -> list[Counted]:
    tree = attribute.taxonomy
    assert tree is not None
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
    np.add.at(was, home[leaves], before[leaves])  # no home at all: the last place
    for each in reversed(down):
        if was[each] < k:
            was[home[over[each]]] += was[each]
            was[each] = 0
    plain = attribute.kind is not Kind.CATEGORICAL

    def label(of: int) -> str:
        return style.suppressed if of == tree.root and plain else tree.labels[of]

    shown = [each for each in np.flatnonzero(after > 0).tolist() if each != tree.root]
    counted = _most_frequent([(label(n), int(was[n]), float(after[n])) for n in shown])
    if after[tree.root] > 0:
        whole = f"{label(tree.root)} ({_HIDDEN})"
        counted.append((whole, int(was[tree.root]), float(after[tree.root])))
    return counted


def _set_bars(
    attribute: Attribute,
    closures: SetClosures,
    sizes: NDArray[np.int64],
    before: NDArray[np.int64],
    k: int,
) -> list[Counted]:
    n_groups = len(sizes)
    length = np.diff(closures.indptr)[:n_groups]
    everything = closures.everything[:n_groups]
    weight = np.where(everything, 0.0, sizes / np.maximum(length, 1))
    members = closures.members[: closures.indptr[n_groups]]
    visible = ~np.repeat(everything, length)
    after = np.bincount(
        members[visible], weights=np.repeat(weight, length)[visible], minlength=attribute.size + 1
    )[: attribute.size]
    known = before[: attribute.size]
    shown = np.flatnonzero((after > 0) & (known >= k)).tolist()
    counted = _most_frequent(
        [(_value_label(attribute.values, n), int(known[n]), float(after[n])) for n in shown]
    )
    rest = np.setdiff1d(np.arange(attribute.size), shown)
    if len(rest) and known[rest].sum() >= k:
        counted.append(("other values", int(known[rest].sum()), float(after[rest].sum())))
    if everything.any():
        counted.append((_HIDDEN, 0, int(sizes[everything].sum())))
    return counted


def _most_frequent(counted: list[Counted]) -> list[Counted]:
    """Return the labels with most rows, largest first, and the others as one."""
    ranked = sorted(counted, key=lambda each: (-max(each[1:]), each[0]))
    if len(ranked) <= MOST_BARS:
        return ranked
    kept, rest = ranked[: MOST_BARS - 1], ranked[MOST_BARS - 1 :]
    other = f"{len(rest):,} other labels"
    return [*kept, (other, sum(each[1] for each in rest), sum(each[2] for each in rest))]
