"""Guesses that were wrong on real files, each on a small made-up table of the same shape."""

import random
from datetime import date, timedelta

import polars as pl
import pytest
from tests.helpers.panels import panel, yearly

from shoal.io.vocabulary import hints_of
from shoal.profile.repeated_people import find_repeats
from shoal.profile.suggest import suggest_job
from shoal.settings.job_file import read_job
from shoal.table.schema import build_schema

N = 400


def drawn(make, seed=3, n_rows=N):
    draw = random.Random(seed)
    return [make(draw) for _ in range(n_rows)]


def guess_of(name, cells):
    (guess,) = suggest_job(pl.DataFrame({name: cells})).columns
    return guess


@pytest.mark.parametrize(
    "table",
    [
        yearly(),
        yearly(year=False),
        yearly().with_columns(age=pl.col("experience") + 17.3).drop("experience", "year"),
        yearly().with_row_index("row", offset=1),
        yearly(year=False).filter(pl.Series(drawn(lambda draw: draw.random() < 0.75, 7, 4165))),
        pl.concat([yearly(40, 5)["sex", "schooling", "south", "year"]] * 2),
    ],
    ids=[
        "panel",
        "without a year",
        "an exact age",
        "rows are numbered",
        "with gaps",
        "few columns",
    ],
)
def test_a_panel_without_an_id_is_said_loudly(table, tmp_path):
    found = suggest_job(table)
    (note,) = [note for note in found.notes if "people seem to have several rows" in note]
    assert "as in a panel" in note
    assert "where there is none, add one with a number for each person" in note
    text = found.write(tmp_path / "job.toml")[0].read_text()
    assert "people seem to have several rows" in text


def test_what_shows_a_panel_is_kept_in_a_wide_table_so_that_the_run_sees_it_too():
    draw = random.Random(2)
    known = ["city", "race", "job", "employer", "degree", "children", "height", "hair", "language"]
    table = yearly().with_columns(
        **{name: pl.Series([draw.choice("pqrstu") for _ in range(4165)]) for name in known}
    )
    found = suggest_job(table)
    kept = [guess.name for guess in found.columns if guess.role == "quasi-identifier"]
    assert {"sex", "schooling", "south"} <= {*kept}
    assert {"experience", "year"} & {*kept}
    schema = build_schema(
        table.columns,
        quasi_identifiers=kept,
        drop=[name for name in table.columns if name not in kept],
    )
    assert find_repeats(table.select(kept), schema, 10)


def test_a_key_that_stays_while_the_years_run_on_says_whose_row_it_is():
    n_people, n_years = 120, 9
    table = yearly(n_people, n_years).with_columns(nr=pl.int_range(pl.len()) // n_years * 17 + 13)
    assert suggest_job(table)["nr"].role == "person"


def test_nobody_is_warned_of_people_whose_rows_are_told():
    assert not any("several rows" in note for note in suggest_job(panel()).notes)


@pytest.mark.parametrize("between", [" - ", "-", "\u2013"])
def test_a_term_of_office_is_no_person(between):
    years = drawn(lambda draw: (draw.randint(1870, 1990), draw.randint(1, 28)))
    term = [
        f"{year}.05.{10 + day % 19}{between}{year + day}.10.{10 + day % 19}" for year, day in years
    ]
    found = suggest_job(pl.DataFrame({"Term (yyyy.mm.dd)": term}))
    assert found.notes[-1:] == ("no column looks like a quasi-identifier; choose at least one.",)
    assert not any("several rows" in note for note in found.notes)
    assert found.columns[0].role in {"identifier", "drop"}


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("faminc", lambda draw: round(draw.lognormvariate(3, 0.7), 4)),
        ("wages", lambda draw: round(draw.lognormvariate(2.6, 0.5), 2)),
        ("lwage", lambda draw: round(draw.gauss(6.7, 0.4), 5)),
        ("salary", lambda draw: draw.randint(20_000, 90_000)),
    ],
)
def test_exact_money_is_generalised(name, make):
    guess = guess_of(name, drawn(make))
    assert guess.role == "quasi-identifier"


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("income", lambda draw: 500 * draw.randint(1, 60)),
        ("capital_gain", lambda draw: draw.choice([0, 0, 0, draw.randint(1, 60)])),
        ("pulse", lambda draw: round(draw.gauss(75, 12))),
        ("health", lambda draw: round(draw.gauss(0, 1.4), 2)),
    ],
)
def test_measures_with_many_values_are_not_published_exactly_without_a_question(name, make):
    guess = guess_of(name, drawn(make))
    assert guess.role == "quasi-identifier" or not guess.sure


