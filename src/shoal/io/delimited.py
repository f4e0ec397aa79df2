"""CSV and its relatives: which delimiter, which header, and then piece by piece into columns."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from shoal.errors import DataError, did_you_mean
from shoal.io.columns import BLANKS, ColumnBuilder, may_have_blanks
from shoal.io.encodings import Utf8Stream
from shoal.io.limits import check_columns, check_memory_for, check_size
from shoal.io.multi_file import check_same_columns
from shoal.io.overwrite_guard import HowRead, current_watch, note_read
from shoal.io.records import Pieces, Readable, check_utf8, mend, scan_records

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    import polars as pl


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
                f"{name} has more than one column of the same name (columns {first[each]} and "
                f"{place}); _{number} was added to the name of column {place}."
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
            f"The first line of {name} looks like data rather than column names; if it is data, "
            "say --no-header."
        )


def _are_data(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> bool:
    """Tell whether texts look like cells."""
    if any(_NUMBER.fullmatch(name) or "@" in name for name in names):
        return True
    # A name does not turn up again among the cells below it, as a value does.
    return any(
        bool(cell) and cell == name for row in rows for cell, name in zip(row, names, strict=False)
    )


def _are_names(names: Sequence[str]) -> bool:
    """Tell whether texts look like the names of columns; in doubt they do not."""
    if any(len(name) > _LONGEST for name in names):
        return False
    if all(_PLAIN.fullmatch(name) for name in names):
        return True
    from shoal.io.vocabulary import topics_of

    return any(topics_of(name) for name in names)


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
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: bool = True
    decimal: str | None = None


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
    return pl.DataFrame(table.finish(numeric, coded=coded))


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
            self._builders = {each: ColumnBuilder(each, self._markers) for each in wanted}
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
            check_memory_for(name, n_bytes, f"more than {self.n_rows:,} rows")
            if progress is not None:
                progress(self.n_rows)

    def finish(self, numeric: Collection[str], *, coded: bool) -> list[pl.Series]:
        """Return the columns, forget the pieces, and say what was found out."""
        trimmed = any(builder.trimmed for builder in self._builders.values())
        finished, commas = [], False
        for each in list(self._builders):
            builder = self._builders.pop(each)
            finished.append(
                builder.finish(
                    lenient=each in numeric, coded=coded, typed=self._typed, decimal=self._comma
                )
            )
            commas = commas or builder.comma
        for name, how, text in self._read:
            how.decimal = "," if commas else None
            _note_found(how, text, self._dialect, name=name, trimmed=trimmed)
        return finished


class _Start(NamedTuple):
    """What the first record says.

    Attributes:
        names: of the columns.
        delimiter: between fields.
        line: the number of the line after it, or its own if it is data.
        how: what was found out.
    """

    names: list[str]
    delimiter: str
    line: int
    how: HowRead


def _start(stream: Pieces, dialect: Dialect, *, name: str) -> _Start:
    """Return what the first record says, and be done with it unless it is data."""
    line = 1 + _skip_blank(stream, name=name)
    delimiter = dialect.delimiter or sniff_delimiter(stream.peek(_SAMPLE))
    how = HowRead(delimiter=delimiter, header=dialect.header)
    note_read(name, how)
    first = _first_record(stream, delimiter, name=name)
    names = _names(first, delimiter, how, name=name)
    if dialect.header:
        stream.skip(len(first))
        line += first.count(b"\n")
        judge_header(names, stream.peek(_SAMPLE), delimiter, how, name=name)
    return _Start(names, delimiter, line, how)


def _rows(
    stream: Pieces, start: _Start, wanted: list[str], *, name: str
) -> Iterator[tuple[bytes, pl.DataFrame]]:
    """Give the rows piece by piece, as bytes and as texts in columns."""
    import polars as pl

    names, delimiter, line, _ = start
    for piece in stream.pieces():
        data = mend(piece.data, delimiter, last=piece.last)
        scan = scan_records(
            data,
            delimiter=ord(delimiter),
            n_fields=len(names),
            line=line,
            last=piece.last,
            name=name,
        )
        if scan is None:
            stream.longer(name=name, line=line)
            continue
        body = data[: scan.length]
        check_utf8(body, name=name, offset=stream.offset, line=line)
        frame = _parse(body, delimiter, names, wanted, name=name)
        if frame.height != scan.n_records:
            raise DataError(
                "{name} could not be read: its rows cannot be told apart; check its quotes.",
                name=name,
            )
        if scan.blank.size:
            keep = pl.Series([True]).new_from_index(0, frame.height)
            keep[scan.blank] = False
            frame = frame.filter(keep)
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
        how.notes.append(f"{name} was read as {text.encoding}, as its first bytes say.")
    if how.decimal is not None and dialect.decimal is None:
        how.notes.append(
            f"In {name} numbers such as 1,5 have a decimal comma and were read as numbers; if "
            "they are something else, say --decimal '.'."
        )
    if trimmed:
        how.notes.append(f"In {name} spaces around cells were taken away.")


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
            raise DataError("{name} is empty.", name=name)
        check_size(f"{name}, line {lines + 1}: the row", n_bytes, "record")
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
        check_size(f"{name}: the header", n_bytes, "record")
        n_bytes *= 2


def _names(record: bytes, delimiter: str, how: HowRead, *, name: str) -> list[str]:
    """Return the names in the first record, or as many numbers if it is no line of names."""
    text = record.decode("utf-8")
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        raise DataError("The first line of {name} cannot be read as a header.", name=name) from None
    if not how.header:
        names = [""] * len(names)
    check_columns(name, names)
    return different_names(names, how, name=name)


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
