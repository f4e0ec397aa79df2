"""Folders that are named by the values of a column are one table, and the values are a column."""

import datetime as dt

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import shoal
from shoal.cli.program import run
from shoal.errors import DataError, OptionError
from shoal.io.location import input_files, partition_of
from shoal.io.read import read_table


def visits(n=240):
    """People in towns and years; the missing town is written as Hive writes it."""
    return pl.DataFrame(
        {
            "age": [20 + 7 * i % 50 for i in range(n)],
            "illness": [["flu", "gout", "asthma"][i % 3] for i in range(n)],
            "town": [[None, "Köln Süd", "a/b"][i % 3] for i in range(n)],
            "year": [2020 + i % 4 for i in range(n)],
        }
    )


def written_by_arrow(table, place, *names):
    kinds = pa.schema([table.to_arrow().schema.field(name) for name in names])
    parts = ds.partitioning(kinds, flavor="hive")
    ds.write_dataset(table.to_arrow(), place, format="parquet", partitioning=parts)


def written_by_duckdb(table, place, *names):
    where = f"(FORMAT parquet, PARTITION_BY ({', '.join(names)}))"
    connection = duckdb.connect()
    connection.register("given", table.to_arrow())
    connection.execute(f"COPY (SELECT * FROM given) TO '{place}' {where}")


@pytest.fixture
def folder(tmp_path):
    table = tmp_path / "in" / "visits"
    table.parent.mkdir()
    written_by_arrow(visits(), table, "town", "year")
    return table


@pytest.mark.parametrize("write", [written_by_arrow, written_by_duckdb])
def test_the_folders_become_columns_with_types_and_missing_values(tmp_path, write):
    table = visits().with_columns(day=pl.lit(dt.date(2024, 2, 29)), code=pl.lit("007"))
    write(table, tmp_path / "out", "town", "year", "day", "code")
    assert len(list((tmp_path / "out").iterdir())) == 3
    found = read_table(tmp_path / "out").select(table.columns)
    assert found.schema == table.schema
    order = table.columns
    assert found.sort(order, nulls_last=True).equals(table.sort(order, nulls_last=True))


def test_only_wanted_columns_are_read_and_a_wanted_one_may_be_a_folder(folder):
    assert read_table(folder, columns=["year"]).columns == ["year"]
    assert sorted(read_table(folder, columns=["year"])["year"]) == sorted(visits()["year"])


def test_a_column_that_the_files_have_themselves_is_theirs(tmp_path):
    for year in (2023, 2024):
        part = tmp_path / f"year={year}"
        part.mkdir()
        pl.DataFrame({"age": [1, 2], "year": [7, 8]}).write_parquet(part / "rows.parquet")
    assert read_table(tmp_path).sort("age")["year"].to_list() == [7, 7, 8, 8]


def test_a_folder_above_the_table_stands_for_nothing(folder):
    inside = next(
        each for each in folder.iterdir() if each.name != "town=__HIVE_DEFAULT_PARTITION__"
    )
    assert read_table(inside).columns == ["age", "illness", "year"]
    file = next(inside.rglob("*.parquet"))
    assert read_table(file).columns == ["age", "illness"]


def test_a_release_is_made_of_such_a_folder_and_says_no_value_of_it(folder, tmp_path, capfd):
    out = tmp_path / "safe.parquet"
    flags = ["--k", "5", "--qi", "age,town,year", "--sensitive", "illness", "--certificate"]
    certificate = tmp_path / "c.json"
    assert run(["anonymize", str(folder), "-o", str(out), *flags, str(certificate)]) == 0
    published = pl.read_parquet(out)
    assert published.height == 240
    assert published.group_by("age", "town", "year").len()["len"].min() >= 5
    assert "Köln" not in certificate.read_text(encoding="utf-8")
    assert shoal.verify(published, k=5, quasi_identifiers=["age", "town", "year"]).holds
    for path in folder.rglob("*.parquet"):
        path.write_bytes(b"PAR1 no more")
    capfd.readouterr()
    again = ["--replace", *flags, str(certificate)]
    assert run(["anonymize", str(folder), "-o", str(out), *again]) == 2
    said = capfd.readouterr().err
    assert "town=…" in said
    assert "Köln" not in said
    assert "K%C3%B6ln" not in said
    assert "2020" not in said


def test_folders_of_other_columns_are_refused(folder):
    other = folder / "land=DE"
    other.mkdir()
    visits().drop("town", "year").write_parquet(other / "rows.parquet")
    with pytest.raises(DataError, match="do not stand for the same columns everywhere"):
        read_table(folder)


def test_folders_of_texts_are_refused_instead_of_read_without_their_columns(tmp_path):
    (tmp_path / "year=2024").mkdir()
    visits().write_csv(tmp_path / "year=2024" / "rows.csv")
    with pytest.raises(DataError, match="are read if their files are Parquet"):
        read_table(tmp_path)


def test_no_output_becomes_a_part_of_its_input(folder):
    part = next(folder.iterdir())
    words = ["anonymize", str(folder), "-o", str(part / "safe.parquet"), "--k", "5"]
    assert (
        run([*words, "--qi", "age,town,year", "--sensitive", "illness"]) == OptionError.exit_status
    )
    assert not (part / "safe.parquet").exists()


@pytest.mark.parametrize(
    ("kind", "sign"),
    [
        ("Delta", "_delta_log/00000000000000000000.json"),
        ("Iceberg", "metadata/v1.metadata.json"),
        ("Iceberg", "metadata/version-hint.text"),
    ],
)
def test_a_table_of_a_lake_is_refused_since_its_files_hold_what_was_deleted(tmp_path, kind, sign):
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "part-0.parquet")
    (tmp_path / sign).parent.mkdir()
    (tmp_path / sign).write_text("{}")
    with pytest.raises(DataError, match=f"is a table of {kind}, whose files may hold rows that"):
        input_files(tmp_path)


def test_a_name_is_read_as_it_is_written():
    assert partition_of("t/a%20b=1%2F2/c=__HIVE_DEFAULT_PARTITION__/x.parquet") == {
        "a b": "1/2",
        "c": None,
    }
    assert partition_of("a=1/t/b=2/x.parquet") == {"b": "2"}
    assert partition_of("a=1/b=2/x.parquet", "a=1") == {"b": "2"}
