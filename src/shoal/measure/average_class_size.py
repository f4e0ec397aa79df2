"""The average size of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.measure.base import Measure

if TYPE_CHECKING:
    from shoal.measure.base import Grouped

__all__ = ["AverageClassSize"]


class AverageClassSize(Measure):
    """(published rows) ÷ (groups).

    LeFevre's C_avg is this number divided by k. A score knows the groups and not the k they were
    made for, so it is left undivided; the best possible value is k. Groups count as they were
    formed. If nothing is published at all, the rows count as one group.
    """

    name = "average-class-size"
    title = "mean number of rows in a group"
    citation = "LeFevre et al. 2006, C_avg without its division by k"
    bounds = (1.0, None)

    def score(self, grouped: Grouped) -> float:
        """Return the mean group size."""
        partition = grouped.partition
        if partition.n_groups == 0:
            return float(partition.n_rows)
        return (partition.n_rows - partition.n_suppressed) / partition.n_groups
