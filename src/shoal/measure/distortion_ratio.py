"""The distortion ratio: distortion as a share of the worst there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from shoal.measure.base import Measure
from shoal.measure.whd import WHD, LevelWeights, WHDHeight

if TYPE_CHECKING:
    from shoal.measure.base import Grouped

__all__ = ["DistortionRatio"]


class DistortionRatio(Measure):
    """Distortion(D, D′) ÷ Distortion(D, D*), where every cell of D* is fully generalised.

    Distortion is `whd` (uniform weights) or, with ``beta``, `whd-height`; in both a fully
    generalised cell costs the weight of its column: the denominator is n · Σ_j w_j.
    """

    name = "distortion-ratio"
    title = "distortion as a share of that of the fully generalised table"
    citation = "Li et al. 2006, section 5"
    bounds = (0.0, 1.0)
    options: ClassVar[tuple[str, ...]] = ("beta", "level_weights")

    def __init__(
        self, beta: float | None = None, level_weights: LevelWeights | None = None
    ) -> None:
        """Choose the weights of the steps.

        Args:
            beta: the exponent of height weights, as for ``whd-height``; None for uniform weights.
            level_weights: weights of single steps, as for ``whd``.
        """
        self.distortion = WHD(level_weights) if beta is None else WHDHeight(beta, level_weights)

    def score(self, grouped: Grouped) -> float:
        """Return the ratio."""
        worst = grouped.table.n_rows * float(grouped.table.weights.sum())
        return self.distortion.score(grouped) / worst

    def by_column(self, grouped: Grouped) -> dict[str, float]:
        """Return the ratio of each column by itself."""
        columns = self.distortion.by_column(grouped)
        return {name: total / grouped.table.n_rows for name, total in columns.items()}
