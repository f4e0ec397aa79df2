"""A taxonomy as flat arrays: leaves in depth-first order, so every node is a leaf range."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice, pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import HierarchyError, OptionError
from shoal.io.limits import read_side_file
from shoal.io.overwrite_guard import refuse_input
from shoal.io.source import to_utf8
from shoal.messages import Message, joined, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sized
    from typing import Self


# The text of a data value: the one place where data and hierarchy labels meet.


def require_all(n_good: int, values: Sized, sentence: Message, **holes: Any) -> None:
    """Raise a HierarchyError unless all values are good.

    Args:
        n_good: how many are.
        values: all of them.
        sentence: of the error, with the holes ``n`` (those that are not good) and ``n2`` (all).
        holes: what fills its other holes.
    """
    if n_good < len(values):
        raise HierarchyError(sentence, n=len(values) - n_good, n2=len(values), **holes)


def canonical_label(value: object) -> str:
    """Return the text under which a value is looked up among the leaves of a hierarchy.

    The same quantity has the same text whatever type carries it: ``17``, ``17.0``,
    ``Decimal("17.00")`` and ``np.int8(17)`` are all ``"17"``. Booleans are ``"true"`` and
    ``"false"``, dates and datetimes are ISO (a blank between date and time), text is itself.

    Raises:
        HierarchyError: for ``None``, which stands for a missing value and has no label.
    """
    if type(value) is str:  # the common case, on the path of every cell of a file
        return value
    for types, label in _LABELS:
        if isinstance(value, types):
            return label(value)
    if value is None:
        raise HierarchyError(
            "A missing value has no label: leave missing values out of a hierarchy."
        )
    return str(value)


def _float_label(value: float | np.floating) -> str:
    # Through text for narrow floats: float32 0.1 is "0.1", not 0.10000000149011612.
    number = float(value) if isinstance(value, float) else float(str(value))
    if math.isfinite(number) and number.is_integer():
        # Of the short text: 1e23 is a one with 23 zeros, not 99999999999999991611392.
        return str(int(Decimal(repr(number))))
    return repr(number)


def _decimal_label(value: Decimal) -> str:
    if not value.is_finite():
        return str(value)
    # Not Decimal.normalize(): it rounds to the precision of the context.
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


# The order matters: bool is an int, and datetime is a date.
_LABELS: tuple[tuple[tuple[type, ...], Callable[[Any], str]], ...] = (
    ((str,), str),
    ((bool, np.bool_), lambda value: "true" if value else "false"),
    ((int, np.integer), lambda value: str(int(value))),
    ((float, np.floating), _float_label),
    ((Decimal,), _decimal_label),
    ((dt.datetime,), lambda value: value.isoformat(sep=" ")),
    ((dt.date,), lambda value: value.isoformat()),
    ((np.datetime64,), lambda value: str(value).replace("T", " ")),
)


# A hierarchy while it is being read: paths go in, a proven tree or one named error comes out.

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
            self._problems.append(Message("There is an empty path{at}.", at=self._at(place)))
            return
        if not all(map(str.strip, cells)):
            self._problems.append(Message("A label is empty{at}.", at=self._at(place)))
            return
        leaf = cells[0]
        if leaf in self._leaf_place:
            self._problems.append(
                Message(
                    "{shown} is listed twice{at}.",
                    shown=self._leaf(leaf),
                    at=self._at(self._leaf_place[leaf], place),
                )
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
        in_file = self._unit == "line"
        if len(places) == 1:
            unit = Message("line") if in_file else Message("row")
            return Message(" ({unit} {place})", unit=unit, place=places[0])
        units = Message("lines") if in_file else Message("rows")
        first, second = places
        return Message(" ({units} {first} and {second})", units=units, first=first, second=second)

    def problems(self, hint: str = "") -> list[str]:
        """Name everything that keeps the paths from being a tree, one sentence each."""
        found = list(self._problems)
        if not self.labels:
            return found or [Message("There is no leaf in it.")]
        found += [
            Message(
                "{shown} is also a node above other leaves{at}.",
                shown=self._leaf(leaf),
                at=self._at(place),
            )
            for leaf, place in self._leaf_place.items()
            if self._index[leaf] in self._inner
        ]
        found += [
            Message(
                "Node {child} has two parents, {one} and {other}.",
                child=self._shown(child),
                one=self._shown(self.parents[child]),
                other=self._shown(other),
            )
            for child, other in self._clashes
        ]
        found += self._cycles()
        roots = [node for node, up in enumerate(self.parents) if up < 0]
        if len(roots) > 1:
            some = ", ".join(map(self._shown, roots[:3])) + (", …" if len(roots) > 3 else "")
            found.append(
                Message(
                    "There are {n} roots ({some}) and no common top: end every path with one "
                    "shared label such as '*'{hint}.",
                    n=len(roots),
                    some=some,
                    hint=hint,
                )
            )
        if len(self.labels) == 1 and not found:
            found.append(
                Message("There is no level above its only leaf: end its path with a root like '*'.")
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
        return Message("There is a cycle: {nodes}.", nodes=" → ".join([*shown, names[0]]))

    def _leaf(self, label: str) -> Message:
        """Return what to call a leaf: labels of files may be values, so lines are named."""
        if self._unit == "line":
            return Message("A leaf")
        return Message("Leaf {label}", label=_quote(label))


def raise_problems(subject: str, problems: Sequence[str]) -> None:
    """Raise one HierarchyError that names up to five problems and counts the rest."""
    if not problems:
        return
    rest = len(problems) - _SHOWN
    raise HierarchyError(
        "{subject} has {count}: {problems}{more}",
        subject=subject,
        count=plural("a problem", "{n} problems", len(problems)),
        problems=joined(" ", problems[:_SHOWN]),
        more=Message(" And {n} more.", n=rest) if rest > 0 else "",
    )


def _quote(label: str) -> str:
    return repr(label if len(label) <= 40 else label[:39] + "…")


# Nested dicts and lists, as users write hierarchies in Python or TOML, as leaf-to-root paths.


def nested_paths(obj: object, root: str = "*") -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield ``(number, path)`` for every leaf; see `Taxonomy.from_nested` for the shapes.

    A key that holds ``None`` or an empty container is a leaf.
    """
    if not _is_container(obj):
        raise HierarchyError(
            'A nested hierarchy is a dict or a list, for example {{"Asia": ["India", '
            '"Iran"]}}, but a {name} was given.',
            name=type(obj).__name__,
        )
    if isinstance(obj, Mapping) and len(obj) == 1:
        ((key, below),) = obj.items()
        if _is_container(below) and below:
            obj, root = below, canonical_label(key)
    # An explicit stack: a deep hierarchy must not meet the recursion limit.
    stack: list[tuple[object, tuple[str, ...]]] = [(obj, (root,))]
    number = 0
    while stack:
        item, path = stack.pop()
        if isinstance(item, Mapping):
            stack.extend(_below_keys(item, path))
        elif isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
            stack.extend(_below_list(item, path))
        else:
            number += 1
            yield number, (canonical_label(item), *path)


