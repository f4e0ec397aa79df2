"""Greedy growth of clusters, exactly as a full scan would do it, skipping blocks that cannot win.

Ties always go to the smallest id (the position after the run's shuffle), so that the order in
which rows are stored and blocks are visited does not show in the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.blocks import block_at, bound_scan, remove_row
from shoal.kernels.codes import store_query
from shoal.kernels.jit import inlined_helper, kernel, scan_helper
from shoal.kernels.scan import absorb, charge_scan, join_scan, load_query, own_cost

ZERO = np.int64(0)  # a plain 0 is a type of its own to numba, and would compile a kernel twice

__all__ = ["cheapest_row", "farthest_row", "grow_clusters", "join_leftovers"]


@inlined_helper
def _row_cost(
    space: Any,
    cols: Any,
    query: Any,
    hist: Any,
    classes: Any,
    ids: Any,
    start: int,
    stop: int,
    spare: Any,
    out: Any,
) -> None:
    """Write the total cost of (cluster ∪ row) for rows start..stop; hist counts the cluster."""
    m = stop - start
    n_classes = hist.shape[0]
    for y in range(n_classes):
        join_scan(space, cols, query, y, start, stop, spare)
        count = hist[y]
        if n_classes == 1:
            for i in range(m):
                out[i] = (count + 1) * np.int64(spare[i])
        else:
            for i in range(m):
                own = 1 if classes[ids[start + i]] == y else 0
                before = 0 if y == 0 else out[i]
                out[i] = before + (count + own) * np.int64(spare[i])


@inlined_helper
def farthest_row(
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
    spare: Any,
    total: Any,
) -> int:
    """Return the position of the row whose join with the query costs most.

    ``hist`` describes the query as a cluster of one row. Blocks whose upper bound is below the
    best so far are skipped; class-aware costs have no such bound and visit every block.
    """
    n_blocks = alive.shape[0]
    bounded = hist.shape[0] == 1
    first = 0
    if bounded:
        join_scan(space, blocks, query, ZERO, ZERO, n_blocks, bound)
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
        start = starts[b]
        stop = start + alive[b]
        _row_cost(space, cols, query, hist, classes, ids, start, stop, spare, total)
        for i in range(stop - start):
            cost = total[i]
            if cost > best or (cost == best and ids[start + i] < best_id):
                best = cost
                best_id = ids[start + i]
                best_at = start + i
    return best_at


@inlined_helper
def cheapest_row(
    space: Any,
    cols: Any,
    blocks: Any,
    starts: Any,
    alive: Any,
    ids: Any,
    query: Any,
    hist: Any,
    classes: Any,
    labels: Any,
    majority: int,
    penalty: int,
    bound: Any,
    floor: Any,
    spare: Any,
    total: Any,
) -> int:
    """Return the position of the row whose join with the cluster costs least.

    ``floor`` keeps, per block, the least cost per member found when the block was last visited
    for this cluster (−1: not yet): costs only grow with the cluster, so it stays a lower bound.
    A row whose label is not the majority's pays the penalty on top.
    """
    n_blocks = alive.shape[0]
    bounded = hist.shape[0] == 1
    size = hist[0] + 1
    first = ZERO
    if bounded:
        bound_scan(space, blocks, query, bound)
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
        start = starts[b]
        stop = start + alive[b]
        _row_cost(space, cols, query, hist, classes, ids, start, stop, spare, total)
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


@scan_helper
def _block_of(starts: Any, i: int) -> int:
    low = 0
    high = starts.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= i:
            low = middle
        else:
            high = middle
    return low


@scan_helper
def _remove(cols: Any, ids: Any, starts: Any, alive: Any, i: int) -> None:
    remove_row(cols, ids, starts, alive, _block_of(starts, i), i)


@scan_helper
def _majority(votes: Any, order: Any, n_seen: int) -> int:
    """Return the label with most votes; ties go to the label seen first."""
    best = order[0]
    for v in range(1, n_seen):
        if votes[order[v]] > votes[best]:
            best = order[v]
    return best


@scan_helper
def _lowest_id(starts: Any, alive: Any, ids: Any) -> int:
    best_at = np.int64(-1)
    for b in range(alive.shape[0]):
        for i in range(starts[b], starts[b] + alive[b]):
            if best_at < 0 or ids[i] < ids[best_at]:
                best_at = i
    return best_at


@kernel
def grow_clusters(
    space: Any,
    cols: Any,
    blocks: Any,
    starts: Any,
    alive: Any,
    ids: Any,
    last: Any,
    last_class: Any,
    centre: Any,
    whole: Any,
    hist: Any,
    classes: Any,
    labels: Any,
    votes: Any,
    seen: Any,
    penalty: int,
    fixed_centre: bool,
    k: int,
    first_cluster: int,
    n_clusters: int,
    groups: Any,
    members: Any,
    farthest: Any,
    bound: Any,
    floor: Any,
    spare: Any,
    total: Any,
) -> None:
    """Build n_clusters clusters of k rows (lines 5 to 15 of Byun's Fig. 5).

    ``last`` is the closure of record r of line 6 and ``last_class`` its sensitive value; both
    are carried from call to call. Members of cluster c are ids ``members[c*k:(c+1)*k]``, its
    closure goes to column c of ``groups``. With ``fixed_centre`` a cluster is the lowest id left
    and the k − 1 rows nearest to it alone (the reading of Goldberger and Tassa).
    """
    for c in range(first_cluster, first_cluster + n_clusters):
        hist[:] = 0
        if fixed_centre:
            at = _lowest_id(starts, alive, ids)
        else:
            hist[last_class[0]] = 1
            at = farthest_row(
                space, cols, blocks, starts, alive, ids, last, hist, classes, farthest, spare, total
            )
            hist[:] = 0
        floor[:] = -1
        n_seen = 0
        row = ids[at]
        load_query(space, cols, at, whole)
        load_query(space, cols, at, centre)
        hist[classes[row]] += 1
        members[c * k] = row
        _remove(cols, ids, starts, alive, at)
        for m in range(1, k):
            majority = 0
            if penalty > 0:
                label = labels[row]
                if votes[label] == 0:
                    seen[n_seen] = label
                    n_seen += 1
                votes[label] += 1
                majority = _majority(votes, seen, n_seen)
            query = centre if fixed_centre else whole
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
                labels,
                majority,
                penalty,
                bound,
                floor,
                spare,
                total,
            )
            row = ids[at]
            absorb(space, cols, whole, at)
            if not fixed_centre:
                hist[classes[row]] += 1
            if m == k - 1:
                load_query(space, cols, at, last)
                last_class[0] = classes[row]
            members[c * k + m] = row
            _remove(cols, ids, starts, alive, at)
        for v in range(n_seen):
            votes[seen[v]] = 0
        store_query(groups, c, whole)


@kernel
def join_leftovers(
    space: Any,
    cols: Any,
    rows: Any,
    classes: Any,
    groups: Any,
    hists: Any,
    query: Any,
    spare: Any,
    label: Any,
) -> None:
    """Put each row into the group whose total cost rises least (lines 16 to 21 of Fig. 5).

    ``hists`` counts the members of each group per sensitive value; ties go to the lowest group.
    """
    n_groups = spare.shape[0]
    n_classes = hists.shape[0]
    rise = np.empty(n_groups, np.int64)
    for r in range(rows.shape[0]):
        i = rows[r]
        load_query(space, cols, i, query)
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
        absorb(space, cols, query, i)
        store_query(groups, best, query)
        hists[classes[i], best] += 1
