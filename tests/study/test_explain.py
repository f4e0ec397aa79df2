"""`shoal.explain`: every saving is the difference of two real runs, in the same terms."""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import OptionError
from shoal.settings.request import build_request
from shoal.study.trials import Trial, build_trials


def unchanged(table, options):
    request = build_request(options)
    return Trial.unchanged(table, request.schema(table.columns), request)


OPTIONS = {
    "k": 5,
    "quasi_identifiers": ["age", "town", "born", "grade", "zip"],
    "sensitive": ["illness"],
    "kinds": {"town": "flat"},
    "orders": {"grade": ["low", "mid", "high", "top"]},
    "algorithm": "mondrian",
    "seed": 3,
}


@pytest.fixture(scope="module")
def table():
    draw = np.random.default_rng(1)
    n = 600
    days = np.datetime64("1940-01-01") + draw.integers(0, 20_000, n)
    zips = [f"{a}{b}{c}" for a, b, c in draw.integers(0, 3, (n, 3))]
    return pl.DataFrame(
        {
            "age": draw.integers(18, 90, n),
            "town": [f"town {t}" for t in np.minimum(draw.geometric(0.2, n), 15)],
            "born": days.astype("datetime64[D]"),
            "grade": draw.choice(["low", "mid", "high", "top"], n),
            "zip": zips,
            "illness": draw.choice(["flu", "gout", "none"], n),
        }
    ).with_columns(age=pl.when(pl.col("age") > 85).then(None).otherwise("age"))


@pytest.fixture(scope="module")
def options(table):
    tree = shoal.prefix_hierarchy(table.get_column("zip").unique().to_list())
    return {**OPTIONS, "hierarchies": {"zip": tree}}


@pytest.fixture(scope="module")
def found(table, options):
    return shoal.explain(table, **options)


def test_every_kind_of_change_is_tried(found):
    tried = {(change.what, change.column) for change in found.changes}
    columns = OPTIONS["quasi_identifiers"]
    assert {("drop", name) for name in columns} <= tried
    assert {("coarsen", name) for name in ("age", "born", "grade", "zip")} <= tried
    assert {("hierarchy", "town"), ("suppress", None), ("lower-k", None)} <= tried
    assert ("coarsen", "town") not in tried  # flat: nothing between exact and suppressed


def test_the_unchanged_loss_is_that_of_the_release(found, table, options):
    release = shoal.anonymize(table, **options)
    assert found.loss == pytest.approx(release.scores["ncp"])
    assert found.by_column == pytest.approx(dict(release.scores.by_column["ncp"]))


def test_dropping_a_column_saves_what_a_run_without_it_saves(found, table, options):
    without = {**options, "hierarchies": {}, "quasi_identifiers": ["age", "town", "born", "grade"]}
    release = shoal.anonymize(table, drop=["zip"], **without)
    change = next(c for c in found.changes if (c.what, c.column) == ("drop", "zip"))
    before = sum(found.by_column[name] for name in without["quasi_identifiers"])
    after = sum(release.scores.by_column["ncp"].values())
    assert change.saving == pytest.approx((before - after) / 5)
    assert change.price == pytest.approx((1 - found.by_column["zip"]) / 5)
    assert change.loss == pytest.approx((after + 1) / 5)


def test_a_smaller_k_and_suppression_are_measured_by_running_them(found, table, options):
    for what, changed in (("lower-k", {"k": 4}), ("suppress", {"max_suppression": 0.01})):
        release = shoal.anonymize(table, **options | changed)
        change = next(c for c in found.changes if c.what == what)
        assert change.loss == pytest.approx(release.scores["ncp"])
        assert change.saving == pytest.approx(found.loss - release.scores["ncp"])
        assert change.price == 0


def test_changes_are_ranked_by_saving_and_add_up(found):
    savings = [change.saving for change in found.changes]
    assert savings == sorted(savings, reverse=True)
    for change in found.changes:
        assert change.loss == pytest.approx(found.loss - change.net)
        assert change.sentence.endswith(".")


@pytest.mark.parametrize("column", ["age", "born", "grade", "zip"])
def test_a_coarser_column_never_costs_less_than_its_own_groups_would(table, options, column):
    asked = unchanged(table, options)
    before = asked.run(lambda *_: None)
    trial = next(
        t for t in build_trials(asked, before) if (t.what, t.column) == ("coarsen", column)
    )
    after = trial.run(lambda *_: None)
    exact = shoal.score(
        table,
        after.labels,
        **{n: v for n, v in options.items() if n in {"quasi_identifiers", "kinds", "orders"}},
        hierarchies=options["hierarchies"],
        measures="ncp",
    ).by_column["ncp"]
    assert after.losses[column] >= exact[column] - 1e-12
    others = {name: loss for name, loss in after.losses.items() if name != column}
    assert others == pytest.approx({name: exact[name] for name in others})
    assert trial.table.get_column(column).null_count() == table.get_column(column).null_count()
    if column in ("age", "born"):
        assert trial.table.get_column(column).n_unique() < table.get_column(column).n_unique()
        return
    assert trial.table is asked.table  # the very run that a job with this grid is
    (grid,) = trial.settings["columns"][column].values()
    made = shoal.anonymize(table, **{**options, "grid": {column: grid}})
    assert after.losses[column] == pytest.approx(made.scores.by_column["ncp"][column])
    assert after.labels.tolist() == made.groups.tolist()


