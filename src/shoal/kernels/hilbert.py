"""The Hilbert curve in any number of dimensions, and the best cuts of an ordered table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.codes import join_codes, load_codes
from shoal.kernels.jit import kernel
from shoal.kernels.scan import own_cost, prepare

if TYPE_CHECKING:
    from shoal.kernels.space import Bits, Counts, Query, Records, Totals


ZERO = np.uint64(0)
ONE = np.uint64(1)
WORD = 64


@kernel
def curve_keys(points: Bits, bits: int, keys: Bits) -> None:
    """Write the place of each point on the curve, as words from the most significant one down.

    The points (uint64 [n, dimensions], each below 2 ** bits) are overwritten. Skilling's
    transform: from the highest bit down, undo the reflection and the exchange of axes that the
    curve makes in each of its cells, then read the cells as Gray code. A place has
    dimensions · bits bits, far more than a machine word, so it is left-aligned in several.
    """
    n, r = points.shape
    for i in range(n):
        x = points[i]
        for b in range(bits - 1, 0, -1):
            below = (ONE << np.uint64(b)) - ONE
            for j in range(r):
                if (x[j] >> np.uint64(b)) & ONE:
                    x[0] ^= below
                else:
                    swap = (x[0] ^ x[j]) & below
                    x[0] ^= swap
                    x[j] ^= swap
        for j in range(1, r):
            x[j] ^= x[j - 1]
        flip = ZERO
        for b in range(bits - 1, 0, -1):
            if (x[r - 1] >> np.uint64(b)) & ONE:
                flip ^= (ONE << np.uint64(b)) - ONE
        for word in range(keys.shape[0]):
            keys[word, i] = ZERO
        at = 0
        for b in range(bits - 1, -1, -1):
            for j in range(r):
                bit = ((x[j] ^ flip) >> np.uint64(b)) & ONE
                keys[at // WORD, i] |= bit << np.uint64(WORD - 1 - at % WORD)
                at += 1


@kernel
def cut_runs(
    records: Records,
    k: int,
    first: int,
    last: int,
    query: Query,
    hist: Counts,
    best: Totals,
    size: Counts,
) -> None:
    """Find the cheapest grouping of the first ``end`` rows for each end in first..last.

    Groups are runs of k to 2k − 1 consecutive rows. ``best[end]`` is the least total cost (−1 if
    there is no such grouping, as for ends 1..k−1), ``size[end]`` the size of its last group, the
    smallest one among equally good. Ends below ``first`` have been done before.
    """
    space, rows = records.space, records.columns
    for end in range(first, last + 1):
        best[end] = -1
        size[end] = 0
        hist[:] = 0
        for s in range(1, min(2 * k - 1, end) + 1):
            row = end - s
            if s == 1:
                load_codes(rows, row, query)
            else:
                join_codes(rows, query, row)
            hist[records.classes[row]] += 1
            if s < k or best[row] < 0:
                continue
            prepare(space, query)
            cost = best[row]
            for y in range(hist.shape[0]):
                if hist[y] > 0:
                    cost += hist[y] * own_cost(space, query, y)
            if best[end] < 0 or cost < best[end]:
                best[end] = cost
                size[end] = s
