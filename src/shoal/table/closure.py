"""The algebra: what a group of values generalises to, for each kind of attribute.

`close(attribute, partition)` gives the closures of all groups of a partition at once. The last
closure of the result is always "everything": label −1 (a suppressed row) therefore finds its own
closure by plain indexing, and a suppressed row counts as fully generalised in every measure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from shoal.table.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.table.encode import Attribute
    from shoal.table.partition import Partition
    from shoal.table.schema import Algebra


_HUGE = 1e300
Floats = np.ndarray[Any, np.dtype[np.float64]]


class Closures(ABC):
    """What all groups of a partition generalise to in one column, as arrays.

    There is a class for each algebra; what differs between them is a method here.

    Class attributes:
        algebra: how values join: to an interval, a node of a tree, or a set.

    Attributes:
        everything: where a closure covers every value.
    """

    algebra: ClassVar[Algebra]
    everything: NDArray[np.bool_]

    @classmethod
    @abstractmethod
    def of_groups(cls, attribute: Attribute, partition: Partition) -> Closures:
        """Return the closure of every group, plus "everything" as the last one."""

    @classmethod
    @abstractmethod
    def of_shapes(cls, attribute: Attribute, shapes: Sequence[Any]) -> Closures:
        """Return closures from plain numbers, with "everything" as the last one."""

    @abstractmethod
    def shapes(self, n_groups: int) -> tuple[list[Any], NDArray[np.int64]]:
        """Return the different closures as plain numbers, and which one each group has."""

    @abstractmethod
    def part(self, first: int, last: int) -> Closures:
        """Return the closures of the groups from ``first`` to before ``last``."""

    @abstractmethod
    def n_values(self, attribute: Attribute) -> NDArray[np.int64]:
        """Number of domain values each closure covers."""

    @abstractmethod
    def single(self) -> NDArray[np.bool_]:
        """Where a closure is one value (nothing was generalised)."""

    @abstractmethod
    def missing(self, attribute: Attribute) -> NDArray[np.bool_]:
        """Where all values of a group are missing."""

    @abstractmethod
    def cells(self, n_groups: int) -> list[NDArray[np.integer[Any]]]:
        """Return numbers that are equal for two groups if and only if their cells are."""

    @abstractmethod
    def covers(
        self, attribute: Attribute, groups: NDArray[np.int64], codes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which of these codes (rows) the closures of these groups (columns) cover."""

    @abstractmethod
    def published_loss(self, attribute: Attribute, n_groups: int) -> Floats:
        """Return the loss of each cell, 0 (exact or missing) to 1 (lost), by what is published.

        The range of a line is that of the published intervals, the values of a set are those that
        are published; a tree is known.
        """


