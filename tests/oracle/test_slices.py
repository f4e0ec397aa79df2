"""Moving edge slices against a plain twin: lists of rows, slices and costs by definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.helpers.brute import MEASURES, make_run, row_cost, small_tables
from tests.helpers.effort import share

from shoal.measure.base import IndicatorForm, LinearForm, TreeForm
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.runtime.progress import no_progress
from shoal.search.enforce import enforce, violations
from shoal.search.refine import Search
from shoal.search.scan import Effort
from shoal.table.partition import Partition

K = 3
MODELS = {
    "k only": (),
    "distinct": (LDiversity(2, kind="distinct"),),
    "close and limited": (TCloseness(0.5), AlphaK(0.8)),
}


class Twin:
    """Groups as lists of rows, the one that came last in front."""

    def __init__(self, table, run, start):
        self.table, self.run = table, run
        self.members = [start.rows_of(g).tolist() for g in range(start.n_groups)]

    def cost(self, rows):
        if not rows:
            return 0
        return row_cost(self.table, self.run.scanner, self.run.model, sorted(rows))

    def holds(self, rows):
        for model in self.run.privacy:
            for column in model.columns(self.table):
                part = np.bincount(column.codes[rows], minlength=column.size)
                if not model.holds(part[None].astype(np.int64), column.whole)[0]:
                    return False
        return True

    def edges(self):
        """Return (kind, column) of every edge: intervals, logarithms of them, trees, sets."""
        found = {"linear": [], "log": [], "tree": [], "set": []}
        for attribute, form in zip(self.table.attributes, self.run.model.forms, strict=True):
            if isinstance(form, TreeForm | IndicatorForm):
                found["tree"].append(("tree", attribute))
            elif isinstance(form, LinearForm):
                found["linear"] += [("low", attribute), ("high", attribute)]
            elif attribute.algebra == "set":
                found["set"].append(("set", attribute))
            else:
                found["log"] += [("low", attribute), ("high", attribute)]
        return [edge for edges in found.values() for edge in edges]

    def slice_of(self, members, edge, depth):
        kind, attribute = edge
        codes = {row: int(attribute.codes[row]) for row in members}
        if kind in ("low", "high"):
            values = sorted(set(codes.values()), reverse=kind == "high")
            return [row for row in members if codes[row] in values[:depth]]
        if depth > 1:
            return []
        if kind == "set":
            count = Counter(codes.values())
            rarest = min(count, key=lambda value: (count[value], value))
            return [row for row in members if codes[row] == rarest]
        levels = [np.arange(attribute.size)]
        if attribute.taxonomy is not None:
            levels = attribute.taxonomy.levels()[1:]
        for level in levels:
            nodes = {row: int(np.append(level, 10**6)[code]) for row, code in codes.items()}
            count = Counter(nodes.values())
            if len(count) > 1:
                kept = min(count, key=lambda node: (-count[node], node))
                return [row for row in members if nodes[row] != kept]
        return []

    def scatter(self, rows, budget):
        """Return the groups that these rows go to one by one, None if it costs the budget."""
        groups = [list(group) for group in self.members]
        for row in rows:
            best, least = None, budget
            for h, group in enumerate(groups):
                rise = self.cost([*group, row]) - self.cost(group)
                if rise < least and self.holds([*group, row]):
                    best, least = h, rise
            if best is None:
                return None, budget
            groups[best].insert(0, row)
            budget -= least
        return groups, budget

    def move(self, g, rows):
        """Move a slice where it costs least, if that pays."""
        before = self.cost(self.members[g])
        rest = [row for row in self.members[g] if row not in rows]
        gain = before - self.cost(rest)
        self.members[g] = rest
        if gain > 0 and self.holds(rest):
            target, rise = None, gain
            if len(rows) >= K and self.holds(rows) and self.cost(rows) < rise:
                target, rise = "alone", self.cost(rows)
            for h, group in enumerate(self.members):
                asked = self.cost([*group, *rows]) - self.cost(group)
                if h != g and asked < rise and self.holds([*group, *rows]):
                    target, rise = h, asked
            groups, _ = self.scatter(rows[::-1], rise)
            if groups is not None:
                self.members = groups
                return True
            if target == "alone":
                self.members.append(rows[::-1])
                return True
            if target is not None:
                self.members[target] = rows[::-1] + self.members[target]
                return True
        self.members[g] = rows[::-1] + rest
        return False

    def sweep(self, order, deepest):
        for g in order:
            for edge in self.edges():
                depth = 1
                while depth <= deepest:
                    rows = self.slice_of(self.members[g], edge, depth)
                    if not rows or len(self.members[g]) - len(rows) < K:
                        break
                    depth = 1 if self.move(g, rows) else 2 * depth


def start_of(table, run, seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(K, 3 * K))
    labels = rng.permutation(table.n_rows) // size
    given = Partition.from_labels(labels)
    return enforce(table, given, run.scanner, K, run.privacy, no_progress)


def possible(table, privacy):
    one = Partition(np.zeros(table.n_rows, np.int32), 1)
    return not violations(table, one, K, privacy).any()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("privacy", MODELS.values(), ids=MODELS)
def test_slices_move_as_in_a_plain_search(measure, privacy):
    moved = 0
    for seed, table in enumerate(small_tables(31, count=14, max_rows=26)):
        if not possible(table, privacy):
            continue
        run = make_run(table, measure, K, seed, privacy=privacy)
        start = start_of(table, run, seed)
        effort = Effort(depth=(1, 4)[seed % 2])
        search = Search(table, start, run, effort)
        twin = Twin(table, run, start)
        # as many places as the search has: no more groups can be opened
        room = search.limit
        order = search._dearest_first(K)
        twin.sweep(order, effort.depth)
        search.move("slices", 0)
        assert len(twin.members) <= room
        found = search.groups.label.tolist()
        expected = [0] * table.n_rows
        for g, rows in enumerate(twin.members):
            for row in rows:
                expected[row] = g
        assert found == expected
        moved += int(np.count_nonzero(search.groups.label != start.labels))
    assert moved > share(20, least=1)
