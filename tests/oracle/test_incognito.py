"""Incognito against a look at every node of the full lattice."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from tests.helpers.brute import MEASURES, make_run
from tests.helpers.tree_tables import PATHS, generalise, tree_tables

import shoal
from shoal.algorithm import incognito
from shoal.algorithm.incognito import Incognito, LatticeSearch, LevelLattice
from shoal.errors import AlgorithmError
from shoal.hierarchy import Taxonomy
from shoal.kernels.lattice import roll_up
from shoal.measure.scores import score_table
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema


class Brute:
    """Every node of the lattice by definition."""

    def __init__(self, frame, table, run, allowed=0):
        self.frame, self.table, self.run, self.allowed = frame, table, run, allowed
        self.names = [a.name for a in table.attributes]
        self.rows = list(frame.select(self.names).iter_rows())
        heights = [max(len(path) for path in PATHS[name]) - 1 for name in self.names]
        self.nodes = list(product(*(range(h + 1) for h in heights)))

    def cells(self, node):
        return [
            tuple(generalise(*cell) for cell in zip(self.names, row, node, strict=True))
            for row in self.rows
        ]

    def breaks(self, rows, whole):
        """Whether a group breaks a privacy model among the rows ``whole``."""
        for model in self.run.privacy:
            column = self.table.sensitive[0]
            histogram, total = (
                np.bincount(column.codes[list(r)], minlength=column.size) for r in (rows, whole)
            )
            if not model.holds(histogram[None], total)[0]:
                return True
        return False

    def groups(self, node):
        """The published groups of a node, or None if too many rows would be left out."""
        groups = defaultdict(list)
        for row, cells in enumerate(self.cells(node)):
            groups[cells].append(row)
        everyone = range(len(self.rows))
        kept = [
            rows
            for rows in groups.values()
            if len(rows) >= self.run.k and not self.breaks(rows, everyone)
        ]
        published = [row for rows in kept for row in rows]
        if len(self.rows) - len(published) > self.allowed:
            return None
        if any(self.breaks(rows, published) for rows in kept):
            return None
        return {frozenset(rows) for rows in kept}

    def minimal(self):
        good = [node for node in self.nodes if self.groups(node) is not None]
        return {node for node in good if not any(o != node and is_below(o, node) for o in good)}

    def loss(self, node):
        """Integer loss of every cell, added up."""
        published = set().union(*self.groups(node))
        total = 0
        for row, cells in enumerate(self.cells(node)):
            for j, attribute in enumerate(self.table.attributes):
                label = cells[j] if row in published else "*"
                taxonomy = attribute.taxonomy
                at = -1 if label is None else taxonomy.labels.index(label)
                factor = self.run.model.weights[j] * self.run.scanner.scale
                cost = np.rint(self.run.model.forms[j].node[at] * factor)
                total += int(cost if cost.ndim == 0 else cost[self.run.scanner.classes[row]])
        return total

    def chosen(self):
        return min(self.minimal(), key=lambda node: (self.loss(node), sum(node), node))


def is_below(low, high):
    return all(a <= b for a, b in zip(low, high, strict=True))


def published_cells(table, partition):
    """Label of each row's cells, None for missing; None instead of a row that is left out."""
    result = []
    for label in partition.labels.tolist():
        if label < 0:
            result.append(None)
            continue
        cells = []
        for attribute in table.attributes:
            node = int(partition.recoded[attribute.name][label])
            labels = (*attribute.taxonomy.labels, None)
            cells.append(labels[node])
        result.append(tuple(cells))
    return result


def check(frame, table, run, allowed=0):
    brute = Brute(frame, table, run, allowed)
    search = LatticeSearch(LevelLattice(table), table, run)
    minimal = search.minimal_nodes()
    assert len(minimal) == len(set(minimal))
    assert set(minimal) == brute.minimal()
    node = brute.chosen()
    assert search.loss(node) == brute.loss(node)
    partition = Incognito().partition(table, run)
    groups = {frozenset(partition.rows_of(g).tolist()) for g in range(partition.n_groups)}
    assert groups == brute.groups(node)
    cells = brute.cells(node)
    for row, published in enumerate(published_cells(table, partition)):
        assert published == (cells[row] if partition.labels[row] >= 0 else None)
    return node, partition


@pytest.mark.parametrize("measure", MEASURES)
def test_minimal_nodes_and_the_chosen_one_are_those_of_the_whole_lattice(measure):
    for number, (frame, table) in enumerate(tree_tables(seed=11, count=25)):
        check(frame, table, make_run(table, measure, k=2 + number % 4, seed=0))


