"""Tables of Delta: a version is read, a release becomes one, and nothing else is to be seen."""

import datetime as dt
import json
import sys

import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.helpers.s3_server import s3_server

import shoal
from shoal.cli.program import run
from shoal.errors import DataError, OptionError
from shoal.io import database
from shoal.io.read import read_table
from shoal.release import verified_write

ROLES = ("--k", "4", "--qi", "age,town", "--sensitive", "illness", "--identifier", "name")


def people(n=80):
    return pl.DataFrame(
        {
            "name": [f"Person{i}" for i in range(n)],
            "age": [20 + i % 7 for i in range(n)],
            "town": [["Ulm", "Bonn", "Jena"][i % 3] for i in range(n)],
            "illness": [["flu", "gout"][i % 2] for i in range(n)],
        }
    )


@pytest.fixture
def says(capfd):
    def call(*arguments):
        capfd.readouterr()
        status = run([str(each) for each in arguments])
        captured = capfd.readouterr()
        return status, captured.out + captured.err

    return call


@pytest.fixture
def lake(tmp_path):
    """A table with two versions; rows of the first were deleted in the second."""
    folder = tmp_path / "people"
    write_deltalake(str(folder), people(120).to_arrow())
    table = DeltaTable(str(folder))
    table.delete("name in (" + ", ".join(f"'Person{i}'" for i in range(80, 120)) + ")")
    return folder


def test_the_present_version_is_read_and_named(lake, tmp_path, says):
    safe, certificate = tmp_path / "safe", tmp_path / "c.json"
    status, said = says(
        *("anonymize", f"delta:///{lake}", "-o", f"delta:///{safe}", *ROLES),
        *("--certificate", certificate, "--report", tmp_path / "r.html"),
    )
    assert status == 0, said
    found = json.loads(certificate.read_text(encoding="utf-8"))
    assert found["input"]["rows"] == 80  # none that were deleted
    assert found["parameters"]["table_version"] == "Delta version 1"
    assert DeltaTable(str(safe)).version() == 0
    published = pl.read_delta(str(safe))
    assert published.columns == ["age", "town", "illness"]
    assert published.height == found["output"]["rows"]
    status, said = says("verify", f"delta:///{safe}", "--certificate", certificate)
    assert status == 0, said
    assert "the one that the certificate is about" in said
    assert read_table(f"delta:///{safe}").columns == published.columns
    kept = tmp_path / "release.shoal"
    again = ("anonymize", f"delta:///{lake}", "-o", f"delta:///{tmp_path}/b", *ROLES)
    assert says(*again, "--save", kept)[0] == 0
    more = tmp_path / "more"
    write_deltalake(str(more), people(40).to_arrow())
    status, said = says(
        *("apply", f"delta:///{more}", "--release", kept, "-o", f"delta:///{tmp_path}/more-safe")
    )
    assert status == 0, said


def test_nothing_of_the_input_is_in_the_folder_of_the_release(lake, tmp_path, says):
    safe = tmp_path / "safe"
    assert says("anonymize", f"delta:///{lake}", "-o", f"delta:///{safe}", *ROLES)[0] == 0
    written = b"".join(path.read_bytes() for path in safe.rglob("*") if path.is_file())
    assert b"Person" not in written
    added = [
        json.loads(line)["add"]
        for line in (safe / "_delta_log" / f"{0:020}.json").read_text().splitlines()
        if '"add"' in line
    ]
    assert [json.loads(each["stats"]) for each in added] == [
        {"numRecords": pl.read_delta(str(safe)).height}
    ]


def test_one_version_is_read_whoever_writes_meanwhile(lake, tmp_path, says, monkeypatch):
    real = database.column_names

    def slow(url):
        names = real(url)
        write_deltalake(str(lake), people(10).to_arrow(), mode="overwrite")
        return names

    monkeypatch.setattr(database, "column_names", slow)
    certificate = tmp_path / "c.json"
    status, said = says(
        *("anonymize", f"delta:///{lake}", "-o", tmp_path / "safe.csv", *ROLES),
        *("--certificate", certificate),
    )
    assert status == 0, said
    found = json.loads(certificate.read_text(encoding="utf-8"))
    assert (found["input"]["rows"], found["parameters"]["table_version"]) == (80, "Delta version 1")
    assert DeltaTable(str(lake)).version() == 2


def test_a_table_that_is_there_is_replaced_only_where_that_is_said(lake, tmp_path, says):
    safe = tmp_path / "safe"
    write_deltalake(str(safe), pl.DataFrame({"other": [1]}).to_arrow())
    command = ("anonymize", f"delta:///{lake}", "-o", f"delta:///{safe}", *ROLES)
    status, said = says(*command)
    assert (status, "exists; choose another table" in said) == (2, True), said
    assert DeltaTable(str(safe)).version() == 0
    assert says(*command, "--replace")[0] == 0
    assert DeltaTable(str(safe)).version() == 1
    assert pl.read_delta(str(safe)).columns == ["age", "town", "illness"]
    status, said = says(
        "anonymize", f"delta:///{lake}", "-o", f"delta:///{lake}", *ROLES, "--replace"
    )
    assert (status, "would be the same" in said) == (2, True), said
    assert DeltaTable(str(lake)).version() == 1


