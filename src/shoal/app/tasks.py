"""Work behind the page: started in a thread, watched by its progress, stopped on request.

Work stops where it tells its progress, as a run from Python does whose ``progress`` raises; then
nothing is written. A result that belongs to settings that have changed since is thrown away.
"""

from __future__ import annotations

import contextvars
import itertools
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalError
from shoal.messages import Message
from shoal.runtime.progress import Pace, Report
from shoal.runtime.sanitize import hide_credentials, safe_text

if TYPE_CHECKING:
    from collections.abc import Callable


_KEPT = 50
_STACK = 64 << 20  # compiling recurses deeply, and threads have little stack on some systems
_STARTING = threading.Lock()


class Stop(BaseException):
    """Somebody asked the work to stop; no `Exception`, so that nobody takes it for a failure."""


def sentence_of(error: BaseException) -> str:
    """Return what a page says about an error: one sentence, and never a cell or a trace."""
    if isinstance(error, ShoalError):
        message: Message = error.message
        return message.mapped(lambda text: safe_text(hide_credentials(text), 2_000))
    if isinstance(error, MemoryError):
        return Message("The table does not fit into the memory of this machine.")
    if isinstance(error, OSError) and error.strerror:
        return Message("The system refuses to go on: {reason}.", reason=error.strerror)
    # Not the message: an exception of another library may show a cell of the input.
    return Message(
        "Shoal failed unexpectedly ({name}); please report it.", name=type(error).__name__
    )


@dataclass(eq=False)
class Task:
    """One piece of work.

    Attributes:
        name: what kind of work it is; a new one of the same kind stops the one before.
        revision: of the settings that it works with.
        state: ``running``, ``done``, ``failed`` or ``stopped``.
        done: rows done.
        total: rows in all; 0 if that is not known.
        what: the stage it is in.
        left: pace and time left, in words.
        error: one sentence, if it failed.
        result: what it returned.
    """

    name: str
    revision: int = 0
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    state: str = "running"
    done: int = 0
    total: int = 0
    what: str = ""
    left: str = ""
    error: str = ""
    result: Any = None
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    next: str = ""
    """The page to show when it is done."""
    _asked: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)
    _pace: Pace = field(default_factory=Pace)

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self.state == "running"

    def report(self, done: int, total: int, what: str) -> None:
        """Take note of progress; the function that rooms below are given.

        Raises:
            Stop: somebody asked for it.
        """
        if self._asked.is_set():
            raise Stop
        self.done, self.total, self.what = done, total, what
        self.left = self._pace.text(done, total, what, time.monotonic())

    def cancel(self) -> None:
        """Ask it to stop; it does so where it next tells its progress."""
        self._asked.set()

    @property
    def cancelled(self) -> bool:
        """Whether it was asked to stop."""
        return self._asked.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is over; tell whether it is."""
        return self._over.wait(seconds)

    def to_dict(self) -> dict[str, Any]:
        """Return what the page is told: no result, no cell."""
        now = time.monotonic() - self.began if self.running else self.seconds
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "what": self.what,
            "done": self.done,
            "total": self.total,
            "share": min(self.done / self.total, 1.0) if self.total and self.done else None,
            "left": self.left,
            "error": self.error,
            "next": self.next,
            "seconds": round(now, 1),
            "cancelled": self.cancelled,
        }


class Tasks:
    """All work of one server.

    Args:
        in_words: changes the sentence of an error into what its reader knows.
    """

    def __init__(self, in_words: Callable[[str], str] = str) -> None:
        self._in_words = in_words
        self._tasks: dict[str, Task] = {}
        self._lock = threading.Lock()
        self._count = itertools.count(1)

    def start(
        self,
        name: str,
        function: Callable[[Report], Any],
        *,
        revision: int = 0,
        next_page: str = "",
        then: Callable[[Task], None] | None = None,
    ) -> Task:
        """Start a piece of work and return it at once.

        Args:
            name: what kind of work it is; running work of the same name is asked to stop.
            function: takes a function for its progress and returns the result.
            revision: of the settings that it works with.
            next_page: where the page goes when it is done.
            then: called with the task when it is done, before anybody sees that it is.
        """
        task = Task(name, revision, next=next_page)
        with self._lock:
            for other in self._tasks.values():
                if other.name == name and other.running:
                    other.cancel()
            self._tasks[task.id] = task
            for old in list(self._tasks.values())[:-_KEPT]:
                if not old.running:
                    del self._tasks[old.id]
        context = contextvars.Context()  # nothing of the request or the command
        with _STARTING:
            before = threading.stack_size(_STACK)
            try:
                thread = threading.Thread(
                    target=context.run,
                    args=(self._work, task, function, then),
                    name=f"shoal-{name}-{next(self._count)}",
                    daemon=True,
                )
                thread.start()
            finally:
                threading.stack_size(before)
        return task

    def get(self, task_id: str) -> Task | None:
        """Return a task by its id."""
        return self._tasks.get(task_id)

    def running(self, name: str) -> Task | None:
        """Return the task of this kind that is at work and was not asked to stop."""
        return next((task for task in self._all(name) if task.running and not task.cancelled), None)

    def latest(self, name: str) -> Task | None:
        """Return the task of this kind that was started last."""
        return next(iter(self._all(name)), None)

    def result(self, name: str, revision: int) -> Any:
        """Return the result of the latest task of this kind; None if it is for other settings."""
        task = self.latest(name)
        fits = task is not None and task.state == "done" and task.revision == revision
        return task.result if fits and task is not None else None

    def stop_all(self, seconds: float = 0.0) -> None:
        """Ask everything to stop, and wait a little."""
        with self._lock:
            tasks = [task for task in self._tasks.values() if task.running]
        for task in tasks:
            task.cancel()
        for task in tasks:
            task.wait(seconds)

    def _all(self, name: str) -> list[Task]:
        with self._lock:
            return [task for task in reversed(self._tasks.values()) if task.name == name]

    def _work(
        self, task: Task, function: Callable[[Report], Any], then: Callable[[Task], None] | None
    ) -> None:
        state = "done"
        try:
            task.result = function(task.report)
            if task.cancelled:
                raise Stop  # noqa: TRY301 - it came too late to be noticed by the work itself
            if then is not None:
                then(task)
        except Stop:
            task.result, state = None, "stopped"
        except BaseException as error:  # noqa: BLE001 - whatever it is becomes one sentence
            task.result, state = None, "failed"
            task.error = self._in_words(sentence_of(error))
        finally:
            task.seconds = time.monotonic() - task.began
            task.state = state
            task._over.set()  # noqa: SLF001 - of this module
