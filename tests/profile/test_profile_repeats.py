"""Signs that people have several rows are found, and chance is not taken for one."""

import numpy as np
import polars as pl
import pytest
from tests.helpers.panels import ROLES, panel

import shoal
from shoal.datasets import load_adult
from shoal.errors import OptionError, PromiseError
from shoal.profile.repeated_people import find_repeats
from shoal.profile.suggest import suggest_job
from shoal.table.schema import build_schema

QUASI = ROLES["quasi_identifiers"]


def warnings_of(frame, **roles):
    schema = build_schema(frame.columns, **roles)
    return find_repeats(frame, schema, 5)


def release_of(frame, **options):
    return shoal.anonymize(
        frame, 5, quasi_identifiers=QUASI, sensitive="sick", algorithm="mondrian", seed=1, **options
    )


@pytest.mark.parametrize("role", ["identifiers", "drop", "insensitive"])
def test_an_id_that_repeats_is_named_with_its_numbers_and_no_cell(role):
    frame = panel()
    with pytest.warns(shoal.ShoalWarning, match="'patient'") as caught:
        release = release_of(frame, **{role: ["patient"]})
    [sentence] = [str(each.message) for each in caught if "several rows" in str(each.message)]
    n_people = frame["patient"].n_unique()
    assert f"{n_people:,} different values in {frame.height:,} rows" in sentence
    assert "--person" in sentence
    assert not any(cell in sentence for cell in frame["patient"])
    assert sentence in release.warnings
    assert sentence in release.certificate()["warnings"]


def test_a_risk_that_is_not_established_is_not_told(tmp_path):
    with pytest.warns(shoal.ShoalWarning):
        release = release_of(panel(), identifiers=["patient"])
    told = release.certificate()
    assert told["risk"]["highest_reidentification_risk"] is None
    assert "signs against it" in told["counted"]
    release.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "has not been established" in page
    assert "a chance of at most" not in page


def test_what_is_said_of_risk_depends_on_what_was_said_of_people(tmp_path):
    frame = panel()
    people = release_of(frame, person="patient")
    declared = release_of(frame, identifiers=["patient"], rows_are_people=True)
    assumed = release_of(frame.drop("patient"))
    said = {}
    for name, release in (("people", people), ("declared", declared), ("assumed", assumed)):
        release.report(tmp_path / f"{name}.html")
        said[name] = (tmp_path / f"{name}.html").read_text()
        assert "a chance of at most" in said[name]
        assert release.warnings == ()
    assert "at least 5 different people" in said["people"]
    assert "at least 5 different people" in people.certificate()["counted"]
    assert "can check the number of rows only" in people.certificate()["counted"]
    assert people.certificate()["risk"]["highest_reidentification_risk"] == 1 / 5
    assert "declared to be a different person" in said["declared"]
    assert "if every row is a different person" in said["assumed"]


def test_strict_makes_no_release_while_people_seem_to_have_several_rows():
    with pytest.raises(PromiseError, match="several rows"):
        release_of(panel(), identifiers=["patient"], strict=True)
    assert release_of(panel(), identifiers=["patient"], strict=True, rows_are_people=True)
    with pytest.raises(OptionError, match="keep one of the two"):
        release_of(panel(), person="patient", rows_are_people=True)


def test_rows_that_are_there_twice_in_bulk_are_told():
    rng = np.random.default_rng(1)
    once = pl.DataFrame({"age": rng.integers(0, 10**6, 300), "sick": rng.choice(["a", "b"], 300)})
    twice = pl.concat([once, once.head(100)])
    roles = {"quasi_identifiers": ["age"], "sensitive": ["sick"]}
    assert warnings_of(once, **roles) == []
    [sentence] = warnings_of(twice, **roles)
    assert sentence.startswith("200 of 400 rows are there more than once")


def test_chance_namesakes_and_codes_of_places_are_no_signs():
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "id": np.arange(900),
            "last_name": rng.choice([f"Name{letter}" for letter in "abcdefghijklmn"], 900),
            "hospital_no": rng.integers(1, 15, 900),
            "age": rng.integers(20, 60, 900),
            "sick": rng.choice(["a", "b"], 900),
        }
    )
    roles = {"quasi_identifiers": ["age"], "sensitive": ["sick"]}
    assert warnings_of(frame, **roles, identifiers=["id", "last_name", "hospital_no"]) == []
    adult = load_adult()
    rest = [name for name in adult.columns if name not in {"age", "sex", "salary"}]
    roles = {"quasi_identifiers": ["age", "sex"], "sensitive": ["salary"], "drop": rest}
    assert warnings_of(adult, **roles) == []


def test_names_that_repeat_are_a_sign_unless_every_row_has_an_id_of_its_own():
    rng = np.random.default_rng(3)
    letters = [chr(97 + each) for each in range(26)]
    names = [
        "".join(rng.choice(letters, 8)) + " " + "".join(rng.choice(letters, 8)) for _ in range(300)
    ]
    frame = pl.DataFrame({"full_name": names + names[:120], "age": rng.integers(0, 99, 420)})
    roles = {"quasi_identifiers": ["age"]}
    assert warnings_of(frame, **roles, identifiers=["full_name"])
    numbered = frame.with_columns(passenger_id=pl.int_range(420))
    assert warnings_of(numbered, **roles, identifiers=["full_name", "passenger_id"]) == []


def test_init_proposes_the_role_and_its_job_counts_people(tmp_path):
    panel().write_csv(tmp_path / "visits.csv")
    found = suggest_job(tmp_path / "visits.csv")
    assert found["patient"].role == "person"
    assert "k counts people" in found["patient"].why
    found.write(tmp_path / "job.toml")
    job = shoal.read_job(tmp_path / "job.toml")
    assert job.columns["patient"].role == "person"
    assert job.request().person == "patient"
    release = shoal.anonymize(panel(), **found.arguments() | {"algorithm": "mondrian"})
    assert release.verification.fewest_people >= release.k


def test_an_id_of_its_own_for_every_row_stays_an_identifier():
    frame = panel().with_columns(patient=pl.int_range(pl.len()))
    assert suggest_job(frame)["patient"].role == "identifier"
