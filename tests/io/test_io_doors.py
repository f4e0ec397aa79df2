"""Facts about edges of tables: invisible marks, missing names, time zones, formulas, free pages."""

import datetime as dt
import sqlite3

import polars as pl
import pytest

import shoal
from shoal.io.read import read_table
from shoal.io.write import escaped_formulas, write_table

# The mark before a text (U+FEFF), names


BOM = "\ufeff"


@pytest.mark.parametrize(
    "text",
    [
        BOM + "a,b\n1,2\n",
        BOM + '"a",b\n1,2\n',
        BOM + BOM + "a,b\n1,2\n",
        "\n\r\n" + BOM + "a,b\n1,2\n",
        BOM + "\n" + BOM + '"a","b"\n1,2\n',
        '"' + BOM + 'a",b\n1,2\n',
        f"a,{BOM}b\n1,2\n",
        f"a{BOM},b\n1,2\n",
    ],
    ids=range(8),
)
def test_an_invisible_mark_is_no_part_of_a_name(tmp_path, text):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    assert read_table(tmp_path / "a.csv").to_dict(as_series=False) == {"a": [1], "b": [2]}


def test_an_invisible_mark_inside_a_cell_stays_a_part_of_it(tmp_path):
    (tmp_path / "a.csv").write_text(f"a,b\n{BOM}x,y\nx,y\n", encoding="utf-8")
    assert read_table(tmp_path / "a.csv")["a"].to_list() == [BOM + "x", "x"]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arrow", "a.jsonl", "a.tsv"])
def test_a_column_without_a_name_gets_one_in_every_format(tmp_path, name):
    frame = pl.DataFrame({"a": [1], "": [2], BOM + "c": [3]})
    if name == "a.arrow":
        frame.write_ipc(tmp_path / name)
    else:
        write_table(frame, tmp_path / name)
    assert read_table(tmp_path / name).columns == ["a", "column_2", "c"]


def test_names_that_would_become_the_same_stay_different(tmp_path):
    table = pl.DataFrame({"": [1], "column_1": [2], BOM + "b": [3], "b": [4], "b" + BOM: [5]})
    table.write_parquet(tmp_path / "a.parquet")
    names = read_table(tmp_path / "a.parquet").columns
    assert len(set(names)) == 5
    assert {"column_1", "b"} <= set(names)


# Time zones in Excel


def test_a_time_with_a_zone_is_written_to_excel_as_text_in_utc(tmp_path):
    times = [dt.datetime(2024, 5, 1, 12, 30, 15, 250_000), None]
    frame = pl.DataFrame({"t": times, "n": [1, 2]}).with_columns(
        pl.col("t").dt.replace_time_zone("Europe/Berlin")
    )
    write_table(frame, tmp_path / "a.xlsx")
    cells = pl.read_excel(tmp_path / "a.xlsx")["t"].to_list()
    assert cells == ["2024-05-01T10:30:15.250Z", None]


# Formulas


DANGEROUS = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'x", "\uff1d1", "-", "=-5"]
HARMLESS = ["a=1", "-5", "+5", "-5.25", "1e5", "-1,000.5", "+491234567", "", "x", "5%"]


def test_what_a_spreadsheet_would_run_gets_an_apostrophe_and_numbers_do_not():
    frame = pl.DataFrame({"a": [*DANGEROUS, *HARMLESS, None]})
    expected = [*(f"'{each}" for each in DANGEROUS), *HARMLESS, None]
    assert escaped_formulas(frame)["a"].to_list() == expected
    coded = frame.cast(pl.Categorical)
    assert escaped_formulas(coded)["a"].to_list() == expected


def test_different_cells_stay_different():
    cells = ["=x", "'=x", "''=x", "x", "'x"]
    assert escaped_formulas(pl.DataFrame({"a": cells}))["a"].n_unique() == len(cells)


def test_numbers_dates_and_truth_values_are_left_alone():
    frame = pl.DataFrame({"i": [-5], "f": [-0.5], "d": [dt.date(2020, 1, 1)], "b": [True]})
    assert escaped_formulas(frame).equals(frame)


def test_names_of_columns_are_escaped_too():
    assert escaped_formulas(pl.DataFrame({"=a": [1], "-5": [2], "b": [3]})).columns == [
        "'=a",
        "-5",
        "b",
    ]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
def test_formulas_are_escaped_only_when_asked_for(tmp_path, name):
    frame = pl.DataFrame({"a": ["=1+1", "x"]})
    write_table(frame, tmp_path / name)
    assert read_table(tmp_path / name)["a"].to_list() == ["=1+1", "x"]
    write_table(frame, tmp_path / name, escape_formulas=True)
    assert read_table(tmp_path / name)["a"].to_list() == ["'=1+1", "x"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet", "a.xlsx"])
def test_formats_that_tell_texts_from_formulas_are_left_alone(tmp_path, name):
    write_table(pl.DataFrame({"a": ["=1+1", "x"]}), tmp_path / name, escape_formulas=True)
    assert read_table(tmp_path / name)["a"].to_list() == ["=1+1", "x"]


def test_a_release_with_escaped_formulas_still_keeps_its_promises(tmp_path):
    frame = pl.DataFrame({"age": [30, 31, 32, 33] * 5, "note": ["=a", "'=a", "b", "=c"] * 5})
    release = shoal.anonymize(
        frame,
        k=4,
        quasi_identifiers=["age"],
        sensitive=["note"],
        privacy=[{"model": "l-diversity", "l": 3, "kind": "distinct"}],
        algorithm="mondrian",
        seed=1,
    )
    written = release.write(tmp_path / "a.csv", escape_formulas=True)
    assert written.verification.holds
    cells = set(read_table(tmp_path / "a.csv")["note"].to_list())
    assert cells == {"'=a", "''=a", "b", "'=c"}


# SQLite: nothing of a table that is gone stays in the file


GONE = "gone-of-a-patient-who-is-gone"


def everything(folder):
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


@pytest.mark.parametrize("mode", ["delete", "wal", "truncate"])
def test_a_replaced_table_leaves_no_rows_in_free_pages(tmp_path, mode):
    url = f"sqlite:///{tmp_path}/a.db?table=t"
    with sqlite3.connect(tmp_path / "a.db") as base:
        base.execute(f"PRAGMA journal_mode = {mode}")
        base.execute("PRAGMA secure_delete = OFF")
        base.execute("CREATE TABLE t (a)")
        base.executemany("INSERT INTO t VALUES (?)", [(f"{GONE}-{n}",) for n in range(2_000)])
    base.close()
    assert GONE.encode() in everything(tmp_path)
    write_table(pl.DataFrame({"a": ["x"] * 20}), url, if_exists="replace")
    assert GONE.encode() not in everything(tmp_path)


def test_a_table_that_was_rolled_back_leaves_no_rows(tmp_path):
    from shoal.io.atomic import AtomicGroup
    from shoal.io.database import stage_sql

    url = f"sqlite:///{tmp_path}/a.db?table=t"
    write_table(pl.DataFrame({"a": ["x"] * 20}), url)
    other = url.replace("table=t", "table=u")
    rows = pl.DataFrame({"a": [f"{GONE}-{n}" for n in range(50_000)]})

    def stage_and_fail():
        with AtomicGroup() as group:
            stage_sql(group, rows, other, "fail")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        stage_and_fail()
    assert GONE.encode() not in everything(tmp_path)
