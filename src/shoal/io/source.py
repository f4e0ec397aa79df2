"""Bytes to read: a file or standard input, decompressed on the way, errors in plain words."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from shoal.errors import DataError
from shoal.io.compression import NAMES, Unpacked, compression_of
from shoal.io.limits import check_size
from shoal.io.overwrite_guard import note_input

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Source", "open_source"]

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
                raise DataError(f"{name} cannot be read: {error.strerror}.") from None
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
            message = f"{self._name} is not a readable {kind} file; it is damaged or was cut short."
        except OSError as error:
            message = f"{self._name} cannot be read: {error.strerror}."
        raise DataError(message)

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
        message = f"There is no file {name}."
    except IsADirectoryError:
        message = f"{name} is a folder; name a file in it."
    except OSError as error:
        message = f"{name} cannot be read: {error.strerror}."
    else:
        with file:
            yield Source(file, name, compression, Path(path).stat().st_size)
        return
    raise DataError(message)
