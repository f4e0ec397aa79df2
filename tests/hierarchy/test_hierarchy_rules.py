"""Hierarchies as rules: no value of the data in them, and new values are covered."""

import datetime as dt
import tomllib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, HierarchyError, JobError, OptionError
from shoal.hierarchy.rules import RULES, HierarchyRule, as_rule

PREFIX = {"rule": "prefix", "keep": [3, 1], "length": 5}


def paths(rule, values, **options):
    return {path[0]: list(path[1:]) for path in as_rule(rule).build(values, **options).to_paths()}


def test_each_rule_grows_the_tree_that_it_says():
    assert paths(PREFIX, ["47906", "47304"])["47906"] == ["479**", "4****", "*"]
    assert paths({"rule": "prefix", "keep": [2]}, ["47", "47906"])["47"] == ["47*", "*"]
    ages = paths({"rule": "intervals", "widths": [5, 10]}, [17, 34])
    assert ages["17"] == ["[15-19]", "[10-19]", "*"]
    days = paths({"rule": "dates", "levels": ["month", "year"]}, [dt.date(2024, 5, 17)])
    assert days["2024-05-17"] == ["2024-05", "2024", "*"]
    texts = paths({"rule": "dates", "form": "%d.%m.%Y"}, ["17.05.2024", "01.02.1999"])
    assert texts["17.05.2024"] == ["2024-05", "2024", "2020s", "*"]
    cells = paths({"rule": "grid", "step": 0.01, "factor": 10, "levels": 2}, [13.4049])
    assert cells["13.4049"] == ["[13.4-13.41)", "[13.4-13.5)", "*"]


@given(
    values=st.lists(st.integers(0, 99_999).map(lambda n: f"{n:05d}"), min_size=1, max_size=20),
    more=st.lists(st.integers(0, 9_999_999).map(str), max_size=20),
)
def test_labels_do_not_depend_on_which_other_values_there_are(values, more):
    for rule in (PREFIX, {"rule": "prefix", "keep": [4, 2]}):
        alone, together = paths(rule, values), paths(rule, values + more)
        assert all(together[value] == alone[value] for value in values)
    numbers = [float(value) for value in values]
    rule = {"rule": "intervals", "widths": [0.5, 5]}
    alone = paths(rule, numbers, decimals=True)
    together = paths(rule, [*numbers, 0.25], decimals=True)
    assert all(together[label] == alone[label] for label in alone)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rule": "prefx", "keep": [1]},
        {"rule": "prefix"},
        {"rule": "prefix", "keep": [1, 3]},
        {"rule": "prefix", "keep": []},
        {"rule": "prefix", "keep": [3.5]},
        {"rule": "prefix", "keep": [3], "length": 3},
        {"rule": "prefix", "keep": [3], "mask": "**"},
        {"rule": "prefix", "keep": [3], "widths": [5]},
        {"rule": "intervals", "widths": [5, 7]},
        {"rule": "intervals", "widths": []},
        {"rule": "dates", "levels": ["year", "month"]},
        {"rule": "dates", "levels": ["weeks"]},
        {"rule": "dates", "form": "day"},
        {"rule": "grid"},
        {"rule": "grid", "step": 0},
        {"rule": "grid", "step": "fine"},
        {"rule": "grid", "step": 1, "factor": 1},
        {"rule": "grid", "step": 1, "levels": 0},
    ],
    ids=str,
)
def test_a_wrong_rule_is_one_sentence_before_any_data_is_read(wrong, tmp_path):
    with pytest.raises(OptionError):
        HierarchyRule.of(wrong)
    from shoal.settings.job_file import toml_of

    job = tmp_path / "job.toml"
    job.write_text(f"k = 2\n[hierarchies]\nzip = {toml_of(wrong, '')}\n")
    with pytest.raises(JobError, match=r"hierarchies\.zip"):
        shoal.read_job(job)


def test_values_that_do_not_fit_are_counted_and_not_shown():
    for rule in ({"rule": "intervals"}, {"rule": "dates"}, {"rule": "dates", "form": "%Y"}):
        with pytest.raises(HierarchyError, match="1 of 2 values") as caught:
            as_rule(rule).build(["SECRET", "2024-01-01" if rule == {"rule": "dates"} else "2024"])
        assert "SECRET" not in str(caught.value)


def test_a_nested_dictionary_is_no_rule():
    assert as_rule({"north": ["a", "b"], "south": ["c"]}) is None
    assert as_rule({"rule": ["a"], "other": ["b"]}) is None


