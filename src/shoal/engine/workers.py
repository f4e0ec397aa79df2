"""Independent pieces of work in threads; kernels release the GIL, so they run side by side."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shoal.algorithm.base import Run
    from shoal.table.partition import Partition

    Tick = Callable[[int, int, str], None]

__all__ = ["in_threads"]


class _StoppedError(Exception):
    """Raised inside a worker to end it early."""


def in_threads(
    run: Run,
    sizes: Sequence[int],
    work: Callable[[int, Tick], Partition],
    what: str,
    *,
    keep_on_interrupt: bool = False,
) -> tuple[list[Partition | None], bool]:
    """Run work(0), work(1), … in threads; progress counts rows.

    Args:
        run: how many threads, and whom to tell.
        sizes: rows of each piece.
        work: makes one piece; it is handed a function to call now and then, which ends it early.
        what: name of the work for the progress bar.
        keep_on_interrupt: on Ctrl-C let the pieces that have begun return what they have, instead
            of giving everything up.

    Returns:
        What each piece returned (None if it never began), and whether Ctrl-C was pressed.
    """
    stop = threading.Event()

    def tick(done: int, total: int, name: str) -> None:
        del done, total, name
        if stop.is_set():
            raise KeyboardInterrupt if keep_on_interrupt else _StoppedError

    total, done = sum(sizes), 0
    interrupted = False
    with ThreadPoolExecutor(max(1, run.threads)) as pool:
        futures: dict[Future[Partition], int] = {}
        try:
            run.progress(0, total, what)
            for number in range(len(sizes)):
                futures[pool.submit(work, number, tick)] = number
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    done += sizes[futures[future]]
                run.progress(done, total, what)
        except BaseException as reason:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            if not (keep_on_interrupt and isinstance(reason, KeyboardInterrupt)):
                raise
            interrupted = True
    by_number = {number: future for future, number in futures.items()}
    found = [by_number.get(number) for number in range(len(sizes))]
    return [
        None if future is None or future.cancelled() else future.result() for future in found
    ], interrupted
