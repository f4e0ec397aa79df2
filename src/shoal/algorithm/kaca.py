"""KACA: k-anonymisation by clustering in attribute hierarchies (Li, Wong, Fu, Pei: DaWaK 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm, check_number
from shoal.kernels.kaca import (
    Chains,
    Chance,
    KacaScratch,
    Outliers,
    SmallClasses,
    Turns,
    generalise_small_classes,
)
from shoal.search.blocked import form_blocks, similar_blocks, unite_blocks
from shoal.search.enforce import GroupState
from shoal.search.scan import take_groups
from shoal.search.suppress import everything_cost
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.kernels.group_blocks import GroupBlocks
    from shoal.kernels.space import ClosedGroups
    from shoal.search.scan import Run, Scanner
    from shoal.table.encode import EncodedTable


SLICE_COMPARISONS = 200_000_000
BLOCK_CLASSES = 512
DEAD_SHARE = 16
MAX_CHANCE = 1_000_000


@dataclass(frozen=True, kw_only=True)
class KACA(Algorithm):
    """Generalise a random small equivalence class with its closest class until none is small.

    Follows Algorithm 1. The distance of two classes (Definition 10) is what their members pay more,
    from their current generalised tuples to the closest common generalisation; the paper charges
    weighted hierarchical distances (measures ``whd`` and ``whd-height``), any other measure works
    alike. Where both classes together have at least 2k rows, only a stub of k − |E1| rows, drawn at
    random, leaves the larger one (Definition 11); the trunk keeps its tuple. For measures that look
    at the sensitive values, a stub is charged its share of what the whole class would pay.

    Two classes whose tuples become equal stay two groups (their published rows are equal anyway).
    The paper's outlier extension is ``outlier_distance``: a small class that is far from every
    other one is suppressed instead of generalised. The paper does not say in what its threshold is
    counted. Here it is what a row of the common class would lose more on average, as a share of
    what full generalisation loses, so that it means the same whatever the sizes of the classes. At
    least k rows are always kept, and no more are suppressed than ``max_suppression`` allows where
    that is given.

    Guarantee: every group has at least k rows.
    Cost: O(E²) comparisons for E distinct tuples at worst, each class closure being one column
    entry; blocks of classes that provably cannot win are skipped, with the same result, unless the
    measure looks at the sensitive values.
    Determinism: given the seed; ties go to the lowest class, classes being numbered by their first
    row.

    Args:
        outlier_distance: between 0 and 1; a class further than this from its closest one is
            suppressed. By default none is, as published.
    """

    name = "kaca"
    title = "clustering of equivalence classes in attribute hierarchies"
    citation = "Li, Wong, Fu, Pei 2006"

    outlier_distance: float | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        check_number(self, "outlier_distance", 0, 1)

    @property
    def suppresses(self) -> bool:
        """Whether it leaves out rows: with a distance from which on they are outliers."""
        return self.outlier_distance is not None

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        classes = form_equivalence_classes(table, run.scanner)
        by_number = np.argsort(classes.numbers)
        small = by_number[classes.sizes[by_number] < run.k]
        n_small = total = len(small)
        chance = np.empty(0)
        outliers = self._outliers(run)
        while n_small:
            run.progress(total - n_small, total, "clustering")
            n_small, chance = generalise_closest(classes, run, small, n_small, chance, outliers)
            outliers = outliers._replace(room=outliers.room - classes.n_suppressed)
            if classes.n_empty * DEAD_SHARE >= len(classes.sizes):
                small = classes.drop_empty(run.scanner, small, n_small)
        classes.drop_empty(run.scanner, small, 0)
        return Partition(classes.labels(), len(classes.sizes))

    def _outliers(self, run: Run) -> Outliers:
        """Return from which distance on classes are suppressed, in the integers of the search."""
        if self.outlier_distance is None:
            return Outliers(np.int64(-1), np.int64(0))
        limit = int(self.outlier_distance * int(everything_cost(run.scanner).max()))
        room = run.scanner.n_rows - run.k
        if run.max_suppressed is not None:
            room = min(room, run.max_suppressed)
        return Outliers(np.int64(limit), np.int64(room))


@dataclass(eq=False)
class _Classes:
    """Equivalence classes: generalised tuple, histogram, size and cost; members as linked rows.

    They stand in blocks of similar tuples; ``numbers`` has their order by first row.
    """

    groups: ClosedGroups
    chains: Chains
    numbers: NDArray[np.int64]
    blocks: GroupBlocks
    n_empty: int = 0
    n_suppressed: int = 0  # rows, in the last turns

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each class; 0 if another one has taken them."""
        return self.groups.sizes

    def drop_empty(
        self, scanner: Scanner, small: NDArray[np.int64], n_small: int
    ) -> NDArray[np.int64]:
        """Close the gaps that merged classes left; return the renumbered small classes."""
        kept = np.flatnonzero(self.sizes)
        renumbered = np.cumsum(self.sizes > 0) - 1
        ends = np.concatenate(([0], renumbered + 1))[self.blocks.starts]
        self.groups = take_groups(self.groups, kept)
        head, tail, following = self.chains
        self.chains = Chains(head[kept], tail[kept], following)
        self.numbers = self.numbers[kept]
        self.blocks = form_blocks(scanner, self.numbers, unite_blocks(ends, BLOCK_CLASSES))
        self.n_empty = 0
        left = np.empty(len(kept), np.int64)
        left[:n_small] = renumbered[small[:n_small]]
        return left

    def labels(self) -> NDArray[np.int32]:
        """Return the class of each row, by number."""
        head, _, following = self.chains
        result = np.full(len(following), SUPPRESSED, np.int32)
        row, left = head.copy(), self.sizes.copy()
        group = np.argsort(np.argsort(self.numbers)).astype(np.int32)
        while len(group):  # one member of every class at a time
            result[row] = group
            more = left > 1
            row, group, left = following[row[more]], group[more], left[more] - 1
        return result


