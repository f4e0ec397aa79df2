"""New rows to the groups that are there: each to the one it is cheapest to join."""

from __future__ import annotations

from typing import Any

from shoal.kernels.jit import kernel
from shoal.kernels.merge import union_costs
from shoal.kernels.scan import load_query

__all__ = ["assign_rows"]


@kernel
def assign_rows(
    space: Any,
    columns: Any,
    hists: Any,
    costs: Any,
    n_groups: int,
    start: int,
    stop: int,
    query: Any,
    spare: Any,
    out: Any,
    labels: Any,
) -> None:
    """Write the cheapest group of columns start … stop-1; the first n_groups are the groups."""
    for i in range(start, stop):
        load_query(space, columns, i, query)
        union_costs(space, columns, hists, costs, i, n_groups, query, spare, out)
        best = 0
        for h in range(1, n_groups):
            if out[h] < out[best]:
                best = h
        labels[i - n_groups] = best
