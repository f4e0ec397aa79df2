"""Groups grown under promises against a plain twin, and what they keep."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.brute import closure_cost, make_run, small_tables

from shoal.kernels import private
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.arrays import PrivateArrays
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.search.enforce import violations
from shoal.search.grow import grow_labels, grow_partition
from shoal.table.partition import Partition

K = 3
MODELS = {
    "distinct": LDiversity(2, kind="distinct"),
    "frequency": LDiversity(2),
    "entropy": LDiversity(2, kind="entropy"),
    "recursive": LDiversity(2, kind="recursive", c=2.0),
    "equal": TCloseness(0.3),
    "ordered": TCloseness(0.2, distance="ordered"),
    "alpha": AlphaK(0.6),
}
SLACK = private.TOLERANCE


def lack(rules, hist):
    """Return how far a group is from its promise, one sensitive column and one model."""
    kind, (value, c, _) = int(rules.kinds[0]), rules.numbers[0]
    size, most, present = sum(hist), max(hist), sum(count > 0 for count in hist)
    if kind == private.FREQUENCY:
        found = most / size - (1.0 + SLACK) / value
    elif kind == private.ALPHA:
        found = most / size - value * (1.0 + SLACK)
    elif kind == private.DISTINCT:
        found = value - SLACK - present
    elif kind == private.ENTROPY:
        found = math.log(value) - SLACK
        for count in hist:
            if count:
                found += count / size * math.log(count / size)
    elif kind == private.RECURSIVE:
        falling = sorted(hist, reverse=True)
        gap = falling[0] * (1.0 + SLACK) - c * sum(falling[int(value) - 1 :])
        found = 0.0
        if gap >= 0:
            found = max(SLACK, gap / size) + max(0.0, value - present)
    else:
        found = distance(rules.whole.tolist(), hist, ordered=kind == private.T_ORDERED)
        found = found - value - SLACK
    return max(found, 0.0)


def distance(whole, hist, *, ordered):
    running, moved = 0.0, 0.0
    for count, every in zip(hist, whole, strict=True):
        if every:
            gap = count / sum(hist) - every / sum(whole)
            running += gap
            moved += abs(running) if ordered else abs(gap)
    return moved / max(sum(every > 0 for every in whole) - 1, 1) if ordered else moved / 2


class Twin:
    """Rows left over as a list; a row that leaves is replaced by the last one."""

    def __init__(self, table, run, rules):
        self.table, self.run, self.rules = table, run, rules
        self.left = list(range(table.n_rows))
        self.labels = [-1] * table.n_rows

    def hist(self, rows):
        codes = self.rules.private[0]
        return np.bincount(codes[rows], minlength=len(self.rules.whole)).tolist()

    def cost(self, rows):
        return closure_cost(self.table, self.run.scanner, self.run.model, rows)[0]

    def drop(self, places):
        for p in sorted(places, reverse=True):
            self.left[p] = self.left[-1]
            self.left.pop()

    def grow_one(self, seed, free):
        """Return the places of a group, whether it holds, and the place of the next seed."""
        group, strays = [seed], 0
        while True:
            rows = [self.left[p] for p in group]
            short = lack(self.rules, self.hist(rows))
            others = [p for p in range(len(self.left)) if p not in group]
            cost = {p: self.cost([*rows, self.left[p]]) for p in others}
            holds = len(group) >= K and short == 0
            far = max(others, key=lambda p: (cost[p], -p), default=0)
            if holds:
                return group, True, far
            after = {p: lack(self.rules, self.hist([*rows, self.left[p]])) for p in others}
            helping = others
            if len(group) >= free:
                helping = [p for p in others if after[p] == 0 or after[p] < short]
            if helping:
                group.append(min(helping, key=lambda p: (cost[p], p)))
            elif others and strays < K:
                strays += 1
                group.append(min(others, key=lambda p: (after[p], cost[p], p)))
            else:
                return group, False, far

    def grow(self, free):
        number, failures, seed = 0, 0, 0
        while len(self.left) >= K and failures < 8:
            group, holds, far = self.grow_one(min(seed, len(self.left) - 1), free)
            following = self.left[far]
            if holds:
                for p in group:
                    self.labels[self.left[p]] = number
                number, failures = number + 1, 0
                self.drop(group)
            else:
                failures += 1
                self.drop(group[:1])
            seed = self.left.index(following) if following in self.left else 0
        return self.labels


def tables(seed, count, max_rows):
    """Yield random tables whose sensitive values have an order."""
    for table in small_tables(seed, count, max_rows):
        (column,) = table.sensitive
        yield replace(table, sensitive=(replace(column, ordered=True),))


def possible(table, model):
    one = Partition(np.zeros(table.n_rows, np.int32), 1)
    return not violations(table, one, K, (model,)).any()


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_groups_grow_as_in_a_plain_search(model):
    grown = 0
    for seed, table in enumerate(tables(5, 6, 22)):
        if not possible(table, model):
            continue
        run = make_run(table, ("ncp", "mi")[seed % 2], K, seed, privacy=(model,))
        arrays = PrivateArrays.of(table, run.privacy)
        for free in (0, K):
            found = grow_labels(table, run, arrays, free)
            assert found.tolist() == Twin(table, run, arrays.rules).grow(free)
            grown += int(found.max()) + 1
    assert grown > 3


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_grown_groups_have_k_rows_and_keep_the_promise(model):
    for seed, table in enumerate(tables(6, 12, 40)):
        if not possible(table, model) or model is MODELS["distinct"]:
            continue
        run = make_run(table, "ncp", K, seed, privacy=(model,))
        found = grow_partition(table, run, free=K)
        if found is not None:
            assert found.n_suppressed == 0
            assert not violations(table, found, K, (model,)).any()


def test_two_columns_are_brought_nearer_together():
    models = (TCloseness(0.4), AlphaK(0.8))
    for seed, table in enumerate(tables(7, 8, 40)):
        run = make_run(table, "ncp", K, seed, privacy=models)
        found = grow_partition(table, run, free=0)
        assert found is not None
        assert not violations(table, found, K, models).any()


def test_a_promise_that_is_only_kept_or_not_is_left_to_other_starts():
    table = next(small_tables(8))
    run = make_run(table, "ncp", K, 0, privacy=(MODELS["distinct"], MODELS["equal"]))
    assert grow_partition(table, run, free=0) is None


def test_costs_that_look_at_the_sensitive_values_are_left_to_other_starts():
    table = next(small_tables(8))
    run = make_run(table, "pmi", K, 0, privacy=(MODELS["equal"],))
    assert grow_partition(table, run, free=0) is None
