"""Clusters that grow by their cheapest row until they lose too much (Loukides and Shao)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.blocks import RowBlocks, RowScratch, bound_scan, remove_row
from shoal.kernels.bundle import bundle
from shoal.kernels.codes import store_query
from shoal.kernels.groups import group_cost
from shoal.kernels.jit import helper, kernel
from shoal.kernels.k_member import cheapest_row
from shoal.kernels.scan import absorb, charge_scan, join_one, join_scan, load_query, own_cost

if TYPE_CHECKING:
    from shoal.kernels.space import (
        ClosedGroups,
        Columns,
        Counts,
        Labels,
        Places,
        Query,
        Records,
        Scratch,
        Space,
        Totals,
    )


ZERO = np.int64(0)
FREE = -2
DELETED = -1


@bundle
class Growing(NamedTuple):
    """The cluster that grows."""

    query: Query  # its closure
    hist: Counts  # int64 [classes]: its members
    base: Totals  # int64 [classes]: what its seed costs alone
    members: Places  # int64 [rows]


@bundle
class Limits(NamedTuple):
    """When a cluster is full, and when it is too small."""

    everything: Totals  # int64 [classes]: cost of full generalisation
    threshold: float  # largest loss, as a share of what full generalisation loses
    k: int


@helper
def _position(ids: Places, start: int, row: int) -> int:
    at = start
    while ids[at] != row:
        at += 1
    return at


@helper
def _take(space: Space, rows: RowBlocks, b: int, at: int, cluster: Growing, classes: Labels) -> int:
    """Join the row at a position of block b into the cluster; return its id."""
    row = rows.ids[at]
    absorb(space, rows.columns, cluster.query, at)
    cluster.hist[classes[row]] += 1
    remove_row(rows, b, at)
    return row


@helper
def _take_covered(
    space: Space, rows: RowBlocks, cluster: Growing, classes: Labels, scratch: RowScratch, size: int
) -> int:
    """Join all rows that cost the cluster nothing more; return its size.

    They are what the cheapest rows would be for the next turns, whatever their order: the cost
    per member stays as it is while they join. Only for costs without sensitive values.
    """
    query, spare, floor = cluster.query, scratch.spare, scratch.floor
    own = own_cost(space, query, ZERO)
    bound_scan(space, rows.closures, query, scratch.bound)
    for b in range(rows.alive.shape[0]):
        if rows.alive[b] == 0 or max(scratch.bound[b], floor[b]) > own:
            continue
        start = rows.starts[b]
        stop = start + rows.alive[b]
        join_scan(space, rows.columns, query, ZERO, start, stop, spare)
        least = np.int64(1 << 62)
        for i in range(stop - 1, start - 1, -1):  # backwards: the hole is filled from behind
            cost = np.int64(spare[i - start])
            if cost > own:
                least = min(least, cost)
            else:
                cluster.members[size] = _take(space, rows, b, i, cluster, classes)
                size += 1
        floor[b] = least
    return size


@helper
def _exceeds(
    space: Space, cols: Columns, cluster: Growing, own_class: int, at: int, limits: Limits
) -> bool:
    """Whether the cluster with the row at a position would lose more than the threshold allows."""
    hist, base = cluster.hist, cluster.base
    loss = np.int64(0)
    full = np.int64(0)
    for y in range(hist.shape[0]):
        count = hist[y] + (1 if y == own_class else 0)
        if count > 0:
            loss += count * (join_one(space, cols, cluster.query, y, at) - base[y])
            full += count * (limits.everything[y] - base[y])
    return bool(loss > limits.threshold * max(full, ZERO))


@kernel
def grow_to_threshold(
    space: Space,
    rows: RowBlocks,
    block_of: Places,
    classes: Labels,
    seeds: Places,
    limits: Limits,
    n_clusters: int,
    groups: ClosedGroups,
    label: Labels,
    cluster: Growing,
    scratch: RowScratch,
) -> int:
    """Grow a cluster around every seed that is still free; return the number of clusters so far.

    A cluster ends before the row that would take its loss (beyond its seed's own cost) above the
    threshold, as a share of what full generalisation would lose. Clusters below k are deleted.
    """
    ids, query, hist, members = rows.ids, cluster.query, cluster.hist, cluster.members
    for p in range(seeds.shape[0]):
        if label[seeds[p]] != FREE:
            continue
        b = block_of[seeds[p]]
        at = _position(ids, rows.starts[b], seeds[p])
        load_query(space, rows.columns, at, query)
        for y in range(hist.shape[0]):
            cluster.base[y] = own_cost(space, query, y)
        hist[:] = 0
        scratch.floor[:] = -1
        members[0] = _take(space, rows, b, at, cluster, classes)
        size = np.int64(1)
        while True:
            if hist.shape[0] == 1:
                size = _take_covered(space, rows, cluster, classes, scratch, size)
            at = cheapest_row(space, rows, query, hist, classes, label, ZERO, ZERO, scratch)
            if at < 0:
                break
            own_class = np.int64(classes[ids[at]])
            if _exceeds(space, rows.columns, cluster, own_class, at, limits):
                break
            b = block_of[ids[at]]
            members[size] = _take(space, rows, b, at, cluster, classes)
            size += 1
        kept = size >= limits.k
        for m in range(size):
            label[members[m]] = n_clusters if kept else DELETED
        if kept:
            store_query(groups.columns, n_clusters, query)
            for y in range(hist.shape[0]):
                groups.hists[y, n_clusters] = hist[y]
            groups.costs[n_clusters] = group_cost(space, query, groups.hists, n_clusters)
            groups.sizes[n_clusters] = size
            n_clusters += 1
    return n_clusters


@kernel
def join_cheapest(
    records: Records,
    rows: Places,
    join: bool,
    groups: ClosedGroups,
    scratch: Scratch,
    label: Labels,
    rise: Totals,
) -> None:
    """Find for each row the group whose total cost rises least; if asked to, join it at once."""
    space, classes, columns = records.space, records.classes, groups.columns
    query, total = scratch.query, scratch.out
    n = groups.costs.shape[0]
    for p in range(rows.shape[0]):
        i = rows[p]
        load_query(space, records.columns, i, query)
        for y in range(groups.hists.shape[0]):
            own, counts = np.int64(1 if classes[i] == y else 0), groups.hists[y]
            charge_scan(
                space, columns, query, own, counts, y, ZERO, np.int64(n), scratch.spare, total
            )
        for g in range(n):
            total[g] -= groups.costs[g]
        best = np.int64(0)
        for g in range(1, n):
            if total[g] < total[best]:
                best = np.int64(g)
        rise[p] = total[best]
        if join:
            label[i] = best
            load_query(space, columns, best, query)
            absorb(space, records.columns, query, i)
            store_query(columns, best, query)
            groups.hists[classes[i], best] += 1
            groups.costs[best] += total[best]
            groups.sizes[best] += 1
