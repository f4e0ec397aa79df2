"""MDAV, maximum distance to average vector (Domingo-Ferrer, Mateo-Sanz 2002)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.kernels.mdav import Left, Points, mdav_clusters
from shoal.search.points import points_of
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


SLICE_COMPARISONS = 100_000_000


@dataclass(frozen=True, kw_only=True)
class MDAV(Algorithm):
    """Clusters of k around records far from the average, two at a time.

    Microaggregation in its generic form (Domingo-Ferrer, Torra 2005). While at least 3k records
    are left: r is the record farthest from their average, s the one farthest from r; r and the
    k − 1 records nearest to it are a cluster, then s and the k − 1 nearest to it. Of 2k to 3k − 1
    records, r and its nearest are one cluster and the rest is another; fewer than 2k are one.

    Distances are Euclidean on standardised columns, whatever the measure; dates and ordered values
    count as numbers. Other values differ or do not, level by level of their hierarchy, and their
    average is the most frequent one. A missing number lies three standard deviations from all
    others. Ties go to the lowest row.

    Guarantee: every cluster has k to 2k − 1 records, all but the last one exactly k.
    Cost: O(n²/k) comparisons.
    Determinism: no chance involved but the shuffled row order, where distances tie.
    """

    name = "mdav"
    title = "microaggregation: clusters around the farthest records"
    citation = "Domingo-Ferrer, Mateo-Sanz 2002; Domingo-Ferrer, Torra 2005"
    whole_rows = 30_000

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        n, k = table.n_rows, run.k
        left = all_left(points_of(table), k)
        label = np.full(n, SUPPRESSED, np.int32)
        n_left, group = n, 0
        while n_left:
            run.progress(n - n_left, n, "clustering")
            rounds = math.ceil(SLICE_COMPARISONS / (4 * n_left))
            n_left, group = mdav_clusters(left, n_left, k, rounds, label, group)
        return Partition(label, group)


def all_left(points: Points, k: int) -> Left:
    """Return a copy of all points, of which clusters are taken."""
    n = points.numbers.shape[1]
    sizes = [int(codes.max(initial=0)) + 1 for codes in points.levels]
    counts = [np.bincount(c, minlength=s) for c, s in zip(points.levels, sizes, strict=True)]
    return Left(
        Points(points.numbers.copy(), points.levels.copy(), points.weights, points.absent),
        np.arange(n),
        np.empty(n),
        np.empty(n),
        np.empty(len(points.numbers)),
        np.empty(len(points.levels), np.int32),
        np.concatenate([*counts, np.empty(0, np.int64)]).astype(np.int64),
        np.cumsum([0, *sizes]).astype(np.int64),
        np.empty(2 * k, np.int64),
    )
