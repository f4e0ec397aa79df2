"""The cheapest closure that one row can hope for: what `shoal.search.bound` sums up.

For a row x, split the cost of a closure into its trees and the rest (intervals and sets). A closure
of x fixes, per tree, how many levels above x's leaf it lies; it covers only rows that part from x
within those levels. Its rest is at least that of x joined with any one row it covers. So

    cost ≥ tree part of the levels + k-th smallest (rest of x ∪ i, over the rows i that fit),

and the least of this over all choices of levels is what x pays at least. ``least_closures`` finds
it by depth-first search over the trees, candidates being the rows whose join with x costs less than
the best closure known; blocks of rows that cannot hold a candidate are skipped.

What rows can be charged together is a price for each. Prices are fair if the rows of every possible
group pay no more than the group costs them all. ``raise_prices`` raises fair prices row by row and
keeps them fair; the proof is in `shoal.search.bound`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.blocks import RowBlocks, bound_scan
from shoal.kernels.bundle import bundle
from shoal.kernels.jit import array_helper, array_kernel, helper, kernel
from shoal.kernels.scan import join_scan, load_query

if TYPE_CHECKING:
    from shoal.kernels.space import (
        Codes,
        Columns,
        Costs,
        Counts,
        Places,
        Query,
        Records,
        Space,
        Totals,
    )

ZERO = np.int64(0)
EXACT = 128


@bundle
class BoundScratch(NamedTuple):
    """Room for one search, of at most `room` candidates and t trees."""

    spare: Costs  # COST [longest block]
    blocks: Places  # int64 [blocks]
    rows: Places  # int64 [room]: candidates
    joins: Totals  # int64 [room]: cost of the join with the row
    rest: Totals  # int64 [room]: the part of the join without trees
    depth: Codes  # uint8 [t, room]: levels of each tree above the row's leaf
    rise: Totals  # int64 [t, levels + 1]: cost of going up so many levels
    lists: Places  # int64 [t + 1, room]: candidates that fit the trees decided so far
    counts: Counts  # int64 [t + 1]
    level: Places  # int64 [t + 1]: the level being tried
    paid: Totals  # int64 [t + 1]: cost of the levels decided so far
    buckets: Counts  # int64 [many]: for sorting by counting
    top: Places  # int64 [t]: deepest level of the candidates at hand


@helper
def _load_rises(space: Space, query: Query, rise: Totals) -> None:
    """Write what going up 0, 1, … levels of each tree costs; levels are stored from the top."""
    for t in range(space.tree_first.shape[0] - 1):
        rise[t, 0] = 0
        n_levels = space.tree_first[t + 1] - space.tree_first[t]
        for d in range(n_levels):
            level = space.tree_first[t + 1] - 1 - d
            r = space.row[level]
            width = space.width[level]
            step = np.int64(0)
            if width == 0:
                step = np.int64(query.step8[0, r])
            elif width == 1:
                step = np.int64(query.step16[0, r])
            else:
                step = np.int64(query.step32[0, r])
            rise[t, d + 1] = rise[t, d] + step


@helper
def _part(space: Space, cols: Columns, query: Query, c: int, s: BoundScratch) -> None:
    """Split the join with candidate c into the levels of its trees and the rest."""
    i = s.rows[c]
    rest = s.joins[c] - np.int64(query.base[0])
    for t in range(space.tree_first.shape[0] - 1):
        d = 0
        for level in range(space.tree_first[t + 1] - 1, space.tree_first[t] - 1, -1):
            r = space.row[level]
            width = space.width[level]
            same = False
            if width == 0:
                same = cols.lev8[r, i] == query.code8[r]
            elif width == 1:
                same = cols.lev16[r, i] == query.code16[r]
            else:
                same = cols.lev32[r, i] == query.code32[r]
            if same:
                break
            d += 1
        s.depth[t, c] = d
        rest -= s.rise[t, d]
    s.rest[c] = rest


@helper
def _nearest_few(mult: Counts, k: int, n: int, s: BoundScratch) -> int:
    """List the candidates up to the bucket that holds the k-th row; return how many there are."""
    highest = np.int64(0)
    for c in range(n):
        highest = max(highest, s.joins[c])
    width = highest // s.buckets.shape[0] + 1
    s.buckets[:] = 0
    for c in range(n):
        s.buckets[s.joins[c] // width] += mult[s.rows[c]]
    have = np.int64(0)
    b = 0
    while b < s.buckets.shape[0] - 1:
        have += s.buckets[b]
        if have >= k:
            break
        b += 1
    limit = (b + 1) * width
    m = 0
    for c in range(n):
        if s.joins[c] < limit:
            s.lists[0, m] = c
            m += 1
    return m


@array_helper
def _sort_by_rest(n: int, s: BoundScratch) -> None:
    """List n candidates by their rest, which is rounded down to one of many steps if n is large.

    Lower is safe: the rest only ever bounds a cost from below.
    """
    s.counts[0] = n
    if n <= EXACT:
        s.lists[0, :n] = np.argsort(s.rest[:n])
        return
    highest = np.int64(0)
    for c in range(n):
        highest = max(highest, s.rest[c])
    width = highest // s.buckets.shape[0] + 1
    s.buckets[:] = 0
    for c in range(n):
        s.buckets[s.rest[c] // width] += 1
    at = np.int64(0)
    for b in range(s.buckets.shape[0]):
        size = s.buckets[b]
        s.buckets[b] = at
        at += size
    for c in range(n):
        b = s.rest[c] // width
        s.rest[c] = b * width
        s.lists[0, s.buckets[b]] = c
        s.buckets[b] += 1


@array_helper
def _near(
    space: Space, cols: Columns, mult: Counts, query: Query, k: int, n: int, s: BoundScratch
) -> tuple[int, int]:
    """Return the k-th smallest join of n candidates, and what one closure of k of them costs.

    The second number is a cost of the kind that the search minimises, so no more than a real
    closure's; both are −1 if there are fewer than k rows.
    """
    m = _nearest_few(mult, k, n, s)
    few = s.lists[0, :m]
    order = np.argsort(s.joins[few])
    have = np.int64(0)
    kth = np.int64(-1)
    rest = np.int64(0)
    s.top[:] = 0
    for p in range(m):
        c = few[order[p]]
        have += mult[s.rows[c]]
        _part(space, cols, query, c, s)
        rest = max(rest, s.rest[c])
        for t in range(s.top.shape[0]):
            s.top[t] = max(s.top[t], s.depth[t, c])
        if have >= k:
            kth = s.joins[c]
            break
    if kth < 0:
        return kth, kth
    cost = np.int64(query.base[0]) + rest
    for t in range(s.top.shape[0]):
        cost += s.rise[t, s.top[t]]
    return kth, cost


@helper
def _fit(mult: Counts, t: int, d: int, paid: int, best: int, k: int, s: BoundScratch) -> int:
    """Keep the candidates that part within d levels of tree t; return the k-th rest, −1 if none.

    Candidates are ordered by their rest, so those too dear for the best known end the list.
    """
    m = 0
    have = np.int64(0)
    kth = np.int64(-1)
    for p in range(s.counts[t]):
        c = s.lists[t, p]
        if paid + s.rest[c] >= best:
            break
        if s.depth[t, c] <= d:
            s.lists[t + 1, m] = c
            m += 1
            if kth < 0:
                have += mult[s.rows[c]]
                if have >= k:
                    kth = s.rest[c]
    s.counts[t + 1] = m
    return kth


@helper
def _search(mult: Counts, base: int, best: int, k: int, work: int, s: BoundScratch) -> int:
    """Return the least of paid levels + k-th rest below best, best if there is none.

    Returns −1 when more than `work` comparisons would be needed.
    """
    n_trees = s.top.shape[0]
    s.paid[0] = base
    s.level[0] = 0
    t = 0
    while t >= 0:
        d = s.level[t]
        highest = s.top[t]
        if d > highest or s.paid[t] + s.rise[t, d] >= best:
            t -= 1
            continue
        s.level[t] += 1
        if d < highest and s.rise[t, d + 1] == s.rise[t, d]:
            continue  # the next level costs the same and covers more
        work -= s.counts[t]
        if work < 0:
            return np.int64(-1)
        paid = s.paid[t] + s.rise[t, d]
        kth = _fit(mult, t, d, paid, best, k, s)
        if kth < 0 or paid + kth >= best:
            continue
        if t == n_trees - 1:
            best = paid + kth
        else:
            t += 1
            s.paid[t] = paid
            s.level[t] = 0
    return best


@array_kernel
def least_closures(
    space: Space,
    blocks: RowBlocks,
    mult: Counts,
    around: int,
    first: int,
    last: int,
    k: int,
    work: int,
    query: Query,
    s: BoundScratch,
    out: Totals,
) -> None:
    """Write what one row of each distinct tuple first … last−1 pays at least.

    ``mult`` counts the rows of each tuple; tuples stand in block order. ``around`` neighbours in
    that order give the first closure to beat. With more than ``work`` comparisons for a tuple, it
    gets the cheaper bound by its (k−1)-th nearest row.
    """
    n = mult.shape[0]
    n_trees = s.top.shape[0]
    cols, starts = blocks.columns, blocks.starts
    for x in range(first, last):
        load_query(space, cols, x, query)
        _load_rises(space, query, s.rise)
        m = 0
        low = max(0, x - around)
        high = min(n, x + around + 1)
        while True:  # more neighbours until they are k rows
            have = np.int64(0)
            for i in range(low, high):
                have += mult[i]
            if have >= k or (low == 0 and high == n):
                break
            low = max(0, low - around)
            high = min(n, high + around)
        for at in range(low, high, s.spare.shape[0]):
            stop = min(high, at + s.spare.shape[0])
            join_scan(space, cols, query, ZERO, at, stop, s.spare)
            for i in range(at, stop):
                s.rows[m] = i
                s.joins[m] = s.spare[i - at]
                m += 1
        _, best = _near(space, cols, mult, query, k, m, s)
        bound_scan(space, blocks.closures, query, s.blocks)
        m = 0
        for b in range(starts.shape[0] - 1):
            if s.blocks[b] >= best:
                continue
            join_scan(space, cols, query, ZERO, starts[b], starts[b + 1], s.spare)
            for i in range(starts[b], starts[b + 1]):
                cost = np.int64(s.spare[i - starts[b]])
                if cost < best:
                    s.rows[m] = i
                    s.joins[m] = cost
                    m += 1
        kth, closed = _near(space, cols, mult, query, k, m, s)
        if kth < 0:  # fewer than k rows are nearer than the best closure: nothing beats it
            out[x] = best
            continue
        best = min(best, closed)
        kept = 0
        for c in range(m):
            if s.joins[c] < best:
                s.rows[kept] = s.rows[c]
                s.joins[kept] = s.joins[c]
                kept += 1
        if kept * n_trees > work:
            out[x] = kth
            continue
        s.top[:] = 0
        for c in range(kept):
            _part(space, cols, query, c, s)
            for t in range(n_trees):
                s.top[t] = max(s.top[t], s.depth[t, c])
        if n_trees == 0 or kept == 0:
            out[x] = min(kth, best)
            continue
        _sort_by_rest(kept, s)
        found = _search(mult, np.int64(query.base[0]), best, k, work - kept * n_trees, s)
        out[x] = kth if found < 0 else found


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
