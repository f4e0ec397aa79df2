"""Several files as one table."""

import gzip

import polars as pl
import pytest

import shoal
from shoal.errors import DataError, OptionError
from shoal.io.columns import decode_text
from shoal.io.location import input_files
from shoal.io.read import read_table

ROWS = pl.DataFrame({"age": [30, 31, 60, 64], "zip": ["01", "02", "01", "03"]})


def write(frame, path):
    shoal.write_table(frame, path)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "arrow", "jsonl", "xlsx"])
@pytest.mark.parametrize("coded", [False, True])
def test_a_folder_a_pattern_and_a_list_are_one_table(tmp_path, ending, coded):
    write(ROWS.head(1), tmp_path / f"a.{ending}")
    write(ROWS.tail(3).select("zip", "age"), tmp_path / f"b.{ending}")
    (tmp_path / "notes.md").write_text("no table")
    (tmp_path / f".hidden.{ending}").write_text("no table")
    paths = [tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"]
    for source in (tmp_path, str(tmp_path / f"*.{ending}"), paths, [paths[0], tmp_path]):
        found = decode_text(read_table(source, coded=coded))
        assert found.equals(ROWS)
    assert read_table(tmp_path, columns=["zip"]).columns == ["zip"]


def test_all_files_together_decide_the_type_of_a_column(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,1.5\n2,2\n")
    (tmp_path / "b.csv").write_text("y,x\n3,01\n4,5\n")
    found = read_table(tmp_path)
    assert found["x"].to_list() == ["1", "2", "01", "5"]
    assert found["y"].to_list() == [1.5, 2.0, 3.0, 4.0]


def test_each_text_file_may_be_written_in_its_own_way(tmp_path):
    (tmp_path / "a.csv").write_bytes("n;x\nMüller;1,5\n".encode("cp1252"))
    (tmp_path / "b.csv").write_bytes(gzip.compress("x,n\n2,Größe\n".encode()))
    found = read_table(tmp_path)
    assert found.rows() == [("Müller", 1.5), ("Größe", 2.0)]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_other_columns_are_one_sentence(tmp_path, ending):
    write(ROWS, tmp_path / f"a.{ending}")
    write(ROWS.select("age"), tmp_path / f"b.{ending}")
    with pytest.raises(DataError, match=r"b.* has no column 'zip', which .*a"):
        read_table(tmp_path)
    write(ROWS.with_columns(more=pl.lit(1)), tmp_path / f"b.{ending}")
    with pytest.raises(DataError, match=r"b.* has a column 'more', which .*a"):
        read_table(tmp_path)


def test_other_types_and_formats_are_one_sentence(tmp_path):
    write(ROWS, tmp_path / "a.parquet")
    write(ROWS.with_columns(pl.col("age").cast(pl.String)), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="Column 'age' is String in"):
        read_table(tmp_path)
    write(ROWS, tmp_path / "b.csv")
    with pytest.raises(DataError, match="another format"):
        read_table([tmp_path / "a.parquet", tmp_path / "b.csv"])


def test_nothing_found_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match="There is no table in the folder"):
        read_table(tmp_path)
    with pytest.raises(DataError, match="No file fits"):
        read_table(str(tmp_path / "*.csv"))
    with pytest.raises(OptionError, match="stands alone"):
        read_table(["-", "a.csv"])


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path):
    path = tmp_path / "a[1].csv"
    write(ROWS, path)
    write(ROWS, tmp_path / "a1.csv")
    assert input_files(path) == [str(path)]


def test_a_later_file_that_does_not_exist_is_named(tmp_path):
    for ending in ("csv", "parquet"):
        write(ROWS, tmp_path / f"a.{ending}")
        with pytest.raises(DataError, match=r"There is no file .*absent"):
            read_table([tmp_path / f"a.{ending}", tmp_path / f"absent.{ending}"])


def test_a_job_reads_several_files_and_never_its_own_release(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    write(ROWS.head(2), folder / "a.csv")
    write(ROWS.tail(2), folder / "b.csv")
    columns = {name: shoal.JobColumn(role="quasi-identifier") for name in ROWS.columns}
    for given in (
        {"path": str(folder)},
        {"path": str(folder / "a.csv"), "more": (str(folder / "b.csv"),)},
    ):
        job = shoal.Job(
            input=shoal.Input(**given),
            output=shoal.Output(table=str(tmp_path / "safe.csv"), replace=True),
            columns=columns,
            k=2,
            algorithm="mondrian",
        )
        shoal.write_job(job, tmp_path / "job.toml")
        assert shoal.read_job(tmp_path / "job.toml") == job
        assert shoal.run_job(tmp_path / "job.toml").release.n_rows == 4
    for target in (folder / "safe.csv", folder / "b.csv"):
        output = shoal.Output(table=str(target), replace=True)
        with pytest.raises(OptionError, match=r"among the inputs|would be the same"):
            shoal.run_job(job.replaced(input=shoal.Input(path=str(folder)), output=output))
