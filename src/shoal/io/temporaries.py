"""Temporary files of ours: called so that a later run knows those of a process that was killed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import tempfile
from collections.abc import Iterable
from pathlib import Path


def make_temporary(folder: Path | None = None) -> tuple[int, Path]:
    """Return a new file, open, that nobody else may read; without a folder, where the system says.

    Raises:
        OSError: it cannot be made.
    """
    prefix = f"{_ours()}{os.getpid()}-"
    handle, path = tempfile.mkstemp(prefix=prefix, suffix=".tmp", dir=folder)
    return handle, Path(path)


def remove_leftovers(folders: Iterable[Path]) -> int:
    """Remove what processes of this machine left behind that were killed; return how many files.

    Those are unfinished outputs, second names of files that were about to be replaced, and copies
    of objects. What belongs to a process that is still there stays.
    """
    found = 0
    for folder in set(folders):
        for path in folder.glob(f"{_ours()}*"):
            number = path.name.removeprefix(_ours()).partition("-")[0]
            if number.isdecimal() and not _is_alive(int(number)):
                with contextlib.suppress(OSError):
                    path.unlink()
                    found += 1
    return found


def _ours() -> str:
    """Return how temporaries of this machine begin; the number of their process comes next."""
    return f".shoal-{hashlib.blake2b(platform.node().encode(), digest_size=4).hexdigest()}-"


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