def test_a_rule_is_the_same_after_a_job_file(tmp_path):
    rules = [
        PREFIX,
        {"rule": "intervals", "widths": [0.5, 1], "origin": 0.25},
        {"rule": "dates", "form": "%d.%m.%Y"},
        {"rule": "grid", "step": 0.01},
        {"rule": "postcode", "country": "DE"},
        *({"rule": name, "language": "de"} for name in ("icd10", "atc", "nuts", "country")),
    ]
    assert {rule["rule"] for rule in rules} == {*RULES}
    columns = {
        f"c{n}": shoal.JobColumn(role="quasi-identifier", hierarchy=rule)
        for n, rule in enumerate(rules)
    }
    job = shoal.Job(k=2, columns=columns)
    shoal.write_job(job, tmp_path / "job.toml")
    assert shoal.read_job(tmp_path / "job.toml") == job
    assert (
        tomllib.loads((tmp_path / "job.toml").read_text())["columns"]["c0"]["hierarchy"] == PREFIX
    )


def test_a_hierarchy_may_stand_in_a_section_of_its_own_but_not_twice(tmp_path):
    job = tmp_path / "job.toml"
    text = 'k = 2\n[columns.zip]\nrole = "quasi-identifier"\n'
    section = '[hierarchies]\nzip = {rule = "prefix", keep = [3]}\n'
    job.write_text(text + section)
    found = shoal.read_job(job).columns["zip"]
    assert found.hierarchy == HierarchyRule.of({"rule": "prefix", "keep": [3]})
    job.write_text(text + 'hierarchy = "zip.csv"\n' + section)
    with pytest.raises(JobError, match="keep one of them"):
        shoal.read_job(job)


TABLE = pl.DataFrame(
    {
        "zip": ["47906", "47304", "47901", "47302", "47905", "47306"] * 2,
        "age": [34.5, 61.0, 31.25, 58.0, 36.0, 64.0] * 2,
        "ill": ["x", "y"] * 6,
    }
)


def test_a_rule_is_what_its_tree_would_be():
    options = {"k": 2, "sensitive": "ill", "algorithm": "mondrian", "seed": 3}
    rules = {"zip": PREFIX, "age": {"rule": "intervals", "widths": [5, 20]}}
    trees = {
        "zip": shoal.prefix_hierarchy(TABLE["zip"].to_list(), keep=(3, 1)),
        "age": shoal.interval_hierarchy(TABLE["age"].to_list(), widths=(5, 20)),
    }
    made = [
        shoal.anonymize(TABLE, quasi_identifiers=["zip", "age"], hierarchies=given, **options)
        for given in (rules, trees)
    ]
    assert made[0].frame.equals(made[1].frame)
    assert made[0].scores == made[1].scores
    scored = shoal.score(
        TABLE, made[0].groups, quasi_identifiers=["zip", "age"], hierarchies=rules, measures="ncp"
    )
    assert scored["ncp"] == pytest.approx(made[0].scores["ncp"])


def test_a_rule_for_a_column_without_a_value_is_one_sentence():
    table = TABLE.with_columns(zip=pl.lit(None, pl.String))
    with pytest.raises(DataError, match="'zip' has no value at all"):
        shoal.anonymize(
            table,
            k=2,
            quasi_identifiers=["zip", "age"],
            sensitive="ill",
            hierarchies={"zip": PREFIX},
        )


# Values that a hierarchy does not list


LISTED = {"4790*": ["47901", "47905", "47906"], "473**": ["47302", "47304"]}


def anonymize(**options):
    return shoal.anonymize(
        TABLE.select("zip", "ill"),
        k=2,
        quasi_identifiers="zip",
        sensitive="ill",
        hierarchies={"zip": LISTED},
        algorithm="mondrian",
        **options,
    )


def test_unknown_values_are_counted_with_what_to_do():
    with pytest.raises(HierarchyError, match="1 of 6 distinct values") as caught:
        anonymize()
    assert "--unknown-values root" in str(caught.value)
    assert "47306" not in str(caught.value)


def test_unknown_values_are_leaves_below_the_root_if_asked_for():
    with pytest.warns(UserWarning, match="'zip' has values that its hierarchy does not list"):
        release = anonymize(unknown_values="root")
    assert set(release.frame["zip"]) <= {"47306", "*", "4790*", "473**", *LISTED["4790*"]} | {
        *LISTED["473**"]
    }
    assert release.verification.holds
    assert release.certificate()["parameters"]["unknown_values"] == "root"
    tree = release.schema["zip"].hierarchy
    assert next({*path} for path in tree.to_paths() if path[0] == "47306") == {"47306", "*"}


def test_a_value_that_is_a_label_above_is_refused():
    table = TABLE.with_columns(zip=pl.col("zip").replace("47306", "4790*"))
    with pytest.raises(HierarchyError, match="read like a generalised value"):
        shoal.anonymize(
            table,
            k=2,
            quasi_identifiers="zip",
            sensitive="ill",
            drop="age",
            hierarchies={"zip": LISTED},
            unknown_values="root",
        )
