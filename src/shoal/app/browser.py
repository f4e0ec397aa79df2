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
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.app.guard import leads_to

if TYPE_CHECKING:
    from shoal.app.guard import Guard
    from shoal.app.workspace import Workspace

__all__ = ["open_browser"]


def open_browser(guard: Guard, work: Workspace) -> None:
    """Open the browser, and do not wait for it.

    Args:
        guard: lets the browser in.
        work: sees to it that no file stays at the end.
    """
    address = guard.address
    if guard.password is None:
        file = _own_file(work.folder)
        work.elsewhere.append(file)
        inside = guard.invite(lambda: file.unlink(missing_ok=True))
        file.write_text(leads_to(inside), encoding="utf-8")
        address = file.as_uri()
    # A command that waits for its browser keeps a thread busy, and nothing else.
    threading.Thread(target=_open, args=[address], daemon=True).start()


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
