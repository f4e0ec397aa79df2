"""How large an input may be before it is refused; each limit can be changed.

A small file can claim to be a huge table. What it claims is compared with a limit before memory
is taken for it. The limits, their defaults and how to change them: `docs/limits.md`.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.errors import DataError, OptionError
from shoal.io.overwrite_guard import note_input
from shoal.runtime.memory import available_bytes, human_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "LIMITS",
    "Limit",
    "check_columns",
    "check_memory_for",
    "check_size",
    "limit",
    "memory_limit",
    "own_file",
    "read_side_file",
]

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
            message = f"{found.variable} must be a whole number above 0, as in 1000, 64M or 2G"
            raise OptionError(f"{message}, not {given[:40]!r}.")
        return int(digits) * unit
    return memory_limit() if found.default is None else found.default


def memory_limit() -> int:
    """Return the memory that a table may take: what is available now."""
    available = available_bytes()
    return _UNKNOWN_MEMORY if available is None else available


def check_size(name: str, n_bytes: int, which: str = "bytes") -> None:
    """Refuse bytes that are more than a limit; the name is that of the file in messages.

    Raises:
        DataError: they are too many.
    """
    most = limit(which)
    if n_bytes > most:
        raise _too_large(f"{name} takes more than {human_bytes(most)}", which)


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
        what = f"{name} claims {claim}: at least {size} of memory, where {have} is allowed"
        raise _too_large(what, "bytes")


def check_columns(name: str, names: list[str]) -> None:
    """Refuse a table with too many columns or too long names.

    Raises:
        DataError: it has them.
    """
    most = limit("columns")
    if len(names) > most:
        raise _too_large(f"{name} has {len(names):,} columns; the most is {most:,}", "columns")
    longest = limit("name")
    for place, each in enumerate(names, start=1):
        if len(each) > longest:
            what = f"The name of column {place} of {name} has {len(each):,} characters"
            raise _too_large(f"{what}; the most is {longest:,}", "name")


def read_side_file(path: Path, what: str) -> bytes:
    """Return the bytes of a file that says how to read or describe a table, such as a job.

    Args:
        path: the file.
        what: what to call it, as in ``the job file``.

    Raises:
        OSError: it cannot be read.
        DataError: it is too large for what it should be.
    """
    note_input(path, what)
    most = limit("side")
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        shown = f"{what[:1].upper()}{what[1:]} {str(path)!r}"
        raise _too_large(f"{shown} is larger than {human_bytes(most)}", "side")
    return data


def _too_large(what: str, which: str) -> DataError:
    return DataError(
        f"{what}; give another file, or raise the limit with {LIMITS[which].variable}."
    )
