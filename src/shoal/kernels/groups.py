"""Groups of rows: who is in them, what spans them, what they cost, and what a union would cost.

Algorithms that only merge groups keep `ClosedGroups` (see `space.py`). A local search moves single
rows and keeps `Groups`: members as chains, and pillars. Most rows of a large group lie inside what
its other rows span. The rows that may not are its pillars; any other row leaves the closure as it
is, so nobody has to walk through the group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.codes import join_codes, load_codes, store_query
from shoal.kernels.jit import called_helper, helper, kernel
from shoal.kernels.people import PERSON, Crowd, enter, leave, rows_inside
from shoal.kernels.private import Rules, group_holds
from shoal.kernels.scan import absorb, charge_scan, load_query, own_cost, prepare

if TYPE_CHECKING:
    from shoal.kernels.space import (
        ClosedGroups,
        Columns,
        Counts,
        Flags,
        Labels,
        Places,
        Query,
        Records,
        Scratch,
        Space,
        Totals,
    )

ZERO = np.int64(0)


@bundle
class Groups(NamedTuple):
    """Groups with their members as chains; a group of size 0 is free to be used again."""

    label: Labels  # int32 [rows]
    head: Places  # int64 [groups]: −1 if it has no rows
    after: Places  # int64 [rows]
    before: Places
    size: Counts  # int64 [groups]
    columns: Columns  # closures
    hists: Counts  # int64 [classes, groups]
    costs: Totals  # int64 [groups]: total cost
    phist: Counts  # int64 [groups or 1, sensitive values]
    pillar: Flags  # bool [rows]: the pillars of a group span its closure without the others
    people: Counts  # int64 [groups]: different people; ``size`` itself if every row is one
    crowd: Crowd
    price: Totals  # int64 [1]: what a group costs beside its rows; in ``costs``, too


@helper
def group_cost(space: Space, query: Query, hists: Counts, g: int) -> int:
    """Return the total cost of group g, whose closure the query holds."""
    cost = np.int64(0)
    for y in range(hists.shape[0]):
        cost += hists[y, g] * own_cost(space, query, y)
    return cost


@kernel
def close_groups(
    records: Records, order: Places, starts: Places, query: Query, groups: ClosedGroups
) -> None:
    """Write closure, histogram and total cost of each group: rows order[starts[g]:starts[g+1]].

    No group is empty: `Partition` sees to that.
    """
    groups.hists[:] = 0
    for g in range(starts.shape[0] - 1):
        load_codes(records.columns, order[starts[g]], query)
        for p in range(starts[g] + 1, starts[g + 1]):
            join_codes(records.columns, query, order[p])
        prepare(records.space, query)
        for p in range(starts[g], starts[g + 1]):
            groups.hists[records.classes[order[p]], g] += 1
        store_query(groups.columns, g, query)
        groups.costs[g] = group_cost(records.space, query, groups.hists, g)
        groups.sizes[g] = starts[g + 1] - starts[g]


@helper
def union_costs(
    space: Space, groups: Groups | ClosedGroups, g: int, stop: int, scratch: Scratch
) -> None:
    """Write dist(g, h) = cost(g ∪ h) − cost(g) − cost(h) for groups h < stop; the query is g."""
    out = scratch.out
    for y in range(groups.hists.shape[0]):
        own, counts = groups.hists[y, g], groups.hists[y]
        charge_scan(
            space, groups.columns, scratch.query, own, counts, y, ZERO, stop, scratch.spare, out
        )
    for h in range(stop):
        out[h] -= groups.costs[g] + groups.costs[h]


@kernel
def nearest_group(space: Space, groups: ClosedGroups, g: int, scratch: Scratch) -> int:
    """Return the group whose union with g costs least more (−1: none); ties: lowest."""
    n_groups = groups.sizes.shape[0]
    load_query(space, groups.columns, g, scratch.query)
    union_costs(space, groups, g, n_groups, scratch)
    best = np.int64(-1)
    for h in range(n_groups):
        if h != g and groups.sizes[h] > 0 and (best < 0 or scratch.out[h] < scratch.out[best]):
            best = h
    return best


@kernel
def merge_groups(space: Space, groups: ClosedGroups, g: int, h: int, query: Query) -> None:
    """Merge group h into group g."""
    load_query(space, groups.columns, g, query)
    absorb(space, groups.columns, query, h)
    store_query(groups.columns, g, query)
    for y in range(groups.hists.shape[0]):
        groups.hists[y, g] += groups.hists[y, h]
    groups.costs[g] = group_cost(space, query, groups.hists, g)
    groups.sizes[g] += groups.sizes[h]
    groups.sizes[h] = 0


@kernel
def link_members(label: Labels, head: Places, after: Places, before: Places, size: Counts) -> None:
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
def holds_with(groups: Groups, rules: Rules, g: int, i: int, sign: int, hist: Counts) -> bool:
    """Return whether group g keeps the models after row i joins (+1) or leaves (−1)."""
    if rules.kinds.shape[0] == 0:
        return True
    crowd = groups.crowd
    several = crowd.subject.shape[0] > 0
    # a value counts once for a person: is the row the first with it to join, the last to leave?
    others = np.int64(0) if sign > 0 else np.int64(1)
    for v in range(hist.shape[0]):
        hist[v] = groups.phist[g, v]
    for s in range(rules.private.shape[0]):
        if not several or rows_inside(crowd, np.int64(s + 1), i, g) == others:
            hist[rules.first[s] + rules.private[s, i]] += sign
    return group_holds(hist, rules)


@helper
def spares(groups: Groups, g: int, i: int, k: int) -> bool:
    """Return whether group g has k people left without its row i."""
    if groups.people[g] > k:
        return True
    if groups.crowd.subject.shape[0] == 0 or groups.people[g] < k:
        return False
    return rows_inside(groups.crowd, PERSON, i, g) > 1


@helper
def take_out(groups: Groups, rules: Rules, classes: Labels, i: int) -> None:
    """Take row i out of its group; the closure is left as it is."""
    g = np.int64(groups.label[i])
    if groups.before[i] >= 0:
        groups.after[groups.before[i]] = groups.after[i]
    else:
        groups.head[g] = groups.after[i]
    if groups.after[i] >= 0:
        groups.before[groups.after[i]] = groups.before[i]
    groups.size[g] -= 1
    groups.hists[classes[i], g] -= 1
    several = groups.crowd.subject.shape[0] > 0
    if several and leave(groups.crowd, PERSON, i, g):
        groups.people[g] -= 1
    for s in range(rules.private.shape[0]):
        if not several or leave(groups.crowd, np.int64(s + 1), i, g):
            groups.phist[g, rules.first[s] + rules.private[s, i]] -= 1


@helper
def put_in(groups: Groups, rules: Rules, classes: Labels, i: int, g: int) -> None:
    """Put row i into group g; the closure is left as it is."""
    groups.after[i] = groups.head[g]
    groups.before[i] = -1
    if groups.head[g] >= 0:
        groups.before[groups.head[g]] = i
    groups.head[g] = i
    groups.label[i] = g
    groups.size[g] += 1
    groups.hists[classes[i], g] += 1
    several = groups.crowd.subject.shape[0] > 0
    if several and enter(groups.crowd, PERSON, i, g):
        groups.people[g] += 1
    for s in range(rules.private.shape[0]):
        if not several or enter(groups.crowd, np.int64(s + 1), i, g):
            groups.phist[g, rules.first[s] + rules.private[s, i]] += 1


@helper
def _span(rows: Columns, groups: Groups, g: int, without: int, query: Query) -> None:
    """Join the codes of the rows of group g but one (−1: of all) and note its pillars."""
    p = groups.head[g]
    if p == without:
        p = groups.after[p]
    load_codes(rows, p, query)
    groups.pillar[p] = True
    p = groups.after[p]
    while p >= 0:
        if p != without:
            groups.pillar[p] = join_codes(rows, query, p)
        p = groups.after[p]


@called_helper
def close_group(records: Records, groups: Groups, g: int, query: Query) -> None:
    """Compute closure, pillars and cost of group g anew from its members."""
    if groups.head[g] < 0:
        groups.costs[g] = 0
        return
    _span(records.columns, groups, g, np.int64(-1), query)
    prepare(records.space, query)
    store_query(groups.columns, g, query)
    groups.costs[g] = group_cost(records.space, query, groups.hists, g) + groups.price[0]


@helper
def row_cost(groups: Groups, g: int) -> int:
    """Return what each row of group g pays, where all pay the same."""
    return (groups.costs[g] - groups.price[0]) // groups.size[g]


@called_helper
def gain_without(records: Records, groups: Groups, i: int, query: Query) -> int:
    """Return what the group of row i (which has company) would save without it."""
    space, classes = records.space, records.classes
    g = np.int64(groups.label[i])
    if not groups.pillar[i]:  # the closure stays, and one row less pays for it
        if groups.hists.shape[0] == 1:
            return row_cost(groups, g)
        load_query(space, groups.columns, g, query)
        return own_cost(space, query, np.int64(classes[i]))
    _span(records.columns, groups, g, i, query)
    prepare(space, query)
    rest = groups.price[0]
    for y in range(groups.hists.shape[0]):
        own = 1 if classes[i] == y else 0
        rest += (groups.hists[y, g] - own) * own_cost(space, query, y)
    groups.pillar[i] = join_codes(records.columns, query, i)
    return groups.costs[g] - rest


@helper
def widen(rows: Columns, groups: Groups, g: int, i: int, query: Query) -> bool:
    """Widen the closure of group g to cover row i; return whether that changed it."""
    load_codes(groups.columns, g, query)
    grew = join_codes(rows, query, i)
    if grew:
        store_query(groups.columns, g, query)
    return grew


@kernel
def assign_rows(
    space: Space,
    groups: ClosedGroups,
    n_groups: int,
    start: int,
    stop: int,
    scratch: Scratch,
    labels: Labels,
) -> None:
    """Write the cheapest group of rows start … stop-1, which stand behind the n_groups groups."""
    for i in range(start, stop):
        load_query(space, groups.columns, i, scratch.query)
        union_costs(space, groups, i, n_groups, scratch)
        best = 0
        for h in range(1, n_groups):
            if scratch.out[h] < scratch.out[best]:
                best = h
        labels[i - n_groups] = best
