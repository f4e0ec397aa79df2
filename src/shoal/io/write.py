"""Tables to files, whole or not at all."""

from __future__ import annotations

import io
import os
from os import PathLike
from pkgutil import resolve_name
from typing import IO, TYPE_CHECKING, NamedTuple

from shoal.errors import DataError
from shoal.io.atomic import AtomicGroup
from shoal.io.columns import decode_text, is_coded
from shoal.io.formats import check_delimiter, format_to_write
from shoal.io.location import is_database
from shoal.io.source import compressing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl


# Texts that a spreadsheet would take for formulas, written so that it does not.
#
# A spreadsheet that opens a CSV runs a cell such as ``=HYPERLINK(...)``. With an apostrophe in
# front it is text. An apostrophe is put before one that is there already, so that different cells
# stay different and promises about them stay what they were.

# What a spreadsheet begins a formula with, also in the wide letters of East Asian ones.
_STARTS = "^[=+\\-@\t\r\n'\uff1d\uff0b\uff0d\uff20]"
_NUMBER = r"^[+-]?[0-9]+(?:[.,][0-9]+)*(?:[eE][+-]?[0-9]+)?$"


def escaped_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with an apostrophe before texts and names that look like formulas.

    Numbers stay as they are, also those that are texts.
    """
    import polars as pl

    texts = [
        name
        for name, dtype in frame.schema.items()
        if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)) or is_coded(dtype)
    ]
    cells = [pl.col(name).cast(pl.String) for name in texts]
    escaped = frame.with_columns(
        pl.when(cell.str.contains(_STARTS) & ~cell.str.contains(_NUMBER))
        .then(pl.lit("'") + cell)
        .otherwise(cell)
        .alias(name)
        for name, cell in zip(texts, cells, strict=True)
    )
    names = pl.Series(frame.columns, dtype=pl.String)
    starts = names.str.contains(_STARTS) & ~names.str.contains(_NUMBER)
    return escaped.rename({name: f"'{name}" for name in names.filter(starts)})


_SLICE = 250_000  # rows written at a time
_EXCEL_ROWS = 1_048_575  # a sheet has 2^20 rows, one of them the header
_EXCEL_COLUMNS = 16_384
_EXCEL_EXACT = 999_999_999_999_999  # Excel keeps 15 digits


class Cells(NamedTuple):
    """How cells are written where a format leaves a choice.

    Attributes:
        separator: between the cells of a text.
        escape_formulas: whether texts that a spreadsheet would run get an apostrophe.
        header: whether the names of the columns stand in the first line.
    """

    separator: str
    escape_formulas: bool
    header: bool = True


if TYPE_CHECKING:
    Writer = Callable[[pl.DataFrame, IO[bytes], Cells], None]


def write_table(
    frame: pl.DataFrame,
    target: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    delimiter: str | None = None,
    if_exists: str = "fail",
    escape_formulas: bool = False,
) -> None:
    """Write a table to a file, a database, or standard output when the target is ``-``.

    The previous file is replaced in one step once the new one is complete; its permissions
    are kept. A table of a database is written in one transaction. For a release use
    `Release.write`, which also verifies what it has written.

    Args:
        frame: the table.
        target: the file; its suffix says the format, as in ``read_table``. Or the URL of a
            table, as in ``read_table``.
        format: the format when the suffix does not say it.
        delimiter: of a CSV; a comma (a tab for TSV) unless given.
        if_exists: what to do if the table of a database exists: ``fail`` or ``replace``. Files
            are always replaced.
        escape_formulas: whether texts of a CSV that a spreadsheet would run get an apostrophe.

    Raises:
        DataError: the file or table cannot be written, or cannot hold the frame.
        OptionError: the format, the delimiter or the URL is none.
    """
    with AtomicGroup() as group:
        if is_database(target):
            from shoal.io.database import stage_sql

            stage_sql(group, frame, os.fspath(target), if_exists)
        else:
            stage_table(
                group,
                frame,
                target,
                format=format,
                delimiter=delimiter,
                escape_formulas=escape_formulas,
            )


def stage_table(
    group: AtomicGroup,
    frame: pl.DataFrame,
    target: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    delimiter: str | None = None,
    escape_formulas: bool = False,
    header: bool = True,
    encoding: str | None = None,
) -> Path:
    """Add a table to a group of files that appear together; return its temporary file.

    The temporary holds the very bytes of the target, so it can be hashed for a certificate
    that appears beside the table. Text may have another encoding than UTF-8, and no header.
    """
    path = os.fspath(target)
    found = format_to_write(path, format)
    separator = check_delimiter(delimiter) or found.row.separator or ","
    cells = Cells(separator, escape_formulas, header)
    write: Writer = resolve_name(found.row.write or "")

    def write_all(file: IO[bytes]) -> None:
        if not found.row.is_text:
            return write(frame, file, cells)
        with compressing(file, found.compression) as packed:
            if encoding is None:
                return write(frame, packed, cells)
            text = io.BytesIO()
            write(frame, text, cells)
            packed.write(text.getvalue().decode().encode(encoding))
            return None

    import polars as pl

    for name, dtype in frame.schema.items():
        if not found.row.is_nested and (dtype.is_nested() or dtype in {pl.Binary, pl.Object}):
            raise DataError(
                "{flat} cannot hold column {name!r}, which is nested or binary; write "
                "Parquet or Arrow instead.",
                flat=found.row.title,
                name=name,
            )
    try:
        return group.add(target, write_all)
    except pl.exceptions.PolarsError:
        # Its message may show cells.
        raise DataError(
            "Could not write {path!r}: the format or the disk does not take the table.", path=path
        ) from None


def write_delimited(frame: pl.DataFrame, file: IO[bytes], cells: Cells) -> None:
    """Write lines of text, with a separator between cells."""
    for first in range(0, max(frame.height, 1), _SLICE):
        part = frame.slice(first, _SLICE)
        shown = escaped_formulas(part) if cells.escape_formulas else part
        names = cells.header and first == 0
        shown.write_csv(file, separator=cells.separator, include_header=names)


def write_json_lines(frame: pl.DataFrame, file: IO[bytes], _: Cells) -> None:
    """Write an object on each line."""
    for first in range(0, max(frame.height, 1), _SLICE):
        decode_text(frame.slice(first, _SLICE)).write_ndjson(file)


def write_arrow(frame: pl.DataFrame, file: IO[bytes], _: Cells) -> None:
    """Write an Arrow file."""
    import polars as pl

    from shoal.io.columns import fresh_frame

    # Whatever the columns of the frame were cut out of, only what they show is written.
    # Texts as lists of letters, not as views: pyarrow casts no categories of those.
    fresh_frame(decode_text(frame)).write_ipc(file, compat_level=pl.CompatLevel.oldest())


def write_parquet(frame: pl.DataFrame, file: IO[bytes], _: Cells) -> None:
    """Write a Parquet file."""
    import polars as pl

    coded = [name for name, dtype in frame.schema.items() if is_coded(dtype)]
    # Decoded on the way out: the whole text is never in memory. Row groups of a fixed size, so
    # that the same table gives the same bytes.
    frame.lazy().with_columns(pl.col(coded).cast(pl.String)).sink_parquet(
        file, row_group_size=_SLICE
    )


def write_excel(frame: pl.DataFrame, file: IO[bytes], _: Cells) -> None:
    """Write a workbook of one sheet.

    Raises:
        DataError: a sheet does not hold the table.
    """
    import polars as pl
    import xlsxwriter

    if frame.height > _EXCEL_ROWS or frame.width > _EXCEL_COLUMNS:
        raise DataError(
            "An Excel sheet holds {excel_rows:,} rows and {excel_columns:,} columns, the "
            "table has {height:,} and {width:,}; write CSV or Parquet instead.",
            excel_rows=_EXCEL_ROWS,
            excel_columns=_EXCEL_COLUMNS,
            height=frame.height,
            width=frame.width,
        )
    frame = decode_text(frame)
    # Excel rounds numbers to 15 digits: longer ones are written as text, digit for digit.
    long = [
        column.name
        for column in frame.get_columns()
        if column.dtype.is_integer()
        and column.len() > column.null_count()
        and not column.drop_nulls().cast(pl.Int128).is_between(-_EXCEL_EXACT, _EXCEL_EXACT).all()
    ]
    zoned = [
        name
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    ]
    # A sheet has no time zones: such a time is written as text, in UTC.
    frame = frame.with_columns(
        pl.col(zoned).dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%dT%H:%M:%S%.fZ")
    )
    # A cell of the release is data, never a formula or a link.
    options = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    # In memory first: the package leaves files open when the disk is full.
    memory = io.BytesIO()
    with xlsxwriter.Workbook(memory, options | {"in_memory": True}) as book:
        frame.with_columns(pl.col(long).cast(pl.String)).write_excel(book, autofilter=False)
    file.write(memory.getbuffer())
