"""r-gather, clusters of small radius (Aggarwal, Feder, Kenthapadi, Khuller et al.: PODS 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Run, Scanner
    from shoal.table.encode import EncodedTable

    Rows = NDArray[np.int64]
    Distances = NDArray[np.int64]

FREE = -1


@dataclass(frozen=True, kw_only=True)
class RGather(Algorithm):
    """Clusters of at least k records around centres, the largest radius at most twice the optimum.

    For a distance d: the first record that is not marked becomes a centre and marks all within d,
    until all are marked. d will do if every record has k − 1 others within d, and if k records
    within d can be found for every centre, no record for two of them: a flow from centres to
    records. The smallest d that will do is looked for by halving; every centre keeps the records
    of the flow, and all others join the closest centre.

    The distance of two records is what generalising both costs under the chosen measure. The
    guarantee is that of the paper where this is a metric, as it is for `ncp`, `lm` and `tree`.

    Guarantee: every cluster has at least k records, all of them within twice the radius of the
    best clustering whose largest radius is smallest.
    Cost: O(n²) comparisons, and O(n · centres) for each of some thirty values of d.
    Determinism: no chance but the run's shuffle; ties go to the lowest row.
    """

    name = "r-gather"
    title = "clusters around centres, the largest radius small"
    citation = "Aggarwal, Feder, Kenthapadi, Khuller, Panigrahy, Thomas, Zhu 2006, section 2"
    whole_rows = 10_000

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        del table  # the costs say all that is looked at
        low, high = _reach_of_k(run)
        found = _gather(run, high)
        assert found is not None  # one centre, around which everything lies
        while low < high:
            run.progress(0, 0, "looking for the radius")
            middle = (low + high) // 2
            tried = _gather(run, middle)
            if tried is None:
                low = middle + 1
            else:
                found, high = tried, middle
        return Partition.from_labels(found)


def distances_from(scanner: Scanner, row: int) -> Distances:
    """Return what a pair of this row and each other one costs; nothing for the row itself."""
    costs = scanner.costs_with([row])
    costs[row] = 0
    return costs


def _reach_of_k(run: Run) -> tuple[int, int]:
    """Return the distance within which every row has k − 1 others, and the largest there is."""
    low, high, n = 0, 0, run.scanner.n_rows
    for row in range(n):
        if row % 1000 == 0:
            run.progress(row, n, "measuring distances")
        costs = distances_from(run.scanner, row)
        low = max(low, int(np.partition(costs, run.k - 1)[run.k - 1]))
        high = max(high, int(costs.max()))
    return low, high


def _gather(run: Run, reach: int) -> Rows | None:
    """Return the centre of each row, None if some centre cannot have k rows within reach."""
    n = run.scanner.n_rows
    nearest, distance = np.full(n, FREE), np.full(n, np.iinfo(np.int64).max)
    within: list[Rows] = []
    marked = np.zeros(n, np.bool_)
    while not marked.all():
        centre = int(np.argmin(marked))  # the first that is not
        costs = distances_from(run.scanner, centre)
        closer = costs < distance
        nearest[closer], distance[closer] = len(within), costs[closer]
        within.append(np.flatnonzero(costs <= reach))
        marked[within[-1]] = True
    owner = np.full(n, FREE)
    for centre in range(len(within)):
        for _ in range(run.k):
            if not _augment(within, owner, centre):
                return None
    return np.where(owner == FREE, nearest, owner)


def _augment(within: list[Rows], owner: Rows, centre: int) -> bool:
    """Give a centre one more row, others passing on theirs if need be; return whether it can be."""
    came: dict[int, tuple[int, int]] = {centre: (FREE, FREE)}
    waiting = [centre]
    for at in waiting:  # grows: the nearest centres first
        free = within[at][owner[within[at]] == FREE]
        if len(free):
            row = int(free[0])
            while at != FREE:
                owner[row] = at
                at, row = came[at]  # noqa: PLW2901 - back along the way
            return True
        owners, first = np.unique(owner[within[at]], return_index=True)
        for other, place in zip(owners.tolist(), first.tolist(), strict=True):
            if other not in came:
                came[other] = (at, int(within[at][place]))
                waiting.append(other)
    return False
