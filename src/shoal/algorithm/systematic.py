"""Systematic clustering (Kabir, Wang, Bertino 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.algorithm.oka import sort_records
from shoal.kernels.k_member import join_leftovers
from shoal.search.enforce import GroupState
from shoal.search.scan import take_columns
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


@dataclass(frozen=True, kw_only=True)
class Systematic(Algorithm):
    """Seeds at equal steps in the sorted table; every record joins the cheapest cluster below k.

    The records are sorted by their quasi-identifiers. One of the first k, by chance, and every
    k-th one after it are the seeds of ⌊n/k⌋ clusters. In sorted order, each other record joins the
    cluster whose total cost rises least among those that have fewer than k records; when all have
    k, the rest, too, joins the cluster whose cost rises least. "Costs" are those of the chosen
    measure; the paper's is the information loss of k-member.

    The text of the paper was not at hand: this is what its abstract and later papers say of it.
    That records take their turns in the sorted order, and not clusters, is a reading of ours.

    Guarantee: every cluster has at least k records, all but those that take the last n mod k
    exactly k.
    Cost: O(n²/k) comparisons.
    Determinism: given the seed; ties go to the cluster whose seed comes first.
    """

    name = "systematic"
    title = "seeds at equal steps, clusters filled up to k"
    citation = "Kabir, Wang, Bertino 2011"

    def compiles(self, run: Run) -> tuple[str, ...]:
        """Return the tasks that compile how records join and what clusters cost."""
        del run
        return ("k-member", "enforce")

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        order, k, scanner = sort_records(table), run.k, run.scanner
        first, n_clusters = int(run.rng.integers(k)), table.n_rows // k
        label = np.full(table.n_rows, -1, np.int32)
        label[order[first::k][:n_clusters]] = np.arange(n_clusters)
        rest = order[label[order] < 0]
        n_filling = n_clusters * (k - 1)
        _fill(rest[:n_filling], Partition(label.copy(), n_clusters), label, run)
        state = GroupState(scanner, Partition(label.copy(), n_clusters))
        joined = np.empty(len(rest) - n_filling, np.int64)
        left = rest[n_filling:]
        join_leftovers(scanner.records, left, state.groups, state.hists, state.scratch, joined)
        label[left] = joined
        return Partition(label, n_clusters)


def _fill(rows: NDArray[np.int64], seeds: Partition, label: NDArray[np.int32], run: Run) -> None:
    """Have each row join the cheapest cluster that is not full, until all are."""
    scanner, number = run.scanner, np.arange(seeds.n_groups)
    state = GroupState(scanner, seeds)
    groups, hists, scratch = state.groups, state.hists, state.scratch
    free, joined = np.full(seeds.n_groups, run.k - 1), np.empty(1, np.int64)
    for done, row in enumerate(rows):
        if done % 1000 == 0:
            run.progress(done, len(rows), "clustering")
        join_leftovers(scanner.records, rows[done : done + 1], groups, hists, scratch, joined)
        at = int(joined[0])
        label[row] = number[at]
        free[at] -= 1
        if free[at] == 0:
            left = np.flatnonzero(free)
            groups, hists = take_columns(groups, left), np.ascontiguousarray(hists[:, left])
            number, free, scratch = number[left], free[left], scanner.scratch(len(left))
