"""What `shoal init` guessed of real files, as stored: nothing dangerous, few unmarked errors."""

import io
import tarfile
import zipfile

import pytest
from benchmarks.common import load_json, raw_results
from benchmarks.init import real

STORED = load_json(raw_results("init") / "init.json.gz")["real"]


def test_what_is_stored_is_about_the_columns_that_have_labels():
    labelled = {table.name: table for table in real.real_tables()}
    assert [table["table"] for table in STORED] == list(labelled)
    assert len(STORED) >= 30
    for table in STORED:
        label = labelled[table["table"]]
        assert (table["part"], table["several_rows"]) == (label.part, label.several_rows)
        told = {row["column"]: tuple(row["expert"]) for row in table["columns"]}
        assert told == label.columns


@pytest.mark.parametrize("part", real.PARTS)
def test_no_guess_is_dangerous_and_few_are_wrong_and_unmarked(part):
    found = real.score([table for table in STORED if table["part"] == part])
    assert found["dangers"] == []
    assert found["wrong_and_sure"] < 0.1


def test_a_third_of_the_tables_was_kept_aside():
    assert sum(table["part"] == "second" for table in STORED) >= len(STORED) / 3


def row(expert, guess, **other):
    return {"column": "c", "expert": [expert], "guess": guess, "sure": True, "own": False, **other}


@pytest.mark.parametrize(
    ("found", "n_dangers"),
    [
        (row("identifier", "quasi-identifier"), 1),
        (row("identifier", "drop"), 0),
        (row("person", "identifier"), 0),
        (row("quasi-identifier", "sensitive"), 1),
        (row("quasi-identifier", "sensitive", sure=False), 0),
        (row("sensitive", "sensitive", own=True), 1),
        (row("sensitive", "quasi-identifier"), 0),
    ],
)
def test_what_counts_as_dangerous(found, n_dangers):
    table = {"table": "t", "several_rows": False, "noticed": False, "columns": [found]}
    assert len(real.dangers(table)) == n_dangers


def test_people_with_several_rows_that_nothing_speaks_of_are_a_danger():
    table = {"table": "t", "several_rows": True, "noticed": False, "columns": []}
    assert len(real.dangers(table)) == 1
    assert real.dangers({**table, "noticed": True}) == []


def test_what_is_removed_either_way_is_right_and_a_wrong_role_is_not():
    assert real.is_right(row("identifier", "drop"))
    assert real.is_right(row("drop", "identifier"))
    assert not real.is_right(row("person", "identifier"))
    assert not real.is_right(row("sensitive", "quasi-identifier"))


def test_every_table_is_in_a_package_that_is_pinned_with_its_hash():
    lines = (real.HERE / "packages.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.split("==")[0] for line in lines if not line.startswith("#")}
    assert {table.package for table in real.real_tables()} == pinned
    assert all("--hash=sha256:" in line for line in lines if not line.startswith("#"))


def test_files_are_read_out_of_wheels_and_out_of_archives_in_archives(tmp_path, monkeypatch):
    monkeypatch.setattr(real, "ARCHIVES", tmp_path)
    content = b"age,sex\n31,f\n"
    with zipfile.ZipFile(tmp_path / "one-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("one/data.csv", content)
    with tarfile.open(tmp_path / "two-1.0.tar.gz", "w:gz") as outer:
        _add(outer, "two-1.0/two/resources.tar.gz", _packed("resources/csv/data.csv", content))
    for package, file in (("one", "one/data.csv"), ("two", "resources/csv/data.csv")):
        table = real.RealTable("t", package, file, "first", False, {"age": (), "sex": ()})
        assert real.content_of(table) == content


def _add(archive, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _packed(name, content):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        _add(archive, name, content)
    return packed.getvalue()
