"""Hierarchies that know codes: spellings, what is above, what is no code, and what is proposed."""

import csv
import re
from importlib.resources import files
from itertools import pairwise

import polars as pl
import pytest

import shoal
from shoal.cli.program import run
from shoal.hierarchy.classifications import (
    above_atc,
    above_country,
    above_icd10,
    above_nuts,
    above_postcode,
)
from shoal.hierarchy.rules import HierarchyRule

CODES = files("shoal.hierarchy").joinpath("codes")


def table(name):
    text = CODES.joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter=";"))


def test_blocks_of_icd10_follow_each_other_and_lie_in_one_chapter_each():
    rows = table("icd10")
    blocks = [row["codes"].split("-") for row in rows if row["level"] == "block"]
    chapters = [row["codes"].split("-") for row in rows if row["level"] == "chapter"]
    assert len(chapters) == 22
    for (_, last), (first, _) in pairwise(blocks):
        assert last < first
    for first, last in blocks:
        assert sum(low <= first and last <= high for low, high in chapters) == 1
    assert all(row["en"] and row["de"] for row in rows)


@pytest.mark.parametrize(
    "code",
    ["E11.9", "E119", "e11.90", " E11.90 ", "E11.9+", "E11.9*", "E11.9!", "E11.-", "E11.90G"],
)
def test_a_diagnosis_is_one_in_every_spelling(code):
    assert above_icd10(code) == (
        "E11.0-E11.9",
        "E10-E14 Diabetes mellitus",
        "E00-E90 Endocrine, nutritional and metabolic diseases",
    )


@pytest.mark.parametrize(
    ("code", "block"),
    [
        ("A00.0", "A00-A09"),
        ("B20", "B20-B24"),
        ("C50.9", "C50"),
        ("D49.2", "D49"),
        ("F32.1", "F30-F39"),
        ("I21.4", "I20-I25"),
        ("J44.1", "J40-J47"),
        ("M16.1", "M15-M19"),
        ("O80", "O80-O84"),
        ("S72.001A", "S70-S79"),
        ("U07.1", "U00-U49"),
        ("X99", "X85-Y09"),
        ("Y02", "X85-Y09"),
        ("Z38.0", "Z30-Z39"),
        ("Z3A.39", "Z30-Z39"),
        ("C7A.1", "C76-C80"),
    ],
)
def test_a_diagnosis_is_in_the_block_of_its_range(code, block):
    assert above_icd10(code)[1].split(" ")[0] == block


@pytest.mark.parametrize(
    "code", ["47906", "A10", "B-12", "E1", "E11.90.1", "room 7", "", "1E1", "D92"]
)
def test_what_is_no_diagnosis_is_none(code):
    assert above_icd10(code) is None


def test_a_drug_a_region_and_a_country_are_read():
    assert above_atc("n06ab04")[-1] == "N Nervous system"
    assert above_atc("N02") == ("N02*", "N Nervous system")
    assert above_atc("X01AA01") is None
    assert above_nuts("EL303") == ("EL30*", "EL3*", "EL Greece")
    assert above_nuts("US123") is None
    assert {above_country(name) for name in ("DE", "deu", "Germany", "Deutschland")} == {
        ("Western Europe", "Europe")
    }
    assert above_country("Österreich", "de") == ("Westeuropa", "Europa")
    assert above_country("Narnia") is None


def test_every_country_has_its_codes_and_names_once():
    rows = table("countries")
    assert len(rows) == 250
    for name in ("alpha2", "alpha3", "en", "de"):
        assert len({row[name] for row in rows}) == 250
    for row in rows:
        for name in (row["alpha2"], row["alpha3"], row["en"], row["de"]):
            assert above_country(name) == above_country(row["alpha2"])


@pytest.mark.parametrize(
    ("code", "country", "areas"),
    [
        ("01067", "DE", ("010*", "01*", "0*")),
        ("1067", "DE", ("010*", "01*", "0*")),
        ("D-10115", "DE", ("101*", "10*", "1*")),
        ("47901-1234", "US", ("47901*", "479*", "4*")),
        ("601", "US", ("00601*", "006*", "0*")),
        ("sw1a 1aa", "GB", ("SW1A*", "SW*")),
        ("M1 1AE", "GB", ("M1*", "M*")),
        ("1012 AB", "NL", ("1012*", "10*", "1*")),
        ("K1A 0B1", "CA", ("K1A*", "K*")),
        ("123", "DE", None),
        ("ABCDE", "DE", None),
    ],
)
def test_a_postcode_is_read_by_the_rule_of_its_country(code, country, areas):
    assert above_postcode(code, country) == areas


@pytest.mark.parametrize("name", ["icd10", "atc", "nuts", "country"])
def test_what_is_above_a_code_does_not_depend_on_other_codes(name):
    codes = {
        "icd10": ["E11.9", "E119", "E10", "I21.0", "Z99.-"],
        "atc": ["A10BA02", "A10BA", "N06AB", "N"],
        "nuts": ["DE21H", "DE2", "DE", "FR10"],
        "country": ["DE", "France", "USA", "Antarctica", "Micronesia", "GUM"],
    }[name]

    def above(values):
        paths = HierarchyRule(name).build(values).to_paths()  # short ones repeat the value
        return {path[0]: [label for label in path if label != path[0]] for path in paths}

    whole = above(codes)
    for code in codes:
        assert above([code]) == {code: whole[code]}


