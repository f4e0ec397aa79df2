"""Greedy k-member clustering (Byun, Kamra, Bertino, Li: DASFAA 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.algorithm.base import Algorithm, check_choice, check_number
from shoal.errors import OptionError
from shoal.kernels.k_member import (
    FAR_FROM_FIRST,
    FAR_FROM_LAST,
    NEAREST_TO_ONE,
    Cluster,
    Vote,
    grow_clusters,
    join_leftovers,
    start_from,
)
from shoal.search.blocked import BlockedRows
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


BLOCK_ROWS = 256
SLICE_ROWS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class KMember(Algorithm):
    """Build one cluster after the other: a far-away record, then its k − 1 cheapest joiners.

    Follows Fig. 5 of the paper. Line 6 takes the record furthest from ``r``, which by then is the
    record added last; the text says furthest from the first record of the previous cluster, and
    Lin and Wei (2008) read it so: see ``start``. "Furthest" is the record whose pair with r costs
    most under the chosen measure, which is the paper's distance for its own measure. Fewer than
    k rows are an error before this point.

    Guarantee: every cluster has between k and 2k − 1 records (Theorem 2).
    Cost: O(n²) comparisons at worst, as published; blocks that provably cannot win are skipped,
    with the same result.
    Determinism: given the seed; ties go to the lowest row position after the run's shuffle.

    Args:
        class_penalty: if given, the classification variant (section 3.4): a record whose label is
            not the cluster's majority pays this much on top (in units of information loss). The
            label is the first sensitive column. The paper leaves the value open; 1.0 is usual.
        variant: "byun" as published, or "goldberger-tassa": a centre (the first record left) with
            the k − 1 records nearest to the centre alone, as that paper's section 6.2.1 has it.
    """

    name = "k-member"
    title = "greedy k-member clustering"
    citation = "Byun, Kamra, Bertino, Li 2007"

    class_penalty: float | None = None
    variant: Literal["byun", "goldberger-tassa"] = "byun"
    start: Literal["last", "seed"] = "last"

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice(self, "start", ("last", "seed"))
        check_number(self, "class_penalty", 0)
        check_choice(self, "variant", ("byun", "goldberger-tassa"))

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        labels, penalty = self._labels(table, run)
        begins = FAR_FROM_FIRST if self.start == "seed" else FAR_FROM_LAST
        if self.variant == "goldberger-tassa":
            begins = NEAREST_TO_ONE
        return greedy_k_member_clustering(table, run, labels, penalty, begins)

    def _labels(self, table: EncodedTable, run: Run) -> tuple[NDArray[np.int32], int]:
        """Return the class label of each row and the penalty in integer cost units."""
        if not self.class_penalty:
            return np.zeros(table.n_rows, np.int32), 0
        if not table.sensitive:
            raise OptionError(
                "class_penalty of 'k-member' needs a class label; name it with sensitive=[...]."
            )
        return table.sensitive[0].codes, max(1, round(self.class_penalty * run.scanner.scale))


def greedy_k_member_clustering(
    table: EncodedTable,
    run: Run,
    labels: NDArray[np.int32],
    penalty: int,
    begins: int,
) -> Partition:
    """Lines 4 to 22 of Fig. 5."""
    n, k, scanner = table.n_rows, run.k, run.scanner
    rows = BlockedRows.cut(table, scanner, BLOCK_ROWS)
    n_clusters = n // k
    groups = scanner.groups(n_clusters)
    members = np.empty((n_clusters, k), np.int64)
    picked = int(run.rng.integers(n))  # line 4: a randomly picked record, the first r
    cluster = Cluster(
        whole=scanner.query(),
        centre=scanner.query(),
        hist=np.zeros(scanner.n_classes, np.int64),
        last=scanner.query(),
        last_class=np.array([scanner.classes[picked]], np.int64),
    )
    start_from(scanner.space, scanner.rows, picked, cluster.last)
    vote = Vote(
        labels,
        counts=np.zeros(int(labels.max(initial=0)) + 1, np.int64),
        seen=np.zeros(k + 1, np.int64),
    )
    scratch = rows.scratch()
    per_slice = max(1, SLICE_ROWS // max(n, 1))
    for first in range(0, n_clusters, per_slice):
        run.progress(first * k, n, "clustering")
        grow_clusters(
            scanner.space,
            rows.blocks,
            scanner.classes,
            cluster,
            vote,
            penalty,
            begins,
            first,
            min(per_slice, n_clusters - first),
            groups,
            members,
            scratch,
        )
    label = np.full(n, -1, np.int32)
    label[members] = np.arange(n_clusters, dtype=np.int32)[:, None]
    label = _distribute_leftovers(run, label, groups, n_clusters)
    return Partition(label, n_clusters)


def _distribute_leftovers(
    run: Run, label: NDArray[np.int32], groups: object, n_clusters: int
) -> NDArray[np.int32]:
    """Lines 16 to 21: each record left, in random order, joins its best cluster."""
    scanner = run.scanner
    left = np.flatnonzero(label < 0)
    if not len(left):
        return label
    left = run.rng.permutation(left)
    hists = np.zeros((scanner.n_classes, n_clusters), np.int64)
    placed = np.flatnonzero(label >= 0)
    np.add.at(hists, (scanner.classes[placed], label[placed]), 1)
    joined = np.empty(len(left), np.int64)
    scratch = scanner.scratch(n_clusters)
    join_leftovers(scanner.records, left, groups, hists, scratch, joined)
    label[left] = joined
    return label
