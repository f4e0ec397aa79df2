"""Local search on groups, continued: open new groups, and take groups apart to build better ones.

A closure costs its rows the same however many they are, so a new group pays if its closure is
cheaper than what its rows pay now, and if the groups they leave can spare them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.groups import close_group, put_in, take_out
from shoal.kernels.jit import helper, kernel
from shoal.kernels.people import PERSON, enter, leave
from shoal.kernels.private import group_holds
from shoal.kernels.refine import NONE, best_group, bring_back, scatter_rows, settle, slack
from shoal.kernels.scan import absorb, join_scan, load_query, own_cost

ZERO = np.int64(0)
PIECE = 64
Array = np.ndarray[Any, Any]

__all__ = ["PIECE", "RebuildScratch", "rebuild_groups"]


@bundle
class RebuildScratch(NamedTuple):
    """Where a new group is grown around a row."""

    distance: Array  # COST [rows]: cost of joining the seed alone
    worth: Array  # int64 [rows]: what a row pays now, 0 if its group cannot spare it
    price: Array  # COST [rows]: the same, as far as it fits
    most: Array  # COST [1]: the largest cost there is
    least: Array  # COST [pieces of rows]: the smallest distance in each
    chosen: Array  # int64 [most]: the rows nearest to the seed
    near: Any  # Columns [most]: these rows side by side
    used: Array  # bool [most]
    joined: Array  # int64 [rows + 1]: the rows of the new group
    origin: Array  # int64 [rows + 1]: the groups they come from
    quota: Array  # int64 [groups]: how many rows a group has given; zeros between two groups


@helper
def _set_worth(groups: Any, g: int, k: int, r: Any) -> None:
    """Note what each row of group g pays: what a new group can save (0: it cannot be spared)."""
    pays = groups.costs[g] // groups.size[g] if groups.people[g] > k else np.int64(0)
    p = groups.head[g]
    while p >= 0:
        _set_price(p, pays, r)
        p = groups.after[p]


@helper
def _set_price(i: int, pays: int, r: Any) -> None:
    r.worth[i] = pays
    r.price[i] = min(pays, np.int64(r.most[0]))


@helper
def _keep_gaining(r: Any) -> int:
    """Make the distance of rows that would not gain by joining the seed the largest there is.

    Returns the largest distance of those that would.
    """
    most = r.most[0]
    zero = type(most)(0)
    largest = zero
    n = r.distance.shape[0]
    for start in range(0, n, PIECE):
        stop = min(n, start + PIECE)
        distance, price = r.distance[start:stop], r.price[start:stop]
        least, top = most, zero
        for i in range(stop - start):
            gains = price[i] > distance[i]
            top = max(top, distance[i] if gains else zero)
            d = distance[i] if gains else most
            distance[i] = d
            least = min(least, d)
        r.least[start // PIECE] = least
        largest = max(largest, top)
    return np.int64(largest)


@helper
def _count_within(distance: Any, limit: Any) -> int:
    """Return how many distances are no larger than the limit."""
    count = np.int64(0)
    n = distance.shape[0]
    for start in range(0, n, 4096):
        stop = min(n, start + 4096)
        part = distance[start:stop]
        some = np.uint32(0)
        for i in range(stop - start):
            some += np.uint32(part[i] <= limit)
        count += np.int64(some)
    return count


@helper
def _nearest_rows(wanted: int, seed: int, r: Any) -> int:
    """List about ``wanted`` rows nearest to the seed that would gain by joining it alone."""
    distance, chosen, most = r.distance, r.chosen, r.most[0]
    # the limit within which there are so many rows, or a quarter more
    low, high = np.int64(-1), np.int64(_keep_gaining(r))
    while high - low > 1:
        middle = (low + high) // 2
        count = _count_within(distance, type(most)(middle))
        if count >= wanted:
            high = middle
            if count <= wanted + wanted // 4:
                break
        else:
            low = middle
    n = 0
    for piece in range(r.least.shape[0]):
        if np.int64(r.least[piece]) > high:
            continue
        for i in range(piece * PIECE, min(distance.shape[0], (piece + 1) * PIECE)):
            if np.int64(distance[i]) <= high and i != seed:
                if n >= chosen.shape[0]:
                    return n
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
        # rows that the query covers leave it as it is: all of them join before the next scan
        covered = least == np.int64(own_cost(space, query, ZERO))
        for p in range(best, n_near if covered else best + 1):
            if used[p] or np.int64(spare[p]) != least:
                continue
            used[p] = True
            i = chosen[p]
            h = groups.label[i]
            if worth[i] <= least or (h != own and groups.people[h] - quota[h] <= k):
                continue
            joined[n_joined] = i
            n_joined += 1
            quota[h] += 1
            total += worth[i]
            if not several or enter(groups.crowd, PERSON, i, free):
                n_people += 1
            if n_people >= k:
                net = total - n_joined * least
                if net > best_net:
                    best_net = net
                    best_n = n_joined
        if not covered:
            absorb(space, records.columns, query, chosen[best])
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
            _set_worth(groups, g, k, r)
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
                _set_price(p, min(rise, NONE >> 24), r)
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
        extra = slack(scratch.heat)
        most = groups.costs[g] + extra if apart else extra
        pays = n_new >= k and elsewhere - net < most
        if not pays:
            if apart:
                _set_worth(groups, g, k, r)
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
                records, groups, rules, g, before - after + extra, n_groups, scratch, undo
            )
            fine = groups.size[g] == 0
            after = before + extra - left
        if fine and after < before + extra:
            saved += before - after
            for m in range(moved):
                if settle(groups, members[m], undo):
                    _set_worth(groups, np.int64(groups.label[members[m]]), k, r)
            _set_worth(groups, free, k, r)
            for m in range(n_new):
                if groups.size[origin[m]] > 0:
                    _set_worth(groups, origin[m], k, r)
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
                _set_worth(groups, h, k, r)
        for m in range(n_new):
            quota[origin[m]] = 0
        close_group(records, groups, g, query)
        _set_worth(groups, g, k, r)
    return saved
