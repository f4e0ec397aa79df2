"""Cells of a lattice against a plain twin: tuples in dictionaries, levels by definition."""

from __future__ import annotations

from collections import defaultdict

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from tests.helpers.brute import MEASURES, make_run, small_tables

from shoal.search.lattice import MOST_VECTORS, Lattice, cell_labels, cell_partition
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.schema import build_schema


def twin(lattice, k):
    """Return the cells, one generalisation after the other, and the rows that are in none."""
    left, cells = set(range(lattice.marks.shape[1])), []
    for vector in lattice.vectors:
        alike = defaultdict(list)
        for i in sorted(left):
            alike[tuple(int(lattice.marks[level, i]) for level in vector)].append(i)
        for rows in alike.values():
            if len(rows) >= k:
                cells.append(rows)
                left -= set(rows)
    return cells, left


def as_sets(label):
    return {frozenset(np.flatnonzero(label == g).tolist()) for g in range(label.max() + 1)}


@pytest.mark.parametrize("measure", MEASURES)
def test_cells_are_those_of_the_twin(measure):
    formed = 0
    for table in small_tables(11):
        run = make_run(table, measure, 3, 0)
        if run.scanner.n_classes > 1:
            continue
        lattice = Lattice.of(table, run.model)
        label, n_groups = cell_labels(lattice, run)
        cells, left = twin(lattice, 3)
        assert n_groups == len(cells)
        assert set(np.flatnonzero(label < 0).tolist()) == left
        assert n_groups == 0 or as_sets(label) == {frozenset(rows) for rows in cells}
        formed += n_groups
        sizes = cell_partition(table, run).sizes
        assert sizes.sum() == table.n_rows
        assert sizes.min() >= min(3, table.n_rows)
    assert formed or measure == "pmi"  # costs per sensitive value: not from cells


def build(frame, kinds=None, hierarchies=None, measure="ncp", k=5):
    schema = build_schema(
        frame.columns,
        quasi_identifiers=frame.columns,
        kinds=kinds or {},
        hierarchies=hierarchies or {},
    )
    table = encode(frame, infer_kinds(schema, nw.from_native(frame)))
    return table, make_run(table, measure, k, 0)


def test_generalisations_go_from_exact_values_to_everything_and_cost_more_and_more():
    frame = pl.DataFrame(
        {
            "age": [i % 40 for i in range(400)],
            "pay": [(i * 7919) % 1009 / 7 for i in range(400)],
            "sex": ["fm"[i % 2] for i in range(400)],
        }
    )
    table, run = build(frame)
    lattice = Lattice.of(table, run.model)
    looks = [
        len({tuple(lattice.marks[vector, i].tolist()) for i in range(400)})
        for vector in lattice.vectors
    ]
    assert looks[0] == frame.unique().height
    assert looks[-1] == 1
    nominal = Lattice.of(table, run.model, np.array([1.0, 1.0, 50.0]))
    kept = [len(set(nominal.marks[vector[2]].tolist())) == 2 for vector in nominal.vectors]
    assert kept == sorted(kept, reverse=True)  # a heavy column is given up last of all


@pytest.mark.parametrize("columns", [3, 12, 60])
def test_wide_tables_have_no_more_generalisations_than_can_be_tried(columns):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{j}": rng.integers(0, 2 + j * 3 % 97, 200) for j in range(columns)})
    table, run = build(frame)
    lattice = Lattice.of(table, run.model)
    assert len(lattice.vectors) <= MOST_VECTORS
    last = lattice.marks[lattice.vectors[-1]].sum(axis=0, dtype=np.uint64)
    assert len(set(last.tolist())) == 1
    assert cell_partition(table, run).sizes.min() >= 5


def test_columns_of_one_value_and_almost_none_are_no_obstacle():
    few = [7, 8, *([None] * 28)]
    frame = pl.DataFrame({"one": [3] * 30, "few": few, "x": list(range(30))})
    table, run = build(frame)
    assert cell_partition(table, run).sizes.min() >= 5


def test_chance_changes_the_order_and_the_same_chance_gives_the_same_cells():
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({f"c{j}": rng.integers(0, 6, 300) for j in range(5)})
    table, _ = build(frame)
    found = [
        cell_partition(table, make_run(table, "ncp", 5, 0), jitter=jitter).labels
        for jitter in (0.0, 0.5, 0.5)
    ]
    assert not np.array_equal(found[0], found[1])
    assert np.array_equal(found[1], found[2])
