"""The modification rate: the share of cells that the release changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import Measure

if TYPE_CHECKING:
    from shoal.measure.base import Grouped

__all__ = ["ModificationRate"]


class ModificationRate(Measure):
    """(cells of quasi-identifiers that were generalised) ÷ (rows · columns) (Li et al., section 3).

    Every cell counts the same, whatever the weight of its column; with weights, `suppression` is
    the measure. All cells of a suppressed row are changed.
    """

    name = "modification-rate"
    title = "share of cells that were changed"
    citation = "Li et al. 2006, section 3"
    bounds = (0.0, 1.0)

    def score(self, grouped: Grouped) -> float:
        """Return the share of changed cells."""
        columns = self.by_column(grouped)
        return sum(columns.values()) / len(columns)

    def by_column(self, grouped: Grouped) -> dict[str, float]:
        """Return the share of changed cells of each column."""
        return {
            attribute.name: float(np.sum(grouped.sizes[~closures.single()])) / grouped.table.n_rows
            for attribute, closures in zip(grouped.table.attributes, grouped.closures, strict=True)
        }
