"""``--save``: the release file appears with the release, or neither does."""

import pytest
from tests.helpers.cli_samples import but_progress

import shoal

ASKED = ("--k", "3", "--qi", "age,zip,sex", "--sensitive", "diagnosis", "--seed", "1")


@pytest.fixture
def asked(table):
    header = table.read_text(encoding="utf-8").splitlines()[0].split(",")
    rest = [name for name in header if name not in {"age", "zip", "sex", "diagnosis"}]
    return (table, *ASKED, *(("--drop", ",".join(rest)) if rest else ()))


def test_the_release_file_appears_with_the_release(shoal_runs, asked, tmp_path):
    made = shoal_runs("anonymize", *asked, "-o", tmp_path / "a.csv", "--save", tmp_path / "a.shoal")
    assert made.status == 0, made.err
    assert shoal.load_release(tmp_path / "a.shoal").n_rows == 40


def test_a_release_file_that_exists_is_kept(shoal_runs, asked, tmp_path):
    (tmp_path / "a.shoal").write_text("before")
    made = shoal_runs("anonymize", *asked, "-o", tmp_path / "a.csv", "--save", tmp_path / "a.shoal")
    assert made.status == 2
    assert "exists" in made.err
    assert (tmp_path / "a.shoal").read_text() == "before"
    assert not (tmp_path / "a.csv").exists()


def test_a_private_half_that_exists_is_kept(shoal_runs, asked, tmp_path):
    (tmp_path / "a.shoal.people").write_text("before")
    made = shoal_runs("anonymize", *asked, "-o", tmp_path / "a.csv", "--save", tmp_path / "a.shoal")
    assert made.status == 2
    assert (tmp_path / "a.shoal.people").read_text() == "before"


@pytest.mark.parametrize("name", ["-", "a.csv"])
def test_a_place_that_cannot_be_is_refused(shoal_runs, asked, tmp_path, name):
    target = name if name == "-" else tmp_path / name
    made = shoal_runs("anonymize", *asked, "-o", tmp_path / "a.csv", "--save", target)
    assert made.status == 2
    assert len(but_progress(made.err.strip().splitlines())) == 1
    assert not (tmp_path / "a.csv").exists()


def test_the_private_half_is_named_where_there_is_one(shoal_runs, tmp_path):
    rows = [f"p{i // 2},{20 + i % 7},{'fm'[i % 2]}" for i in range(40)]
    (tmp_path / "in.csv").write_text("\n".join(("id,age,sex", *rows)) + "\n", encoding="utf-8")
    asked = ("anonymize", tmp_path / "in.csv", "--k", "3", "--qi", "age,sex", "--seed", "1")
    for roles, named in ((("--person", "id"), 1), (("--drop", "id"), 0)):
        save = tmp_path / f"{named}.shoal"
        made = shoal_runs(*asked, *roles, "-o", tmp_path / f"{named}.csv", "--save", save)
        assert made.status == 0, made.err
        assert (tmp_path / f"{named}.shoal.people").exists() == bool(named)
        assert made.out.count(".shoal.people' says who is in which group") == named