@dataclass(frozen=True, eq=False)
class IntervalClosures(Closures):
    """Lowest and highest code of each group.

    A group of missing values only has ``low == high == missing code``; a group that mixes
    missing with other values is everything. On a grid, codes are those of cells, and ``wide``
    tells which of them (missing last) are more than one value.
    """

    algebra = "interval"
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    everything: NDArray[np.bool_]
    wide: NDArray[np.bool_] | None = None

    @classmethod
    def of_groups(cls, attribute: Attribute, partition: Partition) -> IntervalClosures:
        """Return the closure of every group, plus "everything" as the last one."""
        if attribute.algebra == cls.algebra and attribute.name in partition.recoded:
            return cls.of_shapes(attribute, partition.recoded[attribute.name].tolist())
        codes = attribute.codes[partition.order]
        low = high = np.empty(0, dtype=np.int32)
        if partition.n_groups:
            starts = partition.starts[:-1]
            low = np.minimum.reduceat(codes, starts).astype(np.int32)
            high = np.maximum.reduceat(codes, starts).astype(np.int32)
        mixed = (high == attribute.size) & (low < attribute.size)
        last = attribute.size - 1
        low = np.append(np.where(mixed, 0, low), 0).astype(np.int32)
        high = np.append(np.where(mixed, last, high), last).astype(np.int32)
        return cls(low, high, np.append(mixed, True), wide_cells(attribute))

    @classmethod
    def of_shapes(cls, attribute: Attribute, shapes: Sequence[Any]) -> IntervalClosures:
        """Return closures from (low, high, everything), with "everything" as the last one."""
        low, high, everything = np.array([*shapes, (0, attribute.size - 1, 1)], np.int32).T
        return cls(low, high, everything.astype(bool), wide_cells(attribute))

    def shapes(self, n_groups: int) -> tuple[list[Any], NDArray[np.int64]]:
        """Return the different (low, high, everything), and which one each group has."""
        columns = (self.low, self.high, self.everything)
        ends = np.stack([each[:n_groups].astype(np.int64) for each in columns])
        distinct, place = np.unique(ends, axis=1, return_inverse=True)
        return distinct.T.tolist(), place.reshape(-1)

    def part(self, first: int, last: int) -> IntervalClosures:
        """Return the closures of the groups from ``first`` to before ``last``."""
        own = slice(first, last)
        return replace(
            self, low=self.low[own], high=self.high[own], everything=self.everything[own]
        )

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

    def missing(self, attribute: Attribute) -> NDArray[np.bool_]:
        """Where all values of a group are missing."""
        absent: NDArray[np.bool_] = self.low == attribute.size
        return absent

    def cells(self, n_groups: int) -> list[NDArray[np.integer[Any]]]:
        """Return both ends, and whether they count."""
        everything = self.everything[:n_groups].astype(np.int64)
        known = 1 - everything  # whatever the ends are, everything is everything
        return [everything, self.low[:n_groups] * known, self.high[:n_groups] * known]

    def covers(
        self, _: Attribute, groups: NDArray[np.int64], codes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which of these codes (rows) the closures of these groups (columns) cover."""
        value = codes[:, None]
        inside = (value >= self.low[groups]) & (value <= self.high[groups])
        return inside | self.everything[groups]

    def sums(self, mass: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum over the codes of each closure; ``mass`` has a row for each code."""
        zero = np.zeros((1, mass.shape[1]), dtype=np.int64)
        prefix = np.concatenate((zero, np.cumsum(mass, axis=0)))
        covered: NDArray[np.int64] = prefix[self.high + 1] - prefix[self.low]
        return np.where(self.everything[:, None], mass.sum(axis=0), covered)

    def published_loss(self, attribute: Attribute, n_groups: int) -> Floats:
        """Return the width of each interval as a share of the published range."""
        everything = self.everything[:n_groups]
        start, stop, shown = self.published_ends(attribute, n_groups)
        span = stop[shown].max(initial=-np.inf) - start[shown].min(initial=np.inf)
        width = stop - start
        return np.where(everything, 1.0, np.where(shown & (span > 0), width / (span or 1.0), 0.0))

    def published_ends(
        self, attribute: Attribute, n_groups: int
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return where the published intervals begin and end, and which groups show one."""
        low, high = self.low[:n_groups], self.high[:n_groups]
        shown = ~self.everything[:n_groups] & (low < attribute.size)
        start, stop = np.zeros(n_groups), np.zeros(n_groups)
        assert attribute.positions is not None
        upper = attribute.positions if attribute.cells is None else attribute.cells.upper_positions
        start[shown], stop[shown] = attribute.positions[low[shown]], upper[high[shown]]
        if not attribute.kind.is_measured:  # of an order, the published values alone are known
            ends = np.unique([start[shown], stop[shown]])
            start[shown], stop[shown] = (
                np.searchsorted(ends, each[shown]) for each in (start, stop)
            )
        if max(np.abs(start).max(initial=0), np.abs(stop).max(initial=0)) > _HUGE:
            start, stop = start / 4, stop / 4  # the range could exceed the largest float
        return start, stop, shown


@dataclass(frozen=True, eq=False)
class TreeClosures(Closures):
    """Taxonomy node of each group; node ``n_nodes`` stands for "all missing"."""

    algebra = "tree"
    node: NDArray[np.int32]
    n_leaves: int
    n_nodes: int

    @classmethod
    def of_groups(cls, attribute: Attribute, partition: Partition) -> TreeClosures:
        """Return the closure of every group, plus "everything" as the last one."""
        taxonomy = attribute.taxonomy
        assert taxonomy is not None
        if attribute.name in partition.recoded:
            node = np.append(partition.recoded[attribute.name], taxonomy.root).astype(np.int32)
        else:
            ends = IntervalClosures.of_groups(attribute, partition)
            node = np.full(len(ends.low), taxonomy.n_nodes, dtype=np.int32)
            inside = (ends.low < attribute.size) & ~ends.everything
            node[inside] = taxonomy.lca_of_range(ends.low[inside], ends.high[inside])
            node[ends.everything] = taxonomy.root
        if attribute.level is not None:  # none lies below the level that the column stays at
            node = attribute.level.of_node[node]
        return cls(node, taxonomy.n_leaves, taxonomy.n_nodes)

    @classmethod
    def of_shapes(cls, attribute: Attribute, shapes: Sequence[Any]) -> TreeClosures:
        """Return closures from nodes, with "everything" as the last one."""
        tree = attribute.taxonomy
        assert tree is not None
        return cls(np.array([*shapes, tree.root], np.int32), tree.n_leaves, tree.n_nodes)

    def shapes(self, n_groups: int) -> tuple[list[Any], NDArray[np.int64]]:
        """Return the different nodes, and which one each group has."""
        nodes, place = np.unique(self.node[:n_groups], return_inverse=True)
        return nodes.tolist(), place

    def part(self, first: int, last: int) -> TreeClosures:
        """Return the closures of the groups from ``first`` to before ``last``."""
        return replace(self, node=self.node[first:last])

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

    @property
    def everything(self) -> NDArray[np.bool_]:  # type: ignore[override]
        """Where a closure is the root of the tree, which is its last node."""
        root: NDArray[np.bool_] = self.node == self.n_nodes - 1
        return root

    def missing(self, _: Attribute) -> NDArray[np.bool_]:
        """Where all values of a group are missing."""
        absent: NDArray[np.bool_] = self.node == self.n_nodes
        return absent

    def cells(self, n_groups: int) -> list[NDArray[np.integer[Any]]]:
        """Return the nodes."""
        return [self.node[:n_groups]]

    def covers(
        self, attribute: Attribute, groups: NDArray[np.int64], codes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which of these codes (rows) the closures of these groups (columns) cover."""
        tree, value = attribute.taxonomy, codes[:, None]
        assert tree is not None
        node = self.node[groups]
        # One more node for "all missing", which covers the missing code alone.
        first = np.append(tree.first_leaf, attribute.size)[node]
        last = np.append(tree.last_leaf, attribute.size)[node]
        below = (value >= first) & (value <= last)
        everything: NDArray[np.bool_] = node == tree.root
        return below | everything

    def published_loss(self, attribute: Attribute, n_groups: int) -> Floats:
        """Return the height of each subtree as a share of that of the tree."""
        tree = attribute.taxonomy
        assert tree is not None
        return np.append(tree.height / max(tree.tree_height, 1), 0.0)[self.node[:n_groups]]


@dataclass(frozen=True, eq=False)
class SetClosures(Closures):
    """Values seen in each group, as sorted codes ``members[indptr[g]:indptr[g + 1]]``."""

    algebra = "set"
    indptr: NDArray[np.int64]
    members: NDArray[np.int32]
    everything: NDArray[np.bool_]

    @classmethod
    def of_groups(cls, attribute: Attribute, partition: Partition) -> SetClosures:
        """Return the closure of every group, plus "everything" as the last one."""
        if attribute.name in partition.recoded:
            return cls.of_shapes(attribute, partition.recoded[attribute.name].tolist())
        width = attribute.size + 1
        labels = partition.labels[partition.order].astype(np.int64)
        pairs = np.unique(labels * width + attribute.codes[partition.order])
        group, member = np.divmod(pairs, width)
        count = np.bincount(group, minlength=partition.n_groups)
        has_missing = np.zeros(partition.n_groups, dtype=bool)
        has_missing[group[member == attribute.size]] = True
        everything = has_missing & (count > 1)
        indptr = np.concatenate(([0], np.cumsum(count), [len(pairs)])).astype(np.int64)
        return cls(indptr, member.astype(np.int32), np.append(everything, True))

    @classmethod
    def of_shapes(cls, _: Attribute, shapes: Sequence[Any]) -> SetClosures:
        """Return closures from (everything, *codes), with "everything" as the last one."""
        members = [each[1:] for each in shapes]
        flat = np.array([member for each in members for member in each], np.int32)
        ends = np.cumsum([0, *(len(each) for each in members)])
        everything = np.array([*(each[0] for each in shapes), 1], bool)
        return cls(np.append(ends, ends[-1]).astype(np.int64), flat, everything)

    def shapes(self, n_groups: int) -> tuple[list[Any], NDArray[np.int64]]:
        """Return the different (everything, *codes), and which one each group has."""
        known: dict[tuple[int, ...], int] = {}
        place = np.empty(n_groups, np.int64)
        for group in range(n_groups):
            members = self.members[self.indptr[group] : self.indptr[group + 1]]
            shape = (int(self.everything[group]), *members.tolist())
            place[group] = known.setdefault(shape, len(known))
        return [list(shape) for shape in known], place

    def part(self, first: int, last: int) -> SetClosures:
        """Return the closures of the groups from ``first`` to before ``last``."""
        ends = self.indptr[first : last + 1]
        members = self.members[ends[0] : ends[-1]]
        return SetClosures(ends - ends[0], members, self.everything[first:last])

    def n_values(self, attribute: Attribute) -> NDArray[np.int64]:
        """Number of values each closure holds."""
        return np.where(self.everything, domain_size(attribute), np.diff(self.indptr))

    def single(self) -> NDArray[np.bool_]:
        """Where a closure is one value (nothing was generalised)."""
        alone: NDArray[np.bool_] = (np.diff(self.indptr) == 1) & ~self.everything
        return alone

    def missing(self, attribute: Attribute) -> NDArray[np.bool_]:
        """Where all values of a group are missing."""
        absent: NDArray[np.bool_] = np.diff(self.indptr) == 1
        absent[absent] = self.members[self.indptr[:-1][absent]] == attribute.size
        return absent

    def cells(self, n_groups: int) -> list[NDArray[np.integer[Any]]]:
        """Return a number for each different set, and whether it is everything."""
        everything, ends = self.everything[:n_groups].astype(np.int64), self.indptr
        numbers: dict[bytes, int] = {}
        number = [
            numbers.setdefault(self.members[ends[g] : ends[g + 1]].tobytes(), len(numbers))
            for g in range(n_groups)
        ]
        return [everything, np.array(number) * (1 - everything)]

    def covers(
        self, attribute: Attribute, groups: NDArray[np.int64], codes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which of these codes (rows) the closures of these groups (columns) cover."""
        owner = np.repeat(np.arange(len(self.everything)), np.diff(self.indptr))
        wanted = np.full(attribute.size + 1, -1)
        wanted[codes] = np.arange(len(codes))
        hit = wanted[self.members] >= 0
        table = np.zeros((len(codes), len(self.everything)), dtype=bool)
        table[wanted[self.members[hit]], owner[hit]] = True
        return (table | self.everything)[:, groups]

    def sums(self, mass: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum over the codes of each closure; ``mass`` has a row for each code."""
        covered = np.zeros((len(self.everything), mass.shape[1]), dtype=np.int64)
        owner = np.repeat(np.arange(len(self.everything)), np.diff(self.indptr))
        np.add.at(covered, owner, mass[self.members])
        return np.where(self.everything[:, None], mass.sum(axis=0), covered)

    def published_loss(self, _: Attribute, n_groups: int) -> Floats:
        """Return how many more values than one each set holds, as a share of those published."""
        everything = self.everything[:n_groups]
        sizes = np.diff(self.indptr)[:n_groups]
        shown = np.repeat(~everything, sizes)
        n_values = len(np.unique(self.members[: len(shown)][shown]))
        return np.where(everything, 1.0, (sizes - 1) / max(n_values - 1, 1))


CLOSURES: dict[Algebra, type[Closures]] = {
    each.algebra: each for each in (IntervalClosures, TreeClosures, SetClosures)
}
"""The closures of each algebra."""


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
    return CLOSURES[attribute.algebra].of_groups(attribute, partition)


_ROWS_AT_ONCE = 1 << 20


def listed_sets(
    attribute: Attribute, partition: Partition
) -> tuple[SetClosures, NDArray[np.bool_]]:
    """Return the values that groups publish, and which publish the label of their node instead.

    Those are groups of which values are missing, of more values than are listed, and of a value
    that is not; and all where a flat column is kept or suppressed as a whole. The set of a group
    whose node hides several values is not told: it is everything.
    """
    listing, n_groups = attribute.listing, partition.n_groups
    assert listing is not None
    ends = IntervalClosures.of_groups(attribute, partition)
    low, high, gone = ends.low[:-1], ends.high[:-1], ends.everything[:-1]
    several = (low != high) & ~gone
    group, code = _values_of_groups(attribute, partition, several)
    count = np.bincount(group, minlength=n_groups)
    too_many = count > listing.most
    too_many[group[~listing.known[code]]] = True
    node = gone | too_many | (low == attribute.size)
    everything = gone | (several & too_many)
    if attribute.name in partition.recoded and attribute.kind is Kind.FLAT:
        tree = attribute.taxonomy
        assert tree is not None
        node[:] = True
        everything = partition.recoded[attribute.name] == tree.root
    specific = ~everything[group]
    alone = np.flatnonzero(~several | everything)
    group = np.concatenate((group[specific], alone))
    code = np.concatenate((code[specific], np.where(everything, 0, low)[alone]))
    order = np.argsort(group, kind="stable")
    indptr = np.searchsorted(group[order], np.arange(n_groups + 1))
    members = code[order].astype(np.int32)
    indptr = np.append(indptr, indptr[-1]).astype(np.int64)
    return SetClosures(indptr, members, np.append(everything, True)), node


def _values_of_groups(
    attribute: Attribute, partition: Partition, wanted: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different values of these groups as pairs (group, code), a part at a time."""
    order, starts, width = partition.order, partition.starts, attribute.size + 1
    found, first = [np.empty(0, np.int64)], 0
    while first < partition.n_groups:
        upto = np.searchsorted(starts, starts[first] + _ROWS_AT_ONCE, side="right") - 1
        last = max(int(upto), first + 1)
        group = np.repeat(np.arange(first, last), partition.sizes[first:last])
        own = wanted[group]
        rows = order[starts[first] : starts[last]][own]
        found.append(np.unique(group[own] * width + attribute.codes[rows]))
        first = last
    group, code = np.divmod(np.concatenate(found), width)
    return group, code


def shown_algebra(attribute: Attribute) -> Algebra:
    """Return the algebra of what readers see: that of sets where a flat column lists values."""
    lists = attribute.kind is Kind.FLAT and attribute.listing is not None
    return "set" if lists else attribute.algebra


def shown(attribute: Attribute, partition: Partition) -> Closures:
    """Return what readers see of every group, plus "everything" as the last one.

    A flat column that lists values is searched and scored as a tree, where a group of several
    values is everything; what is published of it are sets.
    """
    if shown_algebra(attribute) == "set" and attribute.algebra == "tree":
        return listed_sets(attribute, partition)[0]
    return close(attribute, partition)


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
