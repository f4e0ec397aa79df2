"""Tables from files: one function, every format, errors that say which file and line."""

from __future__ import annotations

import io
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, did_you_mean
from shoal.io.celltypes import mark_missing, type_columns
from shoal.io.compression import compression_of, decompress
from shoal.io.delimited import check_utf8, parse_delimited
from shoal.io.formats import Format, check_delimiter, detect_format

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_table"]


def read_table(
    source: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    delimiter: str | None = None,
    missing_values: Sequence[str] = ("",),
    columns: Sequence[str] | None = None,
    numeric: Collection[str] = (),
) -> pl.DataFrame:
    """Read a table from a file, or from standard input when the source is ``-``.

    Args:
        source: the file; its suffix says the format (CSV, TSV, JSON lines, each also with
            ``.gz`` or ``.zst``; Parquet, Arrow, Excel).
        format: the format when the suffix does not say it.
        delimiter: of a CSV; found among comma, semicolon, tab and pipe when not given.
        missing_values: texts that stand for a missing value in text formats and Excel.
        columns: the columns to keep; all unless given.
        numeric: columns of a CSV in which 1.5 and 1.50 are the same number; in other columns
            texts that differ stay different.

    Raises:
        DataError: the file cannot be read as a table with at least one row.
        OptionError: the format or the delimiter is none.
    """
    path = os.fspath(source)
    found = detect_format(path, format)
    separator = "\t" if delimiter is None and found.name == "tsv" else check_delimiter(delimiter)
    name = "Standard input" if path == "-" else repr(path)
    markers = (missing_values,) if isinstance(missing_values, str) else tuple(missing_values)
    data = _bytes_of(path, name)
    if found.is_text:
        compression = found.compression or compression_of(data)
        if compression is not None:
            data = decompress(data, compression, name=name)
    if not data:
        message = f"{name} is empty."
        raise DataError(message)
    if found.name in {"csv", "tsv"}:
        frame = parse_delimited(
            data, name=name, delimiter=separator, missing_values=markers, numeric=numeric
        )
    elif found.name == "jsonl":
        frame = _read_json_lines(data, name, markers)
    elif found.name == "xlsx":
        frame = _read_excel(data, name, markers)
    else:
        frame = _read_binary(data, name, found)
    if frame.height == 0 or frame.width == 0:
        message = f"{name} has no rows."
        raise DataError(message)
    return frame if columns is None else _select(frame, columns, name)


def _bytes_of(path: str, name: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        message = f"There is no file {name}."
    except IsADirectoryError:
        message = f"{name} is a folder; name a file in it."
    except OSError as error:
        message = f"{name} cannot be read: {error.strerror}."
    raise DataError(message)


def _read_binary(data: bytes, name: str, found: Format) -> pl.DataFrame:
    import polars as pl

    readers: dict[str, tuple[Callable[[Any], pl.DataFrame], ...]] = {
        "parquet": (pl.read_parquet,),
        # An Arrow file may also hold the stream form.
        "arrow": (pl.read_ipc, pl.read_ipc_stream),
    }
    for reader in readers[found.name]:
        try:
            return reader(io.BytesIO(data))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
            continue
    message = (
        f"{name} is not a readable {found.name.capitalize()} file; "
        "it is damaged or in another format."
    )
    raise DataError(message)


def _read_excel(data: bytes, name: str, markers: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    try:
        import fastexcel
    except ImportError:
        message = "Reading Excel files needs the package fastexcel: pip install 'shoal[excel]'."
        raise DataError(message) from None
    try:
        sheet = fastexcel.read_excel(data)
        first = sheet.load_sheet(0, header_row=None, n_rows=1, dtypes="string").to_polars()
        # Every row decides the type of its column, not only the first hundred.
        frame = pl.read_excel(
            io.BytesIO(data),
            engine="calamine",
            infer_schema_length=None,
            drop_empty_cols=False,
            raise_if_empty=False,
        )
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError, ValueError):
        message = f"{name} is not a readable Excel file; it is damaged or in another format."
        raise DataError(message) from None
    if first.height == 0:
        message = f"{name} is empty."
        raise DataError(message)
    given = [each for each in first.row(0) if each is not None]
    twice = [each for each, count in Counter(given).items() if count > 1]
    if twice:
        message = f"{name} has more than one column called {twice[0]!r}; rename one of them."
        raise DataError(message)
    frame = frame.rename(
        {
            each: f"column_{number}"
            for number, each in enumerate(frame.columns, start=1)
            if each.startswith("__UNNAMED__")
        }
    )
    return _without_markers(frame, markers)


def _read_json_lines(data: bytes, name: str, markers: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    check_utf8(data, name=name)
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        message = f"{name} is empty."
        raise DataError(message)
    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        message = f"{name}{_bad_json_line(data)} is not one JSON object per line."
        raise DataError(message) from None
    # JSON has no dates: ISO texts are what a date was written as.
    return type_columns(_without_markers(frame, markers), numbers=False)


def _bad_json_line(data: bytes) -> str:
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            good = not line.strip() or isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            good = False
        if not good:
            return f", line {number},"
    return ""


def _without_markers(frame: pl.DataFrame, markers: tuple[str, ...]) -> pl.DataFrame:
    """Turn markers into nulls; a column that was text only because of them gets its type."""
    import polars as pl

    texts = {marker for marker in markers if marker}
    columns = []
    for column in frame.get_columns():
        if column.dtype == pl.String:
            marked = mark_missing(column, texts)
            if marked.null_count() > column.null_count():
                marked = type_columns(marked.to_frame()).to_series()
            columns.append(mark_missing(marked, markers) if marked.dtype == pl.String else marked)
        else:
            columns.append(column)
    return pl.DataFrame(columns)


def _select(frame: pl.DataFrame, columns: Sequence[str], name: str) -> pl.DataFrame:
    wanted = [columns] if isinstance(columns, str) else list(columns)
    for each in wanted:
        if each not in frame.columns:
            message = f"{name} has no column {each!r}.{did_you_mean(each, frame.columns)}"
            raise DataError(message)
    return frame.select(wanted)
