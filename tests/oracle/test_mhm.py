"""MHM: the path is that of a plain version, and no other cut of it has a smaller error."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share
from tests.helpers.random_tables import cases
from tests.oracle.test_mdav import average, between, farthest, points_of, run_of

import shoal
from shoal.algorithm.mhm import MHM, path_of_nearest


def plain_path(points):
    left = list(range(points.numbers.shape[1]))
    path = [farthest(points, left, *average(points, left))]
    left.remove(path[0])
    while left:
        path.append(min(left, key=lambda i: (between(points, i, path[-1]), i)))
        left.remove(path[-1])
    return path


def error(points, rows):
    """Squared error around the mean, and around the most frequent code of each level."""
    numbers = points.numbers[:, rows]
    total = ((numbers - numbers.mean(axis=1, keepdims=True)) ** 2).sum()
    for codes, weight in zip(points.levels, points.weights, strict=True):
        total += weight * (len(rows) - np.bincount(codes[rows]).max())
    return float(total)


def least_error(points, path, k):
    """Try every cut."""
    if not path:
        return 0.0
    return min(
        (
            error(points, path[:size]) + least_error(points, path[size:], k)
            for size in range(k, min(2 * k, len(path) + 1))
        ),
        default=np.inf,
    )


@settings(max_examples=share(60), deadline=None)
@given(case=cases(max_rows=14), k=st.integers(2, 4))
def test_no_cut_of_the_path_has_a_smaller_error(case, k):
    table = case.grouped.table
    if table.n_rows < k:
        return
    points, run = points_of(table), run_of(table, k)
    path = plain_path(points)
    assert path_of_nearest(points, run).tolist() == path
    found = MHM().partition(table, run)
    groups = [found.rows_of(g).tolist() for g in range(found.n_groups)]
    places = [sorted(path.index(row) for row in group) for group in groups]
    assert [p for group in places for p in group] == list(range(table.n_rows))  # runs, in order
    assert all(k <= len(group) < 2 * k for group in groups)
    reached = sum(error(points, group) for group in groups)
    scale = max(error(points, path), 1.0)
    assert abs(reached - least_error(points, path, k)) <= 1e-9 * scale


def test_one_column_in_two_lumps_is_cut_between_them():
    numbers = [1, 2, 3, 4, 5, 90, 91, 92]
    release = shoal.anonymize(
        pl.DataFrame({"x": numbers}), 3, quasi_identifiers="x", algorithm="mhm", seed=1,
        shuffle=False, default_grid=False,
    )  # fmt: skip
    assert release.frame["x"].to_list() == ["[1-5]"] * 5 + ["[90-92]"] * 3
