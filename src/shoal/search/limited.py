"""Cells against attackers who know a few columns: each column is made finer in turn, row by row.

What is promised (L = ``knows``): whichever L quasi-identifiers somebody knows of a person, at least
k published rows have the same cells in these columns as each row that fits. It is the projection of
the published table on any L columns that is k-anonymous, and not the table (LKC-privacy, Mohammed,
Fung, Hung, Lee 2010). Promises about sensitive values hold in every such class, too. Fewer than L
columns make classes that are unions of these, so combinations of exactly L are looked at; chosen
combinations may have any size.

The search differs from the paper's, which specialises values for the whole table. Rows begin with
everything in every column. A column is then made finer by a step (`STEPS`: how much a cell may
still lose, and how rare its node may be), each row as far down the tree on the way to its own value
as the classes it is in allow (`shoal.kernels.limited`); then the next column, and again with a
finer step. So two rows of one value may publish different nodes of its tree: recoding is local.
Numbers and dates get a binary tree whose cuts lose least. Columns of few and frequent values come
first: they cost others little.

Cost: rows × combinations for each step, a few times. Deterministic, whatever the threads.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError
from shoal.kernels.limited import FREE, Asked, Room, climb
from shoal.privacy.arrays import PrivateArrays
from shoal.runtime.threads import Pieces
from shoal.table.closure import CLOSURES
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal.measure.base import Form
    from shoal.search.scan import Run
    from shoal.table.encode import Attribute, EncodedTable

STEPS = ((0.5, 0.05), (0.25, 0.05), (0.1, 0.05), (0.0, 0.0))
"""How much of its column a cell may lose before it is made finer, and the least share of rows that
the finer node has in the table."""
MOST_COMBINATIONS = 20_000
"""With more, nobody waits for the search."""
MOST_NODES = 127
"""Nodes of the binary tree of a line."""
DENSE = 1 << 20
"""Up to so many possible classes are counted at their own place, and others by a hash."""
SHARDS = 2
"""Combinations are looked at in so many parts, side by side; the result depends on it."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The cells that a column may publish.

    Attributes:
        shapes: what each node is, as its closures take it; the root, everything, comes first.
        parent: of each node; that of the root is itself.
        depth: of each node.
        cost: what a cell of each node loses.
        leaf: the node of each row's own value.
        share: the share of the rows that lie below each node.
    """

    shapes: list[Any]
    parent: NDArray[np.int64]
    depth: NDArray[np.int64]
    cost: NDArray[np.float64]
    leaf: NDArray[np.uint16]
    share: NDArray[np.float64]

    def targets(self, most: float, rarest: float) -> NDArray[np.uint16]:
        """Return the highest node over each row's own that loses no more, and is not so rare."""
        top, whole = np.arange(len(self.parent)), self.cost[0] or 1.0
        for _ in range(int(self.depth.max(initial=0))):
            above = self.parent[top]
            up = (self.cost[above] <= most * whole) | (self.share[top] < rarest)
            top = np.where(up, above, top)
        return top.astype(np.uint16)[self.leaf]


def known_combinations(
    names: Sequence[str], knows: int | None, chosen: Sequence[Sequence[str]]
) -> list[tuple[int, ...]]:
    """Return the columns of each combination that somebody may know, by their places.

    Those that are part of another are left out: their classes are unions of its classes.

    Raises:
        OptionError: there are too many.
    """
    found = {tuple(sorted(names.index(each) for each in one)) for one in chosen}
    if knows is not None:
        size = min(knows, len(names))
        if comb(len(names), size) > MOST_COMBINATIONS:
            raise OptionError(
                "{n} quasi-identifiers have {many:,} combinations of {knows}, more than the "
                "{most:,} that are looked at; lower knows, or name combinations.",
                n=len(names),
                many=comb(len(names), size),
                knows=knows,
                most=MOST_COMBINATIONS,
            )
        found = {each for each in found if len(each) > size}
        found |= {
            each
            for each in combinations(range(len(names)), size)
            if not any(set(each) < set(other) for other in found)
        }
    return sorted(
        each for each in found if not any(set(each) < set(o) for o in found if len(o) > len(each))
    )


def cells_for(table: EncodedTable, run: Run, known: Sequence[tuple[int, ...]]) -> Partition:
    """Return the cells of every row, as groups of rows that publish the same in every column.

    Args:
        table: the rows; all of them together keep the promises.
        run: k, promises, costs, threads and progress.
        known: the columns of each combination that somebody may know.
    """
    trees = [
        _tree(attribute, form, run.k)
        for attribute, form in zip(table.attributes, run.model.forms, strict=True)
    ]
    search = _Search(table, run, known, trees)
    order = np.argsort([_spread(tree) for tree in trees], kind="stable").tolist()
    total = len(STEPS) * len(order)
    for number, step in enumerate(STEPS):
        for place, column in enumerate(order):
            run.progress(number * len(order) + place, total, "making cells finer")
            search.refine(column, *step)
    return search.partition()


