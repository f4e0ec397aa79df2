"""The hierarchy of a column between the page and the job, and while somebody edits it.

The job has a rule, or a file that lists values. What somebody edits is a draft, kept with its undo
and redo beside the job; it counts for as long as the job still has what the draft has written.

In a draft the label is the identity of a node, as in the files. Leaves are values of the column:
they can be moved, never renamed or removed, so that every value stays in the tree exactly once. A
node may be empty while it is edited; it is left out when the tree is used.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shoal.app.runs import changed_column
from shoal.errors import HierarchyError, OptionError, ShoalError, did_you_mean
from shoal.hierarchy import Taxonomy, canonical_label, require_cover
from shoal.hierarchy.rules import CLASSIFICATIONS, HierarchyRule
from shoal.settings.inputs import numeric_columns, read_input
from shoal.table.schema import JobColumn, Kind, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from shoal.app.workspace import Workspace
    from shoal.settings.job import Job

# From the values of a column to a hierarchy, a grid, and what values become in it.

METHODS = ("intervals", "prefix", "dates", *CLASSIFICATIONS, "frequency", "flat")
"""How a hierarchy can be made from values."""
MOST_VALUES = 5_000
"""With more values a tree is no longer edited by hand; rules still work."""
_STEPS = (1, 2, 5)


@dataclass(frozen=True, eq=False)
class Values:
    """The distinct values of a column that are not missing, in order, and how often they occur.

    Attributes:
        name: of the column.
        series: the values in their own type, sorted.
        counts: rows of each.
        n_missing: rows without a value.
    """

    name: str
    series: pl.Series
    counts: tuple[int, ...]
    n_missing: int

    @classmethod
    def of(cls, column: pl.Series) -> Values:
        """Count the values of a column; numbers that are not finite count as missing."""
        import polars as pl

        known = column.drop_nulls()
        if known.dtype.is_float():
            known = known.filter(known.is_finite())
        if isinstance(known.dtype, pl.Categorical | pl.Enum):
            known = known.cast(pl.String)
        counted = known.alias("value").value_counts(name="n rows").sort("value")
        return cls(
            column.name,
            counted.get_column("value"),
            tuple(counted.get_column("n rows").to_list()),
            len(column) - len(known),
        )

    def __len__(self) -> int:
        """Return how many values there are."""
        return len(self.counts)

    @property
    def labels(self) -> list[str]:
        """The values as hierarchies write them."""
        return [canonical_label(value) for value in self.series.to_list()]

    @property
    def by_label(self) -> dict[str, int]:
        """Rows of each label; two values may have the same, as 17 and 17.0."""
        found: dict[str, int] = {}
        for label, count in zip(self.labels, self.counts, strict=True):
            found[label] = found.get(label, 0) + count
        return found


@dataclass(frozen=True)
class Built:
    """A hierarchy that was made from values.

    Attributes:
        tree: over all of them.
        rule: by which it grew; None where the values have to be listed in a file.
    """

    tree: Taxonomy
    rule: HierarchyRule | None = None


def natural_method(values: Values) -> str:
    """Return the method that is likely to suit a column."""
    import polars as pl

    from shoal.hierarchy.classifications import share_known
    from shoal.profile.column_facts import facts_of, looks_like_code

    dtype = values.series.dtype
    if dtype.is_numeric():
        return "intervals"
    if dtype.is_temporal():
        return "dates"
    if dtype != pl.String or not len(values):
        return "frequency"
    facts = facts_of(values.series)
    for name, looks in (
        ("icd10", facts.is_icd),
        ("atc", facts.is_atc),
        ("country", facts.is_country),
    ):
        if looks and share_known(name, values.labels) == 1:
            return name
    return "prefix" if looks_like_code(values.series) else "frequency"


def build(values: Values, method: str, options: Mapping[str, Any]) -> Built:
    """Make a hierarchy; what is not given is chosen by the data.

    Args:
        values: of the column.
        method: one of `METHODS`.
        options: widths and origin of intervals, keep and mask of prefixes, levels and form of
            dates, fanout of frequencies.

    Raises:
        HierarchyError: the values do not fit the method; no message shows one of them.
        OptionError: an option is out of range, or there is no such method.
    """
    if method not in METHODS:
        raise OptionError(
            "The method must be one of {methods}, not {method!r}.{hint}",
            methods=", ".join(METHODS),
            method=method,
            hint=did_you_mean(method, METHODS),
        )
    if not len(values):
        raise HierarchyError("Column {name!r} has no value at all.", name=values.name)
    given = {name: value for name, value in options.items() if value not in (None, "", (), [])}
    if method == "flat":
        return Built(Taxonomy.flat(dict.fromkeys(values.labels)))
    if method == "frequency":
        return Built(_by_frequency(values, int(given.get("fanout", 4))))
    rule = HierarchyRule.of({"rule": method, **_defaults(values, method, given), **given})
    series = values.series
    return Built(rule.build(series.to_list(), decimals=series.dtype.is_float()), rule)


def _by_frequency(values: Values, fanout: int) -> Taxonomy:
    from shoal.hierarchy import frequency_hierarchy

    # frequent values first, ties by label: as `shoal.explain` tries it
    ranked = sorted(values.by_label.items(), key=lambda each: (-each[1], each[0]))
    return frequency_hierarchy([label for label, _ in ranked], [n for _, n in ranked], fanout)


def _defaults(values: Values, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    from shoal.profile.guess import nice_width

    if method == "prefix":
        length = max(map(len, values.labels))
        kept = given.get("keep") or list(range(length - 1, 0, -1)) or [1]
        widest = max(kept) if isinstance(kept, list | tuple) else int(kept)
        # codes of one length are filled up with the mask
        return {"keep": kept} | ({"length": length} if length > widest else {})
    if method == "intervals" and "widths" not in given and values.series.dtype.is_numeric():
        low, high = float(values.series[0]), float(values.series[-1])
        width = nice_width(low, high)
        width = max(width, 2) if values.series.dtype.is_integer() else width
        widths = [float(f"{times * width:.12g}") for times in (1, 2, 4)]
        return {"widths": [int(each) if each.is_integer() else each for each in widths]}
    return {}


# -- files ---------------------------------------------------------------------------------------


def import_csv(text: str, values: Values, *, unknown: str = "error") -> Draft:
    """Read an ARX-style file over the values of a column.

    Args:
        text: one line ``leaf;level 1;…;root`` per value.
        values: of the column.
        unknown: what happens to values that the file lacks: ``error``, or ``root`` puts them
            directly below its root.

    Raises:
        HierarchyError: it is no tree, or does not cover the column.
    """
    tree = Taxonomy.from_csv(io.StringIO(text, newline=""))
    labels = list(dict.fromkeys(values.labels))
    if unknown == "root":
        missing = [each for each in labels if each not in set(tree.leaf_labels)]
        root = tree.labels[tree.root]
        tree = Taxonomy.from_paths([*tree.to_paths(), *([label, root] for label in missing)])
    require_cover(tree, values.name, labels)
    return Draft(EditTree.of(tree))


def export_csv(tree: Taxonomy) -> str:
    """Return an ARX-style file; `import_csv` reads it back as the same tree."""
    text = io.StringIO(newline="")
    tree.to_csv(text)
    return text.getvalue()


# -- previews ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """What some values become.

    Attributes:
        label: what is published.
        n_values: how many values it stands for.
        n_rows: how many rows have one of them.
    """

    label: str
    n_values: int
    n_rows: int


@dataclass(frozen=True)
class Level:
    """One level of a hierarchy.

    Attributes:
        number: 0 is the values themselves.
        parts: what is published at it, in the order of the tree.
        smallest: rows of its smallest part that has any.
    """

    number: int
    parts: tuple[Part, ...]
    smallest: int


def preview(tree: Taxonomy, values: Values) -> list[Level]:
    """Return what the values of a column become at each level, and how many rows that are."""
    import numpy as np

    counts = values.by_label
    rows = np.array([counts.get(label, 0) for label in tree.leaf_labels], dtype=np.int64)
    levels = []
    for number in range(tree.tree_height + 1):
        nodes, first, place = np.unique(
            tree.generalization(number), return_index=True, return_inverse=True
        )
        n_rows = np.bincount(place, weights=rows).astype(np.int64)
        n_values = np.bincount(place[rows > 0], minlength=len(nodes))
        parts = [
            Part(tree.labels[nodes[each]], int(n_values[each]), int(n_rows[each]))
            for each in np.argsort(first)
        ]
        filled = [part.n_rows for part in parts if part.n_rows]
        levels.append(Level(number, tuple(parts), min(filled, default=0)))
    return levels


def grid_choices(values: Values, kind: Kind) -> list[str]:
    """Return steps that are worth choosing for a column of numbers or dates, fine to coarse."""
    from shoal.table.grid import CALENDAR, WITHIN_A_DAY
    from shoal.table.schema import suggest_grid

    series = values.series
    if kind is not None and kind.is_time:
        units = [u for u in CALENDAR if kind is Kind.DATETIME or u not in WITHIN_A_DAY]
        return ["none", *units]
    if not len(values) or not series.dtype.is_numeric():
        return ["none"]
    from shoal.profile.guess import nice_width

    low, high = float(series[0]), float(series[-1])
    found = {nice_width(low, high, parts) for parts in (200, 100, 50, 25, 16, 10, 5, 2)}
    whole = series.dtype.is_integer()
    steps = [f"{step:.12g}" for step in sorted(found) if not whole or step >= 2]
    suggested = str(suggest_grid(kind, series, whole=True))
    if suggested != "none" and suggested not in steps:
        steps = [suggested, *steps]
    return ["none", *steps]


def preview_grid(values: Values, grid: Any) -> list[Part]:
    """Return the cells that the values of a column lie in.

    Raises:
        OptionError: the grid cannot be read, or does not fit the column.
    """
    import numpy as np

    from shoal.table.grid import parse_grid
    from shoal.table.grid_cells import find_cells

    lines = parse_grid(grid, column=values.name)
    if not lines:
        labels = values.labels
        return [Part(label, 1, n) for label, n in zip(labels, values.counts, strict=True)]
    cells = find_cells(values.series, lines, values.name)
    rows = np.bincount(cells.of_value, weights=values.counts).astype(np.int64)
    distinct = np.bincount(cells.of_value)
    ends: Sequence[tuple[Any, Any]] = list(
        zip(cells.lower.to_list(), cells.upper.to_list(), strict=True)
    )
    return [
        Part(_cell(*ends[each], exact=bool(cells.exact[each])), int(distinct[each]), int(n))
        for each, n in enumerate(rows)
        if n
    ]


def _cell(low: Any, high: Any, *, exact: bool) -> str:
    first, last = canonical_label(low), canonical_label(high)
    if exact or first == last:
        return first
    between = " to " if "-" in first + last else "-"
    return f"[{first}{between}{last}]"


_KEPT = "trees"


@dataclass(frozen=True)
class TreeState:
    """A hierarchy that can be edited.

    Attributes:
        draft: the tree with its undo and redo.
        rule: by which the tree grew that editing began with; None if it was listed.
    """

    draft: Draft
    rule: HierarchyRule | None = None

    @property
    def as_rule(self) -> HierarchyRule | None:
        """The rule, as long as nothing was edited by hand."""
        return None if self.draft.can_undo else self.rule


def frame_of(work: Workspace, job: Job | None = None) -> pl.DataFrame:
    """Return the open table as a run of the present job, or of another one, would read it.

    Raises:
        OptionError: no table is open.
    """
    if work.table is None:
        raise OptionError("Open a table first.")
    job = job or work.job
    frame = work.table.called(job.input.rename).frame
    said = job.schema_options()
    wanted = [name for name in numeric_columns(said["kinds"]) if name in frame.columns]
    opened = work.table.called(job.input.rename).suggestion.details
    as_opened = all(
        opened.get(option, {}).get(name) == how
        for option in ("read_as", "missing_codes")
        for name, how in said[option].items()
    )
    if all(frame.schema[name].is_numeric() for name in wanted) and as_opened:
        return frame
    # Somebody says that texts are numbers, or how they are written: then the file is read anew.
    source = replace(work.runnable().input, rename=job.input.rename)
    return read_input(source, details=said)


def columns_with_trees(work: Workspace) -> list[tuple[int, str]]:
    """Return the columns that are generalised, with their numbers in the table."""
    names = [] if work.table is None else work.table.names
    roles = {name: column.role for name, column in work.job.columns.items()}
    return [
        (number, name)
        for number, name in enumerate(names)
        if roles.get(name) is Role.QUASI_IDENTIFIER
    ]


def values_of(work: Workspace, name: str) -> Values:
    """Return the values of a column of the open table, counted."""
    return Values.of(frame_of(work).get_column(name))


def natural_kind(values: Values) -> Kind | None:
    """Return the kind of a column whose values lie on a line; None if they do not."""
    import polars as pl

    dtype = values.series.dtype
    if dtype.is_numeric():
        return Kind.NUMERIC
    if dtype == pl.Date:
        return Kind.DATE
    return Kind.DATETIME if isinstance(dtype, pl.Datetime) else None


def tree_of(work: Workspace, name: str, values: Values) -> TreeState | None:
    """Return the hierarchy of a column to edit; None if it has none, or too many values.

    Raises:
        HierarchyError: the job's file is no tree.
    """
    said = work.job.columns.get(name, JobColumn()).hierarchy
    if said is None or len(values) > MOST_VALUES:
        return None
    kept = (work.kept(_KEPT) or {}).get(name)
    if kept is not None and kept["is"] == _mark(said):
        rule = None if kept["rule"] is None else HierarchyRule.of(kept["rule"])
        return TreeState(Draft.from_dict(kept["draft"]), rule)
    if isinstance(said, HierarchyRule):
        decimals = values.series.dtype.is_float()
        tree = said.build(values.series.to_list(), decimals=decimals)
        return TreeState(Draft(EditTree.of(tree)), said)
    from shoal.hierarchy import load_hierarchy

    return TreeState(Draft(EditTree.of(load_hierarchy(said))))


def _mark(said: Path | HierarchyRule) -> str:
    """Return what tells one hierarchy of a job from another."""
    if isinstance(said, HierarchyRule):
        return json.dumps(said.to_dict(), sort_keys=True)
    try:
        return hashlib.sha256(said.read_bytes()).hexdigest()
    except OSError:
        return ""


def save_tree(work: Workspace, name: str, state: TreeState) -> None:
    """Put a hierarchy into the job, and keep its draft.

    Raises:
        HierarchyError: its file cannot be written.
    """
    rule = state.as_rule
    said: Path | HierarchyRule = rule or _write(work, name, Built(state.draft.tree.taxonomy()))
    with work.lock:
        kept = work.job.columns[name].grid  # a level that the tree still has
        _change(work, name, hierarchy=said, grid=kept if _has_level(state, kept) else None)
        entry = {
            "is": _mark(said),
            "rule": None if state.rule is None else state.rule.to_dict(),
            "draft": state.draft.to_dict(),
        }
        work.keep_with(_KEPT, lambda kept: {**(kept or {}), name: entry})


def _has_level(state: TreeState, grid: str | float | None) -> bool:
    from shoal.table.grid import parse_grid

    level = 0 if grid is None else parse_grid(grid, column="of a job").level
    return 0 < level < state.draft.tree.taxonomy().tree_height


def hold_at(work: Workspace, name: str, grid: str | None) -> None:
    """Publish nothing below a level of the hierarchy of a column, or its words in steps.

    Raises:
        OptionError: there is no such grid, or it does not fit the column.
    """
    from shoal.table.grid import parse_grid
    from shoal.table.infer import check_fit
    from shoal.table.schema import Column, Kind, Role

    column = work.job.columns[name]
    if grid is not None:
        kind = Kind.CATEGORICAL if column.hierarchy is not None else Kind.ORDINAL
        order = None if column.order is None else tuple(map(str, column.order))
        said = Column(name=name, role=Role.QUASI_IDENTIFIER, kind=kind, order=order)
        check_fit(said, parse_grid(grid, column=name))
    _change(work, name, grid=grid)


def use_grid(work: Workspace, name: str, grid: str | float | None, kind: Kind | None) -> None:
    """Generalise a column to intervals, or sets of values, without a hierarchy.

    Raises:
        OptionError: there is no such grid.
    """
    _change(work, name, hierarchy=None, grid=grid, kind=kind)


def _change(work: Workspace, name: str, **changes: Any) -> None:
    with work.lock:
        columns = dict(work.job.columns)
        columns[name] = changed_column(columns[name], **changes)
        work.change(work.job.replaced(columns=columns))


def list_values(work: Workspace, name: str, method: str) -> Path:
    """Build the hierarchy of a column, write it to a file and return where that is."""
    return _write(work, name, build(values_of(work, name), method, {}))


def _write(work: Workspace, name: str, built: Built) -> Path:
    from shoal.io.atomic import atomic_write_text

    assert work.table is not None
    # By the column's number: its name may be no name of a file. By its content: earlier runs keep
    # the tree that they were made with.
    number, text = work.table.names.index(name) + 1, export_csv(built.tree)
    content = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = work.tree_folder() / f"column_{number}_{content}.csv"
    try:
        atomic_write_text(path, text)
    except OSError as error:
        raise ShoalError(
            "The hierarchy cannot be kept: {strerror}.", strerror=error.strerror
        ) from None
    return path


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
