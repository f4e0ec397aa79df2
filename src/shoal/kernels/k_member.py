"""Greedy growth of clusters, exactly as a full scan would do it, skipping blocks that cannot win.

Ties always go to the smallest id (the position after the run's shuffle), so that the order in
which rows are stored and blocks are visited does not show in the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.blocks import RowBlocks, RowScratch, block_at, bound_scan, remove_row
from shoal.kernels.bundle import bundle
from shoal.kernels.codes import store_query
from shoal.kernels.jit import helper, inlined_helper, kernel
from shoal.kernels.scan import absorb, charge_scan, join_scan, load_query, own_cost

if TYPE_CHECKING:
    from shoal.kernels.space import Columns, Counts, Labels, Places, Query, Records, Scratch, Space


ZERO = np.int64(0)  # a plain 0 is a type of its own to numba, and would compile a kernel twice

FAR_FROM_LAST, FAR_FROM_FIRST, NEAREST_TO_ONE = 0, 1, 2
"""How a cluster begins: see `grow_clusters`."""


@bundle
class Cluster(NamedTuple):
    """The cluster that grows, and record r of line 6, which the next one starts far from."""

    whole: Query  # closure of its members
    centre: Query  # its first member
    hist: Counts  # int64 [classes]: its members
    last: Query  # record r
    last_class: Places  # int64 [1]: the sensitive value of record r


@bundle
class Vote(NamedTuple):
    """Class labels, where a row that is not of a cluster's majority pays a penalty."""

    labels: Labels  # int32 [rows]
    counts: Counts  # int64 [labels]: of the cluster that grows; zeros between two clusters
    seen: Places  # int64 [k + 1]: labels that have votes, in order


@inlined_helper
def _row_cost(
    space: Space,
    rows: RowBlocks,
    query: Query,
    hist: Counts,
    classes: Labels,
    start: int,
    stop: int,
    scratch: RowScratch,
) -> None:
    """Write the total cost of (cluster ∪ row) for rows start..stop; hist counts the cluster."""
    m = stop - start
    n_classes = hist.shape[0]
    spare, out = scratch.spare, scratch.total
    for y in range(n_classes):
        join_scan(space, rows.columns, query, y, start, stop, spare)
        count = hist[y]
        if n_classes == 1:
            for i in range(m):
                out[i] = (count + 1) * np.int64(spare[i])
        else:
            for i in range(m):
                own = 1 if classes[rows.ids[start + i]] == y else 0
                before = 0 if y == 0 else out[i]
                out[i] = before + (count + own) * np.int64(spare[i])


@inlined_helper
def _farthest_row(
    space: Space, rows: RowBlocks, query: Query, hist: Counts, classes: Labels, scratch: RowScratch
) -> int:
    """Return the position of the row whose join with the query costs most.

    ``hist`` describes the query as a cluster of one row. Blocks whose upper bound is below the
    best so far are skipped; class-aware costs have no such bound and visit every block.
    """
    alive, ids, bound, total = rows.alive, rows.ids, scratch.farthest, scratch.total
    n_blocks = alive.shape[0]
    bounded = hist.shape[0] == 1
    first = 0
    if bounded:
        join_scan(space, rows.closures, query, ZERO, ZERO, n_blocks, bound)
        for b in range(n_blocks):
            if alive[b] > 0 and (alive[first] == 0 or bound[b] > bound[first]):
                first = b
    best = np.int64(-(1 << 62))
    best_id = np.int64(-1)
    best_at = np.int64(-1)
    for turn in range(n_blocks):
        # the most promising block comes first, so that most others can be skipped
        b = block_at(np.int64(turn), np.int64(first))
        if alive[b] == 0:
            continue
        if bounded and 2 * np.int64(bound[b]) < best:
            continue
        start = rows.starts[b]
        stop = start + alive[b]
        _row_cost(space, rows, query, hist, classes, start, stop, scratch)
        for i in range(stop - start):
            cost = total[i]
            if cost > best or (cost == best and ids[start + i] < best_id):
                best = cost
                best_id = ids[start + i]
                best_at = start + i
    return best_at


@inlined_helper
def cheapest_row(
    space: Space,
    rows: RowBlocks,
    query: Query,
    hist: Counts,
    classes: Labels,
    labels: Labels,
    majority: int,
    penalty: int,
    scratch: RowScratch,
) -> int:
    """Return the position of the row whose join with the cluster costs least.

    The floor of a block is the least cost per member found when it was last visited for this
    cluster: costs only grow with the cluster, so it stays a lower bound. A row whose label is not
    the majority's pays the penalty on top.
    """
    alive, ids = rows.alive, rows.ids
    bound, floor, total = scratch.bound, scratch.floor, scratch.total
    n_blocks = alive.shape[0]
    bounded = hist.shape[0] == 1
    size = hist[0] + 1
    first = ZERO
    if bounded:
        bound_scan(space, rows.closures, query, bound)
        for b in range(n_blocks):
            bound[b] = max(bound[b], floor[b])
            if alive[b] > 0 and (alive[first] == 0 or bound[b] < bound[first]):
                first = b
    best = np.int64(1 << 62)
    best_id = np.int64(-1)
    best_at = np.int64(-1)
    for turn in range(n_blocks):
        b = block_at(np.int64(turn), np.int64(first))
        if alive[b] == 0:
            continue
        if bounded and size * bound[b] > best:
            continue
        start = rows.starts[b]
        stop = start + alive[b]
        _row_cost(space, rows, query, hist, classes, start, stop, scratch)
        least = np.int64(1 << 62)
        for i in range(stop - start):
            cost = total[i]
            least = min(least, cost)
            if penalty > 0 and labels[ids[start + i]] != majority:
                cost += penalty
            if cost < best or (cost == best and ids[start + i] < best_id):
                best = cost
                best_id = ids[start + i]
                best_at = start + i
        if bounded:
            floor[b] = least // size
    return best_at