def form_equivalence_classes(table: EncodedTable, scanner: Scanner) -> _Classes:
    """Line 1: rows with equal quasi-identifiers, numbered by their first row."""
    equal = Partition.of_equal_rows([a.codes for a in table.attributes])
    first = equal.heads
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first))
    labels = rank[equal.labels]
    # only costs without sensitive values have bounds; all others compare with every class
    found = Partition(labels, len(first))
    numbers, blocks = np.arange(len(first)), np.array([0, len(first)])
    if scanner.n_classes == 1:
        numbers, blocks = similar_blocks(table.take(np.sort(first)), BLOCK_CLASSES)
        position = np.empty(len(first), np.int32)
        position[numbers] = np.arange(len(first))
        found = Partition(position[labels], len(first))
    rows, starts = found.order, found.starts
    following = np.full(len(rows), -1, np.int64)
    following[rows[:-1]] = rows[1:]
    return _Classes(
        GroupState(scanner, found).closed,
        Chains(found.heads.copy(), rows[starts[1:] - 1], following),
        numbers,
        form_blocks(scanner, numbers, blocks),
    )


def generalise_closest(
    classes: _Classes,
    run: Run,
    small: NDArray[np.int64],
    n_small: int,
    chance: NDArray[np.float64],
    outliers: Outliers,
) -> tuple[int, NDArray[np.float64]]:
    """Lines 2 to 7, until a share of the classes is used up.

    Returns how many classes are still small, and the random numbers that were not needed: a turn
    takes one for the choice of the class and one for each row of a stub, so at most k.
    """
    scanner, k, n = run.scanner, run.k, len(classes.sizes)
    turns = min(max(1, SLICE_COMPARISONS // n), n_small)
    wanted = max(k, min(turns * k, MAX_CHANCE)) - len(chance)
    chance = np.concatenate((chance, run.rng.random(max(wanted, 0))))
    place = np.full(n, -1, np.int64)
    place[small[:n_small]] = np.arange(n_small)
    used = np.zeros(3, np.int64)
    longest = max(int(classes.sizes.max()), 2 * k)  # classes grow to 2k - 1 before they are split
    scratch = KacaScratch(
        scanner.scratch(n),
        np.empty(n, np.int64),
        np.empty(longest, np.int64),
    )
    left: int = generalise_small_classes(
        scanner.space,
        classes.groups,
        classes.chains,
        scanner.classes,
        SmallClasses(small, place),
        n_small,
        Turns(turns, max(1, n // DEAD_SHARE)),
        k,
        classes.blocks,
        Chance(chance, used),
        outliers,
        scratch,
    )
    classes.n_empty += int(used[1])
    classes.n_suppressed = int(used[2])
    return left, chance[used[0] :]
