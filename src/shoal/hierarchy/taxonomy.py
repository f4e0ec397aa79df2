"""A taxonomy as flat arrays: leaves in depth-first order, so every node is a leaf range."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import HierarchyError, OptionError
from shoal.hierarchy.csvfile import read_rows, write_rows
from shoal.hierarchy.draft import Draft, raise_problems
from shoal.hierarchy.labels import canonical_label
from shoal.hierarchy.nested import nested_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike
    from typing import Self

__all__ = ["IntArray", "Taxonomy"]

IntArray = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Taxonomy:
    """A generalisation tree over the values of one column; immutable.

    Node ids: leaves are ``0 .. n_leaves - 1`` in depth-first order, then the inner nodes,
    children before parents, and the root last. Every node covers the contiguous leaves
    ``first_leaf[node] .. last_leaf[node]``. All arrays are read-only. Depths may differ
    between leaves.

    Build one with `flat`, `from_nested`, `from_paths` or `from_csv`; these prove that what
    they were given is a tree, the bare constructor does not.

    Attributes:
        labels: label of every node; no two are equal.
        parent: parent of every node, -1 for the root.
        depth: edges up to the root.
        height: edges down to the node's deepest leaf (Byun's H of the subtree).
        first_leaf: lowest leaf id below the node.
        last_leaf: highest leaf id below the node, inclusive.
        leaf_count: number of leaves below the node, 1 for a leaf.
    """

    labels: tuple[str, ...]
    parent: IntArray
    depth: IntArray
    height: IntArray
    first_leaf: IntArray
    last_leaf: IntArray
    leaf_count: IntArray
    _leaf_index: dict[str, int] = field(hash=False)

    # -- constructors ------------------------------------------------------------------

    @classmethod
    def flat(cls, values: Iterable[object], root: str = "*") -> Self:
        """Build a tree of height 1: every value directly below the root, in the given order.

        The values may come from private data, so no message shows one of them.
        """
        leaves = [canonical_label(value) for value in values]
        if not leaves:
            msg = "A flat hierarchy needs at least one value and was given none."
            raise HierarchyError(msg)
        distinct = set(leaves)
        if len(distinct) < len(leaves):
            msg = (
                f"A flat hierarchy lists each value once, but {len(leaves) - len(distinct)} of "
                f"{len(leaves)} values are repetitions: pass the distinct values."
            )
            raise HierarchyError(msg)
        if root in distinct:
            msg = f"The root label {root!r} is also one of the values: choose another root=."
            raise HierarchyError(msg)
        return cls._grow([*leaves, root], [len(leaves)] * len(leaves) + [-1])

    @classmethod
    def from_nested(cls, obj: object, root: str = "*") -> Self:
        """Build from nested dicts and lists.

        ``{"Asia": ["India", "Iran"], "America": {"North": ["USA"]}}`` gets the root ``"*"``;
        a dict with a single key that holds a container has that key as its root.
        """
        return cls._from_draft(nested_paths(obj, root), unit="")

    @classmethod
    def from_paths(cls, rows: Iterable[Sequence[object]]) -> Self:
        """Build from one path per leaf, from the leaf up to the root.

        A node is its label; equal neighbours within a path are one node, so shallow leaves
        may be repeated to fill a rectangular table.
        """
        paths = (
            (number, [canonical_label(cell) for cell in row])
            for number, row in enumerate(rows, start=1)
        )
        return cls._from_draft(paths, unit="row")

    @classmethod
    def from_csv(
        cls,
        source: str | PathLike[str] | TextIO,
        delimiter: str | None = None,
        *,
        header: bool | None = None,
    ) -> Self:
        """Read an ARX-style file: one line ``leaf;level 1;…;root`` per leaf.

        Args:
            source: a path (UTF-8) or an open text stream.
            delimiter: one character; found among ``;``, tab and ``,`` if not given.
            header: whether the first line holds column titles. If not given, it does when
                its last cell differs from the root that all other lines share and none of
                its cells appears in them.

        Raises:
            HierarchyError: the file cannot be read, or is no tree; with line numbers.
        """
        subject, paths = read_rows(source, delimiter, header=header)
        hint = "" if header is not None else ", or say header=True if the first line holds titles"
        return cls._from_draft(paths, unit="line", subject=subject, hint=hint)

    @classmethod
    def _from_draft(
        cls,
        paths: Iterable[tuple[int, Sequence[str]]],
        unit: str,
        subject: str = "The hierarchy",
        hint: str = "",
    ) -> Self:
        draft = Draft(unit)
        for place, path in paths:
            draft.add(path, place)
        raise_problems(subject, draft.problems(hint))
        return cls._grow(draft.labels, draft.parents)

    @classmethod
    def _grow(cls, labels: Sequence[str], parents: Sequence[int]) -> Self:
        """Number the nodes of a proven tree and fill the arrays, in time O(nodes)."""
        children: list[list[int]] = [[] for _ in labels]
        stack: list[int] = []
        for node, up in enumerate(parents):
            (children[up] if up >= 0 else stack).append(node)
        # Popping visits parents first and siblings right to left; reversed, that is
        # children first and left to right.
        visited = []
        while stack:
            node = stack.pop()
            visited.append(node)
            stack.extend(children[node])
        visited.reverse()
        leaves = [node for node in visited if not children[node]]
        order = leaves + [node for node in visited if children[node]]
        n_leaves, n_nodes = len(leaves), len(order)

        number = np.empty(n_nodes + 1, dtype=np.int32)
        number[order] = np.arange(n_nodes, dtype=np.int32)
        number[-1] = -1
        parent = number[np.asarray(parents)[order]]

        up_of = parent.tolist()
        depth, height, count = [0] * n_nodes, [0] * n_nodes, [1] * n_leaves
        first, last = list(range(n_leaves)), list(range(n_leaves))
        count += [0] * (n_nodes - n_leaves)
        first += [n_leaves] * (n_nodes - n_leaves)
        last += [-1] * (n_nodes - n_leaves)
        for node in range(n_nodes - 1):
            up = up_of[node]
            count[up] += count[node]
            height[up] = max(height[up], height[node] + 1)
            first[up] = min(first[up], first[node])
            last[up] = max(last[up], last[node])
        for node in range(n_nodes - 2, -1, -1):
            depth[node] = depth[up_of[node]] + 1

        names = tuple(labels[node] for node in order)
        return cls(
            labels=names,
            parent=_frozen(parent),
            depth=_frozen(depth),
            height=_frozen(height),
            first_leaf=_frozen(first),
            last_leaf=_frozen(last),
            leaf_count=_frozen(count),
            _leaf_index={label: leaf for leaf, label in enumerate(names[:n_leaves])},
        )

    # -- size --------------------------------------------------------------------------

    @property
    def n_leaves(self) -> int:
        """Number of leaves: the size of the domain."""
        return len(self._leaf_index)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.labels)

    @property
    def root(self) -> int:
        """Id of the root, the last node."""
        return len(self.labels) - 1

    @property
    def tree_height(self) -> int:
        """Edges from the root down to the deepest leaf; at least 1."""
        return int(self.height[-1])

    @property
    def leaf_labels(self) -> tuple[str, ...]:
        """Labels of the leaves, by leaf id."""
        return self.labels[: self.n_leaves]

    # -- lookups -----------------------------------------------------------------------

    def leaf_codes(self, labels: Sequence[str]) -> IntArray:
        """Return the leaf id of each label, -1 where the label is no leaf."""
        find = self._leaf_index.get
        return np.fromiter((find(label, -1) for label in labels), np.int32, count=len(labels))

    def lca(self, a: int, b: int) -> int:
        """Return the lowest node that covers both nodes."""
        return int(self.lca_many(a, b))

    def lca_many(self, a: ArrayLike, b: ArrayLike) -> IntArray:
        """Return the lowest common ancestor of each pair of nodes; shapes broadcast."""
        left, right = np.broadcast_arrays(self._nodes(a), self._nodes(b))
        shape = left.shape
        node, right = left.ravel().copy(), right.ravel()
        first, last, deepest = self.first_leaf[right], self.last_leaf[right], self.depth[right]
        todo = np.arange(node.size)
        while todo.size:
            at = node[todo]
            # Equal ranges are a chain of only children; there the shallower node is above.
            below = (
                (self.first_leaf[at] > first[todo])
                | (self.last_leaf[at] < last[todo])
                | (self.depth[at] > deepest[todo])
            )
            todo = todo[below]
            node[todo] = self.parent[node[todo]]
        return node.reshape(shape)

    def lca_of_range(self, first: ArrayLike, last: ArrayLike) -> IntArray:
        """Return the lowest node over the leaves ``first .. last``, element by element.

        Leaves are in depth-first order, so this is the lowest common ancestor of any set of
        leaves with that lowest and highest member.
        """
        return self.lca_many(first, last)

    def _nodes(self, ids: ArrayLike) -> IntArray:
        nodes = np.asarray(ids, dtype=np.int32)
        if nodes.size and (nodes.min() < 0 or nodes.max() >= self.n_nodes):
            msg = f"Node ids run from 0 to {self.root}; an id outside of that was given."
            raise IndexError(msg)
        return nodes

    def levels(self) -> IntArray:
        """Return ``[tree_height + 1, n_leaves]``: the ancestor of each leaf at each depth.

        Row 0 is the root; a leaf that lies shallower than a row's depth is repeated there.
        """
        table = np.empty((self.tree_height + 1, self.n_leaves), dtype=np.int32)
        table[-1] = np.arange(self.n_leaves, dtype=np.int32)
        for depth in range(self.tree_height - 1, -1, -1):
            table[depth] = self._climb_to(table[depth + 1], depth)
        return table

    def generalization(self, level: int) -> IntArray:
        """Return the node of each leaf under full-domain recoding at a level.

        Level 0 keeps the leaves and level ``tree_height`` is the root everywhere; level g is
        the ancestor at depth ``tree_height - g``, or the leaf itself where it lies above
        that. The nodes of a level partition the leaves, and each level coarsens the one below.
        """
        if not 0 <= level <= self.tree_height:
            msg = f"level must be between 0 and {self.tree_height}, but {level!r} was given."
            raise OptionError(msg)
        nodes = np.arange(self.n_leaves, dtype=np.int32)
        for depth in range(self.tree_height - 1, self.tree_height - level - 1, -1):
            nodes = self._climb_to(nodes, depth)
        return nodes

    def _climb_to(self, nodes: IntArray, depth: int) -> IntArray:
        return np.where(self.depth[nodes] > depth, self.parent[nodes], nodes)

    # -- output ------------------------------------------------------------------------

    def to_paths(self) -> list[tuple[str, ...]]:
        """Return one path per leaf, leaf first, root last, all of the same length."""
        columns = [[self.labels[node] for node in row] for row in self.levels()[::-1].tolist()]
        return list(zip(*columns, strict=True))

    def to_csv(self, target: str | PathLike[str] | TextIO, delimiter: str = ";") -> None:
        """Write an ARX-style file without header, which `from_csv` reads back unchanged."""
        write_rows(self.to_paths(), target, delimiter)

    def __eq__(self, other: object) -> bool:
        """Tell whether the other has the same labels on the same tree in the same order."""
        if not isinstance(other, Taxonomy):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.parent, other.parent)

    def __hash__(self) -> int:
        """Hash by content, as equality compares."""
        return hash((self.labels, self.parent.tobytes()))

    def __repr__(self) -> str:
        """Show size and root in one line; leaves may be private and are not shown."""
        return (
            f"Taxonomy({self.n_leaves} leaves, height {self.tree_height}, root {self.labels[-1]!r})"
        )


def _frozen(values: ArrayLike) -> IntArray:
    array = np.array(values, dtype=np.int32)
    array.setflags(write=False)
    return array
