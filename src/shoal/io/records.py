"""Delimited text, record by record: where pieces of a file may be cut, and whether rows are whole.

Polars fills short rows with nulls and guesses at stray quotation marks; a table about people
deserves better. So one pass over the bytes checks every record before polars parses them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from shoal.errors import DataError
from shoal.io.limits import check_size
from shoal.messages import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt


# Small faults of a text file, mended in its bytes: as many as before, each at its place.

_QUOTE, _NEWLINE, _RETURN, _SPACE, _TAB = 34, 10, 13, 32, 9


def mend(data: bytes, delimiter: str | None, *, last: bool) -> bytes:
    r"""Return the bytes of some records with faults that have one reading only put right.

    A return without a newline, outside quotation marks, ends a record as a newline does. Spaces
    between a delimiter and a quotation mark go inside the marks, so that the cell keeps them: a
    release in which they tell rows apart is still told apart.

    Args:
        data: bytes that begin with a record.
        delimiter: between fields; None mends line ends only.
        last: whether the file ends with them.

    >>> mend(b'a, "b, c" ,d\re,f', ",", last=True)
    b'a," b, c ",d\ne,f'
    """
    returns = b"\r" in data and data.count(b"\r") != data.count(b"\r\n")
    blanks = (b" ", b"\t") if delimiter != "\t" else (b" ",)
    spaces = delimiter is not None and any(
        each + b'"' in data or b'"' + each in data for each in blanks
    )
    if not returns and not spaces:
        return data
    import numpy as np

    piece = np.frombuffer(data, dtype=np.uint8).copy()
    inside = np.bitwise_xor.accumulate((piece == _QUOTE).view(np.uint8)).view(np.bool_)
    if returns:
        after = np.append(piece[1:], np.uint8(0 if last else _NEWLINE))
        piece[(piece == _RETURN) & (after != _NEWLINE) & ~inside] = _NEWLINE
    if spaces and delimiter is not None:
        quotes = np.flatnonzero(piece == _QUOTE)
        opening = inside[quotes]
        kinds = [ord(each) for each in blanks]
        stops = [ord(delimiter), _NEWLINE, _RETURN]
        _swap(piece, quotes[opening], -1, kinds, stops)
        _swap(piece, quotes[~opening], 1, kinds, stops)
    return piece.tobytes()


def _swap(
    piece: npt.NDArray[np.uint8],
    quotes: npt.NDArray[np.intp],
    step: int,
    blanks: list[int],
    stops: list[int],
) -> None:
    """Let quotation marks change places with the blanks between them and the end of a field."""
    import numpy as np

    def at(places: npt.NDArray[np.intp]) -> npt.NDArray[np.uint8]:
        # Beyond either end there is a line end.
        beyond = (places < 0) | (places >= piece.size)
        return np.where(beyond, np.uint8(_NEWLINE), piece[np.clip(places, 0, piece.size - 1)])

    quotes = quotes[np.isin(at(quotes + step), blanks)]
    ends = quotes.copy()
    open_ends = np.arange(ends.size)
    while open_ends.size:
        goes_on = np.isin(at(ends[open_ends] + step), blanks)
        open_ends = open_ends[goes_on]
        ends[open_ends] += step
    whole = np.isin(at(ends + step), stops)
    quotes, ends = quotes[whole], ends[whole]
    piece[quotes] = piece[ends]
    piece[ends] = _QUOTE


_UTF8_CHUNK = 1 << 24
_QUOTE, _NEWLINE, _RETURN = 34, 10, 13
_BLANK = (9, 10, 13, 32)


class Readable(Protocol):
    """What pieces are read from."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to this many bytes, none only at the end."""


class Piece(NamedTuple):
    """Some bytes of a file that begin with a record; the last piece ends with the file."""

    data: bytes
    last: bool


class Pieces:
    """A file in pieces: look ahead, say how much of it is done with.

    Attributes:
        offset: bytes of the file that are done with.
    """

    def __init__(self, file: Readable, size: int) -> None:
        self._file = file
        self._size = self._usual = size
        self._buffer = b""
        self._done = False
        self.offset = 0

    def peek(self, n_bytes: int) -> bytes:
        """Return the next bytes, fewer only where the file ends."""
        while len(self._buffer) < n_bytes and not self._done:
            more = self._file.read(n_bytes - len(self._buffer))
            self._done = not more
            self._buffer = self._buffer + more if self._buffer else more
        return self._buffer[:n_bytes]

    def skip(self, n_bytes: int) -> None:
        """Be done with some of the bytes seen."""
        self._buffer = self._buffer[n_bytes:]
        self.offset += n_bytes

    def pieces(self) -> Iterator[Piece]:
        """Give the next piece again and again until nothing is left; `skip` goes on."""
        while True:
            ahead = self.peek(self._size + 1)
            if not ahead:
                return
            yield Piece(ahead[: self._size], len(ahead) <= self._size)

    def longer(self, *, name: str, line: int) -> None:
        """Make the next piece longer: one record is longer than this one.

        Raises:
            DataError: the record is longer than records may be.
        """
        check_size(f"{name}, line {line}: the row", self._size, "record")
        self._size *= 2

    def usual(self) -> None:
        """Go back to pieces of the usual length."""
        self._size = self._usual


