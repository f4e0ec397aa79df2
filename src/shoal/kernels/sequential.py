"""Sequential clustering: each record looks for the group where it costs least.

A record remembers the least cost of joining any other group, and when it looked. Groups that have
not changed since cannot offer less, so as long as that is no gain, only the groups that changed
are looked at again: after a few passes these are few. The moves are the same as with full scans.
"""

from __future__ import annotations

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
    take_out,
    widen,
)
from shoal.kernels.jit import helper, kernel
from shoal.kernels.scan import charge_scan, load_query

if TYPE_CHECKING:
    from shoal.kernels.private import Rules
    from shoal.kernels.space import Columns, Counts, Flags, Places, Query, Records, Scratch, Totals


ZERO = np.int64(0)
JOINS, LEAVES = np.int64(1), np.int64(-1)


@bundle
class Looks(NamedTuple):
    """What each row found when it looked for a better group."""

    seen: Places  # int64 [rows]: the pass in which it looked last
    floor: Totals  # int64 [rows]: least rise of another group
    gains: Totals  # int64 [rows]: what its own group would save


@bundle
class Recent(NamedTuple):
    """The groups that changed in the last pass or in this one, side by side."""

    columns: Columns  # closures
    hists: Counts  # int64 [classes, groups]
    costs: Totals  # int64 [groups]
    ids: Places  # int64 [groups]: which group it is
    slot: Places  # int64 [groups]: where a group stands here (−1: not at all)
    count: Counts  # int64 [1]: how many there are
    changed: Flags  # bool [groups]: whether a group has changed in this pass


@helper
def _scan_groups(
    records: Records,
    i: int,
    columns: Columns,
    hists: Counts,
    costs: Totals,
    stop: int,
    scratch: Scratch,
) -> None:
    """Write the rise of the cost of each of the first groups if row i (the query) joined it."""
    query, spare, out = scratch.query, scratch.spare, scratch.out
    for y in range(hists.shape[0]):
        own = np.int64(1 if records.classes[i] == y else 0)
        charge_scan(records.space, columns, query, own, hists[y], y, ZERO, stop, spare, out)
    for h in range(stop):
        out[h] -= costs[h]


@helper
def _note_change(groups: Groups, g: int, query: Query, recent: Recent) -> None:
    """Keep the new state of group g among the recently changed."""
    recent.changed[g] = True
    if recent.slot[g] < 0:
        recent.slot[g] = recent.count[0]
        recent.ids[recent.count[0]] = g
        recent.count[0] += 1
    at = recent.slot[g]
    load_codes(groups.columns, g, query)
    store_query(recent.columns, at, query)
    for y in range(groups.hists.shape[0]):
        recent.hists[y, at] = groups.hists[y, g]
    recent.costs[at] = groups.costs[g]


@kernel
def list_recent(groups: Groups, query: Query, recent: Recent) -> None:
    """Begin a pass: collect the groups that changed in the last one."""
    recent.slot[:] = -1
    recent.count[0] = 0
    for g in range(recent.changed.shape[0]):
        if recent.changed[g]:
            _note_change(groups, g, query, recent)
            recent.changed[g] = False


@kernel
def sequential_pass(
    records: Records,
    groups: Groups,
    rules: Rules,
    looks: Looks,
    recent: Recent,
    start: int,
    stop: int,
    now: int,
    ties: bool,
    most: int,
    scratch: Scratch,
) -> tuple[int, int]:
    """Steps 2 to 8 of Algorithm 1 (4 to 13 of Algorithm 2) for rows start..stop.

    With ``ties`` a row also moves where nothing changes by that, if to a group that is no smaller.
    Returns how many rows moved and which row is next: before ``stop`` if the last one has joined a
    group of more than ``most`` rows by that. Groups that lose their last row keep their number with
    size 0. This is pass ``now``.
    """
    query, hist, out = scratch.query, scratch.hist, scratch.out
    n_groups = groups.size.shape[0]
    with_rules = rules.kinds.shape[0] > 0
    moved = 0
    none = np.int64(1) << 62
    for i in range(start, stop):
        j = np.int64(groups.label[i])
        alone = groups.size[j] == 1
        looked_before = looks.seen[i] == now - 1
        # nothing to do if neither the row's own group nor any other changed since it looked
        unchanged = looked_before and recent.slot[j] < 0
        stays = looks.floor[i] > looks.gains[i] or (looks.floor[i] == looks.gains[i] and not ties)
        if unchanged and stays and recent.count[0] == 0:
            looks.seen[i] = now
            continue
        stuck = with_rules and not alone and not holds_with(groups, rules, j, i, LEAVES, hist)
        if stuck:
            continue
        if alone:
            looks.gains[i] = none
        elif not unchanged:
            looks.gains[i] = gain_without(records, groups, i, query)
        gain = looks.gains[i]
        if groups.hists.shape[0] == 1 and gain == 0:
            looks.floor[i] = 0
            looks.seen[i] = now
            continue  # joining never pays back: nothing to gain by leaving
        load_query(records.space, records.columns, i, query)
        stays = looks.floor[i] > gain or (looks.floor[i] == gain and not ties)
        partly = looked_before and stays and 2 * recent.count[0] < n_groups
        n_looked = recent.count[0] if partly else n_groups
        _scan_groups(
            records,
            i,
            recent.columns if partly else groups.columns,
            recent.hists if partly else groups.hists,
            recent.costs if partly else groups.costs,
            n_looked,
            scratch,
        )
        best = np.int64(-1)
        least = none
        for r in range(n_looked):
            if out[r] > least:
                continue
            h = recent.ids[r] if partly else np.int64(r)
            if h == j or groups.size[h] <= 0:
                continue
            if out[r] == least and best >= 0:  # the larger one if that decides, else the lowest
                more = groups.size[h] - groups.size[best] if ties else ZERO
                if more < 0 or (more == 0 and h > best):
                    continue
            # a group that may not take the row may do so only after it has changed
            could = (out[r] < gain or (ties and out[r] == gain)) and with_rules
            if could and not holds_with(groups, rules, h, i, JOINS, hist):
                continue
            least = out[r]
            best = h
        looks.floor[i] = min(looks.floor[i], least) if partly else least
        looks.seen[i] = now
        if best < 0 or least > gain:
            continue
        if least == gain and not (ties and groups.size[best] >= groups.size[j]):
            continue
        take_out(groups, rules, records.classes, i)
        if alone:
            groups.costs[j] = 0
        else:
            if groups.pillar[i]:
                close_group(records, groups, j, query)
            else:
                groups.costs[j] -= gain
            _note_change(groups, j, query, recent)
        put_in(groups, rules, records.classes, i, best)
        groups.pillar[i] = widen(records.columns, groups, best, i, query)
        groups.costs[best] += least
        _note_change(groups, best, query, recent)
        moved += 1
        if groups.size[best] > most:
            return moved, i + 1
    return moved, stop


@kernel
def split_off(
    records: Records,
    groups: Groups,
    rules: Rules,
    rows: Places,
    target: int,
    recent: Recent,
    query: Query,
) -> None:
    """Make these rows of one group a group of their own, which has no rows before."""
    g = np.int64(groups.label[rows[0]])
    for t in range(rows.shape[0]):
        take_out(groups, rules, records.classes, rows[t])
        put_in(groups, rules, records.classes, rows[t], target)
    close_group(records, groups, g, query)
    close_group(records, groups, target, query)
    _note_change(groups, g, query, recent)
    _note_change(groups, target, query, recent)
