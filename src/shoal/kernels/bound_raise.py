"""What rows can be charged together: prices that no group can undercut.

A price per row is fair if the rows of every possible group pay no more than the group costs them
all. `raise_prices` raises fair prices row by row and keeps them fair; the proof is in
`shoal.search.bound`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.jit import helper, kernel
from shoal.kernels.scan import join_scan, load_query

if TYPE_CHECKING:
    from shoal.kernels.space import Costs, Places, Query, Records, Totals


ZERO = np.int64(0)


@bundle
class PriceScratch(NamedTuple):
    """Room for one row's look at all others."""

    query: Query
    spare: Costs  # COST [rows]
    near: Totals  # int64 [rows]: least cost of a group with the row
    head: Places  # int64 [buckets]: first row of each bucket of costs
    after: Places  # int64 [rows]
    top: Totals  # int64 [k − 1]: the highest prices so far, falling
    extra: Totals  # int64 [some]: further prices above what a group costs per row


@helper
def _fill_buckets(least: Totals, x: int, s: PriceScratch) -> int:
    """Put all rows but x into buckets by the least cost of a group of both; return their width."""
    n = s.near.shape[0]
    highest = np.int64(0)
    for i in range(n):
        s.near[i] = max(np.int64(s.spare[i]), least[i], least[x])
        highest = max(highest, s.near[i])
    width = highest // s.head.shape[0] + 1
    s.head[:] = -1
    for i in range(n):
        if i != x:
            b = s.near[i] // width
            s.after[i] = s.head[b]
            s.head[b] = i
    return width


@helper
def _slack(least: Totals, prices: Totals, x: int, k: int, highest: int, s: PriceScratch) -> int:
    """Return what every group with row x costs more than its rows are charged, at least.

    Groups are looked at by what they cost per row, in steps of a bucket. A group that costs so
    much has k − 1 rows besides x at least, of those that could be in it; the highest prices among
    them leave the least slack, and so do further ones above the cost.
    """
    width = _fill_buckets(least, x, s)
    n_top = k - 1
    have = 0
    total = np.int64(0)  # of the prices at the top
    n_extra = 0
    best = np.int64(-1)
    for b in range(s.head.shape[0]):
        cost = max(b * width, least[x])
        # no price is above the cost from here on, so the slack can only grow
        if best >= 0 and highest <= cost and k * cost - prices[x] - n_top * highest >= best:
            break
        i = s.head[b]
        while i >= 0:
            price = prices[i]
            i = s.after[i]
            if have == n_top:
                if price <= s.top[n_top - 1]:
                    if price > cost:
                        if n_extra == s.extra.shape[0]:
                            return ZERO
                        s.extra[n_extra] = price
                        n_extra += 1
                    continue
                out = s.top[n_top - 1]
                total -= out
                if out > cost:
                    if n_extra == s.extra.shape[0]:
                        return ZERO
                    s.extra[n_extra] = out
                    n_extra += 1
                have -= 1
            p = have
            while p > 0 and s.top[p - 1] < price:
                s.top[p] = s.top[p - 1]
                p -= 1
            s.top[p] = price
            total += price
            have += 1
        if have == n_top:
            slack = k * cost - prices[x] - total
            for p in range(n_extra):
                slack -= max(ZERO, s.extra[p] - cost)
            if best < 0 or slack < best:
                best = slack
            if best <= 0:
                return ZERO
    return max(best, ZERO)


@kernel
def raise_prices(
    records: Records,
    order: Places,
    k: int,
    everything: int,
    least: Totals,
    prices: Totals,
    s: PriceScratch,
) -> None:
    """Raise the prices of these rows, in order, as far as they stay fair.

    ``least`` is what a group of each row costs per row at least, and the price of no row may
    exceed what it costs left out: ``everything``.
    """
    space, cols = records.space, records.columns
    n = prices.shape[0]
    highest = np.int64(0)
    for i in range(n):
        highest = max(highest, prices[i])
    for t in range(order.shape[0]):
        x = order[t]
        load_query(space, cols, x, s.query)
        join_scan(space, cols, s.query, ZERO, ZERO, n, s.spare)
        rise = _slack(least, prices, x, k, highest, s)
        prices[x] = max(prices[x], min(prices[x] + rise, everything))
        highest = max(highest, prices[x])
