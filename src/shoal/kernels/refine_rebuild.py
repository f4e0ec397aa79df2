"""Local search on groups, continued: open new groups, and take groups apart to build better ones.

A closure costs its rows the same however many they are, so a new group pays if its closure is
cheaper than what its rows pay now, and if the groups they leave can spare them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.groups import close_group, put_in, take_out
from shoal.kernels.jit import helper, kernel
from shoal.kernels.people import PERSON, enter, leave
from shoal.kernels.private import group_holds
from shoal.kernels.refine import NONE, best_group, bring_back, scatter_rows, settle
from shoal.kernels.scan import absorb, join_scan, load_query

ZERO = np.int64(0)
N_BUCKETS = 1024
Array = np.ndarray[Any, Any]

__all__ = ["N_BUCKETS", "RebuildScratch", "rebuild_groups"]


class RebuildScratch(NamedTuple):
    """Where a new group is grown around a row."""

    distance: Array  # cost type [rows]: cost of joining the seed alone
    worth: Array  # int64 [rows]: what a row pays now, 0 if its group cannot spare it
    buckets: Array  # int64 [N_BUCKETS]: rows by distance
    chosen: Array  # int64 [most]: the rows nearest to the seed
    near: Any  # Columns [most]: these rows side by side
    used: Array  # bool [most]
    joined: Array  # int64 [rows + 1]: the rows of the new group
    origin: Array  # int64 [rows + 1]: the groups they come from
    quota: Array  # int64 [groups]: how many rows a group has given; zeros between two groups


@helper
def _set_worth(groups: Any, g: int, k: int, worth: Any) -> None:
    """Note what each row of group g pays: what a new group can save (0: it cannot be spared)."""
    pays = groups.costs[g] // groups.size[g] if groups.people[g] > k else np.int64(0)
    p = groups.head[g]
    while p >= 0:
        worth[p] = pays
        p = groups.after[p]


@helper
def _nearest_rows(wanted: int, seed: int, r: Any) -> int:
    """List about ``wanted`` rows nearest to the seed that would gain by joining it alone."""
    distance, worth, buckets, chosen = r.distance, r.worth, r.buckets, r.chosen
    n_rows = worth.shape[0]
    most = np.int64(1)
    for i in range(n_rows):
        most = max(most, np.int64(distance[i]))
    shift = 0
    while (most >> shift) >= N_BUCKETS:
        shift += 1
    buckets[:] = 0
    for i in range(n_rows):
        if worth[i] > distance[i]:
            buckets[np.int64(distance[i]) >> shift] += 1
    last = 0
    count = buckets[0]
    while count < wanted and last < N_BUCKETS - 1:
        last += 1
        count += buckets[last]
    n = 0
    for i in range(n_rows):
        if worth[i] > distance[i] and (np.int64(distance[i]) >> shift) <= last and i != seed:
            if n >= chosen.shape[0]:
                break
            chosen[n] = i
            n += 1
    return n


@helper
def _gather(rows: Any, chosen: Any, n: int, near: Any) -> None:
    """Copy the chosen rows side by side, so that they can be scanned at full speed."""
    for j in range(rows.lev8.shape[0]):
        for p in range(n):
            near.lev8[j, p] = rows.lev8[j, chosen[p]]
    for j in range(rows.lev16.shape[0]):
        for p in range(n):
            near.lev16[j, p] = rows.lev16[j, chosen[p]]
    for j in range(rows.lev32.shape[0]):
        for p in range(n):
            near.lev32[j, p] = rows.lev32[j, chosen[p]]
    for j in range(rows.low.shape[0]):
        for p in range(n):
            near.low[j, p] = rows.low[j, chosen[p]]
            near.high[j, p] = rows.high[j, chosen[p]]
    for j in range(rows.clow.shape[0]):
        for p in range(n):
            near.clow[j, p] = rows.clow[j, chosen[p]]
            near.chigh[j, p] = rows.chigh[j, chosen[p]]
    for j in range(rows.bits.shape[0]):
        for p in range(n):
            near.bits[j, p] = rows.bits[j, chosen[p]]


@helper
def _grow(
    records: Any,
    groups: Any,
    k: int,
    own: int,
    free: int,
    seed: int,
    n_near: int,
    scratch: Any,
    r: Any,
) -> tuple[int, int]:
    """Grow a group from the seed (the query): always the cheapest row, as long as it gains.

    Groups other than ``own`` only give what they have above k: a row takes no more than a person
    away. ``free`` is a group without rows. Returns how many of ``joined`` are best and what they
    gain over ``worth`` together. Ties go to the row listed first.
    """
    space, query, spare = records.space, scratch.query, scratch.spare
    worth, chosen, used, joined, quota = r.worth, r.chosen, r.used, r.joined, r.quota
    _gather(records.columns, chosen, n_near, r.near)
    for p in range(n_near):
        used[p] = False
    total = worth[seed]
    joined[0] = seed
    n_joined = 1
    several = groups.crowd.subject.shape[0] > 0
    n_people = 1
    if several:
        enter(groups.crowd, PERSON, seed, free)
    quota[groups.label[seed]] += 1
    best_net = -NONE
    best_n = 0
    while True:
        join_scan(space, r.near, query, ZERO, ZERO, n_near, spare)
        best = np.int64(-1)
        least = NONE
        for p in range(n_near):
            if np.int64(spare[p]) < least and not used[p]:
                i = chosen[p]
                h = groups.label[i]
                if worth[i] <= spare[p] or (h != own and groups.people[h] - quota[h] <= k):
                    used[p] = True
                    continue
                least = np.int64(spare[p])
                best = p
        if best < 0:
            break
        used[best] = True
        i = chosen[best]
        absorb(space, records.columns, query, i)
        joined[n_joined] = i
        n_joined += 1
        quota[groups.label[i]] += 1
        total += worth[i]
        if not several or enter(groups.crowd, PERSON, i, free):
            n_people += 1
        if n_people >= k:
            net = total - n_joined * least
            if net > best_net:
                best_net = net
                best_n = n_joined
    for m in range(n_joined):
        quota[groups.label[joined[m]]] = 0
        if several:
            leave(groups.crowd, PERSON, joined[m], free)
    return best_n, best_net


@helper
def _holds(groups: Any, rules: Any, g: int) -> bool:
    if rules.kinds.shape[0] == 0 or groups.size[g] == 0:
        return True
    return group_holds(groups.phist[g], rules)


@kernel
def rebuild_groups(
    records: Any,
    groups: Any,
    rules: Any,
    seeds: Any,
    apart: bool,
    k: int,
    n_groups: int,
    reach: int,
    scratch: Any,
    undo: Any,
    r: Any,
) -> int:
    """Build a new group around each of these rows, in order, if that lowers the cost.

    The new group takes rows that other groups can spare. With ``apart`` the seed's own group is
    dissolved: its rows may all join, and the rest go where they cost least; without, it must have
    rows to spare itself. Class-free costs only. Returns the saving.
    """
    classes, query, members = records.classes, scratch.query, undo.members
    worth, joined, origin, quota = r.worth, r.joined, r.origin, r.quota
    saved = np.int64(0)
    free = ZERO
    for g in range(n_groups):
        if groups.size[g] > 0:
            _set_worth(groups, g, k, worth)
    for t in range(seeds.shape[0]):
        seed = seeds[t]
        g = np.int64(groups.label[seed])
        if groups.costs[g] == 0 or (not apart and groups.people[g] <= k):
            continue
        while free < n_groups and groups.size[free] > 0:
            free += 1
        if free >= n_groups:
            break
        elsewhere = np.int64(0)
        if apart:
            p = groups.head[g]
            while p >= 0:
                _, rise = best_group(records, groups, rules, p, g, n_groups, NONE, scratch)
                worth[p] = min(rise, NONE >> 24)
                elsewhere += worth[p]
                p = groups.after[p]
        load_query(records.space, records.columns, seed, query)
        join_scan(records.space, records.columns, query, ZERO, ZERO, worth.shape[0], r.distance)
        n_near = _nearest_rows(reach, seed, r)
        n_new = 0
        net = np.int64(0)
        if n_near >= k - 1:
            own = g if apart else np.int64(-1)
            n_new, net = _grow(records, groups, k, own, free, seed, n_near, scratch, r)
        pays = n_new >= k and (elsewhere - net < groups.costs[g] if apart else net > 0)
        if not pays:
            if apart:
                _set_worth(groups, g, k, worth)
            continue
        # carry it out, and back again if the estimate was too good
        before = groups.costs[g]
        quota[g] = 1
        for m in range(n_new):
            h = groups.label[joined[m]]
            origin[m] = h
            if quota[h] == 0:
                quota[h] = 1
                before += groups.costs[h]
        for m in range(n_new):
            take_out(groups, rules, classes, joined[m])
            put_in(groups, rules, classes, joined[m], free)
        close_group(records, groups, free, query)
        after = groups.costs[free]
        fine = _holds(groups, rules, free)
        quota[g] = 1 if not apart else 0
        for m in range(n_new):
            h = origin[m]
            if quota[h] == 1:
                quota[h] = 0
                close_group(records, groups, h, query)
                after += groups.costs[h]
                fine = fine and _holds(groups, rules, h)
        quota[g] = 0
        moved = np.int64(0)
        if apart and fine:
            moved, left = scatter_rows(
                records, groups, rules, g, before - after, n_groups, scratch, undo
            )
            fine = groups.size[g] == 0
            after = before - left
        if fine and after < before:
            saved += before - after
            for m in range(moved):
                if settle(groups, members[m], undo):
                    _set_worth(groups, np.int64(groups.label[members[m]]), k, worth)
            _set_worth(groups, free, k, worth)
            for m in range(n_new):
                if groups.size[origin[m]] > 0:
                    _set_worth(groups, origin[m], k, worth)
            if apart:
                groups.costs[g] = 0
                free = min(free, np.int64(g))  # its place can be used again
            continue
        for m in range(moved - 1, -1, -1):
            bring_back(groups, rules, classes, members[m], g, query, undo)
        for m in range(n_new - 1, -1, -1):
            take_out(groups, rules, classes, joined[m])
            put_in(groups, rules, classes, joined[m], origin[m])
        groups.costs[free] = 0
        for m in range(n_new):
            h = origin[m]
            if quota[h] == 0:
                quota[h] = 1
                close_group(records, groups, h, query)
                _set_worth(groups, h, k, worth)
        for m in range(n_new):
            quota[origin[m]] = 0
        close_group(records, groups, g, query)
        _set_worth(groups, g, k, worth)
    return saved