def _below_keys(
    item: Mapping[object, object], path: tuple[str, ...]
) -> Iterator[tuple[object, tuple[str, ...]]]:
    for key, below in reversed(list(item.items())):
        if below is None or (_is_container(below) and not below):
            yield key, path
        else:
            yield below, (canonical_label(key), *path)


def _below_list(
    item: Sequence[object], path: tuple[str, ...]
) -> Iterator[tuple[object, tuple[str, ...]]]:
    for member in reversed(item):
        if _is_container(member) and not isinstance(member, Mapping):
            raise HierarchyError(
                "A list inside a list below {path!r} has no label: name it with a dict, as in "
                "{{'label': [...]}}.",
                path=path[0],
            )
        yield member, path


def _is_container(obj: object) -> bool:
    return isinstance(obj, (Mapping, Sequence)) and not isinstance(obj, (str, bytes))


# Hierarchy files: one line ``leaf;level 1;…;root`` per leaf, as ARX writes them.

_DELIMITERS = (";", "\t", ",")
_SNIFFED_LINES = 200

Row = tuple[int, list[str]]


def read_rows(
    source: str | PathLike[str] | TextIO, delimiter: str | None, *, header: bool | None
) -> tuple[str, list[Row]]:
    """Return how to call the source in messages, and its rows with their line numbers."""
    subject, text = _read_text(source)
    if delimiter is None:
        delimiter = _sniff(text)
    rows = _parse(subject, text, _one_character(delimiter))
    if not rows:
        raise HierarchyError(
            "{subject} is empty: write one line 'leaf;level 1;…;*' per value.", subject=subject
        )
    width = len(rows[0][1])
    for line, cells in rows:
        if len(cells) != width:
            raise HierarchyError(
                "{subject} has {cells} in line {line} but {cells2} in line {rows} (delimiter "
                "{delimiter!r}): give every line the same number.",
                subject=subject,
                cells=_cells(len(cells)),
                line=line,
                cells2=_cells(width),
                rows=rows[0][0],
                delimiter=delimiter,
            )
    if header if header is not None else _has_header(rows):
        rows = rows[1:]
        if not rows:
            raise HierarchyError(
                "{subject} holds a header and no leaf: write one line per value below it.",
                subject=subject,
            )
    return subject, rows


