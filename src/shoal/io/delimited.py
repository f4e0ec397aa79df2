"""CSV and its relatives: which delimiter, which header, and then piece by piece into columns."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from shoal.errors import DataError, did_you_mean
from shoal.io.columns import BLANKS, ColumnBuilder, mark_codes, may_have_blanks
from shoal.io.extra_rows import NOTE, ExtraRows, find_header, starts_like_note
from shoal.io.formats import KEEP
from shoal.io.limits import check_columns, check_memory_for, check_size, row_at
from shoal.io.location import check_same_columns
from shoal.io.overwrite_guard import HowRead, current_watch, note_read
from shoal.io.recognise import recognise_noted
from shoal.io.source import Utf8Stream
from shoal.io.spelling import Found, NumberSpelling, read_as_asked
from shoal.messages import Message, plural

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    import numpy as np
    import numpy.typing as npt
    import polars as pl


# -- records: where pieces of a file may be cut, and whether rows are whole -----------------------
#
# Polars fills short rows with nulls and guesses at stray quotation marks; a table about people
# deserves better. So one pass over the bytes checks every record before polars parses them.
#
# Small faults of a text file are mended in its bytes: as many as before, each at its place.

_QUOTE, _NEWLINE, _RETURN = 34, 10, 13


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
        check_size(row_at(name, line), self._size, "record")
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
        blank: which of them are blank lines, or notes that have fewer fields.
        notes: in which lines these notes stand.
        starts: where each record begins.
    """

    length: int
    n_records: int
    blank: npt.NDArray[np.intp]
    notes: list[int]
    starts: npt.NDArray[np.intp]


