"""gzip and Zstandard around text formats."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import IO, Any, cast

from shoal.errors import DataError

__all__ = ["compressing", "compression_of", "decompress"]

_MAGIC = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd"}
_NAMES = {"gz": "gzip", "zst": "Zstandard"}


def compression_of(data: bytes) -> str | None:
    """Return how the bytes are compressed, by their first ones; neither is valid UTF-8."""
    return next((name for name, magic in _MAGIC.items() if data.startswith(magic)), None)


def decompress(data: bytes, compression: str, *, name: str) -> bytes:
    """Return the bytes inside a gzip or Zstandard file.

    Raises:
        DataError: the file is damaged or cut short.
    """
    try:
        if compression == "gz":
            return gzip.decompress(data)
        return _decompress_zst(data)
    except (OSError, EOFError, zlib.error, ValueError):
        message = (
            f"{name} is not a readable {_NAMES[compression]} file; it is damaged or was cut short."
        )
        raise DataError(message) from None


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


def _decompress_zst(data: bytes) -> bytes:
    zstandard = _zstandard()
    parts: list[bytes] = []
    try:
        while data:
            frame = zstandard.ZstdDecompressor().decompressobj()
            parts.append(frame.decompress(data))
            if not frame.eof:
                raise EOFError
            data = frame.unused_data
    except zstandard.ZstdError:
        raise EOFError from None
    return b"".join(parts)


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        message = "Files ending in .zst need the package zstandard: pip install zstandard."
        raise DataError(message) from None
    return zstandard
