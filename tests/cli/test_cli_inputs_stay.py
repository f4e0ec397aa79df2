"""Facts about inputs: no command writes over a file that it reads, by whatever name."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.cli_samples import ROLES, patients
from tests.helpers.effort import further

from shoal.errors import OptionError
from shoal.io.atomic import AtomicGroup, write_together
from shoal.io.overwrite_guard import note_input, refuse_input, watching_inputs

EXPLANATION = {"advice": ["Drop age."], "changes": [], "outliers": []}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one file of every kind that a command reads."""
    (tmp_path / "data.csv").write_text(patients(), encoding="utf-8")
    sexes = "SECRET-F;*\nM;*\n"
    (tmp_path / "sex.csv").write_text(sexes, encoding="utf-8")
    (tmp_path / "zip.csv").write_text(
        "".join(f"SECRET-47{n}0;*\n" for n in range(6)), encoding="utf-8"
    )
    (tmp_path / "job.toml").write_text(
        'k = 3\n[columns.zip]\nrole = "quasi-identifier"\nhierarchy = "zip.csv"\n',
        encoding="utf-8",
    )
    (tmp_path / "groups.csv").write_text(
        "group\n" + "".join(f"{n // 4}\n" for n in range(40)), encoding="utf-8"
    )
    (tmp_path / "why.json").write_text(json.dumps(EXPLANATION), encoding="utf-8")
    with sqlite3.connect(tmp_path / "clinic.db") as base:
        base.execute("CREATE TABLE people (name, age, zip, sex, diagnosis)")
        rows = [line.split(",") for line in patients().splitlines()[1:]]
        base.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows)
        base.execute("CREATE VIEW inner_view AS SELECT * FROM people WHERE 1")
        base.execute("CREATE VIEW people_view AS SELECT * FROM inner_view")
    base.close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder):
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and path.suffix != ".db"
    }


ANONYMIZE = ["anonymize", "data.csv", "--job", "job.toml", "--hierarchy", "sex=sex.csv"]
ANONYMIZE += ["--qi", "age,sex", "--sensitive", "diagnosis", "--identifier", "name", "--quiet"]
REFINE = ["refine", *ANONYMIZE[1:], "--groups", "groups.csv"]
LOOK = [*ANONYMIZE[1:-1], "--quiet"]

INPUTS = ["data.csv", "sex.csv", "zip.csv", "job.toml"]
COMMANDS = [
    *((INPUTS, [*ANONYMIZE, "-o", "?", "--output-format", "csv"]),),
    (INPUTS, [*ANONYMIZE, "-o", "safe.csv", "--report", "?"]),
    (INPUTS, [*ANONYMIZE, "-o", "safe.csv", "--certificate", "?"]),
    (["why.json"], [*ANONYMIZE, "-o", "safe.csv", "--explanation", "why.json", "--report", "?"]),
    (
        ["why.json"],
        [
            *ANONYMIZE,
            "--explanation",
            "why.json",
            "--report",
            "r.html",
            "-o",
            "?",
            "--output-format",
            "csv",
        ],
    ),
    ([*INPUTS, "groups.csv"], [*REFINE, "-o", "safe.csv", "--report", "?"]),
    ([*INPUTS, "groups.csv"], [*REFINE, "-o", "safe.csv", "--certificate", "?"]),
    (["data.csv", "groups.csv", "zip.csv"], [*REFINE, "-o", "?"]),
    (INPUTS, ["explain", *LOOK, "--out", "?"]),
    (INPUTS, ["compare", *LOOK, "--k", "2", "--report", "?"]),
    (INPUTS, ["compare", *LOOK, "--k", "2", "--out", "?"]),
    (["data.csv"], ["init", "data.csv", "--yes", "--force", "-o", "?"]),
    (["data.csv"], ["hierarchy", "build", "data.csv", "-c", "zip", "--force", "-o", "?"]),
]
CASES = [(file, command) for files, command in COMMANDS for file in files]


