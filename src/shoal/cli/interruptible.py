"""Runs a command in a thread of its own, so that Ctrl-C is answered at once.

Python looks for signals only between its own steps: a long call into compiled code (a sort, a
parse, a kernel that is being compiled) would keep Ctrl-C waiting. The main thread therefore does
nothing but wait, which a signal interrupts, and the process ends without asking the other thread.

It waits for a bare lock: the exception of a signal that strikes inside an Event (to start a thread
takes one, too) may leave the locks that it is made of as they are, and become another exception.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["InterruptibleCall"]

_STACK = 64 << 20  # compiling recurses deeply, and threads have little stack on some systems
_LOOK = 0.2  # seconds; some systems do not interrupt a wait that has no end


class InterruptibleCall:
    """One call in another thread, which is there at once and begins when it is waited for.

    Attributes:
        running: whether the call has begun and not ended.
    """

    def __init__(self, work: Callable[[], int]) -> None:
        self._work = work
        self._begun, self._ended = threading.Lock(), threading.Lock()
        self._begun.acquire()
        self._ended.acquire()
        self._status = 0
        self._error: BaseException | None = None
        self.running = False
        before = threading.stack_size(_STACK)
        try:
            threading.Thread(target=self._run, name="shoal", daemon=True).start()
        finally:
            threading.stack_size(before)

    def wait(self) -> int:
        """Run the call and return what it returns; a signal's exception ends the waiting only."""
        self.running = True
        self._begun.release()
        while not self._ended.acquire(timeout=_LOOK):
            pass
        if self._error is not None:
            raise self._error
        return self._status

    def _run(self) -> None:
        self._begun.acquire()
        try:
            self._status = self._work()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            self._error = error
        finally:
            self.running = False
            self._ended.release()