def test_what_is_coarse_already_is_tried_coarser_still(table, options):
    grid = {"zip": "level 1", "grade": 2}
    asked = unchanged(table, {**options, "grid": grid})
    before = asked.run(lambda *_: None)
    coarser = {
        t.column: t.settings["columns"][t.column]["grid"]
        for t in build_trials(asked, before)
        if t.what == "coarsen" and t.column in grid
    }
    heights = {"zip": before.schema["zip"].hierarchy.tree_height}
    assert coarser.get("zip", "none") == ("level 2" if heights["zip"] > 2 else "none")
    assert coarser.get("grade", 4) == 4


def test_a_fully_coarsened_release_of_exact_groups_costs_the_width_of_its_steps():
    # Five rows per age, two ages per step: groups are exact, and publish steps of 2 of 0 … 3.
    frame = pl.DataFrame({"age": [0, 1, 2, 3] * 5, "x": ["a"] * 20})
    options = {"k": 2, "quasi_identifiers": ["age"], "drop": ["x"], "seed": 0}
    asked = unchanged(frame, options | {"algorithm": "mondrian"})
    before = asked.run(lambda *_: None)
    assert before.losses["age"] == 0
    (trial,) = [t for t in build_trials(asked, before) if t.what == "coarsen"]
    assert trial.run(lambda *_: None).losses["age"] == pytest.approx(1 / 3)


def test_a_study_proves_no_bound_and_stops_at_no_warning(table, options, found, monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr("shoal.search.bound.bound_table", fail)
    again = shoal.explain(table, **options, bound=True, strict=True)
    assert again.changes == found.changes
    small = {**options, "k": (2, 5), "algorithms": "mondrian", "measures": "ncp"}
    del small["algorithm"]
    assert all(o.error is None for o in shoal.compare(table, **small, bound=True).outcomes)


def test_outliers_are_described_by_published_cells_only(table, options):
    release = shoal.anonymize(table, **options)
    found = shoal.explain(table, release)
    names = options["quasi_identifiers"]
    published = {
        tuple("" if cell is None else str(cell) for cell in row)
        for row in release.frame.select(names).rows()
    }
    assert found.outliers
    for group in found.outliers:
        assert tuple(group.cells.values()) in published
        assert group.n_rows >= 5
    losses = [group.loss for group in found.outliers]
    assert losses == sorted(losses, reverse=True)


def test_a_sample_is_said_to_be_one(table, options):
    found = shoal.explain(table, max_rows=200, **options)
    assert (found.n_rows, found.n_tried, found.is_sample) == (600, 200, True)


def test_the_same_seed_gives_the_same_explanation_whatever_the_threads(found, table, options):
    again = shoal.explain(table, workers=1, **options)
    assert again.changes == found.changes
    assert again.outliers == found.outliers


def test_an_explanation_is_ready_for_json(found):
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["k"] == 5
    assert plain["changes"][0]["net"] == pytest.approx(found.changes[0].net)
    assert plain["outliers"][0]["n_rows"] == found.outliers[0].n_rows


def test_wrong_options_are_told(table, options):
    release = shoal.anonymize(table, **options)
    with pytest.raises(OptionError, match="either a release or options"):
        shoal.explain(table, release, k=3)
    with pytest.raises(OptionError, match="600 rows but the table has 10"):
        shoal.explain(table.head(10), release)
    with pytest.raises(OptionError, match="Did you mean 'quasi_identifiers'"):
        shoal.explain(table, k=3, quasi_identifier=["age"])


def test_codes_and_spellings_are_read_as_for_a_release():
    frame = pl.DataFrame(
        {
            "age": [n * 7 % 60 for n in range(90)],
            "day": [f"{1 + n % 28:02}.{1 + n * 5 % 12:02}.2001" for n in range(90)],
        }
    )
    asked = {
        "quasi_identifiers": ["age", "day"],
        "read_as": {"day": "dd.mm.yyyy"},
        "missing_codes": {"age": ["7"]},
        "algorithm": "mondrian",
        "seed": 0,
    }
    release = shoal.anonymize(frame, 5, **asked)
    assert shoal.explain(frame, k=5, **asked).loss == pytest.approx(release.scores["ncp"])
