"""Bounds over blocks of similar rows, so that scans skip what cannot win.

A block is a run of rows with its own closure. Joining a closure with the block's closure costs at
least as much as with any of its rows (upper bound); joining it with the most favourable point of
the block's closure costs at most as much (lower bound).

Blocks of groups have an inner closure instead: what every group of the block contains. It gives
lower bounds only, and tighter ones. They hold without any update while groups grow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.codes import join_codes, load_codes, store_query
from shoal.kernels.jit import inlined_helper, kernel, scan_helper
from shoal.kernels.scan import own_cost
from shoal.kernels.space import MIXED8, MIXED16, MIXED32

ZERO = np.int64(0)

# A code that says "no group of the block has a code here". A value may have this code, too: then
# its rows are charged too little, which a lower bound may do.
NONE8 = np.uint8(MIXED8 - 1)
NONE16 = np.uint16(MIXED16 - 1)
NONE32 = np.uint32(MIXED32 - 1)

__all__ = [
    "block_at",
    "bound_scan",
    "close_blocks",
    "close_inside",
    "drop_row",
    "least_of",
    "remove_row",
]


@kernel
def close_blocks(cols: Any, starts: Any, query: Any, blocks: Any) -> None:
    """Write the closure of each block of rows; the query is scratch space."""
    for b in range(starts.shape[0] - 1):
        load_codes(cols, starts[b], query)
        for i in range(starts[b] + 1, starts[b + 1]):
            join_codes(cols, query, i)
        store_query(blocks, b, query)


@scan_helper
def _common(codes: Any, live: Any, start: int, stop: int, mixed: Any, none: Any) -> Any:
    """Return the code that all groups have which have any: mixed if they differ."""
    code = none
    found = False
    for i in range(start, stop):
        if live[i] and codes[i] != mixed:
            if found and codes[i] != code:
                return mixed
            code = codes[i]
            found = True
    return code


@scan_helper
def close_inside(cols: Any, live: Any, start: int, stop: int, blocks: Any, b: int) -> None:
    """Write the inner closure of a block of groups start..stop, of which only live ones count.

    The code of a level is that of all groups that have one (groups without are charged for the
    level by any query, so the others decide). An interval reaches from the lowest upper end to the
    highest lower end, which is what `bound_scan` takes for the block's nearest point.
    """
    for j in range(cols.lev8.shape[0]):
        blocks.lev8[j, b] = _common(cols.lev8[j], live, start, stop, MIXED8, NONE8)
    for j in range(cols.lev16.shape[0]):
        blocks.lev16[j, b] = _common(cols.lev16[j], live, start, stop, MIXED16, NONE16)
    for j in range(cols.lev32.shape[0]):
        blocks.lev32[j, b] = _common(cols.lev32[j], live, start, stop, MIXED32, NONE32)
    for j in range(cols.low.shape[0]):
        seen = False
        low = cols.high[j, start]
        high = cols.low[j, start]
        for i in range(start, stop):
            if live[i]:
                low = min(low, cols.high[j, i]) if seen else cols.high[j, i]
                high = max(high, cols.low[j, i]) if seen else cols.low[j, i]
                seen = True
        blocks.low[j, b] = low
        blocks.high[j, b] = high


@inlined_helper
def least_of(costs: Any, start: int, stop: int) -> Any:
    """Return the least of some costs: a loop without branches, which vectorises."""
    part = costs[start:stop]
    least = part[0]
    for i in range(part.shape[0]):
        least = min(least, part[i])
    return least


@scan_helper
def block_at(turn: int, first: int) -> int:
    """Return the block to visit in this turn: the most promising first, then all others."""
    if turn == 0:
        return first
    return turn - 1 if turn <= first else turn


@inlined_helper
def bound_scan(space: Any, blocks: Any, query: Any, out: Any) -> None:
    """Write a lower bound of the cost per member of (query ∪ row) over the rows of each block."""
    m = out.shape[0]
    base = np.int64(query.base[0])
    # logarithmic intervals and sets are bounded by what the query costs without the row
    for j in range(query.low.shape[0]):
        base -= min(np.int64(space.full[j]), np.int64(query.high[j]) - np.int64(query.low[j]))
    base += own_cost(space, query, ZERO) - np.int64(query.base[0])
    for b in range(m):
        out[b] = base
    for j in range(blocks.lev8.shape[0]):
        step = np.int64(query.step8[0, j])
        if step != 0:
            code8 = query.code8[j]
            c8 = blocks.lev8[j]
            for b in range(m):
                out[b] += step if (c8[b] != code8 and c8[b] != MIXED8) else 0
    for j in range(blocks.lev16.shape[0]):
        step = np.int64(query.step16[0, j])
        if step != 0:
            code16 = query.code16[j]
            c16 = blocks.lev16[j]
            for b in range(m):
                out[b] += step if (c16[b] != code16 and c16[b] != MIXED16) else 0
    for j in range(blocks.lev32.shape[0]):
        step = np.int64(query.step32[0, j])
        if step != 0:
            code32 = query.code32[j]
            c32 = blocks.lev32[j]
            for b in range(m):
                out[b] += step if (c32[b] != code32 and c32[b] != MIXED32) else 0
    for j in range(blocks.low.shape[0]):
        low = np.int64(query.low[j])
        high = np.int64(query.high[j])
        full = np.int64(space.full[j])
        for b in range(m):
            # the nearest point of the block: its low end if it lies above, its high end if below
            spread = max(high, np.int64(blocks.low[j, b])) - min(low, np.int64(blocks.high[j, b]))
            out[b] += min(full, spread)


@scan_helper
def drop_row(cols: Any, ids: Any, i: int, last: int) -> None:
    """Overwrite row i by row ``last``; rows have one array for low and high."""
    for j in range(cols.lev8.shape[0]):
        cols.lev8[j, i] = cols.lev8[j, last]
    for j in range(cols.lev16.shape[0]):
        cols.lev16[j, i] = cols.lev16[j, last]
    for j in range(cols.lev32.shape[0]):
        cols.lev32[j, i] = cols.lev32[j, last]
    for j in range(cols.low.shape[0]):
        cols.low[j, i] = cols.low[j, last]
    for j in range(cols.clow.shape[0]):
        cols.clow[j, i] = cols.clow[j, last]
    for j in range(cols.bits.shape[0]):
        cols.bits[j, i] = cols.bits[j, last]
    ids[i] = ids[last]


@scan_helper
def remove_row(cols: Any, ids: Any, starts: Any, alive: Any, b: int, i: int) -> None:
    """Take row i from block b; the last row of the block moves to its place."""
    alive[b] -= 1
    drop_row(cols, ids, i, starts[b] + alive[b])
