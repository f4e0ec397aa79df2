"""Row suppression: leave out the outliers that cost others more than they cost themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.suppress import EndsScratch, marginal_costs
from shoal.search.enforce import GroupState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Scanner
    from shoal.table.partition import Partition

__all__ = ["everything_cost", "find_outliers"]


def everything_cost(scanner: Scanner) -> NDArray[np.int64]:
    """Return what a fully generalised row costs, per sensitive value, in integer units."""
    space = scanner.space
    cost: NDArray[np.int64] = space.root_cost.sum(axis=1).astype(np.int64)
    cost += int(space.full.astype(np.int64).sum())
    cost += space.set_full.sum(axis=1)
    for e, row in enumerate(space.log_row):
        last = space.prefix_start[e + 1] - 1
        cost += space.log_cost[row, space.prefix[0, last]]
        if space.prefix.shape[0] > 1:
            part = space.prefix[1:, last]
            cost -= np.where(part > 0, space.log_part[row, part], space.log_cost[row, -1])
    return cost


def find_outliers(scanner: Scanner, partition: Partition, at_most: int) -> NDArray[np.int64]:
    """Return up to ``at_most`` rows whose marginal loss exceeds what suppressing them costs.

    The marginal loss of a row is what its group would cost less without it; a suppressed row
    counts as fully generalised. Rows are ranked by marginal loss, ties by position.
    """
    state = GroupState(scanner, partition)
    gain = np.zeros(scanner.n_rows, np.int64)
    longest = int(partition.sizes.max(initial=1))
    scratch = EndsScratch(scanner.query(), scanner.query(), scanner.groups(longest))
    marginal_costs(scanner.records, partition.order, partition.starts, state.closed, scratch, gain)
    gain -= everything_cost(scanner)[scanner.classes]
    ranked = np.lexsort((np.arange(scanner.n_rows), -gain))[:at_most]
    return ranked[gain[ranked] > 0]
