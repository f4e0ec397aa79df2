"""``shoal tabulate`` as it is typed."""

import json

import polars as pl
import pytest


@pytest.fixture
def safe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wards = ["north"] * 40 + ["south"] * 33 + ["east"] * 27
    sexes = (["F"] * 37 + ["M"] * 3) + (["F"] * 15 + ["M"] * 18) + (["F"] * 14 + ["M"] * 13)
    pl.DataFrame({"ward": wards, "sex": sexes}).write_csv("safe.csv")
    return tmp_path


COUNT = ("tabulate", "safe.csv", "--by", "ward,sex", "--minimum", "10")


def test_the_screen_shows_a_cross_table_and_what_is_hidden(shoal_runs, safe):
    made = shoal_runs(*COUNT)
    assert made.status == 0, made.err
    lines = [line.split() for line in made.out.splitlines() if line.strip()]
    assert lines[0] == ["ward", "F", "M", "Total"]
    assert ["north", "*", "*", "40"] in lines
    assert ["Total", "66", "34", "100"] in lines
    assert "4 of 12 numbers are hidden (*)" in made.out
    assert "3" not in {word for line in lines[1:5] for word in line}


def test_the_file_is_checked_by_its_own_command(shoal_runs, safe):
    assert shoal_runs(*COUNT, "-o", "counts.csv", "--quiet").status == 0
    found = (safe / "counts.csv").read_text(encoding="utf-8").splitlines()
    assert found[0] == "ward,sex,count"
    assert "north,M,*" in found
    checked = shoal_runs("tabulate", "counts.csv", "--check", "--by", "ward,sex", "--minimum", "10")
    assert (checked.status, checked.err) == (0, "")
    assert "holds" in checked.out
    # somebody fills in one number, and with it the others can be worked out
    told = [
        line.replace("east,F,*", "east,F,14").replace("south,F,*", "south,F,15") for line in found
    ]
    (safe / "told.csv").write_text("\n".join(told) + "\n", encoding="utf-8")
    broken = shoal_runs("tabulate", "told.csv", "--check", "--by", "ward,sex", "--minimum", "10")
    assert broken.status == 1
    assert "can be worked out" in broken.err


def test_numbers_are_rounded_and_told_as_json(shoal_runs, safe):
    del safe
    made = shoal_runs(*COUNT, "--round", "5", "--json")
    assert made.status == 0, made.err
    found = json.loads(made.out)
    assert all(line["count"] is None or line["count"] % 5 == 0 for line in found["lines"])
    assert found["hidden"] == sum(line["count"] is None for line in found["lines"])


def test_an_existing_file_stays_as_it_was(shoal_runs, safe):
    (safe / "counts.csv").write_text("mine", encoding="utf-8")
    made = shoal_runs(*COUNT, "-o", "counts.csv")
    assert made.status == 2
    assert "exists" in made.err
    assert (safe / "counts.csv").read_text(encoding="utf-8") == "mine"
    assert shoal_runs(*COUNT, "-o", "counts.csv", "--replace").status == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("tabulate", "safe.csv", "--by", "wart"), "Did you mean 'ward'?"),
        (("tabulate", "none.csv", "--by", "ward"), "no file"),
        (("tabulate", "safe.csv", "--by", "ward", "--minimum", "1"), "at least 2"),
        (("tabulate", "safe.csv"), "--by"),
        (("tabulate", "safe.csv", "--check", "--by", "ward"), "has the columns"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(shoal_runs, safe, words, says):
    del safe
    made = shoal_runs(*words)
    assert made.status == 2
    assert says in made.err
    assert made.out == ""


def test_people_are_counted_as_the_job_or_the_flag_says_and_rows_are_named_as_rows(
    shoal_runs, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    lines = ["Patientennummer;Station;Aufnahme"]
    lines += [f"P{n % 30};{'NS'[n % 2]};{1 + n % 28:02}.03.2024" for n in range(90)]
    lines += ["Summe;;90"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    by = ("tabulate", "t.csv", "--by", "Station")
    asked = shoal_runs(*by)
    assert asked.status == 2
    assert "--extra-rows drop" in asked.err
    rows = shoal_runs(*by, "--extra-rows", "drop")
    assert "Rows were counted; where people have several, say --person" in rows.out
    assert ["N", "45"] in [line.split() for line in rows.out.splitlines()]
    flag = shoal_runs(*by, "--extra-rows", "drop", "--person", "Patientennummer")
    assert shoal_runs("init", "t.csv", "--yes").status == 0
    job = shoal_runs(*by, "--job", "job.toml")
    assert job.status == 0, job.err
    assert flag.out == job.out
    assert ["N", "15"] in [line.split() for line in job.out.splitlines()]
    assert "People were counted, each once." in job.out
    several = shoal_runs("tabulate", "t.csv", "--by", "Aufnahme", "--job", "job.toml")
    assert "of 30 are in several lines, and totals count them in each" in several.out
    assert shoal_runs(*by, "--person", "nobody", "--extra-rows", "drop").status == 2
