"""Blocks of similar groups, and the closest group by what a union would cost more.

A block is not scanned if no group of it can be closest: the result is that of comparing with every
group, ties included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.blocks import block_at, bound_scan, close_inside, least_of
from shoal.kernels.bundle import bundle
from shoal.kernels.jit import helper, inlined_helper
from shoal.kernels.scan import join_scan

if TYPE_CHECKING:
    from shoal.kernels.space import (
        ClosedGroups,
        Columns,
        Counts,
        Flags,
        Places,
        Scratch,
        Space,
        Totals,
    )


ZERO = np.int64(0)
FAR = np.int64(1) << 62
REFRESH = 16
CHUNK = 64


@bundle
class GroupBlocks(NamedTuple):
    """Blocks of similar groups, and what bounds the distance to the living ones of each."""

    starts: Places  # int64 [blocks + 1]
    block_of: Places  # int64 [groups]
    numbers: Places  # int64 [groups]: the lowest wins a tie
    live: Flags  # bool [groups]: whether it has members
    each: Totals  # int64 [groups]: cost per member
    inner: Columns  # inner closures
    least: Counts  # int64 [blocks]: members of the smallest group; 0 if none is alive
    most: Totals  # int64 [blocks]: highest cost per member
    number: Places  # int64 [blocks]: no group has a lower number
    changes: Counts  # int64 [blocks]: since the bounds were computed anew; negative: never
    bound: Totals  # int64 [blocks]


@helper
def _describe(groups: ClosedGroups, blocks: GroupBlocks, b: int) -> None:
    """Compute anew what bounds the distance to the groups of block b."""
    sizes = groups.sizes
    start = blocks.starts[b]
    stop = blocks.starts[b + 1]
    close_inside(groups.columns, blocks.live, start, stop, blocks.inner, b)
    least = np.int64(0)
    most = np.int64(0)
    number = FAR
    for h in range(start, stop):
        if sizes[h] > 0:
            least = sizes[h] if least == 0 else min(least, sizes[h])
            blocks.each[h] = groups.costs[h] // sizes[h]
            most = max(most, blocks.each[h])
            number = min(number, blocks.numbers[h])
    blocks.least[b] = least
    blocks.most[b] = most
    blocks.number[b] = number
    blocks.changes[b] = 0


@helper
def describe_blocks(groups: ClosedGroups, blocks: GroupBlocks) -> None:
    """Compute the bounds of blocks that have none yet."""
    for b in range(blocks.least.shape[0]):
        if blocks.changes[b] < 0:
            _describe(groups, blocks, np.int64(b))


@helper
def note_change(groups: ClosedGroups, blocks: GroupBlocks, h: int) -> None:
    """Let the bounds of its block hold for group h, which was generalised or lost members.

    What all groups contain is contained in a more general group, too, so that still holds.
    """
    b = blocks.block_of[h]
    sizes = groups.sizes
    blocks.live[h] = sizes[h] > 0
    if sizes[h] > 0:
        blocks.each[h] = groups.costs[h] // sizes[h]
    blocks.changes[b] += 1
    if blocks.changes[b] >= REFRESH:
        _describe(groups, blocks, b)
    elif sizes[h] > 0:
        blocks.least[b] = min(blocks.least[b], sizes[h])
        blocks.most[b] = max(blocks.most[b], blocks.each[h])


@inlined_helper
def closest_in_blocks(
    space: Space, groups: ClosedGroups, c: int, k: int, blocks: GroupBlocks, scratch: Scratch
) -> tuple[np.int64, np.int64]:
    """Return the group closest to c (the query) and how far it is.

    Only for costs without sensitive values.

    The distance is what the members of both pay more for their union; of a group that makes the
    union 2k rows or more, only k − |c| members join. Without any other group, (−1, FAR).

    The rise of c alone bounds the distance from below and rules out nearly all groups; so does
    the rise of a block's groups from the highest cost among them.
    """
    query, spare, out = scratch.query, scratch.spare, scratch.out
    sizes = groups.sizes
    own = sizes[c]
    before = groups.costs[c] // own
    bound = blocks.bound
    bound_scan(space, blocks.inner, query, bound)
    first = ZERO
    for b in range(bound.shape[0]):
        joining = min(blocks.least[b], k - own)
        rise = own * (bound[b] - before) + joining * max(bound[b] - blocks.most[b], ZERO)
        bound[b] = rise if blocks.least[b] > 0 else FAR
        if bound[b] < bound[first]:
            first = np.int64(b)
    best = np.int64(-1)
    least = FAR
    for turn in range(bound.shape[0]):
        b = block_at(np.int64(turn), first)
        if bound[b] > least or blocks.least[b] == 0:
            continue
        if bound[b] == least and best >= 0 and blocks.number[b] > blocks.numbers[best]:
            continue
        start = blocks.starts[b]
        m = blocks.starts[b + 1] - start
        join_scan(space, groups.columns, query, ZERO, start, start + m, spare)
        for i in range(0, m, CHUNK):
            end = min(m, i + CHUNK)
            highest = least // own + before
            if np.int64(least_of(spare, i, end)) > highest:
                continue
            size = sizes[start + i : start + end]
            each = blocks.each[start + i : start + end]
            joint = spare[i:end]
            chunk = out[: end - i]
            closest = FAR
            for j in range(end - i):  # no branches: this loop vectorises
                cost = np.int64(joint[j])
                joining = size[j] if own + size[j] < 2 * k else k - own
                chunk[j] = own * (cost - before) + joining * (cost - each[j])
                closest = min(closest, chunk[j])
            if closest > least:
                continue
            for j in range(end - i):
                h = start + i + j
                if chunk[j] > least or sizes[h] == 0 or h == c:
                    continue
                if chunk[j] < least or blocks.numbers[h] < blocks.numbers[best]:
                    least = chunk[j]
                    best = np.int64(h)
    return best, least
