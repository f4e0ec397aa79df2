"""A process that was forked from one that had used Shoal: a clear sentence instead of a hang.

The threads of polars do not live on in a forked process, but the locks that they held do: the
first call that needs one waits for ever. Whoever wants several processes starts them afresh
(``spawn``), which is also safe.
"""

from __future__ import annotations

import os

from shoal.errors import OptionError

__all__ = ["check_process"]


class _Process:
    used = False
    forked = False


def _note_fork() -> None:
    _Process.forked = _Process.used


def check_process() -> None:
    """Remember that threads are about to be used; refuse in a process that was forked after that.

    Raises:
        OptionError: this process was forked from one that had used Shoal before.
    """
    if _Process.forked:
        raise OptionError(
            "This process was forked from one that had already used Shoal, and the threads of its "
            "libraries do not survive that: start processes afresh, with "
            "multiprocessing.get_context('spawn')."
        )
    if not _Process.used:
        _Process.used = True
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_note_fork)
