"""KACA against a plain reading of Li et al.'s Algorithm 1."""

import functools

import numpy as np
import polars as pl
import pytest
from tests.helpers.brute import MEASURES, as_groups, charge, closure_cost, make_run, small_tables
from tests.helpers.effort import share

import shoal
from shoal.algorithm.kaca import KACA
from shoal.errors import OptionError
from shoal.hierarchy import Taxonomy
from shoal.search.suppress import everything_cost
from shoal.table.encode import encode
from shoal.table.schema import Column, Kind, Role, Schema


def whole_cost(scanner):
    return int(everything_cost(scanner).max())


def kaca(table, run, outlier_distance=None):  # noqa: C901 - one loop, as published
    """Algorithm 1 with lists.

    A class is its rows and the rows it was generalised from, whose closure is its current tuple.
    """
    k, rng, scanner = run.k, run.rng, run.scanner

    @functools.cache
    def cost(basis):
        return closure_cost(table, scanner, run.model, sorted(basis))

    classes = {}
    for row in range(table.n_rows):
        classes.setdefault(tuple(int(a.codes[row]) for a in table.attributes), []).append(row)
    rows = dict(enumerate(classes.values()))
    basis = {c: frozenset(members) for c, members in rows.items()}
    small = [c for c in rows if len(rows[c]) < k]
    room = min(table.n_rows - k, run.max_suppressed or table.n_rows)
    limit = None if outlier_distance is None else int(outlier_distance * whole_cost(scanner))

    def distance(c, h):
        common = cost(basis[c] | basis[h])
        own, other = (charge(scanner, common, rows[g]) for g in (c, h))
        own -= charge(scanner, cost(basis[c]), rows[c])
        other -= charge(scanner, cost(basis[h]), rows[h])
        if len(rows[c]) + len(rows[h]) >= 2 * k:  # only a stub of h joins
            other = (k - len(rows[c])) * other // len(rows[h])
        return own + other

    def too_far(c, h, limit):
        both = len(rows[c]) + len(rows[h])
        return limit is not None and distance(c, h) > limit * (k if both >= 2 * k else both)

    while small:
        c = small[int(rng.random() * len(small))]
        h = min((h for h in rows if h != c), key=lambda h: (distance(c, h), h))
        joining = rows[h]
        if too_far(c, h, limit) and len(rows[c]) <= room:
            room -= len(rows.pop(c))
            small[small.index(c)] = small[-1]
            small.pop()
            continue
        basis[c] |= basis[h]
        if len(rows[c]) + len(rows[h]) >= 2 * k:
            n_stub = k - len(rows[c])
            for i in range(n_stub):
                j = i + int(rng.random() * (len(joining) - i))
                joining[i], joining[j] = joining[j], joining[i]
            joining, rows[h] = joining[:n_stub], joining[n_stub:]
        else:
            del rows[h]
        rows[c] = rows[c] + joining
        gone = [g for g in (h, c) if g in small and (g not in rows or len(rows[g]) >= k)]
        for g in gone:
            small[small.index(g)] = small[-1]
            small.pop()
    return {frozenset(members) for members in rows.values()}


@pytest.mark.parametrize("measure", [*MEASURES, "whd", "whd-height"])
def test_kaca_equals_its_plain_twin_group_for_group(measure):
    for number, table in enumerate(small_tables(31, count=50)):
        k = 2 + number % 4
        expected = kaca(table, make_run(table, measure, k, number))
        found = KACA().partition(table, make_run(table, measure, k, number))
        assert as_groups(found) == expected


@pytest.mark.parametrize("measure", ["whd", "ncp", "pmi"])
@pytest.mark.parametrize("allowed", [None, 5])
def test_outliers_of_kaca_are_those_of_the_plain_twin(measure, allowed):
    suppressed = kept = 0
    for number, table in enumerate(small_tables(33, count=40)):
        k, far = 2 + number % 4, (0.0, 0.1, 0.2, 0.35)[number % 4]
        runs = [make_run(table, measure, k, number, max_suppressed=allowed) for _ in range(2)]
        expected = kaca(table, runs[0], far)
        found = KACA(outlier_distance=far).partition(table, runs[1])
        assert as_groups(found) == expected
        assert found.n_suppressed == table.n_rows - sum(map(len, expected))
        assert allowed is None or found.n_suppressed <= allowed
        suppressed += found.n_suppressed
        kept += table.n_rows - found.n_suppressed
    assert suppressed > share(40, least=1)
    assert kept > share(40, least=1)


def test_kaca_suppresses_a_class_that_is_far_from_all_others_and_no_other():
    ages = [20, 20, 21, 21, 22, 22, 90]
    frame = pl.DataFrame({"age": ages})
    options = {"quasi_identifiers": "age", "algorithm": "kaca", "measure": "ncp", "seed": 1}
    without = shoal.anonymize(frame, 2, **options)
    release = shoal.anonymize(frame, 2, **options, algorithm_options={"outlier_distance": 0.1})
    assert without.n_suppressed == 0
    assert release.groups[-1] == -1
    assert release.n_suppressed == 1
    assert release.scores["ncp"] < without.scores["ncp"]


@pytest.mark.parametrize("value", [-0.1, 1.5, True, "far"])
def test_the_distance_of_outliers_lies_between_0_and_1(value):
    with pytest.raises(
        OptionError, match="outlier_distance of 'kaca' must be a number from 0 to 1"
    ):
        KACA(outlier_distance=value)


def few_values(n_rows):
    """Encode a table with large classes, so that stubs are cut."""
    values = np.random.default_rng(3).choice(["a"] * 12 + ["b"] * 6 + ["c", "d", "e"], n_rows)
    frame = pl.DataFrame({"v": values, "sick": ["flu", "none"] * (n_rows // 2)})
    columns = (
        Column(
            name="v",
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.CATEGORICAL,
            hierarchy=Taxonomy.from_paths([(v, "x" if v < "d" else "y", "*") for v in "abcde"]),
        ),
        Column(name="sick", role=Role.SENSITIVE),
    )
    return encode(frame, Schema(columns))


@pytest.mark.parametrize("measure", ["whd", "pmi"])
def test_stubs_are_the_same_rows_as_in_the_plain_twin(measure):
    table = few_values(200)
    for k in (3, 8, 20, 60):
        expected = kaca(table, make_run(table, measure, k, k))
        found = KACA().partition(table, make_run(table, measure, k, k))
        assert as_groups(found) == expected


def test_a_large_class_gives_only_as_many_rows_as_the_small_one_lacks():
    table = few_values(200)
    codes = table.attributes[0].codes
    found = KACA().partition(table, make_run(table, "whd", 20, 1))
    pure = [g for g in as_groups(found) if len(set(codes[sorted(g)])) == 1]
    mixed = [g for g in as_groups(found) if len(set(codes[sorted(g)])) > 1]
    assert max(len(g) for g in pure) > 40
    assert mixed
    assert all(20 <= len(g) < 40 for g in mixed)


def test_all_rows_equal_are_one_class():
    table = few_values(200)
    same = table.take(np.zeros(30, np.int64))
    found = KACA().partition(same, make_run(same, "ncp", 4, 1))
    assert found.n_groups == 1
