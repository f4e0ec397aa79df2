"""TFRP, two fixed reference points (Chang, Li, Huang 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.search.points import points_of
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.kernels.mdav import Points
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable

    Rows = NDArray[np.int64]
    Reals = NDArray[np.float64]


LEAST = 1e-9
"""What dissolving a group has to save, as a share of the squared error of all groups."""


@dataclass(frozen=True, kw_only=True)
class TFRP(Algorithm):
    """Groups of k around records far from two corners of the table; then groups are dissolved.

    First phase: one reference point has the least value of every column, the other the largest.
    The record farthest from the first and the k − 1 nearest to it are a group, then the record
    farthest from the second and its nearest, in turns, until fewer than k are left; each of these
    joins the group with the nearest mean. Second phase: from the group of the largest squared
    error to that of the smallest, each is dissolved if the squared error of all groups is smaller
    where each of its records is in the other group with the nearest mean.

    The text of the paper was not at hand: this is what its abstract and later papers on
    microaggregation say of it. While one group is dissolved or the last records join, the means of
    the others stay where they are; the order of the second phase is that of its beginning.

    Distances are those of `mdav`: Euclidean on standardised columns, whatever the measure; values
    that are no numbers differ or do not, and their mean is the most frequent one. They are as far
    from one reference point as from the other.

    Guarantee: every group has at least k records.
    Cost: O(n²/k) comparisons in each phase.
    Determinism: no chance involved but the shuffled row order, where distances tie.
    """

    name = "tfrp"
    title = "microaggregation: groups far from two corners, some dissolved"
    citation = "Chang, Li, Huang 2007"
    whole_rows = 30_000

    def compiles(self, run: Run) -> tuple[str, ...]:
        """Return nothing: it has no kernel."""
        del run
        return ()

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        points = points_of(table)
        groups = dissolve(points, fixed_size(points, run), run)
        label = np.empty(table.n_rows, np.int32)
        for number, rows in enumerate(groups):
            label[rows] = number
        return Partition(label, len(groups))


def fixed_size(points: Points, run: Run) -> list[Rows]:
    """Return the groups of the first phase."""
    numbers, k = points.numbers, run.k
    n = numbers.shape[1]
    corners = (numbers.min(axis=1), numbers.max(axis=1))
    # a level is as far from one corner as from the other
    far = [((numbers - corner[:, np.newaxis]) ** 2).sum(axis=0) for corner in corners]
    order = [iter(np.argsort(-each, kind="stable").tolist()) for each in far]
    groups, left = [], np.ones(n, np.bool_)
    for turn in range(n // k):
        run.progress(turn * k, n, "clustering")
        row = next(row for row in order[turn % 2] if left[row])
        near = np.where(left, _distances(points, numbers[:, row], points.levels[:, row]), np.inf)
        closest = np.flatnonzero(near <= np.partition(near, k - 1)[k - 1])  # and all that tie
        groups.append(closest[np.argsort(near[closest], kind="stable")[:k]])
        left[groups[-1]] = False
    rest = np.flatnonzero(left)
    nearest = _Means(points, groups).nearest(rest)
    return [np.concatenate((rows, rest[nearest == g])) for g, rows in enumerate(groups)]


def dissolve(points: Points, groups: list[Rows], run: Run) -> list[Rows]:
    """Return the groups of the second phase."""
    errors = [squared_error(points, rows) for rows in groups]
    least = LEAST * sum(errors)
    there = dict(enumerate(groups))
    means = _Means(points, groups)
    for done, g in enumerate(np.argsort(-np.array(errors), kind="stable").tolist()):
        run.progress(done, len(groups), "dissolving groups")
        if len(there) == 1:
            break
        means.put(g, None)
        nearest = means.nearest(there[g])
        grown = {h: np.append(there[h], there[g][nearest == h]) for h in np.unique(nearest)}
        now = {h: squared_error(points, rows) for h, rows in grown.items()}
        if sum(now.values()) + least < errors[g] + sum(errors[h] for h in now):
            del there[g]
            for h, rows in grown.items():
                there[h], errors[h] = rows, now[h]
                means.put(h, rows)
        else:
            means.put(g, there[g])
    return list(there.values())


def squared_error(points: Points, rows: Rows) -> float:
    """Return the squared distances of rows to their mean, one by one, all together."""
    numbers = points.numbers[:, rows]
    error = ((numbers - numbers.mean(axis=1, keepdims=True)) ** 2).sum()
    for codes, weight in zip(points.levels, points.weights, strict=True):
        error += weight * (len(rows) - np.bincount(codes[rows]).max())
    return float(error)


def _distances(points: Points, numbers: Reals, levels: NDArray[np.integer[Any]]) -> Reals:
    """Return the squared distance of every row to a point."""
    found = np.zeros(points.numbers.shape[1])
    for line, at in zip(points.numbers, numbers, strict=True):
        found += (line - at) ** 2
    for codes, code, weight in zip(points.levels, levels, points.weights, strict=True):
        found += weight * (codes != code)
    return found


class _Means:
    """The means of groups, rounded, so that distances to them are exact."""

    def __init__(self, points: Points, groups: list[Rows]) -> None:
        self.points = points
        self.means = points._replace(
            numbers=np.empty((len(points.numbers), len(groups))),
            levels=np.empty((len(points.levels), len(groups)), np.int32),
        )
        self.gone = np.zeros(len(groups), np.bool_)
        for g, rows in enumerate(groups):
            self.put(g, rows)

    def put(self, g: int, rows: Rows | None) -> None:
        """Say which rows a group has, None if it is not there."""
        self.gone[g] = rows is None
        if rows is not None:
            numbers, levels = self.points.numbers[:, rows], self.points.levels[:, rows]
            self.means.numbers[:, g] = np.floor(numbers.mean(axis=1) + 0.5)
            self.means.levels[:, g] = [np.bincount(codes).argmax() for codes in levels]

    def nearest(self, rows: Rows) -> Rows:
        """Return the group of the nearest mean of each row; ties: the first."""
        numbers, levels = self.points.numbers, self.points.levels
        found = np.empty(len(rows), np.int64)
        for place, row in enumerate(rows):
            far = _distances(self.means, numbers[:, row], levels[:, row])
            far[self.gone] = np.inf
            found[place] = np.argmin(far)
        return found
