"""Many runs at a time, on threads."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from shoal.runtime.threads import Pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shoal.runtime.progress import Report


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
    with Pieces[T](workers or os.cpu_count() or 1) as pieces:

        def alive(done: int, total: int, what: str) -> None:
            del done, total, what
            if pieces.stopping.is_set():
                raise _Abandoned

        for ended in pieces.ends([partial(task, alive) for task in tasks]):
            for number in ended:
                yield number, cast("T", pieces.result(number))
