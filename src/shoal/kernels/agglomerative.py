"""Agglomerative clustering of small groups: always unify the two closest.

Groups are numbered by age. Each knows a pair with itself that is at least as close as any with an
older group, so the closest pair of all is on top of a heap of them, and nobody has to be told of a
new group, which looks for itself. A group whose partner is gone keeps its pair as a lower bound
and looks anew only when it comes up.
"""

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
from shoal.kernels.groups import group_cost, union_costs
from shoal.kernels.jit import helper, kernel
from shoal.kernels.scan import absorb, load_query

if TYPE_CHECKING:
    from shoal.kernels.space import ClosedGroups, Counts, Places, Scratch, Space, Totals


@bundle
class Pairs(NamedTuple):
    """The pair that each group knows, and a heap of the groups by these pairs."""

    partner: Places  # int64 [groups]: where it stands; negative: not known
    seen: Places  # int64 [groups]: its number when it was found; with another it is not that group
    distance: Totals  # int64 [groups]
    younger: Places  # int64 [groups]: the higher number of the pair
    older: Places  # int64 [groups]
    heap: Places  # int64 [groups]


@bundle
class Unions(NamedTuple):
    """Which group of the start each group is named after, and what became of all of them."""

    roots: Places  # int64 [groups]: the first group of the start that it holds
    target: Places  # int64 [groups of the start]: leads to the root of its union


@helper
def _closest_by_value(
    space: Space, groups: ClosedGroups, c: int, stop: int, numbers: Places, scratch: Scratch
) -> tuple[np.int64, np.int64]:
    """Return the closest group older than c below ``stop``, where costs look at values."""
    union_costs(space, groups, c, stop, scratch)
    out = scratch.out
    best = np.int64(-1)
    least = FAR
    for h in range(stop):
        if out[h] > least or groups.sizes[h] == 0 or numbers[h] >= numbers[c]:
            continue
        if out[h] < least or numbers[h] < numbers[best]:
            least = out[h]
            best = np.int64(h)
    return best, least


@helper
def _comes_first(keys: Pairs, a: int, b: int) -> bool:
    """Whether the pair that group a knows comes before that of group b."""
    if keys.distance[a] != keys.distance[b]:
        return bool(keys.distance[a] < keys.distance[b])
    if keys.younger[a] != keys.younger[b]:
        return bool(keys.younger[a] < keys.younger[b])
    return bool(keys.older[a] < keys.older[b])


@helper
def _sink(keys: Pairs, n: int) -> None:
    """Let the group on top of the heap sink to its place."""
    heap = keys.heap
    c = heap[0]
    at = np.int64(0)
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and _comes_first(keys, heap[child + 1], heap[child]):
            child += 1
        if not _comes_first(keys, heap[child], c):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = c


@kernel
def unify_closest(
    space: Space,
    groups: ClosedGroups,
    unions: Unions,
    pairs: Pairs,
    blocks: GroupBlocks,
    k: int,
    first_union: int,
    max_looks: int,
    max_gone: int,
    counts: Counts,
    scratch: Scratch,
) -> None:
    """Unify the two closest small groups again and again.

    Stops when fewer than two are left, after max_looks searches, or when max_gone groups have been
    used up. ``counts`` has the groups in the heap, the small groups left, the next number, and
    counts searches and groups used up. A union of at least k rows is not small any more.
    Ties: the pair whose younger group is oldest, then the one whose older group is.
    """
    numbers = blocks.numbers
    heap = pairs.heap
    hists, sizes, roots, query = groups.hists, groups.sizes, unions.roots, scratch.query
    bounded = hists.shape[0] == 1
    n_heap, n_small, number = counts[0], counts[1], counts[2]
    looks = np.int64(0)
    gone = np.int64(0)
    if bounded:
        describe_blocks(groups, blocks)
    while n_small > 1 and looks < max_looks and gone < max_gone:
        c = heap[0]
        if sizes[c] == 0:
            n_heap -= 1
            heap[0] = heap[n_heap]
            _sink(pairs, n_heap)
            continue
        h = pairs.partner[c]
        if h < 0 or numbers[h] != pairs.seen[c]:
            load_query(space, groups.columns, c, query)
            if bounded:
                h, distance = closest_in_blocks(space, groups, c, k, blocks, scratch)
            else:
                # groups that are no unions stand in the order of their numbers
                stop = np.int64(c if numbers[c] < first_union else sizes.shape[0])
                h, distance = _closest_by_value(space, groups, c, stop, numbers, scratch)
            pairs.partner[c] = h
            pairs.distance[c] = distance
            if h >= 0:
                pairs.seen[c] = numbers[h]
                pairs.younger[c] = max(numbers[c], numbers[h])
                pairs.older[c] = min(numbers[c], numbers[h])
            _sink(pairs, n_heap)
            looks += 1
            continue
        load_query(space, groups.columns, c, query)
        absorb(space, groups.columns, query, h)
        store_query(groups.columns, c, query)
        for y in range(hists.shape[0]):
            hists[y, c] += hists[y, h]
        groups.costs[c] = group_cost(space, query, hists, c)
        sizes[c] += sizes[h]
        sizes[h] = 0
        numbers[h] = -1
        root = min(roots[c], roots[h])
        unions.target[max(roots[c], roots[h])] = root
        roots[c] = root
        n_small -= 1
        gone += 1
        numbers[c] = number
        number += 1
        pairs.partner[c] = -1  # it stays on top of the heap and looks at once
        pairs.distance[c] = -FAR
        if sizes[c] >= k:
            sizes[c] = 0
            numbers[c] = -1
            n_small -= 1
            gone += 1
        if bounded:
            note_change(groups, blocks, c)
            note_change(groups, blocks, h)
    counts[0], counts[1], counts[2] = n_heap, n_small, number
    counts[3] += looks
    counts[4] += gone
