"""Bounds over blocks of similar rows, so that scans skip what cannot win.

A block is a run of rows with its own closure. Joining a closure with the block's closure costs at
least as much as with any of its rows (upper bound); joining it with the most favourable point of
the block's closure costs at most as much (lower bound).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import helper, kernel
from shoal.kernels.scan import join_codes, load_codes, own_cost, store_query
from shoal.kernels.space import MIXED8, MIXED16, MIXED32

ZERO = np.int64(0)

__all__ = ["bound_scan", "close_blocks", "drop_row"]


@kernel
def close_blocks(cols: Any, starts: Any, query: Any, blocks: Any) -> None:
    """Write the closure of each block of rows; the query is scratch space."""
    for b in range(starts.shape[0] - 1):
        load_codes(cols, starts[b], query)
        for i in range(starts[b] + 1, starts[b + 1]):
            join_codes(cols, query, i)
        store_query(blocks, b, query)


@helper
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


@helper
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
