"""Bytes and text to read: a file or standard input, decompressed and as UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from shoal.errors import DataError, OptionError
from shoal.io.limits import LIMITS, check_size, limit
from shoal.io.overwrite_guard import HowRead, note_input, note_read
from shoal.io.remote import on_disk
from shoal.messages import Message
from shoal.runtime.memory import human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator


# gzip and Zstandard around text formats.

_MAGIC = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd"}
NAMES = {"gz": "gzip", "zst": "Zstandard"}
"""What the compressions are called in messages."""

# A bomb is judged by how much it grows, once it has grown to something.
_SMALL = 256 << 20
# Four bytes of Zstandard can become 128 KiB: with so few at a time no answer is large.
_FEED = 4096


class Unpacked(io.RawIOBase):
    """The bytes inside a compressed file, which must not grow beyond measure.

    Reading raises EOFError where the file is damaged or cut short.
    """

    def __init__(self, file: IO[bytes], compression: str, *, name: str) -> None:
        self._packed = _Counted(file)
        self._name = name
        self._most = limit("expansion")
        self._n_bytes = 0
        unpack = gzip.GzipFile if compression == "gz" else _Zstandard
        self._inside = cast("IO[bytes]", unpack(fileobj=cast("IO[bytes]", self._packed)))

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to this many bytes, none only at the end.

        Raises:
            DataError: the file grows more than it may.
        """
        data = self._inside.read(size)
        self._n_bytes += len(data)
        if self._n_bytes > _SMALL and self._n_bytes > self._most * self._packed.n_bytes:
            raise DataError(
                "{name} grows to more than {human_bytes}, {most:,} times its size, when it is "
                "decompressed; give another file, or raise the limit with {variable}.",
                name=self._name,
                human_bytes=human_bytes(self._n_bytes),
                most=self._most,
                variable=LIMITS["expansion"].variable,
            )
        return data


class _Counted(io.RawIOBase):
    """Passes bytes on and counts them."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.n_bytes = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.n_bytes += len(data)
        return data


class _Zstandard(io.RawIOBase):
    """The bytes inside a Zstandard file, a little at a time."""

    def __init__(self, fileobj: IO[bytes]) -> None:
        self._file = fileobj
        self._zstandard = _zstandard()
        self._frame: Any = None
        self._ahead = bytearray()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while (size < 0 or len(self._ahead) < size) and (packed := self._file.read(_FEED)):
            self._unpack(packed)
        if size < 0 or len(self._ahead) < size:
            if self._frame is not None:
                raise EOFError
            size = len(self._ahead)
        data = bytes(self._ahead[:size])
        del self._ahead[:size]
        return data

    def _unpack(self, packed: bytes) -> None:
        try:
            while packed:
                if self._frame is None:
                    self._frame = self._zstandard.ZstdDecompressor().decompressobj()
                self._ahead += self._frame.decompress(packed)
                packed = b""
                if self._frame.eof:
                    packed = self._frame.unused_data
                    self._frame = None
        except self._zstandard.ZstdError:
            raise EOFError from None


def compressing(file: IO[bytes], compression: str | None) -> IO[bytes]:
    """Return a file to write to, whose bytes reach ``file`` compressed; close it to finish."""
    if compression is None:
        return cast("IO[bytes]", _Open(file))
    if compression == "gz":
        # No name and no time in the header: the same table gives the same bytes.
        return cast("IO[bytes]", gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0))
    return cast("IO[bytes]", _zstandard().ZstdCompressor().stream_writer(file, closefd=False))


class _Open(io.RawIOBase):
    """Passes bytes on, and leaves the file open when it is closed itself."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return self._file.write(data)


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise DataError(
            "Files ending in .zst need the package zstandard: pip install zstandard."
        ) from None
    return zstandard


_PART = 1 << 24


