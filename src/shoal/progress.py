"""Shows that long work is moving: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal.errors import OptionError

__all__ = ["COMPILING", "Report", "showing_progress", "watching"]

Report = Callable[[int, int, str], None]
"""``report(done, total, what)``; a total of 0 is not known."""

COMPILING = "compiling"
_NOTICE = "Compiling the kernels for this machine (once; later runs start at once) ..."
_FIRST_LINE = 3.0  # seconds; short work says nothing
_NEXT_LINE = 10.0


@contextmanager
def showing_progress(*, quiet: bool = False) -> Iterator[Report]:
    """Give a function that shows progress on standard error while the block runs."""
    if quiet:
        yield _silent
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield PlainLines()


def _silent(done: int, total: int, what: str) -> None:
    del done, total, what


class PlainLines:
    """One line after a while and then now and then, for logs."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _FIRST_LINE
        self._noticed = False

    def __call__(self, done: int, total: int, what: str) -> None:
        """Print a line if the last one was long ago."""
        if what == COMPILING:
            if not self._noticed:
                self._noticed = True
                _line(_NOTICE)
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _NEXT_LINE
            _line(f"{what}: {_share(done, total)}")


def _share(done: int, total: int) -> str:
    return f"{done:,} of {total:,} ({done / total:.0%})" if total else f"{done:,}"


def _line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is the command line


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def report(done: int, total: int, what: str) -> None:
            if what == COMPILING:
                if what not in tasks:
                    tasks[what] = progress.add_task(what, visible=False)
                    progress.console.print(_NOTICE)
                return
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total or None)
            progress.update(tasks[what], completed=done, total=total or None)

        yield report


@contextmanager
def watching(progress: bool | Report) -> Iterator[Report]:  # noqa: FBT001 - the only one
    """Give the function behind ``progress=``: True shows it, False does not, or the user's own.

    Raises:
        OptionError: it is neither.
    """
    if callable(progress):
        yield progress
    elif isinstance(progress, bool) or progress is None:
        with showing_progress(quiet=not progress) as report:
            yield report
    else:
        raise OptionError(
            f"progress must be true, false or a function of (done, total, what), got {progress!r}."
        )
