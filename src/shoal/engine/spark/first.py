"""Kernels compile once per machine: workers that start side by side do not all compile them.

On a machine whose folder of kernels is empty, the first block of every worker is worked on alone.
The first worker compiles and writes, the others wait and then read what it has written.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from shoal.kernels.cache import FOLDER, is_filled

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["one_compiles"]


class _Worker:
    """Whether this process has worked on a block already."""

    warm = is_filled()


@contextlib.contextmanager
def one_compiles() -> Iterator[None]:
    """Keep other new workers of this machine waiting, where nothing is compiled yet."""
    try:
        import fcntl
    except ImportError:  # Windows: each compiles for itself
        yield
        return
    if _Worker.warm or FOLDER is None:
        yield
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / ".first").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    _Worker.warm = True
