"""Systematic clustering equals a plain version with lists and costs by definition."""

from __future__ import annotations

import pytest
from tests.helpers.brute import MEASURES, as_groups, make_run, row_cost, small_tables

from shoal.algorithm.systematic import Systematic


def plain(table, run):
    def cost(rows):
        return row_cost(table, run.scanner, run.model, rows)

    def cheapest(row, clusters):
        return min(clusters, key=lambda c: cost([*groups[c], row]) - cost(groups[c]))

    k, n = run.k, table.n_rows
    order = sorted(range(n), key=lambda row: ([int(a.codes[row]) for a in table.attributes], row))
    first = int(run.rng.integers(k))
    groups = [[order[first + k * c]] for c in range(n // k)]
    rest = [row for row in order if [row] not in groups]
    for row in rest:
        open_ones = [c for c in range(len(groups)) if len(groups[c]) < k]
        groups[cheapest(row, open_ones or range(len(groups)))].append(row)
    return {frozenset(group) for group in groups}


@pytest.mark.parametrize("measure", MEASURES)
def test_the_groups_are_those_of_the_plain_version(measure):
    left = 0
    for seed, table in enumerate(small_tables(46, count=10, max_rows=26)):
        k = 2 + seed % 4
        found = Systematic().partition(table, make_run(table, measure, k, seed))
        assert as_groups(found) == plain(table, make_run(table, measure, k, seed)), (seed, k)
        assert found.sizes.min() == k or table.n_rows < 2 * k
        left += table.n_rows % k > 0
    assert left


def test_chance_decides_which_of_the_first_records_begins():
    (table,) = small_tables(7, count=1)
    found = {
        frozenset(as_groups(Systematic().partition(table, make_run(table, "ncp", 4, seed))))
        for seed in range(8)
    }
    assert len(found) > 1
