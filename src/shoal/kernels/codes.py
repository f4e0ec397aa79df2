"""The codes of one closure: taken from a column, joined with another, written back.

Joining is taking the larger of two in a lattice: the order does not matter, and a row that the
others cover leaves no trace. Costs are the business of `scan.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import helper
from shoal.kernels.space import MIXED8, MIXED16, MIXED32

__all__ = ["join_codes", "load_codes", "store_query"]


@helper
def load_codes(cols: Any, i: int, query: Any) -> None:
    """Copy the codes of row or group i into the query; `prepare` must follow."""
    for j in range(cols.lev8.shape[0]):
        query.code8[j] = cols.lev8[j, i]
    for j in range(cols.lev16.shape[0]):
        query.code16[j] = cols.lev16[j, i]
    for j in range(cols.lev32.shape[0]):
        query.code32[j] = cols.lev32[j, i]
    for j in range(cols.low.shape[0]):
        query.low[j] = cols.low[j, i]
        query.high[j] = cols.high[j, i]
    for j in range(cols.clow.shape[0]):
        query.clow[j] = cols.clow[j, i]
        query.chigh[j] = cols.chigh[j, i]
    for j in range(cols.bits.shape[0]):
        query.bits[j] = cols.bits[j, i]


@helper
def join_codes(cols: Any, query: Any, i: int) -> bool:
    """Join the codes of row or group i into the query; `prepare` must follow.

    Returns whether the closure grew, which is whether it did not cover i before.
    """
    grew = False
    for j in range(cols.lev8.shape[0]):
        if query.code8[j] != cols.lev8[j, i]:
            grew = grew or query.code8[j] != MIXED8
            query.code8[j] = MIXED8
    for j in range(cols.lev16.shape[0]):
        if query.code16[j] != cols.lev16[j, i]:
            grew = grew or query.code16[j] != MIXED16
            query.code16[j] = MIXED16
    for j in range(cols.lev32.shape[0]):
        if query.code32[j] != cols.lev32[j, i]:
            grew = grew or query.code32[j] != MIXED32
            query.code32[j] = MIXED32
    for j in range(cols.low.shape[0]):
        grew = grew or cols.low[j, i] < query.low[j] or cols.high[j, i] > query.high[j]
        query.low[j] = min(query.low[j], cols.low[j, i])
        query.high[j] = max(query.high[j], cols.high[j, i])
    for j in range(cols.clow.shape[0]):
        grew = grew or cols.clow[j, i] < query.clow[j] or cols.chigh[j, i] > query.chigh[j]
        query.clow[j] = min(query.clow[j], cols.clow[j, i])
        query.chigh[j] = max(query.chigh[j], cols.chigh[j, i])
    for j in range(cols.bits.shape[0]):
        grew = grew or (cols.bits[j, i] & ~query.bits[j]) != np.uint64(0)
        query.bits[j] |= cols.bits[j, i]
    return grew


@helper
def store_query(cols: Any, i: int, query: Any) -> None:
    """Write the query's closure into column i of the groups."""
    for j in range(cols.lev8.shape[0]):
        cols.lev8[j, i] = query.code8[j]
    for j in range(cols.lev16.shape[0]):
        cols.lev16[j, i] = query.code16[j]
    for j in range(cols.lev32.shape[0]):
        cols.lev32[j, i] = query.code32[j]
    for j in range(cols.low.shape[0]):
        cols.low[j, i] = query.low[j]
        cols.high[j, i] = query.high[j]
    for j in range(cols.clow.shape[0]):
        cols.clow[j, i] = query.clow[j]
        cols.chigh[j, i] = query.chigh[j]
    for j in range(cols.bits.shape[0]):
        cols.bits[j, i] = query.bits[j]
