"""Agglomerative clustering (Gionis, Tassa 2009; Nergiz, Clifton 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.kernels.agglomerative import Pairs, Unions, unify_closest
from shoal.kernels.group_blocks import FAR
from shoal.search.blocked import form_blocks, similar_blocks, unite_blocks
from shoal.search.enforce import GroupState
from shoal.search.scan import take_groups
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.kernels.group_blocks import GroupBlocks
    from shoal.kernels.space import ClosedGroups, Columns
    from shoal.search.scan import Run, Scanner
    from shoal.table.encode import EncodedTable


SLICE_COMPARISONS = 50_000_000
BLOCK_CLUSTERS = 512
GONE_SHARE = 16


@dataclass(frozen=True, kw_only=True)
class Agglomerative(Algorithm):
    """Start with single records and always unify the two closest clusters below k records.

    dist(A, B) = |A ∪ B| gc(A ∪ B) − |A| gc(A) − |B| gc(B), the rise of the total cost. A cluster
    that reaches k records is finished; a last small one joins the cluster closest to it. This is
    `sequential` with single records as start (k0 = 1), as Goldberger and Tassa remark.

    Guarantee: every cluster has at least k and at most 2k − 2 records (3k − 3 for the one that
    takes the last small cluster).
    Cost: a few searches for the closest cluster per union, O(n²) comparisons at worst; blocks of
    clusters that provably cannot win are skipped, with the same result, unless the measure looks
    at the sensitive values. O(n) memory.
    Determinism: no chance but the run's shuffle; of pairs equally close, the one whose younger
    cluster is oldest, then whose older cluster is (single records by position, unions after them;
    equal records before others that would cost nothing either).
    """

    name = "agglomerative"
    title = "agglomerative clustering, closest pair first"
    citation = "Gionis & Tassa 2009; Nergiz & Clifton 2007; Goldberger & Tassa 2010, 6.2.1"

    def compiles(self, run: Run) -> tuple[str, ...]:
        """Return the tasks of `shoal.algorithm.warm_up` that compile what it calls."""
        del run
        return (self.name, "enforce")  # a last small cluster joins another as in there

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        alone = Partition(np.arange(table.n_rows, dtype=np.int32), table.n_rows)
        return unify_small_clusters(table, alone, run)


@dataclass(eq=False)
class _Pool:
    """The small clusters: closures, members, and the pair that each knows.

    ``numbers`` of the blocks are ages. Where costs have bounds, clusters stand in blocks of
    similar ones, otherwise in the order of their numbers.
    """

    groups: ClosedGroups
    roots: NDArray[np.int64]
    pairs: Pairs
    blocks: GroupBlocks

    @classmethod
    def of(cls, table: EncodedTable, scanner: Scanner, partition: Partition, k: int) -> _Pool:
        """Return the pool of all clusters below k rows."""
        small = np.flatnonzero(partition.sizes < k)
        groups = take_groups(GroupState(scanner, partition).closed, small)
        numbers, starts = np.arange(len(small)), np.array([0, len(small)])
        twins = np.full(len(small), -1)
        if scanner.n_classes == 1:
            # no distance is below 0, that of equal closures without cost
            twins = np.where(groups.costs == 0, _twins(groups.columns), -1)
            heads = partition.heads[small]
            numbers, starts = similar_blocks(table.take(heads), BLOCK_CLUSTERS)
        place = np.empty(len(small), np.int64)
        place[numbers] = np.arange(len(small))
        twin = twins[numbers]
        known = twin >= 0
        return cls(
            take_groups(groups, numbers),
            small[numbers],
            _with_heap(
                np.where(known, place[twin], -1),
                twin,
                np.where(known, 0, -FAR),
                np.maximum(twin, numbers),
                np.minimum(twin, numbers),
            ),
            form_blocks(scanner, numbers, starts),
        )

    def drop_used(self, scanner: Scanner) -> None:
        """Close the gaps that unified and finished clusters left."""
        sizes = self.groups.sizes
        kept = np.flatnonzero(sizes)
        place = np.cumsum(sizes > 0) - 1
        ends = np.concatenate(([0], place + 1))[self.blocks.starts]
        partner, *others, _ = (a[kept] for a in self.pairs)
        gone = (partner < 0) | (sizes[partner] == 0)
        self.pairs = _with_heap(np.where(gone, -1, place[partner]), *others)
        self.groups = take_groups(self.groups, kept)
        self.roots = self.roots[kept]
        united = unite_blocks(ends, BLOCK_CLUSTERS)
        self.blocks = form_blocks(scanner, self.blocks.numbers[kept], united)


def _with_heap(
    partner: NDArray[np.int64],
    twin: NDArray[np.int64],
    distance: NDArray[np.int64],
    younger: NDArray[np.int64],
    older: NDArray[np.int64],
) -> Pairs:
    """Return pairs with all their clusters in the heap (a sorted list is one)."""
    heap = np.lexsort((older, younger, distance))
    return Pairs(partner, twin, distance, younger, older, heap)


def unify_small_clusters(table: EncodedTable, partition: Partition, run: Run) -> Partition:
    """Steps 11 to 14 of Algorithm 1: unify small clusters, closest first, until none is left."""
    scanner, k = run.scanner, run.k
    if partition.n_groups < 2 or partition.sizes.min() >= k:
        return partition
    pool = _Pool.of(table, scanner, partition, k)
    target = np.arange(partition.n_groups)
    total = len(pool.roots)
    counts = np.array([total, total, total, 0, 0])
    scratch = scanner.scratch(total)
    while counts[1] > 1:
        n = len(pool.roots)
        done = total - int(counts[1]) + min(total, int(counts[3]))
        run.progress(done, 2 * total, "unifying closest clusters")
        counts[4] = 0
        unify_closest(
            scanner.space,
            pool.groups,
            Unions(pool.roots, target),
            pool.pairs,
            pool.blocks,
            k,
            total,
            max(1, SLICE_COMPARISONS // n),
            max(1, n // GONE_SHARE),
            counts,
            scratch,
        )
        if counts[4]:
            pool.drop_used(scanner)
            counts[0] = len(pool.roots)
    while not np.array_equal(target, target[target]):
        target = target[target]
    unified = Partition.from_labels(np.append(target, -1)[partition.labels])
    left = np.flatnonzero(unified.sizes < k)
    if len(left) and unified.n_groups > 1:
        state = GroupState(scanner, unified)
        labels = unified.labels.copy()
        labels[labels == left[0]] = state.nearest(int(left[0]))
        unified = Partition.from_labels(labels)
    return unified


def _twins(groups: Columns) -> NDArray[np.int64]:
    """Return for each cluster the first other one with the same closure, −1 if there is none."""
    equal = Partition.of_equal_rows([column for part in groups for column in part])
    first = equal.heads
    twins = first[equal.labels]
    others = np.flatnonzero(twins != np.arange(len(twins)))[::-1]
    twins[first] = -1
    twins[first[equal.labels[others]]] = others  # the first other one is written last
    return twins
