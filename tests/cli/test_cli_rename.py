"""``--rename``: the original has new names for every command that reads it, and no old one after.

The oracle is a file with the new names in its first line, which is read without the option.
"""

import tomllib
from pathlib import Path

import polars as pl
import pytest
from tests.helpers.cli_samples import but_progress
from tests.life.conftest import register

OLD = {"Geburtsjahr": "age", "Plz": "zip", "Geschlecht": "sex", "Leiden": "ill", "Nummer": "id"}
RENAME = tuple(word for old, new in OLD.items() for word in ("--rename", f"{old}={new}"))
ROLES = ("--qi", "age,zip,sex", "--sensitive", "ill", "--person", "id")
ASKED = ("--k", "4", *ROLES, "--algorithm", "mondrian", "--seed", "1")


def as_before(frame):
    """The table under its old names."""
    return frame.rename({new: old for old, new in OLD.items()})


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table in (("new", register(80)), ("old", as_before(register(80)))):
        table.write_csv(f"{name}.csv")
        table.write_parquet(f"{name}.parquet")
        table.write_ndjson(f"{name}.jsonl")
    return tmp_path


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_the_release_is_that_of_a_file_with_the_new_names(shoal_runs, tables, kind):
    del tables
    assert shoal_runs("anonymize", f"new.{kind}", *ASKED, "-o", "expected.csv").status == 0
    made = shoal_runs("anonymize", f"old.{kind}", *RENAME, *ASKED, "-o", "safe.csv")
    assert made.status == 0, made.err
    assert Path("safe.csv").read_bytes() == Path("expected.csv").read_bytes()


def test_no_old_name_is_in_what_is_published(shoal_runs, tables):
    made = shoal_runs(
        *("anonymize", "old.csv", *RENAME, *ASKED, "-o", "safe.csv", "--audit"),
        *("--report", "r.html", "--certificate", "c.json", "--save", "release.shoal", "--json"),
    )
    assert made.status == 0, made.err
    for name in ("safe.csv", "r.html", "c.json", "release.shoal"):
        content = (tables / name).read_bytes().lower()
        for old in OLD:
            assert old.lower().encode() not in content, (name, old)
    assert not [old for old in OLD if old in made.out]
    assert shoal_runs("verify", "safe.csv", "--certificate", "c.json").status == 0