def test_income_in_classes_is_sensitive():
    guess = guess_of("income", drawn(lambda draw: draw.choice([2500, 7500, 15_000, 35_000])))
    assert (guess.role, guess.sure) == ("sensitive", True)


def test_days_between_events_are_generalised_or_asked_about():
    frame = pl.DataFrame(
        {
            "days_to_relapse": drawn(lambda draw: draw.randint(1, 2000)),
            "time": drawn(lambda draw: draw.randint(1, 2000), seed=4),
            "status": drawn(lambda draw: draw.randint(0, 1)),
        }
    )
    found = suggest_job(frame)
    assert found["time"].role == "quasi-identifier"
    days = found["days_to_relapse"]
    assert days.role == "quasi-identifier" or not days.sure
    assert (found["status"].role, found["status"].sure) == ("sensitive", False)


def test_a_count_of_visits_called_doctor_is_no_name_and_a_number_of_a_doctor_is_one():
    visits = guess_of("doctor", drawn(lambda draw: min(int(draw.expovariate(0.5)), 17)))
    assert visits.role == "quasi-identifier"
    assert not visits.sure
    number = guess_of("doctor", drawn(lambda draw: draw.randint(101, 160)))
    assert number.role == "identifier"


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("bwt", lambda draw: 10 * round(draw.gauss(294, 50))),
        ("bwght", lambda draw: round(draw.gauss(119, 20))),
        ("lwt", lambda draw: round(draw.gauss(130, 30))),
    ],
)
def test_what_people_weigh_is_no_survey_weight(name, make):
    guess = guess_of(name, drawn(make))
    assert guess.role == "quasi-identifier" or not guess.sure


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("wt", lambda draw: round(draw.lognormvariate(0, 0.5), 4)),
        ("finalwt", lambda draw: draw.randint(900, 40_000)),
        ("pweight", lambda draw: draw.randint(50, 120)),
    ],
)
def test_survey_weights_are_dropped(name, make):
    assert guess_of(name, drawn(make)).role == "drop"


def test_an_exact_age_is_kept_although_flags_follow_from_it():
    age = drawn(lambda draw: round(draw.uniform(0.1, 64.2), 5))
    frame = pl.DataFrame(
        {
            "age": age,
            "child": [each < 18 for each in age],
            "age_group": ["old" if each > 40 else "young" for each in age],
            "sex": drawn(lambda draw: draw.choice("fm")),
        }
    )
    found = suggest_job(frame)
    assert found["age"].role == "quasi-identifier"
    assert found["sex"].role == "quasi-identifier"


@pytest.mark.parametrize(
    "cells",
    [drawn(lambda draw: draw.randint(198, 933)), drawn(lambda draw: draw.uniform(-39, 17))],
    ids=["in months", "from 48 years on"],
)
def test_what_is_called_age_is_one_in_any_unit(cells):
    guess = guess_of("age", cells)
    assert (guess.role, guess.topic) == ("quasi-identifier", "age")


@pytest.mark.parametrize("name", ["school", "schooling", "years_of_school", "school_yrs"])
def test_years_of_schooling_are_no_place(name):
    guess = guess_of(name, drawn(lambda draw: min(18, max(0, round(draw.gauss(12, 3))))))
    assert (guess.role, guess.topic, guess.kind) == ("quasi-identifier", "education", "numeric")


def test_the_number_of_a_school_is_a_place():
    guess = guess_of("school", drawn(lambda draw: draw.randint(1, 79)))
    assert (guess.topic, guess.kind) == ("place", "categorical")


def test_a_logarithm_and_a_copy_make_no_person_of_a_measure():
    draw = random.Random(5)
    ounces = [draw.randint(60, 180) for _ in range(N)]
    frame = pl.DataFrame({"y": ounces, "y_in_pounds": [each / 16 for each in ounces]})
    found = suggest_job(frame.with_columns(log_y=pl.col("y").log()))
    assert not any(guess.role == "identifier" for guess in found.columns)


def test_a_job_that_was_guessed_of_a_panel_can_be_read(tmp_path):
    path = suggest_job(yearly(60, 6)).write(tmp_path / "job.toml")[0]
    assert read_job(path).k == 10


