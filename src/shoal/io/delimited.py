"""CSV and its relatives: which delimiter, which header, and then piece by piece into columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from shoal.errors import DataError, did_you_mean
from shoal.io.columns import ColumnBuilder
from shoal.io.header import judge_header
from shoal.io.records import Pieces, Readable, check_utf8, scan_records
from shoal.limits import check_columns, check_memory_for, check_size

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Columns", "check_different", "parse_delimited", "pick_columns", "sniff_delimiter"]

_CANDIDATES = (",", ";", "\t", "|")
_SAMPLE = 1 << 16
_CHUNK = 1 << 24
_BOM = b"\xef\xbb\xbf"

Columns = Collection[str] | Callable[[list[str]], Collection[str]] | None
"""Which columns to keep: their names, a function that picks them from all names, or all."""


def parse_delimited(
    source: bytes | Readable,
    *,
    name: str,
    delimiter: str | None,
    missing_values: Collection[str],
    columns: Columns = None,
    numeric: Collection[str] = (),
    coded: bool = False,
    typed: bool = True,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Return the table in a delimited text file, which is read piece by piece.

    Args:
        source: the bytes, or an open file.
        name: of the file, for messages.
        delimiter: between fields; found if not given.
        missing_values: texts that stand for a missing value.
        columns: the columns to keep, or a function that picks them from those of the header.
        numeric: columns in which 1.5 and 1.50 are the same number.
        coded: whether text columns stay codes (see `shoal.coded`).
        typed: whether columns get types; otherwise cells differ as their texts do, and nothing
            says more about a column than that.
        progress: told the rows read so far.

    Raises:
        DataError: the file is empty, not UTF-8, has no rows, a ragged row, a stray quotation
            mark or two columns of one name; the message names the line.
    """
    import polars as pl

    stream = Pieces(io.BytesIO(source) if isinstance(source, bytes) else source, _CHUNK)
    lines_before = _skip_blank(stream, name=name)
    delimiter = delimiter or sniff_delimiter(stream.peek(_SAMPLE))
    header = _take_header(stream, name=name)
    names = _header(header, delimiter, name=name)
    judge_header(names, stream.peek(_SAMPLE), delimiter)
    wanted = pick_columns(names, columns, name=name)
    builders = {each: ColumnBuilder(each, missing_values) for each in wanted}
    line = 1 + lines_before + header.count(b"\n")
    n_records = n_blank = 0
    for piece in stream.pieces():
        scan = scan_records(
            piece.data,
            delimiter=ord(delimiter),
            n_fields=len(names),
            line=line,
            last=piece.last,
            name=name,
        )
        if scan is None:
            stream.longer(name=name, line=line)
            continue
        body = piece.data[: scan.length]
        check_utf8(body, name=name, offset=stream.offset, line=line)
        frame = _parse(body, delimiter, names, wanted, name=name)
        if frame.height != scan.n_records:
            message = f"{name} could not be read: its rows cannot be told apart; check its quotes."
            raise DataError(message)
        if scan.blank.size:
            keep = pl.Series([True]).new_from_index(0, frame.height)
            keep[scan.blank] = False
            frame = frame.filter(keep)
        for each, builder in builders.items():
            builder.add(frame.get_column(each))
        n_records += scan.n_records
        # A code of four bytes is the least that a cell takes.
        check_memory_for(name, 4 * n_records * len(wanted), f"more than {n_records:,} rows")
        n_blank += scan.blank.size
        line += body.count(b"\n")
        stream.skip(len(body))
        stream.usual()
        if progress is not None:
            progress(n_records)
    if n_records == n_blank:
        message = f"{name} has a header but no rows."
        raise DataError(message)
    return pl.DataFrame(
        [
            builders.pop(each).finish(lenient=each in numeric, coded=coded, typed=typed)
            for each in wanted
        ]
    )


def sniff_delimiter(sample: bytes) -> str:
    """Return the delimiter that splits the first records most evenly; a comma if none does."""
    lines = _unquoted(sample.decode("utf-8", errors="replace")).splitlines()
    # The sample may end in the middle of a record.
    lines = [line for line in (lines[:-1] if len(lines) > 2 else lines) if line.strip()][:200]
    if not lines:
        return ","
    best, best_score = ",", (0.0, 0)
    for candidate in _CANDIDATES:
        header, *counts = (line.count(candidate) for line in lines)
        if header:
            even = sum(count == header for count in counts) / max(len(counts), 1)
            if (even, header) > best_score:
                best, best_score = candidate, (even, header)
    if best_score == (0.0, 0):
        # No row agrees with the header: take what the header itself uses most.
        best = max(_CANDIDATES, key=lines[0].count)
    return best


