"""`--person` from the command line and from a job file: people counted, ids in no byte."""

import json
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.panels import fewest_people, panel

import shoal
from fuzz import bytes as files
from fuzz.parts import run_command

FORMATS = ("csv", "parquet", "arrow", "jsonl", "xlsx", "db")
FLAGS = ("--k", "5", "--qi", "age,sex,home", "--sensitive", "sick", "--algorithm", "mondrian")


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    panel().write_csv("visits.csv")
    return tmp_path


def target_of(ending):
    return "sqlite:///safe.db?table=safe" if ending == "db" else f"safe.{ending}"


def run(*words, status=0):
    found = run_command([*words], Path.cwd())
    assert found.status == status, found.err
    return found


@pytest.mark.parametrize("ending", FORMATS)
def test_no_id_is_in_any_byte_that_is_written(visits, ending):
    target = target_of(ending)
    found = run(
        "anonymize", "visits.csv", "-o", target, *FLAGS, "--person", "patient",
        "--certificate", "c.json", "--report", "r.html",
    )  # fmt: skip
    written = [path for path in visits.iterdir() if path.name != "visits.csv"]
    assert len(written) >= 3
    outputs = [(path.name, path.read_bytes()) for path in written]
    outputs += [("standard output", found.out), ("standard error", found.err)]
    ids = [each.encode() for each in panel()["patient"].unique()]
    for name, data in outputs:
        for layer in files.layers(data):
            assert not [each for each in ids if each in layer], name
    told = json.loads((visits / "c.json").read_text())
    assert told["counted"].startswith("People. Every group holds at least 5 different people")
    assert told["verified"].endswith("what was written")
    assert {"name": "patient", "role": "person"}.items() <= next(
        each for each in told["columns"] if each["name"] == "patient"
    ).items()
    page = (visits / "r.html").read_text()
    assert "at least 5 different people" in page


def test_the_screen_says_people_and_a_later_check_of_the_file_says_rows(visits):
    flags = ("--k", "5", "--qi", "age,sex,home")
    found = run("anonymize", "visits.csv", "-o", "safe.csv", *FLAGS, "--person", "patient")
    said = _text(found.out) + _text(found.err)
    assert "different people" in said
    assert "% of the rows" in said
    assert "% of the people" not in said
    assert "if every row is a different person" not in said
    later = _text(run("verify", "safe.csv", *flags).out)
    assert "if every row is a different person" in later
    run("verify", "safe.csv", *flags, "--person", "patient", status=2)


def test_pseudonyms_can_be_counted_by_whoever_reads_the_file(visits):
    run("anonymize", "visits.csv", "-o", "safe.csv", *FLAGS, "--person", "patient", "--pseudonyms")
    safe = pl.read_csv("safe.csv")
    assert safe["patient"].n_unique() == panel()["patient"].n_unique()
    assert fewest_people(safe, ["age", "sex", "home"], safe["patient"].to_list()) >= 5
    said = _text(
        run("verify", "safe.csv", "--k", "5", "--qi", "age,sex,home", "--person", "patient").out
    )
    assert "different people" in said


def test_without_the_role_the_screen_warns_and_strict_stops(visits):
    found = run("anonymize", "visits.csv", "-o", "safe.csv", *FLAGS, "--drop", "patient")
    said = " ".join((_text(found.out) + _text(found.err)).split())
    assert "Column 'patient' has" in said
    assert "not established" in said
    assert "1 in 5" not in said
    (visits / "safe.csv").unlink()
    run(
        "anonymize",
        "visits.csv",
        "-o",
        "safe.csv",
        *FLAGS,
        "--drop",
        "patient",
        "--strict",
        status=1,
    )
    assert not (visits / "safe.csv").exists()
    more = ("--drop", "patient", "--strict", "--rows-are-people")
    run("anonymize", "visits.csv", "-o", "safe.csv", *FLAGS, *more)


