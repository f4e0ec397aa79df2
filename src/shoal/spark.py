"""The same release on Apache Spark: tables of Spark in, tables of Spark out.

Needs ``pip install 'shoal[spark]'`` on the driver and on every worker.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.engine.spark.engine import SparkEngine
from shoal.engine.spark.session import check_frame
from shoal.errors import OptionError, ShoalWarning
from shoal.pipeline import run_pipeline
from shoal.progress import watching
from shoal.promises import grids_of
from shoal.release import Release
from shoal.settings.request import request_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shoal.settings.request import Request

__all__ = ["SparkRelease", "anonymize", "release_of"]


class SparkRelease(Release[Any]):
    """A release whose table is one of Spark; see `shoal.Release`."""

    def forget(self) -> None:
        """Give the disks of the workers back; ``frame`` and ``groups`` cannot be read any more."""
        assert isinstance(self.engine, SparkEngine)
        self.engine.forget()

    def report(self, *arguments: Any, **options: Any) -> None:
        """Refuse: the report is not drawn from tables of Spark yet."""
        del arguments, options
        raise OptionError(_NOT_YET.format("A report"))

    def plot(self) -> Any:
        """Refuse: pictures are not drawn from tables of Spark yet."""
        raise OptionError(_NOT_YET.format("A plot"))

    def save(self, *arguments: Any, **options: Any) -> None:
        """Refuse: published cells are not collected from Spark yet."""
        del arguments, options
        raise OptionError(_NOT_YET.format("A file for further rows"))

    def audit(self, *arguments: Any, **options: Any) -> Any:
        """Refuse: attacks need both tables in memory."""
        del arguments, options
        raise OptionError(_NOT_YET.format("An audit"))


_NOT_YET = "{} is not made of a table of Spark yet; write the release and read what fits."


def anonymize(
    frame: Any,
    k: int,
    *,
    quasi_identifiers: str | Iterable[str],
    key: str | Iterable[str] = (),
    progress: bool | Callable[[int, int, str], None] = False,
    **options: Any,
) -> SparkRelease:
    """Return a k-anonymous release of a Spark table, made by the cluster that holds it.

    The rows stay where they are: counts of values, a sample of combinations and a rule of a few
    kilobytes are all that the driver sees. The same seed gives the same release up to order,
    however the table is partitioned and whichever worker fails on the way.

    Args:
        frame: a DataFrame of Spark (4.0 or newer). It must give the same rows whenever it is read.
        k: smallest allowed group, at least 2.
        quasi_identifiers: columns that could single a person out; they are generalised.
        key: columns by which you find rows again in ``release.groups``, which is a table of Spark
            with them and ``group`` (−1 if suppressed). It is private: never publish it.
        progress: as in `shoal.anonymize`.
        **options: as in `shoal.anonymize`: roles of columns (sensitive, identifiers, …),
            hierarchies, kinds, orders, weights, grid, scale, privacy, person, algorithm, measure,
            max_suppression, missing, seed, block_rows, refine, style, strict, ….

    Returns:
        A release as of `shoal.anonymize`. ``frame`` is a table of Spark, in an order of its
        published cells alone; ``groups`` is one, too, or None without ``key``. What it needs lies
        on the disks of the workers until ``release.forget()``, or the end of the session.

    Raises:
        ShoalError: with one sentence on what is wrong and what to do, also for what is not done
            on Spark.
    """
    given = {"k": k, "quasi_identifiers": quasi_identifiers, **options}
    release = release_of(frame, request_of(given), key=key, progress=progress)
    for sentence in release.warnings:
        warnings.warn(sentence, ShoalWarning, stacklevel=2)
    return release


def release_of(
    frame: Any,
    request: Request,
    *,
    key: str | Iterable[str] = (),
    progress: bool | Callable[[int, int, str], None] = False,
) -> SparkRelease:
    """Return the release that a request asks for; warnings are in it, and nobody is warned."""
    frame = check_frame(frame)
    keys = [key] if isinstance(key, str) else list(key)
    for name in keys:
        if name not in frame.columns:
            raise OptionError(f"key names column {name!r}, which the table does not have.")
        if name == "group":
            raise OptionError("A key cannot be called 'group', as that is the group of a row.")
    schema = request.schema(frame.columns)
    engine = SparkEngine(keys)
    try:
        with watching(progress) as report:
            result = run_pipeline(frame, schema, replace(request, progress=report), engine)
    except BaseException:
        engine.forget()
        raise
    found = result.measured
    weights = {c.name: c.weight for c in found.schema.columns if c.weight != 1.0}
    return SparkRelease(
        frame=result.published.frame,
        groups=found.groups,
        scores=found.scores,
        verification=result.verification,
        k=request.k,
        n_rows=found.n_rows,
        n_suppressed=found.n_suppressed,
        parameters=request.parameters() | {"weights": weights},
        schema=found.schema,
        facts=found.facts,
        warnings=result.warnings,
        seconds=result.seconds,
        engine=engine,
        privacy=request.privacy,
        grids=grids_of(found.schema.grids, request.style),
        whose="declared" if request.rows_are_people else "assumed",
        style=request.style,
    )
