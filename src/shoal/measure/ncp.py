"""NCP, the normalised certainty penalty: Byun's information loss per cell, between 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal.measure.base import CostMeasure
from shoal.measure.forms import CountForm, LinearForm, TreeForm

if TYPE_CHECKING:
    from shoal.measure.forms import Form
    from shoal.table.encode import Attribute, EncodedTable, Sensitive

__all__ = ["NCP", "range_share", "share_of_values"]


def range_share(attribute: Attribute) -> LinearForm:
    """(highest − lowest) ÷ domain range for an interval attribute (Byun, Definition 2).

    On a grid, highest and lowest are the lines that are published, and so are those of the range.
    """
    position = attribute.positions
    assert position is not None
    upper = position if attribute.cells is None else attribute.cells.upper_positions
    if abs(position[0]) > 1e300 or abs(upper[-1]) > 1e300:
        # the range of such numbers may exceed the largest float
        position, upper = position / 4, upper / 4
    width = float(upper[-1] - position[0]) or 1.0
    low, high = ((each - position[0]) / width for each in (position, upper))
    return LinearForm(low, 1.0, None if attribute.cells is None else high)


def share_of_values(attribute: Attribute) -> CountForm:
    """(values − 1) ÷ (domain size − 1) for a set attribute, which has no tree to climb."""
    return CountForm(1.0 / max(attribute.size - 1, 1), 1.0)


class NCP(CostMeasure):
    """Mean information loss per cell.

    T = (max − min) ÷ |domain range| for intervals and H(Λ(values)) ÷ H(tree) for trees, where
    Λ is the subtree below the lowest common ancestor and H its height (Byun et al., Definitions
    2, 3 and 5). A set attribute has no tree: (|values| − 1) ÷ (|domain| − 1).
    """

    name = "ncp"
    title = "mean information loss per cell (normalised certainty penalty)"
    citation = "Byun et al. 2007, Definition 5, divided by rows times columns"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return the cost table of one attribute."""
        del target, table
        if attribute.algebra == "interval":
            return range_share(attribute)
        if attribute.algebra == "set":
            return share_of_values(attribute)
        taxonomy = attribute.taxonomy
        assert taxonomy is not None
        return TreeForm(np.append(taxonomy.height / max(taxonomy.tree_height, 1), 0.0))
