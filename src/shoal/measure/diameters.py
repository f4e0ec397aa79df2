"""The sum of diameters: what the definition of the k-member clustering problem sums up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import Measure
from shoal.measure.loss import range_share

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shoal.measure.base import Floats, Grouped
    from shoal.table.encode import Attribute

    Codes = NDArray[np.int64]
    Gaps = Callable[[Codes, Codes], Floats]


PAIRS_AT_ONCE = 1 << 20
TABLE_LEAVES = 1024


class Diameters(Measure):
    """Σ_C |C| · max over pairs i, j of C of Δ(i, j).

    Δ is the distance of two records: |v − w| ÷ range for numbers, H(Λ(v, w)) ÷ H(tree) for trees,
    for sets what the pair of values costs in `ncp`; added up over the columns, with their weights.
    It is never above `il`, which charges the closure of the whole group: three records that are
    pairwise close may need a wide one. A missing value is at distance 1 from every other one; a
    suppressed row is charged the whole domain in every column.

    Cost: all pairs of different records of a group.
    """

    name = "diameters"
    title = "sum over records of the largest distance in their group"
    citation = "Byun et al. 2007, Definition 1"

    def score(self, grouped: Grouped) -> float:
        """Return the sum over groups of rows times diameter."""
        attributes, partition = grouped.table.attributes, grouped.partition
        gaps = [_gaps(attribute) for attribute in attributes]
        codes = np.stack([attribute.codes.astype(np.int64) for attribute in attributes])
        weights = grouped.table.weights
        total = partition.n_suppressed * float(weights.sum())
        for g in range(partition.n_groups):
            rows = partition.rows_of(g)
            total += len(rows) * _diameter(np.unique(codes[:, rows], axis=1), gaps, weights)
        return total


def _diameter(records: Codes, gaps: list[Gaps], weights: Floats) -> float:
    """Return the largest distance of two of these records, or of one to itself."""
    step = max(1, PAIRS_AT_ONCE // records.shape[1])
    most = 0.0
    for start in range(0, records.shape[1], step):
        some = records[:, start : start + step]
        distance = sum(
            weight * gap(left[:, None], right[None, :])
            for gap, weight, left, right in zip(gaps, weights, some, records, strict=True)
        )
        most = max(most, float(np.max(distance)))
    return most


def _gaps(attribute: Attribute) -> Gaps:
    """Return the distance of two codes of a column; missing is the last code."""
    size = attribute.size

    def with_missing(known: Gaps) -> Gaps:
        def gap(a: Codes, b: Codes) -> Floats:
            found = known(np.minimum(a, size - 1), np.minimum(b, size - 1))
            return np.where((a == size) | (b == size), (a != b).astype(np.float64), found)

        return gap

    if attribute.algebra == "interval":
        form = range_share(attribute)
        low, high = form.position, form.position if form.upper is None else form.upper
        return with_missing(lambda a, b: np.maximum(high[a], high[b]) - np.minimum(low[a], low[b]))
    if attribute.algebra == "set":
        return with_missing(lambda a, b: (a != b) / max(size - 1, 1))
    tree = attribute.taxonomy
    assert tree is not None
    height = tree.height / max(tree.tree_height, 1)
    if attribute.level is not None:  # nothing is published below a level
        height = height[attribute.level.of_node]
    if size > TABLE_LEAVES:
        return with_missing(lambda a, b: height[tree.lca_many(a, b)])
    leaves = np.arange(size)
    table = height[tree.lca_many(leaves[:, None], leaves[None, :])]
    return with_missing(lambda a, b: table[a, b])
