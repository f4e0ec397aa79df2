"""Hilbert curve order, cut optimally (Ghinita, Karras, Kalnis, Mamoulis: VLDB 2007)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm, check_choice, check_flag
from shoal.kernels.hilbert import curve_keys, cut_runs
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.search.scan import Run
    from shoal.table.encode import Attribute, Codes, EncodedTable


MOST_BITS = 32
AXES = ("fewest", "given")
HALF_UP = 1e-6
"""Halves go up whatever the last bit of a product says: in the middle of the range the first bit
of a coordinate, and with it half of the curve, depends on it."""
SLICE_JOINS = 2_000_000


@dataclass(frozen=True, kw_only=True)
class Hilbert(Algorithm):
    """Map every record to one dimension along the Hilbert curve and group the line optimally.

    Follows section 6.2.3 of Goldberger and Tassa (2010): all attributes are first stretched to
    one range, because the curve visits a small box completely before it leaves it, so that an
    attribute with a wide range would decide alone. Numbers and dates lie where their value puts
    them, categories at the place of their code (depth-first order of the taxonomy's leaves, or
    alphabetical), missing one step beyond the last value. The papers leave open which axis the
    curve turns around last: see `axes`. The grouping of the line is optimal for the chosen measure
    among all groupings into runs of k to 2k − 1 records (dynamic programming).

    The curve is fine enough to tell the two nearest values of every column apart, up to 2³² steps
    along an axis; records that are at the same place all the same are in the order of their
    values, and equal records in row order. So one column of numbers is grouped as well as can be.

    Guarantee: every group has between k and 2k − 1 records.
    Cost: O(n · columns · bits) for the curve, O(n log n) for the order, O(n · k) joins.
    Determinism: no chance involved, but equal records are taken in shuffled order; ties between
    groupings go to the smaller last group.

    Args:
        rescale: stretch all attributes to one range; False is the original of Ghinita et al.,
            with numbers in their own units (in units of the smallest gap if they are not whole)
            and categories numbered from 0.
        axes: which attribute is which axis of the curve: "fewest" from the fewest to the most
            values (ties: in the order given), which loses less on Adult than the order of its
            columns; "given" in the order of the table's columns.
    """

    name = "hilbert"
    title = "Hilbert curve order, cut optimally"
    citation = "Ghinita, Karras, Kalnis, Mamoulis 2007; Goldberger, Tassa 2010"
    whole_rows = math.inf

    rescale: bool = True
    axes: str = "fewest"

    def __post_init__(self) -> None:
        """Check the options."""
        check_flag(self, "rescale")
        check_choice(self, "axes", AXES)

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        run.progress(0, table.n_rows, "clustering")
        points, bits = place_records(table, rescale=self.rescale, axes=self.axes)
        order = order_along_curve(points, bits, [each.codes for each in table.attributes])
        sizes = group_the_line(order, run)
        labels = np.empty(table.n_rows, np.int32)
        labels[order] = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        return Partition(labels, len(sizes))


def place_records(
    table: EncodedTable, *, rescale: bool, axes: str = "fewest"
) -> tuple[NDArray[np.uint64], int]:
    """Return the point of each record, and how many bits its coordinates have."""
    places = [_places(attribute, rescale=rescale) for attribute in table.attributes]
    steps = max(_n_steps(place) if rescale else place[-1] for place in places)
    bits = min(max(1, int(min(steps, 2.0**MOST_BITS))).bit_length(), MOST_BITS)
    top = 2**bits - 1
    points = np.empty((table.n_rows, len(places)), np.uint64)
    turns = list(range(len(places)))
    if axes == "fewest":
        turns.sort(key=lambda j: len(places[j]))
    for axis, j in enumerate(turns):
        place = places[j]
        # without rescaling, only what would not fit into the widest box is shrunk
        stretch = top / max(place[-1], 1.0) if rescale or place[-1] > top else 1.0
        point = np.floor(place * stretch + (0.5 + HALF_UP)).astype(np.uint64)
        points[:, axis] = point[table.attributes[j].codes]
    return points, bits


def _places(attribute: Attribute, *, rescale: bool) -> NDArray[np.float64]:
    """Return where each code lies, from 0 up; missing one unit beyond the last value.

    The unit of numbers is the mean gap between values if all is rescaled anyway; otherwise 1 for
    whole numbers and the smallest gap for others.
    """
    if attribute.positions is None:
        place = np.arange(attribute.size, dtype=np.float64)
    else:
        place = attribute.positions - attribute.positions[0]
        if rescale:
            unit = place[-1] / max(len(place) - 1, 1) or 1.0
        elif np.all(place == np.rint(place)):
            unit = 1.0
        else:
            unit = max(float(np.min(np.diff(place))), place[-1] * 2.0**-MOST_BITS)
        place = place / unit
    return np.append(place, place[-1] + 1.0) if attribute.has_missing else place


def _n_steps(place: NDArray[np.float64]) -> float:
    """Return how many steps as small as the smallest gap lead from the first value to the last."""
    if len(place) < 2:
        return 1.0
    with np.errstate(over="ignore", divide="ignore"):
        return float(np.ceil(place[-1] / np.diff(place).min() - HALF_UP))


def order_along_curve(
    points: NDArray[np.uint64], bits: int, ties: Sequence[Codes] = ()
) -> NDArray[np.int64]:
    """Return the records in the order of the curve; the points are used up.

    Records at the same place are ordered by ``ties``, the first of them first, then by row.
    """
    n, n_dimensions = points.shape
    keys = np.empty((-(-n_dimensions * bits // 64), n), np.uint64)
    curve_keys(points, bits, keys)
    return np.lexsort([*reversed(ties), *keys[::-1]])


def group_the_line(order: NDArray[np.int64], run: Run) -> NDArray[np.int64]:
    """Return the sizes of the consecutive groups whose total cost is least."""
    n, k = len(order), run.k
    line = run.scanner.take(order)
    best = np.full(n + 1, -1, np.int64)
    best[0] = 0
    size = np.zeros(n + 1, np.int64)
    query, hist = line.query(), np.zeros(line.n_classes, np.int64)
    per_slice = max(1, SLICE_JOINS // (2 * k))
    for first in range(k, n + 1, per_slice):
        run.progress(first, n, "clustering")
        last = min(first + per_slice - 1, n)
        cut_runs(line.records, k, first, last, query, hist, best, size)
    sizes = []
    end = n
    while end:
        sizes.append(int(size[end]))
        end -= sizes[-1]
    return np.array(sizes[::-1], np.int64)
