"""The scan that nearly every algorithm lives on: one closure joined with each of many.

``join_scan`` writes, for every row or group i, the cost per member of (query ∪ i). Costs are
integers in units of the scaled measure. A tree costs base + Σ step · (code ≠ code of the query):
the lowest common ancestor of two nodes is an ancestor of the query's node, so the cost of the
join is the query's own cost plus the rise of the cost table along the levels that differ.

The loops over level and linear columns compile to compare-and-add on full vector registers
(checked in the generated code: zmm registers, vpcmp, vpaddw for 2-byte and vpaddd for 4-byte
costs); they are blocked so that the costs stay in the first-level cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.codes import join_codes, load_codes
from shoal.kernels.jit import called_helper, helper, inlined_helper, kernel, unrolled
from shoal.kernels.space import (
    MIXED8,
    MIXED16,
    MIXED32,
    Bits,
    Columns,
    Costs,
    Counts,
    Places,
    Query,
    Records,
    Space,
    Totals,
)

BLOCK = 4096
ZERO = np.int64(0)  # a plain 0 is a type of its own to numba


@called_helper
def load_query(space: Space, cols: Columns, i: int, query: Query) -> None:
    """Set the query to the closure of row or group i."""
    load_codes(cols, i, query)
    prepare(space, query)


@helper
def prepare(space: Space, query: Query) -> None:
    """Compute steps, base and set masses from the query's codes."""
    for y in range(query.base.shape[0]):
        base = 0
        for t in range(space.root_cost.shape[1]):
            cost = space.root_cost[y, t]
            mixed = False
            for level in range(space.tree_first[t], space.tree_first[t + 1]):
                width = space.width[level]
                r = space.row[level]
                if width == 0:
                    code = np.int64(query.code8[r])
                    mixed = mixed or query.code8[r] == MIXED8
                elif width == 1:
                    code = np.int64(query.code16[r])
                    mixed = mixed or query.code16[r] == MIXED16
                else:
                    code = np.int64(query.code32[r])
                    mixed = mixed or query.code32[r] == MIXED32
                step = 0
                if not mixed:
                    below = space.level_cost[y, space.cost_start[level] + code]
                    step = cost - below
                    cost = below
                if width == 0:
                    query.step8[y, r] = step
                elif width == 1:
                    query.step16[y, r] = step
                else:
                    query.step32[y, r] = step
            base += cost
        query.base[y] = base
    for s in range(space.set_size.shape[0]):
        if space.set_log[s] == 0:
            counted = np.int64(0)  # every value has mass 1
            for w in range(space.set_first[s], space.set_first[s + 1]):
                counted += np.int64(_count_bits(query.bits[w]))
            query.mass[:, s] = counted
            continue
        for c in range(query.mass.shape[0]):
            total = 0
            for value in range(space.set_size[s] + 1):
                word = query.bits[space.set_first[s] + (value >> 6)]
                if (word >> np.uint64(value & 63)) & np.uint64(1):
                    total += space.set_mass[c, space.mass_start[s] + value]
            query.mass[c, s] = total


@helper
def _interval_cost(space: Space, y: int, e: int, low: int, high: int) -> int:
    """Cost of the log interval low..high of codes; missing mixed with others is everything."""
    start = space.prefix_start[e]
    missing = space.prefix_start[e + 1] - start - 2
    if high == missing and low < missing:
        low = 0
    r = space.log_row[e]
    mass = space.prefix[0, start + high + 1] - space.prefix[0, start + low]
    cost = space.log_cost[r, mass]
    if space.prefix.shape[0] > 1:
        part = space.prefix[1 + y, start + high + 1] - space.prefix[1 + y, start + low]
        cost = cost - space.log_part[r, part] if part > 0 else 0
    return cost


@helper
def _set_cost(space: Space, y: int, s: int, mass: int, part: int) -> int:
    """Cost of a set from the masses of its values (never mixed with missing)."""
    if space.set_log[s] == 0:
        return np.int64(space.set_weight[s] * max(mass - 1, 0) + 0.5)
    r = space.set_log_row[s]
    if space.set_mass.shape[0] == 1:
        return space.log_cost[r, mass]
    return space.log_cost[r, mass] - space.log_part[r, part] if part > 0 else 0


