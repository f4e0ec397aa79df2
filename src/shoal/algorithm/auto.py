"""`auto`: the best release Shoal can make in the time you give it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from shoal.algorithm.agglomerative import Agglomerative
from shoal.algorithm.base import BLOCK_ROWS, Algorithm, check_choice, create_algorithm
from shoal.algorithm.mondrian import Mondrian
from shoal.measure.base import LinearForm
from shoal.search.enforce import GroupState, enforce
from shoal.search.lattice import cell_partition
from shoal.search.refine import EFFORTS, refine_partition
from shoal.search.scan import Effort, Run, no_warning
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from shoal.table.encode import EncodedTable


# -- A few neighbouring groups made anew, where that ends cheaper ----------------------------------
#
# Refinement ends wherever it began. So the rows of some neighbouring groups are clustered as if
# they had never been, and kept so if that costs less: a search of large neighbourhoods (Shaw 1998).

SETTLE = Effort(sweeps=3, min_gain=0.003)
RENEWED_JITTER = 0.2
AGGLOMERATIVE_ROWS = 3_000


def can_renew(table: EncodedTable, run: Run) -> bool:
    """Return whether groups can be made anew: without promises, one row a person, plain costs."""
    plain = run.scanner.n_classes == 1 and run.scanner.points is None
    return plain and not run.privacy and table.person is None


def renewed(table: EncodedTable, partition: Partition, run: Run, number: int) -> Partition:
    """Cluster the rows of these groups anew; return what costs less, that or what was given.

    Round ``number`` decides how: by agglomerative clustering, which wins most often where there
    are not too many rows for it, by cells of a lattice or by Mondrian's cheapest cuts.
    """
    if number % 2 == 0 and table.n_rows <= AGGLOMERATIVE_ROWS:
        start = Agglomerative().partition(table, run)
    elif number % 4 < 2:
        start = cell_partition(table, run, jitter=RENEWED_JITTER)
    else:
        start = Mondrian(cuts="cheapest").partition(table, run)
    found = refine_partition(table, start, run, SETTLE)
    before, after = (int(GroupState(run.scanner, p).costs.sum()) for p in (partition, found))
    return found if after < before else partition


SEVERAL_STARTS_ROWS = 3_000
"""Up to this many rows it costs little to refine several starts and keep the best."""

IN_A_PLANE = ("hilbert", "k-member", "mdav")
"""What else two columns of numbers are begun from; on a skewed one any of them may end best."""

LARGE_ROWS, WHOLE_ROWS = 40_000, 100_000
"""Rows of a block where blocks cost little: of cells, and of tables larger than the second."""

CELLS_K = 50
"""From this k on cells are as good a start as any: sweeps, measured, make up for it in less
time."""

LARGE_COLUMNS, SMALLEST_ROWS = 8, 5_000
"""A scan takes time with every column, and few rows of a wide table are near to each other: blocks
of tables that have more columns have fewer rows, down to the second."""

JITTER, OTHER_CELLS = 0.15, 6
"""Where groups are few, cells are looked for so often again, with other weights of the columns."""

PROMISED_STARTS = ("kaca", "mondrian", "enforce")
"""What it begins with under any promise; then it grows groups, or clusters sequentially."""
PROMISED_ROWS = 40_000
"""Under promises, larger tables are cut into blocks."""

FEW_GROUPS, RESTARTS = 100, 2
"""Where there are no more groups than this, cutting often ends better than merging, and it depends
on chance where: "best" tries so often again."""


@dataclass(frozen=True, kw_only=True)
class Auto(Algorithm):
    """A good start for the table at hand, then refinement.

    Start: one column of numbers is cut as well as can be (`hilbert`), two of few rows are started
    from several algorithms. Otherwise agglomerative clustering of rows of which fewer than k are
    equal; cells of a lattice for ``effort="fast"``, from k = 50 on and, beside Mondrian's cheapest
    cuts, where groups are few; sequential clustering where the cost looks at the sensitive column;
    with privacy models groups that are grown under them, or those of KACA or Mondrian, merged until
    they hold, whichever ends better. Then `refine`: records relocated, groups dissolved, opened and
    rebuilt, first also where it costs something, by chance and less and less, then as long as it
    pays; where groups are few, some neighbouring ones at a time are made anew. Large tables are cut
    into blocks of similar rows, each of them started so, and then refined across the blocks.
    A measure of means (``sse``) starts from MDAV and is refined by means.
    "best" first does what "balanced" does and goes on from there for longer, so it never loses
    more; small tables are started from k-member, KACA and sequential clustering too, and the best
    counts.

    Guarantee: every group has at least k records and satisfies the privacy models; the cost is
    never above that of the start.
    Determinism: given the seed.

    Args:
        effort: "fast" (a second or two for 30,000 rows), "balanced", or "best".
    """

    name = "auto"
    title = "best start for the table, then refinement (the default)"
    citation = "Shoal"
    whole_rows = 12_000  # measured: blocks are faster from there on, and lose no more

    effort: Literal["fast", "balanced", "best"] = "balanced"

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice(self, "effort", tuple(EFFORTS))

    @property
    def seams(self) -> tuple[Effort, ...]:
        """How groups are refined, one step after the other."""
        if self.effort == "best":
            return EFFORTS["balanced"], EFFORTS["best"]
        return (EFFORTS[self.effort],)

    @property
    def afterwards(self) -> tuple[Effort, ...]:
        """How groups are refined in the end where the table was not cut."""
        if self.effort != "best":
            return self.seams if self.effort == "balanced" else ()
        first, best = self.seams
        return first, replace(best, renewals=0), replace(best, sweeps=1)

    def rivals(self, table: EncodedTable, run: Run) -> list[Partition]:
        """Return what "best" finds elsewhere, where it is cheap or matters most to begin anew."""
        if self.effort != "best" or run.privacy or run.scanner.points is not None:
            return []
        first, best = self.seams
        found = []
        if _few_groups(table.n_rows, run.k):
            ends = [self._elsewhere(table, run) for _ in range(RESTARTS)]
            found.append(_cheapest([self._refine(table, run, end, first) for end in ends], run))
        if table.n_rows <= SEVERAL_STARTS_ROWS:
            silent = replace(run, warn=no_warning)
            others = [create_algorithm(name) for name in ("k-member", "kaca", "sequential")]
            starts = [other.partition(table, silent) for other in others]
            found += [self._refine(table, run, start, best) for start in starts]
        return found

    def block_sizes(self, run: Run) -> tuple[float, int]:
        """Return when a table is cut, and the rows of a block.

        Starts under promises are not quadratic in what they merge, and promises need room.
        """
        if run.privacy and run.scanner.points is None:
            from shoal.search.grow import can_grow

            if can_grow(run):
                return PROMISED_ROWS, PROMISED_ROWS // 2
        n = run.all_rows
        if (run.scanner.n_classes == 1 and not run.privacy and run.scanner.points is None) and (
            self.effort == "fast" or run.k >= CELLS_K
        ):
            rows = max(LARGE_ROWS, 10 * run.k)
            return rows, rows
        if n <= WHOLE_ROWS:
            return self.whole_rows, BLOCK_ROWS
        share = min(1.0, LARGE_COLUMNS / len(run.model.forms)) ** 1.5
        return self.whole_rows, max(int(LARGE_ROWS * share), SMALLEST_ROWS, 10 * run.k)

    @property
    def for_blocks(self) -> Algorithm:
        """What runs on a block: "best" begins as "balanced" does, its own step comes later."""
        return replace(self, effort="balanced") if self.effort == "best" else self

    def compiles(self, run: Run) -> tuple[str, ...]:
        """Return the tasks of `shoal.algorithm.warm_up` that compile what it calls."""
        moves = ("relocate", "slices", "dissolve")
        if run.privacy:
            from shoal.search.grow import can_grow

            third = "grow" if can_grow(run) else "sequential"
            return (*moves, "rebuild", *PROMISED_STARTS, third)
        if run.scanner.n_classes > 1:
            return (*moves, "sequential")
        if self.effort == "fast":
            return (*moves, "rebuild", "hilbert" if _n_lines(run) == 1 else "cells")
        unions = Agglomerative().compiles(run)
        if _n_lines(run) == 1:
            starts: tuple[str, ...] = ("hilbert",)
        elif self._in_a_plane(run):
            starts = (*unions, "cells", "mondrian", *IN_A_PLANE)
        else:
            starts = ("cells",) if run.k >= CELLS_K else unions
        if _few_groups(run.all_rows, run.k):
            starts = (*starts, *unions, "cells", "mondrian")
        return (*moves, "rebuild", *starts)

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        if run.scanner.points is not None:
            # Microaggregate, then refine: for measures of means.
            found = _partition_that_holds(create_algorithm("mdav"), table, run)
            for effort in self.seams:
                found = self._refine(table, run, found, effort)
            return found
        if run.privacy:
            return self._promised(table, run)
        return self._refine(table, run, self._start(table, run), EFFORTS["fast"])

    def _refine(self, table: EncodedTable, run: Run, start: Partition, effort: Effort) -> Partition:
        return refine_partition(table, start, run, effort)

    def _promised(self, table: EncodedTable, run: Run) -> Partition:
        """Return groups that keep the promises: grown under them, or merged."""
        from shoal.search.grow import grow_partition

        # one group of all rows is only a start here, and never the cheapest
        silent = replace(run, warn=no_warning)
        merged = [
            _partition_that_holds(each, table, silent)
            for each in (create_algorithm("kaca"), Mondrian())
        ]
        starts = [_cheapest(merged, run)]
        tried = (grow_partition(table, run, free=free) for free in (run.k // 2, run.k))
        grown = [found for found in tried if found is not None]
        if grown:
            starts.append(_cheapest(grown, run))
        elif self.effort != "fast":
            starts.append(_partition_that_holds(create_algorithm("sequential"), table, silent))
        quick = EFFORTS["fast"]
        return _cheapest([self._refine(table, run, start, quick) for start in starts], run)

    def _start(self, table: EncodedTable, run: Run) -> Partition:
        """Return what is refined, where nothing is promised."""
        if run.scanner.n_classes > 1:
            silent = replace(run, warn=no_warning)
            return create_algorithm("sequential").partition(table, silent)
        if _n_lines(run) == 1:
            return create_algorithm("hilbert").partition(table, run)
        if self.effort == "fast":
            return cell_partition(table, run)
        quick = EFFORTS["fast"]
        if self._in_a_plane(run):
            silent = replace(run, warn=no_warning)
            starts = [create_algorithm(name).partition(table, silent) for name in IN_A_PLANE]
            starts += [_agglomerated(table, run), cell_partition(table, run)]
            starts.append(_cheapest_cuts(table, run))
            return _cheapest([self._refine(table, run, each, quick) for each in starts], run)
        if run.k < CELLS_K and not _few_groups(table.n_rows, run.k):
            return _agglomerated(table, run)
        # what "fast" finds comes first, so that "balanced" goes on from there or from better
        ends = [self._refine(table, run, cell_partition(table, run), quick)]
        if _few_groups(table.n_rows, run.k):
            small = table.n_rows <= self.whole_rows
            other = self._elsewhere if small else _cheapest_cuts
            ends.append(self._refine(table, run, other(table, run), quick))
        return _cheapest(ends, run)

    def _in_a_plane(self, run: Run) -> bool:
        """Return whether rows are few and lie in a plane, where the best start is hard to tell."""
        return _n_lines(run) == 2 and run.all_rows <= SEVERAL_STARTS_ROWS

    def _elsewhere(self, table: EncodedTable, run: Run) -> Partition:
        """Return what few groups may begin from, too: other cells, cuts, or unions."""
        cells = [cell_partition(table, run, jitter=JITTER) for _ in range(OTHER_CELLS)]
        starts = [_cheapest(cells, run), _cheapest_cuts(table, run)]
        if table.n_rows <= self.whole_rows:
            starts.append(_agglomerated(table, run))
        quick = EFFORTS["fast"]
        return _cheapest([self._refine(table, run, each, quick) for each in starts], run)


def _agglomerated(table: EncodedTable, run: Run) -> Partition:
    """Unify the closest rows; k or more that are equal are a group, and lose nothing.

    Measured: they take most of the time otherwise, and those that agglomerative clustering leaves
    over when it takes k of them end in groups that lose more.
    """
    equal = Partition.of_equal_rows([a.codes for a in table.attributes])
    rest = np.flatnonzero(equal.sizes[equal.labels] < run.k)
    if not run.k <= len(rest) < table.n_rows:
        return Agglomerative().partition(table, run)
    inner = replace(run, model=run.model.take(rest), scanner=run.scanner.take(rest))
    found = Agglomerative().partition(table.part(rest), inner)
    labels = equal.labels.copy()
    labels[rest] = equal.n_groups + found.labels
    return Partition.from_labels(labels)


def _cheapest_cuts(table: EncodedTable, run: Run) -> Partition:
    return Mondrian(cuts="cheapest").partition(table, run)


def _n_lines(run: Run) -> int:
    """Return how many columns there are if each costs what its interval is wide; otherwise 0."""
    forms = run.model.forms
    return len(forms) if all(isinstance(form, LinearForm) for form in forms) else 0


def _few_groups(n_rows: int, k: int) -> bool:
    return n_rows <= FEW_GROUPS * k


def _cheapest(found: list[Partition], run: Run) -> Partition:
    if len(found) == 1:
        return found[0]
    return min(found, key=lambda partition: _cost(partition, run))


def _cost(partition: Partition, run: Run) -> int:
    return int(GroupState(run.scanner, partition).costs.sum())


def _partition_that_holds(algorithm: Algorithm, table: EncodedTable, run: Run) -> Partition:
    found = algorithm.partition(table, run)
    return enforce(table, found, run.scanner, run.k, run.privacy, run.progress)
