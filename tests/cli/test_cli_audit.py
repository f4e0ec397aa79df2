"""``shoal audit``: files in, shares out."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    table = pl.DataFrame(
        {
            "age": [20 + n for n in range(24)],
            "sex": ["F", "M"] * 12,
            "ill": [f"ill-{n % 3}-zzz" for n in range(24)],
        }
    )
    release = shoal.anonymize(
        table,
        k=4,
        quasi_identifiers=["age", "sex"],
        sensitive="ill",
        algorithm="mondrian",
        rows_are_people=True,
    )
    table.write_csv(folder / "in.csv")
    release.write(folder / "safe.csv")
    return folder


def run(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)])


FLAGS = ("--qi", "age,sex", "--sensitive", "ill")


def test_a_release_is_attacked_and_no_cell_is_shown(files):
    done = run(files / "in.csv", files / "safe.csv", *FLAGS)
    assert done.exit_code == 0, done.output
    assert "prosecutor" in done.output
    assert "zzz" not in done.output


def test_json_holds_every_finding(files):
    done = run(
        files / "in.csv",
        files / "safe.csv",
        *FLAGS,
        "--json",
        "--population",
        files / "in.csv",
        "--control",
        files / "in.csv",
        "--second",
        files / "safe.csv",
        "--targets",
        "10",
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert {each["attack"] for each in found["findings"]} == {
        "linkage",
        "regulators",
        "secrets",
        "tight",
        "two releases",
    }
    assert "zzz" not in done.output
    assert all(0 <= each["low"] <= each["high"] <= 1 for each in found["findings"])


# -- the same while a release is made ------------------------------------------------------------

SEEDED = ("--k", "4", "--algorithm", "mondrian", "--seed", "7", "--rows-are-people")


def anonymize(folder, out, *words):
    said = [str(folder / "in.csv"), "-o", str(out), *FLAGS, *SEEDED, *map(str, words)]
    return CliRunner().invoke(app, ["anonymize", *said])


def test_anonymize_with_audit_says_what_audit_says(files, tmp_path):
    out, report = tmp_path / "safe.csv", tmp_path / "report.html"
    made = anonymize(files, out, "--audit", "--report", report, "--json")
    assert made.exit_code == 0, made.output
    told = json.loads(made.stdout)["audit"]
    alone = run(files / "in.csv", out, *FLAGS, "--json")
    assert told["findings"] == json.loads(alone.stdout)["findings"]
    page = report.read_text()
    assert "What attackers reach" in page
    for question in ("singling out", "linkability", "inference"):
        assert any(question in each["name"] for each in told["findings"])
    assert "zzz" not in json.dumps(told)


def test_attackers_come_to_the_screen_only_when_they_are_asked(files, tmp_path):
    asked = anonymize(files, tmp_path / "a.csv", "--audit")
    assert "How far attackers get" in asked.stdout
    assert "singling out" in asked.stdout
    silent = anonymize(files, tmp_path / "b.csv")
    assert "attackers" not in silent.stdout
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_release_that_cannot_be_attacked_is_not_written(files, tmp_path):
    job = tmp_path / "job.toml"
    job.write_text('[style]\nnumeric = "mean"\n')
    refused = anonymize(files, tmp_path / "c.csv", "--audit", "--job", job)
    assert "cannot be audited" in str(refused.exception)
    assert not (tmp_path / "c.csv").exists()
