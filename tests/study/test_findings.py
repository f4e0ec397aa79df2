"""What `shoal.explain` says about columns and promises: each piece of advice, and none against."""

import datetime as dt
import json
import re

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import shoal
from shoal.hierarchy.builders import prefix_hierarchy
from shoal.study.explain import Change, _advise
from shoal.study.findings import ColumnFinding, find_relations, wide_trees
from shoal.table.encode import encode
from shoal.table.infer import schema_of_used

N = 240


def people(**columns):
    rng = np.random.default_rng(4)
    usual = {
        "age": rng.integers(18, 90, N),
        "town": rng.choice(["north", "south", "east"], N),
        "ill": rng.choice(["flu", "gout", "none"], N),
    }
    return pl.DataFrame({**usual, **columns})


def explained(table, quasi, **more):
    rest = [name for name in table.columns if name not in (*quasi, "ill")]
    options = {"k": 5, "algorithm": "mondrian", "sensitive": ["ill"], "drop": rest, **more}
    return shoal.explain(table, quasi_identifiers=quasi, **options)


def test_a_column_that_is_nearly_all_lost_is_named_with_what_helps_most():
    table = people(badge=[f"b{n}" for n in range(N)])
    found = explained(table, ["age", "town", "badge"])
    assert found.by_column["badge"] >= 0.9
    (lost,) = [finding for finding in found.findings if finding.what == "lost"]
    assert lost.columns == ("badge",)
    assert lost.sentence.startswith("'badge' is nearly all lost (100%)")
    tried = [change for change in found.changes if change.column == "badge"]
    best = max(tried, key=lambda change: change.net)
    assert lost.sentence.endswith(
        best.sentence if best.saving > 0.0005 else "Nothing that was tried brings it back."
    )
    assert lost.sentence in found.advice


