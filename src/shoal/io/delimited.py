"""CSV and its relatives: which delimiter, is every row whole, then polars reads it.

Polars fills short rows with nulls and guesses at stray quotation marks; a table about people
deserves better. So one pass over the bytes checks every record before polars parses them.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from shoal.errors import DataError
from shoal.io.celltypes import mark_missing, type_columns

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

__all__ = ["check_utf8", "parse_delimited", "sniff_delimiter"]

_CANDIDATES = (",", ";", "\t", "|")
_SAMPLE = 1 << 16
_CHUNK = 1 << 24
_BOM = b"\xef\xbb\xbf"
_QUOTE, _NEWLINE, _RETURN = 34, 10, 13


def parse_delimited(
    data: bytes,
    *,
    name: str,
    delimiter: str | None,
    missing_values: Collection[str],
    columns: Collection[str] | None = None,
    numeric: Collection[str] = (),
) -> pl.DataFrame:
    """Return the table in the bytes of a delimited text file.

    Raises:
        DataError: the file is empty, not UTF-8, has no rows, a ragged row, a stray quotation
            mark or two columns of one name; the message names the line.
    """
    import polars as pl

    check_utf8(data, name=name)
    start = len(_BOM) if data.startswith(_BOM) else 0
    lines_before = 0
    while data[start : start + 1] in {b"\n", b"\r"}:
        lines_before += data[start] == _NEWLINE
        start += 1
    if not data[start : start + _SAMPLE].strip() and not data[start:].strip():
        message = f"{name} is empty."
        raise DataError(message)
    delimiter = delimiter or sniff_delimiter(data[start : start + _SAMPLE])
    end = _end_of_record(data, start, name=name)
    names = _header(data[start:end], delimiter, name=name)
    scan = _scan(
        memoryview(data)[end:],
        delimiter=ord(delimiter),
        n_fields=len(names),
        line=1 + lines_before + data.count(b"\n", start, end),
        name=name,
    )
    if scan.n_records == len(scan.blank):
        message = f"{name} has a header but no rows."
        raise DataError(message)
    frame = _parse(data[end:], delimiter, names, name=name)
    if frame.height != scan.n_records:
        message = f"{name} could not be read: its rows cannot be told apart; check its quotes."
        raise DataError(message)
    if scan.blank:
        keep = pl.Series([True]).new_from_index(0, frame.height)
        keep[scan.blank] = False
        frame = frame.filter(keep)
    if columns is not None:
        frame = frame.select([each for each in names if each in columns])
    # Polars gives null for an empty field; here the user says what is missing.
    frame = frame.with_columns(
        mark_missing(column.fill_null(""), missing_values) for column in frame.get_columns()
    )
    return type_columns(frame, numeric=numeric)


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


def check_utf8(data: bytes, *, name: str) -> None:
    """Raise a DataError that names line and byte unless the bytes are UTF-8 text."""
    position = 0
    while position < len(data):
        # Cut at a line end, which no character straddles.
        end = data.rfind(b"\n", position, position + _CHUNK) + 1
        if end <= position:
            end = data.find(b"\n", position + _CHUNK) + 1 or len(data)
        try:
            str(memoryview(data)[position:end], "utf-8")
        except UnicodeDecodeError as error:
            at = position + error.start
            line = data.count(b"\n", 0, at) + 1
            message = (
                f"{name} is not UTF-8 text (byte {at + 1}, line {line}); save it again as UTF-8."
            )
            raise DataError(message) from None
        position = end
    if b"\0" in data[:_SAMPLE]:
        message = f"{name} holds zero bytes and is not UTF-8 text; save it again as UTF-8."
        raise DataError(message)


def _unquoted(text: str) -> str:
    return "".join(text.split('"')[::2])


def _end_of_record(data: bytes, start: int, *, name: str) -> int:
    """Return the position after the record that begins at ``start``."""
    end = start
    while True:
        end = data.find(b"\n", end) + 1
        if end == 0:
            end = len(data)
            if data.count(b'"', start) % 2:
                message = f"{name}: a quotation mark in the header is never closed."
                raise DataError(message)
        if data.count(b'"', start, end) % 2 == 0:
            return end


def _header(record: bytes, delimiter: str, *, name: str) -> list[str]:
    text = record.decode("utf-8")
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        message = f"The first line of {name} cannot be read as a header."
        raise DataError(message) from None
    # A column without a name gets one, so that it can be given a role (usually drop).
    names = [each or f"column_{number}" for number, each in enumerate(names, start=1)]
    twice = [each for each, count in Counter(names).items() if count > 1]
    if twice:
        message = f"{name} has more than one column called {twice[0]!r}; rename one of them."
        raise DataError(message)
    return names


def _parse(body: bytes, delimiter: str, names: list[str], *, name: str) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_csv(
            body,
            has_header=False,
            separator=delimiter,
            schema=dict.fromkeys(names, pl.String),
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        # Its message may show cells.
        message = f"{name} could not be read as delimited text."
        raise DataError(message) from None


class _Scan(NamedTuple):
    """What the pass over the bytes found: how many records, and which of them are blank lines."""

    n_records: int
    blank: list[int]


def _scan(body: memoryview, *, delimiter: int, n_fields: int, line: int, name: str) -> _Scan:
    """Check that every record has ``n_fields`` fields and every quotation mark its place."""
    import numpy as np

    n_records, blank = 0, []
    position, size = 0, _CHUNK
    while position < len(body):
        last = position + size >= len(body)
        piece = np.frombuffer(body[position : position + size], dtype=np.uint8)
        if last and piece[-1] != _NEWLINE:
            piece = np.append(piece, np.uint8(_NEWLINE))
        inside = _inside_quotes(piece)
        breaks = (piece == _NEWLINE) & ~inside
        whole = piece.size - int(np.argmax(breaks[::-1])) if breaks.any() else 0
        if not last and whole == 0:
            size *= 2  # one record is longer than the chunk
            continue
        checked = piece if last else piece[:whole]
        _check_quotes(checked, inside[: checked.size], delimiter, line=line, name=name)
        if last and whole < piece.size:
            opened = np.flatnonzero((checked == _QUOTE) & inside)[-1]
            at = line + int(np.count_nonzero(checked[:opened] == _NEWLINE))
            message = f"{name}, line {at}: a quotation mark is opened and never closed."
            raise DataError(message)
        fields, starts, empty = _records(checked, inside[: checked.size], delimiter)
        # In a table of one column a blank line is a missing value, elsewhere it is nothing.
        skipped = empty if n_fields > 1 else np.zeros_like(empty)
        wrong = (fields != n_fields) & ~skipped
        if wrong.any():
            first = int(np.argmax(wrong))
            at = line + int(np.count_nonzero(checked[: starts[first]] == _NEWLINE))
            message = (
                f"{name}, line {at}: the row has {fields[first]} "
                f"field{'' if fields[first] == 1 else 's'} where the header has {n_fields}."
            )
            raise DataError(message)
        blank.extend((np.flatnonzero(skipped) + n_records).tolist())
        n_records += fields.size
        line += int(np.count_nonzero(checked == _NEWLINE))
        position += checked.size
        size = _CHUNK
    return _Scan(n_records, blank)


def _inside_quotes(piece: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return for every byte whether it is quoted; an opening mark is, a closing one is not."""
    import numpy as np

    quotes: npt.NDArray[np.bool_] = piece == _QUOTE
    if not quotes.any():
        return quotes
    inside: npt.NDArray[np.bool_] = np.bitwise_xor.accumulate(quotes.view(np.uint8)).view(np.bool_)
    return inside


