"""Bytes to read: a file or standard input, decompressed on the way, errors in plain words."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from shoal.errors import DataError
from shoal.io.limits import LIMITS, check_size, limit
from shoal.io.overwrite_guard import note_input
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


def compression_of(data: bytes) -> str | None:
    """Return how the bytes are compressed, by their first ones; neither is valid UTF-8."""
    return next((name for name, magic in _MAGIC.items() if data.startswith(magic)), None)


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
            compression = compression_of(self._start)
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
        file = Path(path).open("rb")  # noqa: SIM115 - closed below; errors of the block are not ours
    except FileNotFoundError:
        raise DataError("There is no file {name}.", name=name) from None
    except IsADirectoryError:
        raise DataError("{name} is a folder; name a file in it.", name=name) from None
    except OSError as error:
        raise DataError(
            "{name} cannot be read: {strerror}.", name=name, strerror=error.strerror
        ) from None
    with file:
        yield Source(file, name, compression, Path(path).stat().st_size)
