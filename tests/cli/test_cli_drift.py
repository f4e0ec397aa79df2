"""Three nights of a job whose table changes: what is said, what is not, and how it is accepted."""

import json
import os
import pty
import subprocess
import sys
import tomllib

import pytest

import shoal
from shoal.cli.program import run
from shoal.run.drift import _MARKS, ColumnChange
from shoal.run.job import EVENTS
from shoal.settings.job_edit import with_columns

JOB = """# A job that somebody has commented.
k = 3
rows_are_people = true
[input]
path = "${NIGHT}.csv"
[output]
table = "safe.csv"
certificate = "c.json"
replace = true
log = "runs.log"
log_json = true

# of the register
[columns.age]
role = "quasi-identifier"
kind = "numeric"

# from the form
[columns.ward]
role = "drop"

[columns.marital]  # as the form says it
role = "quasi-identifier"
hierarchy = "marital.csv"
[columns.ill]
role = "sensitive"
"""
TREE = "single;alone;*\nwidowed;alone;*\nmarried;in a couple;*"


def night(folder, name, header, row):
    lines = [header, *(row(n) for n in range(60))]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Monday is what the job says; on Tuesday a flag, two words and an illness are new."""
    words = ["single", "widowed", "married"]
    night(
        tmp_path,
        "monday",
        "age,ward,marital,ill",
        lambda n: f"{30 + n % 7},w{n % 2},{words[n % 3]},ill{n % 4}",
    )
    night(
        tmp_path,
        "tuesday",
        "age,marital,ill,new_flag",
        lambda n: f"{30 + n % 7},{[*words, 'SECRET1', 'SECRET2'][n % 5]},SECRETill{n % 4},SECRETf",
    )
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "marital.csv").write_text(TREE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIGHT", "tuesday")
    return tmp_path


def lines_of(folder):
    return [json.loads(line) for line in (folder / "runs.log").read_text().splitlines()]


TOLD = [
    ("column-new", "new_flag", 0),
    ("column-gone", "ward", 0),
    ("values-new", "marital", 2),
]


def test_three_nights(folder, monkeypatch, capsys):
    anonymize = ["anonymize", "--job", "job.toml", "--quiet"]
    monkeypatch.setenv("NIGHT", "monday")
    assert run(anonymize) == 0
    assert run(["drift", "job.toml"]) == 0
    before = {each.name: each.read_bytes() for each in folder.iterdir() if each.suffix != ".log"}
    capsys.readouterr()

    monkeypatch.setenv("NIGHT", "tuesday")
    assert run(anonymize) == 2
    said = capsys.readouterr().err
    assert "column 'new_flag' is new; column 'ward' is gone; 2 values of column 'marital'" in said
    assert run(["drift", "job.toml"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "+ column 'new_flag' is new",
        "- column 'ward' is gone",
        "~ 2 values of column 'marital' are not in its hierarchy",
    ]
    after = {each.name: each.read_bytes() for each in folder.iterdir() if each.suffix != ".log"}
    assert before == after
    events = [each for each in lines_of(folder) if each["event"] == "drift"]
    assert [(each["change"], each["column"], each["values"]) for each in events] == TOLD
    assert lines_of(folder)[-1]["event"] == "failed"
    assert {each["event"] for each in lines_of(folder)} <= set(EVENTS)

    assert run(["drift", "job.toml", "--accept"]) == 0
    job = tomllib.loads((folder / "job.toml").read_text())
    expected = tomllib.loads(JOB)
    del expected["columns"]["ward"]
    expected["columns"]["new_flag"] = {"role": "drop"}
    assert job == expected
    assert (folder / "job.toml").read_text().startswith("# A job that somebody has commented.\n")
    assert "${NIGHT}" in (folder / "job.toml").read_text()
    assert "from the form" not in (folder / "job.toml").read_text()
    assert (folder / "marital.csv").read_text() == f"{TREE}\nSECRET1;*;*\nSECRET2;*;*\n"
    assert run(anonymize) == 0
    assert "new_flag" not in (folder / "safe.csv").read_text().splitlines()[0]
    assert run(["drift", "job.toml"]) == 0


def test_no_new_value_is_in_any_file_or_on_any_stream(folder, capsys):
    for words in (
        ["anonymize", "--job", "job.toml"],
        ["drift", "job.toml"],
        ["drift", "job.toml", "--json"],
        ["drift", "job.toml", "--values"],
    ):
        assert run(words) in (1, 2), words
    shown = "".join(capsys.readouterr()) + (folder / "runs.log").read_text()
    found = shoal.drift("job.toml")
    with pytest.raises(shoal.DriftError) as caught:
        shoal.run_job("job.toml")
    shown += str(found) + repr(found) + str(caught.value) + repr(caught.value.changes)
    assert "SECRET" not in shown
    assert found.values == {"marital": ("SECRET1", "SECRET2")}
    assert caught.value.changes == found.changes
    assert [(each.what, each.column, each.n_values) for each in found.changes] == TOLD
    assert not (folder / "c.json").exists()


def test_json_says_the_changes_for_programs(folder, capsys):
    assert run(["drift", "job.toml", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["drift"], found["accepted"]) == (True, False)
    assert [(e["change"], e["column"], e["values"]) for e in found["changes"]] == TOLD
    assert run(["drift", "job.toml", "--accept", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accepted"]
    assert run(["drift", "job.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"] == []


def test_values_are_shown_on_a_terminal_and_refused_elsewhere(folder, capsys):
    assert run(["drift", "job.toml", "--values"]) == 2
    assert "a terminal and nowhere else" in capsys.readouterr().err
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "shoal", "drift", "job.toml", "--values"]
    status = subprocess.run(command, check=False, stdout=theirs, stderr=theirs).returncode
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(mine, 4096)
        except OSError:  # the terminal is closed
            break
        if not part:
            break
        shown += part
    os.close(mine)
    assert status == 1
    assert shown.decode().split("hierarchy")[1].split() == ["SECRET1", "SECRET2"]


def test_what_only_people_can_decide_is_not_accepted_and_nothing_is_written(folder, capsys):
    text = JOB.replace('hierarchy = "marital.csv"', 'order = ["single", "widowed", "married"]')
    (folder / "job.toml").write_text(text)
    assert run(["drift", "job.toml", "--accept"]) == 2
    said = capsys.readouterr().err
    assert "2 values of column 'marital' are not in its order" in said
    assert "Nothing was written" in said
    assert (folder / "job.toml").read_text() == text

    (folder / "job.toml").write_text(JOB)
    rows = (folder / "monday.csv").read_text()
    (folder / "tuesday.csv").write_text(rows.replace("\n33,", "\nunknown,"))
    (change,) = shoal.drift("job.toml").changes
    assert (change.what, change.column) == ("column-unfit", "age")
    assert "unknown" not in change.sentence
    with pytest.raises(shoal.DriftError):
        shoal.accept_drift("job.toml")
    assert (folder / "job.toml").read_text() == JOB


def test_a_new_value_called_like_a_group_is_refused_without_its_name(folder):
    text = (folder / "tuesday.csv").read_text().replace("SECRET1", "in a couple")
    (folder / "tuesday.csv").write_text(text)
    with pytest.raises(shoal.HierarchyError, match="one is called like a group") as caught:
        shoal.accept_drift("job.toml")
    assert "in a couple" not in str(caught.value)
    assert (folder / "marital.csv").read_text() == TREE
    assert (folder / "job.toml").read_text() == JOB


def test_values_that_may_be_unknown_are_no_drift(folder):
    (folder / "job.toml").write_text(f'unknown_values = "root"\n{JOB}')
    assert [each.what for each in shoal.drift("job.toml").changes] == ["column-new", "column-gone"]


def test_another_table_may_be_named(folder, capsys):
    assert run(["drift", "job.toml", "monday.csv"]) == 0
    assert run(["drift", "job.toml", "nothing.csv"]) == 2
    assert "nothing.csv" in capsys.readouterr().err


def test_an_error_that_is_no_drift_stays_what_it_was(folder, monkeypatch):
    monkeypatch.setenv("NIGHT", "monday")
    (folder / "job.toml").write_text(JOB.replace("k = 3", "k = 3\nwithin = 'nowhere'"))
    with pytest.raises(shoal.ShoalError) as caught:
        shoal.run_job("job.toml")
    assert not isinstance(caught.value, shoal.DriftError)


def test_without_a_job_file_the_sentence_says_what_to_give(folder, capsys):
    words = ["anonymize", "tuesday.csv", "-o", "x.csv", "--k", "3", "--qi", "age"]
    assert run(words) == 2
    assert "has no role" in capsys.readouterr().err.replace("have no role", "has no role")


def test_a_first_line_that_may_be_data_is_not_told(folder, capsys):
    rows = [f"{30 + n % 7},{19380000 + n},{n}.5" for n in range(60)]
    (folder / "tuesday.csv").write_text("\n".join(rows) + "\n")
    assert run(["drift", "job.toml"]) == 1
    assert run(["drift", "job.toml", "--json"]) == 1
    assert "1938" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "text",
    [
        'k = 2\ncolumns = {age = {role = "drop"}, old = {role = "drop"}}\n',
        '[columns]\nage.role = "drop"\nold.role = "drop"\n',
        '[columns.old]\nnote = """\n[columns.age]\n"""\n',
    ],
)
def test_columns_written_in_another_way_are_left_to_people(text, tmp_path):
    with pytest.raises(shoal.JobError, match="by hand"):
        with_columns(text, tmp_path / "job.toml", dropped=["new"], gone=["old"])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_the_named_tables_of_a_job_change(end, tmp_path):
    text = (
        '# top\n\n[columns."a.b"]\nrole = "drop"\n\n# about c\n[columns.c]\nrole = "drop"\n'
        '[columns.c.hierarchy]\nrule = "icd10"\n\n# about d\n[columns.d]\nrole = "drop"\n'
        "# the end\n"
    ).replace("\n", end)
    found = with_columns(text, tmp_path / "j.toml", dropped=["e f"], gone=["c", "a.b"])
    assert found == (
        '# top\n\n# about d\n[columns.d]\nrole = "drop"\n# the end\n\n[columns."e f"]\n'
        'role = "drop"\n'
    ).replace("\n", end)


def test_the_page_has_a_line_for_each_kind_of_change(folder):
    from tests.cli.test_cli_nightly import ROOT

    page = (ROOT / "docs" / "nightly.md").read_text(encoding="utf-8")
    for what, mark in _MARKS.items():
        assert f"`{what}`" in page
        assert f"| `{mark}" in page
    assert {each.what for each in shoal.drift("job.toml").changes} <= set(_MARKS)
    assert ColumnChange("column-new", "x", 0, "y").to_dict()["column"] == "x"
