"""DM, the discernibility metric: how many rows each row is hidden among."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import Measure

if TYPE_CHECKING:
    from shoal.measure.base import Grouped

__all__ = ["Discernibility"]


class Discernibility(Measure):
    """Π_DM = Σ_C |C|² + (suppressed rows) · n.

    Groups count as they were formed: two groups that happen to publish the same cells stay two.
    Between n (every row alone) and n² (one group, or nothing published).
    """

    name = "dm"
    title = "discernibility: sum of squared group sizes"
    citation = "Bayardo & Agrawal 2005; Goldberger & Tassa 2010, section 3"

    def score(self, grouped: Grouped) -> float:
        """Return the sum over rows of the number of rows each is indistinguishable from."""
        sizes = grouped.partition.sizes
        return float(np.sum(sizes**2) + grouped.partition.n_suppressed * grouped.table.n_rows)
