"""A nightly job: its log for programs, and what it finds of a run that was killed."""

import importlib.util
import json
import os
import re
import sqlite3
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import shoal
from shoal.io import temporaries
from shoal.run.job import EVENTS

JOB = """
k = 3
seed = 1
rows_are_people = true
[input]
path = "${IN}"
[output]
table = "safe.csv"
certificate = "c.json"
replace = true
log = "runs.log"
log_json = true
[columns.age]
role = "quasi-identifier"
[columns.ill]
role = "sensitive"
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    rows = [f"{n % 7 + 30},SECRET{n % 4}" for n in range(60)]
    (tmp_path / "in.csv").write_text("\n".join(["age,ill", *rows]))
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.setenv("IN", "in.csv")
    return tmp_path / "job.toml"


def lines(job):
    return [json.loads(line) for line in (job.parent / "runs.log").read_text().splitlines()]


def test_every_line_of_the_log_is_an_event_of_the_set_without_a_cell(job, monkeypatch):
    shoal.run_job(job)
    events = lines(job)
    assert events[0]["event"] == "started"
    assert events[-1]["event"] == "done"
    done = events[-1]
    assert (done["rows"], done["of_rows"], done["judgement"]) == (60, 60, "green")
    assert done["files"] == ["'safe.csv'", "'c.json'"] or len(done["files"]) == 2
    assert {"stage"} <= {each["event"] for each in events} <= set(EVENTS)
    assert all({"time", "process", "event", "text"} <= set(each) for each in events)
    monkeypatch.setenv("IN", "nothing.csv")
    with pytest.raises(shoal.ShoalError):
        shoal.run_job(job)
    assert lines(job)[-1]["event"] == "failed"
    assert "SECRET" not in (job.parent / "runs.log").read_text()


KILLED = """
import os, signal, sys
from shoal.io.atomic import AtomicGroup
group = AtomicGroup()
group.add(sys.argv[1], "half of it")
group.add(sys.argv[2], "half of it")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_run_removes_what_a_killed_one_left_and_says_so(job):
    folder = job.parent
    half = [sys.executable, "-c", KILLED, folder / "safe.csv", folder / "c.json"]
    assert subprocess.run(half, check=False).returncode < 0
    left = [each.name for each in folder.iterdir() if each.name.startswith(".shoal-")]
    assert len(left) == 2
    mine = folder / f"{temporaries._ours()}{os.getpid()}-beside.tmp"
    foreign = folder / ".shoal-0000abcd-1-other.tmp"
    for each in (mine, foreign):
        each.write_text("of somebody who is still at work")
    result = shoal.run_job(job)
    told = "An earlier run was killed; 2 unfinished files of it were found"
    assert any(told in note for note in result.notes)
    assert any(told in each["text"] for each in lines(job) if each["event"] == "note")
    hidden = {each.name for each in folder.iterdir() if each.name.startswith(".shoal-")}
    assert hidden == {mine.name, foreign.name}
    assert not shoal.run_job(job).notes


def test_a_folder_without_leftovers_is_left_alone(tmp_path):
    (tmp_path / ".shoal-notes").write_text("mine")
    assert temporaries.remove_leftovers([tmp_path, Path(tmp_path)]) == 0
    assert (tmp_path / ".shoal-notes").exists()


ROOT = Path(__file__).parents[2]


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_functions_for_schedulers_make_a_release_and_stop_what_comes_next(tmp_path):
    nightly = example("nightly")
    rows = [f"{n % 7 + 30},x{n % 4}" for n in range(60)]
    (tmp_path / "2026-03-01.csv").write_text("\n".join(["age,ill", *rows]))
    text = JOB.replace("${IN}", "${DAY}.csv").replace('"safe.csv"', '"${OUT}/safe.csv"')
    (tmp_path / "job.toml").write_text(text)
    made = nightly.make_release(tmp_path / "job.toml", date(2026, 3, 1), tmp_path)
    assert made["rows"] == 60
    assert json.loads(json.dumps(made)) == made
    assert (tmp_path / "safe.csv").exists()
    nightly.check_release(made)
    with pytest.raises(ValueError, match="of all"):
        nightly.check_release({**made, "judgement": "amber", "sentence": "The value of all"})
    with pytest.raises(shoal.ShoalError):
        nightly.make_release(tmp_path / "job.toml", date(2026, 3, 2), tmp_path)


def test_models_of_dbt_are_verified_by_what_they_promise(tmp_path):
    with sqlite3.connect(tmp_path / "w.db") as base:
        base.execute("create table safe (age text, ill text)")
        base.executemany("insert into safe values (?, ?)", [("[30-39]", "a"), ("[30-39]", "b")])
    base.close()
    verify_dbt = example("verify_dbt")

    def status(k):
        meta = {"shoal": {"k": k, "quasi_identifiers": ["age"], "sensitive": ["ill"]}}
        nodes = {
            "model.p.safe": {"name": "safe", "config": {"meta": meta}},
            "model.p.raw": {"name": "raw", "meta": {}},
        }
        (tmp_path / "manifest.json").write_text(json.dumps({"nodes": nodes}))
        return verify_dbt.main(str(tmp_path / "manifest.json"), f"sqlite:///{tmp_path / 'w.db'}")

    assert [status(2), status(3), status("many")] == [0, 1, 2]


def test_the_hook_of_the_page_refuses_a_table_below_k(tmp_path):
    page = (ROOT / "docs" / "nightly.md").read_text(encoding="utf-8")
    script = re.search(r"entry: sh -c '(.*)' --\n", page)[1]
    (tmp_path / "job.toml").write_text('k = 2\n[columns.age]\nrole = "quasi-identifier"\n')
    for name, cells in {"good.csv": "30\n30", "bad.csv": "30\n31"}.items():
        (tmp_path / name).write_text(f"age\n{cells}\n")
    program = tmp_path / "shoal"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shoal "$@"\n')
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def status(*files):
        words = ["sh", "-c", script, "--", *files]
        return subprocess.run(words, check=False, cwd=tmp_path, env=env).returncode

    assert status("good.csv", "good.csv") == 0
    assert status("good.csv", "bad.csv") == 1


def test_the_page_has_every_event_and_every_status():
    page = (ROOT / "docs" / "nightly.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == ["event", *EVENTS]
    assert re.findall(r"^\| ([\d, ]+) \|", page, re.MULTILINE) == ["0", "1", "2", "70", "130, 143"]
