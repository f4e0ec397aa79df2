"""Refinement by the means of groups: lower the squared error, keep k and every promise.

Sweeps of two moves, each made only if it lowers the error:

* a row moves to the group where it raises the error least, or swaps places with a row nearby;
* a group and its nearest ones are taken apart and formed anew, as one more group or one fewer
  where that is better.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.refine_means import Means, MeansScratch, move_rows, rebuild_near
from shoal.messages import Message
from shoal.privacy.arrays import PrivateArrays
from shoal.search.enforce import open_groups
from shoal.search.scan import SearchInterrupt
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from shoal.kernels.mdav import Points
    from shoal.search.scan import Effort, Run
    from shoal.table.encode import EncodedTable


SLICE_WORK = 20_000_000
NEAR = 6
"""Groups nearby whose rows a row may swap places with."""
LEAST = 1e-9
"""What a move has to gain, as a share of the mean error of a row in one group of all."""
THOROUGH = 10_000
"""Up to so many rows, every row is a seed for the hardest effort; else one row of each group."""


def squared_error(points: Points, partition: Partition) -> float:
    """Return Σ |x − mean of its group|² over the rows that have a group."""
    return float(group_errors(points, partition).sum())


def group_errors(points: Points, partition: Partition) -> NDArray[np.float64]:
    """Return Σ |x − mean|² of each group.

    A group that mixes missing values with others publishes no mean: the mean of all, which is 0,
    stands in. Missing values themselves lose nothing.
    """
    rows, sizes = partition.order, partition.sizes
    labels, total = partition.labels[rows], np.zeros(partition.n_groups)
    for j, whole in enumerate(points.numbers):
        line = whole[rows]
        if points.absent[j]:
            continue
        centre = np.bincount(labels, line, partition.n_groups) / sizes
        if j + 1 < len(points.absent) and points.absent[j + 1]:
            gone = points.numbers[j + 1][rows] > 0
            n_gone = np.bincount(labels, gone, partition.n_groups)
            centre[(n_gone > 0) & (n_gone < sizes)] = 0.0
        total += np.bincount(labels, (line - centre[labels]) ** 2, partition.n_groups)
    return total


class MeansSearch:
    """The state of one search and the scratch arrays of its moves."""

    def __init__(self, table: EncodedTable, partition: Partition, run: Run, effort: Effort) -> None:
        assert run.scanner.points is not None
        self.k, self.effort, self.rng, self.progress = run.k, effort, run.rng, run.progress
        self.start, self.n = partition, table.n_rows
        self.points, self.numbers = run.scanner.points, run.scanner.points.numbers
        capacity = max(partition.n_groups, self.n // self.k) + 1
        self.private = PrivateArrays.of(table, run.privacy)  # holds what the rules point at
        self.groups = open_groups(run.scanner, partition, self.private, capacity)
        points = np.ascontiguousarray(self.numbers.T)
        middle = points.mean(axis=0)
        self.means = Means(
            points,
            np.zeros((points.shape[1], capacity)),
            np.zeros((points.shape[1], capacity)),
            np.zeros(self.n, np.int32),
            LEAST * float(np.sum((points - middle) ** 2)) / max(self.n, 1),
        )
        # closures play no part
        self.groups = self.groups._replace(hists=np.zeros((1, capacity), np.int64))
        most = min(self.n, max(10 * self.k, 64, 2 * int(partition.sizes.max(initial=1))))
        inside = most // self.k + 8
        self.scratch = MeansScratch(
            np.empty(capacity),
            np.empty(NEAR, np.int64),
            self.private.scratch(),
            np.empty(most, np.int64),
            np.empty(most, np.int64),
            np.empty(most, np.int64),
            np.empty(most, np.int64),
            np.empty(most),
            np.empty((inside, points.shape[1])),
            np.empty((inside, points.shape[1])),
            np.empty(inside, np.int64),
            np.empty(inside, np.int64),
        )

    def run(self) -> Partition:
        """Sweep until nothing much is gained; never return what has a larger error."""
        began, limit = time.monotonic(), self.effort.seconds
        found, error = self.start, self._true_error(self.start)
        for sweep in range(self.effort.sweeps):
            before, interrupted = error, False
            try:
                self.sweep(sweep)
            except KeyboardInterrupt:
                interrupted = True
            ended = Partition.from_labels(self.groups.label)  # moves are whole, so it is valid
            now = self._true_error(ended)
            if now < error:
                found, error = ended, now
            if interrupted:
                raise SearchInterrupt(found)
            late = limit is not None and time.monotonic() - began > limit
            if late or before - error <= self.effort.min_gain * before:
                break
        return found

    def _true_error(self, partition: Partition) -> float:
        return squared_error(self.points, partition)

    def sweep(self, number: int) -> None:
        """Make all moves that lower the error, once over."""
        # Compute the sums anew, so that no rounding of single moves adds up.
        size = self.groups.size.shape[0]
        label = self.groups.label
        for j, line in enumerate(self.numbers):
            self.means.sums[j] = np.bincount(label, line, size)
        np.divide(self.means.sums, np.maximum(self.groups.size, 1), out=self.means.centre)
        what = Message("refining, sweep {n}", n=number + 1)
        per_row = self.groups.size.shape[0] + NEAR * self.k
        for part in self._slices(self.rng.permutation(self.n), per_row, what):
            move_rows(*self._base(), part, self.k, self.scratch)
        if not self.effort.rebuild:
            return
        for n_near in self._reach(number):
            rows = self._seeds()
            work = self.groups.size.shape[0] + 40 * (n_near + 1) ** 2 * self.k**2
            for part in self._slices(rows, work, what):
                rebuild_near(*self._base(), part, self.k, n_near, self.scratch)

    def _reach(self, number: int) -> tuple[int, ...]:
        """Return how many groups nearby are taken apart: other numbers in every sweep."""
        return (1, 2, 3) if self.effort.reach > 8 else ((2,), (1,), (3,))[number % 3]

    def _seeds(self) -> NDArray[np.int64]:
        order = self.rng.permutation(self.n)
        if self.effort.reach > 8 and self.n <= THOROUGH:
            return order
        _, first = np.unique(self.groups.label[order], return_index=True)
        return order[np.sort(first)]

    def _slices(
        self, rows: NDArray[np.int64], per_item: int, what: str
    ) -> Iterator[NDArray[np.int64]]:
        step = max(1, SLICE_WORK // max(per_item, 1))
        for at in range(0, len(rows), step):
            self.progress(at, len(rows), what)
            yield rows[at : at + step]

    def _base(self) -> tuple[object, ...]:
        return self.means, self.groups, self.private.rules