class Source(io.RawIOBase):
    """The bytes of a file after decompression, with a notion of how far reading has come.

    Attributes:
        size: bytes of the file itself; 0 if that is not known (a stream).
    """

    def __init__(self, file: IO[bytes], name: str, compression: str | None, size: int) -> None:
        self._file = file
        self._name = name
        self.size = size
        self._start = b""
        if compression is None:
            # Neither of the first bytes is valid UTF-8: a text file is recognised whatever
            # its name is.
            try:
                self._start = file.read(4)
            except OSError as error:
                raise DataError(
                    "{name} cannot be read: {strerror}.", name=name, strerror=error.strerror
                ) from None
            # by the first bytes, none of which is valid UTF-8
            known = (name for name, magic in _MAGIC.items() if self._start.startswith(magic))
            compression = next(known, None)
        self._bytes: IO[bytes] = file
        self._compression = compression
        if compression is not None:
            whole = cast("IO[bytes]", _Joined(self._start, file))
            self._bytes = cast("IO[bytes]", Unpacked(whole, compression, name=name))
            self._start = b""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to this many bytes, none only at the end."""
        if self._start:
            start = self._start if size < 0 else self._start[:size]
            self._start = self._start[len(start) :]
            return start + self.read() if size < 0 else start
        try:
            return self._bytes.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            kind = NAMES.get(self._compression or "", "")
            raise DataError(
                "{name} is not a readable {kind} file; it is damaged or was cut short.",
                name=self._name,
                kind=kind,
            ) from None
        except OSError as error:
            raise DataError(
                "{name} cannot be read: {strerror}.", name=self._name, strerror=error.strerror
            ) from None

    def read_all(self) -> bytes:
        """Return all bytes, if they are not more than fit.

        Raises:
            DataError: they are more.
        """
        check_size(self._name, self.size)
        parts, n_bytes = [], 0
        while part := self.read(_PART):
            n_bytes += len(part)
            check_size(self._name, n_bytes)
            parts.append(part)
        return b"".join(parts)

    def share(self) -> float:
        """Return which share of the file has been read; 0 if nobody knows."""
        if not self.size:
            return 0.0
        return min(self._file.tell() / self.size, 1.0)


class _Joined(io.RawIOBase):
    """Bytes that were read ahead, then the rest of the file."""

    def __init__(self, start: bytes, rest: IO[bytes]) -> None:
        self._start = start
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            start, self._start = self._start, b""
            return start + self._rest.read()
        start, self._start = self._start[:size], self._start[size:]
        return start or self._rest.read(size)


@contextmanager
def open_source(path: str, name: str, compression: str | None = None) -> Iterator[Source]:
    """Open a file (``-`` is standard input) for reading.

    Raises:
        DataError: it does not exist, is a folder, or cannot be read.
    """
    note_input(path)
    if path == "-":
        yield Source(sys.stdin.buffer, name, compression, 0)
        return
    try:
        place = on_disk(path)
        file = place.open("rb")
    except FileNotFoundError:
        raise DataError("There is no file {name}.", name=name) from None
    except IsADirectoryError:
        raise DataError("{name} is a folder; name a file in it.", name=name) from None
    except OSError as error:
        raise DataError(
            "{name} cannot be read: {strerror}.", name=name, strerror=error.strerror
        ) from None
    with file:
        yield Source(file, name, compression, place.stat().st_size)


# -- Text in any encoding as UTF-8: said by the user, by the file's first bytes, or told by a rule.
#
# Every encoding that is guessed maps different bytes to different letters, so a wrong guess shows
# wrong letters but never makes two values one.

UTF8 = "utf-8"
_WESTERN = "cp1252"
_START = 1 << 12
_READ_AT_ONCE = 1 << 16
_WHOLE = 1 << 24
# Longest first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NO_TEXT = frozenset(
    {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"}
)
# Bytes that are nothing in Windows-1252.
_UNDEFINED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_PAIR = re.compile(rb"[\x80-\xff]{2,}")
# What Windows-1252 has for signs, between two letters: the letters of another alphabet.
_SIGN_IN_WORD = re.compile(
    rb"(?<=[A-Za-z])[\x80\x82-\x89\x8b\x91\x93-\x95\x98\x99\x9b\xa1-\xa9\xab\xac\xae-\xb4\xb6"
    rb"\xb8\xb9\xbb-\xbf\xd7\xf7](?=[A-Za-z])"
)
_LETTER = re.compile(rb"[\x8a\x8c\x8e\x9a\x9c\x9e\x9f\xaa\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\xff]")
_COMMON_SIGN = re.compile(rb"[\x80\x85\x91-\x94\x96\x97\xa0\xa3\xa7\xab\xad\xb0\xb2\xb3\xb7\xbb]")


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def check_encoding(name: str) -> str:
    """Return the usual name of an encoding of text.

    Raises:
        OptionError: Python knows none of this name.
    """
    try:
        found = codecs.lookup(name)
        usable = getattr(found, "_is_text_encoding", True) and found.name not in _NO_TEXT
    except (LookupError, ValueError):
        usable = False
    if not usable:
        raise OptionError(
            "There is no encoding {name!r}; common ones are utf-8, cp1252 (Western Europe on "
            "Windows), cp1250, cp1251, utf-16, shift_jis and gb18030.",
            name=name,
        )
    return found.name


def guess_encoding(data: bytes) -> str | None:
    """Return the encoding of text that is not UTF-8; None if there is more than one candidate.

    Args:
        data: bytes of the text, with at least one that is not ASCII.
    """
    n_high = len(_HIGH.findall(data))
    if _UNDEFINED.search(data) or _SIGN_IN_WORD.search(data):
        return None
    # Letters with accents stand alone among others; those of other alphabets stand together.
    together = sum(len(run) for run in _HIGH_PAIR.findall(data))
    if 2 * together > n_high:
        return None
    usual = len(_LETTER.findall(data)) + len(_COMMON_SIGN.findall(data))
    return _WESTERN if 10 * usual >= 9 * n_high else None


def to_utf8(data: bytes, encoding: str | None, *, name: str, table: bool = True) -> bytes:
    """Return a whole text as UTF-8; the encoding is found out, and said, if it is not given.

    Args:
        data: the bytes.
        encoding: of the text, if it is known.
        name: of the file, for messages.
        table: whether it is the table itself, rather than something about it.

    Raises:
        DataError: the bytes are no text in this encoding.
    """
    stream = Utf8Stream(io.BytesIO(data), name=name, encoding=encoding)
    text = b"".join(iter(lambda: stream.read(_WHOLE), b""))
    if encoding is not None or stream.guessed:
        how = HowRead(encoding=stream.encoding if table else UTF8)
        how.notes.extend([stream.note()] if stream.guessed else [])
        note_read(name, how)
    return text


class Utf8Stream:
    """The bytes of a text file as UTF-8.

    Nothing is read twice: as long as every byte is ASCII nothing has to be known, and the first
    bytes that are not tell.

    Attributes:
        encoding: what the file is in, as far as is known by now.
        guessed: whether nobody has said so.
        found: whether its first bytes have said so.
    """

    def __init__(self, file: _Readable, *, name: str, encoding: str | None = None) -> None:
        self._file = file
        self._name = name
        self._ahead = b""
        self._offset = 0
        self._known = encoding is not None
        self._started = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self.encoding = UTF8
        self.guessed = self.found = False
        if encoding is not None:
            self._take(check_encoding(encoding))

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, none only at the end; they may be more than asked for.

        Raises:
            DataError: the bytes are no text in the encoding of the file.
        """
        if not self._started:
            self._started = True
            self._start()
        while True:
            data = self._next(size)
            if not self._known and not data.isascii():
                data = self._decide(data)
            if self._decoder is None:
                return data
            text = self._decode(data)
            if text or not data:
                return text

    def note(self) -> str:
        """Return what to say about an encoding that was guessed."""
        return Message(
            "{name} is not UTF-8; it was read as {encoding} (Western European). If "
            "letters look wrong, say what it is in, as in --encoding cp1250.",
            name=self._name,
            encoding=self.encoding,
        )

    def _next(self, size: int) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        return self._file.read(size)

    def _start(self) -> None:
        """Look at the first bytes for a mark, or for the zeros of two bytes per letter."""
        if self._known:
            return
        while len(self._ahead) < _START and (more := self._file.read(_START - len(self._ahead))):
            self._ahead += more
        for mark, encoding in _MARKS:
            if self._ahead.startswith(mark):
                self._take(encoding)
                self.found = True
                return
        even, odd = self._ahead[::2].count(0), self._ahead[1::2].count(0)
        if 8 * (even + odd) > 2 * len(self._ahead):
            for zeros, others, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
                if zeros > 20 * others:
                    self._take(encoding)
                    self.found = True

    def _decide(self, data: bytes) -> bytes:
        """Find out by the first bytes that are not ASCII; return them and what was read on."""
        while True:
            decoder = codecs.getincrementaldecoder(UTF8)()
            try:
                # A letter may be cut at the end of what has been read.
                text = decoder.decode(data)
            except UnicodeDecodeError:
                break
            if not text.isascii():
                self._known = True
                return data
            more = self._file.read(_READ_AT_ONCE)
            if not more:
                break
            data += more
        self._known = True
        text = data.decode(UTF8, errors="replace")
        n_bad = text.count("\ufffd")
        if len(text) - len(text.encode("ascii", "ignore")) < 2 * n_bad:
            found = guess_encoding(data)
            if found is not None:
                self._take(found)
                self.guessed = True
        return data  # otherwise the reader says at which line it is no UTF-8

    def _take(self, encoding: str) -> None:
        self._known = True
        self.encoding = encoding
        if encoding not in (UTF8, "utf-8-sig"):
            self._decoder = codecs.getincrementaldecoder(encoding)()

    def _decode(self, data: bytes) -> bytes:
        assert self._decoder is not None
        try:
            text = self._decoder.decode(data, final=not data)
            self._offset += len(data)
            return text.encode(UTF8)
        except UnicodeError as error:
            at = self._offset
            if isinstance(error, UnicodeDecodeError):
                at += error.start - (len(error.object) - len(data))
            raise DataError(
                "{name} is not text in the encoding {encoding} (byte {n}); say which one it "
                "is in, as in --encoding cp1252.",
                name=self._name,
                encoding=self.encoding,
                n=max(at, 0) + 1,
            ) from None
