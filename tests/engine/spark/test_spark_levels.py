"""Full-domain generalisation on Spark: the release of one machine, row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import EVERYBODY, SEED, arguments, people
from tests.helpers.spark_samples import K, N, assert_same, in_order, on_spark, table_of
from typer.testing import CliRunner

import shoal
import shoal.spark
from shoal import KMap, LDiversity, TCloseness
from shoal.cli.app import app
from shoal.engine.spark import full_domain as levels
from shoal.errors import AlgorithmError, DataError, OptionError, PromiseError
from shoal.table.partition import Partition

NAMES = ["country", "city", "age"]
AGES = shoal.interval_hierarchy(range(-20, 120), widths=(5, 20, 60))
CASES = {
    "k alone, and a missing value is one of its own": {"partitions": 3},
    "l-diversity": {
        "privacy": [LDiversity(2, kind="distinct"), LDiversity(1.5, column="disease")],
        "measure": "mi",
        "partitions": 5,
    },
    "t-closeness, and rows may be left out": {
        "privacy": [TCloseness(0.4, column="disease")],
        "max_suppression": 0.1,
        "measure": "lm",
    },
    "rows may be left out": {"max_suppression": 0.04, "weights": {"age": 3.0}},
    "a measure of a sensitive column": {
        "measure": "wmi",
        "measure_options": {"w": 0.3, "column": ["stage", "disease"]},
        "max_suppression": 0.05,
    },
    "never below a level, and rows with a missing cell are left out": {
        "grid": {"country": "level 1"},
        "missing": "suppress",
        "max_suppression": 0.02,
    },
}

pytestmark = pytest.mark.long


def asked(**options):
    usual = arguments(NAMES)
    usual["hierarchies"] = {**usual["hierarchies"], "age": AGES}
    return {**usual, "algorithm": "incognito", "seed": SEED, **options}


def one_machine(frame, **options):
    return shoal.anonymize(frame, K, **asked(**options))


def assert_same_release(release, local):
    """Rows, groups, promises, scores and what is told about them are those of one machine."""
    published = table_of(release.frame)
    assert published.columns == local.frame.columns
    assert sorted(map(str, published.rows())) == sorted(map(str, local.frame.rows()))
    assert release.n_groups == local.n_groups
    assert release.n_suppressed == local.n_suppressed
    assert_same(release.verification, local.verification)
    both = [name for name in local.scores if name in release.scores]
    assert len(both) >= 8  # Spark has mi as well
    for name in both:
        assert release.scores[name] == pytest.approx(local.scores[name]), name
    for name in set(both) & set(local.scores.by_column):
        assert release.scores.by_column[name] == pytest.approx(local.scores.by_column[name])
    if release.groups is not None:
        groups = table_of(release.groups).sort("token").get_column("group")
        found, expected = Partition.from_labels(groups), Partition.from_labels(local.groups)
        pairs = set(zip(found.labels.tolist(), expected.labels.tolist(), strict=True))
        assert len(pairs) == len(set(found.labels)) == len(set(expected.labels))
    told, known = release.certificate(), local.certificate()
    for each in (told, known):
        for name in ("seconds", "shoal", "created", "engine"):
            each.pop(name, None)
    assert told == known
    assert release.facts.tuple_sizes == local.facts.tuple_sizes
    for own, other in zip(release.facts.columns, local.facts.columns, strict=True):
        assert own.loss == pytest.approx(other.loss)
        assert replace(own, loss=other.loss) == other
    assert release.facts.bucket_rows == local.facts.bucket_rows
    assert np.array(release.facts.heat) == pytest.approx(np.array(local.facts.heat))


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_the_release_is_that_of_one_machine(spark, options):
    frame = people(N, missing=True)
    local = one_machine(frame, **{k: v for k, v in options.items() if k != "partitions"})
    release = on_spark(spark, frame, names=NAMES, key="token", **asked(**options))
    assert_same_release(release, local)
    assert release.n_groups > 1
    check_release(in_order(release, frame), frame, K, NAMES, options.get("privacy", ()))
    release.forget()


@pytest.fixture(scope="module")
def visits():
    """Several rows of each person, mostly alike: rows are more than people in every group."""
    rng = np.random.default_rng(5)
    whose = np.repeat(np.arange(90), 4)
    age = np.repeat(rng.choice(12, 90, p=np.arange(1, 13) ** 3 / 6084), 4) + (rng.random(360) < 0.1)
    return pl.DataFrame(
        {
            "who": [f" Id {each} " if row % 2 else f"id {each}" for row, each in enumerate(whose)],
            "age": 20 + age,
            "city": rng.choice(["Ur", "Uruk"], 360),
            "disease": rng.choice(["flu", "Flu ", "ulcer", "gout"], 360),
        }
    )


OF_PEOPLE = {
    "k": {"max_suppression": 0.05},
    "promises": {
        "privacy": [LDiversity(2, kind="distinct"), TCloseness(0.6)],
        "max_suppression": 0.05,
    },
}


@pytest.mark.parametrize("which", OF_PEOPLE)
def test_people_are_counted_as_on_one_machine(spark, visits, monkeypatch, which):
    asked = {
        "quasi_identifiers": ["age", "city"],
        "sensitive": "disease",
        "person": "who",
        "hierarchies": {"age": shoal.interval_hierarchy(range(20, 34), widths=(2, 4, 8))},
        "algorithm": "incognito",
        **OF_PEOPLE[which],
    }
    local = shoal.anonymize(visits, K, **asked)
    rows = shoal.anonymize(visits.drop("who"), K, **{**asked, "person": None})
    assert rows.frame.get_column("age").to_list() != local.frame.get_column("age").to_list()
    ids = pl.col("who").str.strip_chars().str.to_lowercase()
    by = ["age", "city"] if which == "k" else ["age", "city", "disease"]
    known = visits.group_by(by).agg(ids.n_unique()).get_column("who")
    # of a combination with many people k are enough, unless values are counted
    lines = int((known.clip(upper_bound=K) if which == "k" else known).sum())
    assert known.max() > K
    monkeypatch.setattr(levels, "MOST_LINES", lines)
    table = spark.createDataFrame(visits.to_arrow()).repartition(3)
    release = shoal.spark.anonymize(table, K, **asked)
    assert_same_release(release, local)
    assert release.n_groups > 1
    assert release.verification.fewest_people == local.verification.fewest_people
    monkeypatch.setattr(levels, "MOST_LINES", lines - 1)
    with pytest.raises(DataError, match="each with its people, on the driver of Spark"):
        shoal.spark.anonymize(table, K, **asked)


def test_one_combination_that_most_rows_share_is_one_line_on_the_driver(spark, monkeypatch):
    few, n_same = people(N).select("city", "country", "disease"), 6000
    same = pl.DataFrame({"city": ["Ur"], "country": ["Peru"], "disease": ["flu"]})
    frame = pl.concat([same] * n_same + [few]).sample(fraction=1.0, shuffle=True, seed=1)
    asked = {
        "quasi_identifiers": ["city", "country"],
        "sensitive": "disease",
        "algorithm": "incognito",
    }
    different = frame.select("city", "country").n_unique()
    monkeypatch.setattr(levels, "MOST_LINES", different)
    table = spark.createDataFrame(frame.to_arrow()).repartition(4)
    release = shoal.spark.anonymize(table, K, **asked)
    assert_same_release(release, shoal.anonymize(frame, K, **asked))
    monkeypatch.setattr(levels, "MOST_LINES", different - 1)
    with pytest.raises(DataError, match=f"more than the {different - 1} that it takes; use fewer"):
        shoal.spark.anonymize(table, K, **asked)


def test_what_cannot_be_done_is_said_in_one_sentence_as_on_one_machine(spark):
    frame = people(N)
    bare = {"algorithm": "incognito", **arguments(["age", "city"])}
    with pytest.raises(AlgorithmError, match="column 'age' of kind 'numeric' has none") as local:
        shoal.anonymize(frame, K, **bare)
    with pytest.raises(AlgorithmError) as found:
        on_spark(spark, frame, **bare)
    assert str(found.value) == str(local.value)
    with pytest.raises(OptionError, match="cannot work in blocks; leave block_rows out"):
        on_spark(spark, frame, names=NAMES, **asked(block_rows=60))


def test_a_promise_about_the_whole_is_kept_at_the_levels_or_refused(spark):
    frame, kept = people(N), [KMap(K, population=EVERYBODY), shoal.PopulationRisk(0.5)]
    release = on_spark(spark, frame, names=NAMES, key="token", **asked(privacy=kept))
    check_release(in_order(release, frame), frame, K, NAMES, kept)
    promise = [KMap(300, population=EVERYBODY)]
    with pytest.raises(PromiseError, match=r"fits at least 300 people.*ask for a larger k"):
        on_spark(spark, frame, names=NAMES, **asked(privacy=promise))


def test_the_command_line_writes_the_rows_that_one_machine_writes(spark, tmp_path):
    frame = people(N, missing=True).select("country", "city", "disease")
    (tmp_path / "in").mkdir()
    frame.write_csv(tmp_path / "in" / "part.csv")
    usual = ["--k", str(K), "--qi", "country,city", "--sensitive", "disease"]
    usual += ["--algorithm", "incognito", "--format", "csv", "--max-suppression", "0.03"]
    folder = [str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--engine", "spark"]
    folder += ["--certificate", str(tmp_path / "spark.json")]
    file = [str(tmp_path / "in" / "part.csv"), "-o", str(tmp_path / "out.csv")]
    for where in (folder, file):
        done = CliRunner().invoke(app, ["anonymize", *where, *usual])
        assert done.exit_code == 0, done.output
    (written,) = (tmp_path / "out").glob("*.csv")
    texts = [
        path.read_text(encoding="utf-8").splitlines() for path in (written, tmp_path / "out.csv")
    ]
    assert sorted(texts[0]) == sorted(texts[1])
    assert '"incognito"' in (tmp_path / "spark.json").read_text(encoding="utf-8")
