"""AM, the ambiguity metric: how many original records a published one could stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import Measure

if TYPE_CHECKING:
    from shoal.measure.base import Grouped

__all__ = ["Ambiguity"]


class Ambiguity(Measure):
    """Π_AM = (1 ÷ n) Σ_i Π_j |R̄_i(j)| (Goldberger–Tassa, eq. 4).

    |R̄_i(j)| counts values of the domain as LM does: distinct values of a numeric column, leaves
    of a tree, with missing as one more where it occurs. A suppressed row stands for the whole
    domain. Weights play no part. The result is a float and, with many columns, a huge one.
    """

    name = "am"
    title = "records of the domain that a published record could be"
    citation = "Nergiz & Clifton 2007; Goldberger & Tassa 2010, equation (4)"
    bounds = (1.0, None)

    def score(self, grouped: Grouped) -> float:
        """Return the mean number of combinations per row."""
        box = np.ones(len(grouped.sizes))
        with np.errstate(over="ignore"):  # beyond the largest float, infinity is the right answer
            for attribute, closures in zip(grouped.table.attributes, grouped.closures, strict=True):
                box *= closures.n_values(attribute)
            used = grouped.sizes > 0  # no suppressed row, no charge: 0 · infinity is no number
            return float(np.sum(grouped.sizes[used] * box[used]) / grouped.table.n_rows)
