"""OKA, the One-pass K-means Algorithm (Lin, Wei: PAIS 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithm.base import Algorithm, Run
from shoal.algorithm.blocked import similar_groups
from shoal.algorithm.checks import check_whole
from shoal.kernels.oka import (
    CentroidBlocks,
    Centroids,
    OkaRecords,
    OkaScratch,
    assign_rows,
    centroid_distances,
    start_clusters,
)
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Scanner
    from shoal.table.encode import EncodedTable

__all__ = ["OKA"]

SLICE_COMPARISONS = 100_000_000
BLOCK_CLUSTERS = 512


@dataclass(frozen=True, kw_only=True)
class OKA(Algorithm):
    """Build ⌊n/k⌋ clusters at once around random seeds, then move records until all have k.

    Follows Fig. 1 (clustering stage) and Fig. 2 (adjustment stage). The distance of a record and a
    cluster is |cluster| · D({record, centroid}); D is the cost per record of the chosen measure
    (summed over the cluster's records where it depends on their sensitive values). The centroid is
    the mean of a numeric attribute and the lowest common ancestor of a categorical one. Choices of
    ours:

    * Measures that charge an interval by how many records it covers (``mi`` and its relatives) know
      no distance to a mean; there, and for sets, the centroid is what the cluster generalises to.
    * A missing value lies at full distance from any other. A cluster that mixes both has no mean,
      and every record is at full distance from it.
    * "Farthest from the centroid" is measured before the first record leaves, as Fig. 2 sorts only
      once; the centroid is computed anew from the records that stay. Ties go to the lowest row.
      (Within its cluster a record can only differ from the centroid in numeric attributes.)
    * Further iterations (the paper's outlook) repeat the clustering stage with the record closest
      to each centroid as seed: a common ancestor as seed could never become more specific again.

    Guarantee: every cluster has at least k records.
    Cost: O(n²/k) comparisons per iteration at worst, as published; blocks of clusters that provably
    cannot win are skipped, with the same result, unless the measure looks at the sensitive values.
    A record equal to the one before it looks only at what has changed.
    Determinism: given the seed; ties go to the lowest cluster.

    Args:
        iterations: how often the clustering stage runs before the adjustment; 1 as published.
    """

    name = "oka"
    title = "one-pass k-means clustering"
    citation = "Lin, Wei 2008"

    iterations: int = 1

    def __post_init__(self) -> None:
        """Check the options."""
        check_whole(self, "iterations")

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        n = table.n_rows
        order = sort_records(table)
        seeds = run.rng.permutation(n)[: n // run.k]
        clusters = clustering_stage(run, order, seeds)
        for _ in range(1, self.iterations):
            clusters = clustering_stage(run, order, closest_records(clusters))
        return Partition(adjustment_stage(clusters, run), len(seeds))


class _Clusters:
    """Centroids of some clusters, in blocks of similar ones, and the cluster of every record."""

    def __init__(
        self, scanner: Scanner, label: NDArray[np.int32], sizes: NDArray[np.int64], chosen: Any
    ) -> None:
        self.scanner, self.label = scanner, label
        # closures without their linear columns, which have means instead
        none = scanner.rows.low[:0]
        self.records = OkaRecords(
            scanner.space,
            scanner.rows,
            scanner.rows._replace(low=none, high=none),
            scanner.classes,
        )
        self.joined = scanner.query()._replace(low=none[:, 0], high=none[:, 0])
        self._members = Partition(label, len(sizes))
        self.numbers = chosen
        self.centroids = self._start()
        # only costs without sensitive values have bounds; all others compare with every cluster
        most = BLOCK_CLUSTERS if scanner.n_classes == 1 else len(chosen)
        order, starts = similar_groups(self.centroids.columns, self.centroids.sizes, most)
        self.numbers = chosen[order]
        self.centroids = self._start()
        n_blocks = len(starts) - 1
        self.blocks = CentroidBlocks(
            starts,
            np.repeat(np.arange(n_blocks), np.diff(starts)),
            scanner.groups(n_blocks),
            np.zeros(n_blocks, np.int64),
            np.minimum.reduceat(self.numbers, starts[:-1]),
            *(np.zeros(n_blocks, np.int64) for _ in range(3)),
        )

    def _start(self) -> Centroids:
        """Compute the centroids of the chosen clusters."""
        scanner, n = self.scanner, len(self.numbers)
        n_linear, columns = len(scanner.rows.low), scanner.groups(n)
        any_missing = bool((scanner.rows.low > scanner.space.full[:, None]).any())
        result = Centroids(
            columns,
            columns._replace(low=columns.low[:0], high=columns.high[:0]),
            np.zeros((scanner.n_classes, n), np.int64),
            np.zeros((n_linear, n), np.int64),
            np.zeros((n_linear, n if any_missing else 0), np.int64),
            np.zeros(n, np.int64),
            self.numbers,
            np.zeros(n, np.bool_),
        )
        members = self._members
        start_clusters(self.records, members.order, members.starts, result, self.joined)
        return result

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Records of each cluster, by number."""
        return self.centroids.sizes[np.argsort(self.numbers)]

    def assign(self, todo: NDArray[Any], limit: int, keep: int, report: Any) -> int:
        """Add records to their closest clusters, one after the other; return how many."""
        scanner = self.scanner
        longest = int(np.diff(self.blocks.starts).max())
        scratch = OkaScratch(
            scanner.query(),
            self.joined,
            np.empty(longest, scanner.dtype),
            np.empty(longest, np.int64),
        )
        per_slice = max(1, SLICE_COMPARISONS // len(self.numbers))
        done = 0
        while done < len(todo):
            report(done)
            part = todo[done : done + per_slice]
            n_assigned = assign_rows(
                self.records, part, limit, keep, self.centroids, self.blocks, scratch, self.label
            )
            done += n_assigned
            if n_assigned < len(part):
                break
        return done

    def distances(self) -> NDArray[np.int64]:
        """Return how far each record lies from the centroid of its own cluster."""
        out = np.zeros(self.scanner.n_rows, np.int64)
        position = np.argsort(self.numbers)[self.label]
        centroid_distances(self.records, position, self.centroids, out)
        return out


def sort_records(table: EncodedTable) -> NDArray[np.int64]:
    """Sort all records by their quasi-identifiers (line 1), the first column first."""
    return np.lexsort([a.codes for a in reversed(table.attributes)])


def clustering_stage(run: Run, order: NDArray[np.int64], seeds: NDArray[np.int64]) -> _Clusters:
    """Fig. 1: each record, in sorted order, joins its closest cluster."""
    numbers = np.arange(len(seeds))
    label = np.full(len(order), -1, np.int32)
    label[seeds] = numbers
    todo = order[label[order] < 0]
    clusters = _Clusters(run.scanner, label, np.ones(len(seeds), np.int64), numbers)
    clusters.assign(todo, 0, 0, lambda done: run.progress(done, len(todo), "clustering"))
    return clusters


def closest_records(clusters: _Clusters) -> NDArray[np.int64]:
    """Return the record of each cluster that is closest to its centroid; ties: lowest row."""
    ranked = np.lexsort((clusters.distances(), clusters.label))
    return ranked[np.concatenate(([0], np.cumsum(clusters.sizes)[:-1]))]


def adjustment_stage(clusters: _Clusters, run: Run) -> NDArray[np.int32]:
    """Fig. 2: records far from large clusters' centroids go where fewer than k records are.

    Once all clusters have k records, the rest may go anywhere.
    """
    removed = remove_farthest(clusters, run.k)
    label, n_clusters = clusters.label.copy(), len(clusters.numbers)
    label[removed] = -1
    todo = run.rng.permutation(removed)
    done = 0

    def report(more: int) -> None:
        run.progress(done + more, len(todo), "adjusting clusters")

    while done < len(todo):
        sizes = np.bincount(label[label >= 0], minlength=n_clusters)
        small = np.flatnonzero(sizes < run.k)
        chosen = small if len(small) else np.arange(n_clusters)
        clusters = _Clusters(run.scanner, label, sizes, chosen)
        # clusters that are full are in the way: leave them out when they are half of all
        keep, limit = (len(small) // 2, run.k) if len(small) else (0, 0)
        done += clusters.assign(todo[done:], limit, keep, report)
    return label


def remove_farthest(clusters: _Clusters, k: int) -> NDArray[np.int64]:
    """Lines 1 to 8: return what exceeds k in each cluster, the farthest records of each first."""
    ranked = np.lexsort((-clusters.distances(), clusters.label))
    before = np.cumsum(clusters.sizes) - clusters.sizes
    place = np.arange(len(ranked)) - np.repeat(before, clusters.sizes)
    return ranked[place < np.repeat(clusters.sizes - k, clusters.sizes)]