@pytest.mark.parametrize("there", [True, False], ids=["replaced", "new"])
def test_what_fails_leaves_no_file_and_no_version(lake, tmp_path, says, monkeypatch, there):
    from deltalake import transaction

    safe = tmp_path / "safe"
    if there:
        write_deltalake(str(safe), pl.DataFrame({"other": [1]}).to_arrow())
    before = sorted(path.relative_to(tmp_path) for path in safe.rglob("*"))

    def broken(*_, **__):
        raise RuntimeError("Person7 lives in Ulm")

    command = ("anonymize", f"delta:///{lake}", "-o", f"delta:///{safe}", *ROLES, "--replace")
    with monkeypatch.context() as patch:
        patch.setattr(transaction, "create_table_with_add_actions", broken)
        status, said = says(*command, "--certificate", tmp_path / "c.json")
    assert (status, "Could not write" in said, "Person7" in said) == (2, True, False), said
    assert sorted(path.relative_to(tmp_path) for path in safe.rglob("*")) == before
    assert safe.exists() == there
    assert not (tmp_path / "c.json").exists()
    monkeypatch.setattr(verified_write, "_verify", broken)
    assert says(*command)[0] != 0
    assert sorted(path.relative_to(tmp_path) for path in safe.rglob("*")) == before


def test_types_that_delta_has_not_are_kept_as_others(tmp_path):
    table = pl.DataFrame(
        {
            "small": pl.Series([1, 255], dtype=pl.UInt8),
            "large": pl.Series([1, 2**64 - 1], dtype=pl.UInt64),
            "time": [dt.time(1, 2), None],
            "moment": pl.Series([dt.datetime(2020, 1, 2, 3)] * 2, dtype=pl.Datetime("ns")),
            "zoned": pl.Series([dt.datetime(2020, 1, 2, 3)] * 2, dtype=pl.Datetime("ms", "UTC")),
            "kind": pl.Series(["a", None], dtype=pl.Categorical),
            "day": [dt.date(2020, 1, 1), None],
        }
    )
    url = f"delta:///{tmp_path}/all"
    shoal.write_table(table, url)
    found = pl.read_delta(str(tmp_path / "all"))
    assert found["small"].to_list() == [1, 255]
    assert [int(each) for each in found["large"]] == [1, 2**64 - 1]
    assert found["moment"].to_list() == table["moment"].to_list()
    assert found["zoned"].to_list() == table["zoned"].to_list()
    assert found["kind"].to_list() == ["a", None]
    assert database.rows_sha256(found.select("small", "large", "kind", "day")) == (
        database.rows_sha256(table.select("small", "large", "kind", "day"))
    )
    with pytest.raises(DataError, match="cannot hold column 'l'"):
        shoal.write_table(pl.DataFrame({"l": [[1]]}), f"delta:///{tmp_path}/nested")
    assert not (tmp_path / "nested").exists()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("delta:///{here}/none", "there is no table of Delta"),
        ("delta://people", "looks like delta:///"),
        ("delta:///{here}/people?version=1", "looks like delta:///"),
        ("delta+https://example.org/people", "looks like delta:///"),
        ("delta+s3://key:hush@lake/people", "leave it out"),
    ],
)
def test_what_is_no_table_of_delta_is_said(lake, tmp_path, says, url, said):
    status, told = says("anonymize", url.format(here=tmp_path), "-o", tmp_path / "x.csv", *ROLES)
    assert (status, said in told, "hush" in told) == (2, True, False), told


def test_the_folder_itself_says_how_it_is_named(lake, tmp_path, says):
    status, said = says("anonymize", lake, "-o", tmp_path / "x.csv", *ROLES)
    assert (status, "delta:///" in said) == (2, True), said
    full = tmp_path / "full"
    full.mkdir()
    (full / "something.csv").write_text("a\n1\n")
    status, said = says("anonymize", f"delta:///{lake}", "-o", f"delta:///{full}", *ROLES)
    assert (status, "something else is there" in said) == (2, True), said


def test_without_the_package_one_sentence_says_what_to_install(lake, tmp_path, says, monkeypatch):
    monkeypatch.setitem(sys.modules, "deltalake", None)
    people().write_csv(tmp_path / "people.csv")
    places = (f"delta:///{lake}", "x.csv"), (tmp_path / "people.csv", f"delta:///{tmp_path}/x")
    for source, target in places:
        status, said = says("anonymize", source, "-o", target, *ROLES)
        assert (status, "shoal-anonymity[delta]" in said) == (2, True), said


def test_several_tables_are_not_written_to_tables_of_delta(tmp_path):
    from shoal.release.tables import places_in

    with pytest.raises(OptionError, match="do not appear together"):
        places_in(f"delta:///{tmp_path}", ["a", "b"], "parquet")


def test_from_a_store_to_a_store(says, tmp_path):
    with s3_server() as bucket:
        source, target = bucket.url("people"), bucket.url("safe")
        plain = {"AWS_ALLOW_HTTP": "true"}
        write_deltalake(source, people().to_arrow(), storage_options=plain)
        status, said = says("anonymize", f"delta+{source}", "-o", f"delta+{target}", *ROLES)
        assert status == 0, said
        assert [name.partition("-")[0] for name in bucket.names() if "safe/" in name] == [
            "safe/_delta_log/00000000000000000000.json",
            "safe/part",
        ]
        assert read_table(f"delta+{target}").columns == ["age", "town", "illness"]
        status, said = says("anonymize", f"delta+{source}", "-o", f"delta+{target}", *ROLES)
        assert (status, "exists; choose another table" in said) == (2, True), said
        command = ("anonymize", f"delta+{source}", "-o", f"delta+{target}", *ROLES, "--replace")
        assert says(*command)[0] == 0
        assert DeltaTable(target, storage_options=plain).version() == 1