def write_rows(
    rows: Iterable[Sequence[str]], target: str | PathLike[str] | TextIO, delimiter: str
) -> None:
    """Write the rows; a file appears whole or not at all."""
    _one_character(delimiter)
    special = (delimiter, '"', "\r", "\n", "\ufeff")

    def cell(text: str) -> str:
        if any(mark in text for mark in special):
            return '"' + text.replace('"', '""') + '"'
        return text

    text = "".join(delimiter.join(map(cell, row)) + "\n" for row in rows)
    if not isinstance(target, (str, PathLike)):
        target.write(text)
        return
    path = Path(target)
    refuse_input(path, Message("the hierarchy file"))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(text.encode())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise HierarchyError(
            "The hierarchy file {path!r} cannot be written: {strerror}.",
            path=str(path),
            strerror=error.strerror,
        ) from error


def with_leaves(path: Path, labels: Sequence[str]) -> str:
    """Return the text of a hierarchy file with further leaves directly below its root.

    Its own lines stay as they are.

    Raises:
        HierarchyError: it cannot be read, or a label is one of its groups; none is shown.
    """
    text = _read_text(path)[1]
    tree = Taxonomy.from_csv(path)
    delimiter = _sniff(text)
    (_, first), *_ = _parse("", text, delimiter)
    more = io.StringIO()
    write_rows(([each, *[tree.labels[-1]] * (len(first) - 1)] for each in labels), more, delimiter)
    made = text + ("" if text.endswith("\n") else "\n") + more.getvalue()
    try:
        grown = Taxonomy.from_csv(io.StringIO(made))
        covers = not set(labels).difference(grown.leaf_labels)
    except HierarchyError:
        covers = False
    if not covers:
        raise HierarchyError(
            "The hierarchy file {path!r} cannot take the new values as leaves below its root, "
            "because one is called like a group of it; add them by hand.",
            path=str(path),
        )
    return made


def _read_text(source: str | PathLike[str] | TextIO) -> tuple[str, str]:
    if not isinstance(source, (str, PathLike)):
        return Message("The hierarchy"), source.read().removeprefix("\ufeff")
    path = Path(source)
    subject = Message("The hierarchy file {path!r}", path=str(path))
    try:
        data = read_side_file(path, Message("the hierarchy file"))
    except OSError as error:
        raise HierarchyError(
            "{subject} cannot be read: {strerror}.", subject=subject, strerror=error.strerror
        ) from error
    try:
        data = to_utf8(data, None, name=subject, table=False)
        return subject, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise HierarchyError(
            "{subject} is not UTF-8 text (line {line}): save it as UTF-8.",
            subject=subject,
            line=line,
        ) from error


def _parse(subject: str, text: str, delimiter: str) -> list[Row]:
    # newline="" hands line ends inside quotes to the reader unchanged.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise HierarchyError(
            "{subject} cannot be parsed (line {line_num}): {error}.",
            subject=subject,
            line_num=reader.line_num,
            error=error,
        ) from error


def _sniff(text: str) -> str:
    """Choose the first delimiter that cuts the opening lines into equally many cells, > 1."""
    widest, best = ";", 0
    for delimiter in _DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            widths = [len(cells) for cells in islice(reader, _SNIFFED_LINES) if cells]
        except csv.Error:
            continue
        if widths and min(widths) == max(widths) > 1:
            return delimiter
        if max(widths, default=0) > max(best, 1):
            widest, best = delimiter, max(widths)
    return widest


def _has_header(rows: list[Row]) -> bool:
    titles, body = rows[0][1], rows[1:]
    roots = {cells[-1] for _, cells in body}
    if len(roots) != 1 or titles[-1] in roots:
        return False
    # A first line that shares a label with the others is a leaf with a wrong root instead.
    return not any(title in cells for title in set(titles) for _, cells in body)