def check_utf8(data: bytes, *, name: str, offset: int = 0, line: int = 1) -> None:
    """Raise a DataError that names line and byte unless the bytes are UTF-8 text.

    Args:
        data: whole lines.
        name: of the file.
        offset: bytes of the file before these.
        line: number of their first line.
    """
    position = 0
    while position < len(data):
        # Cut at a line end, which no character straddles.
        end = data.rfind(b"\n", position, position + _UTF8_CHUNK) + 1
        if end <= position:
            end = data.find(b"\n", position + _UTF8_CHUNK) + 1 or len(data)
        try:
            str(memoryview(data)[position:end], "utf-8")
        except UnicodeDecodeError as error:
            at = position + error.start
            line += data.count(b"\n", 0, at)
            raise DataError(
                "{name} is not UTF-8 text (byte {offset}, line {line}); say what it is in, as "
                "in --encoding cp1252, or save it again as UTF-8.",
                name=name,
                offset=offset + at + 1,
                line=line,
            ) from None
        position = end


class Scan(NamedTuple):
    """What the pass over a piece found.

    Attributes:
        length: bytes of its whole records.
        n_records: how many they are.
        blank: which of them are blank lines.
    """

    length: int
    n_records: int
    blank: npt.NDArray[np.intp]


def scan_records(
    data: bytes, *, delimiter: int, n_fields: int, line: int, last: bool, name: str
) -> Scan | None:
    """Check that every record has ``n_fields`` fields and every quotation mark its place.

    Returns:
        What was found, or None if not one record of the piece is whole.
    """
    import numpy as np

    piece = np.frombuffer(data, dtype=np.uint8)
    if last and piece[-1] != _NEWLINE:
        piece = np.append(piece, np.uint8(_NEWLINE))
    inside = _inside_quotes(piece) if b'"' in data else None
    whole = _end_of_last_record(data, piece, inside)
    if not last and whole == 0:
        return None
    checked = piece if last else piece[:whole]
    if inside is not None:
        inside = inside[: checked.size]
        _check_quotes(checked, inside, delimiter, line=line, name=name)
        if last and whole < piece.size:
            opened = np.flatnonzero((checked == _QUOTE) & inside)[-1]
            at = line + int(np.count_nonzero(checked[:opened] == _NEWLINE))
            raise DataError(
                "{name}, line {at}: a quotation mark is opened and never closed.", name=name, at=at
            )
    fields, starts, empty = _records(checked, inside, delimiter)
    # In a table of one column a blank line is a missing value, elsewhere it is nothing.
    skipped = empty if n_fields > 1 else np.zeros_like(empty)
    wrong = (fields != n_fields) & ~skipped
    if wrong.any() and n_fields > 1:
        # So is a line of spaces.
        dark = ~np.isin(checked, _BLANK)
        skipped = skipped | (wrong & (np.add.reduceat(dark, starts, dtype=np.intp) == 0))
        wrong &= ~skipped
    if wrong.any():
        first = int(np.argmax(wrong))
        at = line + int(np.count_nonzero(checked[: starts[first]] == _NEWLINE))
        raise DataError(
            "{name}, line {at}: the row has {fields} where the header has {n_fields}.",
            name=name,
            at=at,
            fields=plural("{n} field", "{n} fields", int(fields[first])),
            n_fields=n_fields,
        )
    return Scan(min(checked.size, len(data)), fields.size, np.flatnonzero(skipped))


def _end_of_last_record(
    data: bytes, piece: npt.NDArray[np.uint8], inside: npt.NDArray[np.bool_] | None
) -> int:
    import numpy as np

    if inside is None:
        return piece.size if piece.size > len(data) else data.rfind(b"\n") + 1
    breaks = (piece == _NEWLINE) & ~inside
    return piece.size - int(np.argmax(breaks[::-1])) if breaks.any() else 0


def _inside_quotes(piece: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return for every byte whether it is quoted; an opening mark is, a closing one is not."""
    import numpy as np

    quotes: npt.NDArray[np.bool_] = piece == _QUOTE
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
        raise DataError(
            "{name}, line {at}: a quotation mark stands in the middle of a field; put the "
            "whole field in quotation marks and double the one inside.",
            name=name,
            at=at,
        )


def _records(
    piece: npt.NDArray[np.uint8], inside: npt.NDArray[np.bool_] | None, delimiter: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return for every record its number of fields, where it starts, and whether it is blank."""
    import numpy as np

    found = piece == _NEWLINE
    found |= piece == delimiter
    if inside is not None:
        found &= ~inside
    marks = np.flatnonzero(found)
    ends = np.flatnonzero(piece[marks] == _NEWLINE)
    fields = np.diff(ends, prepend=-1)
    stops = marks[ends]
    starts = np.concatenate(([0], stops[:-1] + 1)).astype(np.intp)
    length = stops - starts
    blank = (length == 0) | ((length == 1) & (piece[starts] == _RETURN))
    return fields, starts, blank
