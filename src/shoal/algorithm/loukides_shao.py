"""Clusters with a limit on their diversity (Loukides, Shao: SAC 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithm.base import Algorithm, check_number
from shoal.errors import PromiseError
from shoal.kernels.loukides_shao import (
    DELETED,
    FREE,
    Growing,
    Limits,
    grow_to_threshold,
    join_cheapest,
)
from shoal.search.blocked import BlockedRows
from shoal.search.scan import take_groups
from shoal.search.suppress import everything_cost
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


BLOCK_ROWS = 256
SLICE_SEEDS = 500
USUAL_THRESHOLDS = (0.3, 0.5, 0.7, 1.0)


@dataclass(frozen=True, kw_only=True)
class LoukidesShao(Algorithm):
    """Grow clusters around random seeds until they lose too much; delete those below k.

    Follows the description of Lin and Wei, section 2.2, and not the paper itself, whose full text
    could not be had (summaries of it and of its authors' later papers were all that was found). A
    random seed, then always the record that
    costs the cluster least, until its diversity exceeds a threshold; a cluster that has fewer than
    k records by then is deleted, that is, its rows are suppressed. Choices of ours:

    * Diversity is what the cluster's closure loses beyond its seed alone, as a share of what full
      generalisation would lose: for ``ncp`` and ``lm`` the loss per cell, for any measure a number
      from 0 to 1. The record that would exceed the threshold is not added, so no cluster exceeds
      it.
    * Where the run limits suppression, the deleted rows that are dearest to place stay deleted; the
      others, in row order, join the cluster whose cost rises least (which may then exceed the
      threshold).

    Guarantee: every cluster has at least k records; nothing limits its size from above.
    Cost: O(n²) comparisons at worst; blocks that provably cannot win are skipped.
    Determinism: given the seed; ties go to the lowest row, then the lowest cluster.

    Args:
        threshold: loss per cell, between 0 and 1, that no cluster may exceed. The higher, the fewer
            rows are deleted and the more the others are generalised. Lin and Wei call a proper
            value difficult to decide; by default it is the first of 0.3, 0.5, 0.7 and 1 with which
            at least half of the rows are kept.

    Raises:
        PromiseError: every cluster would be deleted.
    """

    name = "loukides-shao"
    title = "greedy clusters up to a loss threshold, small ones deleted"
    citation = "Loukides, Shao 2007"
    may_suppress = True

    threshold: float | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        check_number(self, "threshold", 0, 1)

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table; deleted rows are suppressed."""
        tries = USUAL_THRESHOLDS if self.threshold is None else (float(self.threshold),)
        for threshold in tries:
            growth = _Growth(table, run)
            growth.grow_clusters(threshold)
            if 2 * growth.n_deleted <= table.n_rows:
                break
        if not growth.n_clusters:
            raise PromiseError(
                "No cluster reaches k = {k} rows within threshold {threshold}, so every row "
                "would be deleted; raise the threshold of 'loukides-shao' or lower k.",
                k=run.k,
                threshold=threshold,
            )
        growth.keep_within_allowance(run.max_suppressed)
        return Partition(growth.label, growth.n_clusters)


class _Growth:
    """The clusters built so far, and the cluster of every row."""

    def __init__(self, table: EncodedTable, run: Run) -> None:
        scanner, most = run.scanner, table.n_rows // run.k
        self.table, self.run, self.scanner = table, run, scanner
        self.label = np.full(table.n_rows, FREE, np.int32)
        self.groups = scanner.closed(most)
        self.n_clusters = 0

    @property
    def n_deleted(self) -> int:
        """How many rows are in clusters that stayed below k."""
        return int(np.count_nonzero(self.label == DELETED))

    def grow_clusters(self, threshold: float) -> None:
        """Build one cluster after the other around the next random record that is still free."""
        scanner, n = self.scanner, self.table.n_rows
        rows = BlockedRows.cut(self.table, scanner, BLOCK_ROWS)
        blocks = rows.blocks
        block_of = np.empty(n, np.int64)
        block_of[blocks.ids] = np.repeat(np.arange(rows.n_blocks), blocks.alive)
        seeds = self.run.rng.permutation(n)
        limits = Limits(everything_cost(scanner), threshold, self.run.k)
        cluster = Growing(
            scanner.query(),
            np.empty(scanner.n_classes, np.int64),
            np.empty(scanner.n_classes, np.int64),
            np.empty(n, np.int64),
        )
        scratch = rows.scratch()
        for first in range(0, n, SLICE_SEEDS):
            self.run.progress(n - int(blocks.alive.sum()), n, "clustering")
            self.n_clusters = grow_to_threshold(
                scanner.space,
                blocks,
                block_of,
                scanner.classes,
                seeds[first : first + SLICE_SEEDS],
                limits,
                self.n_clusters,
                self.groups,
                self.label,
                cluster,
                scratch,
            )

    def keep_within_allowance(self, allowed: int | None) -> None:
        """Let deleted rows beyond the allowance join the clusters they cost least."""
        deleted = np.flatnonzero(self.label == DELETED)
        if allowed is None or len(deleted) <= allowed:
            return
        self.groups = take_groups(self.groups, np.arange(self.n_clusters))
        dearest = np.lexsort((deleted, -self._join(deleted, join=False)))
        self._join(np.sort(deleted[dearest[allowed:]]), join=True)

    def _join(self, rows: NDArray[Any], *, join: bool) -> NDArray[np.int64]:
        scanner, rise = self.scanner, np.empty(len(rows), np.int64)
        scratch = scanner.scratch(self.n_clusters)
        join_cheapest(scanner.records, rows, join, self.groups, scratch, self.label, rise)
        return rise
