"""CM, the classification metric: how often a group hides the class of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import Measure

if TYPE_CHECKING:
    from shoal.measure.base import Grouped

__all__ = ["Classification"]


class Classification(Measure):
    """Π_CM = (1 ÷ n) Σ_i penalty(i).

    The penalty of a row is 1 if it is suppressed or if its sensitive value is not the most
    frequent one of its group, else 0. Which of several most frequent values is taken makes no
    difference to the sum. A missing sensitive value is a class of its own.
    """

    name = "cm"
    title = "share of rows whose class differs from their group's majority"
    citation = "Iyengar 2002; Byun et al. 2007, section 3; Goldberger & Tassa 2010, section 3"
    bounds = (0.0, 1.0)
    needs_sensitive = True

    def score(self, grouped: Grouped) -> float:
        """Return the mean penalty."""
        majority = grouped.histogram[:-1].max(axis=1)  # the last row holds suppressed rows
        return 1.0 - float(np.sum(majority)) / grouped.table.n_rows
