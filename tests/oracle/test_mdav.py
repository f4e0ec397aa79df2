"""MDAV and V-MDAV against slow and obvious versions, and what they and refinement guarantee."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share
from tests.helpers.random_tables import cases

from shoal import LDiversity
from shoal.algorithm.mdav import MDAV
from shoal.algorithm.v_mdav import VMDAV
from shoal.errors import OptionError
from shoal.kernels.mdav import Points
from shoal.measure.base import CostModel
from shoal.measure.scores import create_measure
from shoal.search.enforce import enforce, violations
from shoal.search.points import points_of
from shoal.search.refine import EFFORTS, refine_partition
from shoal.search.refine_means import MeansSearch, squared_error
from shoal.search.scan import Run, Scanner
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema


def run_of(table, k, measure="ncp", privacy=()):
    model = CostModel.bind(create_measure(measure), table)
    scanner = Scanner.build(table, model)
    return Run(k, model, scanner, np.random.default_rng(0), privacy=privacy)


def distance(points, row, centre, modes):
    total = sum((x - c) ** 2 for x, c in zip(points.numbers[:, row], centre, strict=True))
    for code, mode, weight in zip(points.levels[:, row], modes, points.weights, strict=True):
        total += weight * (code != mode)
    return total


def between(points, i, j):
    return distance(points, i, points.numbers[:, j], points.levels[:, j])


def average(points, rows):
    centre = np.floor(points.numbers[:, rows].sum(axis=1) / len(rows) + 0.5)
    return centre, [np.bincount(codes[rows]).argmax() for codes in points.levels]


def farthest(points, rows, centre, modes):
    return max(rows, key=lambda i: (distance(points, i, centre, modes), -i))


def plain_mdav(points, k):
    left, groups = list(range(points.numbers.shape[1])), []

    def around(row):
        near = sorted(left, key=lambda i: (between(points, i, row), i))[:k]
        groups.append(sorted(near))
        left[:] = [i for i in left if i not in near]

    while len(left) >= 3 * k:
        r = farthest(points, left, *average(points, left))
        around(r)
        around(max(left, key=lambda i: (between(points, i, r), -i)))
    if len(left) >= 2 * k:
        around(farthest(points, left, *average(points, left)))
    groups.append(sorted(left))
    return groups


def plain_v_mdav(points, k, gamma):
    everybody = list(range(points.numbers.shape[1]))
    middle = average(points, everybody)
    left, groups = list(everybody), []
    while len(left) >= k:
        first = farthest(points, left, *middle)
        group = sorted(left, key=lambda i: (between(points, i, first), i))[:k]
        left = [i for i in left if i not in group]
        while len(group) < 2 * k - 1 and left:
            inside = {i: min(between(points, i, j) for j in group) for i in left}
            closest = min(left, key=lambda i: (inside[i], i))
            outside = [between(points, closest, j) for j in left if j != closest]
            if outside and not inside[closest] < gamma**2 * min(outside):
                break
            group.append(closest)
            left.remove(closest)
        groups.append(group)
    placed = [i for group in groups for i in group]
    for i in left:
        closest = min(placed, key=lambda j: (between(points, i, j), j))
        next(group for group in groups if closest in group).append(i)
    return [sorted(group) for group in groups]


def as_groups(partition):
    return [partition.rows_of(g).tolist() for g in range(partition.n_groups)]


@settings(max_examples=share(60))
@given(case=cases(max_rows=24), k=st.integers(2, 4))
def test_mdav_forms_the_groups_of_the_plain_version(case, k):
    table = case.grouped.table
    if table.n_rows >= k:
        found = MDAV().partition(table, run_of(table, k))
        assert as_groups(found) == plain_mdav(points_of(table), k)
        assert found.sizes.min() >= k
        assert found.sizes.max() < 2 * k


@settings(max_examples=share(60))
@given(case=cases(max_rows=20), k=st.integers(2, 4), gamma=st.sampled_from([0.0, 0.2, 1.1, 3.0]))
def test_v_mdav_forms_the_groups_of_the_plain_version(case, k, gamma):
    table = case.grouped.table
    if table.n_rows >= k:
        found = VMDAV(gamma=gamma).partition(table, run_of(table, k))
        assert as_groups(found) == plain_v_mdav(points_of(table), k, gamma)
        assert found.sizes.min() >= k


def test_v_mdav_lets_dense_groups_grow_and_mdav_tears_them():
    table = numeric_table(np.array([0, 1, 2, 3, 100, 101, 102, 200, 201, 202, 203]))
    grown = VMDAV(gamma=1.1).partition(table, run_of(table, 3))
    torn = MDAV().partition(table, run_of(table, 3))
    assert sorted(as_groups(grown)) == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9, 10]]
    points = points_of(table)
    assert squared_error(points, grown) < squared_error(points, torn)


@pytest.mark.parametrize("gamma", [-0.1, None, "much", float("nan"), True])
def test_a_gamma_that_is_no_number_of_at_least_0_is_refused(gamma):
    with pytest.raises(OptionError, match="gamma of 'v-mdav'"):
        VMDAV(gamma=gamma)


def test_squared_distances_are_whole_and_exact_whatever_the_weights():
    rng = np.random.default_rng(3)
    table = numeric_table(*np.exp(3 * rng.normal(size=(4, 400))), weights=(1.0, 7.3, 0.01, 2.0))
    points = points_of(table)
    assert np.array_equal(points.numbers, np.rint(points.numbers))
    spans = np.ptp(points.numbers, axis=1)
    assert 2.0**50 < np.sum(spans**2) < 2.0**53


# -- refinement ----------------------------------------------------------------------------------


def numeric_table(*columns, sensitive=None, weights=None):
    import polars as pl

    names = [f"x{j}" for j in range(len(columns))]
    weights = weights or [1.0] * len(columns)
    schema = [
        Column(name=name, role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC, weight=weight)
        for name, weight in zip(names, weights, strict=True)
    ]
    data = {name: pl.Series(list(c), strict=False) for name, c in zip(names, columns, strict=True)}
    if sensitive is not None:
        data["sick"] = pl.Series(sensitive)
        schema.append(Column(name="sick", role=Role.SENSITIVE))
    return encode(pl.DataFrame(data), Schema(tuple(schema)))


def refined(table, start, run, effort):
    return refine_partition(table, start, run, EFFORTS[effort])


def error_of(points, groups):
    total = 0.0
    for rows in groups:
        own = points.numbers[:, list(rows)]
        total += float(((own - own.mean(axis=1, keepdims=True)) ** 2).sum())
    return total


def partitions(rows, k):
    """All ways to part rows into groups of at least k."""
    if len(rows) < 2 * k:
        yield [rows]
        return
    yield [rows]
    first, rest = rows[0], rows[1:]
    for size in range(k - 1, len(rows) - k):
        for others in itertools.combinations(rest, size):
            left = [i for i in rest if i not in others]
            for more in partitions(left, k):
                yield [[first, *others], *more]


@settings(max_examples=share(25), deadline=None)
@given(
    columns=st.lists(st.lists(st.integers(0, 30), min_size=9, max_size=9), min_size=1, max_size=3),
    k=st.integers(2, 4),
)
def test_refinement_never_raises_the_error_and_the_optimum_is_never_beaten(columns, k):
    table = numeric_table(*columns)
    run = run_of(table, k, "sse")
    points = run.scanner.points
    start = MDAV().partition(table, run)
    ended = refined(table, start, run, "best")
    assert ended.sizes.min() >= k
    optimum = min(error_of(points, groups) for groups in partitions(list(range(9)), k))
    assert squared_error(points, start) >= squared_error(points, ended) >= optimum * (1 - 1e-12)


def one_move_better(points, partition, k):
    """Whether moving one row, or swapping two, lowers the error."""
    labels, now = partition.labels, squared_error(points, partition)
    tried = []
    for i in range(len(labels)):
        if partition.sizes[labels[i]] > k:
            for h in range(partition.n_groups):
                moved = labels.copy()
                moved[i] = h
                tried.append(moved)
        for j in range(i):
            swapped = labels.copy()
            swapped[[i, j]] = labels[[j, i]]
            tried.append(swapped)
    return any(squared_error(points, Partition.from_labels(t)) < now * (1 - 1e-6) for t in tried)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_no_single_move_or_swap_is_left_that_pays(k):
    rng = np.random.default_rng(k)
    table = numeric_table(*rng.normal(size=(3, 40)))
    run = run_of(table, k, "sse")
    start = Partition.from_labels(np.arange(40) // k % (40 // k))
    assert one_move_better(run.scanner.points, start, k)
    ended = refined(table, start, run, "best")
    assert not one_move_better(run.scanner.points, ended, k)


def test_refinement_keeps_promises_and_the_sums_of_its_groups():
    rng = np.random.default_rng(5)
    sick = rng.choice(["a", "b", "c"], 120, p=[0.6, 0.3, 0.1]).tolist()
    table = numeric_table(*rng.normal(size=(4, 120)), sensitive=sick)
    promises = (LDiversity(2, kind="distinct"),)
    run = run_of(table, 4, "sse", promises)
    start = enforce(table, MDAV().partition(table, run), run.scanner, 4, promises, run.progress)
    search = MeansSearch(table, start, run, EFFORTS["best"])
    ended = search.run()
    assert not violations(table, ended, 4, promises).any()
    assert squared_error(run.scanner.points, ended) < squared_error(run.scanner.points, start)
    for g in np.flatnonzero(search.groups.size):
        rows = search.groups.label == g
        assert search.groups.size[g] == rows.sum()
        assert search.means.sums[:, g] == pytest.approx(search.numbers[:, rows].sum(axis=1))


def test_refinement_parts_missing_values_from_others():
    values = [None, None, *range(20), None, None]
    table = numeric_table(values)
    run = run_of(table, 2, "sse")
    start = Partition.from_labels(np.arange(24) % 6)
    ended = refined(table, start, run, "best")
    gone = table.attributes[0].codes == table.attributes[0].size
    assert all(gone[rows].all() or not gone[rows].any() for rows in as_groups(ended))


def test_more_effort_never_leaves_a_larger_error_and_all_of_it_helps():
    rng = np.random.default_rng(8)
    table = numeric_table(*np.exp(rng.normal(size=(5, 300))))
    run = run_of(table, 5, "sse")
    start = MDAV().partition(table, run)
    errors = [squared_error(run.scanner.points, start)]
    found = start
    for effort in EFFORTS:
        found = refined(table, found, run, effort)
        errors.append(squared_error(run.scanner.points, found))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.95 * errors[0]
    assert isinstance(run.scanner.points, Points)