def _spread(tree: Tree) -> float:
    """Return how many values a column tells apart, in bits: its entropy."""
    share = np.bincount(tree.leaf) / max(len(tree.leaf), 1)
    share = share[share > 0]
    return float(-(share * np.log2(share)).sum())


class _Search:
    """The node of every row in every column, and room for the kernel."""

    def __init__(
        self,
        table: EncodedTable,
        run: Run,
        known: Sequence[tuple[int, ...]],
        trees: Sequence[Tree],
    ) -> None:
        self.table, self.run, self.known, self.trees = table, run, known, trees
        self.nodes = np.zeros((len(trees), table.n_rows), np.uint16)
        self.n_nodes = np.array([len(tree.parent) for tree in trees], np.int64)
        self.private = PrivateArrays.of(table.row_by_row, run.privacy)
        person = table.person
        self.person = np.empty(0, np.int64) if person is None else person.astype(np.int64)
        self.by_person = (
            np.arange(table.n_rows) if person is None else np.argsort(person, kind="stable")
        )

    def refine(self, column: int, most: float, rarest: float) -> None:
        """Make the cells of a column finer, as far as a step goes and promises allow."""
        tree, own = self.trees[column], self.nodes[column]
        wanted = tree.targets(most, rarest)
        wanted = np.where(tree.depth[wanted] > tree.depth[own], wanted, own)
        contexts = [[c for c in one if c != column] for one in self.known if column in one]
        if not contexts:  # nobody is said to know it
            self.nodes[column] = tree.leaf
            return
        shards = [part for n in range(SHARDS) for part in self._split(contexts[n::SHARDS], column)]
        with Pieces[int](self.run.threads) as pieces:
            while True:
                rows = self._concerned(tree, own, wanted)
                if not len(rows):
                    break
                asked = [wanted.copy() for _ in shards]
                tasks = [
                    self._task(column, rows, each, *shard)
                    for each, shard in zip(asked, shards, strict=True)
                ]
                for _ in pieces.ends(tasks):
                    pass
                climbed = sum(int((each != wanted).sum()) for each in asked)
                for each in asked:
                    wanted = np.where(tree.depth[each] < tree.depth[wanted], each, wanted)
                if not climbed:
                    break
        self.nodes[column] = wanted

    def _split(
        self, contexts: list[list[int]], column: int
    ) -> list[tuple[NDArray[np.int64], int, bool]]:
        """Return combinations that are counted in one way, with the room that this takes."""
        found = []
        own = int(self.n_nodes[column])
        sized = [(own * int(np.prod(self.n_nodes[one], dtype=float)), one) for one in contexts]
        for hashed in (False, True):
            chosen = [(size, one) for size, one in sized if (size > DENSE) == hashed]
            if not chosen:
                continue
            width = max(1, *(len(one) for _, one in chosen))
            padded = np.array([one + [-1] * (width - len(one)) for _, one in chosen], np.int64)
            room = 1 << (4 * self.table.n_rows).bit_length()
            found.append((padded, room if hashed else max(size for size, _ in chosen), hashed))
        return found

    def _concerned(
        self, tree: Tree, own: NDArray[np.uint16], wanted: NDArray[np.uint16]
    ) -> NDArray[np.int64]:
        """Return the rows whose classes could change, those of one person side by side."""
        pairs = np.unique(np.stack([own, wanted])[:, own != wanted], axis=1)
        touched = np.zeros(len(tree.parent), np.bool_)
        for start, end in pairs.T.tolist():
            node = end
            while node != start:
                touched[node] = True
                node = int(tree.parent[node])
            touched[start] = True
        rows: NDArray[np.int64] = self.by_person[touched[wanted[self.by_person]]]
        return rows

    def _task(
        self,
        column: int,
        rows: NDArray[np.int64],
        wanted: NDArray[np.uint16],
        contexts: NDArray[np.int64],
        room: int,
        hashed: bool,  # noqa: FBT001 - of `_split` only
    ) -> Callable[[], int]:
        def task() -> int:
            n = len(rows)
            asked = Asked(
                self.nodes,
                self.n_nodes,
                rows,
                contexts,
                self.person,
                self.trees[column].parent,
            )
            own = Room(
                np.full(room if hashed else 0, FREE, np.int64),
                np.full(room, FREE, np.int32),
                np.empty(n, np.int32),
                np.empty(n, np.int64),
                np.empty(n, np.int64),
                np.empty(n + 1, np.int64),
                np.empty(n, np.int64),
                np.empty(n, np.bool_),
                self.private.scratch(),
            )
            found: int = climb(asked, column, wanted, self.run.k, self.private.rules, own)
            return found

        return task

    def partition(self) -> Partition:
        """Return the rows that publish the same as groups, with what each publishes."""
        groups = Partition.of_equal_rows(list(self.nodes))
        recoded = {
            attribute.name: np.array(tree.shapes, np.int32)[self.nodes[place, groups.heads]]
            for place, (attribute, tree) in enumerate(
                zip(self.table.attributes, self.trees, strict=True)
            )
        }
        return Partition(groups.labels, groups.n_groups, recoded)


