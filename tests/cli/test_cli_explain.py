"""`shoal explain` prints what was measured, and writes it as JSON."""

import json

import pytest
from tests.helpers.cli_samples import ROLES

COMMAND = ["--k", 4, *ROLES, "--algorithm", "mondrian"]


def test_explain_prints_a_table_and_advice(shoal_runs, table):
    outcome = shoal_runs("explain", table, *COMMAND)
    assert outcome.status == 0, outcome.err
    for words in ("drop age", "a smaller k", "What to do", "as they are published"):
        assert words in outcome.out
    assert "sample" not in outcome.out


def test_explain_says_that_it_looked_at_a_sample(shoal_runs, table):
    outcome = shoal_runs("explain", table, *COMMAND, "--rows", 30)
    assert "on a sample of 30 rows" in outcome.out


def test_explain_writes_json_and_reads_a_job(shoal_runs, table, tmp_path):
    job, target = tmp_path / "job.toml", tmp_path / "explanation.json"
    assert shoal_runs("init", table, "-o", job).status == 0
    outcome = shoal_runs("explain", table, "--job", job, "--algorithm", "mondrian", "-q",
                         "--out", target)  # fmt: skip
    assert (outcome.status, outcome.out) == (0, "")
    plain = json.loads(target.read_text(encoding="utf-8"))
    assert plain["n_rows"] == 40
    assert {change["what"] for change in plain["changes"]} >= {"drop", "lower-k"}


@pytest.mark.parametrize(
    ("extra", "words"), [(["--k", "1"], "at least 2"), (["--rows", "0"], "max_rows")]
)
def test_explain_refuses_wrong_options(shoal_runs, table, extra, words):
    outcome = shoal_runs("explain", table, *COMMAND, *extra)
    assert outcome.status == 2
    assert words in outcome.err
    assert "SECRET" not in outcome.err


def test_explain_never_writes_over_its_input(shoal_runs, table):
    before = table.read_bytes()
    outcome = shoal_runs("explain", table, *ROLES, "--k", "4", "--out", table)
    assert outcome.status == 2
    assert "The explanation and the input would be the same file" in outcome.err
    assert table.read_bytes() == before