@helper
def _set_join_cost(space: Space, y: int, s: int, query: Query, cols: Columns, i: int) -> int:
    """Cost of the union of the query's set and that of column i."""
    first = space.set_first[s]
    missing = space.set_size[s]
    mass = query.mass[0, s]
    has_class = space.set_mass.shape[0] > 1
    part = query.mass[1 + y, s] if has_class else 0
    alone = True
    for w in range(first, space.set_first[s + 1]):
        extra = cols.bits[w, i] & ~query.bits[w]
        if extra or (query.bits[w] & ~cols.bits[w, i]):
            alone = False
        value = (w - first) << 6
        while extra:
            if extra & np.uint64(1):
                mass += space.set_mass[0, space.mass_start[s] + value]
                if has_class:
                    part += space.set_mass[1 + y, space.mass_start[s] + value]
            extra >>= np.uint64(1)
            value += 1
    word = first + (missing >> 6)
    union = query.bits[word] | cols.bits[word, i]
    with_missing = (union >> np.uint64(missing & 63)) & np.uint64(1)
    only_missing = with_missing and alone and _is_single(space, s, query)
    if with_missing and not only_missing:
        return space.set_full[y, s]
    return _set_cost(space, y, s, mass, part)


@helper
def _count_bits(word: np.uint64) -> Any:
    """Return how many bits are set; LLVM turns these steps into vector code."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@helper
def _add_counted_set(
    space: Space, y: int, s: int, query: Query, bits: Bits, out: Costs, m: int
) -> None:
    """Add the cost of (query ∪ i) in a set of one word whose cost counts its values.

    `_set_join_cost` written out without branches: this is the hot path of set columns.
    """
    own = query.bits[space.set_first[s]]
    missing = np.uint64(1) << np.uint64(space.set_size[s])
    weight = space.set_weight[s]
    full = space.set_full[y, s]
    for i in range(m):
        union = bits[i] | own
        count = np.int64(_count_bits(union))
        cost = np.int64(weight * (count - 1) + 0.5)
        mixed = (union & missing) != np.uint64(0) and count > 1
        out[i] += type(out[i])(full if mixed else cost)


@helper
def _is_single(space: Space, s: int, query: Query) -> bool:
    count = 0
    for w in range(space.set_first[s], space.set_first[s + 1]):
        word = query.bits[w]
        while word:
            word &= word - np.uint64(1)
            count += 1
    return count == 1


@inlined_helper
@unrolled
def join_scan(
    space: Space, cols: Columns, query: Query, y: int, start: int, stop: int, out: Costs
) -> None:
    """Write the cost per member of (query ∪ i), for sensitive value y, into out[i - start]."""
    for s in range(start, stop, BLOCK):
        e = min(stop, s + BLOCK)
        o = out[s - start : e - start]
        m = e - s
        base = query.base[y]
        for i in range(m):
            o[i] = base
        for codes, own, steps in (
            (cols.lev8, query.code8, query.step8),
            (cols.lev16, query.code16, query.step16),
            (cols.lev32, query.code32, query.step32),
        ):
            for j in range(codes.shape[0]):
                step = steps[y, j]
                if step != 0:
                    c = codes[j, s:e]
                    code = own[j]
                    for i in range(m):
                        o[i] += step if c[i] != code else type(step)(0)
        for j in range(cols.low.shape[0]):
            low = query.low[j]
            high = query.high[j]
            full = space.full[j]
            cl = cols.low[j, s:e]
            ch = cols.high[j, s:e]
            for i in range(m):
                spread = max(high, ch[i]) - min(low, cl[i])
                o[i] += min(full, type(full)(spread))
        for j in range(cols.clow.shape[0]):
            # _interval_cost written out: a call per row would cost more than the row itself
            first = space.prefix_start[j]
            missing = space.prefix_start[j + 1] - first - 2
            prefix = space.prefix[0, first:]
            log_cost = space.log_cost[space.log_row[j]]
            log_part = space.log_part[space.log_row[j]]
            with_class = space.prefix.shape[0] > 1
            class_prefix = space.prefix[1 + y, first:] if with_class else prefix
            lows = cols.clow[j, s:e]
            highs = cols.chigh[j, s:e]
            qlow = query.clow[j]
            qhigh = query.chigh[j]
            for i in range(m):
                a = min(qlow, lows[i])
                b = max(qhigh, highs[i])
                if b == missing and a < missing:
                    a = 0
                cost = log_cost[prefix[b + 1] - prefix[a]]
                if with_class:
                    part = class_prefix[b + 1] - class_prefix[a]
                    cost = cost - log_part[part] if part > 0 else 0
                o[i] += type(base)(cost)
        for j in range(space.set_size.shape[0]):
            word = space.set_first[j]
            if space.set_log[j] == 0 and space.set_first[j + 1] - word == 1:
                _add_counted_set(space, y, j, query, cols.bits[word, s:e], o, m)
                continue
            for i in range(m):
                o[i] += type(base)(_set_join_cost(space, y, j, query, cols, s + i))


@helper
def charge_scan(
    space: Space,
    cols: Columns,
    query: Query,
    own: int,
    counts: Counts,
    y: int,
    start: int,
    stop: int,
    spare: Costs,
    out: Totals,
) -> None:
    """Add what the members of value y in (query ∪ i) pay to out[i - start]; y = 0 sets it anew.

    ``own`` counts such members of the query, ``counts`` those of each row or group i.
    """
    join_scan(space, cols, query, y, start, stop, spare)
    n = counts[start:stop]
    if y == 0:
        out[: stop - start] = 0
    for i in range(stop - start):
        out[i] += (own + n[i]) * np.int64(spare[i])


@helper
@unrolled
def join_one(space: Space, cols: Columns, query: Query, y: int, i: int) -> int:
    """Return the cost per member of (query ∪ i) for sensitive value y."""
    cost = np.int64(query.base[y])
    for codes, own, steps in (
        (cols.lev8, query.code8, query.step8),
        (cols.lev16, query.code16, query.step16),
        (cols.lev32, query.code32, query.step32),
    ):
        for j in range(codes.shape[0]):
            if codes[j, i] != own[j]:
                cost += steps[y, j]
    for j in range(cols.low.shape[0]):
        spread = np.int64(max(query.high[j], cols.high[j, i])) - np.int64(
            min(query.low[j], cols.low[j, i])
        )
        cost += min(np.int64(space.full[j]), spread)
    for j in range(cols.clow.shape[0]):
        low_code = min(query.clow[j], cols.clow[j, i])
        high_code = max(query.chigh[j], cols.chigh[j, i])
        cost += _interval_cost(space, y, j, low_code, high_code)
    for j in range(space.set_size.shape[0]):
        cost += _set_join_cost(space, y, j, query, cols, i)
    return cost


@helper
def own_cost(space: Space, query: Query, y: int) -> int:
    """Return the cost per member of the query itself for sensitive value y."""
    cost = np.int64(query.base[y])
    for j in range(query.low.shape[0]):
        spread = np.int64(query.high[j]) - np.int64(query.low[j])
        cost += min(np.int64(space.full[j]), spread)
    for j in range(query.clow.shape[0]):
        cost += _interval_cost(space, y, j, query.clow[j], query.chigh[j])
    for s in range(space.set_size.shape[0]):
        missing = space.set_size[s]
        word = query.bits[space.set_first[s] + (missing >> 6)]
        has_class = space.set_mass.shape[0] > 1
        part = query.mass[1 + y, s] if has_class else 0
        if ((word >> np.uint64(missing & 63)) & np.uint64(1)) and not _is_single(space, s, query):
            cost += space.set_full[y, s]
        else:
            cost += _set_cost(space, y, s, query.mass[0, s], part)
    return cost


@helper
def absorb(space: Space, cols: Columns, query: Query, i: int) -> None:
    """Join row or group i into the query."""
    join_codes(cols, query, i)
    prepare(space, query)


@kernel
def cost_with_each(
    records: Records, members: Places, query: Query, hist: Counts, spare: Costs, out: Totals
) -> None:
    """Write the total cost of one group of the members and row i into out[i], for every row."""
    space, cols, n = records.space, records.columns, records.classes.shape[0]
    load_codes(cols, members[0], query)
    hist[:] = 0
    for member in members:
        join_codes(cols, query, member)
        hist[records.classes[member]] += 1
    prepare(space, query)
    out[:] = 0
    for y in range(hist.shape[0]):
        join_scan(space, cols, query, y, ZERO, np.int64(n), spare)
        for i in range(n):
            own = 1 if records.classes[i] == y else 0
            out[i] += (hist[y] + own) * np.int64(spare[i])
