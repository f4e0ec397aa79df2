"""What a nightly job needs: nothing replaced by accident, a summary to parse, a log to read."""

import json
import re

import pytest
from tests.helpers.cli_samples import PREVIOUS, ROLES

FAST = ("--k", 3, "--algorithm", "mondrian", "--seed", 1)


def test_files_that_exist_are_kept_unless_they_are_to_be_replaced(shoal_runs, table, tmp_path):
    files = {name: tmp_path / name for name in ("safe.csv", "c.json", "r.html")}
    command = ("anonymize", table, "-o", files["safe.csv"], *FAST, *ROLES)
    command += ("--certificate", files["c.json"], "--report", files["r.html"])
    for path in files.values():
        path.write_bytes(PREVIOUS)
        for more in ((), ("--if-exists", "fail")):
            outcome = shoal_runs(*command, *more)
            assert outcome.status == 2
            assert f"{str(path)!r} exists; give another name, or --replace" in outcome.err
        assert path.read_bytes() == PREVIOUS
        path.unlink()
    for more in (("--replace",), ("--if-exists", "replace")):
        for path in files.values():
            path.write_bytes(PREVIOUS)
        assert shoal_runs(*command, *more).status == 0
        assert all(path.read_bytes() != PREVIOUS for path in files.values())
    both = shoal_runs(*command, "--replace", "--if-exists", "fail")
    assert (both.status, "keep one of them" in both.err) == (2, True)


def test_a_file_that_appears_during_the_run_is_kept(monkeypatch, shoal_runs, table, tmp_path):
    import shoal.run

    target, run_pipeline = tmp_path / "safe.csv", shoal.run.run_pipeline

    def slow(*arguments, **options):
        target.write_bytes(PREVIOUS)
        return run_pipeline(*arguments, **options)

    monkeypatch.setattr(shoal.run, "run_pipeline", slow)
    outcome = shoal_runs("anonymize", table, "-o", target, *FAST, *ROLES)
    assert (outcome.status, target.read_bytes()) == (2, PREVIOUS)


def test_the_job_file_says_that_files_are_replaced(shoal_runs, table, tmp_path):
    job = tmp_path / "job.toml"
    assert shoal_runs("init", table, "--yes", "-o", job).status == 0
    job.write_text(job.read_text() + '\n[output]\ntable = "safe.csv"\nreplace = true\n')
    for _ in range(2):
        assert shoal_runs("anonymize", table, "--job", job, *FAST, *ROLES).status == 0


def test_json_is_all_there_is_on_standard_output(shoal_runs, table, tmp_path):
    safe = tmp_path / "safe.csv"
    outcome = shoal_runs("anonymize", table, "-o", safe, "--json", *FAST, *ROLES)
    found = json.loads(outcome.out)
    assert (outcome.status, found["holds"], found["rows"]) == (0, True, 40)
    assert found["files"] == {"table": str(safe)}
    assert found["risk"]["smallest_group"] >= 3
    assert "SECRET" not in outcome.out
    assert "seed" not in found["parameters"]
    checked = shoal_runs("verify", safe, "--json", "--k", 3, "--qi", "age,zip,sex")
    assert json.loads(checked.out)["holds"] is True
    broken = shoal_runs("verify", safe, "--json", "--k", 30, "--qi", "age,zip,sex")
    assert (broken.status, json.loads(broken.out)["holds"]) == (1, False)
    refused = shoal_runs("anonymize", table, "-o", "-", "--json", *FAST, *ROLES)
    assert (refused.status, refused.out) == (2, "")
    assert "both want standard output" in refused.err


def test_json_shows_no_password(shoal_runs, table, tmp_path):
    target = f"sqlite:///{tmp_path}/safe.db?table=safe"
    outcome = shoal_runs("anonymize", table, "-o", target, "--json", *FAST, *ROLES)
    assert json.loads(outcome.out)["files"]["table"].endswith("safe.db?table=safe")


LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00 shoal\[\d+\] \S.*")


def test_the_log_grows_by_a_line_per_event_without_a_cell(shoal_runs, table, tmp_path):
    log, safe = tmp_path / "runs.log", tmp_path / "safe.csv"
    command = ("anonymize", table, "-o", safe, "--log", log, *FAST, *ROLES)
    assert shoal_runs(*command).status == 0
    first = log.read_text()
    assert "started: " in first
    assert "done: 40 of 40 rows published" in first
    assert shoal_runs(*command[:4], "--log", log, "--k", 41, *ROLES, "--replace").status == 1
    assert shoal_runs("anonymize", tmp_path / "x.csv", *command[2:], "--replace").status == 2
    text = log.read_text()
    assert text.startswith(first)
    assert text.count("failed: ") == 2
    assert "SECRET" not in text
    assert all(LINE.fullmatch(line) for line in text.splitlines())


@pytest.mark.parametrize("name", ["people.csv", "old.CSV.gz", "kept.parquet", "base.xlsx"])
def test_a_log_named_like_a_table_is_refused_and_the_table_stays(shoal_runs, tmp_path, name):
    # As the hunt found: without a table in front, --log took the name of one and added to it.
    log = tmp_path / name
    log.write_bytes(b"age\n1\n")
    outcome = shoal_runs("anonymize", "--log", log, "-o", tmp_path / "safe.csv", *FAST, *ROLES)
    assert outcome.status == 2
    assert log.read_bytes() == b"age\n1\n"


@pytest.mark.parametrize("which", ["input", "table", "folder"])
def test_a_log_that_cannot_be_is_refused_before_the_work(shoal_runs, table, tmp_path, which):
    safe = tmp_path / "safe.csv"
    log = {"input": table, "table": safe, "folder": tmp_path / "none" / "runs.log"}[which]
    before = table.read_bytes()
    outcome = shoal_runs("anonymize", table, "-o", safe, "--log", log, *FAST, *ROLES)
    assert outcome.status == 2
    assert table.read_bytes() == before
    assert not safe.exists()
