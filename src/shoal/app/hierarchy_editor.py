"""A hierarchy while somebody edits it: a tree of labels, small edits, undo and redo.

The label is the identity of a node, as in the files. Leaves are values of the column: they can be
moved, never renamed or removed, so that every value stays in the tree exactly once. A node may be
empty while it is edited; it is left out when the tree is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shoal.errors import HierarchyError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shoal.hierarchy import Taxonomy


_LONGEST = 200
"""Letters of a label; longer ones fit nowhere."""


@dataclass(frozen=True)
class EditTree:
    """A tree of labels; immutable.

    Attributes:
        root: label of the top.
        inner: the children of every node that is no value, in order; an empty one may have none.
    """

    root: str
    inner: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> EditTree:
        """Return a taxonomy as a tree to edit."""
        below: dict[str, list[str]] = {
            taxonomy.labels[node]: [] for node in range(taxonomy.root, taxonomy.n_leaves - 1, -1)
        }
        # by their first leaf: children stand in the order of the leaves
        parent, first = taxonomy.parent.tolist(), taxonomy.first_leaf.tolist()
        for node in sorted(range(taxonomy.root), key=lambda each: (first[each], each)):
            below[taxonomy.labels[parent[node]]].append(taxonomy.labels[node])
        return cls(
            taxonomy.labels[taxonomy.root], {name: tuple(each) for name, each in below.items()}
        )

    def taxonomy(self) -> Taxonomy:
        """Return the tree as runs take it; nodes without a value below them are left out."""
        from shoal.hierarchy import Taxonomy

        return Taxonomy.from_paths(self.paths())

    def paths(self) -> list[list[str]]:
        """Return one path per value, from the value up to the root, in the order of the tree."""
        found: list[list[str]] = []
        stack: list[list[str]] = [[self.root]]
        while stack:
            path = stack.pop()
            if path[0] not in self.inner:
                found.append(path)
                continue
            stack.extend([child, *path] for child in reversed(self.inner[path[0]]))
        longest = max(map(len, found), default=0)
        # files are rectangles: a value that lies higher is repeated
        return [[path[0]] * (longest - len(path)) + path for path in found]

    @cached_property
    def parents(self) -> dict[str, str]:
        """The node above each node and value."""
        return {child: node for node, below in self.inner.items() for child in below}

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The values, in the order of the tree."""
        return tuple(path[0] for path in self.paths())

    @cached_property
    def depths(self) -> dict[str, int]:
        """How many steps each node that is no value lies below the root."""
        found = {self.root: 0}
        stack = [self.root]
        while stack:
            node = stack.pop()
            for child in self.inner[node]:
                if child in self.inner:
                    found[child] = found[node] + 1
                    stack.append(child)
        return found

    def below(self, node: str) -> list[str]:
        """Return the values below a node, or the value itself."""
        found, stack = [], [node]
        while stack:
            each = stack.pop()
            if each in self.inner:
                stack.extend(reversed(self.inner[each]))
            else:
                found.append(each)
        return found

    def above(self, label: str) -> list[str]:
        """Return the nodes above a node or value, the root last."""
        found = []
        while label != self.root:
            label = self.parents[label]
            found.append(label)
        return found

    # -- edits -------------------------------------------------------------------------

    def rename(self, node: str, name: str) -> EditTree:
        """Give a node another label."""
        self._check_inner(node)
        if name == node:
            return self
        label = self._check_new(name)
        inner = {
            (label if each == node else each): tuple(
                label if child == node else child for child in below
            )
            for each, below in self.inner.items()
        }
        return EditTree(label if self.root == node else self.root, inner)

    def add(self, name: str, under: str) -> EditTree:
        """Add an empty node, the last below another one."""
        self._check_inner(under)
        label = self._check_new(name)
        return replace(self, inner={**self.inner, under: (*self.inner[under], label), label: ()})

    def move(self, labels: Sequence[str], to: str) -> EditTree:
        """Put values and nodes, with all below them, last below another node."""
        self._check_inner(to)
        moved = self._topmost(labels)
        for label in moved:
            if label == to or label in self.above(to):
                raise HierarchyError("A node cannot be moved below itself; choose another place.")
        inner = self._without(moved)
        inner[to] = (*inner[to], *moved)
        return replace(self, inner=inner)

    def merge(self, labels: Sequence[str], name: str) -> EditTree:
        """Make one node of several nodes and values, in the place of the first.

        What was below the nodes is below the new one; values become its children.
        """
        merged = self._topmost(labels)
        gone = [label for label in merged if label in self.inner]
        label = name if name in gone else self._check_new(name)
        children: list[str] = []
        for each in merged:
            children.extend(self.inner.get(each, (each,)))
        place = self.parents[merged[0]]
        before = self.inner[place][: self.inner[place].index(merged[0])]
        at = sum(each not in merged for each in before)
        inner = {node: below for node, below in self._without(merged).items() if node not in gone}
        rest = inner[place]
        inner[place] = (*rest[:at], label, *rest[at:])
        inner[label] = tuple(children)
        return replace(self, inner=inner)

    def remove(self, node: str) -> EditTree:
        """Take a node away; what is below it takes its place."""
        self._check_inner(node)
        if node == self.root:
            raise HierarchyError("The top of a hierarchy stays: everything lies below it.")
        up = self.parents[node]
        inner = {each: below for each, below in self.inner.items() if each != node}
        at = inner[up].index(node)
        inner[up] = (*inner[up][:at], *self.inner[node], *inner[up][at + 1 :])
        return replace(self, inner=inner)

    def remove_level(self, depth: int) -> EditTree:
        """Take away all nodes that lie so many steps below the root."""
        nodes = [node for node, each in self.depths.items() if each == depth]
        if not nodes or depth < 1:
            raise HierarchyError(
                "There is no level {depth} between the top and the values; nothing was removed.",
                depth=depth,
            )
        tree = self
        for node in nodes:
            tree = tree.remove(node)
        return tree

    def _without(self, labels: Iterable[str]) -> dict[str, tuple[str, ...]]:
        away, inner = set(labels), dict(self.inner)
        for up in {self.parents[label] for label in away}:
            inner[up] = tuple(child for child in inner[up] if child not in away)
        return inner

    def _topmost(self, labels: Sequence[str]) -> list[str]:
        """Return the labels in the order of the tree, without those that lie below another."""
        chosen = dict.fromkeys(labels)
        if not chosen:
            raise HierarchyError("Choose a value or a node first.")
        for label in chosen:
            if label == self.root:
                raise HierarchyError("The top of a hierarchy stays: everything lies below it.")
            if label not in self.parents:
                raise _unknown(label, self.parents)
        order = {label: number for number, label in enumerate(self.walk())}
        return sorted(
            (each for each in chosen if not any(up in chosen for up in self.above(each))),
            key=order.__getitem__,
        )

    def walk(self) -> Iterable[str]:
        """Yield every node and value, parents first, in the order of the tree."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(self.inner.get(node, ())))

    def _check_inner(self, node: str) -> None:
        if node in self.inner:
            return
        if node in self.parents:
            raise HierarchyError(
                "That is a value of the column: values can be moved, but they stay as they are."
            )
        raise _unknown(node, self.inner)

    def _check_new(self, name: str) -> str:
        label = name.strip()
        if not label or len(label) > _LONGEST or not label.isprintable():
            raise HierarchyError(
                "A label must be visible text of at most {longest} letters; give another one.",
                longest=_LONGEST,
            )
        if label in self.inner or label in self.parents:
            raise HierarchyError("There is already a {label!r} in this hierarchy.", label=label)
        return label


def _unknown(label: str, known: Iterable[str]) -> HierarchyError:
    return HierarchyError(
        "There is no {label!r} in this hierarchy.{hint}",
        label=label,
        hint=did_you_mean(label, known),
    )


# -- undo and redo -------------------------------------------------------------------------------

EDITS: dict[str, Callable[..., EditTree]] = {
    "rename": EditTree.rename,
    "add": EditTree.add,
    "move": EditTree.move,
    "merge": EditTree.merge,
    "remove": EditTree.remove,
    "remove-level": EditTree.remove_level,
}
"""The edits by name; each returns another tree."""


@dataclass(frozen=True)
class Edit:
    """One edit, as it is kept.

    Attributes:
        name: one of `EDITS`.
        given: its arguments.
    """

    name: str
    given: tuple[Any, ...]

    def on(self, tree: EditTree) -> EditTree:
        """Return the tree after the edit.

        Raises:
            HierarchyError: it cannot be done there.
        """
        if self.name not in EDITS:
            raise HierarchyError(
                "There is no edit {name!r}.{hint}",
                name=self.name,
                hint=did_you_mean(self.name, EDITS),
            )
        return EDITS[self.name](tree, *self.given)


@dataclass(frozen=True)
class Draft:
    """A tree and what was done to it; undo forgets nothing until the next edit.

    Attributes:
        base: the tree that editing began with.
        edits: what was done, in order; also what was undone and can be done again.
        n_done: how many of the edits hold now.
    """

    base: EditTree
    edits: tuple[Edit, ...] = ()
    n_done: int = 0

    @cached_property
    def tree(self) -> EditTree:
        """The tree as it is now."""
        tree = self.base
        for edit in self.edits[: self.n_done]:
            tree = edit.on(tree)
        return tree

    @property
    def can_undo(self) -> bool:
        """Whether there is an edit to take back."""
        return self.n_done > 0

    @property
    def can_redo(self) -> bool:
        """Whether an edit was taken back."""
        return self.n_done < len(self.edits)

    def do(self, edit: Edit) -> Draft:
        """Return the draft after one more edit; what was undone is forgotten.

        Raises:
            HierarchyError: it cannot be done.
        """
        after = edit.on(self.tree)
        if after == self.tree:
            return self
        done = Draft(self.base, (*self.edits[: self.n_done], edit), self.n_done + 1)
        done.__dict__["tree"] = after  # known already
        return done

    def undo(self) -> Draft:
        """Return the draft before the last edit; itself if there is none."""
        return replace(self, n_done=max(self.n_done - 1, 0))

    def redo(self) -> Draft:
        """Return the draft with the edit that was last taken back; itself if there is none."""
        return replace(self, n_done=min(self.n_done + 1, len(self.edits)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "root": self.base.root,
            "inner": {node: list(below) for node, below in self.base.inner.items()},
            "edits": [[edit.name, *edit.given] for edit in self.edits],
            "n_done": self.n_done,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Draft:
        """Return the draft that `to_dict` told."""
        base = EditTree(
            plain["root"], {node: tuple(below) for node, below in plain["inner"].items()}
        )
        edits = tuple(Edit(name, tuple(given)) for name, *given in plain["edits"])
        return cls(base, edits, int(plain["n_done"]))
