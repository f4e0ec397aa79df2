"""Records against the centroids of many clusters (One-pass K-means).

A centroid is a column like a closure, its numeric intervals being the mean, rounded down. So the
common scan gives the distance to it but for the rounding, and that is enough to leave out nearly
all clusters; only for the few that are left is the distance to the exact mean computed. Clusters
stand in blocks of similar ones, and a block that cannot hold the closest cluster is not scanned.
The result is that of comparing with every cluster, ties included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.blocks import block_at, bound_scan, close_inside, least_of
from shoal.kernels.bundle import bundle
from shoal.kernels.codes import store_query
from shoal.kernels.jit import helper, inlined_helper, kernel
from shoal.kernels.scan import absorb, charge_scan, join_scan, load_query

if TYPE_CHECKING:
    from shoal.kernels.space import (
        Codes,
        Columns,
        Costs,
        Counts,
        Flags,
        Labels,
        Places,
        Query,
        Space,
        Totals,
    )


ZERO = np.int64(0)
FAR = np.int64(1) << 62
REFRESH = 16
CHUNK = 64


@bundle
class OkaRecords(NamedTuple):
    """All records, and what they mean."""

    space: Space
    columns: Columns
    closures: Columns  # the same Columns without linear ones, which have means instead
    classes: Labels  # int32 [records]


@bundle
class OkaScratch(NamedTuple):
    """Where one record is compared with the clusters of a block."""

    query: Query
    joined: Query  # Query without linear columns: the cluster that the record joins
    spare: Costs  # COST [longest block]
    out: Totals  # int64 [longest block]


@bundle
class Centroids(NamedTuple):
    """Centroids of many clusters: means of the linear columns, closures of all others."""

    columns: Columns  # the mean rounded down is low and high; full width: there is none
    closures: Columns  # the same Columns without linear ones
    hists: Counts  # int64 [classes, clusters]
    sums: Totals  # int64 [linear, clusters]: of the values that are not missing
    gaps: Counts  # int64 [linear, clusters]: missing values (no columns: there are none)
    sizes: Counts  # int64 [clusters]
    numbers: Places  # int64 [clusters]: the lowest wins a tie
    live: Flags  # bool [clusters]: whether records may join


@bundle
class CentroidBlocks(NamedTuple):
    """Blocks of similar clusters, and what bounds the distance to the live ones of each."""

    starts: Places  # int64 [blocks + 1]
    block_of: Places  # int64 [clusters]
    inner: Columns  # inner closures
    least: Counts  # int64 [blocks]: size of the smallest live cluster; 0 if none is live
    number: Places  # int64 [blocks]: lowest number of a cluster
    joined: Places  # int64 [blocks]: records since the bounds were computed anew
    bound: Totals  # int64 [blocks]: least distance of the record at hand, or a lower bound
    nearest: Places  # int64 [blocks]: cluster at that distance; −1 if it is only a bound


@inlined_helper
def _linear(full: Costs, place: Costs, c: Centroids, i: int, g: int) -> int:
    """Return Σ |size · x − Σx| of record i and cluster g over the linear columns.

    Missing lies at full distance from any value, and a cluster that mixes them has no mean: it is
    at full distance from every record.
    """
    total = np.int64(0)
    for j in range(full.shape[0]):
        x = np.int64(place[j, i])
        whole = np.int64(full[j])
        gap = c.gaps[j, g] if c.gaps.shape[1] > 0 else ZERO
        if gap == 0 and x <= whole:
            total += abs(c.sizes[g] * x - c.sums[j, g])
        elif gap < c.sizes[g] or x <= whole:
            total += c.sizes[g] * whole
    return total


@inlined_helper
def _rounded(full: Costs, place: Costs, c: Centroids, i: int, g: int) -> int:
    """Return what the scan charges record i for the linear columns of cluster g."""
    total = np.int64(0)
    for j in range(full.shape[0]):
        x = np.int64(place[j, i])
        high = max(x, np.int64(c.columns.high[j, g]))
        total += min(np.int64(full[j]), high - min(x, np.int64(c.columns.low[j, g])))
    return total


@helper
def _scan_all(
    records: OkaRecords, c: Centroids, i: int, b: int, blocks: CentroidBlocks, scratch: OkaScratch
) -> None:
    """Find the cluster of block b closest to record i where costs depend on sensitive values."""
    space, place, out = records.space, records.columns.low, scratch.out
    query, spare = scratch.query, scratch.spare
    start = blocks.starts[b]
    stop = blocks.starts[b + 1]
    for y in range(c.hists.shape[0]):
        charge_scan(space, c.closures, query, ZERO, c.hists[y], y, start, stop, spare, out)
    least = FAR
    near = np.int64(-1)
    for g in range(start, stop):
        d = out[g - start] + _linear(space.full, place, c, i, g)
        if c.live[g] and (d < least or (d == least and c.numbers[g] < c.numbers[near])):
            least = d
            near = np.int64(g)
    blocks.bound[b] = least
    blocks.nearest[b] = near


@inlined_helper
def _scan_block(
    records: OkaRecords,
    c: Centroids,
    i: int,
    b: int,
    best: int,
    blocks: CentroidBlocks,
    scratch: OkaScratch,
) -> None:
    """Find the cluster of block b closest to record i, if it is no farther than best.

    Rounding a mean down changes the distance by less than the size per linear column.
    """
    space, place, spare = records.space, records.columns.low, scratch.spare
    start = blocks.starts[b]
    stop = blocks.starts[b + 1]
    m = stop - start
    join_scan(space, c.columns, scratch.query, ZERO, start, stop, spare)
    low = least_of(spare, ZERO, m)
    off = np.int64(space.full.shape[0])
    size = blocks.least[b]
    blocks.nearest[b] = -1
    blocks.bound[b] = size * (np.int64(low) - off)
    if blocks.bound[b] > best:
        return
    near = np.int64(-1)
    highest = best // size + off  # what costs more is farther than the best
    for first in range(0, m, CHUNK):
        last = min(m, first + CHUNK)
        if np.int64(least_of(spare, first, last)) > highest:
            continue
        costs = spare[first:last]
        sizes = c.sizes[start + first : start + last]
        near_by = FAR
        for h in range(last - first):
            near_by = min(near_by, sizes[h] * (np.int64(costs[h]) - off))
        if near_by > best:
            continue
        for h in range(first, last):
            if np.int64(spare[h]) > highest:
                continue
            g = start + h
            if not c.live[g] or c.sizes[g] * (np.int64(spare[h]) - off) > best:
                continue
            tree = np.int64(spare[h]) - _rounded(space.full, place, c, i, g)
            d = c.sizes[g] * tree + _linear(space.full, place, c, i, g)
            if d < best or (d == best and (near < 0 or c.numbers[g] < c.numbers[near])):
                best = d
                near = np.int64(g)
                highest = best // size + off
    blocks.bound[b] = best if near >= 0 else best + 1
    blocks.nearest[b] = near


@inlined_helper
def _closest_cluster(
    records: OkaRecords, c: Centroids, blocks: CentroidBlocks, i: int, scratch: OkaScratch
) -> int:
    """Return the live cluster closest to record i (the query); ties go to the lowest number."""
    n_blocks = blocks.least.shape[0]
    first = np.int64(0)
    for b in range(1, n_blocks):
        if blocks.bound[b] < blocks.bound[first]:
            first = np.int64(b)
    best = np.int64(-1)
    least = FAR
    for turn in range(n_blocks):
        b = block_at(np.int64(turn), first)
        if blocks.bound[b] > least or blocks.least[b] == 0:
            continue
        if blocks.bound[b] == least and best >= 0 and blocks.number[b] > c.numbers[best]:
            continue
        if blocks.nearest[b] < 0:
            if c.hists.shape[0] > 1:
                _scan_all(records, c, i, b, blocks, scratch)
            else:
                _scan_block(records, c, i, b, least, blocks, scratch)
        near = blocks.nearest[b]
        d = blocks.bound[b]
        if near >= 0 and (d < least or (d == least and c.numbers[near] < c.numbers[best])):
            least = d
            best = near
    return best


@inlined_helper
def _bounds(space: Space, blocks: CentroidBlocks, query: Query) -> None:
    """Write a lower bound of the distance of the query to any cluster of each block."""
    bound = blocks.bound
    off = np.int64(space.full.shape[0])
    bound_scan(space, blocks.inner, query, bound)
    for b in range(bound.shape[0]):
        bound[b] = blocks.least[b] * (bound[b] - off) if blocks.least[b] > 0 else FAR
        blocks.nearest[b] = -1


@helper
def _describe(c: Centroids, blocks: CentroidBlocks, b: int) -> None:
    """Compute anew what bounds the distance to the live clusters of block b."""
    start = blocks.starts[b]
    stop = blocks.starts[b + 1]
    close_inside(c.columns, c.live, start, stop, blocks.inner, b)
    least = np.int64(0)
    for g in range(start, stop):
        if c.live[g] and (least == 0 or c.sizes[g] < least):
            least = c.sizes[g]
    blocks.least[b] = least
    blocks.joined[b] = 0


@helper
def _widen(c: Centroids, blocks: CentroidBlocks, b: int, g: int) -> None:
    """Let the bounds of block b hold for the new mean of its cluster g; all else still holds."""
    for j in range(c.columns.low.shape[0]):
        blocks.inner.low[j, b] = min(blocks.inner.low[j, b], c.columns.high[j, g])
        blocks.inner.high[j, b] = max(blocks.inner.high[j, b], c.columns.low[j, g])


@helper
def _count(records: OkaRecords, c: Centroids, g: int, i: int) -> None:
    """Update sums, counts and means of cluster g when record i joins."""
    c.sizes[g] += 1
    c.hists[records.classes[i], g] += 1
    for j in range(c.sums.shape[0]):
        x = np.int64(records.columns.low[j, i])
        full = np.int64(records.space.full[j])
        gap = np.int64(0)
        if c.gaps.shape[1] > 0:
            c.gaps[j, g] += 1 if x > full else 0
            gap = c.gaps[j, g]
        c.sums[j, g] += x if x <= full else 0
        mean = c.sums[j, g] // c.sizes[g]
        c.columns.low[j, g] = mean if gap == 0 else 2 * full if gap == c.sizes[g] else 0
        c.columns.high[j, g] = mean if gap == 0 else 2 * full


@helper
def _differ(columns: Codes, i: int, h: int) -> bool:
    found = False
    for j in range(columns.shape[0]):
        found = found or columns[j, i] != columns[j, h]
    return found


@helper
def _same(rows: Columns, i: int, h: int) -> bool:
    """Whether two records are equal in every column."""
    return not (
        _differ(rows.lev8, i, h)
        or _differ(rows.lev16, i, h)
        or _differ(rows.lev32, i, h)
        or _differ(rows.low, i, h)
        or _differ(rows.clow, i, h)
        or _differ(rows.bits, i, h)
    )


@kernel
def start_clusters(
    records: OkaRecords, order: Places, starts: Places, c: Centroids, query: Query
) -> None:
    """Compute the centroid of each cluster; number g has records order[starts[g]:starts[g + 1]].

    The query has no linear columns. No cluster is empty.
    """
    space, closures = records.space, records.closures
    c.hists[:] = 0
    c.sums[:] = 0
    c.gaps[:] = 0
    c.sizes[:] = 0
    c.live[:] = True
    for p in range(c.sizes.shape[0]):
        g = c.numbers[p]
        load_query(space, closures, order[starts[g]], query)
        for q in range(starts[g], starts[g + 1]):
            absorb(space, closures, query, order[q])
            _count(records, c, p, order[q])
        store_query(c.closures, p, query)


@kernel
def assign_rows(
    records: OkaRecords,
    todo: Places,
    limit: int,
    keep: int,
    c: Centroids,
    blocks: CentroidBlocks,
    scratch: OkaScratch,
    label: Labels,
) -> int:
    """Add each record to its closest cluster and update that centroid at once.

    A cluster that reaches ``limit`` records (0: no limit) takes no more; with no more than
    ``keep`` clusters left that do, this stops. Returns how many records were assigned. Ties go to
    the lowest number. A record that equals the one before it looks again only at the block that
    has changed since, and at blocks that were skipped then.
    """
    space, query, joined = records.space, scratch.query, scratch.joined
    n_live = 0
    for g in range(c.sizes.shape[0]):
        c.live[g] = limit == 0 or c.sizes[g] < limit
        n_live += 1 if c.live[g] else 0
    for b in range(blocks.least.shape[0]):
        _describe(c, blocks, np.int64(b))
    for p in range(todo.shape[0]):
        if n_live <= keep:
            return p
        i = todo[p]
        if p == 0 or not _same(records.columns, i, todo[p - 1]):
            load_query(space, records.columns, i, query)
            _bounds(space, blocks, query)
        best = _closest_cluster(records, c, blocks, i, scratch)
        label[i] = c.numbers[best]
        load_query(space, c.closures, best, joined)
        absorb(space, records.closures, joined, i)
        store_query(c.closures, best, joined)
        _count(records, c, best, i)
        if c.sizes[best] == limit:
            n_live -= 1
            c.live[best] = False
        b = blocks.block_of[best]
        blocks.joined[b] += 1
        if blocks.joined[b] < REFRESH and c.live[best]:
            _widen(c, blocks, b, best)
        else:
            _describe(c, blocks, b)
        blocks.bound[b] = -FAR if blocks.least[b] > 0 else FAR
        blocks.nearest[b] = -1
    return todo.shape[0]


@kernel
def centroid_distances(records: OkaRecords, position: Places, c: Centroids, out: Totals) -> None:
    """Write how far each record lies from the centroid of the cluster at its position.

    Only linear columns tell records apart: the centroid of any other column covers them all.
    """
    for i in range(position.shape[0]):
        out[i] = _linear(records.space.full, records.columns.low, c, i, np.int64(position[i]))
