"""`shoal refine`, and the flags that steer refinement, effort and the bound."""

import json
import signal
import subprocess
import sys

import polars as pl
import pytest
from tests.helpers.cli_samples import ROLES

import shoal
from shoal.datasets import make_census
from shoal.io.read import read_table


@pytest.fixture
def groups(table, tmp_path):
    """Valid but poor groups of the 40 patients: by their place in the file."""
    path = tmp_path / "groups.csv"
    pl.DataFrame({"group": [f"g{row // 5}" for row in range(40)]}).write_csv(path)
    return path


def test_groups_of_a_file_are_improved_and_published(shoal_runs, table, groups, tmp_path):
    safe, certificate = tmp_path / "safe.csv", tmp_path / "safe.json"
    done = shoal_runs(
        "refine", table, "--groups", groups, "-o", safe, "--k", 5, *ROLES, "--bound",
        "--certificate", certificate, "--seed", 1,
    )  # fmt: skip
    assert done.status == 0, done.err
    assert "times the best possible" in done.out or "the best possible" in done.out
    frame = read_table(table)
    given = shoal.score(
        frame, [row // 5 for row in range(40)], quasi_identifiers=["age", "zip", "sex"]
    )
    content = json.loads(certificate.read_text())
    assert content["scores"]["ncp"] < given["ncp"]
    assert "lower_bound" not in content  # it is about the original: for the holder of the data
    assert shoal.verify(read_table(safe), 5, quasi_identifiers=["age", "zip", "sex"])


@pytest.mark.parametrize("said", ["flags", "job"])
def test_the_original_of_groups_is_read_under_other_names(
    shoal_runs, table, groups, tmp_path, said
):
    old, names = tmp_path / "old.csv", {"Alter": "age", "Plz": "zip", "Name": "name"}
    frame = read_table(table)
    frame.rename({new: each for each, new in names.items()}).write_csv(old)
    job = tmp_path / "job.toml"
    lines = "".join(f"{each} = {new!r}\n" for each, new in names.items())
    job.write_text(f"[input.rename]\n{lines}")
    flags = [word for pair in names.items() for word in ("--rename", "=".join(pair))]
    how = flags if said == "flags" else ["--job", job]
    asked = ["--groups", groups, "--k", 5, *ROLES, "--seed", 1, "--effort", "fast"]
    expected, safe, certificate = (tmp_path / each for each in ("e.csv", "s.csv", "c.json"))
    assert shoal_runs("refine", table, *asked, "-o", expected).status == 0
    done = shoal_runs("refine", old, *how, *asked, "-o", safe, "--certificate", certificate)
    assert done.status == 0, done.err
    assert safe.read_bytes() == expected.read_bytes()
    assert not [each for each in names if f'"{each}"' in certificate.read_text()]
    assert shoal_runs("verify", safe, "--certificate", certificate).status == 0
    refused = shoal_runs("refine", old, *asked, "-o", tmp_path / "x.csv")
    assert (refused.status, "no column 'age'" in refused.err) == (2, True)


def test_groups_of_another_length_are_refused_without_a_cell(shoal_runs, table, tmp_path):
    path = tmp_path / "groups.csv"
    pl.DataFrame({"group": [1] * 39}).write_csv(path)
    done = shoal_runs("refine", table, "--groups", path, "-o", tmp_path / "s.csv", "--k", 5, *ROLES)
    assert done.status == 2
    assert "39 rows but the table has 40" in done.err
    assert not (tmp_path / "s.csv").exists()


def test_a_file_of_several_columns_needs_to_be_told_which_one(shoal_runs, table, tmp_path):
    path = tmp_path / "groups.csv"
    pl.DataFrame({"a": [1] * 40, "b": [2] * 40}).write_csv(path)
    arguments = ("refine", table, "--groups", path, "-o", tmp_path / "s.csv", "--k", 5, *ROLES)
    done = shoal_runs(*arguments)
    assert done.status == 2
    assert "--group-column" in done.err
    done = shoal_runs(*arguments, "--group-column", "c")
    assert "no column 'c'" in done.err


def test_effort_belongs_to_auto(shoal_runs, table, tmp_path):
    done = shoal_runs(
        "anonymize", table, "-o", tmp_path / "s.csv", "--k", 5, *ROLES, "--algorithm", "mondrian",
        "--effort", "best",
    )  # fmt: skip
    assert done.status == 2
    assert "--refine" in done.err


def test_an_unknown_effort_is_named(shoal_runs, table, tmp_path):
    for flag in ("--effort", "--refine"):
        done = shoal_runs(
            "anonymize", table, "-o", tmp_path / "s.csv", "--k", 5, *ROLES, flag, "bset"
        )
        assert done.status == 2
        assert "'bset'" in done.err


def test_flags_and_job_keys_of_the_search_reach_the_certificate(shoal_runs, table, tmp_path):
    job = tmp_path / "job.toml"
    job.write_text('k = 5\nblock_rows = 30\nrefine = "fast"\nalgorithm = "mondrian"\n')
    certificate = tmp_path / "safe.json"
    arguments = (
        "anonymize", table, "-o", tmp_path / "s.csv", *ROLES, "--job", job, "--certificate",
        certificate, "--bound", "--replace",
    )  # fmt: skip
    assert shoal_runs(*arguments).status == 0
    asked = json.loads(certificate.read_text())["parameters"]
    assert (asked["block_rows"], asked["refine"]) == (30, "fast")
    assert shoal_runs(*arguments, "--block-rows", 500, "--refine", "balanced").status == 0
    asked = json.loads(certificate.read_text())["parameters"]
    assert (asked["block_rows"], asked["refine"]) == (500, "balanced")


def test_the_first_ctrl_c_ends_the_search_and_the_release_is_written(environment, tmp_path):
    """In a process of its own: signals belong to the main thread."""
    rows = make_census(60_000, seed=1).select("age", "education_num", "occupation", "sex")
    table, groups, safe = (tmp_path / name for name in ("t.csv", "g.csv", "safe.csv"))
    rows.write_csv(table)
    pl.DataFrame({"group": [row // 20 for row in range(rows.height)]}).write_csv(groups)
    # a shell that runs things in the background ignores SIGINT, and children inherit that
    reset = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    code = f"{reset} from shoal.cli import main; main()"
    process = subprocess.Popen(
        [
            sys.executable, "-c", code, "refine", str(table), "--groups", str(groups), "-o",
            str(safe), "--k", "10", "--qi", "age,education_num,occupation,sex",
            "--seconds", "500",
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if "refining" in line:
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate(timeout=250)
    assert process.returncode == 0, err
    assert "Refined release" in out
    assert shoal.verify(read_table(safe), 10, quasi_identifiers=rows.columns)


def test_a_warning_about_the_release_is_said_once_and_stops_nothing(
    shoal_process, table, groups, tmp_path
):
    told = read_table(table).with_columns(region=pl.col("zip"))  # goes together with the ZIP code
    told.write_csv(tmp_path / "told.csv")
    asked = ("refine", tmp_path / "told.csv", "--groups", groups, "--k", 5, *ROLES, "--seed", 1)
    done = shoal_process(
        *asked, "--sweeps", 1, "--insensitive", "region", "-o", tmp_path / "safe.csv"
    )
    assert done.status == 0, done.err
    assert (done.out + done.err).count("Column 'region'") == 1