def test_columns_that_follow_from_one_another_are_named_once_with_the_best_to_drop():
    table = people().with_columns(born=2024 - pl.col("age"), decade=pl.col("age") // 10)
    found = explained(table, ["age", "born", "decade", "town"])
    (related,) = [finding for finding in found.findings if finding.what == "related"]
    assert set(related.columns) == {"age", "born", "decade"}
    assert "follow from one another" in related.sentence
    drops = [c for c in found.changes if c.what == "drop" and c.column in related.columns]
    best = max(drops, key=lambda change: change.net)
    little = "One of them is enough, though dropping another gives little back here."
    assert related.sentence.endswith(best.sentence if best.saving > 0.0005 else little)


def test_independent_columns_are_not_called_related():
    table = people(other=np.random.default_rng(9).integers(0, 50, N))
    options = {"quasi_identifiers": ["age", "other", "town"]}
    schema = schema_of_used(nw.from_native(table), **options)
    assert find_relations(encode(table, schema)) == []


def test_dates_that_rise_with_an_age_are_related_also_on_a_grid():
    rng = np.random.default_rng(5)
    age = rng.uniform(18, 90, N)
    born = [dt.datetime(2024, 1, 1) - dt.timedelta(days=365.25 * each) for each in age]
    table = people(age=age, born=born)
    schema = schema_of_used(nw.from_native(table), quasi_identifiers=["age", "town", "born"])
    assert schema["age"].grid
    assert find_relations(encode(table, schema)) == [("age", "born")]


def test_a_column_that_outliers_stretch_is_named_and_the_scale_is_tried():
    rng = np.random.default_rng(6)
    days = [dt.date(2023, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 365, N - 1)]
    table = people(admitted=[*days, dt.date(1950, 1, 1)])
    found = explained(table, ["age", "admitted"])
    (wide,) = [finding for finding in found.findings if finding.what == "stretched"]
    assert wide.columns == ("admitted",)
    numbers = [int(each) for each in re.findall(r"(\d+)%", wide.sentence)]
    assert len(numbers) == 3
    of_range, of_people, then = numbers
    assert of_people >= 3 * of_range
    assert then < of_people
    assert "With the scale 'rank'" in wide.sentence
    again = explained(table, ["age", "admitted"], scale={"admitted": "rank"})
    assert [each for each in again.findings if each.what == "stretched"] == []


def towns(n_values, keep):
    """Return people of towns with codes of four digits, some far more frequent than others."""
    rng = np.random.default_rng(8)
    codes = rng.choice(10_000, n_values, replace=False)
    zips = [f"{codes[int(z)]:04}" for z in n_values * rng.random(3 * N) ** 3]
    table = pl.DataFrame({"age": rng.integers(18, 90, 3 * N), "zip": zips})
    tree = prefix_hierarchy(sorted(set(zips)), keep=keep)
    return table, {"zip": tree}


def test_a_wide_hierarchy_is_named_and_counting_its_values_is_tried():
    table, trees = towns(1_500, [2])
    usual = {"hierarchies": trees, "sensitive": [], "algorithm": "auto"}
    found = explained(table, ["age", "zip"], **usual)
    (wide,) = [finding for finding in found.findings if finding.what == "wide"]
    assert wide.columns == ("zip",)
    assert wide.settings == {"measure": "lm"}
    assert wide.change == "measure"
    now, then = (float(each) for each in re.findall(r"([\d.]+)%", wide.sentence))
    assert 0 < then <= 0.8 * now
    assert wide.sentence in found.advice
    loss = {
        measure: shoal.anonymize(
            table, 5, quasi_identifiers=["age", "zip"], hierarchies=trees, measure=measure, seed=0
        ).scores.by_column["lm"]["zip"]
        for measure in ("ncp", "lm")
    }
    assert loss["ncp"] == pytest.approx(now / 100, rel=0.2)
    assert loss["lm"] == pytest.approx(then / 100, rel=0.2)
    for options in ({"measure": "lm"}, {"hierarchies": None}):
        again = explained(table, ["age", "zip"], **{**usual, **options})
        assert not [finding for finding in again.findings if finding.what == "wide"]


def test_hierarchies_of_few_values_or_small_steps_are_not_wide():
    for n_values, keep, wide in ((1_500, [2], True), (1_500, [3, 2, 1], False), (60, [2], False)):
        table, trees = towns(n_values, keep)
        schema = schema_of_used(
            nw.from_native(table), quasi_identifiers=["age", "zip"], hierarchies=trees
        )
        assert wide_trees(encode(table, schema)) == (("zip",) if wide else ())


def test_what_l_and_t_would_cost_is_measured_by_runs():
    table = people()
    options = {"k": 5, "quasi_identifiers": ["age", "town"], "sensitive": ["ill"]}
    options |= {"algorithm": "mondrian", "seed": 0}
    found = shoal.explain(table, **options)
    assert len(found.promises) == 2
    base = shoal.anonymize(table, **options).scores["ncp"]
    models = (shoal.LDiversity(2, kind="distinct"), shoal.TCloseness(0.3))
    for model, sentence in zip(models, found.promises, strict=True):
        cost = shoal.anonymize(table, **options, privacy=[model]).scores["ncp"] - base
        assert "'ill'" in sentence
        if cost < 0.0005:
            assert sentence.endswith("would cost next to nothing.")
        else:
            assert sentence.endswith(f"would cost {100 * cost:.1f} points of detail.")


def test_promises_that_are_asked_for_or_have_no_column_are_not_tried():
    asked = explained(people(), ["age", "town"], privacy=[shoal.TCloseness(0.4)])
    assert [each.startswith("Promising 2 different") for each in asked.promises] == [True]
    table = people().drop("ill")
    options = {"k": 5, "quasi_identifiers": ["age", "town"], "algorithm": "mondrian"}
    assert shoal.explain(table, **options).promises == ()


def test_a_promise_that_no_grouping_keeps_is_said_to_be_impossible():
    found = explained(people(ill=["flu"] * N), ["age", "town"])
    assert found.promises[0].endswith("is not possible here: no grouping keeps it.")


def test_an_explanation_with_findings_goes_to_json_screen_and_report(tmp_path):
    table = people(badge=[f"b{n}" for n in range(N)])
    found = explained(table, ["age", "town", "badge"])
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["findings"][0]["what"] == "lost"
    options = {"quasi_identifiers": ["age", "town", "badge"], "algorithm": "mondrian"}
    release = shoal.anonymize(table, k=5, sensitive="ill", **options)
    release.report(tmp_path / "r.html", explanation=found)
    page = (tmp_path / "r.html").read_text()
    assert "is nearly all lost" in page
    assert "What further promises would cost" in page


# -- one word about each column ------------------------------------------------------------------


def change(what, column, saving, price=0.0):
    words = f"{what} of {column!r}"
    return Change(what=what, column=column, saving=saving, price=price, loss=0.1, sentence=words)


def test_no_column_is_told_to_be_treated_in_two_ways():
    changes = (
        change("drop", "zip", 0.2),
        change("coarsen", "zip", 0.19),
        change("hierarchy", "zip", 0.18),
        change("coarsen", "age", 0.1),
        change("lower-k", None, 0.3),
    )
    told = tuple(each.sentence for each in _advise(changes, (), 0.5))
    assert told == ("drop of 'zip'", "coarsen of 'age'", "lower-k of None")
    lost = ColumnFinding(what="lost", columns=("zip",), sentence="zip is lost")
    assert tuple(each.sentence for each in _advise(changes, (lost,), 0.5)) == (
        "zip is lost",
        "coarsen of 'age'",
        "lower-k of None",
    )


@pytest.mark.parametrize(
    ("loss", "words"), [(0.02, "little is lost"), (0.6, "the price of this k")]
)
def test_nothing_is_called_detailed_that_has_lost_much(loss, words):
    (said,) = _advise((change("drop", "zip", 0.0, 0.3),), (), loss)
    assert words in said.sentence


def test_a_change_that_costs_more_is_not_said_to_give_back():
    found = explained(people(), ["age", "town"])
    for each in found.changes:
        if each.saving <= -0.0005:
            assert "makes it worse" in each.sentence
        elif each.saving < 0.0005:
            assert "would not help" in each.sentence
        else:
            assert "gives back" in each.sentence
