"""The privacy-loss curve behind the page: started, watched, thrown away when settings change."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from shoal.app.curve import SAMPLE, Curve, curve_key, draw_curve
from shoal.app.tree_state import frame_of

if TYPE_CHECKING:
    import polars as pl
    from starlette.applications import Starlette

    from shoal.app.tasks import Task, Tasks
    from shoal.app.workspace import Workspace
    from shoal.runtime.progress import Report
    from shoal.settings.job import Job

__all__ = ["Curves", "curves_of"]

_TASK, _KEPT = "curve", "curve"


class Curves:
    """The curves of one state of work: that of a sample, and that of all rows."""

    def __init__(self, work: Workspace, tasks: Tasks) -> None:
        self._work, self._tasks = work, tasks
        self._lock = threading.Lock()
        self._found: dict[str, Curve] = {}
        kept: dict[str, Any] = work.kept(_KEPT) or {}
        for name, plain in kept.items():
            self._found[name] = Curve.from_dict(plain)

    def now(self) -> Curve | None:
        """Return the best curve for the present settings: of all rows, else of the sample."""
        key = curve_key(self._work.job)
        k = int(self._work.job.k or 0)
        fitting = [each for each in self._found.values() if each.key == key]
        standing = [each for each in fitting if each.at(k) is not None]
        return max(standing or fitting, key=lambda each: each.n_rows, default=None)

    @property
    def running(self) -> Task | None:
        """The work on it, if any is under way."""
        return self._tasks.running(_TASK)

    def start(self) -> None:
        """Make sure that the curve of the present settings is there or on its way."""
        work = self._work
        job, frame = work.runnable(), frame_of(work)
        key = curve_key(job)
        with self._lock:
            task = self.running
            if task is not None and task.result == (key, job.k):
                return
            if self._is_whole(key, int(job.k), frame.height):
                self.stop()
                return
            task = self._tasks.start(_TASK, lambda report: self._draw(frame, job, report))
            task.result = (key, job.k)  # what it is about, until it is done

    def stop(self) -> None:
        """Stop what is under way; a run needs the machine."""
        task = self.running
        if task is not None:
            task.cancel()

    def _is_whole(self, key: str, k: int, n_rows: int) -> bool:
        whole = self._found.get("all" if n_rows > SAMPLE else "sample")
        return whole is not None and whole.key == key and whole.whole and whole.at(k) is not None

    def _draw(self, frame: pl.DataFrame, job: Job, report: Report) -> None:
        stages = {"sample": SAMPLE} | ({"all": None} if frame.height > SAMPLE else {})
        for name, rows in stages.items():
            if name == "sample" and frame.height > SAMPLE and self._has_sample(job):
                continue
            for curve in draw_curve(frame, job, report, rows=rows):
                self._found[name] = curve
            self._work.keep(_KEPT, {each: found.to_dict() for each, found in self._found.items()})

    def _has_sample(self, job: Job) -> bool:
        found = self._found.get("sample")
        fits = found is not None and found.key == curve_key(job) and found.whole
        return fits and found is not None and found.at(int(job.k)) is not None


def curves_of(app: Starlette) -> Curves:
    """Return the curves of an application; one for as long as it lives."""
    found: Curves | None = getattr(app.state, "curves", None)
    if found is None:
        found = app.state.curves = Curves(app.state.work, app.state.tasks)
    return found
