"""V-MDAV, microaggregation of variable size (Solanas, Martínez-Ballesté 2006)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm, check_number
from shoal.algorithm.mdav import all_left
from shoal.errors import OptionError
from shoal.kernels.mdav import closest_rows, v_mdav_clusters
from shoal.search.points import points_of
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.kernels.mdav import Points
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


SLICE_COMPARISONS = 100_000_000


@dataclass(frozen=True, kw_only=True)
class VMDAV(Algorithm):
    """Clusters of k to 2k − 1 around the records farthest from the centroid.

    While at least k records are left: the one farthest from the centroid of all and the k − 1
    nearest to it are a cluster. It is extended, up to 2k − 1 records, by the record closest to any
    of its own, as long as that is closer to it than ``gamma`` times its distance to any other that
    is left. Fewer than k records at the end join the cluster of the record closest to them.

    Distances are those of `mdav`. Ties go to the lowest row.

    Guarantee: every cluster has at least k records.
    Cost: O(n²) comparisons.
    Determinism: no chance involved but the shuffled row order, where distances tie.

    Args:
        gamma: how readily clusters are extended; the paper advises 0.2 where records are scattered
            and 1.1 where they lie in clusters.
    """

    name = "v-mdav"
    title = "microaggregation: clusters of variable size"
    citation = "Solanas, Martínez-Ballesté 2006"
    whole_rows = 30_000

    gamma: float = 0.2

    def __post_init__(self) -> None:
        """Check the options."""
        check_number(self, "gamma", 0.0)
        if self.gamma is None:
            raise OptionError("gamma of 'v-mdav' must be a number of at least 0, got None.")

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        n, k = table.n_rows, run.k
        points = points_of(table)
        left = all_left(points, k)
        label = np.full(n, SUPPRESSED, np.int32)
        counters = np.zeros(2, np.int64)  # the next group, and how many to form
        order, n_left = farthest_first(points), n
        while n_left >= k:
            run.progress(n - n_left, n, "clustering")
            counters[1] = math.ceil(SLICE_COMPARISONS / (2 * k * n_left))
            state = (label, counters)
            n_left = v_mdav_clusters(points, left, order, n_left, k, float(self.gamma), state)
        rest = np.flatnonzero(label < 0)
        if len(rest):
            found = np.empty(len(rest), np.int32)
            closest_rows(points, rest, label, left, found)
            label[rest] = found
        return Partition(label, int(counters[0]))


def farthest_first(points: Points) -> NDArray[np.int64]:
    """Return all rows, the farthest from the centroid of all first; ties: lowest row."""
    n = points.numbers.shape[1]
    centre = np.floor(points.numbers.sum(axis=1, keepdims=True) / n + 0.5)
    distance = ((points.numbers - centre) ** 2).sum(axis=0)
    for codes, weight in zip(points.levels, points.weights, strict=True):
        distance += weight * (codes != np.bincount(codes).argmax())
    return np.argsort(-distance, kind="stable")