def scan_records(
    data: bytes,
    *,
    delimiter: int,
    n_fields: int,
    line: int,
    last: bool,
    name: str,
    takes_notes: bool = False,
) -> Scan | None:
    """Check that every record has ``n_fields`` fields and every quotation mark its place.

    Args:
        data: bytes that begin with a record.
        delimiter: between fields.
        n_fields: of every record.
        line: number of the first line.
        last: whether the file ends with them.
        name: of the file.
        takes_notes: whether a note or a total may have fewer fields.

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
    notes: list[int] = []
    if takes_notes and wrong.any():
        for place in np.flatnonzero(wrong & (fields < n_fields)).tolist():
            text = data[starts[place] :].partition(b"\n")[0].decode(errors="replace")
            if fields[place] == 1 or starts_like_note(text):
                notes.append(line + data.count(b"\n", 0, starts[place]))
                wrong[place], skipped[place] = False, True
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
    length = min(checked.size, len(data))
    return Scan(length, fields.size, np.flatnonzero(skipped), notes, starts)


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


# The first line of a file: is it one of names, and do they differ? No message shows data.

_ROWS = 200
_NUMBER = re.compile(r"[-+]?[\d][\d.,:/\-+TZ %]*")
_PLAIN = re.compile(r"[a-z_][a-z0-9_.]{0,40}|[A-Za-z]{1,8}[_ .-]?\d{1,4}")
_LONGEST = 60
_BLANKS = " \t\xa0\r\n"


def different_names(names: Sequence[str | None], how: HowRead, *, name: str) -> list[str]:
    """Return names for columns: none is empty, none has blanks around it, no two are the same.

    A column without a name is called by its place, so that it can be given a role (usually drop);
    one with the name of a column before it gets a number.

    Args:
        names: as they stand in the file.
        how: told about names that changed.
        name: of the file.
    """
    # The mark that some programs put before a text cannot be seen and is no part of a name.
    bare = [(each or "").strip("\ufeff").strip(_BLANKS) for each in names]
    bare = [each or f"column_{place}" for place, each in enumerate(bare, start=1)]
    taken = set(bare)
    first: dict[str, int] = {}
    found: list[str] = []
    for place, each in enumerate(bare, start=1):
        own = each
        if each in first:
            number = 2
            while (own := f"{each}_{number}") in taken:
                number += 1
            taken.add(own)
            how.twins.setdefault(each, []).append(own)
            how.notes.append(
                Message(
                    "{name} has more than one column of the same name (columns {first} and "
                    "{place}); _{number} was added to the name of column {place}.",
                    name=name,
                    first=first[each],
                    place=place,
                    number=number,
                )
            )
        else:
            first[each] = place
        found.append(own)
    return found


def judge_header(
    names: Sequence[str], sample: bytes, delimiter: str, how: HowRead, *, name: str
) -> None:
    """Remember the names of a CSV as doubtful unless they look like names.

    Args:
        names: the fields of the first line.
        sample: the first bytes after it.
        delimiter: between fields.
        how: told if the first line looks like data.
        name: of the file.
    """
    if current_watch() is None:
        return
    text = io.StringIO(sample.decode("utf-8", errors="replace"), newline="")
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # whoever reads the rows says what is wrong
        rows.extend(islice(csv.reader(text, delimiter=delimiter), _ROWS))
    _judge(names, rows, how, name=name)


def judge_header_of_frame(frame: pl.DataFrame, how: HowRead, *, name: str) -> None:
    """Remember the names of a sheet as doubtful unless they look like names."""
    import polars as pl

    if current_watch() is not None:
        rows = frame.head(_ROWS).select(pl.all().cast(pl.String, strict=False)).rows()
        _judge(frame.columns, rows, how, name=name)


def _judge(
    names: Sequence[str], rows: Sequence[Sequence[str | None]], how: HowRead, *, name: str
) -> None:
    watch = current_watch()
    data = _are_data(names, rows)
    if watch is not None and (data or not _are_names(names)):
        watch.doubtful |= {name: place for place, name in enumerate(names, start=1)}
    if data:
        how.notes.append(
            Message(
                "The first line of {name} looks like data rather than column names; if it is "
                "data, say --no-header.",
                name=name,
            )
        )


def _are_data(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> bool:
    """Tell whether texts look like cells."""
    if any(_NUMBER.fullmatch(name) or "@" in name for name in names):
        return True
    # A name does not turn up again among the cells below it, as a value does.
    return any(
        bool(cell) and cell == name
        for row in rows
        if list(row) != list(names)  # a header that is repeated
        for cell, name in zip(row, names, strict=False)
    )


def _are_names(names: Sequence[str]) -> bool:
    """Tell whether texts look like the names of columns; in doubt they do not."""
    if any(len(name) > _LONGEST for name in names):
        return False
    if all(_PLAIN.fullmatch(name) for name in names):
        return True
    from shoal.io.vocabulary import topics_of

    return any(topics_of(name) for name in names)


_TITLE_LINES = 50
_CANDIDATES = (",", ";", "\t", "|")
_SAMPLE = 1 << 16
_CHUNK = 1 << 24
_BOM = b"\xef\xbb\xbf"

Columns = Collection[str] | Callable[[list[str]], Collection[str]] | None
"""Which columns to keep: their names, a function that picks them from all names, or all."""


class Dialect(NamedTuple):
    """How a text file is written; what is None is found out.

    Attributes:
        delimiter: between fields.
        encoding: of the text.
        header: whether the first line is one of names.
        decimal: a comma or a point; a comma is looked for where it separates no fields.
        read_as: how the dates or numbers of columns are written (`shoal.io.spelling`).
        guess: whether that is found out for the other columns (`shoal.io.recognise`).
        sheet: of a workbook.
        extra_rows: what happens to rows that are no records.
        missing_codes: what means a missing value in single columns.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: bool = True
    decimal: str | None = None
    read_as: Mapping[str, str] | None = None
    guess: bool = False
    sheet: str | None = None
    extra_rows: str = KEEP
    missing_codes: Mapping[str, Sequence[str]] = MappingProxyType({})


class Part(NamedTuple):
    """A further file of a table.

    Attributes:
        name: for messages.
        open: gives its bytes.
    """

    name: str
    open: Callable[[], AbstractContextManager[Readable]]


