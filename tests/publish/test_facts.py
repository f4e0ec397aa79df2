"""Aggregates of a run, counted by hand or by another way."""

import datetime as dt
from collections import Counter

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import shoal
from shoal.publish.aggregates import gather_facts
from shoal.publish.recode import Style, recode
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.partition import Partition
from shoal.table.schema import build_schema


def facts_of(frame, k=2, **options):
    given = {"quasi_identifiers": frame.columns, "algorithm": "mondrian", "seed": 1} | options
    return shoal.anonymize(frame, k, **given).facts


@pytest.mark.parametrize("n_columns", [3, 40], ids=["exact", "hashed"])
def test_rows_that_agree_before_are_counted_as_python_would(n_columns):
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 9, (300, n_columns))
    rows[100:200] = rows[:100]
    rows[200:230] = rows[:30]
    frame = pl.DataFrame(rows, schema=[f"c{n}" for n in range(n_columns)], orient="row")
    expected = Counter(Counter(Counter(map(tuple, rows.tolist())).values()).items())
    assert facts_of(frame).tuple_sizes == tuple(sorted(expected))


def test_missing_is_not_taken_for_a_value():
    frame = pl.DataFrame({"a": [0, 0, None, None, 1, 1], "b": [1, 1, 0, 0, None, None]})
    assert facts_of(frame).tuple_sizes == ((2, 3),)


def test_buckets_hold_all_published_rows_and_run_from_least_to_most_loss():
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"a": rng.integers(0, 50, 500), "b": rng.exponential(9, 500)})
    facts = facts_of(frame, k=5)
    assert sum(facts.bucket_rows) == 500
    total = np.sum(facts.heat, axis=0)
    assert np.all(np.diff(total) >= -1e-3)
    for column, row in zip(facts.columns, facts.heat, strict=True):
        mean = np.average(row, weights=facts.bucket_rows)
        assert mean == pytest.approx(column.loss, abs=1e-3)


def test_facts_do_not_depend_on_how_groups_are_numbered():
    rng = np.random.default_rng(6)
    for trial in range(30):
        n = int(rng.integers(20, 120))
        frame = pl.DataFrame(
            {
                "a": rng.integers(0, 50, n),
                "b": rng.exponential(9, n),
                "c": rng.choice(["x", "y", "z"], n),
            }
        )
        schema = infer_kinds(
            build_schema(frame.columns, quasi_identifiers=frame.columns), nw.from_native(frame)
        )
        table = encode(frame, schema)
        labels = rng.integers(0, 8, n)
        renamed = rng.permutation(8)[labels]
        found = []
        for each in (labels, renamed):
            partition = Partition.from_labels(each)
            published, _ = recode(frame, schema, table, partition)
            found.append(gather_facts(table, partition, published, k=2, style=Style()))
        assert found[0].columns == found[1].columns, trial
        assert found[0].heat == found[1].heat
        assert found[0].bucket_rows == found[1].bucket_rows
        assert dict(found[0].scores) == dict(found[1].scores)


def test_whole_numbers_have_bars_from_published_bound_to_published_bound():
    frame = pl.DataFrame({"a": [1, 1, 1, 2, 2, 2, 7, 8, 9]})
    (column,) = facts_of(frame, k=3).columns
    labels = {bar.label: (bar.before, bar.after) for bar in column.bars}
    assert labels == {"1": (0.33, 0.33), "2 to under 7": (0.33, 0.33), "7 to 9": (0.33, 0.33)}


@pytest.mark.parametrize(("hours", "clock"), [(0, False), (7, True)], ids=["days", "moments"])
def test_moments_at_midnight_are_shown_as_days(hours, clock):
    start = dt.datetime(2024, 1, 1, hours)
    seen = [start + dt.timedelta(days=number) for number in range(8)]
    bars = facts_of(pl.DataFrame({"seen": seen}), grid="none").columns[0].bars
    assert len(bars) > 1
    assert all((":" in bar.label) is clock for bar in bars)


def test_labels_of_a_hierarchy_count_what_could_have_been_told():
    tree = {"any": {"north": ["Oslo", "Bergen"], "south": ["Rome", "Bari"]}}
    towns = ["Oslo"] * 4 + ["Oslo", "Bergen"] + ["Rome", "Bari"]
    codes = [0] * 4 + [50] * 2 + [99] * 2
    frame = pl.DataFrame({"town": towns, "code": codes})
    columns = facts_of(frame, hierarchies={"town": tree}, algorithm="k-member").columns
    bars = {bar.label: (bar.before, bar.after) for bar in columns[0].bars}
    # The one Bergen has no label of its own; alone it would be fewer than k rows.
    assert bars == {"Oslo": (0.62, 0.5), "north": (0.0, 0.25), "south": (0.25, 0.25)}


def test_suppressed_rows_are_in_no_bar():
    frame = pl.DataFrame({"a": [1] * 5 + [2] * 5 + [None], "b": ["x"] * 10 + ["y"]})
    facts = facts_of(frame, k=5, missing="suppress")
    first, second = facts.columns
    assert [bar.label for bar in first.bars] == ["1", "2"]
    assert [(bar.label, bar.before, bar.after) for bar in second.bars] == [("x", 1.0, 1.0)]


def test_words_in_an_order_have_bars_that_end_before_a_word_and_numbers_under_one():
    words = [f"w{number:02}" for number in range(40)]
    frame = pl.DataFrame({"seen": words * 5, "number": [*range(40)] * 5})
    release = shoal.anonymize(
        frame,
        k=20,
        quasi_identifiers=["seen", "number"],
        kinds={"seen": "ordinal"},
        orders={"seen": words},
        algorithm="mondrian",
        rows_are_people=True,
    )
    ordered, numbers = (
        " ".join(bar.label for bar in column.bars) for column in release.facts.columns
    )
    assert " before " in ordered
    assert " under " not in ordered
    assert " under " in numbers
