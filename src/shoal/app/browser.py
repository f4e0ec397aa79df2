"""Opens the browser of whoever started the server, and tells nobody else how to get in.

Every user of a machine can read the command line of a browser. So the key is not in it: the browser
is given a file that only its owner can read, which leads to the address. The file goes when the key
is used.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.app.guard import leads_to

if TYPE_CHECKING:
    from shoal.app.guard import Guard

__all__ = ["browser_for"]


@contextlib.contextmanager
def browser_for(guard: Guard, private: Path) -> Iterator[Callable[[], None]]:
    """Give a function that opens the browser and does not wait for it.

    Args:
        guard: lets the browser in.
        private: where the file goes if the home of the user cannot be written to.
    """
    made: list[Path] = []

    def open_it() -> None:
        address = guard.address
        if guard.password is None:
            made.append(_own_file(private))
            used = guard.invite(lambda: made[0].unlink(missing_ok=True))
            made[0].write_text(leads_to(used), encoding="utf-8")
            address = made[0].as_uri()
        # A command that waits for its browser keeps a thread busy, and nothing else.
        threading.Thread(target=_open, args=[address], daemon=True).start()

    try:
        yield open_it
    finally:
        for file in made:
            file.unlink(missing_ok=True)


def _open(address: str) -> None:
    with contextlib.suppress(webbrowser.Error, OSError):  # the terminal shows the address, too
        webbrowser.open(address)


def _own_file(private: Path) -> Path:
    """Return a new file that nobody else can read.

    It lies in plain sight in the home of the user: browsers that are packed apart (snap) can read
    neither hidden folders nor those of temporary files.
    """
    with contextlib.suppress(RuntimeError, OSError):
        return _new_file(Path.home())
    return _new_file(private)


def _new_file(folder: Path) -> Path:
    descriptor, name = tempfile.mkstemp(prefix="shoal-", suffix=".html", dir=folder)
    os.close(descriptor)
    return Path(name)
