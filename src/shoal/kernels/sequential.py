"""Sequential clustering: each record looks for the group where it costs least."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import helper, kernel
from shoal.kernels.private import group_holds
from shoal.kernels.scan import (
    absorb,
    join_codes,
    join_scan,
    load_codes,
    load_query,
    own_cost,
    prepare,
    store_query,
)

ZERO = np.int64(0)

__all__ = ["link_members", "sequential_pass"]


@kernel
def link_members(label: Any, head: Any, after: Any, before: Any, size: Any) -> None:
    """Chain the rows of each group, in row order."""
    head[:] = -1
    size[:] = 0
    for i in range(label.shape[0] - 1, -1, -1):
        g = label[i]
        after[i] = head[g]
        before[i] = -1
        if head[g] >= 0:
            before[head[g]] = i
        head[g] = i
        size[g] += 1


@helper
def _unlink(i: int, g: int, head: Any, after: Any, before: Any) -> None:
    if before[i] >= 0:
        after[before[i]] = after[i]
    else:
        head[g] = after[i]
    if after[i] >= 0:
        before[after[i]] = before[i]


@helper
def _link(i: int, g: int, head: Any, after: Any, before: Any) -> None:
    after[i] = head[g]
    before[i] = -1
    if head[g] >= 0:
        before[head[g]] = i
    head[g] = i


@helper
def _close_without(space: Any, cols: Any, i: int, g: int, head: Any, after: Any, query: Any) -> None:
    """Set the query to the closure of group g without row i (which has company)."""
    p = head[g]
    if p == i:
        p = after[p]
    load_codes(cols, p, query)
    p = after[p]
    while p >= 0:
        if p != i:
            join_codes(cols, query, p)
        p = after[p]
    prepare(space, query)


@helper
def _stays_private(
    phist: Any, g: int, i: int, sign: int, private: Any, whole: Any, first: Any, kinds: Any,
    numbers: Any, scratch: Any,
) -> bool:
    """Return whether group g satisfies the models after row i joins (+1) or leaves (−1)."""
    for v in range(scratch.shape[0]):
        scratch[v] = phist[g, v]
    for s in range(private.shape[0]):
        scratch[first[s] + private[s, i]] += sign
    return group_holds(scratch, whole, first, kinds, numbers)


@kernel
def sequential_pass(
    space: Any, cols: Any, classes: Any, label: Any, head: Any, after: Any, before: Any, size: Any,
    groups: Any, hists: Any, costs: Any, n_groups: int,
    private: Any, whole: Any, first: Any, kinds: Any, numbers: Any, phist: Any, scratch: Any,
    start: int, stop: int, query: Any, rest_query: Any, spare: Any, out: Any,
) -> int:
    """Steps 2 to 8 of Algorithm 1 (4 to 13 of Algorithm 2) for rows start..stop.

    Returns how many rows moved. Groups that lose their last row keep their number with size 0.
    """
    n_classes = hists.shape[0]
    moved = 0
    for i in range(start, stop):
        j = label[i]
        alone = size[j] == 1
        rest = np.int64(0)
        if not alone:
            if kinds.shape[0] > 0 and not _stays_private(
                phist, j, i, -1, private, whole, first, kinds, numbers, scratch
            ):
                continue
            _close_without(space, cols, i, j, head, after, rest_query)
            for y in range(n_classes):
                own = 1 if classes[i] == y else 0
                rest += (hists[y, j] - own) * own_cost(space, rest_query, y)
            if n_classes == 1 and rest == costs[j]:
                continue  # joining never pays back: nothing to gain by leaving
        load_query(space, cols, i, query)
        for h in range(n_groups):
            out[h] = -costs[h]
        for y in range(n_classes):
            own = 1 if classes[i] == y else 0
            join_scan(space, groups, query, y, ZERO, n_groups, spare)
            for h in range(n_groups):
                out[h] += (hists[y, h] + own) * np.int64(spare[h])
        best = np.int64(-1)
        out[j] = np.int64(1) << 62
        while True:
            best = np.int64(-1)
            least = np.int64(1) << 61
            for h in range(n_groups):
                if out[h] < least and size[h] > 0:
                    least = out[h]
                    best = h
            if best < 0 or (not alone and rest - costs[j] + least >= 0):
                best = np.int64(-1)
                break
            if kinds.shape[0] == 0 or _stays_private(
                phist, best, i, 1, private, whole, first, kinds, numbers, scratch
            ):
                break
            out[best] = np.int64(1) << 62  # the next best that may take the row
        if best < 0:
            continue
        _unlink(i, j, head, after, before)
        _link(i, best, head, after, before)
        label[i] = best
        size[j] -= 1
        size[best] += 1
        hists[classes[i], j] -= 1
        hists[classes[i], best] += 1
        for s in range(private.shape[0]):
            phist[j, first[s] + private[s, i]] -= 1
            phist[best, first[s] + private[s, i]] += 1
        if not alone:
            store_query(groups, j, rest_query)
        costs[j] = rest
        costs[best] += least
        load_query(space, groups, best, query)
        absorb(space, cols, query, i)
        store_query(groups, best, query)
        moved += 1
    return moved
