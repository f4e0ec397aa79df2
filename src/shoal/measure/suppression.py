"""The suppression measure: the share of cells that are not published exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import CostMeasure
from shoal.measure.forms import IndicatorForm, TreeForm
from shoal.table.closure import wide_cells

if TYPE_CHECKING:
    from shoal.measure.forms import Form
    from shoal.table.encode import Attribute, EncodedTable, Sensitive

__all__ = ["Suppression"]


class Suppression(CostMeasure):
    """T = 0 for a single value, 1 otherwise; mean per cell (Meyerson & Williams)."""

    name = "suppression"
    title = "share of cells not published exactly"
    citation = "Meyerson & Williams 2004; Goldberger & Tassa 2010, section 3"
    bounds = (0.0, 1.0)

    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return the cost table of one attribute."""
        del target, table
        if attribute.taxonomy is None:
            return IndicatorForm(1.0, wide_cells(attribute))
        exact = np.arange(attribute.taxonomy.n_nodes + 1) < attribute.taxonomy.n_leaves
        exact[-1] = True
        return TreeForm(np.where(exact, 0.0, 1.0))
