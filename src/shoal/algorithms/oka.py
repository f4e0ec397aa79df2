"""OKA, the One-pass K-means Algorithm (Lin, Wei: PAIS 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithms.base import Algorithm, Run
from shoal.errors import OptionError
from shoal.kernels.centroid import assign_rows, centroid_distances, start_clusters
from shoal.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.encode import EncodedTable
    from shoal.scan import Scanner

__all__ = ["OKA"]

SLICE_COMPARISONS = 20_000_000


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
    Cost: O(n²/k) comparisons per iteration.
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
        times = self.iterations
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise OptionError(
                f"iterations of 'oka' must be a whole number of at least 1, got {times!r}."
            )

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        n = table.n_rows
        order = sort_records(table)
        seeds = run.rng.permutation(n)[: n // run.k]
        clusters = _Clusters(run.scanner, len(seeds))
        for turn in range(self.iterations):
            if turn:
                seeds = closest_records(clusters)
            clustering_stage(clusters, run, order, seeds)
        adjustment_stage(clusters, run)
        return Partition(clusters.label, len(seeds))


class _Clusters:
    """Centroids: sums of the linear columns, closures of all others; and who belongs where."""

    def __init__(self, scanner: Scanner, n_clusters: int) -> None:
        # closures without their linear columns, which have means instead
        none, groups, query = scanner.rows.low[:0], scanner.groups(n_clusters), scanner.query()
        self.scanner = scanner
        self.rows = scanner.rows._replace(low=none, high=none)
        self.closures = groups._replace(low=groups.low[:0], high=groups.high[:0])
        self.query = query._replace(low=query.low[:0], high=query.high[:0])
        n_linear = len(scanner.rows.low)
        any_missing = bool((scanner.rows.low > scanner.space.full[:, None]).any())
        self.hists = np.zeros((scanner.n_classes, n_clusters), np.int64)
        self.sums = np.zeros((n_linear, n_clusters), np.int64)
        self.gaps = np.zeros((n_linear, n_clusters if any_missing else 0), np.int64)
        self.sizes = np.zeros(n_clusters, np.int64)
        self.label = np.full(scanner.n_rows, -1, np.int32)

    def start(self, label: NDArray[np.int32]) -> None:
        """Compute the centroids of these clusters; −1 stands for no cluster yet."""
        self.label = label
        members = Partition(label, len(self.sizes))
        start_clusters(
            self.scanner.space,
            self.rows,
            self.scanner.rows.low,
            self.scanner.classes,
            members.order,
            members.starts,
            self.closures,
            self.hists,
            self.sums,
            self.gaps,
            self.sizes,
            self.query,
        )

    def assign(self, rows: NDArray[Any], smallest: int, run: Run, what: str) -> None:
        """Add records to their closest clusters, one after the other."""
        n_clusters = len(self.sizes)
        spare = np.empty(n_clusters, self.scanner.dtype)
        out = np.empty(n_clusters, np.int64)
        per_slice = max(1, SLICE_COMPARISONS // n_clusters)
        for first in range(0, len(rows), per_slice):
            run.progress(first, len(rows), what)
            assign_rows(
                self.scanner.space,
                self.rows,
                self.scanner.rows.low,
                self.scanner.classes,
                rows[first : first + per_slice],
                smallest,
                self.closures,
                self.hists,
                self.sums,
                self.gaps,
                self.sizes,
                self.query,
                spare,
                out,
                self.label,
            )

    def distances(self) -> NDArray[np.int64]:
        """Return how far each record lies from the centroid of its own cluster."""
        out = np.zeros(self.scanner.n_rows, np.int64)
        centroid_distances(
            self.scanner.space,
            self.scanner.rows.low,
            self.label,
            self.sums,
            self.gaps,
            self.sizes,
            out,
        )
        return out


def sort_records(table: EncodedTable) -> NDArray[np.int64]:
    """Sort all records by their quasi-identifiers (line 1), the first column first."""
    return np.lexsort([a.codes for a in reversed(table.attributes)])


def clustering_stage(
    clusters: _Clusters, run: Run, order: NDArray[np.int64], seeds: NDArray[np.int64]
) -> None:
    """Fig. 1: each record, in sorted order, joins its closest cluster."""
    label = np.full(len(order), -1, np.int32)
    label[seeds] = np.arange(len(seeds), dtype=np.int32)
    clusters.start(label)
    clusters.assign(order[label[order] < 0], 0, run, "clustering")


def closest_records(clusters: _Clusters) -> NDArray[np.int64]:
    """Return the record of each cluster that is closest to its centroid; ties: lowest row."""
    ranked = np.lexsort((clusters.distances(), clusters.label))
    return ranked[np.concatenate(([0], np.cumsum(clusters.sizes)[:-1]))]


def adjustment_stage(clusters: _Clusters, run: Run) -> None:
    """Fig. 2: records far from large clusters' centroids go where fewer than k records are."""
    removed = remove_farthest(clusters, run.k)
    label = clusters.label.copy()
    label[removed] = -1
    clusters.start(label)
    clusters.assign(run.rng.permutation(removed), run.k, run, "adjusting clusters")


def remove_farthest(clusters: _Clusters, k: int) -> NDArray[np.int64]:
    """Lines 1 to 8: return what exceeds k in each cluster, the farthest records of each first."""
    ranked = np.lexsort((-clusters.distances(), clusters.label))
    before = np.cumsum(clusters.sizes) - clusters.sizes
    place = np.arange(len(ranked)) - np.repeat(before, clusters.sizes)
    return ranked[place < np.repeat(clusters.sizes - k, clusters.sizes)]
