"""Blocks of similar rows, and bounds over them, so that scans skip what cannot win.

A block is a run of rows with its own closure. Joining a closure with the block's closure costs at
least as much as with any of its rows (upper bound); joining it with the most favourable point of
the block's closure costs at most as much (lower bound).

Blocks of groups have an inner closure instead: what every group of the block contains. It gives
lower bounds only, and tighter ones. They hold without any update while groups grow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.codes import join_codes, load_codes, store_query
from shoal.kernels.jit import helper, inlined_helper, kernel, unrolled
from shoal.kernels.scan import own_cost
from shoal.kernels.space import (
    MIXED8,
    MIXED16,
    MIXED32,
    Codes,
    Columns,
    Costs,
    Counts,
    Flags,
    Places,
    Query,
    Reals,
    Space,
    Totals,
)

ZERO = np.int64(0)

# A code that says "no group of the block has a code here". A value may have this code, too: then
# its rows are charged too little, which a lower bound may do.
NONE8 = np.uint8(MIXED8 - 1)
NONE16 = np.uint16(MIXED16 - 1)
NONE32 = np.uint32(MIXED32 - 1)


@bundle
class RowBlocks(NamedTuple):
    """Rows in blocks of similar ones; those used up stand at the end of their block."""

    columns: Columns  # of the rows, in block order
    ids: Places  # int64 [rows]: the number of each row, which breaks ties
    starts: Places  # int64 [blocks + 1]
    alive: Counts  # int64 [blocks]: rows left
    closures: Columns  # of the blocks


@bundle
class RowScratch(NamedTuple):
    """Where one cluster is compared with the rows of a block, and with whole blocks."""

    spare: Costs  # COST [longest block]
    total: Totals  # int64 [longest block]
    bound: Totals  # int64 [blocks]
    farthest: Costs  # COST [blocks]
    floor: Totals  # int64 [blocks]: least cost per member at the last visit; −1: not yet


@helper
def _widest(
    codes: Codes, place: Reals, start_of: Places, order: Places, low: int, high: int
) -> int:
    """Return the column whose values spread most (−1 if all rows are equal).

    Ties go to the column with fewer distinct codes in its domain, which becomes constant soonest.
    """
    best = -1
    best_spread = 0.0
    best_size = np.int64(0)
    for j in range(codes.shape[0]):
        least = codes[j, order[low]]
        most = least
        for p in range(low + 1, high):
            code = codes[j, order[p]]
            least = min(least, code)
            most = max(most, code)
        spread = place[start_of[j] + most] - place[start_of[j] + least]
        size = start_of[j + 1] - start_of[j]
        if spread > best_spread or (spread == best_spread and best >= 0 and size < best_size):
            best = j
            best_spread = spread
            best_size = size
    return best


@helper
def _split(
    codes: Codes, j: int, order: Places, low: int, high: int, count: Counts, spare: Places
) -> int:
    """Sort order[low:high] stably by column j; return a cut near the middle between two codes."""
    least = codes[j, order[low]]
    most = least
    for p in range(low, high):
        code = codes[j, order[p]]
        least = min(least, code)
        most = max(most, code)
    width = np.int64(most) - np.int64(least) + 1
    for c in range(width + 1):
        count[c] = 0
    for p in range(low, high):
        count[codes[j, order[p]] - least + 1] += 1
    middle = (low + high) // 2
    cut = -1
    for c in range(width):
        count[c + 1] += count[c]
        edge = low + count[c + 1]
        if edge < high and (cut < 0 or abs(edge - middle) < abs(cut - middle)):
            cut = edge
    for p in range(low, high):
        c = codes[j, order[p]] - least
        spare[count[c]] = order[p]
        count[c] += 1
    for p in range(low, high):
        order[p] = spare[p - low]
    return cut


@kernel
def cut_rows(
    codes: Codes,
    place: Reals,
    start_of: Places,
    max_rows: int,
    order: Places,
    count: Counts,
    spare: Places,
    stack: Places,
    ends: Places,
) -> int:
    """Reorder rows so that similar ones are neighbours, in blocks of at most max_rows.

    A block that cannot be cut because all its rows are equal is cut by position. Blocks end where
    ``ends`` says; returns their number. ``place`` gives every code of every column a place on the
    number line; a column's spread is measured there.
    """
    n_blocks = 0
    top = 0
    stack[0, 0] = 0
    stack[0, 1] = order.shape[0]
    while top >= 0:
        low = stack[top, 0]
        high = stack[top, 1]
        top -= 1
        if high - low <= max_rows:
            ends[n_blocks] = high
            n_blocks += 1
            continue
        j = _widest(codes, place, start_of, order, low, high)
        cut = (low + high) // 2 if j < 0 else _split(codes, j, order, low, high, count, spare)
        # the left part is handled first, so that blocks come out in order
        stack[top + 1, 0] = cut
        stack[top + 1, 1] = high
        stack[top + 2, 0] = low
        stack[top + 2, 1] = cut
        top += 2
    return n_blocks


@kernel
def close_blocks(cols: Columns, starts: Places, query: Query, blocks: Columns) -> None:
    """Write the closure of each block of rows; the query is scratch space."""
    for b in range(starts.shape[0] - 1):
        load_codes(cols, starts[b], query)
        for i in range(starts[b] + 1, starts[b + 1]):
            join_codes(cols, query, i)
        store_query(blocks, b, query)


@helper
def _common(codes: Codes, live: Flags, start: int, stop: int, mixed: Any, none: Any) -> Any:
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


@helper
@unrolled
def close_inside(
    cols: Columns, live: Flags, start: int, stop: int, blocks: Columns, b: int
) -> None:
    """Write the inner closure of a block of groups start..stop, of which only live ones count.

    The code of a level is that of all groups that have one (groups without are charged for the
    level by any query, so the others decide). An interval reaches from the lowest upper end to the
    highest lower end, which is what `bound_scan` takes for the block's nearest point.
    """
    for codes, inner, mixed, none in (
        (cols.lev8, blocks.lev8, MIXED8, NONE8),
        (cols.lev16, blocks.lev16, MIXED16, NONE16),
        (cols.lev32, blocks.lev32, MIXED32, NONE32),
    ):
        for j in range(codes.shape[0]):
            inner[j, b] = _common(codes[j], live, start, stop, mixed, none)
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
def least_of(costs: Costs, start: int, stop: int) -> Any:
    """Return the least of some costs: a loop without branches, which vectorises."""
    part = costs[start:stop]
    least = part[0]
    for i in range(part.shape[0]):
        least = min(least, part[i])
    return least


@helper
def block_at(turn: int, first: int) -> int:
    """Return the block to visit in this turn: the most promising first, then all others."""
    if turn == 0:
        return first
    return turn - 1 if turn <= first else turn


@inlined_helper
@unrolled
def bound_scan(space: Space, blocks: Columns, query: Query, out: Totals) -> None:
    """Write a lower bound of the cost per member of (query ∪ row) over the rows of each block."""
    m = out.shape[0]
    base = np.int64(query.base[0])
    # logarithmic intervals and sets are bounded by what the query costs without the row
    for j in range(query.low.shape[0]):
        base -= min(np.int64(space.full[j]), np.int64(query.high[j]) - np.int64(query.low[j]))
    base += own_cost(space, query, ZERO) - np.int64(query.base[0])
    for b in range(m):
        out[b] = base
    for codes, own, steps, mixed in (
        (blocks.lev8, query.code8, query.step8, MIXED8),
        (blocks.lev16, query.code16, query.step16, MIXED16),
        (blocks.lev32, query.code32, query.step32, MIXED32),
    ):
        for j in range(codes.shape[0]):
            step = np.int64(steps[0, j])
            if step != 0:
                code = own[j]
                c = codes[j]
                for b in range(m):
                    out[b] += step if (c[b] != code and c[b] != mixed) else 0
    for j in range(blocks.low.shape[0]):
        low = np.int64(query.low[j])
        high = np.int64(query.high[j])
        full = np.int64(space.full[j])
        for b in range(m):
            # the nearest point of the block: its low end if it lies above, its high end if below
            spread = max(high, np.int64(blocks.low[j, b])) - min(low, np.int64(blocks.high[j, b]))
            out[b] += min(full, spread)


@helper
@unrolled
def remove_row(rows: RowBlocks, b: int, i: int) -> None:
    """Take row i from block b; the last row of the block moves to its place.

    Rows have one array for low and high, unless they are cells of a grid.
    """
    rows.alive[b] -= 1
    last = rows.starts[b] + rows.alive[b]
    cols = rows.columns
    for codes in (
        cols.lev8,
        cols.lev16,
        cols.lev32,
        cols.low,
        cols.high,
        cols.clow,
        cols.bits,
    ):
        for j in range(codes.shape[0]):
            codes[j, i] = codes[j, last]
    rows.ids[i] = rows.ids[last]
