"""The distortion ratio: distortion as a share of the worst there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.measure.base import Measure
from shoal.measure.whd import WHD

if TYPE_CHECKING:
    from shoal.measure.base import Grouped

__all__ = ["DistortionRatio"]


class DistortionRatio(Measure):
    """Distortion(D, D′) ÷ Distortion(D, D*), where every cell of D* is fully generalised.

    Distortion is `whd` (uniform weights), in which a fully generalised cell costs the weight of
    its column: the denominator is n · Σ_j w_j.
    """

    name = "distortion-ratio"
    title = "distortion as a share of that of the fully generalised table"
    citation = "Li et al. 2006, section 5"
    bounds = (0.0, 1.0)

    def score(self, grouped: Grouped) -> float:
        """Return the ratio."""
        worst = grouped.table.n_rows * float(grouped.table.weights.sum())
        return WHD().score(grouped) / worst

    def by_column(self, grouped: Grouped) -> dict[str, float]:
        """Return the ratio of each column by itself."""
        columns = WHD().by_column(grouped)
        return {name: total / grouped.table.n_rows for name, total in columns.items()}
