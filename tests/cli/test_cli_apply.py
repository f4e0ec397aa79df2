"""``shoal apply``: further rows from file to files, with status and one sentence where it fails."""

import json
import stat

import polars as pl
import pytest
from tests.helpers.cli_samples import but_progress
from tests.life.conftest import register
from tests.life.test_damage import packed

import shoal

ASKED = ("--k", "4", "--qi", "age,zip,sex", "--sensitive", "ill", "--person", "id", "--seed", "1")
KNOWN = ("--release", "release.shoal", "--save", "both.shoal")


@pytest.fixture
def first(shoal_runs, tmp_path):
    register(100).write_csv(tmp_path / "first.csv")
    path = tmp_path / "release.shoal"
    made = shoal_runs(
        "anonymize", tmp_path / "first.csv", *ASKED, "-o", tmp_path / "a.csv", "--save", path
    )
    assert made.status == 0, made.err
    return path


def test_further_rows_go_to_their_files(shoal_runs, first, tmp_path):
    # a ZIP code of their own: the few who have it wait
    odd = register(2, 8, 900).with_columns(age=pl.lit(200, pl.Int64))
    pl.concat([register(60, 1, 500), odd]).write_csv(tmp_path / "new.csv")
    more, wait, both = (tmp_path / name for name in ("more.csv", "wait.csv", "both.shoal"))
    made = shoal_runs(
        *("apply", tmp_path / "new.csv", "--release", first, "-o", more, "--waiting", wait),
        *("--certificate", tmp_path / "c.json", "--save", both, "--seed", "1"),
    )
    assert made.status == 0, made.err
    assert "Together with what is out" in made.out
    published, waiting = pl.read_csv(more), pl.read_csv(wait)
    assert published.height + waiting.height == 62
    assert waiting.columns == odd.columns
    assert stat.S_IMODE(wait.stat().st_mode) == 0o600
    assert json.loads((tmp_path / "c.json").read_text())["together"]["holds"]
    assert shoal.load_release(both).n_rows == 100 + published.height
    assert shoal_runs("verify", more, "--k", "4", "--qi", "age,zip,sex").status == 0


def test_json_says_how_many_wait(shoal_runs, first, tmp_path):
    register(60, 1, 500).write_csv(tmp_path / "new.csv")
    made = shoal_runs(
        *("apply", tmp_path / "new.csv", "--release", first, "-o", tmp_path / "m.csv", "--json"),
        *("--save", tmp_path / "both.shoal"),
    )
    found = json.loads(made.out)
    assert found["rows"] == found["published_rows"] + found["waiting_rows"] == 60


def test_too_few_rows_end_with_status_1_and_no_file(shoal_runs, first, tmp_path):
    register(2, 1, 500).write_csv(tmp_path / "new.csv")
    made = shoal_runs(
        *("apply", tmp_path / "new.csv", "--release", first, "-o", tmp_path / "m.csv"),
        *("--waiting", tmp_path / "w.csv", "--save", tmp_path / "both.shoal"),
    )
    assert made.status == 1
    assert "wait for more" in made.err
    assert not (tmp_path / "m.csv").exists()
    assert not (tmp_path / "w.csv").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--release", "none.shoal"), "There is no file"),
        (("--release", "first.csv"), "is no shoal release file"),
        (("--release", "release.shoal", "--save", "release.shoal"), "release.shoal"),
        (("--release", "release.shoal"), "--save FILE"),
        ((*KNOWN, "--waiting", "first.csv"), "exists"),
        ((*KNOWN, "--waiting", "m.csv"), "would be the same file"),
        ((*KNOWN, "--waiting", "none/w.csv"), "does not exist"),
    ],
)
def test_wrong_files_end_with_status_2(shoal_runs, first, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    register(60, 1, 500).write_csv("new.csv")
    before = first.read_bytes()
    made = shoal_runs("apply", "new.csv", "-o", "m.csv", *options)
    assert made.status == 2, made.err
    assert words in made.err
    assert len(but_progress(made.err.strip().splitlines())) <= 2
    assert first.read_bytes() == before
    assert not (tmp_path / "m.csv").exists()


def test_what_was_applied_is_missed_where_it_is_not_given(shoal_runs, first, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    register(60, 1, 500).write_csv("new.csv")
    register(60, 2, 700).write_csv("newer.csv")
    apply = ("apply", "new.csv", *KNOWN, "-o", "m.csv", "--replace")
    for _ in range(2):  # the file that is written may be there from a first try
        made = shoal_runs(*apply)
        assert made.status == 0, made.err
    for command in (
        ("apply", "newer.csv", "--release", "release.shoal", "--save", "c.shoal"),
        ("anonymize", "first.csv", *ASKED, "--previous", "release.shoal", "--save", "c.shoal"),
    ):
        made = shoal_runs(*command, "-o", "c.csv")
        assert made.status == 2
        assert "'both.shoal' lies beside what is given" in made.err
        assert not (tmp_path / "c.csv").exists()
    both = ("--previous", "both.shoal", "--save", "c.shoal")
    for _ in range(2):
        made = shoal_runs("anonymize", "first.csv", *ASKED, *both, "-o", "c.csv", "--replace")
        assert made.status == 0, made.err
    assert "over 3 releases" in made.out  # further rows are a table of their own
    listed = json.loads(shoal_runs("register", ".", "--json").out)["releases"]
    assert {each["file"]: each["beside"] for each in listed}["c.shoal"] == ["both.shoal"]


def test_a_damaged_release_file_with_a_right_hash_ends_with_status_2(shoal_runs, first, tmp_path):
    body = json.loads(first.read_bytes().partition(b"\n")[2])
    body["cells"][0]["values"].pop()
    first.write_bytes(packed(body, "shoal release"))
    rows, out = tmp_path / "first.csv", tmp_path / "m.csv"
    for command in (
        ("apply", rows, "--release", first, "--save", tmp_path / "both.shoal"),
        ("anonymize", rows, *ASKED, "--previous", first),
    ):
        made = shoal_runs(*command, "-o", out)
        assert made.status == 2
        assert "does not fit together; make it again" in made.err
        assert not out.exists()
    listed = json.loads(shoal_runs("register", tmp_path, "--json").out)["releases"]
    assert "does not fit together" in listed[0]["problem"]
