"""`auto`: the best release Shoal can make in the time you give it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.algorithms.agglomerative import Agglomerative
from shoal.algorithms.base import Algorithm, Run
from shoal.algorithms.kaca import KACA
from shoal.algorithms.mondrian import Mondrian
from shoal.algorithms.sequential import Sequential
from shoal.enforce import GroupState, enforce
from shoal.errors import OptionError, ShoalWarning, did_you_mean
from shoal.refine import EFFORTS, refine_partition

if TYPE_CHECKING:
    from shoal.encode import EncodedTable
    from shoal.partition import Partition

__all__ = ["Auto"]

CLOSEST_PAIR_ROWS = 60_000
"""Up to this many rows the agglomerative start is worth its quadratic time."""


@dataclass(frozen=True, kw_only=True)
class Auto(Algorithm):
    """A good start for the table at hand, then refinement.

    Start: agglomerative clustering for tables it can handle in seconds, KACA's classes of equal
    records beyond that and for ``effort="fast"``; sequential clustering where the cost looks at the
    sensitive column; with privacy models the cheapest of KACA, Mondrian and
    sequential clustering. Then `refine`: records
    relocated, groups dissolved, opened and rebuilt, as long as it pays.

    Guarantee: every group has at least k records and satisfies the privacy models; the cost is
    never above that of the start.
    Determinism: given the seed.

    Args:
        effort: "fast" (a second or two for 30,000 rows), "balanced", or "best".
    """

    name = "auto"
    title = "best start for the table, then refinement (the default)"
    citation = "Shoal"
    respects_privacy = True

    effort: Literal["fast", "balanced", "best"] = "balanced"

    def __post_init__(self) -> None:
        """Check the options."""
        if self.effort not in EFFORTS:
            hint = did_you_mean(str(self.effort), EFFORTS)
            raise OptionError(
                f"effort of 'auto' must be one of {', '.join(EFFORTS)}, got {self.effort!r}.{hint}"
            )

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        found = self._start(table, run)
        return refine_partition(
            table,
            found,
            run.scanner,
            run.k,
            run.privacy,
            EFFORTS[self.effort],
            run.rng,
            run.progress,
        )

    def _start(self, table: EncodedTable, run: Run) -> Partition:
        if run.privacy:
            starts: tuple[Algorithm, ...] = (KACA(), Mondrian())
            if self.effort != "fast":
                starts = (*starts, Sequential())
            with warnings.catch_warnings():
                # one group of all rows is only a start here, and never the cheapest
                warnings.simplefilter("ignore", ShoalWarning)
                candidates = [_held(algorithm, table, run) for algorithm in starts]
            costs = [int(GroupState(run.scanner, found).costs.sum()) for found in candidates]
            return candidates[int(np.argmin(costs))]
        if run.scanner.n_classes > 1:
            return Sequential().partition(table, run)
        if self.effort != "fast" and table.n_rows <= CLOSEST_PAIR_ROWS:
            return Agglomerative().partition(table, run)
        return KACA().partition(table, run)


def _held(algorithm: Algorithm, table: EncodedTable, run: Run) -> Partition:
    found = algorithm.partition(table, run)
    return enforce(table, found, run.scanner, run.k, run.privacy, run.progress)
