"""The privacy-loss curve: what this table loses at each k, and where one stands on it.

Every point is a run of its own, with the settings of the job and another
k: on a sample first, because that is quick, and on everything after.
"""

from __future__ import annotations

import hashlib
import math
import threading
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.app.hierarchy_preview import frame_of
from shoal.errors import ShoalError
from shoal.settings.job_file import format_job

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from starlette.applications import Starlette

    from shoal.app.tasks import Task, Tasks
    from shoal.app.workspace import Workspace
    from shoal.runtime.progress import Report
    from shoal.settings.job import Job


SAMPLE = 5_000
"""Rows of the first, quick curve."""
_LADDER = (2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000, 2000, 5000)
_BELOW, _ABOVE = 3, 3


@dataclass(frozen=True)
class Point:
    """One run.

    Attributes:
        k: of the run.
        loss: share of detail lost; None if there is no release.
        error: why there is none.
    """

    k: int
    loss: float | None
    error: str = ""


@dataclass(frozen=True)
class Curve:
    """What a table loses at each k.

    Attributes:
        key: of the settings it belongs to, all but k.
        points: by k, ascending.
        n_rows: rows that were tried.
        n_all: rows of the table.
        whole: whether all points that were asked for are there.
    """

    key: str
    points: tuple[Point, ...]
    n_rows: int
    n_all: int
    whole: bool

    @property
    def is_sample(self) -> bool:
        """Whether a part of the rows was tried."""
        return self.n_rows < self.n_all

    def at(self, k: int) -> Point | None:
        """Return the point of a k, if it was tried."""
        return next((point for point in self.points if point.k == k), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return asdict(self) | {"points": [asdict(point) for point in self.points]}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Curve:
        """Return the curve that `to_dict` told."""
        points = tuple(Point(**point) for point in plain["points"])
        return cls(**{**plain, "points": points})


def curve_key(job: Job) -> str:
    """Return what a curve depends on: the settings without k, and without files to write."""
    from shoal.settings.files import Output
    from shoal.settings.job import JOB_OPTIONS

    # what is said although it is the usual changes nothing
    usual = [n for n, value in job.options.items() if value == JOB_OPTIONS[n].default]
    plain = job.replaced(**dict.fromkeys(usual)).replaced(k=2, output=Output(), seed=None)
    said = format_job(plain)
    return hashlib.sha256(said.encode()).hexdigest()[:24]


def sizes_around(k: int, n_rows: int) -> list[int]:
    """Return the k worth trying: the one chosen, some below and some above it.

    >>> sizes_around(10, 1000)
    [3, 5, 7, 10, 15, 20, 30]
    """
    most = max(n_rows // 2, 2)
    below = [size for size in _LADDER if size < k][-_BELOW:]
    above = [size for size in _LADDER if k < size <= most][:_ABOVE]
    return [*below, k, *above]


def draw_curve(
    frame: pl.DataFrame, job: Job, progress: Report, *, rows: int | None = SAMPLE
) -> Iterator[Curve]:
    """Yield the curve with one more point at a time, the chosen k first.

    Args:
        frame: the table.
        job: its settings; k says around which sizes to look.
        progress: told how far it is; what it raises stops the work.
        rows: of the sample; None tries everything.
    """
    from shoal.run import FrameSource, run

    request = job.request()
    k = request.k
    # Nothing is published: no bound to prove, no warning to heed.
    request = replace(request, bound=False, strict=False, seed=0)
    table = frame if rows is None or frame.height <= rows else frame.sample(rows, seed=0)
    sizes = sizes_around(k, table.height)
    nearest = sorted(sizes, key=lambda size: (abs(math.log(size / k)), size))
    key = curve_key(job)
    points: list[Point] = []
    for number, size in enumerate(nearest):
        watched = _pulse(progress, number, len(nearest))
        # a table of its own, which the run may take apart
        owned = FrameSource(table.clone(), owned=True)
        try:
            found = run(replace(request, k=size), owned, progress=watched)
            points.append(Point(size, float(found.scores["ncp"])))
        except ShoalError as error:
            points.append(Point(size, None, error.message))
        ordered = tuple(sorted(points, key=lambda point: point.k))
        whole = len(points) == len(nearest)
        yield Curve(key, ordered, table.height, frame.height, whole)
    progress(len(nearest), len(nearest), "done")


def _pulse(progress: Report, done: int, total: int) -> Report:
    """Return a function that keeps the work stoppable between two points."""

    def report(of_run: int, rows: int, what: str) -> None:
        del of_run, rows, what
        progress(done, total, "trying sizes")

    return report


# -- the picture ---------------------------------------------------------------------------------

_WIDTH, _HEIGHT = 560, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 20, 20, 56


@dataclass(frozen=True)
class Drawn:
    """A curve as a template draws it: all numbers are those of the picture.

    Attributes:
        line: points of the curve.
        marks: place, k, loss in per cent, and whether one stands there, of each point.
        ticks: place and text on the axis of loss.
    """

    line: str
    marks: tuple[tuple[float, float, int, str, bool], ...]
    ticks: tuple[tuple[float, str], ...]
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    right: int = _WIDTH - _RIGHT
    base: int = _HEIGHT - _BOTTOM


def draw(curve: Curve, k: int) -> Drawn:
    """Return where the points of a curve lie: log k to the right, loss upwards."""
    shown = [(point.k, point.loss) for point in curve.points if point.loss is not None]
    top = _round_up(max((loss for _, loss in shown), default=0.0))
    low, high = (math.log(f(size for size, _ in shown)) for f in (min, max)) if shown else (0, 1)
    span = (high - low) or 1.0

    def x(size: int) -> float:
        share = (math.log(size) - low) / span if len(shown) > 1 else 0.5
        return round(_LEFT + 14 + share * (_WIDTH - _LEFT - _RIGHT - 28), 1)

    def y(loss: float) -> float:
        return round(_HEIGHT - _BOTTOM - loss / top * (_HEIGHT - _TOP - _BOTTOM), 1)

    return Drawn(
        line=" ".join(f"{x(size)},{y(loss)}" for size, loss in shown),
        marks=tuple((x(size), y(loss), size, per_cent(loss), size == k) for size, loss in shown),
        ticks=tuple((y(top * step / 4), per_cent(top * step / 4)) for step in range(5)),
    )


def per_cent(share: float) -> str:
    """Return a share as people write it, without a sign."""
    return f"{100 * share:.1f}" if share < 0.1 else f"{100 * share:.0f}"


def _round_up(value: float) -> float:
    steps: Sequence[float] = (0.01, 0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.28, 0.4, 0.6, 0.8, 1.0)
    return next((step for step in steps if step >= value), 1.0)


# The privacy-loss curve behind the page: started, watched, thrown away when settings change.

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
