"""The algebra: what a group of values generalises to, for each kind of attribute.

`close(attribute, partition)` gives the closures of all groups of a partition at once. The last
closure of the result is always "everything": label −1 (a suppressed row) therefore finds its own
closure by plain indexing, and a suppressed row counts as fully generalised in every measure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table.encode import Attribute
    from shoal.table.partition import Partition


# Closures of all groups of a partition, per attribute kind, as arrays.


@dataclass(frozen=True, eq=False)
class IntervalClosures:
    """Lowest and highest code of each group.

    A group of missing values only has ``low == high == missing code``; a group that mixes
    missing with other values is everything. On a grid, codes are those of cells, and ``wide``
    tells which of them (missing last) are more than one value.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    everything: NDArray[np.bool_]
    wide: NDArray[np.bool_] | None = None

    def n_values(self, attribute: Attribute) -> NDArray[np.int64]:
        """Number of domain values each closure covers."""
        count = self.high.astype(np.int64) - self.low + 1
        if attribute.cells is not None:
            upto = np.cumsum(np.concatenate(([0], attribute.cells.n_values, [1])))
            count = upto[self.high + 1] - upto[self.low]
        return np.where(self.everything, domain_size(attribute), count)

    def single(self) -> NDArray[np.bool_]:
        """Where a closure is one value (nothing was generalised)."""
        alone: NDArray[np.bool_] = (self.low == self.high) & ~self.everything
        return alone if self.wide is None else alone & ~self.wide[self.low]


@dataclass(frozen=True, eq=False)
class TreeClosures:
    """Taxonomy node of each group; node ``n_nodes`` stands for "all missing"."""

    node: NDArray[np.int32]
    n_leaves: int
    n_nodes: int

    def n_values(self, attribute: Attribute) -> NDArray[np.int64]:
        """Number of leaves each closure covers."""
        assert attribute.taxonomy is not None
        count = np.append(attribute.taxonomy.leaf_count.astype(np.int64), 1)
        count[attribute.taxonomy.root] = domain_size(attribute)
        return count[self.node]

    def single(self) -> NDArray[np.bool_]:
        """Where a closure is one value (nothing was generalised)."""
        alone: NDArray[np.bool_] = (self.node < self.n_leaves) | (self.node == self.n_nodes)
        return alone


@dataclass(frozen=True, eq=False)
class SetClosures:
    """Values seen in each group, as sorted codes ``members[indptr[g]:indptr[g + 1]]``."""

    indptr: NDArray[np.int64]
    members: NDArray[np.int32]
    everything: NDArray[np.bool_]

    def n_values(self, attribute: Attribute) -> NDArray[np.int64]:
        """Number of values each closure holds."""
        return np.where(self.everything, domain_size(attribute), np.diff(self.indptr))

    def single(self) -> NDArray[np.bool_]:
        """Where a closure is one value (nothing was generalised)."""
        alone: NDArray[np.bool_] = (np.diff(self.indptr) == 1) & ~self.everything
        return alone


Closures = IntervalClosures | TreeClosures | SetClosures


def some_of(closures: Closures, first: int, last: int) -> Closures:
    """Return the closures of the groups from ``first`` to before ``last``."""
    own = slice(first, last)
    if isinstance(closures, TreeClosures):
        return replace(closures, node=closures.node[own])
    everything = closures.everything[own]
    if isinstance(closures, IntervalClosures):
        low, high = closures.low[own], closures.high[own]
        return replace(closures, low=low, high=high, everything=everything)
    ends = closures.indptr[first : last + 1]
    return SetClosures(ends - ends[0], closures.members[ends[0] : ends[-1]], everything)


def domain_size(attribute: Attribute) -> int:
    """Number of original values in the domain; missing counts as one where it occurs."""
    cells = attribute.cells
    size = attribute.size if cells is None else int(cells.n_values.sum())
    return size + int(attribute.has_missing)


def wide_cells(attribute: Attribute) -> NDArray[np.bool_] | None:
    """Return which codes (missing last) are cells of more than one value; None without a grid."""
    return None if attribute.cells is None else np.append(~attribute.cells.exact, False)


def close(attribute: Attribute, partition: Partition) -> Closures:
    """Return the closure of every group, plus "everything" as the last one.

    Cost: one pass over the rows of the attribute (sorted by group once per partition).
    """
    if attribute.name in partition.recoded:
        taxonomy = attribute.taxonomy
        assert taxonomy is not None
        node = np.append(partition.recoded[attribute.name], taxonomy.root).astype(np.int32)
        return _raised(attribute, node)
    if attribute.algebra == "set":
        return _close_sets(attribute, partition)
    codes = attribute.codes[partition.order]
    if partition.n_groups:
        starts = partition.starts[:-1]
        low = np.minimum.reduceat(codes, starts).astype(np.int32)
        high = np.maximum.reduceat(codes, starts).astype(np.int32)
    else:
        low = high = np.empty(0, dtype=np.int32)
    mixed = (high == attribute.size) & (low < attribute.size)
    if attribute.algebra == "tree":
        return _close_trees(attribute, low, high, mixed)
    last = attribute.size - 1
    low = np.append(np.where(mixed, 0, low), 0).astype(np.int32)
    high = np.append(np.where(mixed, last, high), last).astype(np.int32)
    return IntervalClosures(low, high, np.append(mixed, True), wide_cells(attribute))


