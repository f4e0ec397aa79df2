"""Cut rows into blocks of similar rows, median after median, on their codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import helper, kernel

__all__ = ["cut_rows"]


@helper
def _widest(codes: Any, place: Any, start_of: Any, order: Any, low: int, high: int) -> int:
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
def _split(codes: Any, j: int, order: Any, low: int, high: int, count: Any, spare: Any) -> int:
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
    codes: Any,
    place: Any,
    start_of: Any,
    max_rows: int,
    order: Any,
    count: Any,
    spare: Any,
    stack: Any,
    ends: Any,
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
