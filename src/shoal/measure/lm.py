"""LM, the loss metric: how many values of the domain a cell stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import CostMeasure
from shoal.measure.forms import LinearForm, TreeForm
from shoal.measure.ncp import share_of_values

if TYPE_CHECKING:
    from shoal.measure.forms import Form
    from shoal.table.encode import Attribute, EncodedTable, Sensitive

__all__ = ["LM"]


class LM(CostMeasure):
    """T = (values covered − 1) ÷ (domain size − 1); mean per cell (Goldberger–Tassa, eq. 3).

    The domain of a numeric column is the set of its distinct values; a tree's is its leaves. On a
    grid, a cell covers all values of the column that lie in it.
    """

    name = "lm"
    title = "loss metric: share of the domain a cell stands for"
    citation = "Iyengar 2002; Goldberger & Tassa 2010, equation (3)"
    bounds = (0.0, 1.0)

    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return the cost table of one attribute."""
        del target, table
        if attribute.algebra == "set":
            return share_of_values(attribute)
        if attribute.algebra == "interval":
            cells = attribute.cells
            if cells is None:
                return LinearForm(np.arange(attribute.size) / max(attribute.size - 1, 1), 1.0)
            last = np.cumsum(cells.n_values) - 1
            first, most = last - cells.n_values + 1, max(int(last[-1]), 1)
            return LinearForm(first / most, 1.0, last / most)
        taxonomy = attribute.taxonomy
        assert taxonomy is not None
        cost = (taxonomy.leaf_count - 1) / max(taxonomy.n_leaves - 1, 1)
        cost[taxonomy.root] = 1.0
        return TreeForm(np.append(cost, 0.0))
