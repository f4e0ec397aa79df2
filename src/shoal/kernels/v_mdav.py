"""Clusters that grow while their neighbourhood is dense (V-MDAV)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.mdav import (
    Left,
    Points,
    distances,
    load_point,
    nearest_points,
    remove_points,
    smallest,
)

if TYPE_CHECKING:
    from shoal.kernels.space import Labels, Places


NOT_ONE = np.int64(-1)


@kernel
def v_mdav_clusters(
    points: Points,
    left: Left,
    order: Places,
    n: int,
    k: int,
    gamma: float,
    state: tuple[Labels, Places],
) -> int:
    """Form clusters until a slice of work is done or fewer than k points are left.

    Args:
        points: all rows.
        left: those in no cluster yet.
        order: rows, the farthest from the centroid of all first.
        n: how many are left.
        k: rows of a cluster at least.
        gamma: a cluster grows by a point closer to it than gamma times to any other that is left.
        state: label of every row; then the next group; then how many groups to form.

    Returns how many points are left.
    """
    label, counters = state
    at = 0
    while n >= k and counters[1] > 0:
        counters[1] -= 1
        while label[order[at]] >= 0:
            at += 1
        load_point(points, order[at], left.centre, left.modes)
        distances(left.points, n, left.centre, left.modes, left.distance)
        nearest_points(left, n, k)
        group = counters[0]
        size = k
        # remove_points sorts the places, so the members are noted as rows first
        for p in range(k):
            left.chosen[k + p] = left.rows[left.chosen[p]]
        for t in range(n):
            left.near[t] = left.distance[t]
        n = remove_points(left, n, k, label, group)
        for p in range(k, 2 * k):
            load_point(points, left.chosen[p], left.centre, left.modes)
            distances(left.points, n, left.centre, left.modes, left.distance)
            for t in range(n):
                left.near[t] = min(left.near[t], left.distance[t])
        while size < 2 * k - 1 and n > 0:
            t = smallest(left.near, left.rows, n, NOT_ONE)
            load_point(left.points, t, left.centre, left.modes)
            distances(left.points, n, left.centre, left.modes, left.distance)
            other = smallest(left.distance, left.rows, n, t)
            if other >= 0 and not left.near[t] < gamma * gamma * left.distance[other]:
                break
            for q in range(n):
                left.near[q] = min(left.near[q], left.distance[q])
            left.chosen[0] = t
            n = remove_points(left, n, 1, label, group)
            size += 1
        counters[0] += 1
    return n


@kernel
def closest_rows(points: Points, rows: Places, label: Labels, left: Left, found: Labels) -> None:
    """Write the group of the closest row that has one, for each of these; ties: lowest row."""
    n = points.numbers.shape[1]
    for p in range(rows.shape[0]):
        load_point(points, rows[p], left.centre, left.modes)
        distances(points, n, left.centre, left.modes, left.distance)
        best = np.int64(-1)
        for i in range(n):
            if label[i] >= 0 and (best < 0 or left.distance[i] < left.distance[best]):
                best = np.int64(i)
        found[p] = label[best]
