"""Datafly, whole columns raised greedily (Sweeney 1998, 2002)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.algorithm.incognito import LatticeSearch, LevelLattice, check_trees

if TYPE_CHECKING:
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition


@dataclass(frozen=True, kw_only=True)
class Datafly(Algorithm):
    """Raise the column with most distinct values by one level, until few rows stand out.

    The core of Datafly as in the paper of 2002 (Fig. 5): while more than k rows are in tuples that
    occur fewer than k times, the column with most distinct values among the tuples is raised to its
    next level (ties: the first column); then the rows of tuples that occur fewer than k times, at
    most k, are left out. The measure plays no part. A ``max_suppression`` allows fewer than k.

    Two deviations. Rows left out are not published at all, where the paper publishes them with
    every cell suppressed and therefore leaves out further rows until there are k of them. Groups
    that break a privacy model, which the paper does not know, count like tuples that occur too
    rarely. A missing value is a leaf of its own that only the highest level joins with others.

    Guarantee: every group has at least k people and keeps the privacy models; all cells of a column
    are at one level; at most k rows are left out.
    Cost: O(n · columns · levels of all columns).
    Determinism: no chance involved; the order of the rows does not matter.
    """

    name = "datafly"
    title = "the column of most values raised, again and again"
    citation = "Sweeney 2002"
    whole_rows = math.inf
    works_in_blocks = False
    counts_people = True
    may_suppress = True

    def compiles(self, run: Run) -> tuple[str, ...]:
        """Return the task of the search whose frequency sets it uses."""
        del run
        return ("incognito",)

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        check_trees(table.attributes, self.name)
        lattice = LevelLattice(table)
        allowed = min(run.k, table.n_rows - 1)
        if run.max_suppressed is not None:
            allowed = min(allowed, run.max_suppressed)
        search = LatticeSearch(lattice, table, run, allowed)
        node = (0,) * len(lattice.heights)
        while not search.keeps(node):
            run.progress(sum(node), sum(lattice.heights), "searching")
            raised = _most_values(lattice, node)
            node = (*node[:raised], node[raised] + 1, *node[raised + 1 :])
        return search.publish(node)


def _most_values(lattice: LevelLattice, node: tuple[int, ...]) -> int:
    """Return the column with most distinct values of those that have a level above."""
    tuples = lattice.from_base(tuple(range(len(node))), node)[0].tuples
    number = [
        len(np.unique(tuples[:, j])) if level < lattice.heights[j] else 0
        for j, level in enumerate(node)
    ]
    return int(np.argmax(number))
