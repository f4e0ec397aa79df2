"""A hierarchy while it is being read: paths go in, a proven tree or one named error comes out."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from shoal.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Draft", "raise_problems"]

_SHOWN = 5


class Draft:
    """Collects leaf-to-root paths; the label is the identity of a node.

    Attributes:
        labels: label of every node, in order of first appearance.
        parents: index of every node's parent, -1 for a node that has none.
    """

    __slots__ = (
        "_cells",
        "_clashes",
        "_index",
        "_inner",
        "_leaf_place",
        "_problems",
        "_tails",
        "_unit",
        "labels",
        "parents",
    )

    def __init__(self, unit: str = "row") -> None:
        """Start empty.

        Args:
            unit: the word for a place in messages ("row", "line", ""). With "line" the labels
                come from a file, which may be any file of the disk if its name was mistyped:
                messages then say where a label stands and do not show it.
        """
        self.labels: list[str] = []
        self.parents: list[int] = []
        self._unit = unit
        self._cells: list[tuple[int, int]] = []
        self._index: dict[str, int] = {}
        self._inner: set[int] = set()
        self._leaf_place: dict[str, int] = {}
        self._tails: dict[tuple[str, ...], int] = {}
        self._clashes: dict[tuple[int, int], None] = {}
        self._problems: list[str] = []

    def add(self, cells: Sequence[str], place: int) -> None:
        """Add one path from a leaf up to the root; equal neighbours are one node."""
        if not cells:
            self._problems.append(f"There is an empty path{self._at(place)}.")
            return
        if not all(map(str.strip, cells)):
            self._problems.append(f"A label is empty{self._at(place)}.")
            return
        leaf = cells[0]
        if leaf in self._leaf_place:
            shown = "A leaf" if self._unit == "line" else f"Leaf {_quote(leaf)}"
            self._problems.append(
                f"{shown} is listed twice{self._at(self._leaf_place[leaf], place)}."
            )
            return
        self._leaf_place[leaf] = place
        tail = tuple(upper for lower, upper in pairwise(cells) if upper != lower)
        node = self._node(leaf, place, cells)
        # Most leaves share the rest of their path with a sibling: link it once.
        above = self._tails.get(tail)
        if above is None:
            above = self._climb(tail, place, cells)
            self._tails[tail] = above
        if above >= 0:
            self._link(node, above)

    def _climb(self, tail: Sequence[str], place: int, cells: Sequence[str]) -> int:
        nodes = [self._node(label, place, cells) for label in tail]
        for lower, upper in pairwise(nodes):
            self._link(lower, upper)
        return nodes[0] if nodes else -1

    def _node(self, label: str, place: int, cells: Sequence[str]) -> int:
        node = self._index.setdefault(label, len(self.labels))
        if node == len(self.labels):
            self.labels.append(label)
            self.parents.append(-1)
            self._cells.append((place, cells.index(label) + 1))
        return node

    def _shown(self, node: int) -> str:
        """Return what to call a node: its label, or where it first stands in the file."""
        if self._unit != "line":
            return _quote(self.labels[node])
        line, cell = self._cells[node]
        return f"(line {line}, cell {cell})"

    def _link(self, child: int, parent: int) -> None:
        known = self.parents[child]
        if known < 0:
            self.parents[child] = parent
            self._inner.add(parent)
        elif known != parent:
            self._clashes[child, parent] = None
            self._inner.add(parent)

    def _at(self, *places: int) -> str:
        if not self._unit:
            return ""
        if len(places) == 1:
            return f" ({self._unit} {places[0]})"
        return f" ({self._unit}s {' and '.join(map(str, places))})"

    def problems(self, hint: str = "") -> list[str]:
        """Name everything that keeps the paths from being a tree, one sentence each."""
        found = list(self._problems)
        if not self.labels:
            return found or ["There is no leaf in it."]
        found += [
            ("A leaf" if self._unit == "line" else f"Leaf {_quote(leaf)}")
            + f" is also a node above other leaves{self._at(place)}."
            for leaf, place in self._leaf_place.items()
            if self._index[leaf] in self._inner
        ]
        found += [
            f"Node {self._shown(child)} has two parents, {self._shown(self.parents[child])} and "
            f"{self._shown(other)}."
            for child, other in self._clashes
        ]
        found += self._cycles()
        roots = [node for node, up in enumerate(self.parents) if up < 0]
        if len(roots) > 1:
            some = ", ".join(map(self._shown, roots[:3])) + (", …" if len(roots) > 3 else "")
            found.append(
                f"There are {len(roots)} roots ({some}) and no common top: "
                f"end every path with one shared label such as '*'{hint}."
            )
        if len(self.labels) == 1 and not found:
            found.append(
                "There is no level above its only leaf: end its path with a root like '*'."
            )
        return found

    def _cycles(self) -> list[str]:
        """Search depth-first along every edge upwards, also those to a second parent."""
        ups = [[up] if up >= 0 else [] for up in self.parents]
        for child, other in self._clashes:
            ups[child].append(other)
        found = []
        entered, left = [False] * len(ups), [False] * len(ups)
        for start in range(len(ups)):
            path = [] if entered[start] else [start]
            while path:
                node = path[-1]
                entered[node] = True
                if not ups[node]:
                    left[path.pop()] = True
                    continue
                up = ups[node].pop()
                if not entered[up]:
                    path.append(up)
                elif not left[up]:
                    # Still on the path: the way from it to here, and back, is a cycle.
                    found.append(self._ring(path[path.index(up) :]))
        return found

    def _ring(self, nodes: Sequence[int]) -> str:
        names = [self._shown(node) for node in nodes]
        shown = [*names[:_SHOWN], "…"] if len(names) > _SHOWN else names
        return f"There is a cycle: {' → '.join([*shown, names[0]])}."


def raise_problems(subject: str, problems: Sequence[str]) -> None:
    """Raise one HierarchyError that names up to five problems and counts the rest."""
    if not problems:
        return
    count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
    rest = len(problems) - _SHOWN
    more = f" And {rest} more." if rest > 0 else ""
    msg = f"{subject} has {count}: {' '.join(problems[:_SHOWN])}{more}"
    raise HierarchyError(msg)


def _quote(label: str) -> str:
    return repr(label if len(label) <= 40 else label[:39] + "…")
