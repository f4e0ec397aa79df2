"""The private folder: where it lies, that it is ours, and that one server works in it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from shoal.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["claim_folder", "place_for_copy", "remove_folder", "user_folder"]

_CLAIM = ".claim"
"""The file that says whose folder it is."""


def user_folder() -> Path:
    """Return where the state of work lies unless somebody says otherwise."""
    home = Path.home()
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or home / ".local" / "state")
    return base / "shoal" / "app"


def claim_folder(folder: Path) -> IO[bytes]:
    """Make the private folder and keep other servers out of it.

    Returns:
        the open file that says so; the system closes it, whatever happens.

    Raises:
        OptionError: the folder cannot be made, holds other files, or another server works in it.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ours = (folder / _CLAIM).exists() or not any(folder.iterdir())
        if ours:  # somebody else's folder stays as it is: ours is cleared at the end
            folder.chmod(0o700)
    except OSError as error:
        raise OptionError(
            f"The private folder {str(folder)!r} cannot be made ({error.strerror}); "
            "name another with --folder."
        ) from None
    if not ours:
        raise OptionError(
            f"{str(folder)!r} holds other files, and the private folder is cleared at "
            "the end; name a new or an empty one with --folder."
        )
    file = (folder / _CLAIM).open("ab")
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise OptionError(
            f"Another 'shoal app' works in {str(folder)!r}; use its page, or name another folder "
            "with --folder."
        ) from None
    return file


def remove_folder(folder: Path, folders: Iterable[str], files: Iterable[str]) -> None:
    """Remove what is ours in the private folder, and the folder if nothing else is in it."""
    for name in folders:
        shutil.rmtree(folder / name, ignore_errors=True)
    with contextlib.suppress(OSError):
        for name in (*files, _CLAIM):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def place_for_copy(data: Path, name: str) -> Path:
    """Return where a copy of a dropped file goes; the name is its own, made harmless."""
    plain = "".join(c if c.isalnum() or c in "._- ()+" else "_" for c in Path(name).name)
    plain = plain.strip(". ")[-120:] or "table.csv"
    inner = data / secrets.token_hex(8)  # no two copies share a place
    inner.mkdir(mode=0o700)
    return inner / plain
