"""bound ≤ exact optimum ≤ result of every algorithm, the optimum by trying every partition."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.brute import DOMAINS, _small_table
from tests.helpers.contract_array import TREES_ONLY

from shoal import registry
from shoal.algorithm.base import create_algorithm
from shoal.measure.base import CostModel, Grouped
from shoal.measure.scores import create_measure
from shoal.search.bound import bound_table, gap_of
from shoal.search.scan import Run, Scanner
from shoal.table.closure import close
from shoal.table.partition import Partition

MEASURES = ("ncp", "lm", "suppression", "mi", "tree", "whd")
SLACK = 1e-9


def tables(seed, count, n):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        names = [str(name) for name in rng.permutation(sorted(DOMAINS))[: int(rng.integers(1, 5))]]
        table = _small_table(rng, names, n)
        # copies of rows, so that some tuples occur more than once
        yield table.take(rng.integers(n, size=n)) if rng.random() < 0.5 else table


def group_costs(table, measure):
    """Cost of a row in the closure of each set of rows (sets are bits), and of a suppressed row."""
    n = table.n_rows
    total, full = np.zeros(1 << n), 0.0
    for attribute, weight in zip(table.attributes, table.weights, strict=True):
        form = measure.form(attribute, None, table)
        for members in range(1, 1 << n):
            labels = np.array([0 if members >> i & 1 else -1 for i in range(n)], np.int32)
            costs = form.cost(close(attribute, Partition(labels, 1)))
            total[members] += weight * costs[0]
        full += weight * float(costs[-1])
    return total, full


def best_score(table, measure, k, *, suppress):
    """Return the least score of any partition into groups of at least k rows."""
    n = table.n_rows
    costs, full = group_costs(table, measure)
    size = np.array([members.bit_count() for members in range(1 << n)])
    least = np.full(1 << n, np.inf)
    least[0] = 0.0
    for members in range(1, 1 << n):
        lowest = members & -members
        if suppress:
            least[members] = full + least[members ^ lowest]
        part = members
        while part:
            if part & lowest and size[part] >= k:
                cost = size[part] * costs[part] + least[members ^ part]
                least[members] = min(least[members], cost)
            part = (part - 1) & members
    constants = np.array([measure.constant(a) for a in table.attributes])
    total = least[-1] - float(np.sum(table.weights * constants))
    return total / (n * table.weights.sum()) if measure.per_cell else total


def result_of(name, table, measure, k):
    model = CostModel.bind(measure, table)
    run = Run(k=k, model=model, scanner=Scanner.build(table, model), rng=np.random.default_rng(1))
    partition = create_algorithm(name).partition(table, run)
    return measure.score(Grouped(table, partition)), partition.n_suppressed > 0


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("k", [2, 3])
def test_no_partition_of_a_tiny_table_is_below_the_bound_nor_above_any_algorithm(name, k):
    measure = create_measure(name)
    for table in tables(seed=k, count=3, n=7):
        best = {s: best_score(table, measure, k, suppress=s) for s in (False, True)}
        bound = bound_table(table, k, measure, threads=1)
        assert bound <= best[True] + SLACK
        for algorithm in registry.names("algorithms"):
            if algorithm in TREES_ONLY and not all(a.taxonomy for a in table.attributes):
                continue
            score, suppresses = result_of(algorithm, table, measure, k)
            assert best[suppresses] <= score + SLACK, algorithm


@pytest.mark.parametrize("name", ["ncp", "mi"])
def test_the_bound_is_the_optimum_where_every_tuple_occurs_k_times(name):
    measure = create_measure(name)
    for table in tables(seed=3, count=5, n=6):
        repeated = table.take(np.repeat(np.arange(6), 3))
        together = Partition.from_labels(np.repeat(np.arange(6), 3))
        best = measure.score(Grouped(repeated, together))
        assert bound_table(repeated, 3, measure, threads=1) == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("name", ["ncp", "lm", "suppression", "mi"])
def test_the_bound_holds_if_rows_may_be_left_out(name):
    measure = create_measure(name)
    rng = np.random.default_rng(5)
    for table in tables(seed=8, count=10, n=9):
        bound = bound_table(table, 3, measure, threads=1)
        for _ in range(20):
            labels = rng.integers(-1, 2, size=9)
            kept = [g for g in range(2) if (labels == g).sum() >= 3]
            partition = Partition.from_labels(np.where(np.isin(labels, kept), labels, -1))
            assert bound <= measure.score(Grouped(table, partition)) + SLACK


def test_the_bound_is_at_least_that_of_the_nearest_rows():
    measure = create_measure("ncp")
    for table in tables(seed=11, count=6, n=9):
        k = 3
        pairs = np.zeros((9, 9))
        for attribute, weight in zip(table.attributes, table.weights, strict=True):
            form = measure.form(attribute, None, table)
            for i in range(9):
                for j in range(9):
                    labels = np.full(9, -1, np.int32)
                    labels[[i, j]] = 0
                    pairs[i, j] += weight * form.cost(close(attribute, Partition(labels, 1)))[0]
        nearest = np.sort(pairs, axis=1)[:, k - 1].sum() / (9 * table.weights.sum())
        assert bound_table(table, k, measure, threads=1) >= nearest - SLACK


def test_a_loss_of_nothing_is_the_best_possible():
    assert gap_of(0.0, 0.0) == 1.0
    assert gap_of(0.5, 0.25) == 2.0
    assert gap_of(0.5, 0.0) == float("inf")
