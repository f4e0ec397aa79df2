"""Distortion by weighted hierarchical distance (WHD), uniform and height weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal.errors import OptionError
from shoal.measure.base import CostMeasure, Measure
from shoal.measure.loss import climbing_form

if TYPE_CHECKING:
    from shoal.hierarchy import Taxonomy
    from shoal.measure.base import Floats, Form, Grouped
    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.sensitive import Sensitive


LevelWeights = Mapping[str, Sequence[float]]


def weighted_distance(n_levels: int, beta: float) -> Floats:
    """Return WHD(h, q) for q = h, h−1, …, 1: the cost of climbing 0, 1, …, h−1 levels.

    WHD(p, q) = Σ_{j=q+1..p} w_{j,j−1} ÷ Σ_{j=2..h} w_{j,j−1} with w_{j,j−1} = 1 ÷ (j − 1)^beta
    (beta = 0 is the uniform weight). Levels run from 1 (most general) to h (most specific).
    """
    steps = 1.0 / np.arange(n_levels - 1, 0, -1, dtype=np.float64) ** beta
    total = float(steps.sum()) if n_levels > 1 else 1.0
    return np.concatenate(([0.0], np.cumsum(steps))) / total


def given_distance(weights: Sequence[float]) -> Floats:
    """Return WHD(h, q) for q = h, …, 1 with weights w_{2,1}, …, w_{h,h−1} of the user's."""
    climbed: Floats = np.concatenate(([0.0], np.cumsum(np.asarray(weights, np.float64)[::-1])))
    share: Floats = climbed / climbed[-1]
    return share


def check_level_weights(measure: str, by_column: object) -> dict[str, tuple[float, ...]]:
    """Return the weights of each column, or say what is wrong with them."""
    if by_column is None:
        return {}
    if not isinstance(by_column, Mapping):
        raise OptionError(
            "level_weights of {measure!r} must map columns to lists of weights, as in "
            "{{'age': [3, 2, 1]}}, not {name}.",
            measure=measure,
            name=type(by_column).__name__,
        )
    result: dict[str, tuple[float, ...]] = {}
    for name, weights in by_column.items():
        listed = list(weights) if isinstance(weights, list | tuple) else []
        numbers = [w for w in listed if isinstance(w, int | float) and not isinstance(w, bool)]
        fine = bool(listed) and len(numbers) == len(listed)
        if not fine or not all(math.isfinite(w) and w >= 0 for w in numbers) or not sum(numbers):
            raise OptionError(
                "level_weights of {measure!r} for column {name!r} must be a list of numbers "
                "of at least 0, not all of them 0.",
                measure=measure,
                name=name,
            )
        result[str(name)] = tuple(float(w) for w in numbers)
    return result


class WHD(CostMeasure):
    """Distortion of the table with uniform weights: Σ over cells of WHD(level, level′).

    Levels are counted from the bottom (height of the subtree), so a published node costs the
    same for all its values; on a balanced tree this is exactly Li's definition.
    """

    name = "whd"
    title = "distortion by weighted hierarchical distance, uniform weights"
    citation = "Li et al. 2006, Definitions 5 to 7"
    per_cell = False
    options: ClassVar[tuple[str, ...]] = ("level_weights",)
    beta: float = 0.0

    def __init__(self, level_weights: LevelWeights | None = None) -> None:
        """Set weights of single steps.

        Args:
            level_weights: per column the weights of its steps, from the one below the root to the
                one above the leaves: w_{2,1}, w_{3,2}, …, w_{h,h−1}. Columns that are not named
                keep the weights of the measure.
        """
        self.level_weights = check_level_weights(self.name, level_weights)

    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return the cost table of one attribute."""
        del target
        for name in self.level_weights:
            if name not in {each.name for each in table.attributes}:
                raise OptionError(
                    "level_weights of {name!r} names column {name2!r}, which is no "
                    "quasi-identifier.",
                    name=self.name,
                    name2=name,
                )
        return climbing_form(attribute, partial(self._climbed, attribute.name))

    def _climbed(self, name: str, taxonomy: Taxonomy) -> Floats:
        own_weights = self.level_weights.get(name)
        if own_weights is None:
            steps: Floats = weighted_distance(taxonomy.tree_height + 1, self.beta)
        elif len(own_weights) != taxonomy.tree_height:
            raise OptionError(
                "level_weights of {name!r} has {n} weights for column {name2!r}, whose "
                "hierarchy has {tree_height} steps from the root to a leaf.",
                name=self.name,
                n=len(own_weights),
                name2=name,
                tree_height=taxonomy.tree_height,
            )
        else:
            steps = given_distance(own_weights)
        cost: Floats = steps[taxonomy.height]
        return cost


class WHDHeight(WHD):
    """Distortion with height weights w = 1 ÷ (j − 1)^beta: steps near the root cost more."""

    name = "whd-height"
    title = "distortion by weighted hierarchical distance, height weights"
    options: ClassVar[tuple[str, ...]] = ("beta", "level_weights")

    def __init__(self, beta: float = 1.0, level_weights: LevelWeights | None = None) -> None:
        """Set the exponent, and weights of single steps.

        Args:
            beta: a number ≥ 1; the larger, the cheaper the steps near the leaves.
            level_weights: as for ``whd``.
        """
        super().__init__(level_weights)
        if isinstance(beta, bool) or not isinstance(beta, int | float) or not math.isfinite(beta):
            raise OptionError(
                "beta of 'whd-height' must be a number of at least 1, got {beta!r}.", beta=beta
            )
        if beta < 1:
            raise OptionError("beta of 'whd-height' must be at least 1, got {beta}.", beta=beta)
        self.beta = float(beta)


# The distortion ratio: distortion as a share of the worst there is.


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
