"""The same release on a real cluster of Spark: promises, scores, chance, people, skew."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import (
    DISEASES,
    EVERY_COLUMN,
    EVERYBODY,
    PRIVACY,
    SEED,
    arguments,
    people,
)
from tests.helpers.effort import further
from tests.helpers.judged import alone_rows
from tests.helpers.panels import panel, yearly
from tests.helpers.spark_samples import FEW, K, N, in_order, on_spark, rows_of, table_of

import shoal
import shoal.spark
from shoal.engine.spark import tally
from shoal.engine.spark.tally import singled_out
from shoal.errors import DataError, OptionError, PromiseError
from shoal.publish.release_data import doubt_of_pseudonyms

TOGETHER = {
    "l-diversity": ["frequency", "distinct", "entropy", "recursive", "alpha", "range"],
    "shares": ["t equal", "t ordered", "t tree", "beta", "beta basic", "delta"],
}


@pytest.fixture(scope="module")
def every(spark):
    frame = people(N, missing=True)
    asked = {"block_rows": 60, "key": "token", "max_suppression": 0.05}
    release = on_spark(spark, frame, names=EVERY_COLUMN, **asked)
    return frame, release, in_order(release, frame)


def scored_again(frame, release, found, names, **more):
    """What one machine says that the groups of a release lose."""
    usual = {name: arguments(names)[name] for name in ("hierarchies", "kinds", "orders")}
    sensitive, measures = ["disease", "stage"], list(release.scores)
    asked = {"quasi_identifiers": names, "sensitive": sensitive, "measures": measures}
    return dict(shoal.score(frame, found.groups, **asked, **usual, **more))


def test_every_kind_of_column_is_published_in_blocks_as_on_one_machine(every):
    frame, release, found = every
    check_release(found, frame, K, EVERY_COLUMN)
    assert release.n_suppressed <= 0.05 * N
    assert any("'token'" in each for each in release.warnings)
    assert str(SEED) not in str(release.certificate())


def test_scores_are_those_of_the_same_groups_on_one_machine(every):
    frame, release, found = every
    assert dict(release.scores) == pytest.approx(scored_again(frame, release, found, EVERY_COLUMN))


def test_facts_are_about_published_rows_only(every):
    _, release, found = every
    assert [column.name for column in release.facts.columns] == EVERY_COLUMN
    kept = int((found.groups >= 0).sum())
    assert sum(rows * often for rows, often in release.facts.tuple_sizes) == kept


@pytest.mark.long
def test_the_report_says_what_the_report_of_one_machine_would_say_of_these_cells(every, tmp_path):
    from shoal.publish.reader_view import view_in_table

    _, release, _ = every
    seen = release.reader_view
    expected = view_in_table(pl.DataFrame(pl.from_arrow(release.frame.toArrow())), release.schema)
    assert (seen.groups, seen.alone) == (expected.groups, expected.alone)
    for own, other in zip(seen.sensitive, expected.sensitive, strict=True):
        assert own.distinct == other.distinct
        assert own.distances == other.distances
        assert (own.n_values, own.fewest) == (other.n_values, other.fewest)
        assert (own.certain_rows, own.missing_rows) == (other.certain_rows, other.missing_rows)
        assert dict(own.whole) == pytest.approx(dict(other.whole))
        for name in ("least_diverse", "typical_diverse", "most_certain", "farthest"):
            assert getattr(own, name) == pytest.approx(getattr(other, name), rel=1e-3)
        assert own.mean_distance == pytest.approx(other.mean_distance)
    release.report(tmp_path / "report.html", title="On Spark")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "On Spark" in page
    assert "disease" in page
    assert str(SEED) not in page


@pytest.mark.long
def test_a_release_is_kept_in_a_file_for_further_rows(every, tmp_path):
    _, release, _ = every
    release.save(tmp_path / "release.shoal")
    kept = shoal.load_release(tmp_path / "release.shoal")
    published = pl.DataFrame(pl.from_arrow(release.frame.toArrow()))
    names = [*EVERY_COLUMN, "disease"]
    assert kept.n_groups == release.n_groups
    told = kept.table().select(names).sort(names)
    assert told.equals(published.select(names).sort(names))


@pytest.mark.long
@pytest.mark.parametrize("names", TOGETHER.values(), ids=TOGETHER)
def test_every_promise_is_kept_in_blocks(spark, names):
    frame = people(2 * N)
    privacy = [model for name in names for model in PRIVACY[name]]
    release = on_spark(spark, frame, key="token", block_rows=200, privacy=privacy)
    check_release(in_order(release, frame), frame, K, FEW, privacy)
    assert len(release.verification.checks) >= 1 + len(privacy)
    assert release.n_groups > 1
    release.forget()


def test_partitions_and_the_order_of_rows_change_nothing(plain, again):
    assert rows_of(again) == rows_of(plain)
    assert dict(again.scores) == dict(plain.scores)


@pytest.mark.long
def test_another_seed_gives_another_release(spark, plain):
    other = on_spark(spark, people(N), block_rows=60, seed=1)
    assert rows_of(other) != rows_of(plain)


@pytest.fixture(scope="module")
def visits(spark):
    """Several rows of each person, in blocks, under every promise that can be kept together."""
    rng = np.random.default_rng(5)
    whose = np.repeat(np.arange(120), 3)
    n = len(whose)
    frame = pl.DataFrame(
        {
            "who": [f" Id {each} " if row % 2 else f"id {each}" for row, each in enumerate(whose)],
            "age": rng.integers(20, 60, n),
            "city": rng.choice(["Ur", "Uruk"], n),
            "disease": rng.choice(["flu", "Flu ", "ulcer", "gout", "none"], n),
            "stage": rng.integers(1, 6, n),
            "token": np.arange(n),
        }
    )
    names = ["frequency", "distinct", "alpha", "t equal", "t tree", "beta", "range"]
    privacy = [model for name in names for model in PRIVACY[name]]
    tree = {**DISEASES, "ill": {**DISEASES["ill"], "other": ["flu", "Flu ", "gout"]}}
    release = shoal.spark.anonymize(
        spark.createDataFrame(frame.to_arrow()),
        K,
        quasi_identifiers=FEW,
        person="who",
        sensitive=["disease", "stage"],
        insensitive="token",
        hierarchies={"disease": tree},
        privacy=privacy,
        algorithm="mondrian",
        block_rows=100,
        seed=1,
    )
    return frame, privacy, tree, release


def test_k_and_promises_count_people_where_a_column_says_whose_row_it_is(visits):
    frame, privacy, tree, release = visits
    published = pl.DataFrame(pl.from_arrow(release.frame.toArrow())).sort("token")
    assert published.columns == ["age", "city", "disease", "stage", "token"]
    known = published.with_columns(frame.get_column("who"))
    found = shoal.verify(
        known,
        K,
        quasi_identifiers=FEW,
        sensitive=["disease", "stage"],
        privacy=privacy,
        person="who",
        hierarchies={"disease": tree},
    )
    assert found.holds
    assert release.verification.fewest_people == found.fewest_people >= K
    assert release.n_groups == found.n_groups > 1


def test_whom_exact_columns_single_out_is_counted_in_people(visits):
    frame, *_, release = visits
    published = pl.DataFrame(pl.from_arrow(release.frame.toArrow())).sort("token").to_dicts()
    ids = [each.strip().lower() for each in frame.get_column("who")]
    for exact in (["disease", "stage", "token"], ["disease", "stage"], ["token"], ["disease"]):
        assert singled_out(release.frame, exact, release.with_people) == alone_rows(
            published, exact, ids
        )
        assert singled_out(release.frame, exact, None) == alone_rows(published, exact)
    assert release.judgement == "amber"  # each row has a token of its own
    assert "exact columns" in {point.what for point in release.judgement.open}


@pytest.mark.long
def test_how_many_people_a_group_has_is_not_told(visits, tmp_path):
    release = visits[-1]
    certificate = release.certificate()
    assert all(each["measured"] == each["promised"] for each in certificate["promises"])
    release.report(tmp_path / "report.html")
    assert "Several rows of one person" in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(DataError, match="cannot be kept"):
        release.save(tmp_path / "release.shoal")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_people_are_counted_in_the_files_that_were_written(visits, tmp_path, monkeypatch, kind):
    from shoal.engine.spark import folder as folders

    release = visits[-1]
    written = release.write(tmp_path / "safe", format=kind)
    assert written.verification.read_from == "what was written"
    assert written.verification.fewest_people == release.verification.fewest_people
    read = folders.read_folder

    def other(*given):
        table = read(*given)
        return table.withColumn("token", table["token"] + 1)

    monkeypatch.setattr(folders, "read_folder", other)
    with pytest.raises(PromiseError, match="holds other rows than the release"):
        release.write(tmp_path / "other", format=kind)
    assert [each.name for each in tmp_path.iterdir()] == ["safe"]


@pytest.mark.long
def test_pseudonyms_put_the_rows_of_a_person_together_and_are_others_in_every_run(spark, tmp_path):
    whose = [None if row % 40 == 0 else row // 3 for row in range(N)]
    frame = pl.DataFrame(
        {
            "age": np.random.default_rng(5).integers(20, 60, N),
            "city": ["Ur", "Uruk"] * (N // 2),
            "who": [
                None if each is None else f" Id {each} " if row % 2 else f"id {each}"
                for row, each in enumerate(whose)
            ],
            "token": range(N),
        }
    )
    table = spark.createDataFrame(frame.to_arrow())
    asked = {"quasi_identifiers": FEW, "insensitive": "token", "person": "who", "seed": 1}
    asked |= {"pseudonyms": True, "algorithm": "mondrian", "block_rows": 100}
    first, second = (
        shoal.spark.anonymize(given, K, **asked) for given in (table, table.repartition(5))
    )
    one, two = (table_of(each.frame).sort("token") for each in (first, second))
    assert one.columns == ["age", "city", "who", "token"]
    assert one.drop("who").equals(two.drop("who"))
    assert not set(one["who"].drop_nulls()) & set(two["who"].drop_nulls())
    pairs = set(zip(whose, one["who"], strict=True))
    assert len(pairs) == len(set(whose)) == one["who"].n_unique()
    assert (None, None) in pairs
    assert one["who"].drop_nulls().str.contains("^[0-9a-f]{32}$").all()
    assert doubt_of_pseudonyms() in first.warnings
    people = one.with_columns(pl.Series("who", whose))
    assert people.group_by(FEW).agg(pl.col("who").n_unique())["who"].min() >= K
    written = first.write(tmp_path / "safe", format="csv")
    assert written.verification.fewest_people == first.verification.fewest_people >= K


@pytest.mark.long
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_one_combination_that_most_rows_share_is_dealt_to_several_blocks(spark, people):
    n_same = 1_000
    frame = pl.DataFrame(
        {
            "age": [40] * n_same + list(range(20, 60)) * 5,
            "city": ["Ur"] * (n_same + 200),
            "disease": ["flu", "gout"] * (n_same // 2 + 100),
            "who": [f"id {row // 2}" for row in range(n_same + 200)],
            "token": range(n_same + 200),
        }
    )
    table = spark.createDataFrame(frame.to_arrow()).repartition(3)
    asked = {"quasi_identifiers": FEW, "sensitive": "disease", "algorithm": "mondrian", "seed": 1}
    asked |= {"insensitive": "token", "person" if people else "drop": "who"}
    release = shoal.spark.anonymize(table, K, block_rows=250, **asked)
    published = pl.DataFrame(pl.from_arrow(release.frame.toArrow())).sort("token")
    assert published.height == frame.height
    counted = published.with_columns(frame.get_column("who" if people else "token").alias("who"))
    assert counted.group_by("age").n_unique().get_column("who").min() >= K
    assert published.filter(pl.col("age") == "40").height >= n_same
    assert (
        published.get_column("disease")
        .value_counts()
        .sort("disease")
        .equals(frame.get_column("disease").value_counts().sort("disease"))
    )


REFUSED = {
    "bound": {"bound": True},
    "shuffle": {"shuffle": False},
    "threads": {"threads": 2},
    "categories": {"algorithm": "incognito", "style": {"categories": "values"}},
    "missing_codes": {"missing_codes": {"age": ["-9"]}},
}


@pytest.mark.long
@pytest.mark.parametrize("word", REFUSED)
def test_what_is_not_done_is_refused_in_one_sentence(spark, word):
    with pytest.raises(OptionError, match=f"Spark does not do this.*{word}"):
        on_spark(spark, people(N), **REFUSED[word])


@pytest.mark.long
def test_bad_input_is_said_in_one_sentence(spark):
    with pytest.raises(PromiseError, match="fewer than k"):
        on_spark(spark, people(N).head(3))
    with pytest.raises(DataError, match=r"use shoal\.anonymize"):
        shoal.spark.anonymize(people(N), K, **arguments(FEW))
    with pytest.raises(OptionError, match="key names column 'x'"):
        on_spark(spark, people(N), key="x")


def test_what_fails_in_a_worker_is_said_in_one_sentence_without_a_cell(spark):
    from pyspark.sql import functions

    from shoal.engine.spark.session import guarded_batches, saying_why

    def stumble(batches):
        for batch in batches:
            raise ValueError(str(batch.column(0)[0]))
        yield

    def object_to(batches):
        yield from ()
        raise DataError("A sentence of ours.")

    rows = spark.range(4).select(functions.lit("secret cell").alias("x"))
    wrong = rows.mapInArrow(guarded_batches(stumble), "x string")
    with (
        pytest.raises(RuntimeError, match=r"^A worker ended in ValueError\.$") as told,
        saying_why(),
    ):
        wrong.collect()
    assert told.value.__cause__ is None
    refused = rows.mapInArrow(guarded_batches(object_to), "x string")
    with pytest.raises(DataError, match=r"^A sentence of ours\.$"), saying_why():
        refused.collect()


@pytest.mark.long
def test_rows_with_missing_cells_are_left_out_or_an_error_if_that_is_asked(spark):
    frame = people(N, missing=True)
    gone = frame.select(pl.any_horizontal(pl.col(FEW).is_null())).to_series()
    release = on_spark(spark, frame, key="token", missing="suppress")
    found = in_order(release, frame)
    check_release(found, frame, K, FEW)
    assert (found.groups < 0).tolist() == gone.to_list()
    with pytest.raises(DataError, match=f"{gone.sum()} rows have a missing"):
        on_spark(spark, frame, missing="error")


@pytest.mark.long
def test_words_in_steps_and_a_level_of_a_hierarchy_are_held_in_every_block(spark):
    frame, names = people(N, missing=True), ["grade", "country"]
    asked = {
        "grid": {"grade": 2, "country": "level 1"},
        "privacy": [shoal.KMap(9, population=EVERYBODY)],
    }
    release = on_spark(spark, frame, names=names, block_rows=60, key="token", **asked)
    found = in_order(release, frame)
    # one word alone, where the last step has but one
    words = {"[none-basic]", "[middle-high]", "top", "[none-high]", "[middle-top]", "*"}
    places = {"South", "West", "North", "Andes", "Fiji", "Asia", "America", "Oceania", "*"}
    assert set(found.frame["grade"].drop_nulls()) <= words
    assert set(found.frame["country"].drop_nulls()) <= places
    assert len(set(found.frame["country"])) > 2
    checks = [check.name for check in release.verification.checks]
    assert {"grid of 'grade'", "grid of 'country'"} <= set(checks)
    told = {grid["column"]: grid for grid in release.certificate()["grids"]}
    assert set(told["country"]["labels"]) == set(found.frame["country"].drop_nulls())
    again = scored_again(frame, release, found, names, grid=asked["grid"])
    assert dict(release.scores) == pytest.approx(again)


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize(
    "case", further(["panel", "ids", "names and birth", "nothing"], lambda case: case == "panel")
)
def test_what_one_machine_finds_open_is_found_on_spark(spark, case, monkeypatch):
    born = pl.int_range(300).alias("born") % 40 + 1950
    once = pl.select(
        born,
        age=2020 - born,
        sex=pl.Series(["f", "m"] * 150),
        sick=pl.Series(["flu", "gout", "cold"] * 100),
        doctor=pl.Series([f"{a} {b}" for a in FIRST for b in LAST] * 25),
    )
    asked = {"algorithm": "mondrian", "seed": SEED, "sensitive": ["sick"]}
    table, asked = {
        "panel": (
            yearly(120, 5, order="by year"),
            {**asked, "quasi_identifiers": ["sex", "schooling", "south"], "sensitive": ["union"],
             "insensitive": ["year"], "drop": ["weeks", "wage", "experience"]},
        ),
        "ids": (
            panel(),
            {**asked, "quasi_identifiers": ["age", "sex", "home"], "identifiers": ["patient"]},
        ),
        "names and birth": (
            once,
            {**asked, "quasi_identifiers": ["age", "sex"], "insensitive": ["born", "doctor"]},
        ),
        "nothing": (
            once.drop("born", "doctor"),
            {**asked, "quasi_identifiers": ["age", "sex"],
             "privacy": [shoal.LDiversity(2, kind="distinct")]},
        ),
    }[case]  # fmt: skip
    spread = spark.createDataFrame(table.to_arrow()).repartition(3)
    alone = shoal.anonymize(table, 5, **asked)
    release = shoal.spark.anonymize(spread, 5, **asked)
    looked_for = {"several rows", "names people", "related column", "unique column"}

    def doubts(judged):
        return {(each.what, each.column) for each in judged.open if each.what in looked_for}

    assert doubts(release.judgement) == doubts(alone.judgement)
    assert bool(doubts(release.judgement)) == (case != "nothing")
    assert release.whose == alone.whose
    if case in ("panel", "ids"):
        told = release.certificate()
        assert told["risk"]["highest_reidentification_risk"] is None
        sure = shoal.spark.anonymize(spread, 5, **asked, rows_are_people=True)
        assert not doubts(sure.judgement)
        with pytest.raises(PromiseError, match="people seem to have several rows"):
            shoal.spark.anonymize(spread, 5, **asked, strict=True)
    if case == "ids":  # of a part of the rows nobody says that it is all
        monkeypatch.setattr(tally, "MOST_LOOKED_AT", 100)
        [sign, *_] = shoal.spark.anonymize(spread, 5, **asked).judgement.open
        assert sign.sentence.startswith("In the first 100 rows: Column 'patient' has")


FIRST, LAST = ["Anna", "Berta", "Carla", "Doris"], ["Maier", "Huber", "Gruber"]
