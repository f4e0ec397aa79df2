"""Local search on groups, continued: move whole edge slices of a group.

Where groups are large, many rows hold each end of an interval, so no single row that leaves makes
the closure smaller. A slice is all of them: the rows at the lowest or highest value of a numeric
column, of the rarest value of a set, or, in a tree, all rows outside its most frequent branch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.groups import Groups, close_group, put_in, take_out, union_costs, widen
from shoal.kernels.jit import helper, kernel
from shoal.kernels.private import Rules, group_holds
from shoal.kernels.refine import NONE, Undo, bring_back, scatter_rows, settle
from shoal.kernels.scan import load_query
from shoal.kernels.space import (
    MIXED8,
    MIXED16,
    MIXED32,
    Codes,
    Columns,
    Counts,
    Places,
    Records,
    Scratch,
    Space,
)


@bundle
class SliceScratch(NamedTuple):
    """Where a slice is listed."""

    rows: Places  # int64 [rows]: the rows of the slice
    counts: Counts  # int64 [codes of a level, values of a set]: zeros between two looks


@helper
def _level_code(columns: Columns, width: int, r: int, i: int) -> int:
    """Return the code of row or group i at a level of a tree."""
    if width == 0:
        return np.int64(columns.lev8[r, i])
    if width == 1:
        return np.int64(columns.lev16[r, i])
    return np.int64(columns.lev32[r, i])


@helper
def _mixed_level(space: Space, columns: Columns, t: int, g: int) -> int:
    """Return the first level of tree t at which the rows of group g differ, −1 if none."""
    for level in range(space.tree_first[t], space.tree_first[t + 1]):
        width = np.int64(space.width[level])
        mixed = np.int64(MIXED32)
        if width == 0:
            mixed = np.int64(MIXED8)
        elif width == 1:
            mixed = np.int64(MIXED16)
        if _level_code(columns, width, np.int64(space.row[level]), g) == mixed:
            return np.int64(level)
    return np.int64(-1)


@helper
def _set_value(space: Space, columns: Columns, e: int, i: int) -> int:
    """Return the value of row i in set e."""
    first = np.int64(space.set_first[e])
    for w in range(first, np.int64(space.set_first[e + 1])):
        word = columns.bits[w, i]
        value = (w - first) << 6
        while word:
            if word & np.uint64(1):
                return np.int64(value)
            word >>= np.uint64(1)
            value += 1
    return np.int64(space.set_size[e])


@helper
def _list_end(
    groups: Groups, g: int, values: Codes, depth: int, highest: bool, rows: Places
) -> int:
    """List the rows of group g that have one of its ``depth`` lowest (or highest) values.

    Returns how many there are; 0 if it has fewer values than that.
    """
    n = 0
    sign = np.int64(-1) if highest else np.int64(1)
    last = -NONE
    for _ in range(depth):
        following = NONE
        p = groups.head[g]
        while p >= 0:
            value = sign * np.int64(values[p])
            if last < value < following:
                following = value
            p = groups.after[p]
        if following == NONE:
            return 0
        last = following
    p = groups.head[g]
    while p >= 0:
        if sign * np.int64(values[p]) <= last:
            rows[n] = p
            n += 1
        p = groups.after[p]
    return n


@helper
def _list_branches(records: Records, groups: Groups, g: int, t: int, s: SliceScratch) -> int:
    """List the rows outside the most frequent branch of tree t (of equals, the lowest code)."""
    space, columns, counts = records.space, records.columns, s.counts
    level = _mixed_level(space, groups.columns, t, g)
    if level < 0:
        return 0
    width, r = np.int64(space.width[level]), np.int64(space.row[level])
    p = groups.head[g]
    while p >= 0:
        counts[_level_code(columns, width, r, p)] += 1
        p = groups.after[p]
    most, least_code = np.int64(0), np.int64(-1)
    p = groups.head[g]
    while p >= 0:
        code = _level_code(columns, width, r, p)
        if counts[code] > most or (counts[code] == most and code < least_code):
            most, least_code = counts[code], code
        p = groups.after[p]
    n = 0
    p = groups.head[g]
    while p >= 0:
        code = _level_code(columns, width, r, p)
        counts[code] = 0
        if code != least_code:
            s.rows[n] = p
            n += 1
        p = groups.after[p]
    return n


@helper
def _list_rarest(records: Records, groups: Groups, g: int, e: int, s: SliceScratch) -> int:
    """List the rows of the rarest value of set e (of equals, the lowest value)."""
    space, columns, counts = records.space, records.columns, s.counts
    p = groups.head[g]
    while p >= 0:
        counts[_set_value(space, columns, e, p)] += 1
        p = groups.after[p]
    few, rarest = groups.size[g] + 1, np.int64(-1)
    p = groups.head[g]
    while p >= 0:
        value = _set_value(space, columns, e, p)
        if counts[value] < few or (counts[value] == few and value < rarest):
            few, rarest = counts[value], value
        p = groups.after[p]
    n = 0
    p = groups.head[g]
    while p >= 0:
        value = _set_value(space, columns, e, p)
        counts[value] = 0
        if value == rarest:
            s.rows[n] = p
            n += 1
        p = groups.after[p]
    return n


@helper
def _list_slice(
    records: Records, groups: Groups, g: int, edge: int, depth: int, s: SliceScratch
) -> int:
    """List the rows of slice ``edge`` of group g: two of each interval, one of each tree and set.

    A slice of an interval has ``depth`` values, others are the same for any depth. Returns how
    many rows there are: 0 or all if there is nothing to cut off.
    """
    rows = records.columns
    n_linear, n_log = rows.low.shape[0], rows.clow.shape[0]
    n_trees = records.space.root_cost.shape[1]
    highest = (edge & 1) == 1
    if edge < 2 * n_linear:
        values = rows.high[edge >> 1] if highest else rows.low[edge >> 1]
        return _list_end(groups, g, values, depth, highest, s.rows)
    edge -= 2 * n_linear
    if edge < 2 * n_log:
        codes = rows.chigh[edge >> 1] if highest else rows.clow[edge >> 1]
        return _list_end(groups, g, codes, depth, highest, s.rows)
    edge -= 2 * n_log
    if depth > 1:
        return 0
    if edge < n_trees:
        return _list_branches(records, groups, g, edge, s)
    return _list_rarest(records, groups, g, edge - n_trees, s)


@helper
def _holds(groups: Groups, rules: Rules, g: int) -> bool:
    return rules.kinds.shape[0] == 0 or group_holds(groups.phist[g], rules)


@helper
def _hold_together(groups: Groups, rules: Rules, g: int, h: int, hist: Counts) -> bool:
    """Return whether the union of two groups keeps the models, if they share no person."""
    if rules.kinds.shape[0] == 0:
        return True
    for v in range(hist.shape[0]):
        hist[v] = groups.phist[g, v] + groups.phist[h, v]
    return group_holds(hist, rules)


@helper
def _one_place(
    space: Space,
    groups: Groups,
    rules: Rules,
    g: int,
    free: int,
    below: int,
    n_groups: int,
    scratch: Scratch,
) -> tuple[int, int]:
    """Return the group other than g that takes all rows of ``free`` for least, if below that."""
    load_query(space, groups.columns, free, scratch.query)
    union_costs(space, groups, free, n_groups, scratch)
    best, least = np.int64(-1), np.int64(below)
    for h in range(n_groups):
        rise = scratch.out[h] + groups.costs[free] + groups.price[0]
        if h in (g, free) or groups.size[h] == 0:
            continue
        if rise < least and _hold_together(groups, rules, free, h, scratch.hist):
            best, least = np.int64(h), np.int64(rise)
    return best, least


@helper
def _hand_over(
    records: Records, groups: Groups, rules: Rules, n: int, h: int, s: SliceScratch
) -> None:
    """Put the rows of the slice into group h; its closure is left as it is."""
    for m in range(n):
        take_out(groups, rules, records.classes, s.rows[m])
        put_in(groups, rules, records.classes, s.rows[m], h)


@helper
def _move_slice(
    records: Records,
    groups: Groups,
    rules: Rules,
    g: int,
    free: int,
    n: int,
    k: int,
    n_groups: int,
    scratch: Scratch,
    undo: Undo,
    s: SliceScratch,
) -> int:
    """Move the n rows of the slice out of group g if that pays; return what it saves.

    They stay together as a group of their own, join one group, or go each where it costs least.
    """
    query = scratch.query
    before = groups.costs[g]
    _hand_over(records, groups, rules, n, free, s)
    close_group(records, groups, g, query)
    close_group(records, groups, free, query)
    gain = before - groups.costs[g]
    target = np.int64(-1)
    rise = gain
    if gain > 0 and groups.people[g] >= k and _holds(groups, rules, g):
        alone = groups.people[free] >= k and _holds(groups, rules, free)
        if alone and groups.costs[free] < rise:
            target, rise = np.int64(free), groups.costs[free]
        place, asked = _one_place(records.space, groups, rules, g, free, rise, n_groups, scratch)
        if place >= 0:
            target, rise = place, asked
        moved, left = scatter_rows(records, groups, rules, free, rise, n_groups, scratch, undo)
        if groups.size[free] == 0:
            for m in range(moved):
                settle(groups, undo.members[m], undo)
            groups.costs[free] = 0
            return gain - rise + left
        for m in range(moved):
            bring_back(groups, rules, records.classes, undo.members[m], free, query, undo)
    if target == free:
        return gain - rise
    if target >= 0:
        _hand_over(records, groups, rules, n, target, s)
        if _holds(groups, rules, target):  # people in both count once, so it is known only now
            for m in range(n):
                i = s.rows[m]
                groups.pillar[i] = widen(records.columns, groups, target, i, query)
            groups.costs[target] += rise
            groups.costs[free] = 0
            return gain - rise
    _hand_over(records, groups, rules, n, g, s)
    close_group(records, groups, g, query)
    groups.costs[free] = 0
    return np.int64(0)


@kernel
def move_slices(
    records: Records,
    groups: Groups,
    rules: Rules,
    order: Places,
    deepest: int,
    k: int,
    n_groups: int,
    scratch: Scratch,
    undo: Undo,
    s: SliceScratch,
) -> int:
    """Move slices out of these groups, in order, as long as that lowers the cost.

    Every edge is cut as often as it pays before the next one; where one value does not, the two
    at the end are tried together, and so on up to ``deepest``. Returns the total saving.
    """
    rows, space = records.columns, records.space
    n_edges = 2 * (rows.low.shape[0] + rows.clow.shape[0])
    n_edges += space.root_cost.shape[1] + space.set_size.shape[0]
    several = groups.crowd.subject.shape[0] > 0
    saved = np.int64(0)
    free = np.int64(0)
    for t in range(order.shape[0]):
        g = order[t]
        for edge in range(n_edges):
            depth = np.int64(1)
            while depth <= deepest and (several or groups.people[g] > k):
                while free < n_groups and groups.size[free] > 0:
                    free += 1
                if free >= n_groups:
                    return saved
                n = np.int64(_list_slice(records, groups, g, np.int64(edge), depth, s))
                if n == 0 or n >= groups.size[g] or not (several or groups.people[g] - n >= k):
                    break
                gain = _move_slice(
                    records, groups, rules, g, free, n, k, n_groups, scratch, undo, s
                )
                saved += gain
                depth = np.int64(1) if gain > 0 else 2 * depth
    return saved
