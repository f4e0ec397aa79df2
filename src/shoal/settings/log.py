"""The log of a job: one line per event, added to a file; never a cell, a password or the seed."""

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shoal.errors import DataError, ShoalError
from shoal.io.overwrite_guard import current_watch
from shoal.runtime.sanitize import hide_credentials, hide_names, safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["RunLog", "logging_to"]

_LONGEST = 2_000


class RunLog:
    """Lines to a file; to nowhere without one."""

    def __init__(self, handle: int | None) -> None:
        self._handle = handle
        self._stage = ""

    def say(self, event: str) -> None:
        """Add a line: when, which process, what."""
        if self._handle is None:
            return
        text = hide_credentials(event)
        watch = current_watch()
        if watch is not None:
            text = hide_names(text, watch.doubtful)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        line = f"{time} shoal[{os.getpid()}] {safe_text(text, _LONGEST)}\n"
        # One write: lines of jobs that run at the same time do not mix.
        os.write(self._handle, line.encode(errors="backslashreplace"))

    def watching(self, report: Callable[[int, int, str], None]) -> Callable[[int, int, str], None]:
        """Return a progress function that also adds a line where a new stage begins."""

        def watched(done: int, total: int, what: str) -> None:
            if what != self._stage:
                self._stage = what
                self.say(f"stage: {what}")
            report(done, total, what)

        return watched


@contextmanager
def logging_to(path: str | None) -> Iterator[RunLog]:
    """Open the log of a job; an error, or that somebody stopped the job, is its last line.

    Raises:
        DataError: the file cannot be written to.
    """
    if path is None:
        yield RunLog(None)
        return
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise DataError(f"The log {path!r} cannot be written: {error.strerror}.") from None
    log = RunLog(handle)
    try:
        yield log
    except ShoalError as error:
        log.say(f"failed: {error}")
        raise
    except BaseException as error:
        # Not the message: an exception of another library may show a cell.
        log.say(f"stopped: {type(error).__name__}")
        raise
    finally:
        os.close(handle)