@pytest.mark.parametrize(
    ("file", "command"), CASES, ids=[f"{c[0]}-{c[-2]}-{file}" for file, c in CASES]
)
@pytest.mark.parametrize("way", ["plain", "hard link"])
def test_no_command_writes_over_a_file_that_it_reads(shoal_runs, folder, file, command, way):
    name = file
    if way == "hard link":
        name = "linked" + Path(file).suffix
        os.link(file, name)
    before = contents(folder)
    outcome = shoal_runs(*(name if word == "?" else word for word in command))
    assert outcome.status == 2, outcome.err
    assert "the same file" in outcome.err
    assert "Traceback" not in outcome.err
    assert contents(folder) == before


@pytest.mark.parametrize("way", ["symlink", "relative", "absolute", "folder link"])
@pytest.mark.parametrize("file", INPUTS)
def test_an_input_is_recognised_by_any_name(shoal_runs, folder, file, way):
    other = folder / "other"
    if way == "symlink":
        (folder / "link.csv").symlink_to(file)
        name = "link.csv"
    elif way == "relative":
        other.mkdir()
        name = f"other/../{file}"
    elif way == "absolute":
        name = folder / file
    else:
        other.symlink_to(folder)
        name = f"other/{file}"
    before = contents(folder)
    outcome = shoal_runs(*ANONYMIZE, "-o", name, "--output-format", "csv")
    assert (outcome.status, "the same file" in outcome.err) == (2, True), outcome.err
    assert contents(folder) == before


def test_standard_input_and_output_that_are_files_are_recognised(folder, environment):
    command = [sys.executable, "-m", "shoal", "anonymize", "-", "--k", "3", *ROLES, "--quiet"]
    before = (folder / "data.csv").read_bytes()
    with (folder / "data.csv").open("rb") as stdin:
        done = subprocess.run(
            [*command, "-o", "data.csv"],
            stdin=stdin,
            capture_output=True,
            env=environment,
            check=False,
        )
    assert done.returncode == 2, done.stderr
    assert b"the same file" in done.stderr
    command = [sys.executable, "-m", "shoal", "anonymize", "data.csv", "--k", "3", *ROLES]
    with (folder / "data.csv").open("ab") as stdout:
        done = subprocess.run(
            [*command, "-o", "-"],
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
        )
    assert done.returncode == 2, done.stderr
    assert (folder / "data.csv").read_bytes() == before


# Databases


def rows_of(folder, table):
    with sqlite3.connect(folder / "clinic.db") as base:
        rows = base.execute(f'SELECT * FROM "{table}"').fetchall()
    base.close()
    return rows


@pytest.mark.parametrize("view", ["people_view", "inner_view", "people", "PEOPLE_VIEW"])
def test_a_table_behind_a_view_that_is_read_is_not_replaced(shoal_runs, folder, view):
    before = rows_of(folder, "people")
    os.link("clinic.db", "other.db")
    outcome = shoal_runs(
        "anonymize",
        f"sqlite:///clinic.db?table={view}",
        "-o",
        "sqlite:///other.db?table=People",
        "--if-exists",
        "replace",
        "--k",
        3,
        *ROLES,
        "--quiet",
    )
    assert (outcome.status, "the same" in outcome.err) == (2, True), outcome.err
    assert rows_of(folder, "people") == before


@pytest.mark.parametrize("ending", ["", "-wal", "-journal"])
def test_a_database_that_is_read_is_not_replaced_by_a_file(shoal_runs, folder, ending):
    (folder / f"clinic.db{ending}").touch()
    before = rows_of(folder, "people")
    outcome = shoal_runs(
        "anonymize",
        "sqlite:///clinic.db?table=people",
        "--replace",
        "-o",
        "safe.csv",
        "--report",
        f"clinic.db{ending}",
        "--k",
        3,
        *ROLES,
        "--quiet",
    )
    assert (outcome.status, "the same file" in outcome.err) == (2, True), outcome.err
    assert rows_of(folder, "people") == before
    assert not (folder / "safe.csv").exists()


def test_a_database_is_not_made_out_of_a_file_that_is_read(shoal_runs, folder):
    (folder / "empty.toml").touch()  # SQLite takes an empty file for an empty database
    outcome = shoal_runs(
        "anonymize",
        "data.csv",
        "--job",
        "empty.toml",
        "-o",
        "sqlite:///empty.toml?table=t",
        "--k",
        3,
        *ROLES,
        "--quiet",
    )
    assert (outcome.status, "the same file" in outcome.err) == (2, True), outcome.err
    assert (folder / "empty.toml").read_bytes() == b""


