"""The hierarchy of a column between the page and the job.

The job has a rule, or a file that lists values. What somebody edits is a draft, kept with its undo
and redo beside the job; it counts for as long as the job still has what the draft has written.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.app.advice import changed_column
from shoal.app.grown import MOST_VALUES, Built, Values, build, export_csv
from shoal.app.trees import Draft, EditTree
from shoal.errors import OptionError, ShoalError
from shoal.hierarchy.rules import HierarchyRule
from shoal.settings.inputs import numeric_columns, read_input
from shoal.settings.job import JobColumn
from shoal.table.schema import Kind, Role

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from shoal.app.workspace import Workspace
    from shoal.settings.job import Job

__all__ = [
    "TreeState",
    "columns_with_trees",
    "frame_of",
    "list_values",
    "natural_kind",
    "save_tree",
    "tree_of",
    "use_grid",
    "values_of",
]

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
    kinds = {name: column.kind for name, column in job.columns.items() if column.kind}
    wanted = [name for name in numeric_columns(kinds) if name in frame.columns]
    if all(frame.schema[name].is_numeric() for name in wanted):
        return frame
    # Somebody says that texts are numbers: then the file is read differently.
    source = replace(work.runnable().input, rename=job.input.rename)
    return read_input(source, numeric=wanted)


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
    from shoal.table.grid import check_fit, parse_grid
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
        raise ShoalError(f"The hierarchy cannot be kept: {error.strerror}.") from None
    return path