def test_what_is_no_code_is_counted_and_not_shown_or_stays_below_the_root():
    frame = pl.DataFrame({"dx": ["E11.9", "E10.1", "secret", "I20"] * 3})
    asked = {"k": 3, "quasi_identifiers": "dx", "hierarchies": {"dx": "icd10"}}
    with pytest.raises(shoal.HierarchyError, match="1 of 4 different values") as problem:
        shoal.anonymize(frame, **asked)
    assert "secret" not in str(problem.value)
    with pytest.warns(shoal.ShoalWarning, match="does not list"):
        release = shoal.anonymize(frame, unknown_values="root", **asked)
    assert release.verification.holds


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"rule": "icd10", "language": "fr"}, "one of en, de"),
        ({"rule": "postcode"}, "needs country"),
        ({"rule": "postcode", "country": "ZZ"}, "not 'ZZ'"),
    ],
)
def test_an_option_of_a_rule_of_codes_is_checked(rule, words):
    with pytest.raises(shoal.OptionError, match=words):
        HierarchyRule.of(rule)


def test_a_job_names_a_built_in_hierarchy_and_further_rows_follow_it(tmp_path):
    codes = ["E11.9", "E10.1", "E14", "I20", "I21.0", "I25"] * 4
    pl.DataFrame({"dx": codes, "sex": ["F", "M"] * 12}).write_csv(tmp_path / "p.csv")
    later = ["E13", "E12.1", "E11.0", "I22", "I23", "I24"] * 3
    pl.DataFrame({"dx": later, "sex": ["F", "M"] * 9}).write_csv(tmp_path / "q.csv")
    (tmp_path / "job.toml").write_text(
        'k = 3\n[columns.dx]\nrole = "quasi-identifier"\n'
        'hierarchy = {rule = "icd10", language = "de"}\n[columns.sex]\nrole = "drop"\n',
        encoding="utf-8",
    )
    words = ["anonymize", tmp_path / "p.csv", "-o", tmp_path / "s.csv", "--job"]
    kept = [tmp_path / "job.toml", "--save", tmp_path / "r.shoal"]
    assert run([str(each) for each in (*words, *kept)]) == 0
    more = ["apply", tmp_path / "q.csv", "--release", tmp_path / "r.shoal", "-o"]
    assert run([str(each) for each in (*more, tmp_path / "t.csv")]) == 0
    flags = ["--k", "3", "--qi", "dx", "--drop", "sex", "--hierarchy", "dx=icd10", "--replace"]
    assert run([str(each) for each in (*words[:-1], *flags)]) == 0
    text = (tmp_path / "s.csv").read_text(encoding="utf-8")
    assert re.search(r"E1[0-4]", text)


@pytest.mark.parametrize(
    ("name", "values", "rule"),
    [
        ("diagnosis", ["E11.9", "I21.0", "C50.9", "F32.1", "J44.1", "K35.8"], "icd10"),
        ("drug", ["A10BA02", "N06AB04", "C09AA05", "M01AE01"], "atc"),
        ("country", ["DE", "FR", "AT", "CH"], "country"),
        ("born_in", ["Germany", "France", "Austria", "Poland"], "country"),
        ("state", ["CA", "DE", "IN", "AL"], None),
        ("zip", ["47901", "47302", "10115", "80331"], None),
        ("product", ["A12", "A13", "A14", "B77"], None),
    ],
)
def test_a_first_job_proposes_the_hierarchy_of_a_classification_and_says_why(
    tmp_path, name, values, rule
):
    frame = pl.DataFrame({name: values * 15, "sex": ["F", "M"] * (len(values) * 15 // 2)})
    guess = shoal.suggest_job(frame)
    guess.write(tmp_path / "job.toml")
    text = (tmp_path / "job.toml").read_text(encoding="utf-8")
    found = re.findall(r'rule = "(\w+)"', text)
    assert (rule in found) if rule else not set(found) & {"icd10", "atc", "country"}
    if rule:
        assert "put together by" in text or "If others may know it" in text


def test_the_command_line_hands_over_what_listed_labels_stand_for(tmp_path):
    jobs = ["nurse", "surgeon", "judge", "clerk"]
    pl.DataFrame({"job": jobs * 3}).write_csv(tmp_path / "p.csv")
    tree = "nurse;health;*\nsurgeon;health;*\njudge;law;*\nclerk;law;*\ncook;kitchen;*\n"
    (tmp_path / "job.csv").write_text(tree, encoding="utf-8")
    words = ["anonymize", "p.csv", "-o", "s.csv", "--k", "5", "--qi", "job"]
    more = ["--hierarchy", "job=job.csv", "--labels", "labels.csv"]
    named = [str(tmp_path / each) if each.endswith(".csv") and "=" not in each else each
             for each in (*words, *more)]  # fmt: skip
    named[named.index("job=job.csv")] = f"job={tmp_path / 'job.csv'}"
    assert run(named) == 0
    told = (tmp_path / "labels.csv").read_text(encoding="utf-8").splitlines()
    assert sorted(told[1:]) == [
        "job,health,nurse",
        "job,health,surgeon",
        "job,law,clerk",
        "job,law,judge",
    ]
    assert told[0] == "column,label,value"
