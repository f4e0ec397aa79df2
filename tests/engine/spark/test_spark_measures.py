"""Measures that look at a sensitive column or at means, minimised on a real cluster of Spark."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import PATHS, arguments, people
from tests.helpers.spark_samples import K, N, in_order, on_spark, rows_of

import shoal
from shoal.engine.spark import domain as targets
from shoal.errors import DataError, OptionError
from shoal.measure.base import CostMeasure
from shoal.measure.mi import PMI

pytestmark = pytest.mark.long

ROWS = 800
NAMES = ["age", "income", "country", "city", "skill"]
NUMBERS = ["age", "income"]
USUAL = {"refine": "balanced", "algorithm": "mondrian", "block_rows": 400, "key": "token"}
PAIR = {"column": ["disease", "stage"]}
MEANS = {"names": NUMBERS, "measure": "sse", "style": {"numeric": "mean"}, "grid": "none"}


def patients(*, missing=False):
    """People whose disease depends on age and city."""
    ill = pl.col("age").fill_null(0) // 15 + (pl.col("city") == "Ur").fill_null(value=False) * 2
    words = dict(enumerate(["flu", "ulcer", "gout", "none"]))
    disease = (ill % 4).replace_strict(words, return_dtype=pl.String)
    return people(ROWS, missing=missing).with_columns(disease.alias("disease"))


def shuffled(frame):
    return frame.sample(fraction=1.0, shuffle=True, seed=2)


def on_one_machine(frame, names, **options):
    asked = {"algorithm": "mondrian", "refine": "balanced", "seed": 1}
    return shoal.anonymize(frame, K, **arguments(names), **asked, **options)


def scores(frame, groups, names, measures, **options):
    usual = {name: arguments(names)[name] for name in ("sensitive", "hierarchies", "kinds")}
    return dict(
        shoal.score(
            frame, groups, quasi_identifiers=names, measures=list(measures), **usual, **options
        )
    )


@pytest.fixture(scope="module")
def informed(spark):
    frame = patients()
    release = on_spark(spark, frame, names=NAMES, measure="pmi", **USUAL)
    return frame, release, in_order(release, frame)


def test_pmi_is_minimised_in_blocks_with_the_counts_of_the_whole_table(informed):
    frame, release, found = informed
    check_release(found, frame, K, NAMES)
    here = on_one_machine(frame, NAMES, measure="pmi")
    other = on_one_machine(frame, NAMES, measure="ncp")
    assert release.scores["pmi"] < 1.05 * here.scores["pmi"]
    assert release.scores["pmi"] < 0.9 * other.scores["pmi"]


def test_scores_of_a_sensitive_column_are_those_of_the_groups_on_one_machine(informed):
    frame, release, found = informed
    assert {"pmi", "cm", "entropy-diversity"} <= set(release.scores)
    again = scores(frame, found.groups, NAMES, release.scores)
    assert dict(release.scores) == pytest.approx(again)


def test_partitions_and_order_change_nothing_for_pmi(spark, informed):
    again = on_spark(
        spark, shuffled(informed[0]), names=NAMES, partitions=5, measure="pmi", **USUAL
    )
    assert rows_of(again) == rows_of(informed[1])
    assert dict(again.scores) == dict(informed[1].scores)


def test_rounds_of_a_norm_publish_the_best_one(spark, informed):
    frame, release, found = informed
    options = {"norm": "l2"}
    best = on_spark(spark, frame, names=NAMES, measure="pmi", measure_options=options, **USUAL)
    other = in_order(best, frame)
    check_release(other, frame, K, NAMES)
    # the first round is the release without a norm
    worth = [scores(frame, g, NAMES, ["pmi-l2"])["pmi-l2"] for g in (found.groups, other.groups)]
    assert worth[1] > worth[0]
    assert len(best.engine._held) == len(release.engine._held)


def test_several_columns_are_one_and_rows_that_are_left_out_count(spark):
    frame, names = patients(missing=True), ["age", "income", "city"]
    asked = {"measure": "wmi", "measure_options": {"w": 0.3, **PAIR}, "missing": "suppress"}
    release = on_spark(spark, frame, names=names, max_suppression=0.02, **asked, **USUAL)
    found = in_order(release, frame)
    check_release(found, frame, K, names)
    gone = frame.select(pl.any_horizontal(pl.col(names).is_null())).to_series().sum()
    assert gone <= release.n_suppressed <= gone + 0.02 * ROWS
    options = asked["measure_options"]
    again = scores(frame, found.groups, names, release.scores, measure_options=options)
    assert dict(release.scores) == pytest.approx(again)


@pytest.fixture(scope="module")
def averaged(spark):
    frame = patients()
    release = on_spark(spark, frame, **MEANS, **USUAL)
    return frame, release, in_order(release, frame)


def test_means_are_published_and_their_squared_error_is_minimised(averaged):
    frame, release, found = averaged
    mean = frame.with_columns(pl.Series("group", found.groups)).select(
        pl.col(NUMBERS).cast(pl.Float64).mean().over("group")
    )
    for name in NUMBERS:
        cells = found.frame.get_column(name).to_numpy()
        np.testing.assert_allclose(cells, mean.get_column(name).to_numpy())
    assert found.frame.group_by(NUMBERS).len().get_column("len").min() >= K
    here = on_one_machine(frame, NUMBERS, measure="sse", grid="none")
    other = on_one_machine(frame, NUMBERS, measure="ncp", style={"numeric": "mean"}, grid="none")
    assert release.scores["sse"] < 1.1 * here.scores["sse"]
    assert release.scores["sse"] < other.scores["sse"]
    again = scores(frame, found.groups, NUMBERS, release.scores, grid="none")
    assert dict(release.scores) == pytest.approx(again)


def test_partitions_and_order_change_no_mean(spark, averaged, tmp_path):
    again = on_spark(spark, shuffled(averaged[0]), partitions=5, **MEANS, **USUAL)
    assert rows_of(again) == rows_of(averaged[1])
    assert dict(again.scores) == dict(averaged[1].scores)
    assert again.facts.columns == averaged[1].facts.columns
    for kind in ("csv", "parquet"):
        written = again.write(tmp_path / kind, format=kind)
        assert written.verification.read_from == "what was written"


def test_medians_are_published_and_no_median_where_a_value_is_missing(spark):
    frame = people(N, missing=True)
    asked = {"names": NUMBERS, "style": {"numeric": "median"}, "grid": "none"}
    release = on_spark(spark, frame, key="token", **asked)
    found = in_order(release, frame)
    assert "sse" not in release.scores
    grouped = frame.with_columns(pl.Series("group", found.groups))
    for name in NUMBERS:
        own = pl.when(pl.col(name).null_count().over("group") == 0).then(
            pl.col(name).cast(pl.Float64).median().over("group")
        )
        assert found.frame.get_column(name).equals(grouped.select(own.alias(name)).to_series())
    shown = {bar.label for column in release.facts.columns for bar in column.bars}
    assert "missing" in shown
    everybody = [shoal.KMap(9, population=frame)]
    with pytest.raises(DataError, match="do not tell whom they cover"):
        on_spark(spark, frame, privacy=everybody, **asked)


def test_the_values_of_a_group_are_published_in_place_of_their_node(spark):
    frame, names = people(N, missing=True), ["country", "age"]
    asked = {"style": {"categories": "values"}, "key": "token", "block_rows": 100}
    found = in_order(on_spark(spark, frame, names=names, **asked), frame)
    own = pl.DataFrame(
        {"country": frame["country"], "cell": found.frame["country"], "group": found.groups}
    )
    cells = own.group_by("group").agg(pl.col("country").unique(), pl.col("cell").unique())
    known = cells.filter(pl.col("country").list.len() > 1, ~pl.col("country").list.contains(None))
    assert known.height > 2
    for values, cell in known.select("country", "cell").rows():
        assert cell == ["{" + ", ".join(sorted(values, key=list(PATHS).index)) + "}"]
    single = cells.filter(pl.col("country").list.len() == 1)
    assert single.height
    assert single["country"].equals(single["cell"].alias("country"))


NOBODY = {"sensitive": [], "hierarchies": {}, "insensitive": ["token", "disease", "stage"]}
WRONG = {
    "no sensitive column": ({"measure": "pmi", **NOBODY}, "looks at a sensitive column and none"),
    "another column": (
        {"measure": "pmi", "measure_options": {"column": "age"}},
        "'age', which is not a sensitive column",
    ),
    "no numbers": ({"measure": "sse"}, "column 'city' has none"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_measure_that_does_not_fit_the_columns_is_refused(spark, case):
    options, sentence = WRONG[case]
    with pytest.raises(OptionError, match=sentence):
        on_spark(spark, people(N), **options)


@pytest.mark.parametrize("column", ["disease", ["disease", "stage"]])
def test_more_pairs_of_values_than_workers_are_given_are_refused(spark, monkeypatch, column):
    monkeypatch.setattr(targets, "MOST_CLASSES", 3)
    options = {"measure_options": {"column": column}}
    with pytest.raises(
        OptionError, match=r"at most 3 sensitive values and .* pairs; here are more"
    ):
        on_spark(spark, people(N), measure="pmi", **options)
    monkeypatch.setattr(targets, "MOST_CLASSES", 100)
    monkeypatch.setattr(targets, "MOST_PAIRS", 10)
    with pytest.raises(OptionError, match=r"here are (4|20) sensitive values and .* others"):
        on_spark(spark, people(N), measure="pmi", **options)


def test_pmi_is_not_scored_where_there_are_too_many_pairs(spark, monkeypatch):
    monkeypatch.setattr(targets, "MOST_PAIRS", 10)
    release = on_spark(spark, people(N))
    assert "pmi" not in release.scores
    assert "cm" in release.scores


def test_a_measure_of_others_that_needs_all_rows_is_refused(spark, monkeypatch):
    monkeypatch.setattr(PMI, "follow_columns", CostMeasure.follow_columns)
    with pytest.raises(OptionError, match="measure 'pmi', whose rounds look at all groups"):
        on_spark(spark, people(N), measure="pmi", measure_options={"norm": "max"})
    monkeypatch.setattr(PMI, "by_counts", False)
    with pytest.raises(OptionError, match="measure 'pmi', which looks at the sensitive column"):
        on_spark(spark, people(N), measure="pmi")
