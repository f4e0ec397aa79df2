"""Row suppression: leave out who costs others most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.kernels.suppress import EndsScratch, marginal_costs
from shoal.search.enforce import GroupState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Scanner
    from shoal.table.partition import Partition


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


def group_losses(scanner: Scanner, partition: Partition) -> NDArray[Any]:
    """Return what the rows of each group lose together, in the unit of the search."""
    if scanner.points is not None:
        from shoal.search.refine_means import group_errors

        return group_errors(scanner.points, partition)
    return GroupState(scanner, partition).costs


def marginal_losses(scanner: Scanner, partition: Partition) -> NDArray[np.int64]:
    """Return what the group of each row would cost less without it."""
    state = GroupState(scanner, partition)
    gain = np.zeros(scanner.n_rows, np.int64)
    longest = int(partition.sizes.max(initial=1))
    scratch = EndsScratch(scanner.query(), scanner.query(), scanner.groups(longest))
    marginal_costs(scanner.records, partition.order, partition.starts, state.closed, scratch, gain)
    return gain


def find_outliers(scanner: Scanner, partition: Partition, at_most: int) -> NDArray[np.int64]:
    """Return up to ``at_most`` rows whose marginal loss exceeds what suppressing them costs.

    The marginal loss of a row is what its group would cost less without it; a suppressed row
    counts as fully generalised. Rows are ranked by marginal loss, ties by position.
    """
    gain = marginal_losses(scanner, partition)
    gain -= everything_cost(scanner)[scanner.classes]
    ranked = np.lexsort((np.arange(scanner.n_rows), -gain))[:at_most]
    return ranked[gain[ranked] > 0]


def dearest_groups(scanner: Scanner, partition: Partition, at_most: int) -> NDArray[np.int64]:
    """Return the rows of whole groups, those that lose most per row first, up to ``at_most`` rows.

    A group that is larger than what is left of the allowance is passed over, and one that loses
    nothing stays. Ties: the lowest group.
    """
    costs, sizes = group_losses(scanner, partition), partition.sizes
    chosen = []
    for g in np.argsort(-(costs / sizes), kind="stable").tolist():
        if costs[g] > 0 and sizes[g] <= at_most:
            chosen.append(partition.rows_of(g))
            at_most -= int(sizes[g])
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, np.int64)


def dearest_rows(scanner: Scanner, partition: Partition, at_most: int) -> NDArray[np.int64]:
    """Return up to ``at_most`` rows whose groups save most without them; ties: by position."""
    gain = marginal_losses(scanner, partition)
    ranked = np.lexsort((np.arange(scanner.n_rows), -gain))[:at_most]
    return ranked[gain[ranked] > 0]
