"""Frequency sets: distinct tuples with their number of rows, rolled up to coarser values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.jit import kernel

if TYPE_CHECKING:
    from shoal.kernels.space import Codes, Counts, Places


START = np.uint64(0xCBF29CE484222325)  # the basis and the prime of the FNV hash
PRIME = np.uint64(0x100000001B3)


@kernel
def roll_up(
    tuples: Codes,
    counts: Counts,
    columns: Places,
    lookup: Codes,
    start: Places,
    slots: Places,
    merged: Codes,
    sums: Counts,
    group: Places,
) -> int:
    """Map each tuple to coarser values, count the distinct ones and return how many there are.

    Column c of the result is ``lookup[start[c] + value]`` of the tuple's column ``columns[c]``.
    ``merged`` and ``sums`` get the distinct tuples, in order of first appearance, with their
    rows; ``group`` gets the number of the distinct tuple of each input tuple. ``slots`` is room
    for a hash table: a power of two, at least twice as long as tuples.
    """
    mask = np.uint64(slots.shape[0] - 1)
    slots[:] = -1
    n = 0
    width = columns.shape[0]
    for i in range(tuples.shape[0]):
        # the new tuple is written where it would go; it stays there only if it is new
        code = START
        for c in range(width):
            value = lookup[start[c] + tuples[i, columns[c]]]
            merged[n, c] = value
            code = (code ^ np.uint64(value)) * PRIME
        at = (code ^ (code >> np.uint64(29))) & mask
        while True:
            known = slots[at]
            if known < 0:
                slots[at] = n
                sums[n] = counts[i]
                group[i] = n
                n += 1
                break
            same = True
            for c in range(width):
                if merged[known, c] != merged[n, c]:
                    same = False
                    break
            if same:
                sums[known] += counts[i]
                group[i] = known
                break
            at = (at + np.uint64(1)) & mask
    return n
