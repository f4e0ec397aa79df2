"""Local search on groups: relocate records, dissolve groups (`rebuild.py` opens new ones).

The state of a search is a `Groups` tuple. All moves keep every group at k rows or more and every
privacy model; a move is made only if it lowers the total cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
NONE = np.int64(1) << 62

__all__ = [
    "NONE",
    "Groups",
    "Rules",
    "best_group",
    "close_group",
    "dissolve_groups",
    "holds_with",
    "put_in",
    "relocate_rows",
    "take_out",
]

Array = np.ndarray[Any, Any]


class Groups(NamedTuple):
    """Groups with their members as chains; a group of size 0 is free to be used again."""

    label: Array  # int32 [rows]
    head: Array  # int64 [groups]
    after: Array  # int64 [rows]
    before: Array
    size: Array  # int64 [groups]
    columns: Any  # closures
    hists: Array  # int64 [classes, groups]
    costs: Array  # int64 [groups]: total cost
    phist: Array  # int64 [groups or 1, sensitive values]


class Rules(NamedTuple):
    """Privacy models as arrays (see `kernels.private`)."""

    private: Array
    whole: Array
    first: Array
    kinds: Array
    numbers: Array


@helper
def holds_with(groups: Any, rules: Any, g: int, i: int, sign: int, scratch: Any) -> bool:
    """Return whether group g keeps the models after row i joins (+1) or leaves (−1)."""
    if rules.kinds.shape[0] == 0:
        return True
    for v in range(scratch.shape[0]):
        scratch[v] = groups.phist[g, v]
    for s in range(rules.private.shape[0]):
        scratch[rules.first[s] + rules.private[s, i]] += sign
    return group_holds(scratch, rules.whole, rules.first, rules.kinds, rules.numbers)


@helper
def take_out(groups: Any, rules: Any, classes: Any, i: int) -> None:
    """Take row i out of its group; the closure is left as it is."""
    g = groups.label[i]
    if groups.before[i] >= 0:
        groups.after[groups.before[i]] = groups.after[i]
    else:
        groups.head[g] = groups.after[i]
    if groups.after[i] >= 0:
        groups.before[groups.after[i]] = groups.before[i]
    groups.size[g] -= 1
    groups.hists[classes[i], g] -= 1
    for s in range(rules.private.shape[0]):
        groups.phist[g, rules.first[s] + rules.private[s, i]] -= 1


@helper
def put_in(groups: Any, rules: Any, classes: Any, i: int, g: int) -> None:
    """Put row i into group g; the closure is left as it is."""
    groups.after[i] = groups.head[g]
    groups.before[i] = -1
    if groups.head[g] >= 0:
        groups.before[groups.head[g]] = i
    groups.head[g] = i
    groups.label[i] = g
    groups.size[g] += 1
    groups.hists[classes[i], g] += 1
    for s in range(rules.private.shape[0]):
        groups.phist[g, rules.first[s] + rules.private[s, i]] += 1


@helper
def close_group(space: Any, rows: Any, groups: Any, g: int, query: Any) -> None:
    """Compute closure and cost of group g anew from its members."""
    p = groups.head[g]
    if p < 0:
        groups.costs[g] = 0
        return
    load_codes(rows, p, query)
    p = groups.after[p]
    while p >= 0:
        join_codes(rows, query, p)
        p = groups.after[p]
    prepare(space, query)
    store_query(groups.columns, g, query)
    cost = np.int64(0)
    for y in range(groups.hists.shape[0]):
        cost += groups.hists[y, g] * own_cost(space, query, y)
    groups.costs[g] = cost


@helper
def gain_without(space: Any, rows: Any, classes: Any, groups: Any, i: int, query: Any) -> int:
    """Return what the group of row i (which has company) would save without it."""
    g = groups.label[i]
    p = groups.head[g]
    if p == i:
        p = groups.after[p]
    load_codes(rows, p, query)
    p = groups.after[p]
    while p >= 0:
        if p != i:
            join_codes(rows, query, p)
        p = groups.after[p]
    prepare(space, query)
    rest = np.int64(0)
    for y in range(groups.hists.shape[0]):
        own = 1 if classes[i] == y else 0
        rest += (groups.hists[y, g] - own) * own_cost(space, query, y)
    return groups.costs[g] - rest


@helper
def best_group(
    space: Any,
    rows: Any,
    classes: Any,
    groups: Any,
    rules: Any,
    i: int,
    not_this: int,
    n_groups: int,
    below: int,
    query: Any,
    spare: Any,
    out: Any,
    scratch: Any,
) -> tuple[int, int]:
    """Return the group whose cost rises least if row i joins, if by less than ``below``."""
    load_query(space, rows, i, query)
    for y in range(groups.hists.shape[0]):
        join_scan(space, groups.columns, query, y, ZERO, n_groups, spare)
        own = 1 if classes[i] == y else 0
        counts = groups.hists[y]
        if y == 0:
            for h in range(n_groups):
                out[h] = (counts[h] + own) * np.int64(spare[h]) - groups.costs[h]
        else:
            for h in range(n_groups):
                out[h] += (counts[h] + own) * np.int64(spare[h])
    best = np.int64(-1)
    least = below
    for h in range(n_groups):
        if (
            out[h] < least
            and groups.size[h] > 0
            and h != not_this
            and holds_with(groups, rules, h, i, 1, scratch)
        ):
            least = out[h]
            best = h
    return best, least


@kernel
def relocate_rows(
    space: Any,
    rows: Any,
    classes: Any,
    groups: Any,
    rules: Any,
    order: Any,
    start: int,
    stop: int,
    k: int,
    n_groups: int,
    query: Any,
    spare: Any,
    out: Any,
    scratch: Any,
) -> int:
    """Move rows order[start:stop] out of groups larger than k where that lowers the cost.

    Returns the total saving.
    """
    saved = np.int64(0)
    for t in range(start, stop):
        i = order[t]
        g = groups.label[i]
        if groups.size[g] <= k or (groups.costs[g] == 0 and groups.hists.shape[0] == 1):
            continue
        if not holds_with(groups, rules, g, i, -1, scratch):
            continue
        gain = gain_without(space, rows, classes, groups, i, query)
        best, rise = best_group(
            space, rows, classes, groups, rules, i, g, n_groups, gain, query, spare, out, scratch
        )
        if best < 0:
            continue
        take_out(groups, rules, classes, i)
        close_group(space, rows, groups, g, query)
        put_in(groups, rules, classes, i, best)
        close_group(space, rows, groups, best, query)
        saved += gain - rise
    return saved


@kernel
def dissolve_groups(
    space: Any,
    rows: Any,
    classes: Any,
    groups: Any,
    rules: Any,
    order: Any,
    start: int,
    stop: int,
    n_groups: int,
    query: Any,
    spare: Any,
    out: Any,
    scratch: Any,
    members: Any,
) -> int:
    """Dissolve groups order[start:stop] into the groups where their rows fit best, if it pays.

    Returns the total saving.
    """
    saved = np.int64(0)
    for t in range(start, stop):
        g = order[t]
        if groups.size[g] == 0:
            continue
        before = groups.costs[g]
        budget = before
        n = 0
        p = groups.head[g]
        while p >= 0:
            members[n] = p
            n += 1
            p = groups.after[p]
        moved = 0
        groups.size[g] = -groups.size[g]  # not a place to go to while it is dissolved
        for m in range(n):
            i = members[m]
            best, rise = best_group(
                space,
                rows,
                classes,
                groups,
                rules,
                i,
                g,
                n_groups,
                budget,
                query,
                spare,
                out,
                scratch,
            )
            if best < 0:
                break
            groups.size[g] = -groups.size[g]
            take_out(groups, rules, classes, i)
            groups.size[g] = -groups.size[g]
            put_in(groups, rules, classes, i, best)
            groups.costs[best] += rise
            load_query(space, groups.columns, best, query)
            absorb(space, rows, query, i)
            store_query(groups.columns, best, query)
            budget -= rise
            moved += 1
        groups.size[g] = -groups.size[g]
        if moved == n:
            groups.costs[g] = 0
            saved += budget
            continue
        for m in range(moved):  # it did not pay: everybody back
            i = members[m]
            h = groups.label[i]
            take_out(groups, rules, classes, i)
            put_in(groups, rules, classes, i, g)
            close_group(space, rows, groups, h, query)
        groups.costs[g] = before
    return saved
