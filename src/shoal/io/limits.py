"""How large an input may be before it is refused; each limit can be changed.

A small file can claim to be a huge table. What it claims is compared with a limit before memory
is taken for it. The limits, their defaults and how to change them: `docs/limits.md`.
"""

from __future__ import annotations

import io
import lzma
import os
import re
import struct
import sys
import zipfile
import zlib
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError
from shoal.io.overwrite_guard import note_input
from shoal.io.remote import on_disk
from shoal.messages import Message
from shoal.runtime.memory import available_bytes, human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl


_MEGA = 1 << 20
_UNITS = {"K": 1 << 10, "M": _MEGA, "G": 1 << 30, "T": 1 << 40}
_UNKNOWN_MEMORY = 64 << 30
_OWN: ContextVar[bool] = ContextVar("shoal_own_file", default=False)


@dataclass(frozen=True)
class Limit:
    """One limit.

    Attributes:
        variable: the environment variable that changes it.
        default: what holds unless it is changed; None is the memory that is available.
        what: what it is a limit of.
    """

    variable: str
    default: int | None
    what: str


LIMITS = {
    "bytes": Limit("SHOAL_MAX_BYTES", None, "bytes of a table in memory"),
    "expansion": Limit("SHOAL_MAX_EXPANSION", 300, "times that a compressed file may grow"),
    "record": Limit("SHOAL_MAX_RECORD_BYTES", 64 * _MEGA, "bytes of one row of a text file"),
    "columns": Limit("SHOAL_MAX_COLUMNS", 16_384, "columns of a table"),
    "name": Limit("SHOAL_MAX_NAME", 1_000, "characters of the name of a column"),
    "depth": Limit("SHOAL_MAX_DEPTH", 64, "levels of nested JSON"),
    "side": Limit("SHOAL_MAX_SIDE_BYTES", 256 * _MEGA, "bytes of a job or hierarchy file"),
}
"""Every limit, by the name the program uses for it."""


@contextmanager
def own_file() -> Iterator[None]:
    """Lift every limit while the block runs, which reads back what we have written ourselves."""
    token = _OWN.set(True)
    try:
        yield
    finally:
        _OWN.reset(token)


def limit(name: str) -> int:
    """Return a limit: that of its environment variable, or its default.

    Raises:
        OptionError: the variable holds no number.
    """
    if _OWN.get():
        return sys.maxsize
    found = LIMITS[name]
    given = os.environ.get(found.variable, "").strip()
    if given:
        digits, unit = given, 1
        if given[-1].upper() in _UNITS:
            digits, unit = given[:-1], _UNITS[given[-1].upper()]
        if not (digits.isascii() and digits.isdigit() and len(digits) < 16 and int(digits) > 0):
            raise OptionError(
                "{name} must be a whole number above 0, as in 1000, 64M or 2G, not {given!r}.",
                name=found.variable,
                given=given[:40],
            )
        return int(digits) * unit
    if found.default is not None:
        return found.default
    available = available_bytes()
    return _UNKNOWN_MEMORY if available is None else available


def check_size(name: str, n_bytes: int, which: str = "bytes") -> None:
    """Refuse bytes that are more than a limit; the name is that of the file in messages.

    Raises:
        DataError: they are too many.
    """
    most = limit(which)
    if n_bytes > most:
        raise _too_large(
            Message(
                "{name} takes more than {human_bytes}", name=name, human_bytes=human_bytes(most)
            ),
            which,
        )


def row_at(name: str, line: int) -> Message:
    """Return what messages call a row of a file."""
    return Message("{name}, line {line}: the row", name=name, line=line)


def check_memory_for(name: str, n_bytes: int, claim: str) -> None:
    """Refuse a table that claims more memory than it may take.

    Args:
        name: of the file, for messages.
        n_bytes: what it would take at least.
        claim: what it says about itself, as in ``3 rows and 4 columns``.

    Raises:
        DataError: it is too much.
    """
    most = limit("bytes")
    if n_bytes > most:
        size, have = human_bytes(n_bytes), human_bytes(most)
        what = Message(
            "{name} claims {claim}: at least {size} of memory, where {have} is allowed",
            name=name,
            claim=claim,
            size=size,
            have=have,
        )
        raise _too_large(what, "bytes")


