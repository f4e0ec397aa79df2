"""Several tables on the command line: a job of tables, from files and databases, and back."""

import json
import sqlite3

import polars as pl
import pytest

import shoal
from shoal.datasets import make_hospital

JOB = """
k = 4
knows_events = 2
seed = 1

[input]
path = "{source}"

[output]
table = "{target}"
certificate = "certificate.json"
report = "report.html"

[tables.patients]
key = "patient_id"

[tables.patients.columns]
sex = {{role = "quasi-identifier"}}
born = {{role = "quasi-identifier"}}
postcode = {{role = "drop"}}
name = {{role = "identifier"}}

[tables.stays]
key = "stay_id"
of = "patients.patient_id"

[tables.stays.columns]
admitted = {{role = "drop"}}
ward = {{role = "quasi-identifier"}}
days = {{role = "quasi-identifier"}}
outcome = {{role = "insensitive"}}

[tables.diagnoses]
of = "stays.stay_id"

[tables.diagnoses.columns.code]
role = "quasi-identifier"
hierarchy = {{rule = "icd10"}}
"""


@pytest.fixture
def hospital(tmp_path):
    """A folder and a database with the same tables, and a job for the folder."""
    (tmp_path / "hospital").mkdir()
    tables = make_hospital(80, 2)
    for name, frame in tables.items():
        frame.write_csv(tmp_path / "hospital" / f"{name}.csv")
        shoal.write_table(frame, f"sqlite:///{tmp_path}/hospital.db?table={name}")
    (tmp_path / "job.toml").write_text(JOB.format(source="hospital", target="safe"))
    return tables