def _unquoted(text: str) -> str:
    return "".join(text.split('"')[::2])


def _skip_blank(stream: Pieces, *, name: str) -> int:
    """Skip what may stand before the header, and return how many lines that was."""
    lines = 0
    while True:
        if stream.peek(len(_BOM)) == _BOM:
            blank = _BOM  # of a file that was put together from others, more than one
        elif not (blank := _leading_blank(stream.peek(_SAMPLE))):
            break
        lines += blank.count(b"\n")
        stream.skip(len(blank))
    n_bytes = _SAMPLE
    while not (sample := stream.peek(n_bytes)).strip():
        if len(sample) < n_bytes:
            message = f"{name} is empty."
            raise DataError(message)
        check_size(f"{name}, line {lines + 1}: the row", n_bytes, "record")
        n_bytes *= 2
    if b"\0" in sample:
        message = f"{name} holds zero bytes and is not UTF-8 text; save it again as UTF-8."
        raise DataError(message)
    return lines


def _leading_blank(data: bytes) -> bytes:
    return data[: len(data) - len(data.lstrip(b"\r\n"))]


def _take_header(stream: Pieces, *, name: str) -> bytes:
    """Return the first record and be done with it."""
    n_bytes = _SAMPLE
    while True:
        data = stream.peek(n_bytes)
        start = end = n_quotes = 0
        while end := data.find(b"\n", start) + 1:
            n_quotes += data.count(b'"', start, end)
            if n_quotes % 2 == 0:
                break
            start = end
        if not end and len(data) < n_bytes:
            end = len(data)
            if data.count(b'"') % 2:
                message = f"{name}: a quotation mark in the header is never closed."
                raise DataError(message)
        if end:
            check_utf8(data[:end], name=name, offset=stream.offset)
            stream.skip(end)
            return data[:end]
        check_size(f"{name}: the header", n_bytes, "record")
        n_bytes *= 2


def _header(record: bytes, delimiter: str, *, name: str) -> list[str]:
    text = record.decode("utf-8")
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        message = f"The first line of {name} cannot be read as a header."
        raise DataError(message) from None
    check_columns(name, names)
    # A column without a name gets one, so that it can be given a role (usually drop). The mark
    # that some programs put before a text cannot be seen and is no part of a name.
    names = [each.strip("\ufeff") for each in names]
    names = [each or f"column_{number}" for number, each in enumerate(names, start=1)]
    check_different(names, name=name)
    return names


def check_different(names: list[str], *, name: str) -> None:
    """Make sure that no two columns have the same name.

    Raises:
        DataError: two have; they are named by their places, the names may be cells.
    """
    places: dict[str, int] = {}
    for number, each in enumerate(names, start=1):
        if each in places:
            message = (
                f"{name} has more than one column of the same name (columns {places[each]} and "
                f"{number}); rename one of them."
            )
            raise DataError(message)
        places[each] = number


def pick_columns(names: list[str], columns: Columns, *, name: str) -> list[str]:
    """Return the columns to keep, in the order asked for.

    Raises:
        DataError: the table has no such column.
    """
    if columns is None:
        return names
    picked = columns(names) if callable(columns) else columns
    wanted = [picked] if isinstance(picked, str) else list(picked)
    for each in wanted:
        if each not in names:
            message = f"{name} has no column {each!r}.{did_you_mean(each, names)}"
            raise DataError(message)
    return wanted


def _parse(
    body: bytes, delimiter: str, names: list[str], wanted: list[str], *, name: str
) -> pl.DataFrame:
    import polars as pl

    if not body.strip(b"\r\n"):  # blank lines, which polars takes for no data at all
        n_lines = body.count(b"\n") + (not body.endswith(b"\n"))
        return pl.DataFrame({each: pl.Series([None] * n_lines, dtype=pl.String) for each in wanted})
    if body.startswith(_BOM):
        body = _BOM + body  # polars takes the first one away; here it is part of a cell
    # Polars insists on names of its own where there is no header.
    own = {each: f"column_{number}" for number, each in enumerate(names, start=1)}
    try:
        frame = pl.read_csv(
            body,
            has_header=False,
            separator=delimiter,
            schema=dict.fromkeys(own.values(), pl.String),
            columns=[own[each] for each in wanted],
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        # Its message may show cells.
        message = f"{name} could not be read as delimited text."
        raise DataError(message) from None
    return frame.select(pl.col(own[each]).alias(each) for each in wanted)
