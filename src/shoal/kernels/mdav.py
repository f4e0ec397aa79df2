"""Clusters around the farthest records (MDAV), of one size or as dense as they are (V-MDAV).

What is left of the points lies side by side; a point that is taken leaves its place to the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.jit import helper, kernel

if TYPE_CHECKING:
    from shoal.kernels.space import Codes, Counts, Flags, Labels, Places, Reals


@bundle
class Points(NamedTuple):
    """Rows as points; coordinates are whole numbers, so sums of squares are exact."""

    numbers: Reals  # float64 [coordinates, rows]
    levels: Codes  # int32 [levels, rows]: equal or not
    weights: Reals  # float64 [levels]: squared distance of two that are not
    absent: Flags  # bool [coordinates]: whether it tells missing values of the one before


@bundle
class Left(NamedTuple):
    """Points that are in no cluster yet, in the first places, and scratch arrays."""

    points: Points
    rows: Places  # int64 [rows]: which row is at each place
    distance: Reals  # float64 [rows]: to whatever was asked for
    near: Reals  # float64 [rows]: moves along
    centre: Reals  # float64 [coordinates]: the point that distances are measured to
    modes: Codes  # int32 [levels]
    counts: Counts  # int64 [codes of all levels]: of what is left
    first: Places  # int64 [levels + 1]: where the codes of each level begin
    chosen: Places  # int64 [k]: places


@helper
def distances(points: Points, n: int, centre: Reals, modes: Labels, out: Reals) -> None:
    """Write the squared distance of the first n points to a point."""
    for t in range(n):
        out[t] = 0.0
    for j in range(points.numbers.shape[0]):
        at = centre[j]
        for t in range(n):
            gap = points.numbers[j, t] - at
            out[t] += gap * gap
    for j in range(points.levels.shape[0]):
        mode = modes[j]
        weight = points.weights[j]
        for t in range(n):
            out[t] += weight if points.levels[j, t] != mode else 0.0


@helper
def load_point(points: Points, t: int, centre: Reals, modes: Labels) -> None:
    """Let distances be measured to the point at place t."""
    for j in range(points.numbers.shape[0]):
        centre[j] = points.numbers[j, t]
    for j in range(points.levels.shape[0]):
        modes[j] = points.levels[j, t]


@helper
def _load_average(left: Left, n: int) -> None:
    """Let distances be measured to the mean, rounded, and the most frequent codes of what is left.

    Ties go to the lowest code.
    """
    points = left.points
    for j in range(points.numbers.shape[0]):
        total = 0.0
        for t in range(n):
            total += points.numbers[j, t]
        left.centre[j] = np.floor(total / n + 0.5)
    for j in range(points.levels.shape[0]):
        best = np.int64(left.first[j])
        for c in range(left.first[j], left.first[j + 1]):
            if left.counts[c] > left.counts[best]:
                best = np.int64(c)
        left.modes[j] = best - left.first[j]


@helper
def _farthest(left: Left, n: int) -> int:
    """Return the place of the largest distance; ties: lowest row."""
    best = np.int64(0)
    for t in range(1, n):
        gap = left.distance[t] - left.distance[best]
        if gap > 0 or (gap == 0 and left.rows[t] < left.rows[best]):
            best = np.int64(t)
    return best


@helper
def smallest(values: Reals, rows: Places, n: int, but: int) -> int:
    """Return the place of the smallest value, but not this one (−1: any); ties: lowest row."""
    best = np.int64(-1)
    for t in range(n):
        if t == but:
            continue
        if (
            best < 0
            or values[t] < values[best]
            or (values[t] == values[best] and rows[t] < rows[best])
        ):
            best = np.int64(t)
    return best


@helper
def nearest_points(left: Left, n: int, k: int) -> None:
    """Choose the places of the k smallest distances; ties: lowest rows."""
    chosen, distance, rows = left.chosen, left.distance, left.rows
    found = 0
    for t in range(n):
        at = distance[t]
        if found == k:
            last = chosen[k - 1]
            if at > distance[last] or (at == distance[last] and rows[t] > rows[last]):
                continue
            found -= 1
        p = found
        while p > 0:
            other = chosen[p - 1]
            if distance[other] < at or (distance[other] == at and rows[other] < rows[t]):
                break
            chosen[p] = other
            p -= 1
        chosen[p] = t
        found += 1


@helper
def remove_points(left: Left, n: int, k: int, label: Labels, group: int) -> int:
    """Give the k chosen points to a group; return how many are left."""
    points, chosen = left.points, left.chosen
    for p in range(1, k):  # the last places first: what moves is then never a chosen one
        place = chosen[p]
        q = p
        while q > 0 and chosen[q - 1] < place:
            chosen[q] = chosen[q - 1]
            q -= 1
        chosen[q] = place
    for p in range(k):
        place = chosen[p]
        label[left.rows[place]] = group
        for j in range(points.levels.shape[0]):
            left.counts[left.first[j] + points.levels[j, place]] -= 1
        n -= 1
        left.rows[place] = left.rows[n]
        left.distance[place] = left.distance[n]
        left.near[place] = left.near[n]
        for j in range(points.numbers.shape[0]):
            points.numbers[j, place] = points.numbers[j, n]
        for j in range(points.levels.shape[0]):
            points.levels[j, place] = points.levels[j, n]
    return n


@helper
def _around(left: Left, t: int, n: int, k: int, label: Labels, group: int) -> int:
    """Form a group of the point at place t and the k − 1 nearest to it."""
    load_point(left.points, t, left.centre, left.modes)
    distances(left.points, n, left.centre, left.modes, left.distance)
    nearest_points(left, n, k)
    return remove_points(left, n, k, label, group)


@helper
def farthest_from_average(left: Left, n: int) -> int:
    """Return the place of the point farthest from the average of what is left."""
    _load_average(left, n)
    distances(left.points, n, left.centre, left.modes, left.distance)
    return _farthest(left, n)


@kernel
def mdav_clusters(
    left: Left, n: int, k: int, rounds: int, label: Labels, group: int
) -> tuple[int, int]:
    """Form clusters for so many rounds; return how many points are left and the next group.

    A round: two clusters around points far from each other. The last round, with fewer than 3k
    points, forms what is left into one or two.
    """
    for _ in range(rounds):
        if n == 0:
            break
        if n >= 2 * k:
            last = n < 3 * k
            n = _around(left, farthest_from_average(left, n), n, k, label, group)
            group += 1
            if not last:
                n = _around(left, _farthest(left, n), n, k, label, group)
                group += 1
                continue
        for t in range(n):
            label[left.rows[t]] = group
        group += 1
        n = 0
    return n, group


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