def _close_trees(
    attribute: Attribute,
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    mixed: NDArray[np.bool_],
) -> TreeClosures:
    taxonomy = attribute.taxonomy
    assert taxonomy is not None
    known = low < attribute.size
    node = np.full(low.shape[0], taxonomy.n_nodes, dtype=np.int32)
    inside = known & ~mixed
    node[inside] = taxonomy.lca_of_range(low[inside], high[inside])
    node[mixed] = taxonomy.root
    return _raised(attribute, np.append(node, taxonomy.root).astype(np.int32))


def _raised(attribute: Attribute, node: NDArray[np.int32]) -> TreeClosures:
    """Return nodes as they are published: none lies below the level that a column stays at."""
    taxonomy = attribute.taxonomy
    assert taxonomy is not None
    if attribute.level is not None:
        node = attribute.level.of_node[node]
    return TreeClosures(node, taxonomy.n_leaves, taxonomy.n_nodes)


def _close_sets(attribute: Attribute, partition: Partition) -> SetClosures:
    width = attribute.size + 1
    labels = partition.labels[partition.order].astype(np.int64)
    pairs = np.unique(labels * width + attribute.codes[partition.order])
    group, member = np.divmod(pairs, width)
    count = np.bincount(group, minlength=partition.n_groups)
    has_missing = np.zeros(partition.n_groups, dtype=bool)
    has_missing[group[member == attribute.size]] = True
    everything = has_missing & (count > 1)
    indptr = np.concatenate(([0], np.cumsum(count), [len(pairs)])).astype(np.int64)
    return SetClosures(indptr, member.astype(np.int32), np.append(everything, True))


def union_sets(attribute: Attribute, partition: Partition) -> tuple[SetClosures, NDArray[np.bool_]]:
    """Return the values of each group, and where the label of the node is published instead.

    That is where some values of the group are missing, and where all are.
    """
    kept = partition.labels >= 0
    width = attribute.size + 1
    pairs = np.unique(
        partition.labels[kept].astype(np.int64) * width + attribute.codes[kept].astype(np.int64)
    )
    group, code = np.divmod(pairs, width)
    missing = np.zeros(partition.n_groups, np.bool_)
    missing[group[code == attribute.size]] = True
    ends = np.searchsorted(group, np.arange(partition.n_groups + 1))
    nothing = np.zeros(partition.n_groups, np.bool_)
    return SetClosures(ends.astype(np.int64), code.astype(np.int32), nothing), missing


# The mean or median of each group: what is published in place of an interval, if asked for.


def cell_middles(attribute: Attribute) -> NDArray[np.float64]:
    """Return the number that each code stands for: a value, or on a grid the middle of a cell."""
    assert attribute.positions is not None
    if attribute.cells is None:
        return attribute.positions
    low, high = attribute.positions, attribute.cells.upper_positions
    return low + (high - low) / 2


def group_centres(
    attribute: Attribute,
    closures: IntervalClosures,
    partition: Partition,
    how: Literal["mean", "median"] = "mean",
) -> NDArray[np.float64]:
    """Return the mean or median of each group; in numpy, so that the sum has one order.

    On a grid it is that of the middles of the cells: no value inside a cell plays a part. NaN for
    a group that publishes none, because values of it are missing.
    """
    n_groups = partition.n_groups
    low, high = closures.low[:n_groups], closures.high[:n_groups]
    missing = closures.everything[:n_groups] | (low == attribute.size)
    places = np.append(cell_middles(attribute), np.nan)
    first, sizes = partition.starts[:-1], partition.sizes
    if how == "mean":
        values = places[attribute.codes[partition.order]]
        total = np.add.reduceat(values, first) if n_groups else np.empty(0)
        centre = total / sizes
        # Dividing a sum of equal numbers may miss them by a rounding.
        same = low == high
        centre[same] = places[low[same]]
    else:
        order = np.lexsort((attribute.codes, partition.labels))[partition.n_suppressed :]
        codes = attribute.codes[order]
        lower, upper = codes[first + (sizes - 1) // 2], codes[first + sizes // 2]
        centre = (places[lower] + places[upper]) / 2
    cells = attribute.cells
    if cells is not None and cells.digits is not None:
        centre = np.round(centre, cells.digits)
    centre[missing] = np.nan
    return centre
