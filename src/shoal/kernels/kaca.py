"""Equivalence classes that are generalised until none is small (the loop of KACA)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.codes import store_query
from shoal.kernels.group_blocks import (
    FAR,
    GroupBlocks,
    closest_in_blocks,
    describe_blocks,
    note_change,
)
from shoal.kernels.groups import group_cost
from shoal.kernels.jit import helper, kernel
from shoal.kernels.scan import absorb, join_scan, load_query

if TYPE_CHECKING:
    from shoal.kernels.space import (
        ClosedGroups,
        Counts,
        Labels,
        Places,
        Reals,
        Scratch,
        Space,
        Totals,
    )


ZERO = np.int64(0)


@bundle
class Chains(NamedTuple):
    """The members of each class: the rows head, following[head], … tail."""

    head: Places  # int64 [classes]
    tail: Places  # int64 [classes]
    following: Places  # int64 [rows]


@bundle
class SmallClasses(NamedTuple):
    """The classes below k."""

    listed: Places  # int64: the first n_small of them
    place: Places  # int64 [classes]: where each stands there (−1: not at all)


@bundle
class Chance(NamedTuple):
    """Random numbers, and how much of them, of the classes and of the rows was used up."""

    uniforms: Reals  # float64
    used: Counts  # int64 [3]: numbers, classes, rows that were suppressed


@bundle
class Outliers(NamedTuple):
    """Which classes are suppressed instead of generalised."""

    limit: np.int64  # a class that costs more per row of the common class is one; negative: none is
    room: np.int64  # how many rows may be suppressed


@bundle
class Turns(NamedTuple):
    """When a call stops although classes are small still."""

    most: int  # after so many classes that were generalised
    most_dead: int  # when so many classes were used up


@bundle
class KacaScratch(NamedTuple):
    """Where one class is compared with all others, and where a class is split."""

    compared: Scratch  # with what the class at hand pays more for each union
    others: Totals  # int64 [classes]: what the other one does
    rows: Places  # int64 [longest class]


@helper
def _closest_by_value(
    space: Space, groups: ClosedGroups, c: int, k: int, scratch: KacaScratch
) -> tuple[np.int64, np.int64]:
    """Return the class closest to c, and how far it is, where costs depend on sensitive values.

    Classes are in order.

    The rise of a class is what its members (or a stub of them) pay more for the common
    generalisation. A stub's rise is its share of the whole class's, rounded down.
    """
    sizes, hists = groups.sizes, groups.hists
    out, others, spare = scratch.compared.out, scratch.others, scratch.compared.spare
    n = sizes.shape[0]
    own = sizes[c]
    best = np.int64(-1)
    least = FAR
    for h in range(n):
        out[h] = -groups.costs[c]
        others[h] = -groups.costs[h]
    for y in range(hists.shape[0]):
        join_scan(space, groups.columns, scratch.compared.query, y, ZERO, n, spare)
        for h in range(n):
            out[h] += hists[y, c] * np.int64(spare[h])
            others[h] += hists[y, h] * np.int64(spare[h])
    for h in range(n):
        if sizes[h] == 0 or h == c:
            continue
        distance = out[h] + others[h]
        if own + sizes[h] >= 2 * k:
            distance = out[h] + (k - own) * others[h] // sizes[h]
        if distance < least:
            least = distance
            best = np.int64(h)
    return best, least


@helper
def _split_stub(
    chains: Chains, h: int, size: int, n_stub: int, uniforms: Reals, at: int, rows: Places
) -> None:
    """Move n_stub random members of class h to rows[:n_stub]; the others stay in h."""
    following = chains.following
    row = chains.head[h]
    for i in range(size):
        rows[i] = row
        row = following[row]
    for i in range(n_stub):
        j = i + np.int64(uniforms[at + i] * (size - i))
        rows[i], rows[j] = rows[j], rows[i]
    chains.head[h] = rows[n_stub]
    for i in range(n_stub, size - 1):
        following[rows[i]] = rows[i + 1]
    chains.tail[h] = rows[size - 1]
    for i in range(n_stub - 1):
        following[rows[i]] = rows[i + 1]


@helper
def _forget(small: SmallClasses, n_small: int, c: int) -> int:
    """Take class c from the list of small classes; the last one moves to its place."""
    last = small.listed[n_small - 1]
    small.listed[small.place[c]] = last
    small.place[last] = small.place[c]
    small.place[c] = -1
    return n_small - 1


@kernel
def generalise_small_classes(
    space: Space,
    groups: ClosedGroups,
    chains: Chains,
    classes: Labels,
    small: SmallClasses,
    n_small: int,
    turns: Turns,
    k: int,
    blocks: GroupBlocks,
    chance: Chance,
    outliers: Outliers,
    scratch: KacaScratch,
) -> int:
    """Generalise random small classes with their closest class; return how many are still small.

    Stops early after the most turns, when too many classes have been used up, or when the random
    numbers may not suffice for another turn. Every turn leaves fewer small classes. Blocks with a
    negative number of changes have no bounds yet. A class that is too far from its closest one is
    suppressed as a whole, as long as there is room.
    """
    at = 0
    dead = 0
    gone = 0
    left = turns.most
    columns, hists, sizes = groups.columns, groups.hists, groups.sizes
    uniforms, query, rows = chance.uniforms, scratch.compared.query, scratch.rows
    bounded = hists.shape[0] == 1
    describe_blocks(groups, blocks)
    while n_small > 0 and left > 0 and dead < turns.most_dead and at + k <= uniforms.shape[0]:
        left -= 1
        c = small.listed[np.int64(uniforms[at] * n_small)]
        at += 1
        load_query(space, columns, c, query)
        if bounded:
            h, far = closest_in_blocks(space, groups, c, k, blocks, scratch.compared)
        else:
            h, far = _closest_by_value(space, groups, c, k, scratch)
        joining = sizes[h]
        if sizes[c] + sizes[h] >= 2 * k:
            joining = k - sizes[c]
        if (
            outliers.limit >= 0
            and gone + sizes[c] <= outliers.room
            and far > outliers.limit * (sizes[c] + joining)
        ):
            gone += sizes[c]
            dead += 1
            sizes[c] = 0
            hists[:, c] = 0
            groups.costs[c] = 0
            n_small = _forget(small, n_small, c)
            if bounded:
                note_change(groups, blocks, c)
            continue
        absorb(space, columns, query, h)
        store_query(columns, c, query)
        if sizes[c] + sizes[h] >= 2 * k:
            _split_stub(chains, h, sizes[h], joining, uniforms, at, rows)
            at += joining
            chains.following[chains.tail[c]] = rows[0]
            chains.tail[c] = rows[joining - 1]
            for i in range(joining):
                hists[classes[rows[i]], c] += 1
                hists[classes[rows[i]], h] -= 1
        else:
            chains.following[chains.tail[c]] = chains.head[h]
            chains.tail[c] = chains.tail[h]
            for y in range(hists.shape[0]):
                hists[y, c] += hists[y, h]
                hists[y, h] = 0
        groups.costs[c] = group_cost(space, query, hists, c)
        sizes[c] += joining
        sizes[h] -= joining
        if sizes[h] == 0:
            dead += 1
        load_query(space, columns, h, query)
        groups.costs[h] = group_cost(space, query, hists, h)
        if small.place[h] >= 0:  # a class that gives a stub is large and stays so
            n_small = _forget(small, n_small, h)
        if sizes[c] >= k:
            n_small = _forget(small, n_small, c)
        if bounded:
            note_change(groups, blocks, c)
            note_change(groups, blocks, h)
    chance.used[0] = at
    chance.used[1] = dead
    chance.used[2] = gone
    return n_small
