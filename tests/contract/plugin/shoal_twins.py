"""Twins of what Shoal has, as another package would write them."""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.measure.base import CostMeasure, CountForm, LinearForm, TreeForm
from shoal.privacy.base import PrivacyModel

if TYPE_CHECKING:
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition


@dataclass(frozen=True)
class Several(PrivacyModel):
    """At least ``l`` different sensitive values in every group: distinct l-diversity."""

    name: ClassVar[str] = "several"
    title: ClassVar[str] = "several sensitive values in every group"
    citation: ClassVar[str] = "an example"
    at_least: ClassVar[bool] = True
    order_free: ClassVar[bool] = True

    l: int
    _: KW_ONLY
    column: str | None = None

    @property
    def promised(self) -> float:
        return self.l

    def describe(self, column: str | None = None) -> str:
        return f"In every group there are at least {self.l} values of {column or self.column!r}."

    def per_group(self, histograms: Any, whole: Any) -> Any:
        del whole
        return np.count_nonzero(histograms, axis=1).astype(np.float64)


@functools.cache
def compiled(l: int) -> Any:
    """The predicate as a function of C."""
    from numba import carray, cfunc, types

    word = types.int64
    pointer = types.CPointer(word)

    @cfunc(word(pointer, word, pointer))
    def rule(histogram, n_values, whole):
        distinct = 0
        for count in carray(histogram, n_values):
            distinct += count > 0
        return distinct >= l

    return rule


@dataclass(frozen=True)
class SeveralCompiled(Several):
    """The same, with a rule for the search."""

    name: ClassVar[str] = "several-compiled"

    def rule_address(self) -> int:
        return compiled(self.l).address


class Penalty(CostMeasure):
    """The normalised certainty penalty, written again."""

    name = "penalty"
    title = "mean loss per cell"
    citation = "an example"

    def form(self, attribute, target, table):
        del target, table
        if attribute.algebra == "set":
            return CountForm(1.0 / max(attribute.size - 1, 1), 1.0)
        if attribute.algebra == "tree":
            tree = attribute.taxonomy
            return TreeForm(np.append(tree.height / max(tree.tree_height, 1), 0.0))
        lower, cells = attribute.positions, attribute.cells
        upper = lower if cells is None else cells.upper_positions  # a cell of a grid has two ends
        width = (upper[-1] - lower[0]) or 1.0
        low, high = ((each - lower[0]) / width for each in (lower, upper))
        return LinearForm(low, 1.0, None if cells is None else high)


@dataclass(frozen=True, kw_only=True)
class Halves(Algorithm):
    """Hands its rows to Mondrian."""

    name = "halves"
    title = "halves of halves"
    citation = "an example"

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        from shoal.algorithm.mondrian import Mondrian

        return Mondrian().partition(table, run)
