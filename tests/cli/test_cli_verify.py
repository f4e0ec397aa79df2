"""``shoal verify`` reads a file as it is written; what is published was read back before."""

import json

import pytest
from tests.helpers.cli_samples import PREVIOUS, ROLES

from shoal.io.raw_reader import read_written
from shoal.release import verified_write

# Rows that a reader can tell apart: nobody is hidden among others.
APART = {
    "zeros.csv": "zip,ill\n" + "100,x\n100.0,y\n100.000,x\n",
    "missing.csv": "zip,ill\n" + "?,x\nNA,y\n,x\n",
    "long.csv": "zip,ill\n" + "9007199254740993,x\n9007199254740992,y\n0.5,x\n",
    "spaces.csv": "zip,ill\n" + "a,x\na ,y\nA,x\n",
    "numbers.jsonl": '{"zip":1,"ill":"x"}\n{"zip":1.0,"ill":"y"}\n{"zip":"1","ill":"x"}\n',
}


@pytest.mark.parametrize("name", APART)
def test_rows_that_a_reader_can_tell_apart_are_not_equal(shoal_runs, tmp_path, name):
    path = tmp_path / name
    path.write_text(APART[name])
    outcome = shoal_runs(
        "verify", path, "--k", 2, "--qi", "zip", "--sensitive", "ill", "--missing-values", "?,NA"
    )
    assert outcome.status == 1, outcome.err
    assert "3 rows in 3 groups" in outcome.out
    assert ("different cells as written, but only" in outcome.out) == (name != "long.csv")


@pytest.mark.parametrize("values", ["5.0,5.00", "flu,flu ", "?,NA", "none,not asked"])
def test_spellings_of_one_value_are_not_diverse_and_a_warning_says_so(shoal_runs, tmp_path, values):
    path = tmp_path / "safe.csv"
    path.write_text("zip,ill\n" + "".join(f"47*,{value}\n" for value in values.split(",")))
    outcome = shoal_runs(
        "verify", path, "--k", 2, "--qi", "zip", "--sensitive", "ill",
        "--l-diversity", 2, "--l-kind", "distinct", "--missing-values", "not asked",
    )  # fmt: skip
    assert outcome.status == 1, outcome.err
    assert "Column 'ill' has 2 values as written, but only 1 after cleaning" in outcome.out


def test_a_distance_along_an_order_is_measured_on_numbers_of_a_csv(shoal_runs, tmp_path):
    path = tmp_path / "safe.csv"
    path.write_text(
        "zip,cost\n" + "".join(f"{i // 5},{1e16 if i == 9 else i}.0\n" for i in range(10))
    )
    path.write_text(path.read_text().replace("1e+16.0", "1e16"))
    options = ("--k", 5, "--qi", "zip", "--sensitive", "cost", "--t-distance", "ordered")
    assert shoal_runs("verify", path, *options, "--t-closeness", 0.28).status == 0
    assert shoal_runs("verify", path, *options, "--t-closeness", 0.27).status == 1
    path.write_text("zip,cost\n1,low\n1,high\n")
    outcome = shoal_runs("verify", path, *options, "--t-closeness", 0.3)
    assert outcome.status == 2
    assert "needs numbers, dates or ordered" in outcome.err


def test_a_column_that_does_not_exist_is_named_with_a_suggestion(shoal_runs, tmp_path):
    path = tmp_path / "safe.csv"
    path.write_text("zip,illness\n47*,x\n")
    for role in (("--qi", "zpi"), ("--qi", "zip", "--sensitive", "ilness")):
        outcome = shoal_runs("verify", path, "--k", 2, *role)
        assert outcome.status == 2
        assert f"There is no column '{role[-1]}'" in outcome.err
        assert "Did you mean" in outcome.err


@pytest.mark.parametrize("ending", ["csv", "jsonl.gz", "parquet", "arrow", "xlsx"])
def test_a_file_that_breaks_its_promise_never_appears(
    shoal_runs, table, tmp_path, monkeypatch, ending
):
    def one_row_less(group, frame, *rest, **more):
        return written(group, frame.head(-1), *rest, **more)

    written = verified_write.stage_table
    monkeypatch.setattr(verified_write, "stage_table", one_row_less)
    safe, certificate = tmp_path / f"safe.{ending}", tmp_path / "certificate.json"
    safe.write_bytes(PREVIOUS)
    outcome = shoal_runs(
        "anonymize", table, "-o", safe, "--k", 4, *ROLES, "--certificate", certificate, "--replace"
    )
    assert outcome.status == 1
    assert "What was written has 39 rows and the release 40" in outcome.err
    assert safe.read_bytes() == PREVIOUS
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([safe.name, table.name])


def test_a_certificate_says_that_the_file_was_verified(shoal_runs, table, tmp_path):
    safe, certificate = tmp_path / "safe.csv", tmp_path / "certificate.json"
    report = tmp_path / "report.html"
    outcome = shoal_runs(
        "anonymize", table, "-o", safe, "--k", 4, *ROLES, "--alpha", 0.9,
        "--certificate", certificate, "--report", report,
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    content = json.loads(certificate.read_text())
    assert content["verified"] == "what was written"
    assert [each["judged_by"] for each in content["promises"]] == ["verification"] * 2
    assert "published cells alone (what was written), by code that shares" in report.read_text()
    assert read_written(safe).frame.height == 40


def test_a_stream_is_read_back_before_a_byte_of_it_is_shown(shoal_runs, table, monkeypatch):
    def one_column_less(group, frame, *rest, **more):
        return written(group, frame.drop("diagnosis"), *rest, **more)

    written = verified_write.stage_table
    monkeypatch.setattr(verified_write, "stage_table", one_column_less)
    outcome = shoal_runs("anonymize", table, "-o", "-", "--k", 4, *ROLES)
    assert (outcome.status, outcome.out) == (1, "")
