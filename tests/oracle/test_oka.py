"""OKA against a plain reading of Lin and Wei's figures 1 and 2."""

import numpy as np
import pytest
from tests.helpers.brute import MEASURES, as_groups, attribute_cost, charge, make_run, small_tables
from tests.helpers.effort import share

from shoal.algorithm.oka import OKA
from shoal.errors import OptionError
from shoal.measure.base import Grouped, LinearForm
from shoal.search.suppress import everything_cost


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

    def cost(self, cluster):
        return sum(
            charge(self.scanner, self.part(j, cluster), cluster)
            for j in range(len(self.model.forms))
        )

    def suppress_or_fill(self, before, filled):
        """Suppress what was small where that loses less than having filled it."""
        whole, classes, k = everything_cost(self.scanner), self.scanner.classes, self.run.k
        small = [g for g, cluster in enumerate(before) if len(cluster) < k]
        large = [g for g in range(len(before)) if g not in small]
        if not small or not large:
            return {frozenset(cluster) for cluster in filled}

        def rises(row, among):
            return [(self.cost([*filled[g], row]) - self.cost(filled[g]), g) for g in among]

        gains = []
        for g in small:
            own = [row for row in filled[g] if row in before[g]]
            added = [row for row in filled[g] if row not in before[g]]
            without = sum(int(whole[classes[row]]) for row in own)
            without += sum(min(rises(row, large))[0] for row in added)
            gains.append((self.cost(filled[g]) - without, -g, own, added))
        gains = sorted(
            (gain for gain in gains if gain[0] > 0), key=lambda gain: (-gain[0], -gain[1])
        )
        result, gone, moved = list(filled), [], []
        allowed, so_far = self.run.max_suppressed, 0
        chosen = []
        for _, minus_g, own, added in gains:
            so_far += len(own)
            if allowed is not None and so_far > allowed:
                continue
            chosen.append(-minus_g)
            gone += own
            moved += added
        filled = [cluster for g, cluster in enumerate(result) if g not in chosen]
        for row in sorted(moved):
            _, g = min(rises(row, range(len(filled))))
            filled[g] = [*filled[g], row]
        lost = sum(map(self.cost, filled)) + sum(int(whole[classes[row]]) for row in gone)
        better = lost < sum(map(self.cost, result))
        return {frozenset(cluster) for cluster in (filled if better else result)}

    def partition(self, iterations, small="fill", *, sort=True):
        n = self.table.n_rows
        order = range(n)
        if sort:
            order = sorted(order, key=lambda i: [int(a.codes[i]) for a in self.table.attributes])
        seeds = self.run.rng.permutation(n)[: n // self.run.k]
        clusters = self.clustering_stage(order, seeds)
        for _ in range(iterations - 1):
            seeds = [min(c, key=lambda r: (self.distance(r, c), r)) for c in clusters]
            clusters = self.clustering_stage(order, seeds)
        before = [list(cluster) for cluster in clusters]
        filled = self.adjustment_stage(clusters)
        if small == "cheaper":
            return self.suppress_or_fill(before, filled)
        return {frozenset(cluster) for cluster in filled}


@pytest.mark.parametrize("measure", [*MEASURES, "suppression"])
def test_oka_equals_its_plain_twin_group_for_group(measure):
    for number, table in enumerate(small_tables(41, count=50)):
        k, iterations = 2 + number % 4, 1 + number % 3
        expected = Twin(table, make_run(table, measure, k, number)).partition(iterations)
        run = make_run(table, measure, k, number)
        found = OKA(iterations=iterations).partition(table, run)
        assert as_groups(found) == expected


@pytest.mark.parametrize("measure", ["ncp", "il", "pmi"])
@pytest.mark.parametrize("allowed", [None, 4])
def test_clusters_that_are_suppressed_instead_of_filled_are_those_of_the_plain_twin(
    measure, allowed
):
    suppressed = 0
    for number, table in enumerate(small_tables(43, count=40)):
        k = 3 + number % 4
        if table.n_rows < 2 * k:
            continue
        runs = [make_run(table, measure, k, number, max_suppressed=allowed) for _ in range(2)]
        expected = Twin(table, runs[0]).partition(1, "cheaper")
        found = OKA(small="cheaper").partition(table, runs[1])
        assert as_groups(found) == expected
        assert found.sizes.min() >= k
        assert allowed is None or found.n_suppressed <= allowed
        suppressed += found.n_suppressed
    assert suppressed >= share(6, least=1)


def test_suppressing_or_filling_never_loses_more_than_filling_alone():
    gained = 0
    for number, table in enumerate(small_tables(44, count=25)):
        k = 3 + number % 3
        lost = []
        for small in ("fill", "cheaper"):
            run = make_run(table, "il", k, number)
            found = OKA(small=small).partition(table, run)
            lost.append(run.model.measure.score(Grouped(table, found)))
        assert lost[1] <= lost[0] + 1e-9
        gained += lost[1] < lost[0] - 1e-9
    assert gained > share(2, least=1)


def test_unsorted_records_join_in_the_order_of_the_run():
    for number, table in enumerate(small_tables(45, count=15)):
        k = 2 + number % 4
        expected = Twin(table, make_run(table, "ncp", k, number)).partition(1, sort=False)
        found = OKA(order="random").partition(table, make_run(table, "ncp", k, number))
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