def check_columns(name: str, names: list[str]) -> None:
    """Refuse a table with too many columns or too long names.

    Raises:
        DataError: it has them.
    """
    most = limit("columns")
    if len(names) > most:
        raise _too_large(
            Message(
                "{name} has {n:,} columns; the most is {most:,}", name=name, n=len(names), most=most
            ),
            "columns",
        )
    longest = limit("name")
    for place, each in enumerate(names, start=1):
        if len(each) > longest:
            what = Message(
                "The name of column {place} of {name} has {n:,} characters",
                place=place,
                name=name,
                n=len(each),
            )
            raise _too_large(
                Message("{what}; the most is {longest:,}", what=what, longest=longest), "name"
            )


def read_side_file(path: str | PathLike[str], what: str, missing: Message | None = None) -> bytes:
    """Return the bytes of a file that says how to read or describe a table, such as a job.

    Args:
        path: the file.
        what: what to call it, as in ``the job file``.
        missing: the error if there is no such file.

    Raises:
        OSError: it cannot be read, and ``missing`` does not say what to tell then.
        DataError: it is too large for what it should be; or, with ``missing``, it cannot be read.
    """
    note_input(path, what)
    most = limit("side")
    try:
        with on_disk(path).open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        if missing is None:
            raise
        if isinstance(error, FileNotFoundError):
            raise DataError(missing) from None
        raise DataError(
            "Could not read {shown!r}: {strerror}.", shown=str(path), strerror=error.strerror
        ) from None
    if len(data) > most:
        larger = Message(
            "{what:capital} {path!r} is larger than {size}",
            what=what,
            path=str(path),
            size=human_bytes(most),
        )
        raise _too_large(larger, "side")
    return data


def _too_large(what: str, which: str) -> DataError:
    return DataError(
        "{what}; give another file, or raise the limit with {variable}.",
        what=what,
        variable=LIMITS[which].variable,
    )


# What a file says about its own size, looked at before memory is taken for it.
#
# A few kilobytes of Excel, Parquet, Arrow or JSON can claim to be a table of terabytes. The
# libraries that read them believe it, and end the process when the memory is not there.

_PART = 1 << 22

# -- any table -----------------------------------------------------------------------------------


def check_rows(name: str, n_rows: int, schema: dict[str, pl.DataType] | pl.Schema) -> None:
    """Refuse a table whose rows, as counted by the file itself, would not fit into memory.

    Raises:
        DataError: they would not.
    """
    per_row = sum(_bytes_of(dtype) for dtype in schema.values())
    check_memory_for(
        name,
        int(n_rows * per_row),
        Message("{rows:,} rows of {columns:,} columns", rows=n_rows, columns=len(schema)),
    )


def _bytes_of(dtype: Any) -> float:
    import polars as pl

    if dtype == pl.Boolean:
        return 1 / 8
    if dtype in {pl.Int8, pl.UInt8}:
        return 1
    if dtype in {pl.Int16, pl.UInt16}:
        return 2
    # Texts may become codes of four bytes; the others take no less.
    return 4


# -- Excel ---------------------------------------------------------------------------------------

# What the standard library raises for archives that were damaged in one place or another.
UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, LookupError),
)
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14
_CELL_BYTES = 32  # of one cell, empty or not, in the memory of the reader
_REFERENCE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{0,40})([0-9]{1,40})["']""")
_CELL = re.compile(rb"<(?:\w{1,20}:)?c[\s/>]")
_ROW = re.compile(rb"<(?:\w{1,20}:)?row[\s/>]")
_EDGE = 128  # bytes: longer than what is looked for


