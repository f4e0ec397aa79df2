"""Refinement: lower the cost of any partition while keeping k and every privacy model.

A closure costs each of its rows the same however many there are, so this is a choice of closures:
every row wants the cheapest one that covers it, and every closure needs k people. Sweeps of five
moves, each made only if it lowers the total cost:

* relocate a row out of a group that can spare it into the group where it costs least;
* move an edge slice, all rows at one end of a group, to one group or each to its cheapest;
* dissolve a group into the groups where its rows cost least;
* open a new group around a row, from rows that other groups can spare;
* take a group apart and build a better one around one of its rows (moves, swaps, splits and
  chains of moves are special cases).

The total cost falls with every move, so sweeps end; the state after any sweep is a valid partition.

Such a search ends wherever it began. So the first sweeps are hot: a move that relocates a row,
dissolves or rebuilds a group is made also if it costs more, by an amount that is drawn anew each
time and is smaller in every sweep (simulated annealing: Kirkpatrick, Gelatt, Vecchi 1983). What
comes out dearer than what was given is thrown away.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.refine import Undo, dissolve_groups, relocate_rows
from shoal.kernels.refine_rebuild import PIECE, RebuildScratch, rebuild_groups
from shoal.kernels.refine_slices import SliceScratch, move_slices
from shoal.kernels.space import COST
from shoal.messages import Message
from shoal.privacy.arrays import PrivateArrays
from shoal.search.enforce import open_groups
from shoal.search.scan import Effort, SearchInterrupt
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from shoal.search.scan import Run, Scanner
    from shoal.table.encode import EncodedTable


SLICE_WORK = 20_000_000
HOT_ROWS, HOT_CELLS, HOT_SIZE = 2.0, 1.2, 45
"""What a hot move may cost at first, on average: so many rows of usual cost, but no more than so
many lost cells; less where groups have more rows than the last, in proportion."""
SMALL_SIZE, LARGE_SIZE = 25, 300
"""Groups of more rows than the first take another number of hot sweeps; in groups of more rows
than the second a row matters too little."""
OPEN_EVERY = 4
"""New groups are opened in one of so many hot sweeps: measured, more often ends dearer."""
HOT_SHARE, MOST_HOT = 0.8, 1_000
"""Of seconds that are given so many are hot, and no more sweeps than that."""


EFFORTS = {
    "fast": Effort(sweeps=2, rebuild=False, min_gain=0.01),
    "balanced": Effort(sweeps=8, hot=(20, 14), large=0.4, logs=0.65, renewals=4, min_gain=0.003),
    "best": Effort(sweeps=12, hot=(60, 120), renewals=30, min_gain=1e-3),
}


def hot_sweeps(effort: Effort, rows_per_group: float) -> int:
    """Return how many sweeps are hot where groups are so large."""
    if rows_per_group > LARGE_SIZE:
        return 0
    return effort.hot[rows_per_group > SMALL_SIZE]


def refine_partition(
    table: EncodedTable, partition: Partition, run: Run, effort: Effort
) -> Partition:
    """Return a partition of the same rows that costs no more; suppressed rows stay so.

    Deterministic given the generator, unless ``effort.seconds`` is set. Ctrl-C is noticed between
    slices of work.

    Raises:
        SearchInterrupt: Ctrl-C was pressed; it holds the best so far.
    """
    kept = np.flatnonzero(partition.labels >= 0)
    if len(kept) < 2 * run.k:
        return partition
    if len(kept) < table.n_rows:
        try:
            groups = Partition(partition.labels[kept], partition.n_groups)
            inner = refine_partition(table.take(kept), groups, run.part(kept), effort)
        except SearchInterrupt as interrupt:
            raise SearchInterrupt(_spread(interrupt.found, kept, table.n_rows)) from None
        return _spread(inner, kept, table.n_rows)
    if run.scanner.points is not None:
        from shoal.search.refine_means import MeansSearch

        return MeansSearch(table, partition, run, effort).run()
    return Search(table, partition, run, effort).run()


def _spread(found: Partition, kept: NDArray[np.int64], n_rows: int) -> Partition:
    """Return the partition of all rows of which these are kept; the others are suppressed."""
    labels = np.full(n_rows, -1, np.int32)
    labels[kept] = found.labels
    return Partition(labels, found.n_groups)


class Search:
    """The state of one search and the scratch arrays of its moves."""

    def __init__(self, table: EncodedTable, partition: Partition, run: Run, effort: Effort) -> None:
        self.k, self.effort, self.rng, self.progress = run.k, effort, run.rng, run.progress
        self.scanner = scanner = run.scanner
        self.n = n = table.n_rows
        # there can be no more than n // k groups, one more while a group is rebuilt
        self.capacity = max(partition.n_groups, n // self.k) + 1
        self.limit = self._places(partition.n_groups)
        self.private = PrivateArrays.of(table, run.privacy)  # holds what the rules point at
        self.rules = self.private.rules
        self.groups = open_groups(scanner, partition, self.private, self.capacity)
        self.scratch = scanner.scratch(max(self.capacity, n), len(self.rules.whole))
        self.undo = Undo(
            np.zeros(self.capacity, np.bool_),
            scanner.groups(self.capacity),
            np.empty(self.capacity, np.int64),
            np.empty(n, np.bool_),
            np.empty(n, np.int64),
        )
        reach = effort.reach * self.k
        most = min(n, max(4 * reach, 64))
        self.rebuild_scratch = RebuildScratch(
            np.empty(n, COST),
            np.zeros(n, np.int64),
            np.zeros(n, COST),
            np.array([np.iinfo(COST).max], COST),
            np.empty(-(-n // PIECE), COST),
            np.empty(most, np.int64),
            scanner.groups(most),
            np.empty(most, np.bool_),
            np.empty(n + 1, np.int64),
            np.empty(n + 1, np.int64),
            np.zeros(self.capacity, np.int64),
            np.empty(self.capacity, np.int64),
            np.zeros(self.capacity, np.bool_),
        )
        space = scanner.space
        levels = np.diff(np.append(space.cost_start, space.level_cost.shape[1]))
        # of a level of a tree, or values of a set
        most_codes = int(max(levels.max(initial=0), space.set_size.max(initial=0) + 1))
        self.slice_scratch = SliceScratch(np.empty(n, np.int64), np.zeros(most_codes, np.int64))

    def run(self) -> Partition:
        """Sweep until nothing much is gained."""
        began = time.monotonic()
        labels_before, cost = self.groups.label.copy(), self._cost()
        limit = self.effort.seconds
        try:
            hot = self._sweep_hot(began)
            for sweep in range(self.effort.sweeps):
                before = self._cost()
                self._sweep(hot + sweep)
                late = limit is not None and time.monotonic() - began > limit
                if late or before - self._cost() <= self.effort.min_gain * before:
                    break
        except KeyboardInterrupt:
            raise SearchInterrupt(self._cheaper(labels_before, cost)) from None
        return self._cheaper(labels_before, cost)

    def _cheaper(self, labels_before: NDArray[np.int32], cost: int) -> Partition:
        return self.found() if self._cost() <= cost else Partition.from_labels(labels_before)

    def _sweep_hot(self, began: float) -> int:
        """Sweep while moves may cost something, less and less; return how often."""
        mean = self.n / max(1, int(np.count_nonzero(self.groups.size)))
        hot, limit = hot_sweeps(self.effort, mean), self.effort.seconds
        if not hot:
            return 0
        done = 0
        if limit is None:
            while done < hot:
                self.sweep_at(1.0 - done / hot, done)
                done += 1
            return done
        while done < MOST_HOT and (past := (time.monotonic() - began) / (HOT_SHARE * limit)) < 1:
            self.sweep_at(1.0 - past, done)
            done += 1
        return done

    def found(self) -> Partition:
        """Return the groups as they are: moves are whole, so they are valid at any time."""
        return Partition.from_labels(self.groups.label)

    def sweep_at(self, share: float, number: int) -> None:
        """Sweep once at this share of the first temperature; this is sweep ``number``."""
        annealing = self.scratch.annealing
        annealing.temperature[0] = share * self._first_temperature()
        annealing.random[0] = self.rng.integers(1, 1 << 63)
        try:
            self._sweep(number)
        finally:
            annealing.temperature[0] = 0.0

    def _first_temperature(self) -> float:
        """Return what a hot move may cost on average at first."""
        groups = int(np.count_nonzero(self.groups.size))
        lost = self._cost() - groups * self.scanner.group_price
        most = min(HOT_ROWS * lost / self.n, HOT_CELLS * lost_cell(self.scanner))
        return most * min(1.0, HOT_SIZE * groups / self.n)

    def _places(self, n_groups: int) -> int:
        """Return how many places to look at: as many new groups again, if there can be so many.

        With room for few, groups far larger than k are never taken apart: opening fills it first.
        """
        return min(self.capacity, 2 * n_groups + 16)

    def _cost(self) -> int:
        return int(self.groups.costs.sum())

    def _sweep(self, number: int) -> None:
        self.limit = max(self.limit, self._places(int(np.count_nonzero(self.groups.size))))
        self.move("relocate", number)
        self.move("slices", number)
        self.move("dissolve", number)
        # costs per sensitive value are not "per row of a closure": only the first two moves apply
        if self.scanner.n_classes == 1:
            self.move("rebuild", number)
            if not self.scratch.annealing.temperature[0]:  # what is built anew has edges of its own
                self.move("slices", number)

    def move(self, what: str, number: int) -> None:
        """Make all moves of a kind that lower the cost; this is sweep ``number``."""
        base, k, limit, scratch = self._base(), self.k, self.limit, self.scratch
        if what == "relocate":
            for rows in self._slices(self.rng.permutation(self.n), limit, number):
                relocate_rows(*base, rows, k, limit, scratch)
        elif what == "slices":
            order = self._dearest_first(k if self.private.subject is None else 0)
            depth, undo, slices = self.effort.depth, self.undo, self.slice_scratch
            for groups in self._slices(order, limit * k, number):
                move_slices(*base, groups, depth, k, limit, scratch, undo, slices)
        elif what == "dissolve":
            for groups in self._slices(self._dearest_first(0), limit * k, number):
                dissolve_groups(*base, groups, limit, scratch, self.undo)
        else:
            if not self.scratch.annealing.temperature[0] or number % OPEN_EVERY == 0:
                self._rebuild(self._seeds(self._dearest_first(self.k)), number, apart=False)
            if self.effort.rebuild:
                self._rebuild(self._seeds(self._dearest_first(0)), number, apart=True)

    def _dearest_first(self, more_than: int) -> NDArray[np.int64]:
        """Return the groups of more than this many people, the dearest per row first."""
        size, costs = self.groups.size, self.groups.costs
        chosen = np.flatnonzero((self.groups.people > more_than) & (costs > 0))
        return chosen[np.argsort(-(costs[chosen] / size[chosen]), kind="stable")]

    def _seeds(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return one row of each group, picked by chance: in every sweep another."""
        pick = self.rng.random(len(order))
        seeds = np.empty(len(order), np.int64)
        label, size = self.groups.label, self.groups.size
        rows = np.argsort(label, kind="stable")
        starts = np.cumsum(np.bincount(label, minlength=self.capacity)) - size
        seeds[:] = rows[starts[order] + (pick * size[order]).astype(np.int64)]
        return seeds

    def _slices(
        self, order: NDArray[np.int64], work_per_item: int, number: int
    ) -> Iterator[NDArray[np.int64]]:
        """Yield pieces of an order that take about as long each; progress is told between them."""
        step = max(1, SLICE_WORK // max(work_per_item, 1))
        for at in range(0, len(order), step):
            self.progress(at, len(order), Message("refining, sweep {n}", n=number + 1))
            yield order[at : at + step]

    def _rebuild(self, seeds: NDArray[np.int64], number: int, *, apart: bool) -> None:
        work = self.limit * self.k + 4 * self.n
        for rows in self._slices(seeds, work, number):
            rebuild_groups(
                *self._base(),
                rows,
                apart,
                self.k,
                self.limit,
                self.effort.reach * self.k,
                self.scratch,
                self.undo,
                self.rebuild_scratch,
            )

    def _base(self) -> tuple[object, ...]:
        return self.scanner.records, self.groups, self.rules


def lost_cell(scanner: Scanner) -> float:
    """Return what a cell costs that says nothing any more, on average over the columns."""
    space = scanner.space
    ends = space.prefix[0, space.prefix_start[1:] - 1]
    starts = space.prefix[0, space.prefix_start[:-1]]
    logs = space.log_cost[space.log_row, ends - starts]
    costs = (space.root_cost[0], space.full, logs, space.set_full[0])
    return float(np.concatenate(costs).astype(np.float64).mean())
