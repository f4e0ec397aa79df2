"""The same release on Apache Spark: tables of Spark in, tables of Spark out.

Needs ``pip install 'shoal-anonymity[spark]'`` on the driver and on every worker.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from shoal.errors import ShoalWarning
from shoal.run import run
from shoal.run.spark import SparkRelease, SparkSource
from shoal.settings.request import build_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


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

    The rows are grouped and published where they are. The driver sees counts of values, a sample of
    combinations and a rule of a few kilobytes (of ``incognito``, the counts of all combinations);
    and the first 100,000 rows, in which it looks for what no promise covers. The same seed gives
    the same release up to order, however the table is partitioned and whichever worker fails on
    the way.

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
    request = build_request({"k": k, "quasi_identifiers": quasi_identifiers, **options})
    release = run(request, SparkSource(frame, key), progress=progress)
    assert isinstance(release, SparkRelease)
    for sentence in release.warnings:
        warnings.warn(sentence, ShoalWarning, stacklevel=2)
    return release