def check_excel(data: bytes, name: str) -> None:
    """Refuse a workbook that is larger inside than it may be, or claims cells far away.

    A reader of Excel files makes room for every cell between the first and the last one.

    Raises:
        DataError: it is, or cannot be read.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            total = 0
            for part in book.infolist():
                with book.open(part) as file:
                    is_sheet = "worksheets/" in part.filename and part.filename.endswith(".xml")
                    if is_sheet:
                        total = _check_sheet(file, name, total)
                    else:
                        total = sum((len(each) for each in _parts(file, name, total)), total)
    except UNREADABLE:
        raise DataError(
            "{name} is not a readable Excel file; it is damaged or in another format.", name=name
        ) from None


def _parts(file: IO[bytes], name: str, total: int) -> Iterator[bytes]:
    while part := file.read(_PART):
        total += len(part)
        check_size(name, total)
        yield part


def _check_sheet(file: IO[bytes], name: str, total: int) -> int:
    width = height = n_rows = longest = in_row = 0
    before = b""
    for part in _parts(file, name, total):
        total += len(part)
        text = before + part
        # What begins in the last bytes is looked at together with the next part.
        end = len(text) if len(part) < _PART else len(text) - _EDGE
        found = set(_REFERENCE.findall(text))
        columns = {column for column, _ in found if column}
        width = max([width, *(_number_of_column(column) for column in columns)])
        height = max([height, *(int(row) for _, row in found)])
        marks = [(match.start(), False) for match in _CELL.finditer(text) if match.start() < end]
        if len(marks) > len(found) - len(_ROW.findall(text)):
            # Cells without a reference stand one after another.
            marks += [(match.start(), True) for match in _ROW.finditer(text) if match.start() < end]
            for _, is_row in sorted(marks):
                in_row = 0 if is_row else in_row + 1
                n_rows += is_row
                longest = max(longest, in_row)
        before = text[end:]
    width, height = max(width, longest), max(height, n_rows)
    if height > _MOST_ROWS or width > _MOST_COLUMNS:
        raise DataError(
            "{name} claims cells in row {height:,} and column {width:,}, but a sheet of Excel "
            "has {most_rows:,} rows and {most_columns:,} columns; it is damaged.",
            name=name,
            height=height,
            width=width,
            most_rows=_MOST_ROWS,
            most_columns=_MOST_COLUMNS,
        )
    check_memory_for(
        name,
        width * height * _CELL_BYTES,
        Message("a sheet of {rows:,} rows and {columns:,} columns", rows=height, columns=width),
    )
    return total


def _number_of_column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


# -- JSON lines ----------------------------------------------------------------------------------

_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:')
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
# Escapes one after another: two halves of a character, one half alone, any other.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|.)",
    re.DOTALL,
)


def check_json_lines(data: bytes, name: str) -> None:
    """Refuse JSON that is nested too deeply, has too many names, too long lines, or no text.

    Raises:
        DataError: it is or has.
    """
    deepest, most, longest = limit("depth"), limit("columns"), limit("record")
    names: set[bytes] = set()
    position = line = 0
    while position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        line += 1
        text = data[position:end]
        if len(text) > longest:
            check_size(row_at(name, line), len(text), "record")
        check_depth(text, name, line, deepest)
        if b"\\u" in text and any(found[1] for found in _ESCAPE.finditer(text)):
            raise DataError(
                "{name}, line {line}, holds half a character (an escape such as \\ud800 "
                "without its other half), which is no text; mend what wrote it.",
                name=name,
                line=line,
            )
        names.update(_KEY.findall(text))
        if len(names) > most:
            raise DataError(
                "{name} has more than {most:,} different names; give another file, or raise "
                "the limit with {variable}.",
                name=name,
                most=most,
                variable=LIMITS["columns"].variable,
            )
        position = end
    check_memory_for(
        name,
        line * len(names),
        Message("{rows:,} rows of {names:,} different names", rows=line, names=len(names)),
    )


def check_depth(text: bytes, name: str, line: int, deepest: int) -> None:
    """Refuse a line of JSON that is nested too deeply.

    Raises:
        DataError: it is.
    """
    if text.count(b"{") + text.count(b"[") > deepest and _depth(text) > deepest:
        raise DataError(
            "{name}, line {line}, is nested more than {deepest} levels deep; give another "
            "file, or raise the limit with {variable}.",
            name=name,
            line=line,
            deepest=deepest,
            variable=LIMITS["depth"].variable,
        )


def _depth(text: bytes) -> int:
    depth = deepest = 0
    for mark in re.findall(rb"[\[{\]}]", _STRING.sub(b"", text)):
        depth += 1 if mark in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


# -- Arrow ---------------------------------------------------------------------------------------

_CONTINUES = 0xFFFFFFFF
_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2


def check_arrow(data: bytes, name: str) -> None:
    """Refuse an Arrow file whose compressed buffers or rows claim more than fits into memory.

    Raises:
        DataError: they do.
    """
    view = memoryview(data)
    total = 0
    try:
        is_file = bytes(view[:6]) == b"ARROW1"
        for start in _in_file(view) if is_file else _in_stream(view):
            mark, size = struct.unpack_from("<II", view, start)
            if mark != _CONTINUES:  # the form before version 0.15 has no mark
                start, size = start - 4, mark  # noqa: PLW2901 - the same message, read otherwise
            _, claimed = _claim_of(view[start + 8 : start + 8 + size], view, start + 8 + size)
            total += claimed
            check_memory_for(name, total, Message("buffers that grow when they are decompressed"))
    except (struct.error, IndexError, ValueError):
        return  # whoever reads it says what is wrong


def _in_file(view: memoryview) -> Iterator[int]:
    """Give where the messages of a file begin that hold rows, as its end says."""
    end = len(view) - 10
    length = struct.unpack_from("<i", view, end)[0]
    footer = view[end - length : end]
    table = FlatTable(footer, struct.unpack_from("<I", footer, 0)[0])
    for field in (2, 3):  # dictionaries and batches of rows
        for offset, _, _ in table.items(field, "<qqq"):
            yield offset


def _in_stream(view: memoryview) -> Iterator[int]:
    """Give where the messages of a stream begin, one after another."""
    start = 0
    while start + 8 <= len(view):
        mark, size = struct.unpack_from("<II", view, start)
        body = start + 8 + size if mark == _CONTINUES else start + 4 + mark
        if size == 0 or mark == 0:
            return
        yield start
        length, _ = _claim_of(
            view[body - size if mark == _CONTINUES else start + 4 : body], view, body
        )
        start = body + length


def _claim_of(message: memoryview, view: memoryview, body: int) -> tuple[int, int]:
    """Return the length of a message's body, and the bytes that it claims to become."""
    table = FlatTable(message, struct.unpack_from("<I", message, 0)[0])
    kind = table.number("<B", 1)
    length = table.number("<q", 3)
    if length < 0:
        raise ValueError
    batch = table.table(2)
    if kind == _DICTIONARY_BATCH and batch is not None:
        batch = batch.table(1)
    elif kind != _RECORD_BATCH:
        batch = None
    if batch is None:
        return length, 0
    claimed = 0
    is_compressed = batch.table(3) is not None
    for offset, size in batch.items(2, "<qq"):
        grown = size
        if is_compressed and size >= 8:
            # The length before compression stands in front; -1 is "not compressed after all".
            grown = max(struct.unpack_from("<q", view, body + offset)[0], 0)
        claimed += grown
    return length, claimed


