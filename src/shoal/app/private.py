"""The private folder: where it lies, that it is ours, and that one server works in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

from shoal.errors import OptionError

__all__ = ["CLAIM", "claim_folder", "user_folder"]

CLAIM = ".claim"
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
        ours = (folder / CLAIM).exists() or not any(folder.iterdir())
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
    file = (folder / CLAIM).open("ab")
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