@pytest.mark.parametrize(
    "command",
    [
        ("score", "table.csv", "safe.csv", *ROLES[:4]),
        ("audit", "table.csv", "safe.csv", *ROLES[:4]),
        ("hierarchy", "build", "table.csv", "--column", "zip", "-o", "-"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_reads_the_original_alike(shoal_runs, tables, command):
    assert shoal_runs("anonymize", "new.csv", *ASKED, "-o", "safe.csv").status == 0
    found = []
    for name, words in (("new.csv", ()), ("old.csv", RENAME)):
        (tables / "table.csv").write_bytes((tables / name).read_bytes())
        made = shoal_runs(*command, *words)
        assert made.status == 0, made.err
        found.append(made.out)
    assert found[0] == found[1] != ""


@pytest.mark.parametrize(
    "command", [("explain", "--algorithm"), ("compare", "--algorithms")], ids=lambda each: each[0]
)
def test_what_tries_settings_reads_the_original_so_too(shoal_runs, tables, command):
    del tables
    name, algorithm = command
    asked = ("--k", "4", *ROLES[:4], "--drop", "id", algorithm, "mondrian", "--seed", "1")
    assert shoal_runs(name, "old.csv", *asked).status == 2
    made = shoal_runs(name, "old.csv", *asked, *RENAME)
    assert made.status == 0, made.err


def test_further_rows_are_read_with_the_new_names(shoal_runs, tables):
    del tables
    kept = ("--save", "release.shoal")
    assert shoal_runs("anonymize", "old.csv", *RENAME, *ASKED, "-o", "a.csv", *kept).status == 0
    register(60, 1, 500).write_csv("further-new.csv")
    as_before(register(60, 1, 500)).write_csv("further-old.csv")
    for name, words in (("further-new", ()), ("further-old", RENAME)):
        made = shoal_runs(
            *("apply", f"{name}.csv", *words, "--release", "release.shoal", "--seed", "1"),
            *("-o", f"{name}-safe.csv", "--waiting", f"{name}-wait.csv"),
            *("--save", f"{name}.shoal"),
        )
        assert made.status == 0, made.err
        for file in Path().glob(f"{name}*.shoal*"):  # it never was out
            file.unlink()
    assert Path("further-new-safe.csv").read_bytes() == Path("further-old-safe.csv").read_bytes()


def test_init_writes_the_names_and_the_job_runs_with_them(shoal_runs, tables):
    assert shoal_runs("init", "old.csv", *RENAME, "--yes").status == 0
    job = tomllib.loads((tables / "job.toml").read_text())
    assert job["input"]["rename"] == OLD
    assert set(job["columns"]) == set(OLD.values())
    made = shoal_runs("anonymize", "old.csv", "--job", "job.toml", "--seed", "1", "-o", "safe.csv")
    assert made.status == 0, made.err
    assert set(pl.read_csv("safe.csv").columns) <= set(OLD.values())


def test_a_flag_counts_more_than_the_job_file_and_only_for_its_column(shoal_runs, tables):
    (tables / "job.toml").write_text("[input]\nrename = {Plz = 'zip', Leiden = 'x'}\n")
    asked = ("--k", "4", "--qi", "zip", "--sensitive", "ill", "--drop", "Geburtsjahr,Geschlecht")
    made = shoal_runs(
        *("anonymize", "old.csv", "--job", "job.toml", "--rename", "Leiden=ill", *asked),
        *("--drop", "Nummer", "-o", "safe.csv"),
    )
    assert made.status == 0, made.err
    assert pl.read_csv("safe.csv").columns == ["zip", "ill"]


def test_names_are_exchanged_all_at_once(shoal_runs, tables):
    del tables
    turned = register(80).rename({"zip": "age", "age": "zip"}, strict=True)
    turned.write_csv("turned.csv")
    words = ("--rename", "zip=age", "--rename", "age=zip")
    assert shoal_runs("anonymize", "new.csv", *ASKED, "-o", "expected.csv").status == 0
    made = shoal_runs("anonymize", "turned.csv", *words, *ASKED, "-o", "safe.csv")
    assert made.status == 0, made.err
    assert Path("safe.csv").read_bytes() == Path("expected.csv").read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rename", "Geburtstag=age"), "no column 'Geburtstag'"),
        (("--rename", "Plz=Leiden"), "another column is"),
        (("--rename", "Plz=x", "--rename", "Leiden=x"), "another column is"),
        (("--rename", "Plz=x", "--rename", "Plz=y"), "given twice"),
        (("--rename", "Plz="), "must look like"),
        (("--rename", "Plz"), "must look like"),
        (("--rename", "Plz=a\nb"), "on one line"),
        (("--rename", "Plz=" + "x" * 2000), "characters"),
    ],
)
def test_a_wrong_name_is_one_sentence_and_nothing_is_written(shoal_runs, tables, words, said):
    made = shoal_runs("anonymize", "old.csv", *words, "--k", "4", "--qi", "Plz", "-o", "safe.csv")
    assert made.status == 2
    lines = but_progress(made.err.splitlines())
    assert len(lines) == 1, made.err
    assert said in lines[0]
    assert not (tables / "safe.csv").exists()


def test_an_old_name_is_no_column_any_more(shoal_runs, tables):
    del tables
    words = ("--column", "Plz", "-o", "-")
    assert shoal_runs("hierarchy", "build", "old.csv", *words).status == 0
    made = shoal_runs("hierarchy", "build", "old.csv", *words, *RENAME)
    assert (made.status, "no column 'Plz'" in made.err) == (2, True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rename = 'Plz'", "input.rename in 'job.toml' must be a table"),
        ("rename = {Plz = 3}", "rename must say the new names"),
        ("rename = {Plz = ' '}", "must be text that can be seen"),
        ("rename = {Ort = 'zip'}", "no column 'Ort'"),
    ],
)
def test_a_wrong_name_in_a_job_file_is_one_sentence(shoal_runs, tables, line, said):
    (tables / "job.toml").write_text(f"k = 2\n[input]\npath = 'old.csv'\n{line}\n")
    made = shoal_runs("anonymize", "--job", "job.toml", "--qi", "Plz", "-o", "safe.csv")
    assert made.status == 2
    assert said in made.err
    assert len(but_progress(made.err.splitlines())) == 1


def test_a_population_has_the_names_of_the_release(shoal_runs, tables):
    del tables
    register(80).write_csv("people.csv")
    made = shoal_runs(
        *("anonymize", "old.csv", *RENAME, *ASKED, "-o", "safe.csv", "--certificate", "c.json"),
        *("--k-map", "3", "--population", "people.csv"),
    )
    assert made.status == 0, made.err
    checked = ("--certificate", "c.json", "--population", "people.csv")
    assert shoal_runs("verify", "safe.csv", *checked).status == 0