# -- the trees of cells ------------------------------------------------------------------------


def _tree(attribute: Attribute, form: Form, k: int) -> Tree:
    """Return the cells that a column may publish."""
    build = {"interval": _line, "tree": _hierarchy, "set": _flat}[attribute.algebra]
    shapes, parent, leaf_of_code = build(attribute, form, k)
    up = np.array(parent, np.int64)
    depth = np.zeros(len(up), np.int64)
    for node in range(1, len(up)):  # a parent comes before its children
        depth[node] = depth[up[node]] + 1
    leaf = np.array(leaf_of_code, np.uint16)[attribute.codes]
    share = np.bincount(leaf, minlength=len(up)).astype(np.float64)
    for node in range(len(up) - 1, 0, -1):
        share[up[node]] += share[node]
    cost = _costs(attribute, form, shapes)
    return Tree(shapes, up, depth, cost, leaf, share / max(len(leaf), 1))


def _costs(attribute: Attribute, form: Form, shapes: Sequence[Any]) -> NDArray[np.float64]:
    closures = CLOSURES[attribute.algebra].of_shapes(attribute, shapes)
    cost: NDArray[np.float64] = form.cost(closures)[: len(shapes)]
    return cost


def _hierarchy(
    attribute: Attribute, _: Form, __: int
) -> tuple[list[Any], list[int], NDArray[np.int64]]:
    """Return the nodes of the column's own hierarchy; missing is a leaf below its root."""
    taxonomy = attribute.taxonomy
    assert taxonomy is not None
    held = np.arange(taxonomy.n_nodes + 1)
    if attribute.level is not None:
        held = np.asarray(attribute.level.of_node)
    used = np.unique(held[: taxonomy.n_nodes])
    down = used[np.argsort(taxonomy.depth[used], kind="stable")]
    place = {int(node): number for number, node in enumerate(down)}
    parent = [0, *(place[int(held[taxonomy.parent[node]])] for node in down[1:])]
    shapes = down.tolist()
    of_code = [place[int(held[code])] for code in range(taxonomy.n_leaves)]
    missing = 0
    if attribute.has_missing:
        missing = len(shapes)
        shapes.append(taxonomy.n_nodes)
        parent.append(0)
    return shapes, parent, np.array([*of_code, missing])


def _flat(attribute: Attribute, _: Form, __: int) -> tuple[list[Any], list[int], NDArray[np.int64]]:
    """Return one node for each value, below everything."""
    last = attribute.size + int(attribute.has_missing)
    shapes = [(1, 0), *((0, code) for code in range(last))]
    return shapes, [0] * len(shapes), np.minimum(np.arange(attribute.size + 1) + 1, last)


def _line(
    attribute: Attribute, form: Form, k: int
) -> tuple[list[Any], list[int], NDArray[np.int64]]:
    """Return a binary tree of intervals, each cut where its halves lose least."""
    size = attribute.size
    count = np.bincount(attribute.codes, minlength=size + 1)
    below = np.concatenate(([0], np.cumsum(count[:size])))
    shapes: list[Any] = [(0, size - 1, int(attribute.has_missing))]
    parent = [0]
    if attribute.has_missing:
        shapes += [(size, size, 0), (0, size - 1, 0)]
        parent += [0, 0]
    leaf = np.full(size + 1, len(shapes) - 1)
    leaf[size] = 1 if attribute.has_missing else 0

    def lost(low: int, high: int) -> float:
        return float(_costs(attribute, form, [(low, high, 0)])[0]) * float(
            below[high + 1] - below[low]
        )

    waiting = [(-lost(0, size - 1), len(shapes) - 1)]
    while waiting and len(shapes) + 2 <= MOST_NODES:
        _, node = heapq.heappop(waiting)
        low, high, _ = shapes[node]
        cuts = np.arange(low, high)
        left, right = below[cuts + 1] - below[low], below[high + 1] - below[cuts + 1]
        enough = (left >= k) & (right >= k)
        cuts, left, right = cuts[enough], left[enough], right[enough]
        if not len(cuts):
            continue
        first = _costs(attribute, form, [(low, int(cut), 0) for cut in cuts])
        second = _costs(attribute, form, [(int(cut) + 1, high, 0) for cut in cuts])
        cut = int(cuts[np.argmin(left * first + right * second)])
        for each in ((low, cut), (cut + 1, high)):
            leaf[each[0] : each[1] + 1] = len(shapes)
            heapq.heappush(waiting, (-lost(*each), len(shapes)))
            shapes.append((*each, 0))
            parent.append(node)
    return shapes, parent, leaf
