"""Sequential clustering: each record looks for the group where it costs least.

A record remembers the least cost of joining any other group, and when it looked. Groups that have
not changed since cannot offer less, so as long as that is no gain, only the groups that changed
are looked at again: after a few passes these are few. The moves are the same as with full scans.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.codes import join_codes, load_codes, store_query
from shoal.kernels.jit import helper, kernel, scan_helper
from shoal.kernels.private import group_holds
from shoal.kernels.scan import absorb, charge_scan, load_query, own_cost, prepare

ZERO = np.int64(0)

__all__ = ["link_members", "list_recent", "sequential_pass"]


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


@scan_helper
def _unlink(i: int, g: int, head: Any, after: Any, before: Any) -> None:
    if before[i] >= 0:
        after[before[i]] = after[i]
    else:
        head[g] = after[i]
    if after[i] >= 0:
        before[after[i]] = before[i]


@scan_helper
def _link(i: int, g: int, head: Any, after: Any, before: Any) -> None:
    after[i] = head[g]
    before[i] = -1
    if head[g] >= 0:
        before[head[g]] = i
    head[g] = i


@scan_helper
def _close_without(
    space: Any, cols: Any, i: int, g: int, head: Any, after: Any, query: Any
) -> None:
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


@scan_helper
def _rest_cost(
    space: Any,
    cols: Any,
    classes: Any,
    i: int,
    g: int,
    head: Any,
    after: Any,
    hists: Any,
    query: Any,
) -> int:
    """Return what group g would cost without row i; the query becomes its closure."""
    _close_without(space, cols, i, g, head, after, query)
    rest = np.int64(0)
    for y in range(hists.shape[0]):
        own = 1 if classes[i] == y else 0
        rest += (hists[y, g] - own) * own_cost(space, query, y)
    return rest


@helper
def _stays_private(
    phist: Any,
    g: int,
    i: int,
    sign: int,
    private: Any,
    whole: Any,
    first: Any,
    kinds: Any,
    numbers: Any,
    scratch: Any,
) -> bool:
    """Return whether group g satisfies the models after row i joins (+1) or leaves (−1)."""
    for v in range(scratch.shape[0]):
        scratch[v] = phist[g, v]
    for s in range(private.shape[0]):
        scratch[first[s] + private[s, i]] += sign
    return group_holds(scratch, whole, first, kinds, numbers)


@scan_helper
def _scan_groups(
    space: Any,
    classes: Any,
    i: int,
    columns: Any,
    hists: Any,
    costs: Any,
    stop: int,
    query: Any,
    spare: Any,
    out: Any,
) -> None:
    """Write the rise of the cost of each of the first groups if row i (the query) joined it."""
    for y in range(hists.shape[0]):
        own = np.int64(1 if classes[i] == y else 0)
        charge_scan(space, columns, query, own, hists[y], y, ZERO, stop, spare, out)
    for h in range(stop):
        out[h] -= costs[h]


@scan_helper
def _note_change(
    g: int,
    query: Any,
    hists: Any,
    cost: int,
    recent: Any,
    recent_hists: Any,
    recent_costs: Any,
    recent_ids: Any,
    slot: Any,
    n_recent: Any,
    changed: Any,
) -> None:
    """Keep the new state of group g, whose closure is the query, among the recently changed."""
    changed[g] = True
    if slot[g] < 0:
        slot[g] = n_recent[0]
        recent_ids[n_recent[0]] = g
        n_recent[0] += 1
    store_query(recent, slot[g], query)
    for y in range(hists.shape[0]):
        recent_hists[y, slot[g]] = hists[y, g]
    recent_costs[slot[g]] = cost


@kernel
def list_recent(
    space: Any,
    groups: Any,
    hists: Any,
    costs: Any,
    query: Any,
    changed: Any,
    recent: Any,
    recent_hists: Any,
    recent_costs: Any,
    recent_ids: Any,
    slot: Any,
    n_recent: Any,
) -> None:
    """Begin a pass: collect the groups that changed in the last one."""
    slot[:] = -1
    n_recent[0] = 0
    for g in range(changed.shape[0]):
        if changed[g]:
            load_query(space, groups, g, query)
            _note_change(
                g,
                query,
                hists,
                costs[g],
                recent,
                recent_hists,
                recent_costs,
                recent_ids,
                slot,
                n_recent,
                changed,
            )
            changed[g] = False


@kernel
def sequential_pass(
    space: Any,
    cols: Any,
    classes: Any,
    label: Any,
    head: Any,
    after: Any,
    before: Any,
    size: Any,
    groups: Any,
    hists: Any,
    costs: Any,
    ids: Any,
    private: Any,
    whole: Any,
    first: Any,
    kinds: Any,
    numbers: Any,
    phist: Any,
    scratch: Any,
    start: int,
    stop: int,
    query: Any,
    rest_query: Any,
    spare: Any,
    out: Any,
    now: int,
    seen: Any,
    floor: Any,
    gains: Any,
    recent: Any,
    recent_hists: Any,
    recent_costs: Any,
    recent_ids: Any,
    slot: Any,
    n_recent: Any,
    changed: Any,
) -> int:
    """Steps 2 to 8 of Algorithm 1 (4 to 13 of Algorithm 2) for rows start..stop.

    Returns how many rows moved. Groups that lose their last row keep their number with size 0.
    This is pass ``now``; row i looked last in pass ``seen`` and found ``floor`` as the least rise
    of another group and ``gains`` as what its own group would save.
    ``recent`` holds the closures of all groups that changed in the last pass or in this one.
    """
    n_groups = size.shape[0]
    n_classes = hists.shape[0]
    moved = 0
    none = np.int64(1) << 62
    for i in range(start, stop):
        j = label[i]
        alone = size[j] == 1
        looked_before = seen[i] == now - 1
        # nothing to do if neither the row's own group nor any other changed since it looked
        settled = looked_before and slot[j] < 0 and floor[i] >= gains[i]
        if settled and n_recent[0] == 0:
            seen[i] = now
            continue
        if (
            kinds.shape[0] > 0
            and not alone
            and not _stays_private(phist, j, i, -1, private, whole, first, kinds, numbers, scratch)
        ):
            continue
        if alone:
            gains[i] = none
        elif not (looked_before and slot[j] < 0):
            gains[i] = costs[j] - _rest_cost(
                space, cols, classes, i, j, head, after, hists, rest_query
            )
        gain = gains[i]
        if n_classes == 1 and gain == 0:
            floor[i] = 0
            seen[i] = now
            continue  # joining never pays back: nothing to gain by leaving
        load_query(space, cols, i, query)
        partly = looked_before and floor[i] >= gain and 2 * n_recent[0] < n_groups
        looked = recent_ids if partly else ids
        n_looked = n_recent[0] if partly else n_groups
        _scan_groups(
            space,
            classes,
            i,
            recent if partly else groups,
            recent_hists if partly else hists,
            recent_costs if partly else costs,
            n_looked,
            query,
            spare,
            out,
        )
        best = np.int64(-1)
        least = none
        for r in range(n_looked):
            if out[r] > least:
                continue
            h = looked[r]
            if h == j or size[h] <= 0 or (out[r] == least and h > best):
                continue
            # a group that may not take the row may do so only after it has changed
            if (
                kinds.shape[0] > 0
                and out[r] < gain
                and not _stays_private(
                    phist, h, i, 1, private, whole, first, kinds, numbers, scratch
                )
            ):
                continue
            least = out[r]
            best = h
        floor[i] = min(floor[i], least) if partly else least
        seen[i] = now
        if least >= gain:
            best = np.int64(-1)
        if best < 0:
            continue
        rest = np.int64(0)
        if not alone:
            rest = _rest_cost(space, cols, classes, i, j, head, after, hists, rest_query)
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
            _note_change(
                j,
                rest_query,
                hists,
                rest,
                recent,
                recent_hists,
                recent_costs,
                recent_ids,
                slot,
                n_recent,
                changed,
            )
        costs[j] = rest
        costs[best] += least
        load_query(space, groups, best, query)
        absorb(space, cols, query, i)
        store_query(groups, best, query)
        _note_change(
            best,
            query,
            hists,
            costs[best],
            recent,
            recent_hists,
            recent_costs,
            recent_ids,
            slot,
            n_recent,
            changed,
        )
        moved += 1
    return moved
