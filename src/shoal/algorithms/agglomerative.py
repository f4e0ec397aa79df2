"""Agglomerative clustering (Gionis, Tassa 2009; Nergiz, Clifton 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.base import Algorithm, Run
from shoal.enforce import GroupState
from shoal.kernels.agglomerate import nearest_partners, unify_closest
from shoal.partition import Partition
from shoal.scan import take_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shoal.encode import EncodedTable
    from shoal.scan import Scanner

__all__ = ["Agglomerative", "unify_small_clusters"]

SLICE_GROUPS = 10_000_000


@dataclass(frozen=True, kw_only=True)
class Agglomerative(Algorithm):
    """Start with single records and always unify the two closest clusters below k records.

    dist(A, B) = |A ∪ B| gc(A ∪ B) − |A| gc(A) − |B| gc(B), the rise of the total cost. A cluster
    that reaches k records is finished; a last small one joins the cluster closest to it. This is
    `sequential` with single records as start (k0 = 1), as Goldberger and Tassa remark.

    Guarantee: every cluster has at least k and at most 2k − 2 records (3k − 3 for the one that
    takes the last small cluster).
    Cost: a few scans of all clusters per union (O(n²) comparisons), O(n) memory.
    Determinism: no chance but the run's shuffle; ties go to the lowest row position.
    """

    name = "agglomerative"
    title = "agglomerative clustering, closest pair first"
    citation = "Gionis & Tassa 2009; Nergiz & Clifton 2007; Goldberger & Tassa 2010, 6.2.1"

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        alone = Partition(np.arange(table.n_rows, dtype=np.int32), table.n_rows)
        return unify_small_clusters(run.scanner, alone, run.k, run.progress)


@dataclass(eq=False)
class _Pool:
    """The small clusters: their state, and who they are in the partition."""

    state: GroupState
    ids: NDArray[np.int64]
    size: NDArray[np.int64]
    small: NDArray[np.bool_]
    partner: NDArray[np.int64]
    distance: NDArray[np.int64]
    into: NDArray[np.int64]

    def compact(self) -> None:
        """Drop clusters that are not small any more; the others keep their order."""
        keep = np.flatnonzero(self.small)
        place = np.full(len(self.small), -1)
        place[keep] = np.arange(len(keep))
        state = self.state
        state.groups = take_columns(state.groups, keep)
        state.hists = np.ascontiguousarray(state.hists[:, keep])
        state.costs = state.costs[keep]
        # a partner that is gone becomes the extra last place, which is never small
        self.partner = np.where(place[self.partner[keep]] < 0, len(keep), place[self.partner[keep]])
        self.distance = self.distance[keep]
        self.ids, self.size = self.ids[keep], self.size[keep]
        self.small = np.append(np.ones(len(keep), np.bool_), False)
        self.into = np.arange(len(keep))


def unify_small_clusters(
    scanner: Scanner, partition: Partition, k: int, progress: Callable[[int, int, str], None]
) -> Partition:
    """Steps 11 to 14 of Algorithm 1: unify small clusters, closest first, until none is left."""
    small_ids = np.flatnonzero(partition.sizes < k)
    if not len(small_ids):
        return partition
    whole = GroupState(scanner, partition)
    target = np.arange(partition.n_groups)
    pool = _pool_of(whole, small_ids, partition.sizes)
    total = len(small_ids)
    _find_partners(scanner, pool, partition, progress)
    n_small = total
    while n_small > 1:
        progress(total - n_small, total, "unifying small clusters")
        if n_small * 2 < len(pool.ids):
            pool.compact()
        n = len(pool.ids)
        ids = pool.ids
        n_small = unify_closest(
            scanner.space,
            pool.state.groups,
            pool.state.hists,
            pool.state.costs,
            pool.size,
            pool.small,
            k,
            n,
            pool.state.query,
            pool.state.spare,
            pool.state.out,
            pool.partner,
            pool.distance,
            pool.into,
            n_small,
            max(1, SLICE_GROUPS // n),
        )
        gone = np.flatnonzero(pool.into != np.arange(n))
        target[ids[gone]] = ids[pool.into[gone]]
        pool.into[gone] = gone
    labels = np.append(_roots(target), -1)[partition.labels]
    unified = Partition.from_labels(labels)
    left = np.flatnonzero(unified.sizes < k)
    if len(left) and unified.n_groups > 1:
        state = GroupState(scanner, unified)
        labels = unified.labels.copy()
        labels[labels == left[0]] = state.nearest(int(left[0]))
        unified = Partition.from_labels(labels)
    return unified


def _roots(target: NDArray[np.int64]) -> NDArray[np.int64]:
    while not np.array_equal(target, target[target]):
        target = target[target]
    return target


def _pool_of(whole: GroupState, ids: NDArray[np.int64], sizes: NDArray[np.int64]) -> _Pool:
    whole.groups = take_columns(whole.groups, ids)
    whole.hists = np.ascontiguousarray(whole.hists[:, ids])
    whole.costs = whole.costs[ids]
    n = len(ids)
    return _Pool(
        state=whole,
        ids=ids,
        size=sizes[ids].copy(),
        small=np.append(np.ones(n, np.bool_), False),
        partner=np.full(n, n, np.int64),
        distance=np.zeros(n, np.int64),
        into=np.arange(n),
    )


def _find_partners(
    scanner: Scanner,
    pool: _Pool,
    partition: Partition,
    progress: Callable[[int, int, str], None],
) -> None:
    """Find the nearest partner of every cluster.

    Identical closures without cost are each other's nearest at distance 0, the least there is
    (unless costs look at the sensitive column): they need no scan.
    """
    del partition
    n = len(pool.ids)
    state = pool.state
    todo = np.arange(n)
    if scanner.n_classes == 1:
        twins = _twins(state)
        has_twin = (twins >= 0) & (state.costs == 0)
        pool.partner[has_twin] = twins[has_twin]
        todo = np.flatnonzero(~has_twin)
    step = max(1, SLICE_GROUPS // n)
    for start in range(0, len(todo), step):
        progress(start, len(todo), "finding nearest clusters")
        nearest_partners(
            scanner.space,
            state.groups,
            state.hists,
            state.costs,
            pool.small,
            todo,
            start,
            min(len(todo), start + step),
            n,
            state.query,
            state.spare,
            state.out,
            pool.partner,
            pool.distance,
        )


def _twins(state: GroupState) -> NDArray[np.int64]:
    """Return for each cluster the lowest other one with the same closure, −1 if there is none."""
    parts = [
        np.ascontiguousarray(part.T).view(np.uint8).reshape(part.shape[1], -1)
        for part in state.groups
        if part.shape[0]
    ]
    keys = np.ascontiguousarray(np.concatenate(parts, axis=1))
    packed = keys.view([("", np.void, keys.shape[1])]).ravel()
    _, first, inverse, counts = np.unique(
        packed, return_index=True, return_inverse=True, return_counts=True
    )
    n = len(packed)
    twins = first[inverse]
    is_first = twins == np.arange(n)
    order = np.lexsort((np.arange(n), inverse))
    second = np.full(len(first), -1)
    starts = np.cumsum(counts) - counts
    several = counts > 1
    second[several] = order[starts[several] + 1]
    return np.where(is_first, second[inverse], twins)