def _one_character(delimiter: str) -> str:
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise OptionError(
            "delimiter must be one character such as ';', but {delimiter!r} was given.",
            delimiter=delimiter,
        )
    return delimiter


def _cells(count: int) -> Message:
    return plural("{n} cell", "{n} cells", count)


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
            raise HierarchyError("A flat hierarchy needs at least one value and was given none.")
        distinct = set(leaves)
        require_all(
            len(distinct),
            leaves,
            Message(
                "A flat hierarchy lists each value once, but {n} of {n2} values are "
                "repetitions: pass the distinct values."
            ),
        )
        if root in distinct:
            raise HierarchyError(
                "The root label {root!r} is also one of the values: choose another root=.",
                root=root,
            )
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
        hint = ""
        if header is None:
            hint = Message(", or say header=True if the first line holds titles")
        return cls._from_draft(paths, unit="line", subject=subject, hint=hint)

    @classmethod
    def _from_draft(
        cls,
        paths: Iterable[tuple[int, Sequence[str]]],
        unit: str,
        subject: str = Message("The hierarchy"),
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
            raise OptionError(
                "level must be between 0 and {tree_height}, but {level!r} was given.",
                tree_height=self.tree_height,
                level=level,
            )
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


# One door for every form in which a user may hand over a hierarchy.


def load_hierarchy(source: object) -> Taxonomy:
    """Return the taxonomy that a user meant.

    Args:
        source: a `Taxonomy`, the path of a hierarchy file (text or path object), or a nested
            dict or list.

    Raises:
        HierarchyError: it cannot be read, or is no tree.
    """
    if isinstance(source, Taxonomy):
        return source
    if isinstance(source, (str, PathLike)):
        return Taxonomy.from_csv(source)
    return Taxonomy.from_nested(source)


# Questions to a finished hierarchy: does it cover the data, and is anything odd about it?
#
# What makes a hierarchy unusable is named while it is read, in `shoal.hierarchy.taxonomy`.


def check_hierarchy(source: object) -> list[str]:
    """Return notes on a usable hierarchy, one sentence each; none is an error.

    Args:
        source: anything that `load_hierarchy` takes.

    Raises:
        HierarchyError: it is not usable; names up to five problems and counts the rest.
    """
    tree = load_hierarchy(source)
    notes: list[str] = []
    leaf_depth = tree.depth[: tree.n_leaves]
    if leaf_depth.min() < leaf_depth.max():
        shallow = int(np.count_nonzero(leaf_depth < leaf_depth.max()))
        notes.append(
            Message(
                "Depth is unbalanced: {shallow} of {n_leaves} leaves lie less than {tree_height} "
                "levels below the root; this is allowed, and the height of a node counts down to "
                "its deepest leaf.",
                shallow=shallow,
                n_leaves=tree.n_leaves,
                tree_height=tree.tree_height,
            )
        )
    children = np.bincount(tree.parent[:-1], minlength=tree.n_nodes)
    only = int(np.count_nonzero(children == 1))
    if only:
        nodes, verb = ("1 node", "has") if only == 1 else (f"{only} nodes", "have")
        notes.append(
            Message(
                "{nodes} {verb} a single child: climbing from that child hides nothing and still "
                "counts as a level.",
                nodes=nodes,
                verb=verb,
            )
        )
    return notes


def missing_values(taxonomy: Taxonomy, values: Iterable[str]) -> int:
    """Count the distinct labels among the values that are no leaf of the taxonomy."""
    return len(set(values).difference(taxonomy.leaf_labels))


def require_cover(taxonomy: Taxonomy, column_name: str, labels: Iterable[str]) -> None:
    """Make sure that every label of a column is a leaf.

    Raises:
        HierarchyError: with the column and the number of distinct missing values, never the
            values themselves, which are private.
    """
    distinct = set(labels)
    missing = missing_values(taxonomy, distinct)
    if missing:
        problems = plural(
            "{n} of {total} distinct values is no leaf of it",
            "{n} of {total} distinct values are no leaf of it",
            missing,
            total=len(distinct),
        )
        raise HierarchyError(
            "The hierarchy of column {column_name!r} does not cover the data: {said}; add them to "
            "the hierarchy ('shoal hierarchy check' finds the difference), put them directly below "
            "its root with --unknown-values root, or use a rule instead of listed values.",
            column_name=column_name,
            said=problems,
        )
