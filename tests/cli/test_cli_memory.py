"""Facts about what the command line says and refuses about memory, and what it reads."""

import polars as pl
import pytest
from tests.helpers.cli_samples import ROLES

import shoal.runtime.memory
import shoal.settings.inputs


@pytest.fixture
def little_memory(monkeypatch):
    for module in (shoal.settings.inputs, shoal.runtime.memory):
        monkeypatch.setattr(module, "available_bytes", lambda: 50_000_000)


def test_a_run_that_would_not_fit_is_refused_before_it_starts(
    shoal_runs, refused, table, previous, little_memory
):
    outcome = shoal_runs(
        "anonymize", table, "--replace", "-o", previous, "--k", 3, "--quiet", *ROLES
    )
    refused(outcome, 2, "50 MB is available", "--no-memory-check", "--drop")


def test_the_refusal_can_be_overruled(shoal_runs, table, previous, little_memory):
    outcome = shoal_runs(
        "anonymize",
        table,
        "--replace",
        "-o",
        previous,
        "--k",
        3,
        "--quiet",
        "--no-memory-check",
        *ROLES,
    )
    assert outcome.status == 0, outcome.err


def test_a_dry_run_says_what_the_run_needs_and_what_there_is(shoal_runs, table):
    outcome = shoal_runs("anonymize", table, "--k", 3, "--dry-run", *ROLES)
    assert outcome.status == 0, outcome.err
    lines = {line.split("  ")[0]: line for line in outcome.out.splitlines()}
    assert "MB" in lines["memory"]
    assert "available" in lines["memory"]
    assert " s, and the search" in lines["time"]


def test_a_dry_run_says_that_the_memory_is_not_enough(shoal_runs, table, little_memory):
    outcome = shoal_runs("anonymize", table, "--k", 3, "--dry-run", *ROLES)
    assert outcome.status == 0, outcome.err
    assert "50 MB available: that is not enough" in outcome.out


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_that_are_dropped_are_not_read_and_not_published(shoal_runs, tmp_path, ending):
    frame = pl.DataFrame(
        {
            "name": [f"SECRET{n}" for n in range(40)],
            "age": [20 + n % 5 for n in range(40)],
            "sex": ["f", "m"] * 20,
            "note": ["x"] * 40,
        }
    )
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    getattr(frame, f"write_{ending}")(source)
    outcome = shoal_runs(
        "anonymize", source, "-o", target, "--k", 4, "--qi", "age,sex", "--drop", "note",
        "--identifier", "name", "--seed", 1, "--quiet",
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    published = getattr(pl, f"read_{ending}")(target)
    assert published.columns == ["age", "sex"]
    assert published.schema["sex"] == pl.String
    assert published.height == 40


def test_a_column_without_a_role_is_found_before_any_row_is_read(
    shoal_runs, tmp_path, refused, previous
):
    source = tmp_path / "ragged.csv"
    source.write_text("age,zip\n1,2\n1,2,3\n", encoding="utf-8")
    outcome = shoal_runs("anonymize", source, "--replace", "-o", previous, "--k", 2, "--qi", "age")
    refused(outcome, 2, "'zip'", "role")
