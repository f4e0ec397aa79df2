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