def test_another_table_of_the_database_that_is_read_may_be_written(shoal_runs, folder):
    outcome = shoal_runs(
        "anonymize",
        "sqlite:///clinic.db?table=people_view",
        "-o",
        "sqlite:///clinic.db?table=safe",
        "--k",
        3,
        *ROLES,
        "--quiet",
    )
    assert outcome.status == 0, outcome.err
    assert len(rows_of(folder, "safe")) == 40


# The mechanism


AUDIT = """
import os, sys
top = os.path.realpath(os.getcwd()) + os.sep
opened = set()

def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.path.realpath(os.fsdecode(arguments[0]))
        flags = arguments[2] or 0
        if path.startswith(top) and not flags & (os.O_WRONLY | os.O_RDWR):
            opened.add(path)
    if event == "sqlite3.connect":
        path = os.fsdecode(arguments[0])
        if "mode=ro" in path:
            opened.add(os.path.realpath(path[5:].split("?")[0]))

sys.addaudithook(note)
from shoal.cli import program, state
status = program.run(sys.argv[1:])
watch = state.State.watch
known = {**watch.files, **watch.databases}
missed = [
    path for path in opened
    if not os.path.isdir(path) and ".shoal-" not in path and path not in known
]
print(status, len(opened), missed)
"""

READING = [
    [*ANONYMIZE, "-o", "safe.parquet", "--explanation", "why.json", "--report", "r.html"],
    ["anonymize", "sqlite:///clinic.db?table=people_view", "-o", "-", "--k", "3", *ROLES],
    [*REFINE, "-o", "safe.csv", "--certificate", "c.json"],
    ["explain", *LOOK, "--algorithm", "mondrian"],
    ["compare", *LOOK, "--k", "2", "--algorithms", "mondrian"],
    ["init", "data.csv", "--yes", "-o", "new.toml"],
    ["hierarchy", "build", "data.csv", "-c", "zip", "-o", "new.csv"],
    ["hierarchy", "check", "sex.csv", "--data", "data.csv", "-c", "sex"],
    ["verify", "data.csv", "--k", "2", "--qi", "sex"],
    ["score", "data.csv", "data.csv", "--qi", "sex"],
    ["audit", "data.csv", "data.csv", "--qi", "sex", "--control", "data.csv"],
    ["utility", "data.csv", "data.csv", "--qi", "sex"],
]


@pytest.mark.parametrize(
    "command",
    further(READING, lambda words: words[0] in {"anonymize", "audit", "hierarchy"}),
    ids=[" ".join(words[:2]) for words in READING],
)
def test_every_file_that_a_command_opens_is_known_as_its_input(folder, environment, command):
    done = subprocess.run(
        [sys.executable, "-c", AUDIT, *command], capture_output=True, env=environment, check=False
    )
    last = done.stdout.decode().splitlines()[-1]
    status, n_opened, missed = last.split(" ", 2)
    assert missed == "[]", done.stderr
    assert int(n_opened) >= 1
    assert status in {"0", "1"}, done.stderr


def test_outside_a_command_a_program_may_replace_what_it_read(tmp_path):
    file = tmp_path / "a"
    file.write_text("old")
    note_input(file)
    write_together([(file, "new")])
    assert file.read_text() == "new"


def test_a_file_that_becomes_an_input_after_it_was_staged_is_not_replaced(tmp_path):
    file = tmp_path / "a"
    file.write_text("old")

    def stage_and_read():
        with AtomicGroup() as group:
            group.add(file, "new")
            note_input(file)

    with watching_inputs(), pytest.raises(OptionError, match="the same file"):
        stage_and_read()
    assert file.read_text() == "old"


def test_an_input_that_is_replaced_by_another_program_stays_an_input(tmp_path):
    file = tmp_path / "a"
    file.write_text("old")
    with watching_inputs():
        note_input(file)
        (tmp_path / "b").write_text("newer")
        (tmp_path / "b").replace(file)
        with pytest.raises(OptionError, match="the same file"):
            refuse_input(file)


def test_pipes_and_terminals_are_nobodys_input(tmp_path):
    with watching_inputs():
        note_input("/dev/null")
        refuse_input("/dev/null")
        note_input(tmp_path / "nothing")
        refuse_input(tmp_path / "nothing")
