"""The one thread pool: independent pieces of work side by side; kernels release the GIL.

Whoever stops (an error, Ctrl-C, a caller that has enough) stops all: pieces that have not begun
never begin, and those under way are told through `Pieces.stopping`, which they ask now and then.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast

from shoal.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shoal.runtime.progress import Report


# A process that was forked from one that had used Shoal: a clear sentence instead of a hang.
#
# The threads of polars do not live on in a forked process, but the locks that they held do: the
# first call that needs one waits for ever. Whoever wants several processes starts them afresh
# (``spawn``), which is also safe.


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


T = TypeVar("T")


def _do(piece: Callable[[], T]) -> T:
    """Do a piece of work: a call that begins here is one of this package (`kernels/callers.py`)."""
    return piece()


class Pieces(Generic[T]):
    """Pieces of work in threads, for the length of a ``with`` block.

    Attributes:
        stopping: set when the rest is not wanted any more.
    """

    def __init__(self, workers: int) -> None:
        self.stopping = threading.Event()
        self._pool = ThreadPoolExecutor(max(1, workers))
        self._futures: list[Future[T]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ends(
        self, pieces: Sequence[Callable[[], T]], *, every: float | None = None
    ) -> Iterator[list[int]]:
        """Start the pieces and yield the numbers of those that have ended, as they end.

        An error of a piece is raised here.

        Args:
            pieces: what to do.
            every: also yield, an empty list if need be, after so many seconds.
        """
        for piece in pieces:
            self._futures.append(self._pool.submit(_do, piece))
        number = {future: n for n, future in enumerate(self._futures)}
        waiting = set(self._futures)
        while waiting:
            ended, waiting = wait(waiting, timeout=every, return_when=FIRST_COMPLETED)
            numbers = sorted(number[future] for future in ended)
            for each in numbers:
                self._futures[each].result()
            yield numbers

    def stop(self) -> None:
        """Begin nothing more, tell what is under way, and wait for it."""
        self.stopping.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def result(self, number: int) -> T | None:
        """Return what a piece has returned; None if it never began."""
        if number >= len(self._futures) or self._futures[number].cancelled():
            return None
        return self._futures[number].result()


# -- many runs at a time -------------------------------------------------------------------------


class _Abandoned(BaseException):
    """Ends a run whose result nobody waits for any more."""


def run_side_by_side(
    tasks: Sequence[Callable[[Report], T]], *, workers: int | None = None
) -> Iterator[tuple[int, T]]:
    """Run tasks on threads and yield (number of the task, result) as they finish.

    A task hands the function it is given to its run as ``progress``. When the caller stops (an
    error, Ctrl-C, a closed iterator), runs that have not begun never begin, and those under way
    end at their next sign of progress.
    """
    with Pieces[T](workers or os.cpu_count() or 1) as pieces:

        def alive(done: int, total: int, what: str) -> None:
            del done, total, what
            if pieces.stopping.is_set():
                raise _Abandoned

        for ended in pieces.ends([partial(task, alive) for task in tasks]):
            for number in ended:
                yield number, cast("T", pieces.result(number))
