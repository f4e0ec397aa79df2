"""Local search on the means of groups: rows change places, neighbouring groups are formed anew.

The cost of a group is Σ |x − mean|². Rows move between groups as in `refine.py`, with the same
checks of k people and every model; closures play no part. Gains are floats: a move is made only if
it gains more than ``least``, far more than a sum of so many terms is off, whatever its order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.kernels.bundle import bundle
from shoal.kernels.groups import Groups, holds_with, put_in, spares, take_out
from shoal.kernels.jit import helper, kernel
from shoal.kernels.private import Rules, group_holds

if TYPE_CHECKING:
    from shoal.kernels.space import Counts, Labels, Places, Reals


JOINS, LEAVES = np.int64(1), np.int64(-1)
TRIES = 3
PASSES = 8


@bundle
class Means(NamedTuple):
    """Rows as points, and the sums of every group."""

    points: Reals  # float64 [rows, coordinates]
    sums: Reals  # float64 [coordinates, groups]
    centre: Reals  # float64 [coordinates, groups]: sums by size
    classes: Labels  # int32 [rows]: zeros
    least: float  # what a move has to gain


@bundle
class MeansScratch(NamedTuple):
    """Room for one neighbourhood: its rows, and groups of these."""

    gap: Reals  # float64 [groups]
    near: Places  # int64 [nearest groups]
    hist: Counts  # int64 [sensitive values]
    rows: Places  # int64 [most rows of a neighbourhood]
    was: Places  # int64 [the same]: group of each
    own: Places  # int64 [the same]: group in the neighbourhood, by try
    best: Places  # int64 [the same]
    away: Reals  # float64 [the same]
    sums: Reals  # float64 [groups of a neighbourhood, coordinates]
    mean: Reals  # float64 [the same]: sums by size
    sizes: Counts  # int64 [groups of a neighbourhood]
    places: Places  # int64 [groups of a neighbourhood]


@helper
def _from_centres(means: Means, groups: Groups, i: int, gap: Reals) -> None:
    """Write the squared distance of row i to the mean of each group."""
    n = groups.size.shape[0]
    for h in range(n):
        gap[h] = 0.0
    for j in range(means.points.shape[1]):
        at = means.points[i, j]
        for h in range(n):
            d = means.centre[j, h] - at
            gap[h] += d * d


@helper
def _nearest(groups: Groups, gap: Reals, but: int, near: Places, wanted: int) -> int:
    """Write up to so many groups with the smallest gaps, but not this one; return how many."""
    found = 0
    for h in range(groups.size.shape[0]):
        if groups.size[h] <= 0 or h == but:
            continue
        if found == wanted:
            if gap[h] >= gap[near[found - 1]]:
                continue
            found -= 1
        p = found
        while p > 0 and gap[near[p - 1]] > gap[h]:
            near[p] = near[p - 1]
            p -= 1
        near[p] = h
        found += 1
    return found


@helper
def _between(points: Reals, i: int, j: int) -> float:
    total = 0.0
    for c in range(points.shape[1]):
        d = points[i, c] - points[j, c]
        total += d * d
    return total


@helper
def _from_centre(means: Means, i: int, g: int) -> float:
    total = 0.0
    for c in range(means.points.shape[1]):
        d = means.points[i, c] - means.centre[c, g]
        total += d * d
    return total


@helper
def _shift(means: Means, groups: Groups, rules: Rules, i: int, h: int) -> None:
    """Move row i to group h."""
    g = np.int64(groups.label[i])
    take_out(groups, rules, means.classes, i)
    put_in(groups, rules, means.classes, i, h)
    for c in range(means.points.shape[1]):
        at = means.points[i, c]
        means.sums[c, g] -= at
        means.sums[c, h] += at
        means.centre[c, g] = means.sums[c, g] / groups.size[g] if groups.size[g] > 0 else 0.0
        means.centre[c, h] = means.sums[c, h] / groups.size[h]


@helper
def _stands(groups: Groups, rules: Rules, g: int, k: int) -> bool:
    """Return whether group g has k people and keeps the models."""
    if groups.people[g] < k:
        return False
    return rules.kinds.shape[0] == 0 or group_holds(groups.phist[g], rules)


@helper
def _relocate(
    means: Means, groups: Groups, rules: Rules, i: int, k: int, scratch: MeansScratch
) -> bool:
    """Move row i to the group where it raises the error least, if that pays."""
    g = np.int64(groups.label[i])
    size = groups.size[g]
    gap = scratch.gap
    if size < 2 or not spares(groups, g, i, k):
        return False
    least = gap[g] * size / (size - 1) - means.least
    best = np.int64(-1)
    for h in range(groups.size.shape[0]):
        other = groups.size[h]
        if (
            other > 0
            and h != g
            and gap[h] * other < least * (other + 1)
            and holds_with(groups, rules, h, i, JOINS, scratch.hist)
        ):
            least = gap[h] * other / (other + 1)
            best = np.int64(h)
    if best < 0 or not holds_with(groups, rules, g, i, LEAVES, scratch.hist):
        return False
    _shift(means, groups, rules, i, best)
    return True


@helper
def _swap(
    means: Means, groups: Groups, rules: Rules, i: int, k: int, scratch: MeansScratch
) -> bool:
    """Swap row i with a row of a group nearby, if that pays."""
    g = np.int64(groups.label[i])
    gap = scratch.gap
    found = _nearest(groups, gap, g, scratch.near, scratch.near.shape[0])
    best = -means.least
    partner = np.int64(-1)
    for p in range(found):
        h = scratch.near[p]
        share = 1.0 / groups.size[g] + 1.0 / groups.size[h]
        j = groups.head[h]
        while j >= 0:
            across = _from_centre(means, j, g)
            change = gap[h] - gap[g] + across - _from_centre(means, j, h)
            # a square is at most twice the squares of its two parts: most pairs end here
            if change - 2.0 * share * (gap[g] + across) < best:
                change -= share * _between(means.points, i, j)
                if change < best:
                    best = change
                    partner = np.int64(j)
            j = groups.after[j]
    if partner < 0:
        return False
    h = np.int64(groups.label[partner])
    _shift(means, groups, rules, i, h)
    _shift(means, groups, rules, partner, g)
    if _stands(groups, rules, g, k) and _stands(groups, rules, h, k):
        return True
    _shift(means, groups, rules, partner, h)
    _shift(means, groups, rules, i, g)
    return False


@kernel
def move_rows(
    means: Means, groups: Groups, rules: Rules, order: Places, k: int, scratch: MeansScratch
) -> int:
    """Move or swap these rows, in order, where that lowers the error; return how many were."""
    moved = 0
    for t in range(order.shape[0]):
        i = order[t]
        _from_centres(means, groups, i, scratch.gap)
        if _relocate(means, groups, rules, i, k, scratch) or _swap(
            means, groups, rules, i, k, scratch
        ):
            moved += 1
    return moved


@helper
def _start_sums(means: Means, n: int, n_groups: int, scratch: MeansScratch) -> None:
    """Sum up the groups of the neighbourhood."""
    for q in range(n_groups):
        scratch.sizes[q] = 0
        for c in range(means.points.shape[1]):
            scratch.sums[q, c] = 0.0
    for p in range(n):
        q = scratch.own[p]
        scratch.sizes[q] += 1
        for c in range(means.points.shape[1]):
            scratch.sums[q, c] += means.points[scratch.rows[p], c]
    for q in range(n_groups):
        _divide(scratch, q)


@helper
def _divide(scratch: MeansScratch, q: int) -> None:
    for c in range(scratch.sums.shape[1]):
        scratch.mean[q, c] = scratch.sums[q, c] / scratch.sizes[q]


@helper
def _from_mean(means: Means, scratch: MeansScratch, p: int, q: int) -> float:
    """Return the squared distance of a row of the neighbourhood to the mean of a group of it."""
    total = 0.0
    row = scratch.rows[p]
    for c in range(means.points.shape[1]):
        d = means.points[row, c] - scratch.mean[q, c]
        total += d * d
    return total


@helper
def _error(means: Means, n: int, scratch: MeansScratch) -> float:
    total = 0.0
    for p in range(n):
        total += _from_mean(means, scratch, p, scratch.own[p])
    return total


@helper
def _lay_out(
    means: Means, n: int, n_groups: int, k: int, first: int, scratch: MeansScratch
) -> None:
    """Form groups of k around far rows, as MDAV does; the last one has the rest.

    ``first`` is the row of the neighbourhood that the first group is formed around (−1: the one
    farthest from the mean of all).
    """
    own, away, points = scratch.own, scratch.away, means.points
    for p in range(n):
        own[p] = n_groups - 1
    left = n
    for q in range(n_groups - 1):
        seed = first
        if q > 0 or first < 0:
            for c in range(points.shape[1]):
                scratch.sums[0, c] = 0.0
            for p in range(n):
                if own[p] == n_groups - 1:
                    for c in range(points.shape[1]):
                        scratch.sums[0, c] += points[scratch.rows[p], c]
            scratch.sizes[0] = left
            _divide(scratch, np.int64(0))
            seed = np.int64(-1)
            most = -1.0
            for p in range(n):
                if own[p] == n_groups - 1:
                    far = _from_mean(means, scratch, p, np.int64(0))
                    if far > most:
                        most = far
                        seed = np.int64(p)
        for p in range(n):
            away[p] = _between(points, scratch.rows[seed], scratch.rows[p])
        for _ in range(k):
            best = np.int64(-1)
            for p in range(n):
                if own[p] == n_groups - 1 and (best < 0 or away[p] < away[best]):
                    best = np.int64(p)
            own[best] = q
        left -= k
    _start_sums(means, n, n_groups, scratch)


@helper
def _give(means: Means, scratch: MeansScratch, p: int, q: int) -> None:
    """Move a row of the neighbourhood to another group of it."""
    old = scratch.own[p]
    scratch.own[p] = q
    scratch.sizes[old] -= 1
    scratch.sizes[q] += 1
    for c in range(means.points.shape[1]):
        at = means.points[scratch.rows[p], c]
        scratch.sums[old, c] -= at
        scratch.sums[q, c] += at
    _divide(scratch, old)
    _divide(scratch, q)


@helper
def _settle(means: Means, n: int, n_groups: int, k: int, scratch: MeansScratch) -> None:
    """Move and swap rows within the neighbourhood until nothing pays."""
    own, sizes = scratch.own, scratch.sizes
    for _ in range(PASSES):
        moved = False
        for p in range(n):
            q = own[p]
            mine = _from_mean(means, scratch, p, q)
            if sizes[q] > k:
                least = mine * sizes[q] / (sizes[q] - 1) - means.least
                to = np.int64(-1)
                for r in range(n_groups):
                    if r != q:
                        rise = _from_mean(means, scratch, p, r) * sizes[r] / (sizes[r] + 1)
                        if rise < least:
                            least = rise
                            to = np.int64(r)
                if to >= 0:
                    _give(means, scratch, p, to)
                    moved = True
                    continue
            best = -means.least
            partner = np.int64(-1)
            for r in range(n_groups):
                if r == q:
                    continue
                theirs = _from_mean(means, scratch, p, r)
                share = 1.0 / sizes[q] + 1.0 / sizes[r]
                for s in range(n):
                    if own[s] != r:
                        continue
                    across = _from_mean(means, scratch, s, q)
                    change = theirs - mine + across - _from_mean(means, scratch, s, r)
                    # a square is at most twice the squares of its two parts: most pairs end here
                    if change - 2.0 * share * (mine + across) >= best:
                        continue
                    change -= share * _between(means.points, scratch.rows[p], scratch.rows[s])
                    if change < best:
                        best = change
                        partner = np.int64(s)
            if partner >= 0:
                r = own[partner]
                _give(means, scratch, p, r)
                _give(means, scratch, partner, q)
                moved = True
        if not moved:
            break


@helper
def _gather(groups: Groups, places: Places, n_places: int, scratch: MeansScratch) -> int:
    """Note the rows of these groups; −1 if there are too many."""
    n = 0
    for q in range(n_places):
        p = groups.head[places[q]]
        while p >= 0:
            if n == scratch.rows.shape[0]:
                return -1
            scratch.rows[n] = p
            scratch.was[n] = places[q]
            scratch.own[n] = q
            n += 1
            p = groups.after[p]
    return n


@helper
def _free_places(groups: Groups, scratch: MeansScratch, known: int, wanted: int) -> int:
    """Add places without a group until there are as many as wanted; return how many there are."""
    h = 0
    while known < wanted and h < groups.size.shape[0]:
        if groups.size[h] == 0:
            scratch.places[known] = h
            known += 1
        h += 1
    return known


@helper
def _apply(
    means: Means, groups: Groups, rules: Rules, n: int, n_groups: int, k: int, scratch: MeansScratch
) -> bool:
    """Make the best groups of the neighbourhood those of its rows, if all of them may stand."""
    for p in range(n):
        if scratch.places[scratch.best[p]] != scratch.was[p]:
            _shift(means, groups, rules, scratch.rows[p], scratch.places[scratch.best[p]])
    fine = True
    for q in range(n_groups):
        h = scratch.places[q]
        fine = fine and (groups.size[h] == 0 or _stands(groups, rules, h, k))
    if not fine:
        for p in range(n):
            if scratch.places[scratch.best[p]] != scratch.was[p]:
                _shift(means, groups, rules, scratch.rows[p], scratch.was[p])
    return fine


@kernel
def rebuild_near(
    means: Means,
    groups: Groups,
    rules: Rules,
    seeds: Places,
    k: int,
    n_near: int,
    scratch: MeansScratch,
) -> int:
    """Form the group of each of these rows and the n_near nearest anew, if that pays.

    Several ways are tried: as many groups of k as there can be, around far rows or around the row
    itself, and one group fewer. Returns how many neighbourhoods are better now.
    """
    better = 0
    for t in range(seeds.shape[0]):
        g = np.int64(groups.label[seeds[t]])
        _from_centres(means, groups, seeds[t], scratch.gap)
        found = _nearest(groups, scratch.gap, g, scratch.near, n_near)
        scratch.places[0] = g
        for p in range(found):
            scratch.places[p + 1] = scratch.near[p]
        n = _gather(groups, scratch.places, found + 1, scratch)
        if n < 2 * k:
            continue
        _start_sums(means, n, found + 1, scratch)
        least = _error(means, n, scratch) - means.least
        at = np.int64(0)
        while scratch.rows[at] != seeds[t]:
            at += 1
        improved = 0
        for way in range(TRIES):
            n_groups = n // k - (1 if way == 2 else 0)
            if n_groups < 1 or n_groups > scratch.sums.shape[0]:
                continue
            if way == 2 and n > n_groups * (2 * k - 1):
                continue
            _lay_out(means, n, n_groups, k, np.int64(-1) if way == 0 else at, scratch)
            _settle(means, n, n_groups, k, scratch)
            error = _error(means, n, scratch)
            if error < least:
                least = error
                improved = n_groups
                for p in range(n):
                    scratch.best[p] = scratch.own[p]
        if improved == 0:
            continue
        if _free_places(groups, scratch, np.int64(found + 1), improved) < improved:
            continue
        if _apply(means, groups, rules, n, max(improved, found + 1), k, scratch):
            better += 1
    return better
