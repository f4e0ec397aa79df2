"""Which block a row belongs to: a small tree of cuts, made on the driver and sent to every worker.

A tree is cut median after median over the codes of a sample of tuples, columns of few values first,
as `shoal.search.blocked.similar_blocks` cuts a table in memory. It says where a row belongs by
the codes of that row alone, so it does not matter who asks, when, and how often.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.table.encode import Attribute

__all__ = ["Sample", "Tree", "grow", "places_of"]


@dataclass(frozen=True, eq=False)
class Sample:
    """Some of the different tuples of a table.

    Attributes:
        codes: the tuples, one row per column.
        rows: about how many rows of the table each of them stands for.
    """

    codes: NDArray[np.int32]
    rows: NDArray[np.float64]


@dataclass(eq=False)
class Tree:
    """Cuts: a row goes left if its code in a column is at most a number.

    Attributes:
        column: of each node; −1 for a leaf.
        cut: largest code that goes left.
        left: node on the left.
        right: node on the right.
        leaf: number of each leaf, from left to right; −1 for other nodes.
    """

    column: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    leaf: list[int] = field(default_factory=list)
    n_leaves: int = 0

    def add(self) -> int:
        """Add a leaf and return its node; leaves are numbered when the tree is complete."""
        for each in (self.column, self.cut, self.left, self.right, self.leaf):
            each.append(-1)
        return len(self.column) - 1

    def number(self) -> None:
        """Number the leaves from left to right."""
        self.n_leaves, waiting = 0, [0]
        while waiting:
            node = waiting.pop()
            if self.column[node] < 0:
                self.leaf[node] = self.n_leaves
                self.n_leaves += 1
            else:
                self.leaf[node] = -1
                waiting += [self.right[node], self.left[node]]

    def leaves_of(self, codes: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
        """Return the leaf of each row, from its codes."""
        n_rows = len(codes[0])
        column, cut = np.array(self.column), np.array(self.cut)
        left, right = np.array(self.left), np.array(self.right)
        node = np.zeros(n_rows, np.int64)
        walking = np.arange(n_rows) if column[0] >= 0 else np.empty(0, np.int64)
        while len(walking):
            at = node[walking]
            of = column[at]
            code = np.empty(len(walking), np.int64)
            for number in np.unique(of):
                mine = of == number
                code[mine] = codes[number][walking[mine]]
            node[walking] = np.where(code <= cut[at], left[at], right[at])
            walking = walking[column[node[walking]] >= 0]
        found: NDArray[np.int64] = np.array(self.leaf)[node]
        return found

    def nodes_of_leaves(self) -> dict[int, int]:
        """Return the node of each leaf."""
        return {leaf: node for node, leaf in enumerate(self.leaf) if leaf >= 0}


def places_of(attributes: Sequence[Attribute]) -> list[NDArray[np.float64]]:
    """Return where the codes of each column lie (missing last), as blocks of one machine are cut.

    All columns are equally wide at first.
    """
    places = []
    for a in attributes:
        if a.positions is None:
            place = np.append(np.arange(a.size) / max(1.0, a.size - 1.0), 2.0)
        else:
            width = float(a.positions[-1] - a.positions[0]) or 1.0
            place = np.append((a.positions - a.positions[0]) / width, 2.0)
        places.append(place * a.weight)
    return places


def grow(
    tree: Tree, node: int, sample: Sample, places: Sequence[NDArray[np.float64]], rows: float
) -> None:
    """Cut a leaf until no part of the sample stands for more than so many rows, or is one tuple."""
    waiting = [(node, np.arange(sample.codes.shape[1]))]
    sizes = [len(place) for place in places]
    while waiting:
        at, members = waiting.pop()
        weight = sample.rows[members]
        if weight.sum() <= rows:
            continue
        codes = sample.codes[:, members]
        low, high = codes.min(axis=1), codes.max(axis=1)
        spread = [float(place[b] - place[a]) for place, a, b in zip(places, low, high, strict=True)]
        if not any(a < b for a, b in zip(low, high, strict=True)):
            continue  # one tuple
        # the widest column; of equals, the one of fewest values
        column = min(
            (each for each in range(len(places)) if low[each] < high[each]),
            key=lambda each: (-spread[each], sizes[each], each),
        )
        cut = _median(codes[column], weight)
        goes_left = codes[column] <= cut
        tree.column[at], tree.cut[at] = column, cut
        tree.left[at], tree.right[at] = tree.add(), tree.add()
        waiting += [
            (tree.left[at], members[goes_left]),
            (tree.right[at], members[~goes_left]),
        ]


def _median(codes: NDArray[np.int32], weight: NDArray[np.float64]) -> int:
    """Return the code that splits rows most evenly; both sides have some."""
    values, place = np.unique(codes, return_inverse=True)
    upto = np.cumsum(np.bincount(place, weights=weight))[:-1]
    return int(values[int(np.argmin(np.abs(upto - weight.sum() / 2)))])
