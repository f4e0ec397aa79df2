"""The groups of a local search: who is in them, what spans them, what they cost.

Most rows of a large group lie inside what its other rows span. The rows that may not are its
pillars; any other row leaves the closure as it is, so nobody has to walk through the group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.codes import join_codes, load_codes, store_query
from shoal.kernels.jit import helper
from shoal.kernels.private import group_holds
from shoal.kernels.scan import load_query, own_cost, prepare

__all__ = [
    "Groups",
    "Rules",
    "Undo",
    "close_group",
    "gain_without",
    "holds_with",
    "put_in",
    "take_out",
    "widen",
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
    pillar: Array  # bool [rows]: the pillars of a group span its closure without the others


class Undo(NamedTuple):
    """What groups were before `scatter_rows`, and what its rows will be if that stays."""

    kept: Array  # bool [groups]: whether closure and cost are kept here
    columns: Any
    costs: Array  # int64 [groups]
    grew: Array  # bool [rows]: whether the row widened the group that it joined


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
    g = np.int64(groups.label[i])
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
def _span(rows: Any, groups: Any, g: int, without: int, query: Any) -> None:
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


@helper
def close_group(space: Any, rows: Any, groups: Any, g: int, query: Any) -> None:
    """Compute closure, pillars and cost of group g anew from its members."""
    if groups.head[g] < 0:
        groups.costs[g] = 0
        return
    _span(rows, groups, g, np.int64(-1), query)
    prepare(space, query)
    store_query(groups.columns, g, query)
    cost = np.int64(0)
    for y in range(groups.hists.shape[0]):
        cost += groups.hists[y, g] * own_cost(space, query, y)
    groups.costs[g] = cost


@helper
def gain_without(space: Any, rows: Any, classes: Any, groups: Any, i: int, query: Any) -> int:
    """Return what the group of row i (which has company) would save without it."""
    g = np.int64(groups.label[i])
    if not groups.pillar[i]:  # the closure stays, and one row less pays for it
        if groups.hists.shape[0] == 1:
            return groups.costs[g] // groups.size[g]
        load_query(space, groups.columns, g, query)
        return own_cost(space, query, np.int64(classes[i]))
    _span(rows, groups, g, i, query)
    prepare(space, query)
    rest = np.int64(0)
    for y in range(groups.hists.shape[0]):
        own = 1 if classes[i] == y else 0
        rest += (groups.hists[y, g] - own) * own_cost(space, query, y)
    groups.pillar[i] = join_codes(rows, query, i)
    return groups.costs[g] - rest


@helper
def widen(rows: Any, groups: Any, g: int, i: int, query: Any) -> bool:
    """Widen the closure of group g to cover row i; return whether that changed it."""
    load_codes(groups.columns, g, query)
    grew = join_codes(rows, query, i)
    if grew:
        store_query(groups.columns, g, query)
    return grew
