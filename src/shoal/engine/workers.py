"""Parts of a table in threads, with progress counted in rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shoal.runtime.threads import Pieces
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shoal.search.run import Run

    Tick = Callable[[int, int, str], None]

__all__ = ["in_threads"]

_LOOK = 0.2  # seconds between two looks at Ctrl-C


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
    total, done = sum(sizes), 0
    interrupted = False
    with Pieces[Partition](run.threads) as pieces:

        def tick(done: int, total: int, name: str) -> None:
            del done, total, name
            if pieces.stopping.is_set():
                raise KeyboardInterrupt if keep_on_interrupt else _StoppedError

        try:
            run.progress(0, total, what)
            each = [partial(work, number, tick) for number in range(len(sizes))]
            for ended in pieces.ends(each, every=_LOOK):
                done += sum(sizes[number] for number in ended)
                run.progress(done, total, what)
        except KeyboardInterrupt:
            if not keep_on_interrupt:
                raise
            interrupted = True
            pieces.stop()
    return [pieces.result(number) for number in range(len(sizes))], interrupted
