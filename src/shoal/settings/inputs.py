"""From a file to the columns that are needed; what would not fit is refused before it is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from shoal.runtime.progress import Report
    from shoal.settings.files import Input
    from shoal.settings.job import Job
    from shoal.settings.memory import Need
    from shoal.settings.outputs import Outputs
    from shoal.settings.request import Request
    from shoal.table.encode import DisposableTable
    from shoal.table.schema import Schema

__all__ = [
    "check_memory",
    "load_table",
    "missing_texts",
    "need_of",
    "note_hierarchies",
    "numeric_columns",
    "read_as",
    "read_input",
    "renamed",
]


def note_hierarchies(job: Job) -> None:
    """Remember the hierarchy files of a job, so that no output replaces one."""
    from shoal.io.overwrite_guard import note_input

    for column in job.columns.values():
        if isinstance(column.hierarchy, Path):
            note_input(column.hierarchy, "the hierarchy file")


def missing_texts(source: Input) -> tuple[str, ...]:
    """Return what stands for a missing value in a text file: nothing at all, unless given."""
    return ("",) if source.missing_values is None else source.missing_values


def numeric_columns(kinds: Mapping[str, Any] | None) -> list[str]:
    """Return the columns that are said to be numbers."""
    return [name for name, kind in (kinds or {}).items() if kind == "numeric"]


def renamed(names: Sequence[str], rename: Mapping[str, str] | None) -> list[str]:
    """Return what the columns of a table are called by their new names.

    Raises:
        OptionError: there is no such column, or a new name is that of another one.
    """
    from shoal.io.limits import check_columns

    found = [(rename or {}).get(name, name) for name in names]
    for old, new in (rename or {}).items():
        if old not in names:
            hint = did_you_mean(old, names)
            raise OptionError(f"There is no column {old!r} that could be renamed.{hint}")
        if found.count(new) > 1:
            raise OptionError(
                f"Column {old!r} cannot be called {new!r}: another column is; choose another name."
            )
    check_columns("the table", found)
    return found


def read_input(
    source: Input,
    *,
    numeric: Sequence[str] = (),
    columns: Callable[[list[str]], Sequence[str]] | None = None,
    coded: bool = False,
    progress: Report | None = None,
) -> pl.DataFrame:
    """Read the table of a job; its columns have their new names, for everybody who asks.

    Args:
        source: where it is, and how it is to be read.
        numeric: columns that hold numbers, whatever they look like.
        columns: picks the columns that are needed, before any row is read.
        coded: whether text stays codes.
        progress: told how far reading has come.

    Raises:
        OptionError: no table is given, or a column cannot be renamed.
        DataError: it cannot be read.
    """
    from shoal.io import read_table
    from shoal.io.delimited import pick_columns

    rename = source.rename or {}
    first = {new: old for old, new in rename.items()}

    def needed(found: list[str]) -> list[str]:
        wanted = pick_columns(renamed(found, rename), columns, name="The table")
        return [first.get(name, name) for name in wanted]

    if source.path is None:
        raise OptionError(
            'Say which table is read: DATA on the command line, or path = "patients.csv" under '
            "[input] of the job file."
        )
    frame = read_table(
        source.sources,
        format=source.format,
        delimiter=source.delimiter,
        missing_values=missing_texts(source),
        numeric=[first.get(name, name) for name in numeric],
        columns=needed if rename else columns,
        coded=coded,
        encoding=source.encoding,
        header=source.header,
        decimal=source.decimal,
        progress=progress,
    )
    return frame.rename({old: new for old, new in rename.items() if old in frame.columns})


def read_as() -> dict[str, Any]:
    """Return how the text of the input was read, as far as it is not the usual way.

    It becomes part of a release's parameters: a run that is repeated reads the same.
    """
    from shoal.io.overwrite_guard import current_watch

    watch = current_watch()
    said: dict[str, Any] = {}
    for how in () if watch is None else watch.how_read.values():
        if how.encoding != "utf-8":
            said["encoding"] = how.encoding
        if how.decimal is not None:
            said["decimal"] = how.decimal
        if not how.header:
            said["header"] = False
    return said


def load_table(
    source: Input, request: Request, outputs: Outputs, progress: Report, *, memory_check: bool
) -> DisposableTable:
    """Read the columns that a run needs, after a look at all names.

    Raises:
        RoleError: a column has no role, two roles, or does not exist.
        DataError: the file cannot be read, or the run would not fit into memory.
    """
    from shoal.io import is_database
    from shoal.profile.repeats import says_whose, worth_a_look
    from shoal.table.encode import DisposableTable

    names: list[str] = []

    def looked_at(schema: Schema) -> list[str]:
        """Return what is read to see whether people have several rows, and then forgotten."""
        # columns that are removed never leave a database
        away = source.path is not None and is_database(source.path)
        return [] if says_whose(request) or away else worth_a_look(schema)

    def needed(found: list[str]) -> list[str]:
        names[:] = found
        schema = request.schema(found)
        rows = _rows(source)
        if memory_check and rows is not None:
            looked = len(looked_at(schema))
            check_memory(need_of(schema, rows, outputs, source.format, looked))
        return [name for name in found if name in {*schema.used, *looked_at(schema)}]

    progress(0, 0, "reading")
    numeric = numeric_columns(request.kinds)
    frame = read_input(source, numeric=numeric, columns=needed, coded=True, progress=progress)
    return DisposableTable(frame, tuple(names))


def _rows(source: Input) -> int | None:
    from shoal.io import is_database
    from shoal.io.rows import guess_rows
    from shoal.io.several import input_files

    if source.path is None or is_database(source.path):
        return None
    counts = [guess_rows(each, source.format) for each in input_files(source.sources)]
    return None if None in counts else sum(filter(None, counts))


def need_of(
    schema: Schema, n_rows: int, outputs: Outputs, file_format: str | None, looked_at: int = 0
) -> Need:
    """Return what a run on so many rows of this table will need."""
    from shoal.settings.memory import estimate_need

    quasi = len(schema.quasi_identifiers)
    return estimate_need(
        n_rows,
        quasi_identifiers=quasi,
        # whose rows they are is kept more than once while people are counted
        kept=len(schema.used) - quasi + looked_at + (2 if schema.person else 0),
        source=_format_name(outputs.source or "-", file_format),
        target=_format_name(outputs.table, outputs.format),
    )


def _format_name(path: str, given: str | None) -> str:
    from shoal.io import detect_format, is_database
    from shoal.io.several import input_files

    return "database" if is_database(path) else detect_format(input_files(path)[0], given).name


def check_memory(need: Need) -> None:
    """Refuse a run that the machine has no memory for.

    Raises:
        DataError: it needs more than is available.
    """
    from shoal.settings.memory import available_bytes, human_bytes

    available = available_bytes()
    if available is not None and need.memory > available:
        raise DataError(
            f"This run needs about {human_bytes(need.memory)} of memory and "
            f"{human_bytes(available)} is available: drop columns that nobody needs (--drop), "
            "give fewer rows, use a larger machine, or try all the same with --no-memory-check."
        )