def parse_delimited(
    source: bytes | Readable,
    *,
    name: str,
    dialect: Dialect = Dialect(),  # noqa: B008 - a constant
    missing_values: Collection[str],
    columns: Columns = None,
    numeric: Collection[str] = (),
    coded: bool = False,
    typed: bool = True,
    more: Sequence[Part] = (),
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Return the table in a delimited text file, which is read piece by piece.

    Args:
        source: the bytes, or an open file.
        name: of the file, for messages.
        dialect: how it is written.
        missing_values: texts that stand for a missing value.
        columns: the columns to keep, or a function that picks them from those of the header.
        numeric: columns in which 1.5 and 1.50 are the same number.
        coded: whether text columns stay codes (see `shoal.io.columns`).
        typed: whether columns get types and lose blanks around their cells; otherwise cells
            differ as their texts do, and nothing says more about a column than that.
        more: further files with the same columns, whose rows follow.
        progress: told the rows read so far.

    Raises:
        DataError: the file is empty, in no known encoding, has no rows, a ragged row or a stray
            quotation mark; the message names the line.
    """
    import polars as pl

    file: Readable = io.BytesIO(source) if isinstance(source, bytes) else source
    table = _Table(name, dialect, columns, missing_values, typed=typed)
    table.read(name, file, progress)
    for part in more:
        with part.open() as opened:
            table.read(part.name, opened, progress)
    if not table.n_rows:
        raise DataError("{name} has a header but no rows.", name=name)
    spellings = dialect.read_as or {}
    codes = dialect.missing_codes
    frame = pl.DataFrame(table.finish(numeric, spellings, coded=coded))
    if codes or spellings:
        frame = read_as_asked(frame, {"missing_codes": codes, "read_as": spellings})
    frame = table.recognised(frame, numeric, spellings) if dialect.guess else frame
    return mark_codes(frame, codes) if codes else frame


class _Table:
    """Takes files that have the same columns, piece by piece, and gives the finished columns."""

    def __init__(
        self,
        name: str,
        dialect: Dialect,
        columns: Columns,
        missing_values: Collection[str],
        *,
        typed: bool,
    ) -> None:
        blanks = "".join(BLANKS)
        self._name = name
        self._dialect = dialect
        self._columns = columns
        self._markers = [each.strip(blanks) if typed else each for each in missing_values]
        self._typed = typed
        self._builders: dict[str, ColumnBuilder] = {}
        self._names: list[str] = []
        self._comma: str | None = None
        self._commas: list[str] = []
        self._read: list[tuple[str, HowRead, Utf8Stream]] = []
        self.n_rows = 0

    def read(self, name: str, file: Readable, progress: Callable[[int], None] | None) -> None:
        """Take a file."""
        text = Utf8Stream(file, name=name, encoding=self._dialect.encoding)
        stream = Pieces(text, _CHUNK)
        start = _start(stream, self._dialect, name=name)
        if not self._names:
            wanted = pick_columns(start.names, self._columns, name=name)
            self._names = start.names
            codes = self._dialect.missing_codes
            self._builders = {
                each: ColumnBuilder(each, [*self._markers, *codes.get(each, ())]) for each in wanted
            }
            self._comma = start.how.comma(self._dialect.decimal)
        else:
            check_same_columns(self._name, self._names, name, start.names)
        self._read.append((name, start.how, text))
        for body, frame in _rows(stream, start, list(self._builders), name=name):
            trims = self._typed and may_have_blanks(body, start.delimiter)
            for each, builder in self._builders.items():
                builder.add(frame.get_column(each), trims=trims)
            self.n_rows += frame.height
            # A code of four bytes is the least that a cell takes.
            n_bytes = 4 * self.n_rows * len(self._builders)
            check_memory_for(name, n_bytes, Message("more than {n:,} rows", n=self.n_rows))
            if progress is not None:
                progress(self.n_rows)
        start.extra.finish(start.how, name=name)

    def finish(
        self, numeric: Collection[str], spelled: Collection[str], *, coded: bool
    ) -> list[pl.Series]:
        """Return the columns, forget the pieces, and say what was found out."""
        trimmed = any(builder.trimmed for builder in self._builders.values())
        finished = []
        for each in list(self._builders):
            builder = self._builders.pop(each)
            builder.waits = self._dialect.guess
            finished.append(
                builder.finish(
                    lenient=each in numeric,
                    coded=coded,
                    typed=self._typed and each not in spelled,
                    decimal=self._comma,
                )
            )
            if builder.comma:
                self._commas.append(each)
        for name, how, text in self._read:
            how.decimal = "," if self._commas else None
            _note_found(how, text, self._dialect, name=name, trimmed=trimmed)
        return finished

    def recognised(
        self, frame: pl.DataFrame, numeric: Collection[str], said: Collection[str]
    ) -> pl.DataFrame:
        """Return the table with the dates and numbers that countries write in their own way."""
        name, how, _ = self._read[0]
        comma = str(NumberSpelling(","))
        how.spelled |= {each: Found(comma, "") for each in self._commas}  # a note says it of all
        return recognise_noted(
            frame,
            how,
            name=name,
            but=said,
            lenient=numeric,
            decimal=self._dialect.decimal,
            commas=self._commas,
        )


class _Start(NamedTuple):
    """What the first record says.

    Attributes:
        names: of the columns.
        delimiter: between fields.
        line: the number of the line after it, or its own if it is data.
        how: what was found out.
        extra: looks for rows that are no records.
    """

    names: list[str]
    delimiter: str
    line: int
    how: HowRead
    extra: ExtraRows


def _start(stream: Pieces, dialect: Dialect, *, name: str) -> _Start:
    """Return what the first record says, and be done with it unless it is data."""
    line = 1 + _skip_blank(stream, name=name)
    delimiter = dialect.delimiter or sniff_delimiter(stream.peek(_SAMPLE))
    how = HowRead(delimiter=delimiter, header=dialect.header)
    note_read(name, how)
    if dialect.header and dialect.extra_rows != KEEP:
        line += _skip_titles(stream, delimiter, how, name=name)
    first = _first_record(stream, delimiter, name=name)
    fields = _fields(first, delimiter, name=name)
    titles = fields if how.header else [""] * len(fields)
    check_columns(name, titles)
    names = different_names(titles, how, name=name)
    if dialect.header:
        stream.skip(len(first))
        line += first.count(b"\n")
        judge_header(names, stream.peek(_SAMPLE), delimiter, how, name=name)
    return _Start(names, delimiter, line, how, ExtraRows(dialect.extra_rows, titles))


def _skip_titles(stream: Pieces, delimiter: str, how: HowRead, *, name: str) -> int:
    """Skip titles above the line of names, and return how many lines that was."""
    sample = mend(stream.peek(_SAMPLE), delimiter, last=False).split(b"\n")[:_TITLE_LINES]
    lines = list(takewhile(lambda line: line.count(b'"') % 2 == 0, sample))
    texts = [line.decode(errors="replace").strip("\r") for line in lines]
    rows = [next(csv.reader([text], delimiter=delimiter), []) for text in texts]
    place = find_header([[cell.strip(_BLANKS) for cell in row] or [""] for row in rows])
    if not place:
        return 0
    stream.skip(sum(len(line) + 1 for line in lines[:place]))
    how.notes.append(
        Message("In {name} the names of the columns are in line {line}.", name=name, line=place + 1)
    )
    return place


def _rows(
    stream: Pieces, start: _Start, wanted: list[str], *, name: str
) -> Iterator[tuple[bytes, pl.DataFrame]]:
    """Give the rows piece by piece, as bytes and as texts in columns."""
    import numpy as np
    import polars as pl

    names, delimiter, line, _, extra = start
    for piece in stream.pieces():
        data = mend(piece.data, delimiter, last=piece.last)
        scan = scan_records(
            data,
            delimiter=ord(delimiter),
            n_fields=len(names),
            line=line,
            last=piece.last,
            name=name,
            takes_notes=extra.is_looking,
        )
        if scan is None:
            stream.longer(name=name, line=line)
            continue
        body = data[: scan.length]
        check_utf8(body, name=name, offset=stream.offset, line=line)
        # Whether a row is a record is seen by all of its cells.
        looked = names if extra.is_looking else wanted
        frame = _parse(body, delimiter, names, looked, name=name)
        if frame.height != scan.n_records:
            raise DataError(
                "{name} could not be read: its rows cannot be told apart; check its quotes.",
                name=name,
            )
        if scan.blank.size:
            keep = pl.Series([True]).new_from_index(0, frame.height)
            keep[scan.blank] = False
            frame = frame.filter(keep)
        if extra.is_looking:
            for at in scan.notes:
                extra.add(NOTE, at)
            found = extra.look(frame, last=piece.last)
            if found:
                kept_starts = np.delete(scan.starts, scan.blank)
                for place, kind in found.items():
                    extra.add(kind, line + body.count(b"\n", 0, int(kept_starts[place])))
                keep = pl.Series([True]).new_from_index(0, frame.height)
                keep[list(found)] = False
                frame = frame.filter(keep)
            frame = frame.select(wanted)
        yield body, frame
        line += body.count(b"\n")
        stream.skip(len(body))
        stream.usual()


def _note_found(
    how: HowRead, text: Utf8Stream, dialect: Dialect, *, name: str, trimmed: bool
) -> None:
    """Remember what nobody had said about the file."""
    how.encoding = text.encoding
    if text.guessed:
        how.notes.append(text.note())
    elif text.found:
        how.notes.append(
            Message(
                "{name} was read as {encoding}, as its first bytes say.",
                name=name,
                encoding=text.encoding,
            )
        )
    if how.decimal is not None and dialect.decimal is None:
        how.notes.append(
            Message(
                "In {name} numbers such as 1,5 have a decimal comma and were read as numbers; if "
                "they are something else, say --decimal '.'.",
                name=name,
            )
        )
    if trimmed:
        how.notes.append(Message("In {name} spaces around cells were taken away.", name=name))


def sniff_delimiter(sample: bytes) -> str:
    """Return the delimiter that splits the first records most evenly; a comma if none does."""
    lines = _unquoted(sample.decode("utf-8", errors="replace")).splitlines()
    # The sample may end in the middle of a record.
    lines = [line for line in (lines[:-1] if len(lines) > 2 else lines) if line.strip()][:200]
    if not lines:
        return ","
    best: str = ","
    best_score: tuple[float, int] = (0.0, 0)
    for candidate in _CANDIDATES:
        header, *counts = (line.count(candidate) for line in lines)
        if header:
            even = sum(count == header for count in counts) / max(len(counts), 1)
            if (even, header) > best_score:
                best, best_score = candidate, (even, header)
    if best_score[0] == 0 and len(lines) > 2:
        # No row agrees with the first line, which may be a title: take what most lines agree on.
        for candidate in _CANDIDATES:
            usual, n_lines = Counter(line.count(candidate) for line in lines).most_common(1)[0]
            if usual and 2 * n_lines > len(lines) and (n_lines, usual) > best_score:
                best, best_score = candidate, (n_lines, usual)
    if best_score == (0.0, 0):
        # No line agrees with another: take what the header itself uses most.
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
            raise DataError("{name} is empty.", name=name)
        check_size(row_at(name, lines + 1), n_bytes, "record")
        n_bytes *= 2
    if b"\0" in sample:
        raise DataError(
            "{name} holds zero bytes and is not UTF-8 text; say what it is in, as in "
            "--encoding utf-16, or save it again as UTF-8.",
            name=name,
        )
    return lines


def _leading_blank(data: bytes) -> bytes:
    return data[: len(data) - len(data.lstrip(b"\r\n"))]


def _first_record(stream: Pieces, delimiter: str, *, name: str) -> bytes:
    """Return the first record."""
    n_bytes = _SAMPLE
    while True:
        data = stream.peek(n_bytes)
        data = mend(data, delimiter, last=len(data) < n_bytes)
        start = end = n_quotes = 0
        while end := data.find(b"\n", start) + 1:
            n_quotes += data.count(b'"', start, end)
            if n_quotes % 2 == 0:
                break
            start = end
        if not end and len(data) < n_bytes:
            end = len(data)
            if data.count(b'"') % 2:
                raise DataError(
                    "{name}: a quotation mark in the header is never closed.", name=name
                )
        if end:
            check_utf8(data[:end], name=name, offset=stream.offset)
            return data[:end]
        check_size(Message("{name}: the header", name=name), n_bytes, "record")
        n_bytes *= 2


def _fields(record: bytes, delimiter: str, *, name: str) -> list[str]:
    """Return the fields of the first record."""
    text = record.decode("utf-8")
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        raise DataError("The first line of {name} cannot be read as a header.", name=name) from None


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
            raise DataError(
                "{name} has no column {each!r}.{hint}",
                name=name,
                each=each,
                hint=did_you_mean(each, names),
            )
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
        raise DataError("{name} could not be read as delimited text.", name=name) from None
    return frame.select(pl.col(own[each]).alias(each) for each in wanted)
