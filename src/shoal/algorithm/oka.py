"""OKA, the One-pass K-means Algorithm (Lin, Wei: PAIS 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from shoal.algorithm.base import Algorithm, check_choice, check_whole
from shoal.kernels.loukides_shao import join_cheapest
from shoal.kernels.oka import (
    CentroidBlocks,
    Centroids,
    OkaRecords,
    OkaScratch,
    assign_rows,
    centroid_distances,
    start_clusters,
)
from shoal.kernels.space import COST
from shoal.search.blocked import similar_groups
from shoal.search.enforce import GroupState
from shoal.search.suppress import everything_cost
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Run, Scanner
    from shoal.table.encode import EncodedTable


SLICE_COMPARISONS = 100_000_000
BLOCK_CLUSTERS = 512
Order = Literal["sorted", "random"]
Small = Literal["fill", "cheaper"]


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
    * ``small="cheaper"`` is the paper's outlook that it may be better to suppress small clusters
      than to fill them, depending on what loses more. After the adjustment each cluster that was
      filled is compared with what would be lost without it: its own records suppressed, the others
      where they cost least among the clusters that were large. Clusters that are better suppressed
      are, those that gain most first, as many as ``max_suppression`` allows where that is given;
      the outcome is kept if it loses less in all.
    * Further iterations (the paper's outlook) repeat the clustering stage with the record closest
      to each centroid as seed: a common ancestor as seed could never become more specific again.

    Guarantee: every cluster has at least k records.
    Cost: O(n²/k) comparisons per iteration at worst, as published; blocks of clusters that provably
    cannot win are skipped, with the same result, unless the measure looks at the sensitive values.
    A record equal to the one before it looks only at what has changed.
    Determinism: given the seed; ties go to the lowest cluster.

    Args:
        iterations: how often the clustering stage runs before the adjustment; 1 as published.
        order: in which order records join clusters: "sorted" by their quasi-identifiers as
            published, or "random".
        small: what becomes of clusters below k: "fill" as published, or "cheaper" to suppress the
            records of those whose filling loses more.
    """

    name = "oka"
    title = "one-pass k-means clustering"
    citation = "Lin, Wei 2008"

    iterations: int = 1
    order: Order = "sorted"
    small: Small = "fill"

    def __post_init__(self) -> None:
        """Check the options."""
        check_whole(self, "iterations")
        check_choice(self, "order", get_args(Order))
        check_choice(self, "small", get_args(Small))

    @property
    def suppresses(self) -> bool:
        """Whether it leaves out rows: where small clusters may be suppressed."""
        return self.small == "cheaper"

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        n = table.n_rows
        # the rows of a table are in a random order already
        order = sort_records(table) if self.order == "sorted" else np.arange(n)
        seeds = run.rng.permutation(n)[: n // run.k]
        clusters = clustering_stage(run, order, seeds)
        for _ in range(1, self.iterations):
            clusters = clustering_stage(run, order, closest_records(clusters))
        found = Partition(adjustment_stage(clusters, run), len(seeds))
        if self.small == "cheaper":
            return suppress_or_fill(found, clusters, run)
        return found


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
            np.empty(longest, COST),
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


def suppress_or_fill(filled: Partition, clusters: _Clusters, run: Run) -> Partition:
    """Suppress the records of small clusters where that loses less than having filled them.

    Args:
        filled: the groups after the adjustment.
        clusters: the clusters before it.
        run: the run.
    """
    scanner, before = run.scanner, clusters.label
    was_small = clusters.sizes < run.k
    if not was_small.any() or was_small.all():
        return filled
    state = GroupState(scanner, filled)
    whole = everything_cost(scanner)
    own = was_small[before] & (filled.labels == before)
    added = np.flatnonzero(was_small[filled.labels] & ~own)
    places = Partition.from_labels(np.where(was_small[filled.labels], SUPPRESSED, filled.labels))
    rise = _join(scanner, GroupState(scanner, places), added, None)
    without = np.bincount(before[own], whole[scanner.classes[own]], len(was_small))
    without += np.bincount(filled.labels[added], rise, len(was_small))
    gain = np.where(was_small, state.costs - without, 0.0)
    left = np.bincount(before[own], minlength=len(was_small))
    best_first = np.argsort(-gain, kind="stable")
    best_first = best_first[gain[best_first] > 0]
    if run.max_suppressed is not None:
        best_first = best_first[np.cumsum(left[best_first]) <= run.max_suppressed]
    if not len(best_first):
        return filled
    labels = filled.labels.copy()
    gone = np.isin(labels, best_first)
    labels[gone] = SUPPRESSED
    kept = Partition.from_labels(labels)
    labels = kept.labels.copy()
    moved = np.flatnonzero(gone & ~own)
    _join(scanner, GroupState(scanner, kept), moved, labels)
    thinner = Partition(labels, kept.n_groups)
    lost = int(GroupState(scanner, thinner).costs.sum())
    lost += int(whole[scanner.classes[thinner.labels < 0]].sum())
    return thinner if lost < int(state.costs.sum()) else filled


def _join(
    scanner: Scanner,
    state: GroupState,
    rows: NDArray[np.int64],
    labels: NDArray[np.int32] | None,
) -> NDArray[np.int64]:
    """Return what the cheapest group pays more for each row; with labels, let the rows join."""
    rise = np.empty(len(rows), np.int64)
    joined = np.empty(0, np.int32) if labels is None else labels
    scratch = scanner.scratch(state.n_groups)
    join_cheapest(scanner.records, rows, labels is not None, state.closed, scratch, joined, rise)
    return rise


def remove_farthest(clusters: _Clusters, k: int) -> NDArray[np.int64]:
    """Lines 1 to 8: return what exceeds k in each cluster, the farthest records of each first."""
    ranked = np.lexsort((-clusters.distances(), clusters.label))
    before = np.cumsum(clusters.sizes) - clusters.sizes
    place = np.arange(len(ranked)) - np.repeat(before, clusters.sizes)
    return ranked[place < np.repeat(clusters.sizes - k, clusters.sizes)]
