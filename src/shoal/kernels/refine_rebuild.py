"""Local search on groups, continued: open new groups, and take groups apart to build better ones.

A closure costs its rows the same however many they are, so a new group pays if its closure is
cheaper than what its rows pay now, and if the groups they leave can spare them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.groups import Groups, close_group, put_in, row_cost, take_out
from shoal.kernels.jit import helper, kernel, unrolled
from shoal.kernels.people import PERSON, enter, leave
from shoal.kernels.private import Rules, group_holds
from shoal.kernels.refine import (
    NONE,
    Undo,
    best_group,
    bring_back,
    scatter_rows,
    settle,
    tolerated_rise,
)
from shoal.kernels.scan import absorb, join_scan, load_query, own_cost

if TYPE_CHECKING:
    from shoal.kernels.space import Columns, Costs, Counts, Flags, Places, Records, Scratch, Totals


ZERO = np.int64(0)
PIECE = 64


@bundle
class RebuildScratch(NamedTuple):
    """Where a new group is grown around a row."""

    distance: Costs  # COST [rows]: cost of joining the seed alone
    worth: Totals  # int64 [rows]: what a row pays now, 0 if its group cannot spare it
    price: Costs  # COST [rows]: the same, as far as it fits
    most: Costs  # COST [1]: the largest cost there is
    least: Costs  # COST [pieces of rows]: the smallest distance in each
    chosen: Places  # int64 [most]: the rows nearest to the seed
    near: Columns  # Columns [most]: these rows side by side
    used: Flags  # bool [most]
    joined: Places  # int64 [rows + 1]: the rows of the new group
    origin: Places  # int64 [rows + 1]: the groups they come from
    quota: Counts  # int64 [groups]: how many rows a group has given; zeros between two groups
    touched: Places  # int64 [groups]: the groups that rows come from
    listed: Flags  # bool [groups]: whether a group stands there; false between two groups


@helper
def _set_worth(groups: Groups, g: int, k: int, r: RebuildScratch) -> None:
    """Note what each row of group g pays: what a new group can save (0: it cannot be spared)."""
    pays = row_cost(groups, g) if groups.people[g] > k else np.int64(0)
    p = groups.head[g]
    while p >= 0:
        _set_price(p, pays, r)
        p = groups.after[p]


@helper
def _set_price(i: int, pays: np.int64, r: RebuildScratch) -> None:
    r.worth[i] = pays
    r.price[i] = min(pays, np.int64(r.most[0]))


@helper
def _keep_gaining(r: RebuildScratch) -> int:
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
def _count_within(distance: Costs, limit: Any) -> int:
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
def _nearest_rows(wanted: int, seed: int, r: RebuildScratch) -> int:
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
@unrolled
def _gather(rows: Columns, chosen: Places, n: int, near: Columns) -> None:
    """Copy the chosen rows side by side, so that they can be scanned at full speed."""
    for codes, beside in (
        (rows.lev8, near.lev8),
        (rows.lev16, near.lev16),
        (rows.lev32, near.lev32),
        (rows.low, near.low),
        (rows.high, near.high),
        (rows.clow, near.clow),
        (rows.chigh, near.chigh),
        (rows.bits, near.bits),
    ):
        for j in range(codes.shape[0]):
            for p in range(n):
                beside[j, p] = codes[j, chosen[p]]


@helper
def _grow(
    records: Records,
    groups: Groups,
    k: int,
    own: int,
    free: int,
    seed: int,
    n_near: int,
    scratch: Scratch,
    r: RebuildScratch,
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
                net = total - n_joined * least - groups.price[0]
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
def _holds(groups: Groups, rules: Rules, g: int) -> bool:
    if rules.kinds.shape[0] == 0 or groups.size[g] == 0:
        return True
    return group_holds(groups.phist[g], rules)


@helper
def _plan(
    records: Records,
    groups: Groups,
    rules: Rules,
    apart: bool,
    k: int,
    free: int,
    seed: int,
    n_groups: int,
    reach: int,
    scratch: Scratch,
    r: RebuildScratch,
) -> tuple[int, int]:
    """List in ``joined`` the rows of a new group around the seed.

    Returns how many there are (below k: there is none) and about what all rows save by it. What
    the rest of the seed's own group pays elsewhere is estimated as if nothing had changed.
    """
    g = np.int64(groups.label[seed])
    elsewhere = np.int64(0)
    if apart:
        p = groups.head[g]
        while p >= 0:
            _, rise = best_group(records, groups, rules, p, g, n_groups, NONE, scratch)
            _set_price(p, min(rise, NONE >> 24), r)
            elsewhere += r.worth[p]
            p = groups.after[p]
    load_query(records.space, records.columns, seed, scratch.query)
    n = r.distance.shape[0]
    join_scan(records.space, records.columns, scratch.query, ZERO, ZERO, n, r.distance)
    n_near = _nearest_rows(reach, seed, r)
    n_new = 0
    net = np.int64(0)
    if n_near >= k - 1:
        own = g if apart else np.int64(-1)
        n_new, net = _grow(records, groups, k, own, free, seed, n_near, scratch, r)
    if apart:
        _set_worth(groups, g, k, r)
    return n_new, net - elsewhere


@helper
def _list_origins(groups: Groups, n_new: int, r: RebuildScratch) -> int:
    """Note where the rows of the new group come from; return from how many groups.

    The first of them is that of the seed, which is the first row.
    """
    n = 0
    for m in range(n_new):
        h = np.int64(groups.label[r.joined[m]])
        r.origin[m] = h
        if not r.listed[h]:
            r.listed[h] = True
            r.touched[n] = h
            n += 1
    for t in range(n):
        r.listed[r.touched[t]] = False
    return n


@helper
def _build(
    records: Records,
    groups: Groups,
    rules: Rules,
    apart: bool,
    k: int,
    n_new: int,
    free: int,
    tolerated: int,
    n_groups: int,
    scratch: Scratch,
    undo: Undo,
    r: RebuildScratch,
) -> tuple[bool, int]:
    """Make ``joined`` a group; with ``apart``, scatter the rest of the seed's group.

    If that costs more than is tolerated or breaks a promise, everything is as it was. Returns
    whether it stays, and what it saves.
    """
    classes, query, members = records.classes, scratch.query, undo.members
    joined, origin, touched = r.joined, r.origin, r.touched
    n_touched = _list_origins(groups, n_new, r)
    g = touched[0]
    before = np.int64(0)
    for t in range(n_touched):
        before += groups.costs[touched[t]]
    for m in range(n_new):
        take_out(groups, rules, classes, joined[m])
        put_in(groups, rules, classes, joined[m], free)
    close_group(records, groups, free, query)
    after = groups.costs[free]
    fine = _holds(groups, rules, free)
    for t in range(1 if apart else 0, n_touched):  # what is taken apart needs no closure
        close_group(records, groups, touched[t], query)
        after += groups.costs[touched[t]]
        fine = fine and _holds(groups, rules, touched[t])
    moved = np.int64(0)
    if apart and fine:
        budget = before - after + tolerated
        moved, left = scatter_rows(records, groups, rules, g, budget, n_groups, scratch, undo)
        fine = groups.size[g] == 0
        after = before + tolerated - left
    if fine and after < before + tolerated:
        for m in range(moved):
            if settle(groups, members[m], undo):
                _set_worth(groups, np.int64(groups.label[members[m]]), k, r)
        _set_worth(groups, free, k, r)
        for t in range(n_touched):
            if groups.size[touched[t]] > 0:
                _set_worth(groups, touched[t], k, r)
        if apart:
            groups.costs[g] = 0
        return True, before - after
    for m in range(moved - 1, -1, -1):
        bring_back(groups, rules, classes, members[m], g, query, undo)
    for m in range(n_new - 1, -1, -1):
        take_out(groups, rules, classes, joined[m])
        put_in(groups, rules, classes, joined[m], origin[m])
    groups.costs[free] = 0
    for t in range(n_touched):
        close_group(records, groups, touched[t], query)
        _set_worth(groups, touched[t], k, r)
    return False, np.int64(0)


@kernel
def rebuild_groups(
    records: Records,
    groups: Groups,
    rules: Rules,
    seeds: Places,
    apart: bool,
    k: int,
    n_groups: int,
    reach: int,
    scratch: Scratch,
    undo: Undo,
    r: RebuildScratch,
) -> int:
    """Build a new group around each of these rows, in order, if that lowers the cost.

    The new group takes rows that other groups can spare. With ``apart`` the seed's own group is
    dissolved: its rows may all join, and the rest go where they cost least; without, it must have
    rows to spare itself. Class-free costs only. Returns the saving.
    """
    saved = np.int64(0)
    free = ZERO
    for g in range(n_groups):
        if groups.size[g] > 0:
            _set_worth(groups, g, k, r)
    for t in range(seeds.shape[0]):
        seed = seeds[t]
        g = np.int64(groups.label[seed])
        if groups.costs[g] == groups.price[0] or (not apart and groups.people[g] <= k):
            continue
        while free < n_groups and groups.size[free] > 0:
            free += 1
        if free >= n_groups:
            break
        n_new, net = _plan(
            records, groups, rules, apart, k, free, seed, n_groups, reach, scratch, r
        )
        tolerated = tolerated_rise(scratch.annealing)
        most = groups.costs[g] + tolerated if apart else tolerated
        if n_new < k or -net >= most:
            continue
        stays, gain = _build(
            records, groups, rules, apart, k, n_new, free, tolerated, n_groups, scratch, undo, r
        )
        if stays:
            saved += gain
            if apart and g < free:
                free = g  # its place can be used again
    return saved