@pytest.mark.parametrize("measure", ["ncp", "pmi"])
@pytest.mark.parametrize("allowed", [1, 4])
def test_rows_in_small_groups_may_be_left_out(measure, allowed):
    left_out = 0
    for number, (frame, table) in enumerate(tree_tables(seed=12, count=20)):
        run = make_run(table, measure, k=2 + number % 4, seed=0, max_suppressed=allowed)
        _, partition = check(frame, table, run, allowed)
        assert partition.n_suppressed <= allowed
        left_out += partition.n_suppressed
    assert left_out > 0


@pytest.mark.parametrize("allowed", [0, 5])
@pytest.mark.parametrize(
    "model",
    [
        shoal.LDiversity(2, kind="distinct"),
        shoal.LDiversity(1.4),
        shoal.TCloseness(0.3),
        shoal.AlphaK(0.8),
    ],
    ids=lambda model: model.name,
)
def test_privacy_models_are_part_of_the_search(model, allowed):
    tried = 0
    for number, (frame, table) in enumerate(tree_tables(seed=13, count=25)):
        whole = table.sensitive[0].counts
        if not model.holds(whole[None], whole)[0]:
            continue
        run = make_run(
            table, "ncp", k=2 + number % 2, seed=0, privacy=(model,), max_suppressed=allowed
        )
        check(frame, table, run, allowed)
        tried += 1
    assert tried > 5


def square(names):
    """Two columns whose values meet once each: raising either of them to the top is enough."""
    trees = {"tall": [("a", "a1", "*"), ("b", "b1", "*")]}
    frame = pl.DataFrame({n: ["a", "a", "b", "b"] if i else ["a", "b"] * 2 for i, n in names})
    columns = [
        Column(
            name=name,
            role=Role.QUASI_IDENTIFIER,
            kind=Kind.CATEGORICAL if name in trees else Kind.FLAT,
            hierarchy=Taxonomy.from_paths(trees[name]) if name in trees else None,
        )
        for name in frame.columns
    ]
    return encode(frame, Schema(tuple(columns)))


@pytest.mark.parametrize(
    ("names", "kept"),
    [(["flat", "tall"], "tall"), (["tall", "flat"], "tall"), (["one", "two"], "one")],
    ids=["fewer levels", "fewer levels first", "first column"],
)
def test_nodes_of_equal_loss_are_chosen_by_height_then_by_the_first_columns(names, kept):
    table = square(list(enumerate(names)))
    run = make_run(table, "ncp", k=2, seed=0)
    assert len(LatticeSearch(LevelLattice(table), table, run).minimal_nodes()) == 2
    partition = Incognito().partition(table, run)
    for attribute in table.attributes:
        exact = attribute.name == kept
        node = partition.recoded[attribute.name]
        assert (node < attribute.size).all() == exact


def test_the_search_does_not_depend_on_which_frequency_sets_are_kept(monkeypatch):
    tables = list(tree_tables(seed=14, count=10))
    runs = [make_run(table, "ncp", k=3, seed=0) for _, table in tables]

    def search_all():
        return [
            LatticeSearch(LevelLattice(table), table, run).minimal_nodes()
            for (_, table), run in zip(tables, runs, strict=True)
        ]

    kept = search_all()
    monkeypatch.setattr(incognito, "KEPT_BYTES", 100)
    assert search_all() == kept


def test_the_measure_of_the_release_counts_the_published_levels():
    for frame, table in tree_tables(seed=15, count=10):
        run = make_run(table, "lm", k=2, seed=0)
        brute = Brute(frame, table, run)
        node, partition = check(frame, table, run)
        expected = brute.loss(node) / run.scanner.scale / table.n_rows / table.weights.sum()
        assert score_table(table, partition, ["lm"])["lm"] == pytest.approx(expected, abs=1e-4)
        finer = Partition(partition.labels, partition.n_groups)
        assert score_table(table, finer, ["lm"])["lm"] <= expected + 1e-4


@pytest.mark.parametrize("privacy", [(), (shoal.TCloseness(0.4),)], ids=["k", "t-closeness"])
@pytest.mark.parametrize("allowed", [0, 3])
def test_lines_that_stand_for_several_rows_are_searched_like_the_rows(privacy, allowed):
    fewer = 0
    for _, table in tree_tables(seed=17, count=12, max_rows=60):
        run = make_run(table, "lm", k=3, seed=0, privacy=privacy, max_suppressed=allowed)
        codes = [a.codes for a in table.attributes]
        alike = Partition.of_equal_rows([*codes, table.sensitive[0].codes])
        lines = table.take(alike.heads)
        of_rows = LatticeSearch(LevelLattice(table), table, run)
        of_lines = LatticeSearch(LevelLattice(lines, alike.sizes), lines, run)
        assert set(of_lines.minimal_nodes()) == set(of_rows.minimal_nodes())
        node = of_rows.best()
        assert of_lines.best() == node
        assert of_lines.loss(node) == of_rows.loss(node)
        cells = published_cells(lines, of_lines.publish(node))
        assert [cells[line] for line in alike.labels] == published_cells(
            table, of_rows.publish(node)
        )
        fewer += alike.n_groups < table.n_rows
    assert fewer > 5


