"""`shoal compare`: a table on the screen, a page, and going on after an interruption."""

import signal
import subprocess
import sys
import time

import polars as pl
import pytest
from tests.helpers.cli_samples import ROLES

from shoal.settings.job_file import read_job

COMMAND = [*ROLES, "--k", "2,4,8", "--algorithms", "mondrian,hilbert", "--measures", "ncp,lm"]


def test_compare_prints_a_table_and_writes_a_page_and_results(shoal_runs, table, tmp_path):
    page = tmp_path / "frontier.html"
    outcome = shoal_runs("compare", table, *COMMAND, "--report", page)
    assert outcome.status == 0, outcome.err
    for words in ("Loss (ncp)", "Loss (lm)", "mondrian", "hilbert", "12 runs."):
        assert words in outcome.out
    text = page.read_text(encoding="utf-8")
    assert text.count('role="img"') == 6  # frontier, time and ranks of both measures
    assert "SECRET" not in text + outcome.out
    lines = (tmp_path / "frontier.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 12


def test_compare_goes_on_where_it_stopped(shoal_runs, table, tmp_path):
    results = tmp_path / "results.jsonl"
    assert shoal_runs("compare", table, *COMMAND, "--out", results).status == 0
    outcome = shoal_runs("compare", table, *COMMAND, "--k", "2,4,8,16", "--out", results)
    assert "16 runs (12 of them from before)" in outcome.out


def test_compare_reads_a_job(shoal_runs, table, tmp_path):
    job = tmp_path / "job.toml"
    assert shoal_runs("init", table, "-o", job).status == 0
    outcome = shoal_runs("compare", table, "--job", job, "--k", "2,4", "--algorithms", "mondrian")
    assert outcome.status == 0, outcome.err
    assert f"Loss ({read_job(job).measure})" in outcome.out


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--k", "2,x"], "whole numbers"),
        (["--k", "1"], "at least 2"),
        (["--algorithms", "mondrain"], "Did you mean 'mondrian'"),
        (["--workers", "0"], "--workers"),
        (["--report", "no/such/folder/page.html"], "does not exist"),
    ],
)
def test_compare_refuses_wrong_options_before_it_runs(shoal_runs, table, extra, words):
    outcome = shoal_runs("compare", table, *COMMAND, *extra)
    assert outcome.status == 2
    assert words in outcome.err


def test_a_report_that_is_a_folder_is_refused_before_anything_runs(shoal_runs, table, tmp_path):
    (tmp_path / "folder").mkdir()
    outcome = shoal_runs("compare", table, "--qi", "age", "--report", tmp_path / "folder")
    assert (outcome.status, "is a folder" in outcome.err) == (2, True)
    assert not (tmp_path / "folder.jsonl").exists()


@pytest.mark.parametrize("option", ["--report", "--out"])
def test_compare_never_writes_over_its_input(shoal_runs, table, option):
    before = table.read_bytes()
    outcome = shoal_runs("compare", table, *COMMAND, option, table)
    assert outcome.status == 2
    assert "and the input would be the same file" in outcome.err
    assert table.read_bytes() == before


def test_compare_fails_if_no_run_keeps_its_promise(shoal_runs, table):
    outcome = shoal_runs("compare", table, *COMMAND, "--k", "900")
    assert outcome.status == 1
    assert "fails" in outcome.out


def test_seeds_are_runs_of_their_own_and_go_into_tables_and_groups(shoal_runs, table, tmp_path):
    files = {name: tmp_path / name for name in ("runs.csv", "losses.tex", "groups")}
    options = ["--csv", files["runs.csv"], "--latex", files["losses.tex"]]
    options += ["--seeds", "3,1", "--groups", files["groups"], "--k", "2", "--measures", "ncp"]
    options += ["--algorithms", "chiu-tsai:max_iterations=2"]
    outcome = shoal_runs("compare", table, *COMMAND, *options)
    assert outcome.status == 0, outcome.err
    runs = pl.read_csv(files["runs.csv"])
    assert runs["seed"].to_list() == [1, 3]
    assert set(runs["algorithm"]) == {"chiu-tsai:max_iterations=2"}
    assert r"\pm" in files["losses.tex"].read_text()
    assert " ± " in outcome.out
    kept = sorted(files["groups"].iterdir())
    assert len(kept) == 2
    n_rows = len(table.read_text().splitlines()) - 1
    assert all(len(path.read_text().splitlines()) == n_rows + 1 for path in kept)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_keeps_finished_runs_and_says_so(tmp_path, environment):
    source, results = tmp_path / "data.csv", tmp_path / "results.jsonl"
    rows = [f"{n % 71},{n % 13},{n * 7 % 1000},{n % 3}" for n in range(60_000)]
    source.write_text("\n".join(["age,floor,zip,illness", *rows]) + "\n", encoding="utf-8")
    sizes = ",".join(str(k) for k in range(2, 60))
    process = subprocess.Popen(
        [
            sys.executable, "-m", "shoal", "compare", source, "--qi", "age,floor,zip",
            "--sensitive", "illness", "--k", sizes, "--algorithms", "mondrian,k-member",
            "--out", results,
        ],
        env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 200
    while time.monotonic() < until and not (results.exists() and results.read_bytes()):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert "run it again to go on" in err
    assert "Traceback" not in err
    assert results.read_bytes().endswith(b"\n")


def test_several_tables_and_promises_in_one_command(shoal_runs, table, tmp_path):
    job, other = tmp_path / "other.toml", tmp_path / "other.csv"
    other.write_text("x,y\n" + "".join(f"{n % 9},{n % 4}\n" for n in range(80)))
    job.write_text(
        '[input]\npath = "other.csv"\n[columns.x]\nrole = "quasi-identifier"\n'
        '[columns.y]\nrole = "sensitive"\n'
    )
    csv, figures = tmp_path / "runs.csv", tmp_path / "figures"
    options = ["--promises", "none,l-diversity:l=1.1", "--csv", csv, "--figures", figures]
    outcome = shoal_runs("compare", table, job, *COMMAND, *options, "--k", "2,3")
    assert outcome.status == 0, outcome.err
    assert f"Loss (ncp) of {table.stem}, none" in outcome.out
    assert "Loss (ncp) of other, l-diversity:l=1.1, 80 rows" in outcome.out
    runs = pl.read_csv(csv)
    assert runs.height == 2 * 2 * 2 * 2 * 2
    assert set(runs["table"]) == {table.stem, "other"}
    assert (figures / "ranks-ncp.svg").exists()
    assert len(list(figures.iterdir())) == 2 * (4 + 2)


def test_a_table_that_is_given_twice_is_refused(shoal_runs, table):
    outcome = shoal_runs("compare", table, table, *COMMAND)
    assert (outcome.status, "given twice" in outcome.err) == (2, True)


def test_a_job_that_names_no_table_is_refused(shoal_runs, table, tmp_path):
    job = tmp_path / "job.toml"
    job.write_text('[columns.x]\nrole = "quasi-identifier"\n')
    outcome = shoal_runs("compare", table, job, *COMMAND)
    assert outcome.status == 2
    assert "Say which table is read" in outcome.err
