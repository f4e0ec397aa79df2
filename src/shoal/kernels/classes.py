"""Equivalence classes that are generalised until none is small (the loop of KACA)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.codes import store_query
from shoal.kernels.group_blocks import FAR, closest_in_blocks, describe_blocks, note_change
from shoal.kernels.jit import kernel, scan_helper
from shoal.kernels.merge import group_cost
from shoal.kernels.scan import absorb, join_scan, load_query

ZERO = np.int64(0)

__all__ = ["generalise_small_classes"]


@scan_helper
def _closest_by_value(
    space: Any,
    groups: Any,
    hists: Any,
    costs: Any,
    sizes: Any,
    c: int,
    k: int,
    query: Any,
    spare: Any,
    out: Any,
) -> np.int64:
    """Return the class closest to c where costs depend on sensitive values; classes are in order.

    The rise of a class is what its members (or a stub of them) pay more for the common
    generalisation. A stub's rise is its share of the whole class's, rounded down.
    """
    n = sizes.shape[0]
    own = sizes[c]
    best = np.int64(-1)
    least = FAR
    for h in range(n):
        out[0, h] = -costs[c]
        out[1, h] = -costs[h]
    for y in range(hists.shape[0]):
        join_scan(space, groups, query, y, ZERO, n, spare)
        for h in range(n):
            out[0, h] += hists[y, c] * np.int64(spare[h])
            out[1, h] += hists[y, h] * np.int64(spare[h])
    for h in range(n):
        if sizes[h] == 0 or h == c:
            continue
        distance = out[0, h] + out[1, h]
        if own + sizes[h] >= 2 * k:
            distance = out[0, h] + (k - own) * out[1, h] // sizes[h]
        if distance < least:
            least = distance
            best = np.int64(h)
    return best


@scan_helper
def _split_stub(
    head: Any,
    tail: Any,
    following: Any,
    h: int,
    size: int,
    n_stub: int,
    uniforms: Any,
    at: int,
    scratch: Any,
) -> None:
    """Move n_stub random members of class h to scratch[:n_stub]; the others stay in h."""
    row = head[h]
    for i in range(size):
        scratch[i] = row
        row = following[row]
    for i in range(n_stub):
        j = i + np.int64(uniforms[at + i] * (size - i))
        scratch[i], scratch[j] = scratch[j], scratch[i]
    head[h] = scratch[n_stub]
    for i in range(n_stub, size - 1):
        following[scratch[i]] = scratch[i + 1]
    tail[h] = scratch[size - 1]
    for i in range(n_stub - 1):
        following[scratch[i]] = scratch[i + 1]


@scan_helper
def _forget(small: Any, place: Any, n_small: int, c: int) -> int:
    """Take class c from the list of small classes; the last one moves to its place."""
    last = small[n_small - 1]
    small[place[c]] = last
    place[last] = place[c]
    place[c] = -1
    return n_small - 1


@kernel
def generalise_small_classes(
    space: Any,
    groups: Any,
    hists: Any,
    costs: Any,
    sizes: Any,
    head: Any,
    tail: Any,
    following: Any,
    classes: Any,
    small: Any,
    place: Any,
    n_small: int,
    max_turns: int,
    max_dead: int,
    k: int,
    blocks: Any,
    uniforms: Any,
    used: Any,
    query: Any,
    spare: Any,
    out: Any,
    scratch: Any,
) -> int:
    """Generalise random small classes with their closest class; return how many are still small.

    Stops early after max_turns, when max_dead classes have been used up, or when the random numbers
    may not suffice for another turn; ``used`` says how many numbers and classes were. Members of a
    class are the rows head, following[head], … tail. ``small`` lists the classes below k,
    ``place`` says where each stands there (−1: not at all). Every turn leaves fewer small classes.
    Blocks with a negative number of changes have no bounds yet.
    """
    at = 0
    dead = 0
    bounded = hists.shape[0] == 1
    describe_blocks(groups, costs, sizes, blocks)
    while n_small > 0 and max_turns > 0 and dead < max_dead and at + k <= uniforms.shape[0]:
        max_turns -= 1
        c = small[np.int64(uniforms[at] * n_small)]
        at += 1
        load_query(space, groups, c, query)
        if bounded:
            h, _ = closest_in_blocks(
                space, groups, costs, sizes, c, k, blocks, query, spare, out[0]
            )
        else:
            h = _closest_by_value(space, groups, hists, costs, sizes, c, k, query, spare, out)
        absorb(space, groups, query, h)
        store_query(groups, c, query)
        joining = sizes[h]
        if sizes[c] + sizes[h] >= 2 * k:
            joining = k - sizes[c]
            _split_stub(head, tail, following, h, sizes[h], joining, uniforms, at, scratch)
            at += joining
            following[tail[c]] = scratch[0]
            tail[c] = scratch[joining - 1]
            for i in range(joining):
                hists[classes[scratch[i]], c] += 1
                hists[classes[scratch[i]], h] -= 1
        else:
            following[tail[c]] = head[h]
            tail[c] = tail[h]
            for y in range(hists.shape[0]):
                hists[y, c] += hists[y, h]
                hists[y, h] = 0
        costs[c] = group_cost(space, query, hists, c)
        sizes[c] += joining
        sizes[h] -= joining
        if sizes[h] == 0:
            dead += 1
        load_query(space, groups, h, query)
        costs[h] = group_cost(space, query, hists, h)
        if place[h] >= 0:  # a class that gives a stub is large and stays so
            n_small = _forget(small, place, n_small, h)
        if sizes[c] >= k:
            n_small = _forget(small, place, n_small, c)
        if bounded:
            note_change(groups, costs, sizes, blocks, c)
            note_change(groups, costs, sizes, blocks, h)
    used[0] = at
    used[1] = dead
    return n_small
