"""Incognito, optimal full-domain generalisation (LeFevre, DeWitt, Ramakrishnan: SIGMOD 2005)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.errors import AlgorithmError
from shoal.kernels.lattice import roll_up
from shoal.privacy.base import judge
from shoal.search.enforce import count_people
from shoal.table.closure import TreeClosures
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.search.scan import Run
    from shoal.table.encode import Attribute, EncodedTable

    Node = tuple[int, ...]
    Subset = tuple[int, ...]


MOST_NODES = 1 << 26
"""Nodes of the lattices of all subsets together; one byte each."""
KEPT_BYTES = 1 << 28
"""Frequency sets kept for rolling up; what does not fit is counted from the super-root again."""


@dataclass(frozen=True, kw_only=True)
class Incognito(Algorithm):
    """Raise whole columns to a level of their hierarchies, as little as k-anonymity allows.

    A node of the lattice is one level per column. Follows the paper: subsets of the columns are
    searched from small to large; a node is a candidate only if its projections on all smaller
    subsets are k-anonymous (subset property); every node above a k-anonymous one is so too
    (generalisation property); the frequency set of a node is rolled up from the one of a more
    specific node, the first of a subset from the lowest candidate levels (super-roots). The
    result is every minimal node. Of these the one with the least loss under the chosen measure
    is published (ties: the lowest sum of levels, then the smallest levels from the first column
    on).

    Rows in groups below k may be left out, up to the allowed number; a node then counts as
    k-anonymous. Privacy models are part of the search: without suppression all three properties
    hold for them too. With suppression (or with a model that is not monotone) they do not; then
    every k-anonymous node that is not above a node found is checked by itself, and groups that
    break a model are left out like small ones.

    A missing value is a leaf of its own that only the highest level joins with others. Leaves
    that lie higher than a level stay as they are at that level.

    Guarantee: every group has at least k people and keeps the privacy models; all cells of a column
    are at one level; no other minimal node loses less.
    Cost: exponential in the number of columns, at most (levels + 1) multiplied over all columns;
    each node looked at costs one pass over the distinct tuples of a more specific node.
    Determinism: no chance involved; the order of the rows does not matter.
    """

    name = "incognito"
    title = "optimal full-domain generalisation"
    citation = "LeFevre, DeWitt, Ramakrishnan 2005"
    whole_rows = math.inf
    works_in_blocks = False
    counts_people = True
    may_suppress = True

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        check_levels(table.attributes)
        search = LatticeSearch(LevelLattice(table), table, run)
        return search.publish(search.best())


class Frequencies(NamedTuple):
    """Distinct tuples of taxonomy nodes with their number of rows."""

    tuples: NDArray[np.int32]
    counts: NDArray[np.int64]


class LevelLattice:
    """The levels of every column, and the distinct tuples of the table.

    The rows of the table may be lines that stand for several rows each, or for none: a person who
    is in a tuple as well.

    Args:
        table: rows, or lines.
        times: how many rows each line stands for; one unless given.

    Attributes:
        heights: highest level of each column.
        base: the distinct tuples of the whole table, ungeneralised.
        times: how many rows each row of the table stands for; None if it is one each.
        tuple_of_row: which of the tuples each row is.
    """

    def __init__(self, table: EncodedTable, times: NDArray[np.int64] | None = None) -> None:
        self.attributes, self.times = table.attributes, times
        ladders = [_climb(attribute) for attribute in table.attributes]
        self.heights = tuple(len(ladder) - 1 for ladder in ladders)
        self._lookup = np.concatenate([ladder.ravel() for ladder in ladders])
        ends = np.cumsum([0, *(ladder.size for ladder in ladders)])
        self._start = [
            end + np.arange(len(ladder)) * ladder.shape[1]
            for end, ladder in zip(ends, ladders, strict=False)
        ]
        n = table.n_rows
        self._room = _room(n, len(ladders))
        rows = np.empty((n, len(ladders)), np.int32)
        for j, attribute in enumerate(table.attributes):
            assert attribute.taxonomy is not None
            missing = attribute.codes == attribute.size
            rows[:, j] = np.where(missing, attribute.taxonomy.n_nodes, attribute.codes)
        everything = tuple(range(len(ladders)))
        lowest = (0,) * len(ladders)
        counts = np.ones(n, np.int64) if times is None else times
        found, group = self._roll(Frequencies(rows, counts), everything, everything, lowest)
        self.base = Frequencies(found.tuples.copy(), found.counts.copy())
        self.tuple_of_row = group.copy()

    def levels(self, j: int, level: int) -> NDArray[np.int32]:
        """Return the node at a level of each node that lies at or below it (missing last)."""
        start = self._start[j]
        width = int(start[1] - start[0])
        return self._lookup[start[level] : start[level] + width]

    def from_base(self, subset: Subset, node: Node) -> tuple[Frequencies, NDArray[np.int64]]:
        """Return the frequency set of a node, and which of its tuples each base tuple is."""
        return self._roll(self.base, subset, subset, node)

    def from_specific(self, source: Frequencies, subset: Subset, node: Node) -> Frequencies:
        """Return the frequency set of a node from the one of a node below it (rollup)."""
        return self._roll(source, tuple(range(len(subset))), subset, node)[0]

    def _roll(
        self, source: Frequencies, columns: Subset, subset: Subset, node: Node
    ) -> tuple[Frequencies, NDArray[np.int64]]:
        """Roll a frequency set up; the result is overwritten by the next call."""
        m, width = len(source.counts), len(subset)
        merged, sums, group, slots = self._room
        merged = merged[: m * width].reshape(m, width)
        start = np.array(
            [self._start[j][level] for j, level in zip(subset, node, strict=True)], np.int64
        )
        n = roll_up(
            source.tuples,
            source.counts,
            np.array(columns, np.int64),
            self._lookup,
            start,
            slots[: 1 << (2 * m - 1).bit_length()],
            merged,
            sums,
            group,
        )
        return Frequencies(merged[:n], sums[:n]), group[:m]


class LatticeSearch:
    """The search of all lattices, from single columns to the whole quasi-identifier."""

    def __init__(
        self, lattice: LevelLattice, table: EncodedTable, run: Run, allowed: int | None = None
    ) -> None:
        self.lattice = lattice
        self.person = table.person
        self.run = run
        self.k = run.k
        most = run.max_suppressed or 0 if allowed is None else allowed
        self.allowed = min(most, int(lattice.base.counts.sum()) - 1)
        self.promises = [(m.on(each), each) for m in run.privacy for each in m.columns(table)]
        # groups that share people may break together what each of them keeps
        alone = table.person is None or not run.privacy
        self.monotone = self.allowed == 0 and alone and all(m.monotone for m in run.privacy)
        self.everything = tuple(range(len(lattice.heights)))
        self._costs = [node_costs(run, j, a) for j, a in enumerate(lattice.attributes)]
        self._totals = [
            [self._cost(j, level, self._mass(j)) for level in range(height + 1)]
            for j, height in enumerate(lattice.heights)
        ]

    def best(self) -> Node:
        """Return the minimal node with the least loss."""
        minimal = self.minimal_nodes()
        return min(minimal, key=lambda node: (self.loss(node), sum(node), node))

    def keeps(self, node: Node) -> bool:
        """Return whether the groups of a node keep all promises, small ones left out."""
        return self._left_out(self.everything, node) is not None

    def minimal_nodes(self) -> list[Node]:
        """Return the nodes that keep all promises while no node below them does."""
        n = len(self.everything)
        total = math.prod(height + 2 for height in self.lattice.heights) - 1
        done = 0
        survivors: dict[Subset, NDArray[np.bool_]] = {}
        minimal: list[Node] = []
        for size in range(1, n + 1):
            smaller, survivors = survivors, {}
            for subset in combinations(self.everything, size):
                self.run.progress(done, total, "searching")
                candidates = self._candidates(subset, smaller)
                survivors[subset], minimal = self._search(
                    subset, candidates, with_promises=self.monotone
                )
                done += candidates.size
        if self.promises and not self.monotone:
            anonymous = survivors[self.everything]
            _, minimal = self._search(self.everything, anonymous, with_promises=True)
        return minimal

    def _candidates(
        self, subset: Subset, smaller: dict[Subset, NDArray[np.bool_]]
    ) -> NDArray[np.bool_]:
        """Return the nodes whose projections on all smaller subsets survived (join and prune)."""
        result = np.ones([self.lattice.heights[j] + 1 for j in subset], np.bool_)
        if len(subset) > 1:
            for axis in range(len(subset)):
                rest = subset[:axis] + subset[axis + 1 :]
                result &= np.expand_dims(smaller[rest], axis)
        return result

    def _search(
        self, subset: Subset, candidates: NDArray[np.bool_], *, with_promises: bool
    ) -> tuple[NDArray[np.bool_], list[Node]]:
        """Look at candidates from specific to general; return all nodes at or above one found.

        Also returns the nodes found, none of which is above another. Candidates are closed
        upwards: what lies above a candidate is one.
        """
        nodes = np.argwhere(candidates)
        heights = nodes.sum(axis=1)
        super_root, _ = self.lattice.from_base(subset, tuple(nodes.min(axis=0).tolist()))
        root = Frequencies(super_root.tuples.copy(), super_root.counts.copy())
        above = np.zeros_like(candidates)
        found: list[Node] = []
        kept: dict[Node, Frequencies] = {}
        for height in range(int(heights.min()), int(heights.max()) + 1):
            layer = nodes[heights == height]
            below, kept = kept, {}
            room = KEPT_BYTES - sum(f.tuples.nbytes + f.counts.nbytes for f in below.values())
            for node in map(tuple, layer[~above[tuple(layer.T)]].tolist()):
                source = _smallest_source(node, below, root)
                frequencies = self.lattice.from_specific(source, subset, node)
                if self._is_anonymous(frequencies, subset, node) and not (
                    with_promises and self.promises and self._left_out(subset, node) is None
                ):
                    above[tuple(slice(level, None) for level in node)] = True
                    found.append(node)
                    continue
                room -= frequencies.tuples.nbytes + frequencies.counts.nbytes
                if room >= 0:
                    kept[node] = Frequencies(frequencies.tuples.copy(), frequencies.counts.copy())
        return above, found

    def _is_anonymous(self, frequencies: Frequencies, subset: Subset, node: Node) -> bool:
        counts = frequencies.counts
        if int(counts[counts < self.k].sum()) > self.allowed:
            return False
        if self.person is None:
            return True
        # rows of a person may lie in several tuples, so people cannot be added up as rows can
        found, group = self.lattice.from_base(subset, node)
        people = count_people(group[self.lattice.tuple_of_row], len(found.counts), self.person)
        return int(found.counts[people < self.k].sum()) <= self.allowed

    def _left_out(
        self, subset: Subset, node: Node
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
        """Return the group of each row and which groups are left out, None if that is too much.

        What is left must keep the promises by itself: t-closeness compares with the published
        rows.
        """
        frequencies, group = self.lattice.from_base(subset, node)
        labels = group[self.lattice.tuple_of_row]
        n_groups = len(frequencies.counts)
        bad = frequencies.counts < self.k
        if self.person is not None:
            bad = count_people(labels, n_groups, self.person) < self.k
        for model, column in self.promises:
            bad |= ~judge(
                model,
                labels,
                n_groups,
                column.codes,
                column.size,
                people=self.person,
                times=self.lattice.times,
            ).holds
        if int(frequencies.counts[bad].sum()) > self.allowed:
            return None
        if bad.any():
            rows = np.flatnonzero(~bad[labels])
            people = None if self.person is None else self.person[rows]
            times = None if self.lattice.times is None else self.lattice.times[rows]
            for model, column in self.promises:
                verdict = judge(
                    model,
                    labels[rows],
                    n_groups,
                    column.codes[rows],
                    column.size,
                    people=people,
                    times=times,
                )
                if not verdict.holds.all():
                    return None
        return labels, bad

    def loss(self, node: Node) -> int:
        """Return the total loss of a node in integer units; rows left out lose everything."""
        loss = sum(self._totals[j][level] for j, level in enumerate(node))
        if not self.allowed:
            return loss
        labels, bad = self._groups(node)
        rows = np.flatnonzero(bad[labels])
        for j, level in enumerate(node):
            mass = self._mass(j, rows)
            highest = self.lattice.heights[j]
            loss += self._cost(j, highest, mass) - self._cost(j, level, mass)
        return loss

    def _groups(self, node: Node) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        result = self._left_out(self.everything, node)
        assert result is not None  # the search has found this node
        return result

    def _mass(self, j: int, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.int64]:
        """Return how many of these rows have each value of column j and each sensitive value."""
        n_classes, times = self.run.scanner.n_classes, self.lattice.times
        place = self.lattice.base.tuples[self.lattice.tuple_of_row[rows], j].astype(np.int64)
        if n_classes > 1:
            place = place * n_classes + self.run.scanner.classes[rows]
        weights = None if times is None else times[rows]
        counted = np.bincount(place, weights, minlength=len(self._costs[j]) * n_classes)
        return counted.astype(np.int64).reshape(-1, n_classes)

    def _cost(self, j: int, level: int, mass: NDArray[np.int64]) -> int:
        """Return what column j costs so many rows of each value at a level."""
        present = np.flatnonzero(mass.any(axis=1))
        cost = self._costs[j][self.lattice.levels(j, level)[present]]
        # whole numbers of any length: rows of a cluster times costs are more than 64 bits hold
        return int(np.sum(cost.astype(object) * mass[present]))

    def publish(self, node: Node) -> Partition:
        """Return the groups of a node, with the taxonomy node each of them publishes."""
        labels, bad = self._groups(node)
        frequencies, _ = self.lattice.from_base(self.everything, node)
        number = np.where(bad, SUPPRESSED, np.cumsum(~bad) - 1).astype(np.int32)
        published = frequencies.tuples[~bad].copy()
        recoded = {a.name: published[:, j] for j, a in enumerate(self.lattice.attributes)}
        return Partition(number[labels], len(published), recoded)


def _smallest_source(node: Node, below: dict[Node, Frequencies], root: Frequencies) -> Frequencies:
    """Return the shortest frequency set that a node can be rolled up from."""
    best = root
    for axis, level in enumerate(node):
        found = below.get((*node[:axis], level - 1, *node[axis + 1 :]))
        if found is not None and len(found.counts) < len(best.counts):
            best = found
    return best


def _climb(attribute: Attribute) -> NDArray[np.int32]:
    """Return [levels, nodes + 1]: the node at each level over each node at or below that level.

    Missing, the last column, is a leaf of its own below the highest level.
    """
    taxonomy = attribute.taxonomy
    assert taxonomy is not None
    ladder = np.empty((taxonomy.tree_height + 1, taxonomy.n_nodes + 1), np.int32)
    for level in range(taxonomy.tree_height + 1):
        ladder[level, :-1] = taxonomy.generalization(level)[taxonomy.first_leaf]
        ladder[level, -1] = taxonomy.n_nodes
    if attribute.level is not None:  # nothing is published below a level
        ladder = attribute.level.of_node[ladder]
    ladder[-1, -1] = taxonomy.root
    return ladder


def node_costs(run: Run, j: int, attribute: Attribute) -> NDArray[np.int64]:
    """Return the integer cost of each taxonomy node (missing last) and sensitive value."""
    taxonomy = attribute.taxonomy
    assert taxonomy is not None
    nodes = np.arange(taxonomy.n_nodes + 1, dtype=np.int32)
    cost = run.model.forms[j].cost(TreeClosures(nodes, taxonomy.n_leaves, taxonomy.n_nodes))
    factor = float(run.model.weights[j]) * run.scanner.scale
    return np.rint(cost * factor).astype(np.int64).reshape(len(nodes), -1)


def _room(n_tuples: int, width: int) -> tuple[NDArray[Any], ...]:
    """Return room for the result of a rollup of up to n_tuples tuples."""
    return (
        np.empty(n_tuples * width, np.int32),
        np.empty(n_tuples, np.int64),
        np.empty(n_tuples, np.int64),
        np.empty(1 << (2 * n_tuples - 1).bit_length(), np.int64),
    )


def check_levels(attributes: Sequence[Attribute]) -> None:
    """Raise an AlgorithmError if a column has no levels, or all of them together too many."""
    check_trees(attributes, Incognito.name)
    _require_small_lattice([a.taxonomy.tree_height for a in attributes if a.taxonomy is not None])


def check_trees(attributes: Sequence[Attribute], algorithm: str) -> None:
    """Raise an AlgorithmError if a column has no levels that an algorithm could publish."""
    for attribute in attributes:
        if attribute.taxonomy is None:
            raise _without_levels(attribute, algorithm)


def _without_levels(attribute: Attribute, algorithm: str) -> AlgorithmError:
    if attribute.kind.is_time:
        builder = "shoal.date_hierarchy"
    elif attribute.kind.is_measured:
        builder = "shoal.interval_hierarchy"
    else:
        builder = "shoal.frequency_hierarchy"
    return AlgorithmError(
        "Algorithm {algorithm!r} needs a hierarchy of levels for every quasi-identifier, and "
        "column {name!r} of kind {kind!r} has none; build one with {builder} or `shoal "
        "hierarchy build`, or choose another algorithm.",
        algorithm=algorithm,
        name=attribute.name,
        kind=str(attribute.kind),
        builder=builder,
    )


def _require_small_lattice(heights: Sequence[int]) -> None:
    n_nodes = math.prod(height + 2 for height in heights)
    if n_nodes > MOST_NODES:
        raise AlgorithmError(
            "Algorithm 'incognito' searches all combinations of levels, and those of {n} "
            "quasi-identifiers are more than the {most_nodes:,} it can search; use fewer "
            "quasi-identifiers or hierarchies with fewer levels, or another algorithm.",
            n=len(heights),
            most_nodes=MOST_NODES,
        )
