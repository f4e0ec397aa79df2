"""Rows to the closest of many fixed centres (C-means)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.scan import join_scan, load_query

if TYPE_CHECKING:
    from shoal.kernels.space import Columns, Costs, Labels, Query, Space


ZERO = np.int64(0)


@kernel
def closest_centres(
    space: Space,
    cols: Columns,
    start: int,
    stop: int,
    classes: Labels,
    centres: Columns,
    query: Query,
    spare: Costs,
    label: Labels,
) -> None:
    """Write the centre that each row costs least to be joined with; ties go to the lowest."""
    n = spare.shape[0]
    for i in range(start, stop):
        load_query(space, cols, i, query)
        join_scan(space, centres, query, np.int64(classes[i]), ZERO, n, spare)
        best = np.int64(0)
        for g in range(1, n):
            if spare[g] < spare[best]:
                best = np.int64(g)
        label[i] = best
