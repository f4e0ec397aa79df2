"""Keys and links of several tables, proposed from values and names."""

import polars as pl
import pytest

from shoal.datasets import make_hospital
from shoal.profile.links import Place, propose_links


def test_a_hospital_hangs_together_as_it_does():
    places = propose_links(make_hospital(60, 3))
    assert places == {
        "patients": Place(key="patient_id"),
        "stays": Place("stay_id", "patients", "patient_id"),
        "diagnoses": Place(None, "stays", "stay_id"),
        "drugs": Place(None, "stays", "stay_id"),
    }


def test_a_table_that_names_two_hangs_from_the_lower_one():
    tables = make_hospital(60, 3)
    both = tables["diagnoses"].join(tables["stays"].select("stay_id", "patient_id"), on="stay_id")
    places = propose_links({**tables, "diagnoses": both})
    assert places["diagnoses"] == Place(None, "stays", "stay_id", ("patient_id",))


NUMBERS = list(range(1, 9))


@pytest.mark.parametrize(
    ("people", "visits", "link"),
    [
        ("person_id", "person_id", "person_id"),
        ("id", "people", "people"),
        ("id", "PEOPLE_ID", "PEOPLE_ID"),
        ("id", "days", None),  # small numbers are inside by chance
        ("id", "id", None),  # every table calls its own key so
    ],
)
def test_names_have_to_agree_as_well_as_values(people, visits, link):
    tables = {
        "people": pl.DataFrame({people: NUMBERS}),
        "visits": pl.DataFrame({visits: [1, 1, 2, 3, 5, 8, 8, 8], "cost": NUMBERS}),
    }
    assert propose_links(tables)["visits"].link == link


def test_a_column_with_values_of_its_own_names_nothing():
    people = pl.DataFrame({"person_id": ["a", "b", "c"]})
    for values in (["a", "x", "y"], [1, 2, 3]):
        visits = pl.DataFrame({"person_id": values, "ward": ["w"] * 3})
        assert propose_links({"people": people, "visits": visits})["visits"] == Place()


def test_a_key_that_stands_twice_or_is_missing_is_none():
    visits = pl.DataFrame({"person_id": ["a", "b"]}).vstack(pl.DataFrame({"person_id": ["a", "b"]}))
    for values in (["a", "b", "b"], ["a", "b", None]):
        people = pl.DataFrame({"person_id": values, "sex": ["f"] * 3})
        assert propose_links({"people": people, "visits": visits})["visits"] == Place()


def test_tables_that_name_each_other_do_not_hang_in_a_circle():
    tables = {
        "visits": pl.DataFrame({"person_id": ["a", "b"], "cost": [1, 2]}),
        "people": pl.DataFrame({"person_id": ["b", "a"], "sex": ["f", "m"]}),
    }
    places = propose_links(tables)
    assert places["visits"] == Place(None, "people", "person_id")
    assert places["people"] == Place("person_id")


def test_a_list_of_codes_is_not_taken_for_the_table_above():
    tables = {
        "persons": pl.DataFrame({"person_id": NUMBERS, "ward": ["a", "b"] * 4}),
        "wards": pl.DataFrame({"ward": ["a", "b"], "beds": [3, 4]}),
        "stays": pl.DataFrame({"person_id": NUMBERS * 2, "ward": ["a", "b"] * 8}),
    }
    assert propose_links(tables)["stays"].above == "persons"