def test_a_job_of_tables_goes_from_a_folder_to_a_folder(
    shoal_runs, tmp_path, hospital, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    result = shoal_runs("anonymize", "--job", "job.toml")
    assert result.status == 0, result.err
    assert "finds at least 4 people" in result.out
    assert sorted(path.name for path in (tmp_path / "safe").iterdir()) == [
        "diagnoses.csv", "patients.csv", "stays.csv",
    ]  # fmt: skip
    text = "".join(path.read_text() for path in (tmp_path / "safe").iterdir())
    assert not any(name in text for name in hospital["patients"]["name"])
    patients = pl.read_csv(tmp_path / "safe" / "patients.csv")
    stays = pl.read_csv(tmp_path / "safe" / "stays.csv")
    assert set(stays["patient_id"]) <= set(patients["patient_id"])

    assert shoal_runs("verify", "safe", "--job", "job.toml").status == 0
    assert shoal_runs("verify", "safe", "--certificate", "certificate.json").status == 0
    found = json.loads(shoal_runs("verify", "safe", "--job", "job.toml", "--json").out)
    assert found["holds"]

    before = (tmp_path / "safe" / "stays.csv").read_bytes()
    again = shoal_runs("anonymize", "--job", "job.toml")
    assert again.status == 2
    assert "exists" in again.err
    assert (tmp_path / "safe" / "stays.csv").read_bytes() == before
    assert shoal_runs("anonymize", "--job", "job.toml", "--replace", "--quiet").status == 0


def test_a_row_that_is_put_back_breaks_the_promise(shoal_runs, tmp_path, hospital, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shoal_runs("anonymize", "--job", "job.toml", "--quiet").status == 0
    path = tmp_path / "safe" / "diagnoses.csv"
    lines = path.read_text().splitlines()
    stay, _, _ = lines[1].partition(",")
    path.write_text("\n".join([*lines, f"{stay},Z99"]) + "\n")
    broken = shoal_runs("verify", "safe", "--job", "job.toml")
    assert broken.status == 1
    assert "may find only 1 person" in broken.out
    other = shoal_runs("verify", "safe", "--certificate", "certificate.json")
    assert other.status == 1
    assert "not the files of the certificate" in other.out
    path.write_text("\n".join([*lines, "nobody,Z99"]) + "\n")
    assert (
        "1 row with a key or a link that does not name one row"
        in shoal_runs("verify", "safe", "--job", "job.toml").out
    )


def test_tables_of_a_database_become_tables_of_another(shoal_runs, tmp_path, hospital, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = JOB.format(source="sqlite:///hospital.db", target="sqlite:///safe.db")
    (tmp_path / "database.toml").write_text(job)
    result = shoal_runs("anonymize", "--job", "database.toml")
    assert result.status == 0, result.err
    with sqlite3.connect(tmp_path / "safe.db") as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        orphans = database.execute(
            "SELECT count(*) FROM stays WHERE patient_id NOT IN (SELECT patient_id FROM patients)"
        ).fetchone()
    database.close()
    assert tables == {"patients", "stays", "diagnoses"}
    assert orphans == (0,)
    assert shoal_runs("verify", "sqlite:///safe.db", "--job", "database.toml").status == 0


def test_sets_of_codes_in_a_column(shoal_runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sets = ["a1|a2", "a1|b1", "a2", "b1|b2", "a1|a2|b1", ""] * 5
    pl.DataFrame({"age": [30, 40] * 15, "codes": sets}).write_csv("people.csv")
    (tmp_path / "job.toml").write_text(
        """
        k = 3
        knows_events = 2
        [output]
        table = "safe"
        [tables.people]
        path = "people.csv"
        [tables.people.columns]
        age = {role = "quasi-identifier"}
        [tables.people.columns.codes]
        role = "quasi-identifier"
        kind = "items"
        hierarchy = {rule = "prefix", keep = [1]}
        """
    )
    result = shoal_runs("anonymize", "--job", "job.toml")
    assert result.status == 0, result.err
    written = pl.read_csv(tmp_path / "safe" / "people.csv")
    assert set(written.columns) == {"age", "codes"}
    assert shoal_runs("verify", "safe", "--job", "job.toml").status == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('of = "stays.stay_id"', 'of = "stay.stay_id"', "There is no table 'stay'"),
        ('of = "stays.stay_id"', 'of = "stays"', "write a table and its key"),
        ('of = "stays.stay_id"', 'of = "stays.ward"', "but the key of 'stays' is 'stay_id'"),
        ("knows_events = 2", "knows_events = 5", "1, 2 or 3"),
        ("knows_events = 2", 'algorithm = "oka"', "Unknown key 'algorithm'"),
        ('key = "stay_id"\n', 'keys = "stay_id"\n', "Unknown key 'keys'"),
        ('path = "hospital"', 'path = "nowhere"', "There is no folder"),
        ('table = "safe"', 'table = "hospital"', "would replace those they are made from"),
        ('report = "report.html"', 'save = "kept.shoal"', "save (under [output]) is for one table"),
        (
            '[input]\npath = "hospital"',
            "[input]\nengine = 'spark'\npath = 'hospital'",
            "one machine",
        ),
    ],
)
def test_what_is_wrong_with_a_job_is_said(
    shoal_runs, tmp_path, hospital, monkeypatch, old, new, words
):
    monkeypatch.chdir(tmp_path)
    text = (tmp_path / "job.toml").read_text()
    assert old in text
    (tmp_path / "job.toml").write_text(text.replace(old, new, 1))
    result = shoal_runs("anonymize", "--job", "job.toml")
    assert result.status == 2
    assert words in " ".join(result.err.split())
    assert not (tmp_path / "safe").exists()


def test_flags_about_one_table_are_refused(shoal_runs, tmp_path, hospital, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = shoal_runs("anonymize", "--job", "job.toml", "--qi", "sex")
    assert result.status == 2
    assert "The job names several tables" in result.err
    other = shoal_runs(
        "score", "hospital/patients.csv", "hospital/patients.csv", "--job", "job.toml"
    )
    assert other.status == 2
    assert "names several tables" in other.err
