"""``shoal register`` and ``--previous``: releases beside releases, from file to files."""

import json

import pytest
from tests.life.conftest import register

ASKED = ("--k", "3", "--qi", "age,zip,sex", "--sensitive", "ill", "--person", "id", "--seed", "1")


@pytest.fixture
def month(shoal_runs, tmp_path):
    def make(name, people, *more):
        people.write_csv(tmp_path / f"{name}.in.csv")
        return shoal_runs(
            *("anonymize", tmp_path / f"{name}.in.csv", *ASKED, "-o", tmp_path / f"{name}.csv"),
            *("--save", tmp_path / f"{name}.shoal", *more),
        )

    return make


def test_the_register_lists_what_is_out(shoal_runs, month, tmp_path):
    people = register(60)
    assert month("one", people, "--reserve", "2").status == 0
    second = month("two", people.head(50), "--previous", tmp_path / "one.shoal", "--json")
    assert second.status == 0, second.err
    told = json.loads(second.out)
    assert "k-anonymity over 2 releases" in [each["name"] for each in told["promises"]]
    (tmp_path / "broken.shoal").write_text("nothing")
    listed = json.loads(shoal_runs("register", tmp_path, "--json").out)["releases"]
    by_name = {each["file"]: each for each in listed}
    assert by_name["one.shoal"]["rows"] == 60
    assert by_name["two.shoal"]["beside"] == ["one.shoal"]
    assert "is no shoal release file" in by_name["broken.shoal"]["problem"]
    shown = shoal_runs("register", tmp_path)
    assert shown.status == 0
    assert "two.shoal" in shown.out


def test_a_folder_without_releases_is_said_to_be_one(shoal_runs, tmp_path):
    for place, words in ((tmp_path, "no release file"), (tmp_path / "none", "no folder")):
        made = shoal_runs("register", place)
        assert made.status == 2
        assert words in made.err


def test_an_earlier_release_is_not_replaced(month, tmp_path):
    people = register(60)
    assert month("one", people).status == 0
    before = (tmp_path / "one.shoal").read_bytes()
    made = month("one", people, "--previous", tmp_path / "one.shoal", "--replace")
    assert made.status == 2
    assert (tmp_path / "one.shoal").read_bytes() == before


def test_a_wrong_previous_ends_with_status_2_and_no_file(month, tmp_path):
    made = month("two", register(40), "--previous", tmp_path / "none.shoal")
    assert made.status == 2
    assert "There is no file" in made.err
    assert not (tmp_path / "two.csv").exists()


def test_what_is_given_up_is_on_the_screen(month, tmp_path):
    people = register(60)
    assert month("one", people, "--k", "6").status == 0
    less = ("--previous", tmp_path / "one.shoal", "--k", "3")
    made = month("two", people, *less)
    assert made.status == 2
    assert "k = 6 (now 3)" in made.err
    assert not (tmp_path / "two.csv").exists()
    made = month("two", people, *less, "--weaken", "--certificate", tmp_path / "c.json")
    assert made.status == 0, made.err
    assert "AMBER: A promise of a release that is out is given up: k = 6 (now 3)." in made.out
    assert "k = 6 (now 3)" in (tmp_path / "c.json").read_text()
