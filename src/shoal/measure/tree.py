"""The tree measure: how many levels of its hierarchy a cell climbed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import CostMeasure
from shoal.measure.forms import TreeForm
from shoal.measure.ncp import range_share, share_of_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.hierarchy import Taxonomy
    from shoal.measure.forms import Floats, Form
    from shoal.table.encode import Attribute, EncodedTable, Sensitive

__all__ = ["Tree", "climbing_form"]


def climbing_form(attribute: Attribute, climbed: Callable[[Taxonomy], Floats]) -> Form:
    """Return a form that charges for levels climbed.

    ``climbed`` gives the cost of each node. Numbers without a hierarchy pay the share of their
    range and sets the share of their values, as the works that combine the two do.
    """
    if attribute.algebra == "interval":
        return range_share(attribute)
    if attribute.algebra == "set":
        return share_of_values(attribute)
    assert attribute.taxonomy is not None
    return TreeForm(np.append(climbed(attribute.taxonomy), 0.0))


class Tree(CostMeasure):
    """T = i ÷ h for a value replaced by its subset in the i-th finest of h + 1 clusterings.

    The level of a node is counted from the bottom: the height of the subtree below it, so that
    every value of one published node pays the same.
    """

    name = "tree"
    title = "levels climbed in the hierarchy, as a share of its height"
    citation = "Aggarwal et al. 2005; Goldberger & Tassa 2010, section 3"
    bounds = (0.0, 1.0)

    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return the cost table of one attribute."""
        del target, table
        return climbing_form(attribute, lambda tree: tree.height / max(tree.tree_height, 1))
