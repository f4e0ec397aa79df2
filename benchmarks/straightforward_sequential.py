"""Sequential clustering without bounds: every cluster is evaluated for every record, each pass.

The yardstick of `benchmarks.scale`: the same start, the same splits and the same unification of
small clusters as `shoal.algorithm.sequential`, so the groups must be identical.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from benchmarks.straightforward import build_tables, join, join_cost
from shoal.algorithm.agglomerative import unify_small_clusters
from shoal.algorithm.sequential import start_clusters
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


@njit
def own(t, low, high):
    """Cost per member of a closure."""
    total = 0.0
    for j in range(t.codes.shape[1]):
        first = t.cost_start[j]
        if t.is_tree[j]:
            total += t.cost[first + low[j]]
        else:
            total += t.cost[first + high[j]] - t.cost[first + low[j]]
    return total


@njit
def close_without(t, head, after, skip, low, high):
    """Write the closure of a chain of rows but one; return how many rows it has."""
    n = 0
    p = head
    while p >= 0:
        if p != skip:
            if n == 0:
                low[:] = t.codes[p]
                high[:] = t.codes[p]
            else:
                join(t, low, high, p)
            n += 1
        p = after[p]
    return n


@njit
def unlink(head, after, g, i):
    """Take row i out of the chain of group g."""
    if head[g] == i:
        head[g] = after[i]
        return
    p = head[g]
    while after[p] != i:
        p = after[p]
    after[p] = after[i]


@njit
def one_pass(t, label, n_groups):
    """Steps 2 to 8 of Algorithm 1; returns how many records moved."""
    n, columns = t.codes.shape
    head = np.full(n_groups, -1)
    after = np.full(n, -1)
    size = np.zeros(n_groups, np.int64)
    for i in range(n - 1, -1, -1):
        after[i] = head[label[i]]
        head[label[i]] = i
        size[label[i]] += 1
    low = np.empty((n_groups, columns), np.int32)
    high = np.empty((n_groups, columns), np.int32)
    cost = np.empty(n_groups)
    for g in range(n_groups):
        close_without(t, head[g], after, -1, low[g], high[g])
        cost[g] = size[g] * own(t, low[g], high[g])
    rest_low = np.empty(columns, np.int32)
    rest_high = np.empty(columns, np.int32)
    moved = 0
    for i in range(n):
        j = label[i]
        rest = 0.0
        if size[j] > 1:
            close_without(t, head[j], after, i, rest_low, rest_high)
            rest = (size[j] - 1) * own(t, rest_low, rest_high)
        best = -1
        least = np.inf
        for h in range(n_groups):
            if h != j and size[h] > 0:
                rise = (size[h] + 1) * join_cost(t, low[h], high[h], i) - cost[h]
                if rise < least:
                    best = h
                    least = rise
        if best < 0 or (size[j] > 1 and least >= cost[j] - rest):
            continue
        unlink(head, after, j, i)
        after[i] = head[best]
        head[best] = i
        label[i] = best
        size[j] -= 1
        size[best] += 1
        low[j] = rest_low
        high[j] = rest_high
        cost[j] = rest
        join(t, low[best], high[best], i)
        cost[best] += least
        moved += 1
    return moved


def straightforward_sequential(table: EncodedTable, run: Run) -> Partition:
    """Group the rows of a table; equals `shoal.algorithm.sequential` on the same run."""
    t = build_tables(table, run)
    start = start_clusters(table, run, max(1, table.n_rows // max(1, round(0.5 * run.k))))
    assert start is not None
    label, n_groups = start.labels.copy(), start.n_groups
    for _ in range(100):
        moved = one_pass(t, label, n_groups)
        _, label = np.unique(label, return_inverse=True)
        label = label.astype(np.int32)
        n_groups = int(label.max()) + 1
        label, n_groups = split_large(label, n_groups, 1.5 * run.k, run.rng)
        if not moved:
            break
    return unify_small_clusters(table, Partition(label, n_groups), run)


def split_large(label, n_groups, limit, rng):
    """Step 9: random halves of every cluster above the limit."""
    partition = Partition(label, n_groups)
    label = label.copy()
    for g in np.flatnonzero(partition.sizes > limit):
        rows = partition.rows_of(int(g))
        label[rng.permutation(rows)[: len(rows) // 2]] = n_groups
        n_groups += 1
    return label, n_groups
