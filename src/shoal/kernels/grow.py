"""Groups grown under promises: the cheapest row that brings a group nearer to what is promised."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.blocks import RowBlocks, remove_row
from shoal.kernels.bundle import bundle
from shoal.kernels.groups import Groups, put_in, take_out, widen
from shoal.kernels.jit import helper, kernel
from shoal.kernels.private import (
    ALPHA,
    DISTINCT,
    ENTROPY,
    FREQUENCY,
    OTHER,
    RECURSIVE,
    T_ORDERED,
    T_TREE,
    TOLERANCE,
    Rules,
    distance_of,
    group_holds,
    recursive_gap,
    tree_distance_of,
)
from shoal.kernels.refine import NONE, best_group
from shoal.kernels.scan import absorb, join_scan, load_query

if TYPE_CHECKING:
    from shoal.kernels.space import (
        Costs,
        Counts,
        Flags,
        Labels,
        Places,
        Query,
        Reals,
        Records,
        Scratch,
        Space,
    )


ZERO = np.int64(0)
MOST_FAILURES = 8
"""Seeds in a row around which no group could be grown: then the rest is left over."""


@bundle
class Growth(NamedTuple):
    """Rows without a group, and where the next group is grown."""

    rows: RowBlocks  # RowBlocks of one block
    used: Flags  # bool [rows]: whether a place is taken by the group that is grown
    cost: Costs  # COST [rows]
    joined: Places  # int64 [rows]: places of the group's rows
    hist: Counts  # int64 [sensitive values]
    after: Reals  # float64 [sensitive values]: what a column lacks after one more such row
    known: Places  # int64 [sensitive values]: step for which ``after`` holds
    state: Places  # int64 [4]: groups grown, place of the next seed, failures, steps


@helper
def _lack(hist: Counts, rules: Rules, m: int) -> float:
    """Return how far a group is from keeping model m; 0 if it keeps it."""
    s = int(rules.numbers[m, 2])
    a, b = rules.first[s], rules.first[s + 1]
    kind, value = rules.kinds[m], rules.numbers[m, 0]
    size, most, distinct = np.int64(0), np.int64(0), np.int64(0)
    for v in range(a, b):
        size += hist[v]
        most = max(most, hist[v])
        distinct += 1 if hist[v] > 0 else 0
    if size == 0 or kind == OTHER:
        return 0.0
    lack = 0.0
    if kind == FREQUENCY:
        lack = most / size - (1.0 + TOLERANCE) / value
    elif kind == ALPHA:
        lack = most / size - value * (1.0 + TOLERANCE)
    elif kind == DISTINCT:
        lack = value - TOLERANCE - distinct
    elif kind == ENTROPY:
        lack = math.log(value) - TOLERANCE
        for v in range(a, b):
            if hist[v] > 0:
                p = hist[v] / size
                lack += p * math.log(p)
    elif kind == RECURSIVE:
        gap = recursive_gap(hist, a, b, value, rules.numbers[m, 1])
        if gap >= 0.0:  # values beyond the first few are what counts, so new ones come first
            lack = max(TOLERANCE, gap / size) + max(0.0, value - distinct)
    elif kind == T_TREE:
        lack = tree_distance_of(hist, rules, m, a, b, size) - value - TOLERANCE
    else:
        lack = distance_of(hist, rules.whole, a, b, size, kind == T_ORDERED) - value - TOLERANCE
    return max(lack, 0.0)


@helper
def _column_lack(hist: Counts, rules: Rules, s: int) -> float:
    """Return how far a group is from keeping the models of sensitive column s."""
    lack = 0.0
    for m in range(rules.kinds.shape[0]):
        if int(rules.numbers[m, 2]) == s:
            lack += _lack(hist, rules, np.int64(m))
    return lack


@helper
def _lack_with(rules: Rules, i: int, growth: Growth) -> float:
    """Return how far the group is from keeping all models if row i joins."""
    hist, step = growth.hist, growth.state[3]
    total = 0.0
    for s in range(rules.private.shape[0]):
        v = rules.first[s] + rules.private[s, i]
        if growth.known[v] != step:
            growth.known[v] = step
            hist[v] += 1
            growth.after[v] = _column_lack(hist, rules, np.int64(s))
            hist[v] -= 1
        total += growth.after[v]
    return total


@helper
def _join(space: Space, rules: Rules, p: int, size: int, query: Query, growth: Growth) -> float:
    """Let the row at place p join the group; return how far that is from the promises."""
    rows = growth.rows
    if size == 0:
        load_query(space, rows.columns, p, query)
    else:
        absorb(space, rows.columns, query, p)
    growth.used[p] = True
    growth.joined[size] = p
    growth.state[3] += 1
    lack = 0.0
    for s in range(rules.private.shape[0]):
        growth.hist[rules.first[s] + rules.private[s, rows.ids[p]]] += 1
    for s in range(rules.private.shape[0]):
        lack += _column_lack(growth.hist, rules, np.int64(s))
    return lack


@helper
def _cheapest(rules: Rules, lack: float, left: int, anyone: bool, growth: Growth) -> int:
    """Return the place of the cheapest row that helps (−1: none); ties: the lowest."""
    best, least = np.int64(-1), NONE
    for p in range(left):
        if np.int64(growth.cost[p]) < least and not growth.used[p]:
            if not anyone:
                after = _lack_with(rules, np.int64(growth.rows.ids[p]), growth)
                if after > 0.0 and after >= lack:
                    continue
            best, least = np.int64(p), np.int64(growth.cost[p])
    return best


@helper
def _nearest(rules: Rules, left: int, growth: Growth) -> int:
    """Return the place of the row that brings the group least away; ties: cheapest, lowest."""
    best, least = np.int64(-1), np.inf
    for p in range(left):
        if not growth.used[p]:
            after = _lack_with(rules, np.int64(growth.rows.ids[p]), growth)
            if after < least or (after == least and growth.cost[p] < growth.cost[best]):
                best, least = np.int64(p), after
    return best


@kernel
def grow_groups(
    records: Records,
    rules: Rules,
    k: int,
    free: int,
    budget: int,
    query: Query,
    label: Labels,
    growth: Growth,
) -> bool:
    """Grow groups one after the other; return whether there may be more.

    A group begins with the row that is farthest from the last group. The next row is always the
    cheapest one that brings the group nearer to its promises, or keeps them; the first ``free``
    rows may be any. Up to k times, where no row helps, the one that harms least joins. A group is
    done when it has k rows and holds. ``budget`` is how many comparisons to make in this call, or
    a few more.
    """
    space, rows, state = records.space, growth.rows, growth.state
    work = np.int64(0)
    while work < budget:
        if rows.alive[0] < k or state[2] >= MOST_FAILURES:
            return False
        left = rows.alive[0]
        growth.hist[:] = 0
        size = np.int64(1)
        lack = _join(space, rules, min(state[1], left - 1), ZERO, query, growth)
        holds = False
        strays = np.int64(0)
        while True:
            holds = size >= k and group_holds(growth.hist, rules)
            join_scan(space, rows.columns, query, ZERO, ZERO, left, growth.cost)
            work += left
            if holds:
                break
            p = _cheapest(rules, lack, left, size < free, growth)
            if p < 0 and strays < k:
                strays += 1
                p = _nearest(rules, left, growth)
            if p < 0:
                break
            lack = _join(space, rules, p, size, query, growth)
            size += 1
        farthest = np.int64(0)
        for p in range(left):
            if not growth.used[p] and (
                growth.used[farthest] or growth.cost[p] > growth.cost[farthest]
            ):
                farthest = np.int64(p)
        next_id = rows.ids[farthest]
        if holds:
            for p in range(left - 1, -1, -1):  # the last row moves to a place that is given up
                if growth.used[p]:
                    growth.used[p] = False
                    label[rows.ids[p]] = state[0]
                    remove_row(rows, ZERO, np.int64(p))
            state[0] += 1
            state[2] = 0
        else:
            for m in range(size):
                growth.used[growth.joined[m]] = False
            state[2] += 1
            remove_row(rows, ZERO, growth.joined[0])  # the seed is left over
        # removals move rows: where is the next seed now?
        state[1] = 0
        for p in range(rows.alive[0]):
            if rows.ids[p] == next_id:
                state[1] = p
                break
    return True


@kernel
def place_rows(
    records: Records, groups: Groups, rules: Rules, order: Places, rest: int, scratch: Scratch
) -> int:
    """Put these rows of the last group, ``rest``, where they cost least and all promises hold.

    Returns how many found a place.
    """
    placed = 0
    for t in range(order.shape[0]):
        i = order[t]
        best, rise = best_group(records, groups, rules, i, rest, rest, NONE, scratch)
        if best < 0:
            continue
        take_out(groups, rules, records.classes, i)
        put_in(groups, rules, records.classes, i, best)
        groups.pillar[i] = widen(records.columns, groups, best, i, scratch.query)
        groups.costs[best] += rise
        placed += 1
    return placed
