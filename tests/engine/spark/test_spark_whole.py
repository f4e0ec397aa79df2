"""Promises about a release as a whole on Spark: a population, the sizes of all groups."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import EVERYBODY, SEED, people
from tests.helpers.spark_samples import (
    FEW,
    K,
    N,
    assert_same,
    in_order,
    on_spark,
    rows_of,
    table_of,
)
from typer.testing import CliRunner

import shoal
from shoal import DeltaPresence, KMap, PopulationRisk
from shoal.cli.app import app
from shoal.engine.spark import folder as folders
from shoal.engine.spark import population_check as everybody
from shoal.engine.spark import release_wide_promises as whole
from shoal.engine.spark.check import verify_frame
from shoal.engine.spark.population_check import AboutAll
from shoal.errors import DataError, OptionError, PromiseError

pytestmark = pytest.mark.long

COUNTED = EVERYBODY.group_by(FEW).agg(pl.len().cast(pl.Int64).alias("n"))


def whole_promises(population=EVERYBODY, counts=None):
    """Promises that groups of k break, which merging keeps."""
    return [
        KMap(40, population=population, counts=counts),
        DeltaPresence(0.5, population=population, counts=counts),
        PopulationRisk(0.1),
        PopulationRisk(0.004, kind="highest", population_size=10_000),
        PopulationRisk(0.01, kind="uniques", sampling_fraction=0.1),
    ]


@pytest.fixture(scope="module")
def promised(spark):
    """A release in several blocks whose population is a table of Spark, with counts."""
    population = spark.createDataFrame(COUNTED.to_arrow())
    asked = {"privacy": whole_promises(population, "n"), "block_rows": 60, "key": "token"}
    return on_spark(spark, people(N), **asked)


def test_promises_about_the_whole_are_kept_in_blocks_and_one_machine_agrees(promised, plain):
    frame = people(N)
    check_release(in_order(promised, frame), frame, K, FEW, whole_promises()[:3])
    assert 1 < promised.n_groups < plain.n_groups
    assert len(promised.verification.checks) == 6
    published = table_of(promised.frame)
    expected = shoal.verify(published, K, quasi_identifiers=FEW, privacy=whole_promises())
    assert_same(promised.verification, expected)


def test_how_a_population_is_given_and_how_rows_are_spread_changes_nothing(spark, promised):
    shuffled = people(N).sample(fraction=1.0, shuffle=True, seed=2)
    asked = {"privacy": whole_promises(), "block_rows": 60}
    other = on_spark(spark, shuffled, partitions=5, **asked)
    assert rows_of(other) == rows_of(promised)
    assert dict(other.scores) == dict(promised.scores)


TAMPERED = {
    "halves": "concat(city, pmod(token, 2))",  # a city that nobody lives in, and smaller groups
    "single rows": "concat(city, token)",
    "wrong place": "if(city = 'Ur', 'Uruk', city)",
}


@pytest.mark.parametrize("way", TAMPERED)
def test_verification_finds_what_tampered_cells_break_as_one_machine_does(promised, way):
    from pyspark.sql import functions

    frame = promised.frame.withColumn("city", functions.expr(TAMPERED[way]))
    names = ("quasi_identifiers", FEW), ("k", 2)
    about = AboutAll(
        everybody.counted_models(whole_promises(), FEW), promised.schema, promised.style
    )
    found = verify_frame(frame, about_all=about, **dict(names))
    expected = shoal.verify(table_of(frame), privacy=whole_promises(), **dict(names))
    assert_same(found, expected)
    kept = {check.name: check.holds for check in found.checks}
    broken = ["k-map", "delta-presence", "average risk"] if way == "halves" else []
    broken += ["k-map", "highest risk", "uniques risk"] if way == "single rows" else []
    assert not any(kept[name] for name in broken)
    assert found.violating_rows or not broken


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_that_break_a_promise_about_the_whole_never_appear(
    promised, tmp_path, monkeypatch, kind
):
    written = promised.write(tmp_path / "safe", format=kind)
    assert_same(written.verification, promised.verification)
    if kind == "csv":
        return
    read = folders.read_folder

    def tampered(*given):
        from pyspark.sql import functions

        return read(*given).withColumn("city", functions.lit("Nowhere"))

    monkeypatch.setattr(folders, "read_folder", tampered)
    with pytest.raises(PromiseError, match="fits at least 40 people"):
        promised.write(tmp_path / "other", format=kind)
    assert [each.name for each in tmp_path.iterdir()] == ["safe"]


def test_regions_that_cover_too_few_people_are_looked_at_together(spark, monkeypatch):
    asked = {"privacy": [KMap(900, population=EVERYBODY)], "block_rows": 60}
    release = on_spark(spark, people(N), **asked)
    assert release.verification.checks[1].measured >= 900
    monkeypatch.setattr(whole, "UNITED", 1)
    with pytest.raises(PromiseError, match=r"blocks of similar rows.*k-map with k = 900"):
        on_spark(spark, people(N), **asked)


def test_nobody_of_the_population_is_less_likely_in_the_table_than_promised(spark, plain):
    frame = people(N)
    others = people(1200, seed=8).filter(pl.col("age").is_between(25, 65)).head(10)
    promise = DeltaPresence(1.0, delta_min=0.05, population=pl.concat([frame, others]))
    release = on_spark(spark, frame, block_rows=120, key="token", privacy=[promise])
    check_release(in_order(release, frame), frame, K, FEW, [promise])
    assert 1 < release.n_groups < plain.n_groups


def test_people_are_counted_where_a_column_says_whose_row_it_is(spark, tmp_path):
    rng = np.random.default_rng(5)
    whose = np.repeat(np.arange(120), 2)
    frame = pl.DataFrame(
        {
            "who": [f"id {each}" for each in whose],
            "age": rng.integers(20, 60, len(whose)),
            "city": rng.choice(["Ur", "Uruk"], len(whose)),
            "disease": rng.choice(["flu", "gout", "none"], len(whose)),
            "token": np.arange(len(whose)),
        }
    )
    promises = [
        shoal.LDiversity(2, kind="distinct"),
        KMap(60, population=EVERYBODY),
        DeltaPresence(0.4, population=EVERYBODY),
        PopulationRisk(0.12),
    ]
    release = shoal.spark.anonymize(
        spark.createDataFrame(frame.to_arrow()),
        K,
        quasi_identifiers=FEW,
        person="who",
        sensitive="disease",
        insensitive="token",
        privacy=promises,
        algorithm="mondrian",
        block_rows=100,
        seed=1,
    )
    known = table_of(release.frame).sort("token").with_columns(frame.get_column("who"))
    asked = {"quasi_identifiers": FEW, "sensitive": "disease", "person": "who"}
    expected = shoal.verify(known, K, privacy=promises, **asked)
    assert_same(release.verification, expected)
    assert release.n_groups > 1
    written = release.write(tmp_path / "safe")
    assert_same(written.verification, expected)


def test_the_command_line_reads_the_population_and_one_machine_verifies_the_folder(spark, tmp_path):
    frame = people(N).select("age", "city", "disease")
    (tmp_path / "in").mkdir()
    frame.write_csv(tmp_path / "in" / "part.csv")
    EVERYBODY.select(FEW).write_csv(tmp_path / "register.csv")
    promises = ["--k", str(K), "--qi", "age,city", "--k-map", "40", "--average-risk", "0.1"]
    promises += ["--presence-max", "0.5", "--population", str(tmp_path / "register.csv")]
    command = [
        *("anonymize", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--format", "csv"),
        *("--engine", "spark", "--sensitive", "disease", "--algorithm", "mondrian"),
        *("--seed", str(SEED), "--certificate", str(tmp_path / "certificate.json")),
        *("--report", str(tmp_path / "report.html")),
    ]
    done = CliRunner().invoke(app, [*command, *promises])
    assert done.exit_code == 0, done.output
    (file,) = (tmp_path / "out").glob("*.csv")
    checked = CliRunner().invoke(app, ["verify", str(file), *promises])
    assert checked.exit_code == 0, checked.output
    certificate = (tmp_path / "certificate.json").read_text(encoding="utf-8")
    assert '"k-map"' in certificate
    assert "register.csv" not in certificate
    assert "k-map" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_no_group_of_all_rows_keeps_is_refused_before_the_work(spark):
    with pytest.raises(PromiseError, match="k = 9999 cannot be kept: one group of all rows"):
        on_spark(spark, people(N), privacy=[KMap(9999, population=EVERYBODY)])


def test_a_population_that_cannot_be_used_is_refused_in_one_sentence(spark, monkeypatch):
    asked = everybody.counted_models
    with pytest.raises(OptionError, match="The population has no column 'city'"):
        asked([KMap(9, population=COUNTED.drop("city"))], FEW)
    with pytest.raises(OptionError, match="needs a table of the population"):
        asked([KMap(9)], FEW)
    table = spark.createDataFrame(COUNTED.to_arrow())
    with pytest.raises(OptionError, match="The population has no column 'city'"):
        asked([KMap(9, population=table.drop("city"))], FEW)
    with pytest.raises(OptionError, match="no column 'm' of counts"):
        asked([KMap(9, population=table, counts="m")], FEW)
    with pytest.raises(DataError, match="whole numbers of at least 0"):
        asked([KMap(9, population=table, counts="age")], FEW)
    monkeypatch.setattr(everybody, "MOST_COMBINATIONS", 3)
    for population in (table, COUNTED):
        with pytest.raises(DataError, match="more than 3 different combinations"):
            asked([KMap(9, population=population, counts="n")], FEW)