def _check_quotes(
    piece: npt.NDArray[np.uint8],
    inside: npt.NDArray[np.bool_],
    delimiter: int,
    *,
    line: int,
    name: str,
) -> None:
    """Check that quoted fields begin after a delimiter and end before one."""
    import numpy as np

    quotes = np.flatnonzero(piece == _QUOTE)
    if not quotes.size:
        return
    opening = inside[quotes]
    # The piece ends with a newline and begins after one.
    before = np.where(quotes > 0, piece[quotes - 1], np.uint8(_NEWLINE))
    after = piece[np.minimum(quotes + 1, piece.size - 1)]
    begins = np.isin(before, [delimiter, _NEWLINE, _QUOTE])
    ends = np.isin(after, [delimiter, _NEWLINE, _RETURN, _QUOTE])
    stray = np.where(opening, ~begins, ~ends)
    if stray.any():
        at = line + int(np.count_nonzero(piece[: quotes[np.argmax(stray)]] == _NEWLINE))
        message = (
            f"{name}, line {at}: a quotation mark stands in the middle of a field; "
            "put the whole field in quotation marks and double the one inside."
        )
        raise DataError(message)


def _records(
    piece: npt.NDArray[np.uint8], inside: npt.NDArray[np.bool_], delimiter: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return for every record its number of fields, where it starts, and whether it is blank."""
    import numpy as np

    marks = np.flatnonzero(((piece == _NEWLINE) | (piece == delimiter)) & ~inside)
    ends = np.flatnonzero(piece[marks] == _NEWLINE)
    fields = np.diff(ends, prepend=-1)
    stops = marks[ends]
    starts = np.concatenate(([0], stops[:-1] + 1)).astype(np.intp)
    length = stops - starts
    blank = (length == 0) | ((length == 1) & (piece[starts] == _RETURN))
    return fields, starts, blank
