"""Reads the table of a job: its columns under their new names, and how its text was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, did_you_mean
from shoal.io.delimited import pick_columns
from shoal.io.formats import ASK, FORMATS, detect_format
from shoal.io.limits import check_columns
from shoal.io.location import input_files, is_database
from shoal.io.read import guess_rows, read_table
from shoal.io.spelling import TEXT
from shoal.runtime.memory import available_bytes, human_bytes
from shoal.table.frames import as_days

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
            raise OptionError(
                "There is no column {old!r} that could be renamed.{hint}", old=old, hint=hint
            )
        if found.count(new) > 1:
            raise OptionError(
                "Column {old!r} cannot be called {new!r}: another column is; choose another name.",
                old=old,
                new=new,
            )
    check_columns("the table", found)
    return found


def read_input(
    source: Input,
    *,
    details: Mapping[str, Any] | None = None,
    published: bool = False,
    columns: Callable[[list[str]], Sequence[str]] | None = None,
    coded: bool = False,
    progress: Report | None = None,
) -> pl.DataFrame:
    """Read the table of a job; its columns have their new names, for everybody who asks.

    Args:
        source: where it is, and how it is to be read.
        details: what is said about columns (`shoal.table.schema.JobColumn`), each option a mapping
            from columns: which hold numbers whatever they look like, how cells are written, and
            which codes mean a missing value.
        published: whether it is a release, which writes dates and numbers in one way however
            the original did.
        columns: picks the columns that are needed, before any row is read.
        coded: whether text stays codes.
        progress: told how far reading has come.

    Raises:
        OptionError: no table is given, or a column cannot be renamed.
        DataError: it cannot be read.
    """
    rename = source.rename or {}
    first = {new: old for old, new in rename.items()}
    said = details or {}
    spellings = said.get("read_as") or {}
    codes = said.get("missing_codes") or {}
    if published:
        spellings = {name: how for name, how in spellings.items() if how == TEXT}
        codes = {}

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
        numeric=[first.get(name, name) for name in numeric_columns(said.get("kinds"))],
        read_as={first.get(name, name): how for name, how in spellings.items()},
        missing_codes={first.get(name, name): each for name, each in codes.items()},
        guess=not published,
        columns=needed if rename else columns,
        coded=coded,
        encoding=source.encoding,
        header=source.header,
        decimal=source.decimal,
        sheet=source.sheet,
        extra_rows=source.extra_rows or ASK,
        progress=progress,
    )
    frame = frame.with_columns(as_days(each) for each in frame.get_columns())
    return frame.rename({old: new for old, new in rename.items() if old in frame.columns})


# What a run from a file to a file will need, and what the machine has.
#
# The numbers are measured (`benchmarks/scale/memory.py`, table in `docs/memory.md`): memory grows
# with the rows and with the columns that are read, time likewise. They are for the eight
# quasi-identifiers of a census on two cores; other tables and machines differ, so the estimate is
# a size, not a promise.

# Bytes. The program itself, compiled kernels included.
_START = 680_000_000
# Per row: the order of the rows, their groups, and the sums that scores are made of.
_PER_ROW = 80
# Per row and quasi-identifier: its codes, once more in the order of the search, the columns that
# kernels read, and the published cell.
_PER_QUASI_IDENTIFIER = 9
# Per row and column that is kept as it is: as it was read, and in the order of the release.
_PER_KEPT_COLUMN = 16

# Seconds per row and column to read or write in a database, and for everything between but the
# search.
_DATABASE = 5e-7
_BETWEEN = 3.5e-7
_START_SECONDS = 3.0


@dataclass(frozen=True)
class Need:
    """What a run needs.

    Attributes:
        memory: bytes at the peak.
        seconds: from file to file without the search for groups, whose time depends on the
            algorithm.
    """

    memory: int
    seconds: float


def estimate_need(
    n_rows: int,
    *,
    quasi_identifiers: int,
    kept: int,
    source: str = "csv",
    target: str = "csv",
) -> Need:
    """Return what a run of this size will need.

    Args:
        n_rows: rows of the table.
        quasi_identifiers: columns that are generalised.
        kept: other columns that are published.
        source: format that is read.
        target: format that is written.
    """
    per_row = _PER_ROW + quasi_identifiers * _PER_QUASI_IDENTIFIER + kept * _PER_KEPT_COLUMN
    columns = quasi_identifiers + kept
    reading = FORMATS[source].seconds_to_read if source in FORMATS else _DATABASE
    writing = FORMATS[target].seconds_to_write if target in FORMATS else _DATABASE
    per_cell = (reading + writing) * columns + _BETWEEN * quasi_identifiers
    return Need(_START + n_rows * per_row, _START_SECONDS + n_rows * per_cell)


def rows_of(source: Input) -> int | None:
    """Return about how many rows the files of an input have; None if nobody knows."""
    if source.path is None or is_database(source.path):
        return None
    counts = [guess_rows(each, source.format) for each in input_files(source.sources)]
    return None if None in counts else sum(filter(None, counts))


def format_name(path: str, given: str | None) -> str:
    """Return the format of a table by its name, or by what is said about it."""
    return "database" if is_database(path) else detect_format(input_files(path)[0], given).name


def check_memory(need: Need) -> None:
    """Refuse a run that the machine has no memory for.

    Raises:
        DataError: it needs more than is available.
    """
    available = available_bytes()
    if available is not None and need.memory > available:
        raise DataError(
            "This run needs about {human_bytes} of memory and {human_bytes2} is available: "
            "drop columns that nobody needs (--drop), give fewer rows, use a larger machine, "
            "or try all the same with --no-memory-check.",
            human_bytes=human_bytes(need.memory),
            human_bytes2=human_bytes(available),
        )
