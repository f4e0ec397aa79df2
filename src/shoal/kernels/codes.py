"""The codes of one closure: taken from a column, joined with another, written back.

Joining is taking the larger of two in a lattice: the order does not matter, and a row that the
others cover leaves no trace. Costs are the business of `scan.py`.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.jit import helper, unrolled
from shoal.kernels.space import MIXED8, MIXED16, MIXED32, Columns, Query


@helper
@unrolled
def load_codes(cols: Columns, i: int, query: Query) -> None:
    """Copy the codes of row or group i into the query; `prepare` must follow."""
    for codes, own in (
        (cols.lev8, query.code8),
        (cols.lev16, query.code16),
        (cols.lev32, query.code32),
    ):
        for j in range(codes.shape[0]):
            own[j] = codes[j, i]
    for lows, highs, low, high in (
        (cols.low, cols.high, query.low, query.high),
        (cols.clow, cols.chigh, query.clow, query.chigh),
    ):
        for j in range(lows.shape[0]):
            low[j] = lows[j, i]
            high[j] = highs[j, i]
    for j in range(cols.bits.shape[0]):
        query.bits[j] = cols.bits[j, i]


@helper
@unrolled
def join_codes(cols: Columns, query: Query, i: int) -> bool:
    """Join the codes of row or group i into the query; `prepare` must follow.

    Returns whether the closure grew, which is whether it did not cover i before.
    """
    grew = False
    for codes, own, mixed in (
        (cols.lev8, query.code8, MIXED8),
        (cols.lev16, query.code16, MIXED16),
        (cols.lev32, query.code32, MIXED32),
    ):
        for j in range(codes.shape[0]):
            if own[j] != codes[j, i]:
                grew = grew or own[j] != mixed
                own[j] = mixed
    for lows, highs, low, high in (
        (cols.low, cols.high, query.low, query.high),
        (cols.clow, cols.chigh, query.clow, query.chigh),
    ):
        for j in range(lows.shape[0]):
            grew = grew or lows[j, i] < low[j] or highs[j, i] > high[j]
            low[j] = min(low[j], lows[j, i])
            high[j] = max(high[j], highs[j, i])
    for j in range(cols.bits.shape[0]):
        grew = grew or (cols.bits[j, i] & ~query.bits[j]) != np.uint64(0)
        query.bits[j] |= cols.bits[j, i]
    return grew


@helper
@unrolled
def store_query(cols: Columns, i: int, query: Query) -> None:
    """Write the query's closure into column i of the groups."""
    for codes, own in (
        (cols.lev8, query.code8),
        (cols.lev16, query.code16),
        (cols.lev32, query.code32),
    ):
        for j in range(codes.shape[0]):
            codes[j, i] = own[j]
    for lows, highs, low, high in (
        (cols.low, cols.high, query.low, query.high),
        (cols.clow, cols.chigh, query.clow, query.chigh),
    ):
        for j in range(lows.shape[0]):
            lows[j, i] = low[j]
            highs[j, i] = high[j]
    for j in range(cols.bits.shape[0]):
        cols.bits[j, i] = query.bits[j]
