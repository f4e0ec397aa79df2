"""Standard streams that can be relied on: closed ones replaced, full ones noticed once.

A process may be started without a standard stream. The next file it opens would then get the
number of that stream, and a message meant for people would end up inside that file.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TextIO, cast

__all__ = ["discard", "open_streams", "quiet_libraries"]


class _NoBytes(io.RawIOBase):
    """The bytes of a stream that is closed: nothing can be read from it or written to it."""

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def read(self, _: int = -1) -> bytes:
        raise OSError(errno.EBADF, "it is closed")

    def write(self, _: object) -> int:
        raise OSError(errno.EBADF, "it is closed")


class _Closed(io.TextIOBase):
    """A text stream that is closed: words vanish, bytes are refused."""

    def __init__(self) -> None:
        self.buffer = _NoBytes()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # as that of a stream that is open
        return "utf-8"

    def write(self, text: str) -> int:
        return len(text)

    def read(self, _: int | None = -1) -> str:
        return ""

    def readline(self, _: int = -1) -> str:  # type: ignore[override]  # as a text stream's
        return ""


def open_streams() -> None:
    """See to it that all three streams exist, and that they take any character."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            with contextlib.suppress(OSError):
                _point_nowhere(number)
            setattr(sys, name, cast("TextIO", _Closed()))
        elif isinstance(stream, io.TextIOWrapper) and number:
            # A terminal that lacks a letter of a column's name gets a substitute, no traceback.
            stream.reconfigure(errors="backslashreplace")


def quiet_libraries() -> None:
    """Keep what libraries write to standard error by themselves from being seen.

    A library of compiled code that gives up prints why, and may print a cell of the input with
    it. Our own messages keep going to where standard error was.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError):
        own = os.dup(sys.stderr.fileno())
        sys.stderr.flush()
        sys.stderr = os.fdopen(
            own, "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace"
        )
        _point_nowhere(2)


def discard(stream: TextIO | None) -> None:
    """Send what is left in a stream nowhere: Python would complain when it flushes at the end."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            _point_nowhere(stream.fileno())
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _point_nowhere(number: int) -> None:
    handle = os.open(os.devnull, os.O_RDWR)
    if handle != number:
        os.dup2(handle, number)
        os.close(handle)