def first_message(view: memoryview) -> tuple[int, FlatTable | None, FlatTable]:
    """Return the kind and the header of the message that a stream begins with, and the message."""
    return _message_at(view, 0)


def messages_of(view: memoryview) -> Iterator[tuple[int, FlatTable | None]]:
    """Give kind and header of the messages of a file or a stream."""
    is_file = bytes(view[:6]) == b"ARROW1"
    for start in _in_file(view) if is_file else _in_stream(view):
        yield _message_at(view, start)[:2]


def _message_at(view: memoryview, start: int) -> tuple[int, FlatTable | None, FlatTable]:
    mark, size = struct.unpack_from("<II", view, start)
    if mark != _CONTINUES:
        start, size = start - 4, mark
    message = view[start + 8 : start + 8 + size]
    table = FlatTable(message, struct.unpack_from("<I", message, 0)[0])
    return table.number("<B", 1), table.table(2), table


class FlatTable:
    """A table of the encoding that Arrow's messages are in (flatbuffers)."""

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - struct.unpack_from("<i", data, at)[0]
        self._size = struct.unpack_from("<H", data, self._fields)[0]

    def _place(self, field: int) -> int:
        slot = 4 + 2 * field
        if slot >= self._size:
            return 0
        offset: int = struct.unpack_from("<H", self._data, self._fields + slot)[0]
        return self._at + offset if offset else 0

    def number(self, form: str, field: int) -> int:
        """Return a number; 0 if it is not given."""
        place = self._place(field)
        return int(struct.unpack_from(form, self._data, place)[0]) if place else 0

    def table(self, field: int) -> FlatTable | None:
        """Return a table inside this one."""
        place = self._place(field)
        if not place:
            return None
        return FlatTable(self._data, place + struct.unpack_from("<I", self._data, place)[0])

    def text(self, field: int) -> str:
        """Return a text; none is empty."""
        place = self._place(field)
        if not place:
            return ""
        start = place + struct.unpack_from("<I", self._data, place)[0]
        length = struct.unpack_from("<I", self._data, start)[0]
        return bytes(self._data[start + 4 : start + 4 + length]).decode(errors="replace")

    def tables(self, field: int) -> Iterator[FlatTable]:
        """Give the tables of a list."""
        place = self._place(field)
        if not place:
            return
        start = place + struct.unpack_from("<I", self._data, place)[0]
        for number, (offset,) in enumerate(self.items(field, "<I")):
            yield FlatTable(self._data, start + 4 + 4 * number + offset)

    def items(self, field: int, form: str) -> Iterator[tuple[int, ...]]:
        """Give the items of a list, each of some numbers."""
        place = self._place(field)
        if not place:
            return
        start = place + struct.unpack_from("<I", self._data, place)[0]
        count = struct.unpack_from("<I", self._data, start)[0]
        for number in range(count):
            at = start + 4 + struct.calcsize(form) * number
            yield struct.unpack_from(form, self._data, at)