def test_what_stays_with_a_person_does_not_follow_from_a_day_of_birth_that_nobody_shares():
    draw = random.Random(8)
    people = [
        (f"P{n}", date(1930, 1, 1) + timedelta(n * 61), draw.choice("mf"), draw.choice("pqrstuvw"))
        for n in range(300)
    ]
    rows = [each for each in people for _ in range(draw.randint(1, 4))]
    frame = pl.DataFrame(rows, ["patient", "born", "sex", "town"], orient="row")
    assert {guess.name: str(guess.role) for guess in suggest_job(frame).columns} == {
        "patient": "person",
        "born": "quasi-identifier",
        "sex": "quasi-identifier",
        "town": "quasi-identifier",
    }
    aged = frame.with_columns(age=2024 - pl.col("born").dt.year())
    assert suggest_job(aged)["born"].role == "drop"
    assert suggest_job(aged)["age"].role == "quasi-identifier"


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        *(("agew", "age"), ("ageh", "age"), ("lage", "age"), ("educwm", "education")),
        *(("hoursw", "occupation"), ("nkids", "family"), ("child618", "family")),
        *(("nwhite", "origin"), ("lfaminc", "money"), ("hearnw", "money"), ("income85", "money")),
        *(("numchron", "diagnosis"), ("censor3", "result")),
        *(("beta", None), ("image", None), ("usage", None), ("horsepower", None)),
        *(("census", None), ("dwarf", None), ("headache", None), ("legal", None)),
        *(("Entlassung nach", None), ("ln_wage", "money"), ("visits_2", None)),
    ],
)
def test_a_name_is_known_behind_what_old_programs_glue_to_it(name, topic):
    assert hints_of(name)[:1] == (() if topic is None else (topic,))


@pytest.mark.parametrize("log", ["logwage", "lwage", "ln_wage"])
def test_of_a_measure_and_its_logarithm_the_measure_is_kept(log):
    wage = pl.Series("wage", drawn(lambda draw: round(draw.lognormvariate(2.6, 0.5), 2)))
    for frame in (wage.to_frame(), wage.to_frame().select(wage.log().alias(log), "wage")):
        found = suggest_job(frame.with_columns(wage.log().alias(log)))
        assert found["wage"].role == "quasi-identifier"
        assert (found[log].role, found[log].sure) == ("drop", True)  # nothing is lost with it


@pytest.mark.parametrize("name", ["cens", "censor", "censdead", "censor2"])
def test_whether_a_time_was_cut_off_is_private(name):
    guess = guess_of(name, drawn(lambda draw: draw.randint(0, 1)))
    assert (guess.role, guess.sure) == ("sensitive", True)


def test_a_status_may_be_many_things_so_it_is_asked_about():
    guess = guess_of("status", drawn(lambda draw: draw.randint(1, 3)))
    assert (guess.role, guess.sure) == ("sensitive", False)
    assert guess_of("marital_status", drawn(lambda draw: draw.choice("smdw"))).topic == "family"
    assert guess_of("status", drawn(lambda draw: draw.randint(1, 9))).role == "quasi-identifier"


def test_a_stay_in_a_hospital_is_no_place_and_the_number_of_a_hospital_is_one():
    for cells in (
        drawn(lambda draw: draw.randint(0, 1)),
        drawn(lambda draw: min(int(draw.expovariate(1)), 9)),
    ):
        guess = guess_of("hospital", cells)
        assert (guess.role, guess.sure) == ("sensitive", False)
    for cells in (drawn(lambda draw: draw.randint(1, 2)), drawn(lambda draw: draw.choice("AB"))):
        guess = guess_of("hospital", cells)
        assert (guess.role, guess.topic) == ("quasi-identifier", "place")


def test_an_unknown_measure_is_generalised_without_a_question_and_a_number_is_not():
    measure = guess_of("qzx", drawn(lambda draw: round(draw.gauss(50, 9), 1)))
    assert (measure.role, measure.sure) == ("quasi-identifier", True)
    sums = guess_of("qzx", drawn(lambda draw: draw.randint(-250, 250)))
    assert (sums.role, sums.sure) == ("quasi-identifier", True)
    people = [n for n in range(1000, 1300) for _ in range(2)]
    random.Random(1).shuffle(people)
    number = guess_of("qzx", people)
    assert number.role != "sensitive"
    assert not number.sure


def test_who_is_a_student_is_known_to_others():
    guess = guess_of("student", drawn(lambda draw: draw.choice(["Yes", "No"])))
    assert (guess.role, guess.sure) == ("quasi-identifier", True)


def test_a_number_for_each_row_without_a_name_is_no_age(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{n},{20 + n % 37},{'fm'[n % 2]}" for n in range(1, 85)]
    path.write_text("\n".join([",age,sex", *lines]) + "\n")
    guess = suggest_job(path).columns[0]
    assert (guess.role, guess.sure) == ("identifier", True)


def test_a_remark_that_few_rows_have_is_free_text_all_the_same():
    remark = "Rücksprache mit Dr. Groß"
    guess = guess_of("Bemerkung", drawn(lambda draw: draw.choice([None, None, remark])))
    assert guess.role == "drop"
    assert guess_of("note", drawn(lambda draw: draw.choice(["A", "B", "C"]))).role != "drop"
