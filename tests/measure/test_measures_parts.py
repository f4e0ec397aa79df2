"""A part of a table under the counts of the whole one, as a worker among many sees it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shoal.hierarchy import Taxonomy
from shoal.measure.base import Grouped, pick_target
from shoal.measure.scores import create_measure
from shoal.measure.sse import deviation_of, error_of
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema

N = 60
TREE = Taxonomy.from_nested({"low": ["a", "b"], "high": ["c", "d"]})


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    age = [None if row == 7 else int(value) for row, value in enumerate(rng.integers(9, 40, N))]
    data = {
        "age": age,
        "tree": rng.choice(list("abcd"), N).tolist(),
        "set": [None if row % 20 == 3 else "xyz"[row % 3] for row in range(N)],
        "ill": rng.choice(["flu", "gout", "none"], N).tolist(),
    }
    kinds = {"age": Kind.NUMERIC, "tree": Kind.CATEGORICAL, "set": Kind.SET}
    columns = [
        Column(
            name=name,
            role=Role.QUASI_IDENTIFIER,
            kind=kind,
            hierarchy=TREE if name == "tree" else None,
        )
        for name, kind in kinds.items()
    ]
    columns.append(Column(name="ill", role=Role.SENSITIVE))
    return encode(pl.DataFrame(data), Schema(tuple(columns)))


LABELS = np.where(np.arange(N) % 13 == 5, -1, np.arange(N) // 6).astype(np.int32)


def joint_of(table, target):
    """How often each value goes with each sensitive one, counted row by row."""
    found = {}
    for attribute in table.attributes:
        counts = np.zeros((attribute.size + 1, target.size), np.int64)
        np.add.at(counts, (attribute.codes, target.codes), 1)
        found[attribute.name] = counts
    return found


@pytest.mark.parametrize("name", ["pmi", "wmi"])
def test_costs_of_parts_under_the_counts_of_the_whole_add_up_to_its_score(table, name):
    measure = create_measure(name)
    target = pick_target(table, {})
    partition = Partition.from_labels(LABELS)
    whole = measure.by_column(Grouped(table, partition, target))
    informed = replace(target, joint=joint_of(table, target))
    total = dict.fromkeys(whole, 0.0)
    for rows in (np.flatnonzero(LABELS < 4), np.flatnonzero(LABELS >= 4)):
        part = table.take(rows)
        own = replace(informed, codes=target.codes[rows])
        grouped = Grouped(part, Partition.from_labels(LABELS[rows]), own)
        for attribute, closures in zip(part.attributes, grouped.closures, strict=True):
            cost = measure.form(attribute, own, part).cost(closures)
            lost = float(np.sum(cost * grouped.histogram)) - measure.constant_of_part(attribute)
            total[attribute.name] += lost / N
    assert total == pytest.approx(whole)


def test_squared_errors_of_parts_add_up_to_the_share_of_the_whole(table):
    age, partition = table.attributes[0], Partition.from_labels(LABELS)
    measure = create_measure("sse")
    values, rows = np.unique(age.codes, return_counts=True)
    whole = deviation_of(age, values, rows)
    errors = 0.0
    for part in (np.flatnonzero(LABELS < 4), np.flatnonzero(LABELS >= 4)):
        errors += error_of(age.take(part), Partition.from_labels(LABELS[part]), whole)
    assert whole.share(errors) == pytest.approx(measure.by_column(Grouped(table, partition))["age"])
    nobody = Partition(np.full(N, -1, np.int32), 0)
    assert whole.share(error_of(age, nobody, whole)) == pytest.approx(1.0)


def test_costs_of_some_closures_are_those_of_all(table):
    measure, target = create_measure("pmi"), pick_target(table, {})
    grouped = Grouped(table, Partition.from_labels(LABELS), target)
    n_groups = grouped.partition.n_groups
    for attribute, closures in zip(table.attributes, grouped.closures, strict=True):
        form = measure.form(attribute, target, table)
        every = form.cost(closures)
        for first, last in ((0, 3), (3, n_groups), (n_groups, n_groups + 5)):
            some = form.cost(closures.part(first, last))
            np.testing.assert_array_equal(some, every[first:last])