def test_a_job_file_says_it_as_a_role(visits):
    job = """
    k = 5
    algorithm = "mondrian"
    [input]
    path = "visits.csv"
    [output]
    table = "safe.csv"
    [columns.patient]
    role = "person"
    [columns.age]
    role = "quasi-identifier"
    [columns.sex]
    role = "quasi-identifier"
    [columns.home]
    role = "quasi-identifier"
    [columns.sick]
    role = "sensitive"
    """
    (visits / "job.toml").write_text(job)
    result = shoal.run_job("job.toml")
    assert result.release.verification.fewest_people >= 5
    assert "patient" not in pl.read_csv("safe.csv").columns
    again = shoal.read_job("job.toml")
    shoal.write_job(again, "other.toml")
    assert shoal.read_job("other.toml") == again


def _text(said):
    return said.decode()


def test_a_certificate_of_people_is_checked_as_far_as_a_reader_can(visits):
    asked = ("--person", "patient", "--alpha", "0.5", "--certificate", "c.json")
    run("anonymize", "visits.csv", "-o", "safe.csv", *FLAGS, *asked)
    said = " ".join(_text(run("verify", "safe.csv", "--certificate", "c.json").out).split())
    assert "whose rows they are is not published" in said
    assert "1 in 5, by the certificate's word: it counts people" in said
    assert "if every row is a different person" not in said
    more = ("-o", "linked.csv", *FLAGS, "--pseudonyms", *asked[:-1], "linked.json")
    run("anonymize", "visits.csv", *more)
    said = " ".join(_text(run("verify", "linked.csv", "--certificate", "linked.json").out).split())
    assert "Promises: hold in this table (k = 5 and 1 more)." in said
    assert "different people" in said


def test_pseudonyms_of_two_months_agree_under_a_key_that_no_output_holds(visits):
    panel().reverse().head(60).write_csv("june.csv")
    run("secret", "people.key")
    key = (visits / "people.key").read_text().strip()
    asked = (*FLAGS, "--person", "patient", "--pseudonyms", "--person-key", "people.key")
    found = {}
    for month in ("visits", "june"):
        done = run(
            "anonymize", f"{month}.csv", "-o", f"safe-{month}.csv", *asked,
            "--certificate", f"{month}.json", "--report", f"{month}.html",
        )  # fmt: skip
        assert "the same in every file that is made with this key" in _text(done.out + done.err)
        found[month] = set(pl.read_csv(f"safe-{month}.csv")["patient"])
        told = json.loads((visits / f"{month}.json").read_text())
        assert "kept pseudonyms" in {each["what"] for each in told["judgement"]["open"]}
        page = (visits / f"{month}.html").read_text()
        assert "the same in every file that is made with this key" in page
    n_people = panel().reverse().head(60)["patient"].n_unique()
    assert len(found["june"]) == len(found["june"] & found["visits"]) == n_people
    written = [path for path in visits.iterdir() if path.suffix in {".csv", ".json", ".html"}]
    for path in written:
        for layer in files.layers(path.read_bytes()):
            assert key.encode() not in layer
            assert bytes.fromhex(key) not in layer


def test_a_key_of_people_is_no_place_for_an_output_and_needs_pseudonyms(visits):
    run("secret", "people.key")
    before = (visits / "people.key").read_bytes()
    asked = (*FLAGS, "--person", "patient", "--person-key", "people.key")
    run("anonymize", "visits.csv", "-o", "safe.csv", *asked, status=2)
    run(
        "anonymize", "visits.csv", "-o", "safe.csv", *asked, "--pseudonyms",
        "--certificate", "people.key", "--replace", status=2,
    )  # fmt: skip
    (visits / "people.key").chmod(0o644)
    run("anonymize", "visits.csv", "-o", "safe.csv", *asked, "--pseudonyms", status=2)
    assert (visits / "people.key").read_bytes() == before
    assert not (visits / "safe.csv").exists()
