"""r-gather keeps what the paper proves: twice the best radius, found by trying everything."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.helpers.brute import make_run, row_cost, small_tables
from tests.helpers.effort import share

from shoal.algorithm import r_gather
from shoal.algorithm.r_gather import RGather


def pair_costs(table, run):
    def cost(i, j):
        return 0 if i == j else row_cost(table, run.scanner, run.model, [i, j])

    return [[cost(i, j) for j in range(table.n_rows)] for i in range(table.n_rows)]


def can_assign(rows, centres, far, reach, k):
    """Whether all rows fit: each within reach of its centre, k or more for every centre."""
    allowed = [[c for c in centres if far[row][c] <= reach] for row in rows]
    if not all(allowed):
        return False

    def place(row, sizes):
        if row == len(rows):
            return all(size >= k for size in sizes.values())
        missing = sum(max(0, k - size) for size in sizes.values())
        if missing > len(rows) - row:
            return False
        return any(place(row + 1, {**sizes, c: sizes[c] + 1}) for c in allowed[row])

    return place(0, dict.fromkeys(centres, 0))


def best_radius(far, k):
    rows = range(len(far))
    for reach in sorted({cost for costs in far for cost in costs}):
        for number in range(1, len(rows) // k + 1):
            for centres in combinations(rows, number):
                if can_assign(rows, centres, far, reach, k):
                    return reach
    raise AssertionError("one centre always does")


def radius_of(far, group):
    """The smallest distance within which some record of all has the whole group."""
    return min(max(far[row][centre] for row in group) for centre in group)


@pytest.mark.parametrize("measure", ["ncp", "lm"])
def test_the_largest_radius_is_at_most_twice_the_best(measure):
    several = 0
    for seed, table in enumerate(small_tables(43, count=30, max_rows=10)):
        k = 2 + seed % 3
        part = table.take(np.arange(min(table.n_rows, 9)))
        run = make_run(part, measure, k, seed)
        far = pair_costs(part, run)
        found = RGather().partition(part, run)
        assert found.sizes.min() >= k
        radius = max(radius_of(far, found.rows_of(g).tolist()) for g in range(found.n_groups))
        assert radius <= 2 * best_radius(far, k) + 1, (seed, k)
        several += found.n_groups > 1
    assert several > share(8, least=1)


def test_a_row_is_passed_on_so_that_every_centre_has_enough():
    # centre 0 takes rows 0 and 1 first; centre 1 has but row 1 and itself
    within = [np.array([0, 1, 2]), np.array([1, 3])]
    owner = np.full(4, r_gather.FREE)
    for centre in (0, 1):
        for _ in range(2):
            assert r_gather._augment(within, owner, centre)
    assert owner.tolist() == [0, 1, 0, 1]
    assert not r_gather._augment(within, owner, 1)
    assert owner.tolist() == [0, 1, 0, 1]
