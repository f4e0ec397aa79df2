"""What has changed between a job and its table since the job was written, and how it is accepted.

A job file says which columns a table has and which values its hierarchies and orders list. That is
what a table is compared with; nothing else is kept from night to night.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DriftError, OptionError, RoleError, ShoalError
from shoal.io.atomic import write_together
from shoal.io.limits import read_side_file
from shoal.io.overwrite_guard import current_watch, watching_inputs
from shoal.messages import Message, joined, plural
from shoal.runtime.sanitize import safe_lines
from shoal.settings.inputs import read_input
from shoal.settings.job import Job
from shoal.settings.job_edit import with_columns
from shoal.settings.job_file import read_job
from shoal.table.schema import Role, Schema, build_schema

if TYPE_CHECKING:
    import polars as pl

    from shoal.table.schema import Column

NEW, GONE, VALUES, UNFIT = "column-new", "column-gone", "values-new", "column-unfit"
_MARKS = {NEW: "+", GONE: "-", VALUES: "~", UNFIT: "!"}


@dataclass(frozen=True)
class ColumnChange:
    """One difference between a table and its job.

    Attributes:
        what: ``column-new``, ``column-gone``, ``values-new`` (the column's hierarchy or order does
            not list them) or ``column-unfit`` (its cells are not what the job says).
        column: its name.
        n_values: how many different values are new.
        sentence: the same in words, without a cell.
    """

    what: str
    column: str
    n_values: int
    sentence: Message

    @property
    def line(self) -> Message:
        """The sentence as a line of a diff."""
        return Message("{mark} {text}", mark=_MARKS[self.what], text=self.sentence)

    def to_dict(self) -> dict[str, Any]:
        """Return what a log and ``shoal drift --json`` say; a name that may be a cell is none."""
        watch = current_watch()
        place = None if watch is None else watch.doubtful.get(self.column)
        return {
            "change": self.what,
            "column": self.column if place is None else place,
            "values": self.n_values,
        }


@dataclass(frozen=True)
class Drift:
    """How a table differs from what its job says; false if it does not.

    Attributes:
        changes: one for each column that differs.
        values: of columns that have new values, these. They are cells of the input, which no
            message, log or certificate shows, and neither does the text of this object.
    """

    changes: tuple[ColumnChange, ...]
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        """Tell whether anything differs."""
        return bool(self.changes)

    def __str__(self) -> str:
        """Return a line for each change."""
        return safe_lines("\n".join(change.line for change in self.changes))

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import lists, shown

        return shown(lists([change.line for change in self.changes] or ["Nothing has changed."]))


def drift(job: Job | str | PathLike[str]) -> Drift:
    """Compare the table of a job with what the job says about it; nothing is written.

    Args:
        job: a job, or the path of a job file, that says where the table is.

    Raises:
        ShoalError: the job or the table cannot be read, or the table lies with Spark.
    """
    asked = job if isinstance(job, Job) else read_job(job)
    if asked.input.engine == "spark":
        raise OptionError(
            "A table is compared with its job on one machine; leave the engine spark out."
        )
    columns: list[ColumnChange] = []
    schema = Schema(())

    def needed(names: list[str]) -> list[str]:
        nonlocal schema
        columns[:] = _changed_columns(asked, names)
        schema = _as_far_as_it_fits(asked, names)
        return [column.name for column in schema.columns] or names[:1]

    details = asked.schema_options()
    frame = read_input(asked.input, details=details, columns=needed, coded=True)
    found = [
        each
        for column in schema.columns
        for each in _changed_cells(column, frame, asked.unknown_values or "error")
    ]
    values = {change.column: new for change, new in found if new}
    return Drift((*columns, *(change for change, _ in found)), values)


def accept_drift(path: str | PathLike[str], data: str | None = None) -> Drift:
    """Change a job file, and its hierarchy files, so that they describe the table as it is now.

    A column that is new is dropped: somebody has to decide before it is published. A column that
    is gone is no longer named. A value that a hierarchy does not list gets a line in its file,
    directly below the root; move it to where it belongs. All other text stays as it was, and the
    files change together or not at all.

    Args:
        path: the job file.
        data: the table, where the job does not name it.

    Returns:
        What has been accepted.

    Raises:
        DriftError: a value is missing in an order, or a column is not what the job says; that is
            changed by hand. Nothing was written.
        ShoalError: a file cannot be read or written, or the job would not be one any more.
    """
    file = Path(path)
    asked = job_with(file, data)
    found = drift(asked)
    files = {
        change.column: _hierarchy_file(asked, change.column)
        for change in found.changes
        if change.what == VALUES
    }
    by_hand = [
        change.sentence
        for change in found.changes
        if change.what == UNFIT or files.get(change.column, "") is None
    ]
    if by_hand:
        raise _drifted(
            Message(
                "This is changed by hand: {changes:bare}. Nothing was written.",
                changes=joined("; ", by_hand),
            ),
            found,
        )
    if not found:
        return found
    outputs: dict[Path, str] = {}
    text = read_side_file(file, Message("the job file")).decode("utf-8-sig")
    names = {
        what: [change.column for change in found.changes if change.what == what]
        for what in (NEW, GONE)
    }
    if names[NEW] or names[GONE]:
        outputs[file] = with_columns(text, file, dropped=names[NEW], gone=names[GONE])
    from shoal.hierarchy.taxonomy import with_leaves

    new: dict[Path, list[str]] = {}
    for column, tree in files.items():
        assert tree is not None
        new.setdefault(tree, []).extend(found.values[column])
    for tree, labels in new.items():
        outputs[tree] = with_leaves(tree, sorted(set(labels)))
    with watching_inputs():  # what was read is what is replaced
        write_together(outputs.items())
    return found


def job_with(file: Path, data: str | None) -> Job:
    """Return the job of a file, reading another table if one is given."""
    asked = read_job(file)
    return asked if data is None else asked.replaced(input=replace(asked.input, path=data, more=()))


def explained(job: Job, error: ShoalError) -> DriftError | None:
    """Return the drift behind an error of a run; None if there is none, or nobody can tell."""
    stream = job.input.path in (None, "-")
    if job.file is None or stream or job.input.engine == "spark":
        return None
    if isinstance(error, DriftError):
        return None
    try:
        found = drift(job)
    except ShoalError:
        return None
    if not found:
        return None
    return _drifted(
        Message(
            "The table is not the one that {file!r} describes any more: {changes:bare}. 'shoal "
            "drift' says the same at any time, and takes it as it is with --accept.",
            file=str(job.file),
            changes=joined("; ", [change.sentence for change in found.changes]),
        ),
        found,
    )


def _drifted(message: Message, found: Drift) -> DriftError:
    error = DriftError(message)
    error.changes = found.changes
    return error


def _changed_columns(job: Job, names: list[str]) -> Iterator[ColumnChange]:
    known = [name for name, column in job.columns.items() if column.role is not None]
    for name in names:
        if name not in known:
            yield ColumnChange(NEW, name, 0, Message("column {name!r} is new", name=name))
    for name in known:
        if name not in names:
            yield ColumnChange(GONE, name, 0, Message("column {name!r} is gone", name=name))


def _as_far_as_it_fits(job: Job, names: list[str]) -> Schema:
    """Return the columns that are still there and whose cells a job can say something about."""
    there = {name: each for name, each in job.columns.items() if name in names}
    rest = [name for name in names if name not in there or there[name].role is None]
    there = {name: each for name, each in there.items() if each.role is not None}
    said = job.replaced(columns=there).schema_options()
    said[Role.DROP.option] = [*said[Role.DROP.option], *rest]
    try:
        schema = build_schema(names, **said)
    except RoleError:  # no quasi-identifier is left: that columns are gone says enough
        return Schema(())
    looked = tuple(
        column
        for column in schema.columns
        if column.dates is None
        and (
            column.role is Role.QUASI_IDENTIFIER
            or column.rule is not None
            or column.hierarchy is not None
        )
    )
    return Schema(looked)


def _changed_cells(
    column: Column, frame: pl.DataFrame, unknown_values: str
) -> Iterator[tuple[ColumnChange, tuple[str, ...]]]:
    import narwhals as nw

    from shoal.hierarchy import canonical_label
    from shoal.table.encode import encode_values
    from shoal.table.infer import infer_kinds, settle_grids

    cells = frame.get_column(column.name)
    name = column.name
    try:
        alone = nw.from_native(cells.to_frame(), eager_only=True)
        schema = infer_kinds(Schema((column,)), alone, unknown_values)
        (known,) = schema.columns
        listed = known.order if known.hierarchy is None else known.hierarchy.leaf_labels
        if listed is None:
            encode_values(
                cells, settle_grids(schema, cells.to_frame(), by_default=False).columns[0]
            )
            return
        if cells.dtype.is_float():
            cells = cells.fill_nan(None)
        labels = {canonical_label(value) for value in cells.unique().drop_nulls().to_list()}
    except ShoalError as error:
        yield ColumnChange(UNFIT, name, 0, error.message), ()
        return
    new = tuple(sorted(labels.difference(listed)))
    if new and known.hierarchy is not None:
        said = plural(
            "{n} value of column {name!r} is not in its hierarchy",
            "{n} values of column {name!r} are not in its hierarchy",
            len(new),
            name=name,
        )
        yield ColumnChange(VALUES, name, len(new), said), new
    elif new:
        said = plural(
            "{n} value of column {name!r} is not in its order",
            "{n} values of column {name!r} are not in its order",
            len(new),
            name=name,
        )
        yield ColumnChange(VALUES, name, len(new), said), new


def _hierarchy_file(job: Job, column: str) -> Path | None:
    """Return the file that lists the values of a column; None if no file does."""
    hierarchy = job.columns[column].hierarchy
    return hierarchy if isinstance(hierarchy, Path) else None
