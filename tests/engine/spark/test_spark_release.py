"""The same release on a real cluster of Spark: promises, scores, chance, people, skew."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import EVERY_COLUMN, PRIVACY, SEED, arguments, people
from tests.helpers.spark_samples import FEW, K, N, in_order, on_spark, rows_of

import shoal
import shoal.spark
from shoal.errors import DataError, OptionError, PromiseError

TOGETHER = {
    "l-diversity": ["frequency", "distinct", "entropy", "recursive"],
    "shares": ["t equal", "t ordered", "alpha"],
}


def test_every_kind_of_column_in_blocks_is_published_and_scored_as_on_one_machine(spark):
    frame = people(N, missing=True)
    asked = {"block_rows": 60, "key": "token", "max_suppression": 0.05}
    release = on_spark(spark, frame, names=EVERY_COLUMN, **asked)
    found = in_order(release, frame)
    check_release(found, frame, K, EVERY_COLUMN)
    assert release.n_suppressed <= 0.05 * N
    usual = {name: arguments(EVERY_COLUMN)[name] for name in ("hierarchies", "kinds", "orders")}
    scores = shoal.score(
        frame,
        found.groups,
        quasi_identifiers=EVERY_COLUMN,
        sensitive=["disease", "stage"],
        measures=list(release.scores),
        **usual,
    )
    assert dict(release.scores) == pytest.approx(dict(scores))
    assert [column.name for column in release.facts.columns] == EVERY_COLUMN
    assert sum(rows * often for rows, often in release.facts.tuple_sizes) == N
    assert any("'token'" in each for each in release.warnings)
    assert str(SEED) not in str(release.certificate())
    release.forget()


@pytest.mark.parametrize("names", TOGETHER.values(), ids=TOGETHER)
def test_every_promise_is_kept_in_blocks(spark, names):
    frame = people(2 * N)
    privacy = [model for name in names for model in PRIVACY[name]]
    release = on_spark(spark, frame, key="token", block_rows=200, privacy=privacy)
    check_release(in_order(release, frame), frame, K, FEW, privacy)
    assert len(release.verification.checks) >= 1 + len(privacy)
    assert release.n_groups > 4
    release.forget()


def test_partitions_and_the_order_of_rows_change_nothing(spark):
    frame = people(N)
    first = on_spark(spark, frame, block_rows=60)
    again = on_spark(
        spark, frame.sample(fraction=1.0, shuffle=True, seed=1), partitions=5, block_rows=60
    )
    other = on_spark(spark, frame, block_rows=60, seed=1)
    assert rows_of(again) == rows_of(first)
    assert dict(again.scores) == dict(first.scores)
    assert rows_of(other) != rows_of(first)


def test_k_counts_people_where_a_column_says_whose_row_it_is(spark):
    rng = np.random.default_rng(5)
    whose = np.repeat(np.arange(80), 4)
    frame = pl.DataFrame(
        {
            "who": [f" Id {each} " if row % 2 else f"id {each}" for row, each in enumerate(whose)],
            "age": rng.integers(20, 60, len(whose)),
            "city": rng.choice(["Ur", "Uruk"], len(whose)),
            "token": np.arange(len(whose)),
        }
    )
    table = spark.createDataFrame(frame.to_arrow())
    asked = {"person": "who", "quasi_identifiers": FEW, "insensitive": "token", "seed": 1}
    release = shoal.spark.anonymize(table, K, block_rows=100, algorithm="mondrian", **asked)
    published = pl.DataFrame(pl.from_arrow(release.frame.toArrow())).sort("token")
    assert published.columns == ["age", "city", "token"]
    people_in = (
        published.with_columns(pl.Series("who", whose)).group_by(FEW).agg(pl.col("who").n_unique())
    )
    assert people_in.get_column("who").min() >= K
    assert release.verification.fewest_people == people_in.get_column("who").min()


def test_one_combination_that_most_rows_share_is_dealt_to_several_blocks(spark):
    n_same = 1_000
    frame = pl.DataFrame(
        {
            "age": [40] * n_same + list(range(20, 60)) * 5,
            "city": ["Ur"] * (n_same + 200),
            "disease": ["flu", "gout"] * (n_same // 2 + 100),
        }
    )
    table = spark.createDataFrame(frame.to_arrow()).repartition(3)
    asked = {"quasi_identifiers": FEW, "sensitive": "disease", "algorithm": "mondrian", "seed": 1}
    release = shoal.spark.anonymize(table, K, block_rows=250, **asked)
    published = pl.DataFrame(pl.from_arrow(release.frame.toArrow()))
    assert published.height == frame.height
    assert published.group_by("age").len().get_column("len").min() >= K
    assert published.filter(pl.col("age") == "40").height >= n_same
    assert (
        published.get_column("disease")
        .value_counts()
        .sort("disease")
        .equals(frame.get_column("disease").value_counts().sort("disease"))
    )


REFUSED = {
    "pseudonyms": {"person": "name", "identifiers": [], "pseudonyms": True},
    "bound": {"bound": True},
    "shuffle": {"shuffle": False},
    "threads": {"threads": 2},
    "incognito": {"algorithm": "incognito"},
    "pmi": {"measure": "pmi"},
    "mean": {"style": {"numeric": "mean"}},
    "person": {"person": "name", "identifiers": [], "privacy": PRIVACY["distinct"]},
}


@pytest.mark.parametrize("word", REFUSED)
def test_what_is_not_done_is_refused_in_one_sentence(spark, word):
    with pytest.raises(OptionError, match=f"Spark does not do this.*{word}"):
        on_spark(spark, people(N), **REFUSED[word])


def test_bad_input_is_said_in_one_sentence(spark):
    with pytest.raises(PromiseError, match="fewer than k"):
        on_spark(spark, people(N).head(3))
    with pytest.raises(DataError, match=r"use shoal\.anonymize"):
        shoal.spark.anonymize(people(N), K, **arguments(FEW))
    with pytest.raises(OptionError, match="key names column 'x'"):
        on_spark(spark, people(N), key="x")


def test_rows_with_missing_cells_are_left_out_or_an_error_if_that_is_asked(spark):
    frame = people(N, missing=True)
    gone = frame.select(pl.any_horizontal(pl.col(FEW).is_null())).to_series()
    release = on_spark(spark, frame, key="token", missing="suppress")
    found = in_order(release, frame)
    check_release(found, frame, K, FEW)
    assert (found.groups < 0).tolist() == gone.to_list()
    with pytest.raises(DataError, match=f"{gone.sum()} rows have a missing"):
        on_spark(spark, frame, missing="error")
