"""The modification rate: the share of cells that the release changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal.measure.base import CostMeasure, CountForm, IndicatorForm, LinearForm, Measure, TreeForm
from shoal.table.closure import wide_cells

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.hierarchy import Taxonomy
    from shoal.measure.base import Floats, Form, Grouped
    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.sensitive import Sensitive


# NCP, the normalised certainty penalty: Byun's information loss per cell, between 0 and 1.


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


# Total-IL, the information loss of Byun et al., summed over all cells.


class TotalIL(NCP):
    """Total-IL = Σ_e |e| · (Σ_i (max_i − min_i) ÷ |N_i| + Σ_j H(Λ(∪C_j)) ÷ H(T_j))."""

    name = "il"
    title = "total information loss (Total-IL)"
    citation = "Byun et al. 2007, Definitions 5 and 6"
    bounds = (0.0, None)
    per_cell = False


# LM, the loss metric: how many values of the domain a cell stands for.


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


# The tree measure: how many levels of its hierarchy a cell climbed.


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


# The suppression measure: the share of cells that are not published exactly.


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
