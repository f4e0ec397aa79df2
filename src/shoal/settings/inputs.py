"""Reads the table of a job: its columns under their new names, and how its text was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError, did_you_mean
from shoal.io.delimited import pick_columns
from shoal.io.limits import check_columns
from shoal.io.overwrite_guard import current_watch
from shoal.io.read import read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from shoal.runtime.progress import Report
    from shoal.settings.files import Input


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
