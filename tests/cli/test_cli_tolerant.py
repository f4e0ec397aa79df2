"""The commands with files as they are: what is found out is said, kept in the job, certified."""

import json
import tomllib

import polars as pl
import pytest

ROWS = "".join(
    f"Müller-{n};{20 + n % 7 * 5};{50 + n % 9},{n % 4}5;{'Grippe' if n % 3 else 'Röteln'}\n"
    for n in range(60)
)
FILE = "name;alter ;gewicht; diagnose\n" + ROWS
ROLES = ("--qi", "alter,gewicht", "--sensitive", "diagnose", "--identifier", "name")
FAST = ("--algorithm", "mondrian", "--seed", "1")


@pytest.fixture
def leute(tmp_path):
    path = tmp_path / "leute.csv"
    path.write_bytes(FILE.encode("cp1252"))
    return path


def test_what_was_found_out_is_said_and_certified(shoal_runs, leute, tmp_path):
    certificate = tmp_path / "c.json"
    done = shoal_runs(
        *("anonymize", leute, "-o", tmp_path / "safe.csv", "--k", 5, *ROLES, *FAST),
        *("--certificate", certificate, "--report", tmp_path / "r.html"),
    )
    assert done.status == 0
    assert "Note:" in done.err
    assert "read as cp1252" in done.err
    assert "decimal comma" in done.err
    said = json.loads(certificate.read_text())["parameters"]
    assert (said["encoding"], said["decimal"]) == ("cp1252", ",")
    assert "encoding: cp1252" in (tmp_path / "r.html").read_text()
    published = pl.read_csv(tmp_path / "safe.csv", separator=",", infer_schema=False)
    assert set(published["diagnose"]) == {"Grippe", "Röteln"}
    assert published["gewicht"].str.contains(r"^\[[0-9.]+-[0-9.]+\]$").any()
    # What was said once is not said again, and the release is read as it was written.
    quiet = shoal_runs("verify", tmp_path / "safe.csv", "--k", 5, "--qi", "alter,gewicht")
    assert (quiet.status, quiet.err) == (0, "")
    scored = shoal_runs("score", leute, tmp_path / "safe.csv", "--qi", "alter,gewicht")
    assert scored.status == 0


def test_init_writes_what_it_found_out_and_the_job_does_not_guess(shoal_runs, leute, tmp_path):
    job = tmp_path / "job.toml"
    assert shoal_runs("init", leute, "-o", job, "--yes").status == 0
    said = tomllib.loads(job.read_text())["input"]
    assert said == {"delimiter": ";", "encoding": "cp1252", "decimal": ","}
    done = shoal_runs(
        *("anonymize", leute, "-o", tmp_path / "safe.csv", "--job", job, "--k", 5, *ROLES, *FAST)
    )
    assert done.status == 0
    assert "Note:" not in done.err.replace("Note: In", "", 1)  # spaces are still said
    # The same bytes in another encoding are refused, not guessed at.
    leute.write_bytes(FILE.replace("Röteln", "\x81").encode("cp1252", "replace") + b"\x81;1;1;x\n")
    refused = shoal_runs("anonymize", leute, "-o", tmp_path / "other.csv", "--job", job, *ROLES)
    assert refused.status == 2
    assert "not text in the encoding cp1252" in refused.err


def test_a_file_without_a_header_goes_through_every_command(shoal_runs, tmp_path):
    path, safe = tmp_path / "t.csv", tmp_path / "safe.csv"
    path.write_text("".join(f"{20 + n % 7},{n % 3},x{n % 2}\n" for n in range(40)))
    roles = ("--qi", "column_1,column_2", "--sensitive", "column_3")
    wrong = shoal_runs("anonymize", path, "-o", safe, "--k", 4, "--qi", "age", "--sensitive", "ill")
    assert wrong.status == 2
    assert "--no-header" in wrong.err
    assert "x0" not in wrong.err
    done = shoal_runs("anonymize", path, "--no-header", "-o", safe, "--k", 4, *roles, *FAST)
    assert done.status == 0
    assert pl.read_csv(safe).height == 40
    checks = ("--k", 4, "--qi", "column_1,column_2")
    assert shoal_runs("verify", safe, *checks).status == 0
    body = tmp_path / "body.csv"
    body.write_text(safe.read_text().partition("\n")[2])
    assert shoal_runs("verify", body, "--no-header", *checks).status == 0
    assert shoal_runs("score", path, safe, "--no-header", "--qi", "column_1,column_2").status == 0
    job = tmp_path / "job.toml"
    assert shoal_runs("init", path, "--no-header", "--yes", "-o", job).status == 0
    assert tomllib.loads(job.read_text())["input"] == {"header": False}


def test_a_promise_about_one_of_two_columns_of_a_name_is_not_checked(shoal_runs, tmp_path):
    path = tmp_path / "safe.csv"
    path.write_text("age,age,ill\n" + "".join(f"[1-9],{n},x\n" for n in range(6)))
    outcome = shoal_runs("verify", path, "--k", 3, "--qi", "age")
    assert outcome.status == 2
    assert "more than one column 'age'" in outcome.err


def test_standard_input_may_be_in_another_encoding(shoal_process, tmp_path):
    done = shoal_process(
        *("anonymize", "-", "-o", tmp_path / "safe.csv", "--k", "5", *ROLES, *FAST),
        data=FILE.encode("utf-16"),
    )
    assert done.status == 0
    assert "read as utf-16" in done.err
