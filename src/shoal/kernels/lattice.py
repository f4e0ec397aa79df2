"""Cells of a lattice: which rows look alike under a generalisation of all columns.

A generalisation names one level of every column. Every level of every column has a random number of
64 bits per code (a mark), and a row's key is the sum of its marks: equal rows have equal keys, and
one column is changed by one subtraction and one addition. Two different rows share a key by chance
once in 2⁶⁴ pairs; they then share a group, which is only a worse group.

Frequency sets are distinct tuples with their number of rows; Incognito rolls them up to coarser
values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.jit import kernel

if TYPE_CHECKING:
    from shoal.kernels.space import Bits, Codes, Counts, Labels, Places

SPREAD = np.uint64(0x9E3779B97F4A7C15)


@bundle
class CellScratch(NamedTuple):
    """The rows that are left, and a table of the keys among them."""

    rows: Places  # int64 [rows]: those that are in no cell yet
    keys: Bits  # uint64 [rows]: the key of each of them
    slot: Places  # int64 [rows]: its place in the table
    used: Bits  # uint64 [a power of two above twice the rows]: the key that has a place
    count: Counts  # int64 [places]: rows of a key; zeros between two generalisations
    level: Places  # int64 [columns]: the levels that the keys are made of


@kernel
def set_cells_aside(
    marks: Bits, vectors: Places, k: int, n_left: int, n_groups: int, label: Labels, s: CellScratch
) -> tuple[int, int]:
    """Go through generalisations in order; rows of cells of at least k rows become groups.

    Returns how many rows are left and how many groups there are.
    """
    shift = np.uint64(64)
    places = np.int64(s.used.shape[0])
    while places > 1:
        places >>= 1
        shift -= np.uint64(1)
    left, groups = np.int64(n_left), np.int64(n_groups)
    for t in range(vectors.shape[0]):
        if left < k:
            break
        for j in range(vectors.shape[1]):
            old, new = s.level[j], np.int64(vectors[t, j])
            if old != new:
                s.level[j] = new
                for a in range(left):
                    i = s.rows[a]
                    s.keys[a] += marks[new, i] - marks[old, i]
        most = np.int64(0)
        for a in range(left):
            key = s.keys[a]
            p = np.int64((key * SPREAD) >> shift)
            while s.count[p] > 0 and s.used[p] != key:
                p += 1
                if p == s.used.shape[0]:
                    p = np.int64(0)
            s.used[p] = key
            s.count[p] += 1
            most = max(most, s.count[p])
            s.slot[a] = p
        kept = np.int64(0)
        for a in range(left):
            p = s.slot[a]
            if s.count[p] >= k:  # the first row of a new group
                s.count[p] = -groups - 1
                groups += 1
            if s.count[p] < 0:
                label[s.rows[a]] = -s.count[p] - 1
            elif most >= k:
                s.rows[kept] = s.rows[a]
                s.keys[kept] = s.keys[a]
                s.slot[kept] = p
                kept += 1
        # places of rows that were taken are found through their keys no more: clear all of them
        if most >= k:
            for p in range(s.count.shape[0]):
                s.count[p] = 0
            left = kept
        else:
            for a in range(left):
                s.count[s.slot[a]] = 0
    return left, groups


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
