"""One group against all other groups: closures, costs, nearest partner."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.codes import join_codes, load_codes, store_query
from shoal.kernels.jit import kernel, scan_helper
from shoal.kernels.scan import absorb, charge_scan, load_query, own_cost, prepare

ZERO = np.int64(0)

__all__ = ["close_groups", "group_cost", "merge_groups", "nearest_group", "union_costs"]


@scan_helper
def group_cost(space: Any, query: Any, hists: Any, g: int) -> int:
    """Return the total cost of group g, whose closure the query holds."""
    cost = np.int64(0)
    for y in range(hists.shape[0]):
        cost += hists[y, g] * own_cost(space, query, y)
    return cost


@kernel
def close_groups(
    space: Any,
    cols: Any,
    order: Any,
    starts: Any,
    classes: Any,
    query: Any,
    groups: Any,
    hists: Any,
    costs: Any,
) -> None:
    """Write closure, histogram and total cost of each group: rows order[starts[g]:starts[g+1]]."""
    hists[:] = 0
    for g in range(starts.shape[0] - 1):
        load_codes(cols, order[starts[g]], query)
        for p in range(starts[g] + 1, starts[g + 1]):
            join_codes(cols, query, order[p])
        prepare(space, query)
        for p in range(starts[g], starts[g + 1]):
            hists[classes[order[p]], g] += 1
        store_query(groups, g, query)
        costs[g] = group_cost(space, query, hists, g)


@scan_helper
def union_costs(
    space: Any,
    groups: Any,
    hists: Any,
    costs: Any,
    g: int,
    stop: int,
    query: Any,
    spare: Any,
    out: Any,
) -> None:
    """Write dist(g, h) = cost(g ∪ h) − cost(g) − cost(h) for groups h < stop; the query is g."""
    for y in range(hists.shape[0]):
        charge_scan(space, groups, query, hists[y, g], hists[y], y, ZERO, stop, spare, out)
    own = costs[g]
    for h in range(stop):
        out[h] -= own + costs[h]


@kernel
def nearest_group(
    space: Any,
    groups: Any,
    hists: Any,
    costs: Any,
    alive: Any,
    g: int,
    stop: int,
    query: Any,
    spare: Any,
    out: Any,
) -> int:
    """Return the living group whose union with g costs least more (−1: none); ties: lowest."""
    load_query(space, groups, g, query)
    union_costs(space, groups, hists, costs, g, stop, query, spare, out)
    best = np.int64(-1)
    for h in range(stop):
        if h != g and alive[h] and (best < 0 or out[h] < out[best]):
            best = h
    return best


@kernel
def merge_groups(
    space: Any, groups: Any, hists: Any, costs: Any, alive: Any, g: int, h: int, query: Any
) -> None:
    """Merge group h into group g."""
    load_query(space, groups, g, query)
    absorb(space, groups, query, h)
    store_query(groups, g, query)
    for y in range(hists.shape[0]):
        hists[y, g] += hists[y, h]
    costs[g] = group_cost(space, query, hists, g)
    alive[h] = False
