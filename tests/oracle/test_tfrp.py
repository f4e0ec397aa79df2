"""TFRP equals a plain version, and what the second phase does lowers the squared error."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.brute import as_groups
from tests.helpers.effort import share
from tests.helpers.random_tables import cases
from tests.oracle.test_mdav import average, between, distance, points_of, run_of
from tests.oracle.test_mhm import error

import shoal
from shoal.algorithm.tfrp import LEAST, TFRP, fixed_size, squared_error


def nearest_mean(points, row, groups):
    return min(groups, key=lambda g: (distance(points, row, *average(points, groups[g])), g))


def plain_first_phase(points, k):
    left, groups = list(range(points.numbers.shape[1])), {}
    corners = [[end(line) for line in points.numbers.tolist()] for end in (min, max)]
    while len(left) >= k:
        corner = corners[len(groups) % 2]
        row = max(
            left,
            key=lambda i: (
                sum((x - c) ** 2 for x, c in zip(points.numbers[:, i], corner, strict=True)),
                -i,
            ),
        )
        group = sorted(left, key=lambda i: (between(points, i, row), i))[:k]
        groups[len(groups)] = group
        left = [i for i in left if i not in group]
    where = [nearest_mean(points, row, groups) for row in left]
    for row, g in zip(left, where, strict=True):
        groups[g] = [*groups[g], row]
    return groups


def plain_second_phase(points, groups):
    least = LEAST * sum(error(points, rows) for rows in groups.values())
    for g in sorted(groups, key=lambda g: (-error(points, groups[g]), g)):
        others = {h: rows for h, rows in groups.items() if h != g}
        if not others:
            break
        where = [nearest_mean(points, row, others) for row in groups[g]]
        tried = {h: [*rows] for h, rows in others.items()}
        for row, h in zip(groups[g], where, strict=True):
            tried[h].append(row)
        before, after = (
            sum(error(points, rows) for rows in some.values()) for some in (groups, tried)
        )
        if after + least < before:
            groups = tried
    return groups


@settings(max_examples=share(60), deadline=None)
@given(case=cases(max_rows=24), k=st.integers(2, 4))
def test_the_groups_are_those_of_the_plain_version(case, k):
    table = case.grouped.table
    if table.n_rows < k:
        return
    points, run = points_of(table), run_of(table, k)
    first = plain_first_phase(points, k)
    assert [sorted(rows.tolist()) for rows in fixed_size(points, run)] == [
        sorted(rows) for rows in first.values()
    ]
    found = TFRP().partition(table, run)
    expected = plain_second_phase(points, first)
    assert as_groups(found) == {frozenset(rows) for rows in expected.values()}
    assert found.sizes.min() >= k
    total = sum(squared_error(points, found.rows_of(g)) for g in range(found.n_groups))
    assert total <= sum(error(points, rows) for rows in first.values()) * (1 + 1e-9)


def test_a_group_of_records_that_lie_elsewhere_is_dissolved():
    numbers = [1, 2, 3, 4, 5, 90, 91, 92, 93]  # 4, 5 and 90 are left together
    options = {"quasi_identifiers": "x", "seed": 1, "shuffle": False, "default_grid": False}
    release = shoal.anonymize(pl.DataFrame({"x": numbers}), 3, algorithm="tfrp", **options)
    assert set(release.frame["x"]) == {"[1-5]", "[90-93]"}
