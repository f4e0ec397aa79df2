"""What each row costs its group."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.codes import join_codes, load_codes, store_query
from shoal.kernels.jit import kernel
from shoal.kernels.scan import own_cost, prepare

if TYPE_CHECKING:
    from shoal.kernels.space import ClosedGroups, Columns, Places, Query, Records, Totals


@bundle
class EndsScratch(NamedTuple):
    """The closures of what comes before a row and after it."""

    query: Query
    ahead: Query  # the rows before
    tail: Columns  # Columns [longest group]: all ends of a group, so work is linear in its size


@kernel
def marginal_costs(
    records: Records,
    order: Places,
    starts: Places,
    groups: ClosedGroups,
    scratch: EndsScratch,
    out: Totals,
) -> None:
    """Write cost(C) − cost(C without the row) for every row of every group C.

    The closure without a row is that of the rows before it joined with that of the rows after it.
    """
    space, cols, classes = records.space, records.columns, records.classes
    query, ahead, tail = scratch.query, scratch.ahead, scratch.tail
    hists, costs = groups.hists, groups.costs
    for g in range(starts.shape[0] - 1):
        low = starts[g]
        high = starts[g + 1]
        if high - low == 1:
            out[order[low]] = costs[g]
            continue
        load_codes(cols, order[high - 1], query)
        store_query(tail, high - 1 - low, query)
        for p in range(high - 2, low, -1):
            join_codes(cols, query, order[p])
            store_query(tail, p - low, query)
        load_codes(cols, order[low], ahead)
        for p in range(low, high):
            row = order[p]
            if p == low:
                load_codes(tail, 1, query)
            else:
                store_query(tail, 0, ahead)  # the first place is free: nothing comes before it
                load_codes(tail, 0, query)
                if p + 1 < high:
                    join_codes(tail, query, p + 1 - low)
                join_codes(cols, ahead, row)
            prepare(space, query)
            rest = np.int64(0)
            for y in range(hists.shape[0]):
                own = 1 if classes[row] == y else 0
                rest += (hists[y, g] - own) * own_cost(space, query, y)
            out[row] = costs[g] - rest