def test_people_of_lines_that_stand_for_no_row_are_counted():
    frame = pl.DataFrame({"flat": ["red", "red", "green", "green", "green"]})
    schema = Schema((Column(name="flat", role=Role.QUASI_IDENTIFIER, kind=Kind.FLAT),))
    lines = replace(encode(frame, schema), person=np.array([0, 1, 2, 3, 4], np.int32))
    run = make_run(lines, "ncp", k=3, seed=0, max_suppressed=6)
    search = LatticeSearch(LevelLattice(lines, np.array([6, 0, 9, 0, 0])), lines, run)
    partition = search.publish((0,))
    assert partition.labels.tolist() == [-1, -1, 0, 0, 0]
    full = 6 * search.loss((1,)) // 15
    assert search.loss((0,)) == full > 0


def test_roll_up_counts_what_a_dictionary_counts():
    rng = np.random.default_rng(0)
    for _ in range(30):
        m, width = int(rng.integers(1, 60)), int(rng.integers(1, 5))
        tuples = rng.integers(6, size=(m, width + 1)).astype(np.int32)
        counts = rng.integers(1, 9, size=m)
        columns = rng.permutation(width + 1)[:width]
        lookup = rng.integers(3, size=6 * width).astype(np.int32)
        start = np.arange(width) * 6
        merged, sums = np.empty((m, width), np.int32), np.empty(m, np.int64)
        group, slots = np.empty(m, np.int64), np.empty(1 << (2 * m - 1).bit_length(), np.int64)
        n = roll_up(tuples, counts, columns, lookup, start, slots, merged, sums, group)
        mapped = [
            tuple(int(lookup[start[c] + row[columns[c]]]) for c in range(width)) for row in tuples
        ]
        expected = Counter()
        for key, count in zip(mapped, counts.tolist(), strict=True):
            expected[key] += count
        assert {tuple(merged[g].tolist()): int(sums[g]) for g in range(n)} == expected
        assert [tuple(merged[g].tolist()) for g in group] == mapped


def test_all_cells_of_a_column_are_published_at_one_level():
    ages = [20, 21, 22, 23, 24, 25, 60, 61, 62, 63]
    frame = pl.DataFrame({"age": ages, "sex": ["f", "m"] * 5})
    release = shoal.anonymize(
        frame,
        2,
        quasi_identifiers=["age", "sex"],
        hierarchies={"age": shoal.interval_hierarchy(ages, widths=(5, 10))},
        algorithm="incognito",
        seed=1,
    )
    # 25 would be alone in [25-29], so all ages go up to ten years, those in the sixties too.
    assert set(release.frame["age"]) == {"[20-29]", "[60-69]"}
    assert set(release.frame["sex"]) == {"f", "m"}


@pytest.mark.parametrize(
    ("values", "builder"),
    [
        ([1, 2, 3, 4], "shoal.interval_hierarchy"),
        (pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 4), eager=True), "date_hierarchy"),
    ],
    ids=["numeric", "date"],
)
def test_a_column_without_levels_is_refused_with_the_builder_to_use(values, builder):
    frame = pl.DataFrame({"when": values})
    with pytest.raises(AlgorithmError, match=builder) as refused:
        shoal.anonymize(frame, 2, quasi_identifiers=["when"], algorithm="incognito")
    assert "'when'" in str(refused.value)
    assert "shoal hierarchy build" in str(refused.value)


def test_more_columns_than_can_be_searched_are_refused_before_the_search():
    frame = pl.DataFrame({f"c{j}": ["a", "b", "a", "b"] for j in range(60)})
    with pytest.raises(AlgorithmError, match="60 quasi-identifiers"):
        shoal.anonymize(frame, 2, quasi_identifiers=frame.columns, algorithm="incognito")


def test_the_result_does_not_depend_on_the_order_of_the_rows():
    for frame, table in tree_tables(seed=16, count=5):
        turned = table.take(np.arange(table.n_rows)[::-1])
        cells = [
            published_cells(t, Incognito().partition(t, make_run(t, "ncp", k=3, seed=0)))
            for t in (table, turned)
        ]
        assert cells[0] == cells[1][::-1]
        assert len(cells[0]) == frame.height
