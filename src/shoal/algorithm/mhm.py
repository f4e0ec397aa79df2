"""NPN-MHM, the best cut of a path (Domingo-Ferrer, Martínez-Ballesté, Mateo-Sanz, Sebé 2006)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.algorithm.mdav import all_left
from shoal.kernels.mhm import cheapest_runs, nearest_path
from shoal.search.points import points_of, take_points
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.kernels.mdav import Points
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


SLICE_COMPARISONS = 100_000_000


@dataclass(frozen=True, kw_only=True)
class MHM(Algorithm):
    """A path through all records, cut into runs of k to 2k − 1 with the least squared error.

    The path (nearest point next): it begins with the record farthest from the average and goes to
    the record nearest to the last one, until all are on it. The cut (multivariate Hansen and
    Mukherjee): arcs join places of the path that are k to 2k − 1 records apart, an arc costs the
    squared error of its records around their mean, and the shortest way from the beginning to the
    end is the grouping. Of the paper's paths this is one; those of MDAV and CBFS are not offered.

    Distances are those of `mdav`: Euclidean on standardised columns, whatever the measure; values
    that are no numbers differ or do not, and their average is the most frequent one.

    Guarantee: every group has k to 2k − 1 records; no cut of the path has a smaller error.
    Cost: O(n²) comparisons for the path, O(n · k) for the cut.
    Determinism: no chance involved but the shuffled row order, where distances tie.
    """

    name = "mhm"
    title = "microaggregation: a path of nearest records, cut optimally"
    citation = "Domingo-Ferrer, Martínez-Ballesté, Mateo-Sanz, Sebé 2006"
    whole_rows = 30_000

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        points = points_of(table)
        path = path_of_nearest(points, run)
        ends = _best_cut(take_points(points, path), run.k)
        label = np.empty(table.n_rows, np.int32)
        label[path] = np.repeat(np.arange(len(ends) - 1, dtype=np.int32), np.diff(ends))
        return Partition(label, len(ends) - 1)


def path_of_nearest(points: Points, run: Run) -> NDArray[np.int64]:
    """Return the rows from the one farthest from the average to the nearest one left, and on."""
    n = points.numbers.shape[1]
    left = all_left(points, run.k)
    path, label, n_left = np.empty(n, np.int64), np.empty(n, np.int32), n
    while n_left:
        run.progress(n - n_left, n, "clustering")
        steps = math.ceil(SLICE_COMPARISONS / n_left)
        n_left = nearest_path(left, n_left, steps, n - n_left, label, path)
    return path


def _best_cut(points: Points, k: int) -> list[int]:
    """Return where the runs of the best cut end, with 0 before."""
    n = points.numbers.shape[1]
    sizes = [int(codes.max(initial=0)) + 1 for codes in points.levels]
    first = np.cumsum([0, *sizes]).astype(np.int64)
    cost, start = np.empty(n + 1), np.zeros(n + 1, np.int64)
    counts = np.zeros(int(first[-1]), np.int64)
    room = np.empty(len(points.numbers) + len(sizes))
    cheapest_runs(points, first, k, counts, room, cost, start)
    ends = [n]
    while ends[-1]:
        ends.append(int(start[ends[-1]]))
    return ends[::-1]
