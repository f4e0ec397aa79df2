"""Outliers are the rows that cost their group more than they would cost suppressed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.measure.base import CostModel, pick_target
from shoal.measure.scores import create_measure
from shoal.search.scan import Scanner
from shoal.search.suppress import everything_cost, find_outliers
from shoal.table.closure import close
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema

AGES = [20, 21, 22, 23, 24, 25, 26, 27, 28, 99]


def encoded(measure="ncp", ages=AGES):
    n = len(ages)
    schema = Schema(
        (
            Column(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
            Column(name="city", role=Role.QUASI_IDENTIFIER, kind=Kind.FLAT, weight=2.0),
            Column(name="skill", role=Role.QUASI_IDENTIFIER, kind=Kind.SET),
            Column(name="ill", role=Role.SENSITIVE),
        )
    )
    frame = pl.DataFrame(
        {
            "age": ages,
            "city": ["Ur"] * (n - 1) + ["Uruk"],
            "skill": ["a"] * (n - 1) + ["b"],
            "ill": (["flu", "gout"] * n)[:n],
        }
    )
    table = encode(frame, schema)
    model = CostModel.bind(create_measure(measure), table, pick_target(table, {}))
    return table, model, Scanner.build(table, model)


@pytest.mark.parametrize("measure", ["ncp", "lm", "suppression", "mi", "pmi", "wmi"])
def test_a_suppressed_row_costs_what_everything_costs(measure):
    table, model, scanner = encoded(measure)
    nothing = Partition(np.full(table.n_rows, -1, np.int32), 0)
    expected = np.zeros(scanner.n_classes)
    for attribute, form, weight in zip(table.attributes, model.forms, model.weights, strict=True):
        expected += weight * np.atleast_1d(form.cost(close(attribute, nothing))[-1])
    assert everything_cost(scanner) / scanner.scale == pytest.approx(expected, abs=1e-6)


def test_the_row_that_spoils_its_group_is_found():
    table, _, scanner = encoded()
    one_group = Partition(np.zeros(table.n_rows, np.int32), 1)
    assert find_outliers(scanner, one_group, 1).tolist() == [9]
    assert find_outliers(scanner, one_group, 0).tolist() == []


def test_the_worst_rows_come_first_and_ties_go_to_the_first_row():
    _table, _, scanner = encoded(ages=[20, 21, 22, 23, 24, 60, 61, 62, 63, 99])
    partition = Partition.from_labels([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    assert find_outliers(scanner, partition, 5)[0] == 9


def test_rows_that_fit_are_no_outliers():
    _table, _, scanner = encoded()
    partition = Partition.from_labels([0, 0, 0, 1, 1, 1, 2, 2, 2, -1])
    assert find_outliers(scanner, partition, 9).tolist() == []


def table_with_outliers(n=60):
    rng = np.random.default_rng(6)
    ages = rng.integers(20, 40, n)
    ages[:2] = 500, 900
    return pl.DataFrame({"age": ages, "zip": rng.integers(0, 40, n)})


def test_the_worst_outliers_are_left_out_within_the_allowed_share():
    frame = table_with_outliers()
    roles = {"quasi_identifiers": ["age", "zip"], "seed": 3}
    whole = shoal.anonymize(frame, 4, **roles)
    fewer = shoal.anonymize(frame, 4, max_suppression=0.05, **roles)
    assert whole.n_suppressed == 0
    assert 1 <= fewer.n_suppressed <= 3
    assert fewer.groups[1] == -1
    assert fewer.scores["ncp"] < whole.scores["ncp"]


def test_suppression_that_does_not_pay_is_not_done():
    frame = pl.DataFrame({"age": [1, 1, 1, 1, 2, 2, 2, 2]})
    release = shoal.anonymize(frame, 2, quasi_identifiers="age", max_suppression=0.5, seed=1)
    assert release.n_suppressed == 0


def test_suppressed_rows_count_as_fully_generalised_in_every_measure():
    frame = pl.DataFrame({"age": [1, 2, 3, 4]})
    scores = shoal.score(
        frame, [0, 0, -1, -1], quasi_identifiers="age", measures=["ncp", "lm", "suppression"]
    )
    assert scores["ncp"] == pytest.approx((2 / 3 + 2) / 4)
    assert scores["lm"] == pytest.approx((2 / 3 + 2) / 4)
    assert scores["suppression"] == 1.0


def test_options_of_the_measure_decide_what_suppression_is_worth():
    frame = table_with_outliers().with_columns(ill=pl.lit("flu"))
    frame = frame.with_columns(
        ill=pl.when(pl.col("zip") > 20).then(pl.lit("gout")).otherwise("ill")
    )
    for w in (0.0, 1.0):
        release = shoal.anonymize(
            frame, 4, quasi_identifiers=["age", "zip"], sensitive="ill", seed=3,
            measure="wmi", measure_options={"w": w}, max_suppression=0.1,
        )  # fmt: skip
        whole = shoal.anonymize(
            frame, 4, quasi_identifiers=["age", "zip"], sensitive="ill", seed=3,
            measure="wmi", measure_options={"w": w},
        )  # fmt: skip
        assert release.scores["wmi"] <= whole.scores["wmi"] + 1e-9
