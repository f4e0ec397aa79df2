"""Rows as points: what microaggregation measures distances and means with.

Numbers, dates and ordered values are standardised (mean 0, standard deviation 1 over the whole
table), everything else is compared for equality, level by level of its hierarchy. Coordinates are
whole numbers in floats, so small that the squared distance of any two rows is below 2^53: sums of
them are exact and the same in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.kernels.mdav import Points
from shoal.table.closure import cell_middles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table.encode import Attribute, EncodedTable


MISSING_FAR = 3.0
"""How many standard deviations a missing value lies from any other."""


_LARGEST = 2.0**26


def points_of(table: EncodedTable) -> Points:
    """Return the rows of a table as points.

    Column weights multiply squared distances. A missing number lies at the mean, and in a
    coordinate of its own `MISSING_FAR` from all others. Two values of a hierarchy are as far from
    each other as the share of the levels in which they differ.
    """
    numbers: list[NDArray[np.float64]] = []
    absent: list[bool] = []
    levels: list[NDArray[np.int32]] = []
    weights: list[float] = []
    for attribute in table.attributes:
        if attribute.algebra == "interval":
            numbers += _coordinates(attribute)
            absent += [False, True] if attribute.has_missing else [False]
        else:
            found = _levels(attribute)
            levels += found
            weights += [attribute.weight / len(found)] * len(found)
    spans = [float(np.ptp(each)) if len(each) else 0.0 for each in numbers]
    total = sum(span**2 for span in spans) + sum(weights)
    unit = _LARGEST / np.sqrt(total) if total > 0 else 1.0
    n = table.n_rows
    return Points(
        np.array([np.rint(each * unit) for each in numbers]).reshape(len(numbers), n),
        np.array(levels, np.int32).reshape(len(levels), n),
        np.rint(np.array(weights, np.float64) * unit**2),
        np.array(absent, np.bool_),
    )


def take_points(points: Points, rows: NDArray[np.integer[Any]]) -> Points:
    """Return the points of these rows."""
    return Points(
        np.ascontiguousarray(points.numbers[:, rows]),
        np.ascontiguousarray(points.levels[:, rows]),
        points.weights,
        points.absent,
    )


def _coordinates(attribute: Attribute) -> list[NDArray[np.float64]]:
    place = cell_middles(attribute)
    counts = attribute.counts[: attribute.size].astype(np.float64)
    place = place / (float(np.abs(place).max(initial=0.0)) or 1.0)  # squares may not overflow
    share = counts / max(float(counts.sum()), 1.0)
    place = place - float(np.sum(place * share))
    deviation = float(np.sqrt(np.sum(place**2 * share)))
    factor = np.sqrt(attribute.weight) / deviation if deviation > 1e-12 else 0.0
    found = [np.append(place * factor, 0.0)[attribute.codes]]
    if attribute.has_missing:
        far = MISSING_FAR * float(np.sqrt(attribute.weight))
        found.append(np.where(attribute.codes == attribute.size, far, 0.0))
    return found


def _levels(attribute: Attribute) -> list[NDArray[np.int32]]:
    taxonomy = attribute.taxonomy
    if taxonomy is None:
        return [attribute.codes.astype(np.int32)]
    found = []
    for ancestors in taxonomy.levels()[1:]:
        _, codes = np.unique(np.append(ancestors, taxonomy.n_nodes), return_inverse=True)
        found.append(codes.astype(np.int32)[attribute.codes])
    return found
