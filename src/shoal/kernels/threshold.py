"""Clusters that grow by their cheapest row until they lose too much (Loukides and Shao)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.blocks import bound_scan, remove_row
from shoal.kernels.codes import store_query
from shoal.kernels.grow import cheapest_row
from shoal.kernels.jit import kernel, scan_helper
from shoal.kernels.merge import group_cost
from shoal.kernels.scan import absorb, charge_scan, join_one, join_scan, load_query, own_cost

ZERO = np.int64(0)
FREE = -2
DELETED = -1

__all__ = ["DELETED", "FREE", "grow_to_threshold", "join_cheapest"]


@scan_helper
def _position(ids: Any, start: int, row: int) -> int:
    at = start
    while ids[at] != row:
        at += 1
    return at


@scan_helper
def _take(
    space: Any,
    cols: Any,
    starts: Any,
    alive: Any,
    ids: Any,
    b: int,
    at: int,
    query: Any,
    hist: Any,
    classes: Any,
) -> int:
    """Join the row at a position of block b into the cluster; return its id."""
    row = ids[at]
    absorb(space, cols, query, at)
    hist[classes[row]] += 1
    remove_row(cols, ids, starts, alive, b, at)
    return row


@scan_helper
def _take_covered(
    space: Any,
    cols: Any,
    blocks: Any,
    starts: Any,
    alive: Any,
    ids: Any,
    query: Any,
    hist: Any,
    classes: Any,
    bound: Any,
    floor: Any,
    spare: Any,
    members: Any,
    size: int,
) -> int:
    """Join all rows that cost the cluster nothing more; return its size.

    They are what the cheapest rows would be for the next turns, whatever their order: the cost
    per member stays as it is while they join. Only for costs without sensitive values.
    """
    own = own_cost(space, query, ZERO)
    bound_scan(space, blocks, query, bound)
    for b in range(alive.shape[0]):
        if alive[b] == 0 or max(bound[b], floor[b]) > own:
            continue
        start = starts[b]
        stop = start + alive[b]
        join_scan(space, cols, query, ZERO, start, stop, spare)
        least = np.int64(1 << 62)
        for i in range(stop - 1, start - 1, -1):  # backwards: the hole is filled from behind
            cost = np.int64(spare[i - start])
            if cost > own:
                least = min(least, cost)
            else:
                members[size] = _take(space, cols, starts, alive, ids, b, i, query, hist, classes)
                size += 1
        floor[b] = least
    return size


@scan_helper
def _exceeds(
    space: Any,
    cols: Any,
    query: Any,
    hist: Any,
    own_class: int,
    at: int,
    base: Any,
    everything: Any,
    threshold: float,
) -> bool:
    """Whether the cluster with the row at a position would lose more than the threshold allows."""
    loss = np.int64(0)
    full = np.int64(0)
    for y in range(hist.shape[0]):
        count = hist[y] + (1 if y == own_class else 0)
        if count > 0:
            loss += count * (join_one(space, cols, query, y, at) - base[y])
            full += count * (everything[y] - base[y])
    return bool(loss > threshold * max(full, ZERO))


@kernel
def grow_to_threshold(
    space: Any,
    cols: Any,
    blocks: Any,
    starts: Any,
    alive: Any,
    ids: Any,
    block_of: Any,
    classes: Any,
    seeds: Any,
    everything: Any,
    threshold: float,
    k: int,
    n_clusters: int,
    groups: Any,
    hists: Any,
    costs: Any,
    label: Any,
    query: Any,
    hist: Any,
    base: Any,
    bound: Any,
    floor: Any,
    spare: Any,
    total: Any,
    members: Any,
) -> int:
    """Grow a cluster around every seed that is still free; return the number of clusters so far.

    A cluster ends before the row that would take its loss (beyond its seed's own cost) above the
    threshold, as a share of what full generalisation would lose. Clusters below k are deleted.
    """
    for p in range(seeds.shape[0]):
        if label[seeds[p]] != FREE:
            continue
        b = block_of[seeds[p]]
        at = _position(ids, starts[b], seeds[p])
        load_query(space, cols, at, query)
        for y in range(hist.shape[0]):
            base[y] = own_cost(space, query, y)
        hist[:] = 0
        floor[:] = -1
        members[0] = _take(space, cols, starts, alive, ids, b, at, query, hist, classes)
        size = np.int64(1)
        while True:
            if hist.shape[0] == 1:
                size = _take_covered(
                    space,
                    cols,
                    blocks,
                    starts,
                    alive,
                    ids,
                    query,
                    hist,
                    classes,
                    bound,
                    floor,
                    spare,
                    members,
                    size,
                )
            at = cheapest_row(
                space,
                cols,
                blocks,
                starts,
                alive,
                ids,
                query,
                hist,
                classes,
                label,
                ZERO,
                ZERO,
                bound,
                floor,
                spare,
                total,
            )
            if at < 0:
                break
            own_class = np.int64(classes[ids[at]])
            if _exceeds(space, cols, query, hist, own_class, at, base, everything, threshold):
                break
            b = block_of[ids[at]]
            members[size] = _take(space, cols, starts, alive, ids, b, at, query, hist, classes)
            size += 1
        kept = size >= k
        for m in range(size):
            label[members[m]] = n_clusters if kept else DELETED
        if kept:
            store_query(groups, n_clusters, query)
            for y in range(hist.shape[0]):
                hists[y, n_clusters] = hist[y]
            costs[n_clusters] = group_cost(space, query, hists, n_clusters)
            n_clusters += 1
    return n_clusters


@kernel
def join_cheapest(
    space: Any,
    cols: Any,
    rows: Any,
    classes: Any,
    join: Any,
    groups: Any,
    hists: Any,
    costs: Any,
    query: Any,
    spare: Any,
    total: Any,
    label: Any,
    rise: Any,
) -> None:
    """Find for each row the group whose total cost rises least; if asked to, join it at once."""
    n = costs.shape[0]
    for p in range(rows.shape[0]):
        i = rows[p]
        load_query(space, cols, i, query)
        for y in range(hists.shape[0]):
            own = np.int64(1 if classes[i] == y else 0)
            charge_scan(space, groups, query, own, hists[y], y, ZERO, np.int64(n), spare, total)
        for g in range(n):
            total[g] -= costs[g]
        best = np.int64(0)
        for g in range(1, n):
            if total[g] < total[best]:
                best = np.int64(g)
        rise[p] = total[best]
        if join:
            label[i] = best
            load_query(space, groups, best, query)
            absorb(space, cols, query, i)
            store_query(groups, best, query)
            hists[classes[i], best] += 1
            costs[best] += total[best]
