"""The one thread pool: independent pieces of work side by side; kernels release the GIL.

Whoever stops (an error, Ctrl-C, a caller that has enough) stops all: pieces that have not begun
never begin, and those under way are told through `Pieces.stopping`, which they ask now and then.
"""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

__all__ = ["Pieces"]

T = TypeVar("T")


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
            self._futures.append(self._pool.submit(piece))
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
