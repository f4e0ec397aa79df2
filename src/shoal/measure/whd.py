"""Distortion by weighted hierarchical distance (WHD), uniform and height weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal.errors import OptionError
from shoal.measure.base import CostMeasure
from shoal.measure.tree import climbing_form

if TYPE_CHECKING:
    from shoal.hierarchy import Taxonomy
    from shoal.measure.forms import Floats, Form
    from shoal.table.encode import Attribute, EncodedTable, Sensitive

__all__ = ["WHD", "WHDHeight", "weighted_distance"]


def weighted_distance(n_levels: int, beta: float) -> Floats:
    """Return WHD(h, q) for q = h, h−1, …, 1: the cost of climbing 0, 1, …, h−1 levels.

    WHD(p, q) = Σ_{j=q+1..p} w_{j,j−1} ÷ Σ_{j=2..h} w_{j,j−1} with w_{j,j−1} = 1 ÷ (j − 1)^beta
    (beta = 0 is the uniform weight). Levels run from 1 (most general) to h (most specific).
    """
    steps = 1.0 / np.arange(n_levels - 1, 0, -1, dtype=np.float64) ** beta
    total = float(steps.sum()) if n_levels > 1 else 1.0
    return np.concatenate(([0.0], np.cumsum(steps))) / total


class WHD(CostMeasure):
    """Distortion of the table with uniform weights: Σ over cells of WHD(level, level′).

    Levels are counted from the bottom (height of the subtree), so a published node costs the
    same for all its values; on a balanced tree this is exactly Li's definition.
    """

    name = "whd"
    title = "distortion by weighted hierarchical distance, uniform weights"
    citation = "Li et al. 2006, Definitions 5 to 7"
    per_cell = False
    beta: float = 0.0

    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return the cost table of one attribute."""
        del target, table
        return climbing_form(attribute, self._climbed)

    def _climbed(self, taxonomy: Taxonomy) -> Floats:
        cost: Floats = weighted_distance(taxonomy.tree_height + 1, self.beta)[taxonomy.height]
        return cost


class WHDHeight(WHD):
    """Distortion with height weights w = 1 ÷ (j − 1)^beta: steps near the root cost more."""

    name = "whd-height"
    title = "distortion by weighted hierarchical distance, height weights"
    options: ClassVar[tuple[str, ...]] = ("beta",)

    def __init__(self, beta: float = 1.0) -> None:
        """Set the exponent.

        Args:
            beta: a number ≥ 1; the larger, the cheaper the steps near the leaves.
        """
        if isinstance(beta, bool) or not isinstance(beta, int | float) or not math.isfinite(beta):
            raise OptionError(f"beta of 'whd-height' must be a number of at least 1, got {beta!r}.")
        if beta < 1:
            raise OptionError(f"beta of 'whd-height' must be at least 1, got {beta}.")
        self.beta = float(beta)
