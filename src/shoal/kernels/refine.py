"""Local search on groups: relocate records, dissolve groups (`refine_rebuild.py` opens new ones).

The state of a search is a `Groups` tuple. All moves keep every group at k people or more and every
privacy model; a move is made only if it lowers the total cost, or, while the search is hot, raises
it by less than is drawn for it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.codes import load_codes, store_query
from shoal.kernels.groups import (
    Groups,
    close_group,
    gain_without,
    holds_with,
    put_in,
    spares,
    take_out,
    widen,
)
from shoal.kernels.jit import called_helper, helper, kernel
from shoal.kernels.scan import join_scan, load_query

if TYPE_CHECKING:
    from shoal.kernels.private import Rules
    from shoal.kernels.space import (
        Annealing,
        Columns,
        Flags,
        Labels,
        Places,
        Query,
        Records,
        Scratch,
        Totals,
    )


ZERO = np.int64(0)
JOINS, LEAVES = np.int64(1), np.int64(-1)
NONE = np.int64(1) << 62


@bundle
class Undo(NamedTuple):
    """What groups were before `scatter_rows`, and what its rows will be if that stays."""

    kept: Flags  # bool [groups]: whether closure and cost are kept here
    columns: Columns
    costs: Totals  # int64 [groups]
    grew: Flags  # bool [rows]: whether the row widened the group that it joined
    members: Places  # int64 [rows]: the rows of the group, those that were moved first


@helper
def tolerated_rise(annealing: Annealing) -> int:
    """Return by how much the next move may raise the cost: 0, or an amount drawn by chance.

    Amounts are exponential, so a move is made with the chance that Metropolis gives it.
    """
    mean = annealing.temperature[0]
    if mean <= 0.0:
        return np.int64(0)
    state = annealing.random[0]  # Marsaglia's xorshift
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    annealing.random[0] = state
    drawn = (np.float64(state >> np.uint64(11)) + 0.5) / 9007199254740992.0
    return np.int64(-mean * math.log(drawn))


@helper
def _rises(records: Records, groups: Groups, i: int, n_groups: int, scratch: Scratch) -> None:
    """Write how much the cost of each group rises if row i joins, less the price of a group."""
    query, spare, out = scratch.query, scratch.spare, scratch.out
    load_query(records.space, records.columns, i, query)
    for y in range(groups.hists.shape[0]):
        join_scan(records.space, groups.columns, query, y, ZERO, n_groups, spare)
        own = 1 if records.classes[i] == y else 0
        counts = groups.hists[y]
        if y == 0:
            for h in range(n_groups):
                out[h] = (counts[h] + own) * np.int64(spare[h]) - groups.costs[h]
        else:
            for h in range(n_groups):
                out[h] += (counts[h] + own) * np.int64(spare[h])


@called_helper
def best_group(
    records: Records,
    groups: Groups,
    rules: Rules,
    i: int,
    not_this: int,
    n_groups: int,
    below: int,
    scratch: Scratch,
) -> tuple[int, int]:
    """Return the group whose cost rises least if row i joins, if by less than ``below``."""
    _rises(records, groups, i, n_groups, scratch)
    best = np.int64(-1)
    price = groups.price[0]
    least = below - price
    for h in range(n_groups):
        if (
            scratch.out[h] < least
            and groups.size[h] > 0
            and h != not_this
            and holds_with(groups, rules, h, i, JOINS, scratch.hist)
        ):
            least = scratch.out[h]
            best = h
    return best, least + price


@called_helper
def scatter_rows(
    records: Records,
    groups: Groups,
    rules: Rules,
    g: int,
    budget: int,
    n_groups: int,
    scratch: Scratch,
    undo: Undo,
) -> tuple[int, int]:
    """Put the rows of group g where they cost least, all together for less than the budget.

    Returns how many were moved (if the group has rows left, the budget did not do) and what is
    left of the budget. `settle` or `bring_back` must follow for each of them.
    """
    members = undo.members
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
        best, rise = best_group(records, groups, rules, i, g, n_groups, budget, scratch)
        if best < 0:
            break
        groups.size[g] = -groups.size[g]
        take_out(groups, rules, records.classes, i)
        groups.size[g] = -groups.size[g]
        put_in(groups, rules, records.classes, i, best)
        if not undo.kept[best]:
            undo.kept[best] = True
            undo.costs[best] = groups.costs[best]
            load_codes(groups.columns, best, scratch.query)
            store_query(undo.columns, best, scratch.query)
        undo.grew[i] = widen(records.columns, groups, best, i, scratch.query)
        groups.costs[best] += rise
        budget -= rise
        moved += 1
    groups.size[g] = -groups.size[g]
    return moved, budget


@helper
def settle(groups: Groups, i: int, undo: Undo) -> bool:
    """Let a scattered row stay; return whether it is the first of its new group to do so."""
    groups.pillar[i] = undo.grew[i]
    first = undo.kept[groups.label[i]]
    undo.kept[groups.label[i]] = False
    return first


@helper
def bring_back(
    groups: Groups, rules: Rules, classes: Labels, i: int, g: int, query: Query, undo: Undo
) -> None:
    """Bring a scattered row back to group g, and the group that it leaves to what it was.

    All scattered rows have to come back: closures and costs are right when the last one has.
    """
    h = np.int64(groups.label[i])
    take_out(groups, rules, classes, i)
    put_in(groups, rules, classes, i, g)
    if undo.kept[h]:
        undo.kept[h] = False
        groups.costs[h] = undo.costs[h]
        load_codes(undo.columns, h, query)
        store_query(groups.columns, h, query)


@kernel
def relocate_rows(
    records: Records,
    groups: Groups,
    rules: Rules,
    order: Places,
    k: int,
    n_groups: int,
    scratch: Scratch,
) -> int:
    """Move these rows, in order, out of groups that can spare them where that lowers the cost.

    Returns the total saving.
    """
    saved = np.int64(0)
    for t in range(order.shape[0]):
        i = order[t]
        g = np.int64(groups.label[i])
        if not spares(groups, g, i, k) or (
            groups.costs[g] == groups.price[0] and groups.hists.shape[0] == 1
        ):
            continue
        if not holds_with(groups, rules, g, i, LEAVES, scratch.hist):
            continue
        gain = gain_without(records, groups, i, scratch.query)
        below = gain + tolerated_rise(scratch.annealing)
        best, rise = best_group(records, groups, rules, i, g, n_groups, below, scratch)
        if best < 0:
            continue
        take_out(groups, rules, records.classes, i)
        if groups.pillar[i]:
            close_group(records, groups, g, scratch.query)
        else:
            groups.costs[g] -= gain
        put_in(groups, rules, records.classes, i, best)
        groups.pillar[i] = widen(records.columns, groups, best, i, scratch.query)
        groups.costs[best] += rise
        saved += gain - rise
    return saved


@kernel
def dissolve_groups(
    records: Records,
    groups: Groups,
    rules: Rules,
    order: Places,
    n_groups: int,
    scratch: Scratch,
    undo: Undo,
) -> int:
    """Dissolve these groups, in order, into those where their rows fit best, if it pays.

    Returns the total saving.
    """
    saved = np.int64(0)
    members = undo.members
    for t in range(order.shape[0]):
        g = order[t]
        if groups.size[g] == 0:
            continue
        extra = tolerated_rise(scratch.annealing)
        budget = groups.costs[g] + extra
        moved, left = scatter_rows(records, groups, rules, g, budget, n_groups, scratch, undo)
        if groups.size[g] == 0:
            for m in range(moved):
                settle(groups, members[m], undo)
            groups.costs[g] = 0
            saved += left - extra
            continue
        for m in range(moved):  # it did not pay: everybody back
            bring_back(groups, rules, records.classes, members[m], g, scratch.query, undo)
    return saved
