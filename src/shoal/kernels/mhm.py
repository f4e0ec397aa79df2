"""A path from each point to the nearest one left, and its cheapest cut into runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.mdav import (
    NOT_ONE,
    Left,
    Points,
    distances,
    farthest_from_average,
    load_point,
    remove_points,
    smallest,
)

if TYPE_CHECKING:
    from shoal.kernels.space import Counts, Labels, Places, Reals


@kernel
def nearest_path(left: Left, n: int, steps: int, at: int, label: Labels, path: Places) -> int:
    """Append the point farthest from the average, or the nearest one left, for so many steps.

    ``at`` is how long the path is already. Returns how many points are left.
    """
    for _ in range(steps):
        if n == 0:
            break
        if at == 0:
            t = farthest_from_average(left, n)
        else:
            distances(left.points, n, left.centre, left.modes, left.distance)
            t = smallest(left.distance, left.rows, n, NOT_ONE)
        path[at] = left.rows[t]
        load_point(left.points, t, left.centre, left.modes)
        left.chosen[0] = t
        n = remove_points(left, n, 1, label, 0)
        at += 1
    return n


@kernel
def cheapest_runs(
    points: Points, first: Places, k: int, counts: Counts, sums: Reals, cost: Reals, start: Places
) -> None:
    """Find the runs of k to 2k − 1 points, in this order, with the least squared error.

    ``cost[j]`` becomes the error of the best cut of the first j points, infinite if there is none,
    and ``start[j]`` where its last run begins. ``counts`` of all codes are zero and stay so.
    """
    n = points.numbers.shape[1]
    cost[:] = np.inf
    cost[0] = 0.0
    for i in range(n):
        if cost[i] == np.inf:
            continue
        end = min(n, i + 2 * k - 1)
        sums[:] = 0.0
        squares, alike = 0.0, 0.0
        weight = 0.0
        for j in range(points.levels.shape[0]):
            weight += points.weights[j]
            sums[points.numbers.shape[0] + j] = 0.0  # the most frequent code so far
        for t in range(i, end):
            length = t - i + 1
            for j in range(points.numbers.shape[0]):
                value = points.numbers[j, t]
                sums[j] += value
                squares += value * value
            for j in range(points.levels.shape[0]):
                place = first[j] + points.levels[j, t]
                counts[place] += 1
                most = points.numbers.shape[0] + j
                if counts[place] > sums[most]:
                    sums[most] = counts[place]
                    alike += points.weights[j]
            if length >= k:
                error = squares + weight * length - alike
                for j in range(points.numbers.shape[0]):
                    error -= sums[j] * sums[j] / length
                if cost[i] + error < cost[t + 1]:
                    cost[t + 1] = cost[i] + error
                    start[t + 1] = i
        for t in range(i, end):
            for j in range(points.levels.shape[0]):
                counts[first[j] + points.levels[j, t]] = 0
