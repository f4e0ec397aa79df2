"""Many runs at a time, on threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from shoal.progress import Report

__all__ = ["run_side_by_side"]

T = TypeVar("T")


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
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    stopped = threading.Event()

    def alive(done: int, total: int, what: str) -> None:
        del done, total, what
        if stopped.is_set():
            raise _Abandoned

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        waiting = {pool.submit(task, alive): number for number, task in enumerate(tasks)}
        try:
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=waiting.__getitem__):
                    yield waiting.pop(future), future.result()
        finally:
            stopped.set()
            for future in waiting:
                future.cancel()
