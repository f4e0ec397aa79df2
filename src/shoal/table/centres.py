"""The mean or median of each group: what is published in place of an interval, if asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table.closure import IntervalClosures
    from shoal.table.encode import Attribute
    from shoal.table.partition import Partition

__all__ = ["cell_middles", "group_centres"]


def cell_middles(attribute: Attribute) -> NDArray[np.float64]:
    """Return the number that each code stands for: a value, or on a grid the middle of a cell."""
    assert attribute.positions is not None
    if attribute.cells is None:
        return attribute.positions
    low, high = attribute.positions, attribute.cells.upper_positions
    return low + (high - low) / 2


def group_centres(
    attribute: Attribute,
    closures: IntervalClosures,
    partition: Partition,
    how: Literal["mean", "median"] = "mean",
) -> NDArray[np.float64]:
    """Return the mean or median of each group; in numpy, so that the sum has one order.

    On a grid it is that of the middles of the cells: no value inside a cell plays a part. NaN for
    a group that publishes none, because values of it are missing.
    """
    n_groups = partition.n_groups
    low, high = closures.low[:n_groups], closures.high[:n_groups]
    missing = closures.everything[:n_groups] | (low == attribute.size)
    places = np.append(cell_middles(attribute), np.nan)
    first, sizes = partition.starts[:-1], partition.sizes
    if how == "mean":
        values = places[attribute.codes[partition.order]]
        total = np.add.reduceat(values, first) if n_groups else np.empty(0)
        centre = total / sizes
        # Dividing a sum of equal numbers may miss them by a rounding.
        same = low == high
        centre[same] = places[low[same]]
    else:
        order = np.lexsort((attribute.codes, partition.labels))[partition.n_suppressed :]
        codes = attribute.codes[order]
        lower, upper = codes[first + (sizes - 1) // 2], codes[first + sizes // 2]
        centre = (places[lower] + places[upper]) / 2
    cells = attribute.cells
    if cells is not None and cells.digits is not None:
        centre = np.round(centre, cells.digits)
    centre[missing] = np.nan
    return centre
