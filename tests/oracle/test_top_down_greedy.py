"""Top-down greedy partitioning equals a plain version with lists and costs by definition."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.brute import MEASURES, as_groups, make_run, row_cost, small_tables

from shoal.algorithm.top_down_greedy import TopDownGreedy
from shoal.errors import OptionError


class Plain:
    """The steps of the paper, every cost counted anew."""

    def __init__(self, table, run, rounds):
        self.table, self.run, self.rounds = table, run, rounds

    def cost(self, rows):
        return row_cost(self.table, self.run.scanner, self.run.model, rows)

    def rise(self, group, more):
        return self.cost([*group, *more]) - self.cost(group)

    def partition(self, rows):
        if len(rows) <= self.run.k or self.cost(rows) == 0:
            return [rows]
        at = int(self.run.rng.integers(len(rows)))
        before = -1
        for _ in range(self.rounds):
            others = [i for i in range(len(rows)) if i != at]
            at, before = max(others, key=lambda i: (self.cost([rows[at], rows[i]]), -i)), at
        parts = [[rows[before]], [rows[at]]]
        left = [i for i in range(len(rows)) if i not in (before, at)]
        for i in self.run.rng.permutation(left):
            rises = [self.rise(part, [rows[i]]) for part in parts]
            parts[int(rises[1] < rises[0])].append(rows[i])
        return [group for part in parts for group in self.partition(sorted(part))]

    def mend(self, groups):
        k = self.run.k
        waiting = [i for i, group in enumerate(groups) if len(group) < k]
        taken = united = 0
        for g in waiting:
            group = groups[g]
            if not 0 < len(group) < k:
                continue
            others = [h for h, other in enumerate(groups) if h != g and other]
            nearest = min(others, key=lambda h: self.rise_of_union(group, groups[h]))
            choice = self.spare(groups, g)
            if choice is not None:
                giver, rows = choice
                rest = [row for row in groups[giver] if row not in rows]
                rise = self.rise(group, rows) + self.cost(rest) - self.cost(groups[giver])
                if rise < self.rise_of_union(group, groups[nearest]):
                    groups[g], groups[giver] = group + rows, rest
                    taken += 1
                    continue
            groups[nearest] = groups[nearest] + group
            groups[g] = []
            united += 1
            if len(groups[nearest]) < k:
                waiting.append(nearest)
        return {frozenset(group) for group in groups if group}, taken, united

    def rise_of_union(self, group, other):
        return self.cost([*group, *other]) - self.cost(group) - self.cost(other)

    def spare(self, groups, g):
        """The rows that group g would take, and whose they are."""
        needed = self.run.k - len(groups[g])
        can = [
            (self.cost([*groups[g], row]), row, h)
            for h, other in enumerate(groups)
            if len(other) >= self.run.k + needed
            for row in other
        ]
        if not can:
            return None
        giver = min(can)[2]
        return giver, [row for _, row, h in sorted(can) if h == giver][:needed]


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("measure", MEASURES)
def test_the_groups_are_those_of_the_plain_version(measure, rounds):
    taken = united = 0
    for seed, table in enumerate(small_tables(41, count=8, max_rows=22)):
        k = 2 + seed % 4
        found = TopDownGreedy(rounds=rounds).partition(table, make_run(table, measure, k, seed))
        plain = Plain(table, make_run(table, measure, k, seed), rounds)
        expected, more, unions = plain.mend(plain.partition(list(range(table.n_rows))))
        assert as_groups(found) == expected, (seed, k)
        assert found.sizes.min() >= k
        taken, united = taken + more, united + unions
    assert taken > 0
    assert united > 0


def test_rows_that_are_alike_stay_together():
    (table,) = small_tables(5, count=1)
    alike = table.take(np.zeros(500, np.int64))
    found = TopDownGreedy().partition(alike, make_run(alike, "ncp", 3, seed=1))
    assert found.n_groups == 1


def test_no_rounds_are_refused():
    with pytest.raises(OptionError, match="rounds of 'top-down-greedy' must be a whole number"):
        TopDownGreedy(rounds=0)