@helper
def _block_of(starts: Places, i: int) -> int:
    low = 0
    high = starts.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= i:
            low = middle
        else:
            high = middle
    return low


@helper
def _remove(rows: RowBlocks, i: int) -> None:
    remove_row(rows, _block_of(rows.starts, i), i)


@helper
def _majority(votes: Counts, order: Places, n_seen: int) -> int:
    """Return the label with most votes; ties go to the label seen first."""
    best = order[0]
    for v in range(1, n_seen):
        if votes[order[v]] > votes[best]:
            best = order[v]
    return best


@helper
def _lowest_id(rows: RowBlocks) -> int:
    best_at = np.int64(-1)
    for b in range(rows.alive.shape[0]):
        for i in range(rows.starts[b], rows.starts[b] + rows.alive[b]):
            if best_at < 0 or rows.ids[i] < rows.ids[best_at]:
                best_at = i
    return best_at


@kernel
def start_from(space: Space, cols: Columns, i: int, query: Query) -> None:
    """Set the query to row i, the one picked by chance."""
    load_query(space, cols, i, query)


@kernel
def grow_clusters(
    space: Space,
    rows: RowBlocks,
    classes: Labels,
    cluster: Cluster,
    vote: Vote,
    penalty: int,
    begins: int,
    first_cluster: int,
    n_clusters: int,
    groups: Columns,
    members: Places,
    scratch: RowScratch,
) -> None:
    """Build n_clusters clusters of k rows (lines 5 to 15 of Byun's Fig. 5).

    A cluster ``begins`` with the row furthest from r of line 6, which is carried from call to call:
    the row added last (FAR_FROM_LAST) or the first of a cluster (FAR_FROM_FIRST). Or it is the
    lowest id left and the k − 1 rows nearest to that one alone (NEAREST_TO_ONE, the reading of
    Goldberger and Tassa). Members of cluster c are the ids ``members[c]``, its closure goes to
    column c of ``groups``.
    """
    ids, hist = rows.ids, cluster.hist
    k = members.shape[1]
    for c in range(first_cluster, first_cluster + n_clusters):
        hist[:] = 0
        if begins == NEAREST_TO_ONE:
            at = _lowest_id(rows)
        else:
            hist[cluster.last_class[0]] = 1
            at = _farthest_row(space, rows, cluster.last, hist, classes, scratch)
            hist[:] = 0
        scratch.floor[:] = -1
        n_seen = 0
        row = ids[at]
        load_query(space, rows.columns, at, cluster.whole)
        load_query(space, rows.columns, at, cluster.centre)
        hist[classes[row]] += 1
        members[c, 0] = row
        if begins == FAR_FROM_FIRST:
            load_query(space, rows.columns, at, cluster.last)
            cluster.last_class[0] = classes[row]
        _remove(rows, at)
        for m in range(1, k):
            majority = 0
            if penalty > 0:
                label = vote.labels[row]
                if vote.counts[label] == 0:
                    vote.seen[n_seen] = label
                    n_seen += 1
                vote.counts[label] += 1
                majority = _majority(vote.counts, vote.seen, n_seen)
            query = cluster.centre if begins == NEAREST_TO_ONE else cluster.whole
            at = cheapest_row(
                space, rows, query, hist, classes, vote.labels, majority, penalty, scratch
            )
            row = ids[at]
            absorb(space, rows.columns, cluster.whole, at)
            if begins != NEAREST_TO_ONE:
                hist[classes[row]] += 1
            if m == k - 1 and begins != FAR_FROM_FIRST:
                load_query(space, rows.columns, at, cluster.last)
                cluster.last_class[0] = classes[row]
            members[c, m] = row
            _remove(rows, at)
        for v in range(n_seen):
            vote.counts[vote.seen[v]] = 0
        store_query(groups, c, cluster.whole)


@kernel
def join_leftovers(
    records: Records, rows: Places, groups: Columns, hists: Counts, scratch: Scratch, label: Labels
) -> None:
    """Put each row into the group whose total cost rises least (lines 16 to 21 of Fig. 5).

    ``hists`` counts the members of each group per sensitive value; ties go to the lowest group.
    """
    space, classes = records.space, records.classes
    query, spare, rise = scratch.query, scratch.spare, scratch.out
    n_groups = spare.shape[0]
    n_classes = hists.shape[0]
    for r in range(rows.shape[0]):
        i = rows[r]
        load_query(space, records.columns, i, query)
        for y in range(n_classes):
            own = np.int64(1 if classes[i] == y else 0)
            charge_scan(
                space, groups, query, own, hists[y], y, ZERO, np.int64(n_groups), spare, rise
            )
        best = np.int64(-1)
        least = np.int64(1 << 62)
        for g in range(n_groups):
            load_query(space, groups, g, query)
            for y in range(n_classes):
                rise[g] -= hists[y, g] * own_cost(space, query, y)
            if rise[g] < least:
                least = rise[g]
                best = g
        label[r] = best
        load_query(space, groups, best, query)
        absorb(space, records.columns, query, i)
        store_query(groups, best, query)
        hists[classes[i], best] += 1
