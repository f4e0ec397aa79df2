"""Column generation encloses the optimum of trying everything, and the bound is below it."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.optimum.__main__ import COLUMNS, table_of
from benchmarks.optimum.exact import solve
from tests.helpers.brute import _small_table
from tests.oracle.test_bound_brute import best_score

import shoal
from shoal.measure.scores import create_measure
from shoal.search.bound import bound_table
from shoal.table.encode import encode


@pytest.mark.parametrize("name", ["ncp", "lm"])
@pytest.mark.parametrize("k", [2, 3])
def test_column_generation_encloses_the_best_of_all_partitions(name, k):
    measure = create_measure(name)
    rng = np.random.default_rng(k)
    solved = tight = 0
    while solved < 3:
        table = _small_table(rng, ["integer", "country", "flat"], 8)
        if any(attribute.has_missing for attribute in table.attributes):
            continue
        found = solve(table, k, measure, np.zeros(8, np.int64))
        best = best_score(table, measure, k, suppress=False)
        assert found.least - 1e-9 <= best <= found.found + 1e-9
        tight += found.found == pytest.approx(found.least)
        solved += 1
    assert tight or k == 3  # whole groups are chosen among those that the relaxation needed


@pytest.mark.parametrize("k", [3, 4])
def test_the_bound_is_below_the_optimum_and_above_what_rows_pay_alone(k, monkeypatch):
    frame = table_of(40, 1)
    release = shoal.anonymize(frame, k, quasi_identifiers=COLUMNS, seed=1, threads=1)
    table, ncp = encode(frame, release.schema), create_measure("ncp")
    optimum = solve(table, k, ncp, release.groups)
    bound = bound_table(table, k, ncp, threads=1)
    monkeypatch.setattr(
        "shoal.search.bound._raise", lambda scanner, labels, least, k, progress: least[labels]
    )
    alone = bound_table(table, k, ncp, threads=1)
    assert 1.02 * alone < bound <= optimum.least * (1 + 1e-9)
    assert optimum.least <= optimum.found * (1 + 1e-9)
    assert optimum.found <= release.scores["ncp"] * (1 + 1e-9)
