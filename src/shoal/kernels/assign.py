"""New rows to the groups that are there: each to the one it is cheapest to join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.kernels.groups import union_costs
from shoal.kernels.jit import kernel
from shoal.kernels.scan import load_query

if TYPE_CHECKING:
    from shoal.kernels.space import ClosedGroups, Labels, Scratch, Space


@kernel
def assign_rows(
    space: Space,
    groups: ClosedGroups,
    n_groups: int,
    start: int,
    stop: int,
    scratch: Scratch,
    labels: Labels,
) -> None:
    """Write the cheapest group of rows start … stop-1, which stand behind the n_groups groups."""
    for i in range(start, stop):
        load_query(space, groups.columns, i, scratch.query)
        union_costs(space, groups, i, n_groups, scratch)
        best = 0
        for h in range(1, n_groups):
            if scratch.out[h] < scratch.out[best]:
                best = h
        labels[i - n_groups] = best
