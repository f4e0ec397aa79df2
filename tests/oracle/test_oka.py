"""OKA against a plain reading of Lin and Wei's figures 1 and 2."""

import numpy as np
import pytest
from tests.helpers.brute import MEASURES, as_groups, attribute_cost, charge, make_run, small_tables

from shoal.algorithm.oka import OKA
from shoal.errors import OptionError
from shoal.measure.forms import LinearForm


class Twin:
    """The algorithm with lists of rows, and distances by definition."""

    def __init__(self, table, run):
        self.table, self.run, self.scanner, self.model = table, run, run.scanner, run.model
        self.memo = {}

    def place(self, j, row):
        """Position of a row in a numeric attribute, in cost units; None if missing."""
        form, code = self.model.forms[j], int(self.table.attributes[j].codes[row])
        if code == self.table.attributes[j].size:
            return None
        factor = float(self.model.weights[j]) * self.scanner.scale
        return int(np.rint(form.position[code] * factor))

    def part(self, j, rows):
        key = j, frozenset(rows)
        if key not in self.memo:
            cost = attribute_cost(self.table, self.scanner, self.model, j, sorted(set(rows)))
            self.memo[key] = cost
        return self.memo[key]

    def distance(self, row, cluster):
        """|cluster| · D({row, centroid})."""
        total = 0
        for j, form in enumerate(self.model.forms):
            if not isinstance(form, LinearForm):
                total += charge(self.scanner, self.part(j, [*cluster, row]), cluster)
                continue
            places = [self.place(j, r) for r in cluster]
            here = self.place(j, row)
            full = round(form.full * float(self.model.weights[j]) * self.scanner.scale)
            if here is None and all(p is None for p in places):
                continue
            if here is None or None in places:
                total += len(cluster) * full
            else:
                total += abs(len(cluster) * here - sum(places))
        return total

    def closest(self, row, clusters, allowed):
        return min(allowed, key=lambda g: (self.distance(row, clusters[g]), g))

    def clustering_stage(self, order, seeds):
        clusters = [[int(seed)] for seed in seeds]
        for row in order:
            if row not in set(map(int, seeds)):
                clusters[self.closest(row, clusters, range(len(clusters)))].append(row)
        return clusters

    def adjustment_stage(self, clusters):
        k, removed = self.run.k, []
        for g, cluster in enumerate(clusters):
            ranked = sorted(cluster, key=lambda row: (-self.distance(row, cluster), row))
            removed += ranked[: max(len(cluster) - k, 0)]
            clusters[g] = [row for row in cluster if row not in removed]
        for row in self.run.rng.permutation(removed):
            small = [g for g, cluster in enumerate(clusters) if len(cluster) < k]
            g = self.closest(int(row), clusters, small or range(len(clusters)))
            clusters[g].append(int(row))
        return clusters

    def partition(self, iterations):
        n = self.table.n_rows
        order = sorted(range(n), key=lambda i: [int(a.codes[i]) for a in self.table.attributes])
        seeds = self.run.rng.permutation(n)[: n // self.run.k]
        clusters = self.clustering_stage(order, seeds)
        for _ in range(iterations - 1):
            seeds = [min(c, key=lambda r: (self.distance(r, c), r)) for c in clusters]
            clusters = self.clustering_stage(order, seeds)
        return {frozenset(cluster) for cluster in self.adjustment_stage(clusters)}


@pytest.mark.parametrize("measure", [*MEASURES, "suppression"])
def test_oka_equals_its_plain_twin_group_for_group(measure):
    for number, table in enumerate(small_tables(41, count=50)):
        k, iterations = 2 + number % 4, 1 + number % 3
        expected = Twin(table, make_run(table, measure, k, number)).partition(iterations)
        run = make_run(table, measure, k, number)
        found = OKA(iterations=iterations).partition(table, run)
        assert as_groups(found) == expected


def test_every_cluster_has_k_records_and_there_are_as_many_as_possible():
    for number, table in enumerate(small_tables(42, count=20)):
        k = 2 + number % 4
        found = OKA().partition(table, make_run(table, "ncp", k, number))
        assert found.n_groups == table.n_rows // k
        assert found.sizes.min() >= k
        assert found.n_suppressed == 0


@pytest.mark.parametrize("iterations", [0, -1, 1.5, True, "2"])
def test_iterations_must_be_a_whole_number(iterations):
    with pytest.raises(OptionError, match="iterations of 'oka'"):
        OKA(iterations=iterations)
