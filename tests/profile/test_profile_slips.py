"""A column that names people and is published all the same is asked about and opens the release."""

import random

import polars as pl
import pytest

import shoal
from shoal.cli.program import run
from shoal.profile.roles import find_cells_in_names, find_slips
from shoal.report.page import render_report

NAMES = ["Anna Becker", "Peter Smith", "Maria Rossi", "John Brown", "Laura Costa", "Paul Klein"]


def table(n_rows=120):
    draw = random.Random(3)
    return pl.DataFrame(
        {
            "age": [draw.randint(20, 70) for _ in range(n_rows)],
            "doctor": [draw.choice(NAMES) for _ in range(n_rows)],
            "mail": [f"u{draw.randint(0, 30)}@example.org" for _ in range(n_rows)],
            "ssn": [f"{draw.randint(100, 999)}-{draw.randint(10, 99)}-1234" for _ in range(n_rows)],
            "ward": [draw.choice(["north", "south", "east"]) for _ in range(n_rows)],
            "ill": [draw.choice(["flu", "gout", "cold"]) for _ in range(n_rows)],
            "visits": [draw.randint(0, 40) for _ in range(n_rows)],
        }
    )


def test_names_addresses_and_numbers_of_people_are_found_and_others_are_not():
    frame = table()
    found = [each.point.column for each in find_slips(frame, frame.columns)]
    assert found == ["doctor", "mail", "ssn"]
    assert not any(cell in each for each in find_slips(frame, ["doctor"]) for cell in NAMES)
    empty = frame.with_columns(doctor=pl.lit(None, dtype=pl.String))
    assert find_slips(empty, ["doctor", "not there"]) == []


@pytest.mark.parametrize("role", ["insensitive", "sensitive"])
def test_a_slip_is_a_warning_an_amber_headline_and_an_error_with_strict(role):
    frame = table().select("age", "ward", "doctor")
    roles = {"quasi_identifiers": ["age", "ward"], role: ["doctor"]}
    with pytest.warns(shoal.ShoalWarning, match="'doctor' seems to name people"):
        release = shoal.anonymize(frame, 5, **roles, algorithm="mondrian", seed=1)
    judged = release.judgement
    assert judged == "amber"
    assert judged.open[0].what == "names people"
    assert "seems to name people" in judged.sentence
    told = release.certificate()
    assert told["judgement"]["state"] == "amber"
    assert told["judgement"]["open"][0]["column"] == "doctor"
    page = render_report(release)
    assert '<div class="verdict amber">' in page
    with pytest.raises(shoal.PromiseError, match="seems to name people"):
        shoal.anonymize(frame, 5, **roles, algorithm="mondrian", seed=1, strict=True)


def test_a_slip_is_found_in_a_file_whose_texts_are_held_as_codes(tmp_path, capfd):
    table().select("age", "ward", "doctor").write_csv(tmp_path / "in.csv")
    words = ["anonymize", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv"), "--k", "5"]
    assert run([*words, "--qi", "age,ward", "--insensitive", "doctor"]) == 0
    said = capfd.readouterr().out
    assert "AMBER: Column 'doctor' seems to name people" in said


def test_a_removed_name_is_no_slip():
    release = shoal.anonymize(
        table().select("age", "ward", "doctor"), 5, quasi_identifiers=["age", "ward"],
        identifiers=["doctor"], algorithm="mondrian", seed=1,
    )  # fmt: skip
    assert release.warnings == ()
    assert release.judgement == "green"


def test_columns_without_names_are_guessed_by_their_values_and_not_all_left_out(tmp_path):
    chance = random.Random(5)
    rows = [
        [
            n + 1,
            "mw"[n % 2],
            18 + 37 * n % 71,
            f"19{30 + n % 60}-05-{1 + n % 28:02}",
            ["E11.9", "I10", "J45.0", "C50.1"][n * n % 97 % 4],
            f"p{n % 90}@example.org",
            *[chance.randrange(47) for _ in range(12)],
        ]
        for n in range(240)
    ]
    path = tmp_path / "export.csv"
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    found = shoal.suggest_job(path, header=False)
    roles = {guess.name: str(guess.role) for guess in found.columns}
    assert found.n_rows == 240
    assert {name: roles[f"column_{number}"] for number, name in enumerate(
        ["row", "sex", "age", "born", "ill", "mail"], start=1
    )} == {
        "row": "identifier",
        "sex": "quasi-identifier",
        "age": "quasi-identifier",
        "born": "quasi-identifier",
        "ill": "sensitive",
        "mail": "identifier",
    }  # fmt: skip
    assert "values look like sex" in found["column_2"].why
    assert "values look like age" in found["column_3"].why
    unknown = [name for name in roles if int(name.removeprefix("column_")) > 6]
    assert sum(roles[name] == "quasi-identifier" for name in unknown) >= 6
    assert not any(found[name].sure for name in unknown if roles[name] == "drop")


def test_a_row_that_became_the_names_of_columns_is_open_in_the_release(tmp_path, capfd):
    draw = random.Random(5)
    lines = [f"{draw.randint(20, 70)},{draw.choice('mf')},{draw.choice('abc')}" for _ in range(200)]
    lines = [lines[0], *(line for line in lines if line != lines[0])]  # none is a repeated header
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    age, sex, kind = lines[0].split(",")
    asked = ["anonymize", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv"), "--k", "5"]
    roles = ["--qi", f"{age},{sex}", "--sensitive", kind]
    assert run([*asked, *roles]) == 0
    told = capfd.readouterr()
    assert "AMBER" in told.out
    assert "GREEN" not in told.out
    assert "say --no-header" in told.err
    assert run([*asked, *roles, "--strict", "--replace"]) == 1
    assert "look like cells" in capfd.readouterr().err
    named = ["--no-header", "--qi", "column_1,column_2", "--sensitive", "column_3"]
    assert run([*asked, *named, "--replace"]) == 0
    assert "look like cells" not in capfd.readouterr().err


def test_names_that_are_no_cells_are_not_asked_about():
    frame = table()
    assert find_cells_in_names(frame, frame.columns) == []
    numbered = pl.DataFrame({str(place): [0, 1, 2, 3] for place in range(4)})
    assert find_cells_in_names(numbered, numbered.columns) == []
    once = frame.with_columns(ward=pl.lit("ward"))
    assert find_cells_in_names(once, frame.columns) == []
    assert find_cells_in_names(frame, []) == []
