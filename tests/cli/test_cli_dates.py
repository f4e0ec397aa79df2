"""`--dates` from files to files: one offset for a person, kept in the job, told to nobody."""

import json
from collections import defaultdict
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest

from fuzz import bytes as files
from fuzz.parts import run_command

FORMATS = ("csv", "parquet", "xlsx")
FLAGS = (
    *("--k", "3", "--qi", "age,sex", "--sensitive", "ill", "--insensitive", "admitted,left"),
    *("--person", "patient", "--algorithm", "mondrian"),
)
MOVED = ("--dates", "admitted=shift", "--dates", "left=shift")
# dates of the input that no moved date can be: years away from all others, of one person
PLANTED = date(1901, 2, 3)


def visits(n_people=45):
    rows = []
    for who in range(n_people):
        for visit in range(1 + who % 3):
            day = date(2024, 1, 1) + timedelta((who * 37 + visit * 61) % 330)
            ill = ("flu", "gout", "rash")[(who + visit) % 3]
            rows.append(
                (f"patient-{who:03}", 20 + who, "MF"[who % 2], day, day + timedelta(visit), ill)
            )
    rows.append(("patient-000", 20, "M", PLANTED, PLANTED + timedelta(5), "flu"))
    return pl.DataFrame(rows, ["patient", "age", "sex", "admitted", "left", "ill"], orient="row")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits().write_csv("visits.csv")
    return tmp_path


def run(*words, status=0):
    found = run_command([*words], Path.cwd())
    assert found.status == status, found.err
    return found


@pytest.mark.parametrize("ending", FORMATS)
def test_no_id_key_or_true_date_is_in_any_byte_that_is_written(place, ending):
    key = "9b1f5c02d7e84a63bb70c1e95d3f2a8816e4d0937c5ab28ff1460d7e3ac958b2"  # moves it far away
    (place / "people.key").write_text(f"{key}\n")
    (place / "people.key").chmod(0o600)
    found = run(
        "anonymize", "visits.csv", "-o", f"safe.{ending}", *FLAGS, *MOVED, "--person-key",
        "people.key", "--certificate", "c.json", "--report", "r.html", "--save", "kept.shoal",
        "--log", "runs.log",
    )  # fmt: skip
    kept = {"visits.csv", "people.key", "kept.shoal.people"}  # these are private
    outputs = [(p.name, p.read_bytes()) for p in place.iterdir() if p.name not in kept]
    outputs += [("standard output", found.out), ("standard error", found.err)]
    assert len(outputs) == 7
    planted = [b"1901-02-03", b"1901-02-08", b"1901-02", key.encode(), bytes.fromhex(key)]
    planted += [f"patient-{who:03}".encode() for who in range(45)]
    for name, data in outputs:
        for layer in files.layers(data):
            assert not [each for each in planted if each in layer], name
    said = " ".join((found.out + found.err).decode().split())
    assert "the days between dates may single somebody out" in said
    told = json.loads((place / "c.json").read_text())
    assert [each["dates"] for each in told["columns"]].count("shift 365 days") == 2
    assert "moved dates" in {each["what"] for each in told["judgement"]["open"]}
    assert "the days between dates may single somebody out" in (place / "r.html").read_text()
    later = run("verify", f"safe.{ending}", "--certificate", "c.json", "--json")
    judged = json.loads(later.out)["judgement"]
    assert judged["state"] == "amber"
    assert "moved dates" in {each["what"] for each in judged["open"]}


def test_offsets_of_a_file_are_one_for_each_person(place):
    run("anonymize", "visits.csv", "-o", "safe.csv", *FLAGS, *MOVED, "--no-shuffle")
    before, after = visits(), pl.read_csv("safe.csv", try_parse_dates=True)
    found = defaultdict(set)
    for name in ("admitted", "left"):
        for who, old, new in zip(before["patient"], before[name], after[name], strict=True):
            found[who].add((new - old).days)
    assert {len(each) for each in found.values()} == {1}
    assert len({next(iter(each)) for each in found.values()}) > 20


def test_a_job_keeps_what_happens_to_dates_and_every_command_uses_it(place):
    run("secret", "people.key")
    (place / "job.toml").write_text(
        'k = 3\nperson_key = "people.key"\n'
        '[input]\npath = "visits.csv"\n[output]\ntable = "safe.csv"\n'
        '[columns.patient]\nrole = "person"\n'
        '[columns.age]\nrole = "quasi-identifier"\n[columns.sex]\nrole = "quasi-identifier"\n'
        '[columns.admitted]\nrole = "quasi-identifier"\nkind = "date"\ndates = "shift weeks"\n'
        '[columns.left]\nrole = "insensitive"\ndates = "shift weeks"\n'
        '[columns.ill]\nrole = "sensitive"\n'
    )
    run("anonymize", "--job", "job.toml", "--algorithm", "mondrian")
    for command in ("utility", "score", "audit"):
        run(command, "visits.csv", "safe.csv", "--job", "job.toml")
    text = (place / "job.toml").read_text()
    (place / "lost.toml").write_text(text.replace('person_key = "people.key"\n', ""))
    lost = run("score", "visits.csv", "safe.csv", "--job", "lost.toml", status=2)
    assert "only the key tells" in " ".join(lost.err.decode().split())
    run("explain", "visits.csv", "--job", "lost.toml")
    (place / "first.toml").write_text(
        text.replace("shift weeks", "since first").replace('person_key = "people.key"\n', "")
    )
    run("anonymize", "--job", "first.toml", "--algorithm", "mondrian", "--replace")
    for command in ("utility", "score", "audit"):
        run(command, "visits.csv", "safe.csv", "--job", "first.toml")


def test_further_rows_have_their_dates_moved_too(place):
    run("anonymize", "visits.csv", "-o", "safe.csv", *FLAGS, *MOVED, "--save", "kept.shoal")
    new = visits().filter(pl.col("admitted") != PLANTED)
    new.with_columns(patient=pl.col("patient") + "b").write_csv("june.csv")
    run(
        "apply", "june.csv", "--release", "kept.shoal", "-o", "june-safe.csv",
        "--save", "kept2.shoal",
    )  # fmt: skip
    safe = pl.read_csv("june-safe.csv", try_parse_dates=True)
    assert safe.height == new.height
    gaps = sorted((safe["left"] - safe["admitted"]).dt.total_days())
    assert gaps == sorted((new["left"] - new["admitted"]).dt.total_days())
    same = set(zip(safe["admitted"], safe["left"], strict=True)) & set(
        zip(new["admitted"], new["left"], strict=True)
    )
    assert len(same) < new.height / 3


def test_what_dates_cannot_do_is_one_sentence_and_leaves_files_as_they_were(place):
    for wrong, words in (
        (("--dates", "admitted=sideways"), "must be 'shift'"),
        (("--dates", "ill=shift"), "neither a quasi-identifier nor insensitive"),
        (("--dates", "age=shift"), "it holds none"),
        (("--dates", "admitted=shift", "--engine", "spark"), "Spark"),
    ):
        said = run("anonymize", "visits.csv", "-o", "safe.csv", *FLAGS, *wrong, status=2)
        assert words in " ".join(said.err.decode().split())
    assert not (place / "safe.csv").exists()
