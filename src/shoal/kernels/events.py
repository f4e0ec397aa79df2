"""Rows of further tables (events) become as fine as k people for every m of them allow.

The events of one group of people begin as one type per table: every cell is generalised to all
that the group has there. A type is split again and again, the dearest first, at a node of a
hierarchy or between two numbers, as long as whatever m events somebody has, k people of the group
have the like. What breaks that is either not split, or a few rows are left out.

What m events have in common is a pattern: their types, and how deep the rows lie that they hang
from together (0: only the person, 1: the same row of a table below the main one, …). A type has
rows of one table only, and rows of one type hang from rows of one type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.jit import helper, kernel

if TYPE_CHECKING:
    from shoal.kernels.space import Flags, Places, Reals

GONE = np.int64(-1)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(31)
_TYPE_BITS = np.int64(16)
_DEPTH_BITS = np.int64(4)
MOST_TYPES = np.int64(1 << 16) - 2
"""Types of one group; deeper than 15 tables below one another no pattern can say."""
_TRIES = np.int64(16)


@bundle
class Events(NamedTuple):
    """Rows of further tables, by group, person, depth: parents stand before their children."""

    starts: Places  # int64 [groups + 1]: where each group begins
    person: Places  # int64 [rows]
    up: Places  # int64 [rows]: the row that a row hangs from, −1 if it hangs from the person
    table: Places  # int64 [rows]
    depth: Places  # int64 [rows]: 1 for tables that hang from the main one
    codes: Places  # int64 [most columns of a table, rows]
    first: Places  # int64 [tables + 1]: the first column of each table
    size: Places  # int64 [columns]: how many values; also the code of missing
    tree: Flags  # bool [columns]: whether values have a hierarchy; otherwise they lie on a line
    low: Reals  # float64 [columns, values]: where a value begins, the range being 1
    high: Reals  # float64 [columns, values]: where it ends
    parent: Places  # int64 [columns, nodes]
    first_leaf: Places  # int64 [columns, nodes]
    last_leaf: Places  # int64 [columns, nodes]
    loss: Reals  # float64 [columns, nodes]: of a cell that is published as this node


@bundle
class Scratch(NamedTuple):
    """What one thread works in."""

    keys: Places  # int64 [a power of two]: patterns
    stamp: Places  # int64 [the same]: the count that a place belongs to
    whose: Places  # int64 [the same]: the last person who was counted
    people: Places  # int64 [the same]: how many were
    used: Places  # int64 [the same]: which places the present count uses
    side: Places  # int64 [rows of the largest group]: 1 where a split moves a row
    before: Places  # int64 [the same]: types to go back to
    kept: Places  # int64 [the same]: rows of a person
    loss: Reals  # float64 [types]: of all rows of a type; negative if it is closed
    renamed: Places  # int64 [types]: the new type of what is moved out of one
    gain: Reals  # float64 [candidates]
    column: Places  # int64 [candidates]
    place: Places  # int64 [candidates]: the first code that is moved
    until: Places  # int64 [candidates]: the last
    state: Places  # int64 [4]: present count, its patterns, first row of the group, places − 1


@helper
def _shared(events: Events, a: int, b: int) -> int:
    """Return how deep the row lies that two rows hang from together; 0 is the person."""
    while a >= 0 and b >= 0 and a != b:
        if events.depth[a] >= events.depth[b]:
            a = events.up[a]
        else:
            b = events.up[b]
    return events.depth[a] if a >= 0 and a == b else np.int64(0)


@helper
def _one(t: int) -> int:
    return t + 1


@helper
def _two(t: int, u: int, d: int) -> int:
    if t > u:
        t, u = u, t
    return ((t + 1) << _TYPE_BITS | (u + 1)) << _DEPTH_BITS | d


@helper
def _three(t: int, u: int, v: int, tu: int, tv: int, uv: int) -> int:
    """Return the pattern of three rows, whatever their order."""
    if t > u:
        t, u, tv, uv = u, t, uv, tv
    if u > v:
        u, v, tu, tv = v, u, tv, tu
    if t > u:
        t, u, tv, uv = u, t, uv, tv
    if t == u and tv > uv:
        tv, uv = uv, tv
    if u == v and tu > tv:
        tu, tv = tv, tu
    if t == u and tv > uv:
        tv, uv = uv, tv
    types = ((t + 1) << _TYPE_BITS | (u + 1)) << _TYPE_BITS | (v + 1)
    return ((types << _DEPTH_BITS | tu) << _DEPTH_BITS | tv) << _DEPTH_BITS | uv


@helper
def _find(scratch: Scratch, key: int) -> int:
    last = np.uint64(scratch.state[3])
    mixed = np.uint64(key) * _MIX
    at = np.int64((mixed ^ (mixed >> _SHIFT)) & last)
    while scratch.stamp[at] == scratch.state[0] and scratch.keys[at] != key:
        at = (at + 1) & np.int64(last)
    return at


@helper
def _full(scratch: Scratch) -> bool:
    return 4 * scratch.state[1] > 3 * scratch.state[3]


@helper
def _count(scratch: Scratch, key: int, person: int) -> None:
    """Count a person for a pattern, once."""
    at = _find(scratch, key)
    if scratch.stamp[at] != scratch.state[0]:
        if _full(scratch):
            return  # there is no room
        scratch.used[scratch.state[1]] = at
        scratch.stamp[at] = scratch.state[0]
        scratch.keys[at] = key
        scratch.people[at] = 1
        scratch.whose[at] = person
        scratch.state[1] += 1
    elif scratch.whose[at] != person:
        scratch.whose[at] = person
        scratch.people[at] += 1


@helper
def _held(scratch: Scratch, key: int) -> int:
    """Return how many people have a pattern."""
    at = _find(scratch, key)
    return scratch.people[at] if scratch.stamp[at] == scratch.state[0] else np.int64(0)


@helper
def _count_person(
    events: Events, scratch: Scratch, types: Places, ends: tuple[int, int], m: int, only: bool
) -> None:
    """Count the patterns of one person; only those with a row that a split touches if asked."""
    start, stop = ends
    person = events.person[start]
    origin = scratch.state[2]
    for a in range(start, stop):
        if types[a] < 0:
            continue
        of_a = scratch.side[a - origin] != 0
        if of_a or not only:
            _count(scratch, _one(types[a]), person)
        if m < 2:
            continue
        for b in range(a + 1, stop):
            if types[b] < 0:
                continue
            of_b = of_a or scratch.side[b - origin] != 0
            ab = np.int64(0)
            if of_b or m > 2 or not only:
                ab = _shared(events, a, b)
            if of_b or not only:
                _count(scratch, _two(types[a], types[b], ab), person)
            if m < 3:
                continue
            for c in range(b + 1, stop):
                if types[c] < 0 or (only and not (of_b or scratch.side[c - origin] != 0)):
                    continue
                ac, bc = _shared(events, a, c), _shared(events, b, c)
                _count(scratch, _three(types[a], types[b], types[c], ab, ac, bc), person)


@helper
def _person_end(events: Events, start: int, stop: int) -> int:
    end = start + 1
    while end < stop and events.person[end] == events.person[start]:
        end += 1
    return end


@helper
def _count_group(
    events: Events, scratch: Scratch, types: Places, g: int, m: int, only: bool
) -> None:
    """Count the patterns of all people of a group."""
    scratch.state[0] += 1
    scratch.state[1] = 0
    start, stop = events.starts[g], events.starts[g + 1]
    while start < stop:
        end = _person_end(events, start, stop)
        _count_person(events, scratch, types, (start, end), m, only)
        start = end


@helper
def _fits(
    events: Events, scratch: Scratch, types: Places, row: int, n_kept: int, need: tuple[int, int]
) -> bool:
    """Return whether a row and at most m − 1 of those kept are what k people have, too."""
    k, m = need
    if _held(scratch, _one(types[row])) < k:
        return False
    for i in range(n_kept if m > 1 else 0):
        a = scratch.kept[i]
        ra = _shared(events, row, a)
        if _held(scratch, _two(types[row], types[a], ra)) < k:
            return False
        for j in range(i + 1, n_kept if m > 2 else 0):
            b = scratch.kept[j]
            rb, ab = _shared(events, row, b), _shared(events, a, b)
            if _held(scratch, _three(types[row], types[a], types[b], ra, rb, ab)) < k:
                return False
    return True


@helper
def _leave_out(
    events: Events, scratch: Scratch, types: Places, g: int, need: tuple[int, int], most: int
) -> int:
    """Leave out rows that single people out, by the counts as they are; return how many.

    Rows are kept in their order, each unless it breaks something together with those before it;
    what hangs from a row that is left out goes with it. Stops where more than ``most`` are gone.
    """
    start, stop = events.starts[g], events.starts[g + 1]
    gone = np.int64(0)
    while start < stop and gone <= most:
        end = _person_end(events, start, stop)
        n_kept = np.int64(0)
        for row in range(start, end):
            if types[row] < 0:
                continue
            up = events.up[row]
            orphan = up >= 0 and types[up] < 0
            if orphan or not _fits(events, scratch, types, row, n_kept, need):
                types[row] = GONE
                gone += 1
            else:
                scratch.kept[n_kept] = row
                n_kept += 1
        start = end
    return gone


@helper
def _lacking(scratch: Scratch, k: int) -> int:
    """Return how many people at least have to lose a row until what was counted holds."""
    if _full(scratch):
        return scratch.keys.shape[0]
    most = np.int64(0)
    for i in range(scratch.state[1]):
        people = scratch.people[scratch.used[i]]
        if most < people < k:
            most = people
    return most


@helper
def _settle(
    events: Events, scratch: Scratch, types: Places, g: int, need: tuple[int, int], most: int
) -> int:
    """Leave rows out until the group holds; return how many, more than ``most`` if too many."""
    gone = np.int64(0)
    while True:
        _count_group(events, scratch, types, g, need[1], False)
        if _full(scratch):
            return most + 1
        now = _leave_out(events, scratch, types, g, need, most - gone)
        gone += now
        if now == 0 or gone > most:
            return gone


@helper
def _node(events: Events, c: int, low: int, high: int) -> int:
    """Return the lowest node of a hierarchy above two leaves."""
    node = low
    while events.last_leaf[c, node] < high:
        node = events.parent[c, node]
    return node


@helper
def _cell_loss(events: Events, c: int, low: int, high: int) -> float:
    """Return what a cell loses that stands for these codes."""
    size = events.size[c]
    if low == size:
        return 0.0  # nothing but missing
    if high == size:
        return 1.0
    if events.tree[c]:
        return events.loss[c, _node(events, c, low, high)]
    return events.high[c, high] - events.low[c, low]


@helper
def _loss_of(
    events: Events, scratch: Scratch, types: Places, g: int, of: tuple[int, int]
) -> tuple[float, int]:
    """Return the loss of the rows of a type on one side of a split, and how many there are."""
    the_type, side = of
    start, stop = events.starts[g], events.starts[g + 1]
    rows, table = np.int64(0), np.int64(-1)
    for row in range(start, stop):
        if types[row] == the_type and (side < 0 or scratch.side[row - start] == side):
            table = events.table[row]
            rows += 1
    if rows == 0 or events.first[table] == events.first[table + 1]:
        return 0.0, rows
    total = 0.0
    for c in range(events.first[table], events.first[table + 1]):
        low, high = events.size[c], np.int64(0)
        for row in range(start, stop):
            if types[row] == the_type and (side < 0 or scratch.side[row - start] == side):
                code = events.codes[c - events.first[table], row]
                low, high = min(low, code), max(high, code)
        total += _cell_loss(events, c, low, high)
    return rows * total / (events.first[table + 1] - events.first[table]), rows


@helper
def _mark(events: Events, scratch: Scratch, types: Places, g: int, the_type: int, at: int) -> int:
    """Mark the rows of a type that a split would move; return how many people have one."""
    start, stop = events.starts[g], events.starts[g + 1]
    people, last = np.int64(0), np.int64(-1)
    for row in range(start, stop):
        scratch.side[row - start] = 0
        if types[row] != the_type:
            continue
        own = scratch.column[at] - events.first[events.table[row]]
        code = events.codes[own, row]
        if scratch.place[at] <= code <= scratch.until[at]:
            scratch.side[row - start] = 1
            if events.person[row] != last:
                last = events.person[row]
                people += 1
    return people


@helper
def _offer(scratch: Scratch, n: int, column: int, place: int, until: int) -> int:
    if n < scratch.gain.shape[0]:
        scratch.column[n], scratch.place[n], scratch.until[n] = column, place, until
        n += 1
    return n


@helper
def _candidates(events: Events, scratch: Scratch, types: Places, g: int, the_type: int) -> int:
    """Write down how a type can be split; return in how many ways."""
    start, stop = events.starts[g], events.starts[g + 1]
    table, found = np.int64(-1), np.int64(0)
    for row in range(start, stop):
        if types[row] == the_type:
            table = events.table[row]
            break
    if table < 0:
        return 0
    first = events.first[table]
    for c in range(first, events.first[table + 1]):
        size = events.size[c]
        low, high, rows, missing = size, np.int64(-1), np.int64(0), False
        for row in range(start, stop):
            if types[row] == the_type:
                code = events.codes[c - first, row]
                missing = missing or code == size
                if code < size:
                    rows += 1
                    low, high = min(low, code), max(high, code)
        if missing and rows:
            found = _offer(scratch, found, c, size, size)
        if rows == 0 or low == high:
            continue
        if events.tree[c]:
            node = _node(events, c, low, high)
            leaf = events.first_leaf[c, node]
            while leaf <= events.last_leaf[c, node]:  # its children, one after the other
                child = leaf
                while events.parent[c, child] != node:
                    child = events.parent[c, child]
                for row in range(start, stop):
                    code = events.codes[c - first, row] if types[row] == the_type else np.int64(-1)
                    if leaf <= code <= events.last_leaf[c, child]:
                        last = events.last_leaf[c, child]
                        found = _offer(scratch, found, c, leaf, last)
                        break
                leaf = events.last_leaf[c, child] + 1
            continue
        for part in range(1, 4):  # about a quarter, a half and three quarters of the rows
            below, above = low, high
            while below < above:
                middle, count = (below + above) // 2, np.int64(0)
                for row in range(start, stop):
                    if types[row] == the_type and events.codes[c - first, row] <= middle:
                        count += 1
                if 4 * count >= part * rows:
                    above = middle
                else:
                    below = middle + 1
            if below < high:
                found = _offer(scratch, found, c, low, below)
    return found


@helper
def _move(
    events: Events, scratch: Scratch, types: Places, g: int, n_types: int
) -> tuple[int, bool]:
    """Give what is marked, and what hangs from it, types of their own; mark all it touches.

    Returns how many types there are then, and whether all had a name.
    """
    start, stop = events.starts[g], events.starts[g + 1]
    for t in range(n_types):
        scratch.renamed[t] = -1
    before = n_types
    for row in range(start, stop):
        t, up = types[row], events.up[row]
        scratch.before[row - start] = t
        if t < 0:
            continue
        if up >= 0 and scratch.side[up - start]:
            scratch.side[row - start] = 1
        if scratch.side[row - start]:
            if scratch.renamed[t] < 0:
                if n_types >= min(MOST_TYPES, scratch.loss.shape[0]):
                    return before, False
                scratch.renamed[t] = n_types
                n_types += 1
            types[row] = scratch.renamed[t]
    for row in range(start, stop):  # what stays of a type that is split is touched as well
        t = scratch.before[row - start]
        if t >= 0 and scratch.renamed[t] >= 0:
            scratch.side[row - start] = 1
    return n_types, True


@helper
def _take_back(events: Events, scratch: Scratch, types: Places, g: int) -> None:
    start, stop = events.starts[g], events.starts[g + 1]
    for row in range(start, stop):
        types[row] = scratch.before[row - start]


@helper
def _split(
    events: Events,
    scratch: Scratch,
    types: Places,
    g: int,
    need: tuple[int, int],
    of: tuple[int, int],
    price: float,
) -> int:
    """Split a type in the way that gains most and keeps the promise; return how many there are."""
    the_type, n_types = of
    k, m = need
    n = _candidates(events, scratch, types, g, the_type)
    whole = scratch.loss[the_type]
    for at in range(n):
        people = _mark(events, scratch, types, g, the_type, at)
        scratch.gain[at] = -1.0
        if people < k:
            continue
        moved, _ = _loss_of(events, scratch, types, g, (the_type, np.int64(1)))
        stays, _ = _loss_of(events, scratch, types, g, (the_type, np.int64(0)))
        scratch.gain[at] = whole - moved - stays
    for _ in range(min(n, _TRIES)):
        best = np.int64(0)
        for at in range(1, n):
            if scratch.gain[at] > scratch.gain[best]:
                best = at
        gain = scratch.gain[best]
        if gain <= 1e-9:
            break
        scratch.gain[best] = -1.0
        _mark(events, scratch, types, g, the_type, best)
        now, named = _move(events, scratch, types, g, n_types)
        if named:
            _count_group(events, scratch, types, g, m, True)
            most = np.int64(gain / price)
            lacking = _lacking(scratch, k)
            if lacking == 0:
                return now
            if lacking <= most and _settle(events, scratch, types, g, need, most) <= most:
                return now
        _take_back(events, scratch, types, g)
    return n_types


@helper
def _places(events: Events, scratch: Scratch, g: int, m: int) -> int:
    """Return how many places for patterns are worth their while in a group: a power of two."""
    start, stop = events.starts[g], events.starts[g + 1]
    wanted = np.int64(1024)
    while start < stop:
        end = _person_end(events, start, stop)
        wanted += (end - start) * (1 if m == 1 else end - start)
        start = end
    places = np.int64(1024)
    while places < wanted * m and places < scratch.keys.shape[0]:
        places *= 2
    return places


@kernel
def split_events(
    events: Events,
    scratch: Scratch,
    types: Places,
    groups: tuple[int, int],
    need: tuple[int, int],
    price: float,
) -> None:
    """Find the type of every row of some groups; −1 is left out.

    Args:
        events: the rows.
        scratch: what is worked in.
        types: where types are written to.
        groups: the first group and the one after the last.
        need: k, and how many events an attacker knows.
        price: what leaving a row out costs, in rows whose cells tell nothing.
    """
    n_tables = events.first.shape[0] - 1
    for g in range(groups[0], groups[1]):
        start, stop = events.starts[g], events.starts[g + 1]
        scratch.state[2] = start
        scratch.state[3] = _places(events, scratch, g, need[1]) - 1
        for row in range(start, stop):
            types[row] = events.table[row]
            scratch.side[row - start] = 0
        _settle(events, scratch, types, g, need, stop - start)
        n_types = n_tables
        for t in range(n_types):
            scratch.loss[t], _ = _loss_of(events, scratch, types, g, (t, np.int64(-1)))
        while True:
            dearest = np.int64(0)
            for t in range(1, n_types):
                if scratch.loss[t] > scratch.loss[dearest]:
                    dearest = t
            if scratch.loss[dearest] <= 1e-9:
                break
            now = _split(events, scratch, types, g, need, (dearest, n_types), price)
            if now == n_types:
                scratch.loss[dearest] = -1.0  # it cannot be split, nor later
                continue
            for t in range(n_types):  # what hangs from it was split, too
                if scratch.renamed[t] >= 0:
                    closed = scratch.loss[t] < 0
                    scratch.loss[t], _ = _loss_of(events, scratch, types, g, (t, np.int64(-1)))
                    new = scratch.renamed[t]
                    scratch.loss[new], _ = _loss_of(events, scratch, types, g, (new, np.int64(-1)))
                    if closed:
                        scratch.loss[t] = scratch.loss[new] = -1.0
            n_types = now
