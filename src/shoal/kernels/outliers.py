"""What each row costs its group."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.scan import join_codes, load_codes, own_cost, prepare

__all__ = ["marginal_costs"]


@kernel
def marginal_costs(
    space: Any,
    cols: Any,
    order: Any,
    starts: Any,
    classes: Any,
    hists: Any,
    costs: Any,
    query: Any,
    out: Any,
) -> None:
    """Write cost(C) − cost(C without the row) for every row of every group C."""
    for g in range(starts.shape[0] - 1):
        low = starts[g]
        high = starts[g + 1]
        for p in range(low, high):
            row = order[p]
            if high - low == 1:
                out[row] = costs[g]
                continue
            first = low if p != low else low + 1
            load_codes(cols, order[first], query)
            for q in range(first + 1, high):
                if q != p:
                    join_codes(cols, query, order[q])
            prepare(space, query)
            rest = np.int64(0)
            for y in range(hists.shape[0]):
                own = 1 if classes[row] == y else 0
                rest += (hists[y, g] - own) * own_cost(space, query, y)
            out[row] = costs[g] - rest
