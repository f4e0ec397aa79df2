"""Columns are guessed together: functions of one another, a short list, rows singled out."""

import random
from collections import Counter
from datetime import date, timedelta

import polars as pl
import pytest

import shoal
from shoal.profile.guess import MOST_QUASI
from shoal.profile.suggest import suggest_job


def people(n_rows=400, seed=5):
    draw = random.Random(seed)
    born = [date(1940, 1, 1) + timedelta(days=draw.randrange(24_000)) for _ in range(n_rows)]
    age = [(date(2024, 1, 1) - day).days // 365 for day in born]
    return pl.DataFrame(
        {
            "dob": born,
            "age": age,
            "age_cat": ["young" if a < 40 else "middle" if a < 60 else "old" for a in age],
            "sex": [draw.choice("fm") for _ in age],
        }
    )


def roles(frame):
    return {guess.name: guess.role.value for guess in suggest_job(frame).columns}


def test_of_birth_age_and_class_of_age_one_is_kept():
    assert roles(people()) == {
        "dob": "drop",
        "age": "quasi-identifier",
        "age_cat": "drop",
        "sex": "quasi-identifier",
    }


def test_what_follows_from_another_column_is_dropped_and_says_why():
    suggestion = suggest_job(people())
    assert suggestion.unsure == ()  # nothing is lost with them
    assert "'age' follows from it" in suggestion["dob"].why
    assert "follows from 'age'" in suggestion["age_cat"].why


def test_a_wide_table_gets_a_short_list_and_is_asked_about_the_rest():
    draw = random.Random(1)
    extra = {f"v{n}": [draw.randint(1, 4 + n % 2) for _ in range(400)] for n in range(37)}
    frame = people().with_columns(**{name: pl.Series(v) for name, v in extra.items()})
    found = suggest_job(frame)
    kept = [guess for guess in found.columns if guess.role == "quasi-identifier"]
    assert [guess.name for guess in kept] == ["age", "sex", *(f"v{n}" for n in range(0, 36, 2))]
    rest = [guess for guess in found.columns if guess.name in extra]
    assert not any(guess.sure for guess in rest)
    left = [guess for guess in rest if guess not in kept]
    assert {guess.role.value for guess in left} == {"drop"}
    assert all("Left out, one of 39" in guess.why for guess in left)
    (note,) = found.notes
    assert note.startswith("19 columns that are not recognised are left out")
    assert "'v1', 'v3'" in note


def test_of_a_table_of_unknown_columns_none_is_published_exactly():
    draw = random.Random(1)
    cells = {f"v{n}": [draw.randint(1, 4) for _ in range(400)] for n in range(60)}
    found = suggest_job(pl.DataFrame(cells))
    by_role = Counter(guess.role.value for guess in found.columns)
    assert by_role == {"quasi-identifier": MOST_QUASI, "drop": 60 - MOST_QUASI}
    assert {guess.name for guess in found.columns} == {*found.unsure}


def test_recognised_columns_beyond_the_list_go_by_what_others_know_best():
    draw = random.Random(2)
    names = ["salutation", "city", "race", "religion_country", "job", "employer", "degree"]
    names += ["children", "height", "tariff", "insurance", "language", "hair", "nationality"]
    names += ["town", "profession", "sector", "partner", "eye_color", "diploma", "subscription"]
    names += ["region", "industry"]
    frame = people().with_columns(
        **{name: pl.Series([draw.choice("pqrstu") for _ in range(400)]) for name in names}
    )
    found = suggest_job(frame)
    quasi = {guess.name for guess in found.columns if guess.role == "quasi-identifier"}
    assert len(quasi) == MOST_QUASI
    assert {"age", "sex", "city", "race"} <= quasi
    assert not {"tariff", "insurance"} & quasi


def test_counts_are_those_of_rows_that_nobody_shares():
    frame = people().drop("dob", "age_cat")
    found = suggest_job(frame)
    by_age = frame.group_by("age").len().filter(pl.col("len") == 1).height
    by_both = frame.group_by("age", "sex").len().filter(pl.col("len") == 1).height
    assert (found.n_rows, found.singled_out) == (400, by_both)
    assert (found["age"].alone, found["age"].together) == (by_age, by_both)
    assert found["sex"].alone == 0


def test_two_columns_with_equal_cells_do_not_cancel_out():
    values = [n % 20 for n in range(100)]
    frame = pl.DataFrame({"height": values, "weight": values[::-1], "sex": ["f", "m"] * 50})
    found = suggest_job(frame)
    kept = [guess.name for guess in found.columns if guess.role == "quasi-identifier"]
    alone = frame.group_by(kept).len().filter(pl.col("len") == 1).height
    assert found.singled_out == alone


def test_a_number_from_which_a_persons_columns_follow_is_a_person_also_in_shuffled_rows():
    draw = random.Random(4)
    rows = [
        (n * 37 % 1000, sex, age, draw.randint(1, 9))
        for n, sex, age in ((n, draw.choice("fm"), draw.randint(20, 80)) for n in range(100))
        for _ in range(5)
    ]
    draw.shuffle(rows)
    frame = pl.DataFrame(rows, schema=["z", "sex", "age", "answer_x"], orient="row")
    guess = suggest_job(frame)["z"]
    assert (guess.role.value, guess.sure) == ("identifier", False)
    assert "number of a person" in guess.why


def test_a_published_column_never_tells_what_is_generalised():
    draw = random.Random(6)
    wards = {"flu": "w1", "gout": "w2", "asthma": "w3", "burn": "w4", "ulcer": "w2"}
    illness = [draw.choice(list(wards)) for _ in range(300)]
    frame = pl.DataFrame(
        {
            "sex": [draw.choice("fm") for _ in illness],
            "insurance": [wards[each] for each in illness],
            "diagnosis": illness,
        }
    )
    assert roles(frame) == {
        "sex": "quasi-identifier",
        "insurance": "drop",
        "diagnosis": "sensitive",
    }
    by_city = pl.DataFrame(
        {"city": (cities := [draw.choice("abcdefgh") for _ in range(300)]),
         "score": [ord(city) % 4 for city in cities]}
    )  # fmt: skip
    assert roles(by_city) == {"city": "quasi-identifier", "score": "drop"}


@pytest.mark.parametrize(
    ("name", "cells", "role"),
    [
        ("first", ["emily", "james", "sarah", "thomas"] * 25, "identifier"),
        ("attending", ["Dr. Adler", "Dr. Quint", "Dr. Voss"] * 30, "identifier"),
        ("manager", ["Amy Dunn", "Peter Monroe"] * 50, "identifier"),
        ("doctor", ["Amy Dunn"] * 50, "identifier"),
        ("Mid Init", [*"ABCDEFGHJKLM"] * 9, "identifier"),
        ("zz", [*"ABCDEFGHJKLM"] * 9, "identifier"),
        ("wt.loss", [n % 30 for n in range(200)], "sensitive"),
        ("room", [f"A{n}" for n in range(91, 144)] * 3, "quasi-identifier"),
        ("spot", [f"A{n}" for n in range(91, 144)] * 3, "identifier"),
        ("two_year_recid", [0, 1] * 50, "sensitive"),
        ("charge_degree", ["F", "M"] * 50, "sensitive"),
        ("WeightLoss", [n % 9 for n in range(100)], "sensitive"),
        ("weight", [0.4 + n % 61 / 37 for n in range(200)], "drop"),
        ("weight", [50 + n % 61 / 2 for n in range(200)], "quasi-identifier"),
        ("serum_albumin", [3.0 + n % 20 / 10 for n in range(200)], "sensitive"),
        ("serum_albumin", [3.0 + n / 1000 for n in range(200)], "drop"),
        ("salary", [1000 + 7 * n for n in range(200)], "quasi-identifier"),
        ("salary", [1000 + 500 * (n % 9) for n in range(200)], "sensitive"),
        ("year_of_diagnosis", [2001 + n % 20 for n in range(200)], "quasi-identifier"),
        ("x", [n * 7 % 50 for n in range(200)], "quasi-identifier"),
        ("x", [n / 7 for n in range(200)], "drop"),
    ],
)
def test_names_values_and_uniqueness_decide_together(name, cells, role):
    (guess,) = suggest_job(pl.DataFrame({name: cells})).columns
    assert guess.role == role


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("race", [1, 2, 3] * 40, "flat"),
        ("school_id", [112 + n % 30 for n in range(200)], "categorical"),
        ("hospital_no", [1 + n % 9 for n in range(200)], "flat"),
        ("children", [n % 5 for n in range(200)], "numeric"),
        ("age", [20 + n % 50 for n in range(200)], "numeric"),
        ("year", [1984 + n % 5 for n in range(200)], "numeric"),
    ],
)
def test_whole_numbers_that_are_codes_are_no_numbers(name, cells, kind):
    (guess,) = suggest_job(pl.DataFrame({name: cells})).columns
    assert (guess.role, guess.kind) == ("quasi-identifier", kind)


def test_times_written_with_slashes_are_times():
    cells = [f"2024/0{1 + n % 9}/1{n % 9} 0{n % 9}:30:15" for n in range(60)]
    suggestion = suggest_job(pl.DataFrame({"Timestamp": cells}))
    (guess,) = suggestion.columns
    assert (guess.role, guess.kind) == ("quasi-identifier", "datetime")
    assert suggestion.details["read_as"] == {"Timestamp": "yyyy/mm/dd hh:mm:ss"}
    shoal.anonymize(pl.DataFrame({"Timestamp": cells}), **suggestion.arguments())
