"""Tables go into a database and come back: types, odd names, one transaction, few columns."""

import datetime as dt
import sqlite3
from decimal import Decimal

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import shoal
from shoal.io.atomic import AtomicGroup
from shoal.io.database import BATCH, column_names, rows_sha256, stage_sql


def patients(n_rows=3):
    """One column per type that is kept, with missing values, empty texts and extremes."""
    whole = [1, None, -(2**63)]
    table = {
        "whole": pl.Series(whole, dtype=pl.Int64),
        "real": [0.1, None, 1e300],
        "truth": [True, None, False],
        "text": ["", None, 'a,"b"\n\\.\t\\N'],
        "day": [dt.date(2024, 2, 29), None, dt.date(1, 1, 1)],
        "time": [dt.datetime(2024, 2, 29, 1, 2, 3, 456789), None, dt.datetime(1900, 1, 1)],
        "utc": pl.Series(
            [dt.datetime(2024, 2, 29), None, dt.datetime(1970, 1, 1)]
        ).dt.replace_time_zone("UTC"),
        "money": pl.Series([Decimal("1.10"), None, Decimal("-12.34")], dtype=pl.Decimal(4, 2)),
        "long": pl.Series(
            [Decimal("12345678901234567890.10"), None, Decimal("0.01")], dtype=pl.Decimal(22, 2)
        ),
        "bytes": [b"\0\xff", None, b""],
    }
    frame = pl.DataFrame(table)
    return pl.concat([frame] * (n_rows // 3))


def write_badly(group, url, folder):
    """Sends a table to the database and then fails to write a file."""
    stage_sql(group, pl.DataFrame({"a": [2]}), url, "replace")
    group.add(folder / "no such folder" / "note.txt", "note")


def test_a_table_comes_back_with_its_types_and_values(place):
    frame = patients()
    shoal.write_table(frame, place("t"))
    assert_frame_equal(shoal.read_table(place("t")), frame, check_row_order=False)


def test_more_rows_than_a_batch_come_back(place):
    frame = pl.DataFrame({"number": range(2 * BATCH + 7), "text": ["x"] * (2 * BATCH + 7)})
    shoal.write_table(frame, place("t"))
    assert_frame_equal(shoal.read_table(place("t")), frame, check_row_order=False)


@pytest.mark.parametrize(
    "name", ['"; DROP TABLE t; --', "SELECT", "Größe der Gruppe", "a b", "100%", "'", "{}", "%s"]
)
def test_odd_names_of_columns_and_tables_are_only_names(place, name):
    frame = pl.DataFrame({name: [1, 2], "other": ["a", "b"]})
    quoted = '"' + name.replace('"', '""') + '"'
    shoal.write_table(frame, place(quoted))
    assert column_names(place(quoted)) == [name, "other"]
    assert shoal.read_table(place(quoted)).columns == [name, "other"]


def test_categories_are_written_as_text_and_an_empty_column_stays_empty(place):
    frame = pl.DataFrame(
        {"kind": pl.Series(["a", None], dtype=pl.Categorical), "none": [None, None]}
    )
    shoal.write_table(frame, place("t"))
    back = shoal.read_table(place("t"))
    assert back.to_dict(as_series=False) == {"kind": ["a", None], "none": [None, None]}


def test_only_the_wanted_columns_are_read_in_the_wanted_order(place):
    shoal.write_table(patients(), place("t"))
    assert shoal.read_table(place("t"), columns=["text", "whole"]).columns == ["text", "whole"]
    assert shoal.read_table(place("t"), columns="text").columns == ["text"]
    with pytest.raises(shoal.DataError, match=r"no column 'txt'\. Did you mean 'text'"):
        shoal.read_table(place("t"), columns=["txt"])


def test_unwanted_columns_are_not_asked_for(server, database):
    with server.connect(database) as connection:
        # Reading the column "name" would fail: a division by zero for every row.
        connection.execute("CREATE TABLE base (age int)")
        connection.execute("INSERT INTO base VALUES (1), (2)")
        connection.execute("CREATE VIEW t AS SELECT age, 1 / (age - age) AS name FROM base")
    url = server.url("t", database=database)
    assert shoal.read_table(url, columns=["age"]).height == 2
    with pytest.raises(shoal.DataError, match="a cell cannot be converted"):
        shoal.read_table(url)


def test_a_table_that_exists_is_not_touched_unless_asked(place):
    first, second = pl.DataFrame({"a": [1]}), pl.DataFrame({"b": ["x", "y"]})
    shoal.write_table(first, place("t"))
    with pytest.raises(shoal.DataError, match="exists; choose another table, or replace it"):
        shoal.write_table(second, place("t"))
    assert_frame_equal(shoal.read_table(place("t")), first)
    shoal.write_table(second, place("t"), if_exists="replace")
    assert_frame_equal(shoal.read_table(place("t")), second, check_row_order=False)


def test_a_table_and_files_appear_together_and_the_table_last(place, tmp_path):
    note = tmp_path / "note.txt"
    with AtomicGroup() as group:
        stage_sql(group, pl.DataFrame({"a": [1]}), place("t"), "fail")
        group.add(note, "done")
    assert note.read_text(encoding="utf-8") == "done"
    assert shoal.read_table(place("t")).height == 1


def test_a_failure_after_the_rows_were_sent_leaves_the_old_table(place, tmp_path):
    old = pl.DataFrame({"a": [1]})
    shoal.write_table(old, place("t"))
    with pytest.raises(shoal.DataError, match="does not exist"), AtomicGroup() as group:
        write_badly(group, place("t"), tmp_path)
    assert_frame_equal(shoal.read_table(place("t")), old)


def test_files_are_put_back_when_the_commit_fails(server, database, tmp_path):
    note = tmp_path / "note.txt"
    note.write_text("before", encoding="utf-8")

    def write_and_be_cut_off(group):
        stage_sql(group, pl.DataFrame({"a": [1]}), server.url("t", database=database), "fail")
        group.add(note, "after")
        with server.connect() as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                [database],
            )

    with pytest.raises(shoal.DataError, match="connection was lost"), AtomicGroup() as group:
        write_and_be_cut_off(group)
    assert note.read_text(encoding="utf-8") == "before"
    with pytest.raises(shoal.DataError, match="no table"):
        shoal.read_table(server.url("t", database=database))


def test_an_sqlite_file_that_was_made_for_a_failed_write_is_removed(tmp_path):
    path = tmp_path / "new.db"
    with pytest.raises(shoal.DataError, match="does not exist"), AtomicGroup() as group:
        write_badly(group, f"sqlite:///{path}?table=t", tmp_path)
    assert not path.exists()


def test_the_digest_of_rows_is_the_same_in_any_order_and_database(place):
    frame = patients(30)
    shoal.write_table(frame.sample(fraction=1, shuffle=True, seed=1), place("t"))
    assert rows_sha256(shoal.read_table(place("t"))) == rows_sha256(frame)
    changed = frame.with_columns(pl.when(pl.col("whole") == 1).then(2).alias("whole"))
    assert rows_sha256(changed) != rows_sha256(frame)


def test_a_text_and_a_missing_value_have_different_digests():
    first, second = pl.DataFrame({"a": ["null"]}), pl.DataFrame({"a": [None]}, {"a": pl.String})
    assert rows_sha256(first) != rows_sha256(second)


def test_types_of_postgresql_without_an_equal_are_read_as_text(server, database):
    with server.connect(database) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('low', 'high')")
        connection.execute(
            "CREATE TABLE t (m mood, u uuid, j jsonb, c char(4), a int[], n numeric, v varchar(9), "
            "s smallint, f real)"
        )
        connection.execute(
            "INSERT INTO t VALUES ('high', '00000000-0000-0000-0000-000000000001', '{\"a\": 1}', "
            "'ab', '{1,2}', 1.5, 'v', 7, 0.1), "
            "(NULL, NULL, NULL, NULL, NULL, 2.25, NULL, NULL, NULL)"
        )
    back = shoal.read_table(server.url("t", database=database))
    assert back.row(0) == (
        *("high", "00000000-0000-0000-0000-000000000001", '{"a": 1}', "ab", "{1,2}"),
        *(Decimal("1.50"), "v", 7, pytest.approx(0.1)),
    )
    assert back.schema["n"] == pl.Decimal(3, 2)
    assert back.schema["s"] == pl.Int16
    assert back.schema["f"] == pl.Float32


def test_a_number_that_no_decimal_holds_is_an_error_without_the_number(server, database):
    with server.connect(database) as connection:
        connection.execute("CREATE TABLE t (n numeric)")
        connection.execute("INSERT INTO t VALUES ('NaN')")
    with pytest.raises(shoal.DataError, match=r"Column 'n' .* holds NaN, infinity or numbers"):
        shoal.read_table(server.url("t", database=database))


@pytest.fixture
def sqlite_table(tmp_path):
    """Makes the table t from its declaration and rows; returns its URL."""

    def make(declaration, rows):
        connection = sqlite3.connect(tmp_path / "b.db")
        connection.execute(f"CREATE TABLE t ({declaration})")
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        connection.commit()
        connection.close()
        return f"sqlite:///{tmp_path}/b.db?table=t"

    return make


def test_what_an_sqlite_column_holds_decides_its_type(sqlite_table):
    url = sqlite_table(
        "mixed INTEGER, real INTEGER, flag BOOLEAN, day DATE, bare, price NUMERIC(6,2)",
        [("x", 1, 0, "2024-01-31", 1, 1.5), (7, 2.5, 2, "soon", 2, 1.255)],
    )
    back = shoal.read_table(url)
    assert back.to_dict(as_series=False) == {
        "mixed": ["x", "7"],
        "real": [1.0, 2.5],
        "flag": [0, 2],
        "day": ["2024-01-31", "soon"],
        "bare": [1, 2],
        "price": [1.5, 1.255],
    }


def test_reading_an_sqlite_file_that_does_not_exist_makes_none(tmp_path):
    with pytest.raises(shoal.DataError, match="There is no file"):
        shoal.read_table(f"sqlite:///{tmp_path}/none.db?table=t")
    assert not (tmp_path / "none.db").exists()


def test_a_locked_sqlite_file_is_an_error_that_says_so(tmp_path, sqlite_table, monkeypatch):
    url = sqlite_table("a", [(1,)])
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **o: connect(*a, **o, timeout=0))
    other = connect(tmp_path / "b.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(shoal.DataError, match="another program is using the database"):
        shoal.write_table(pl.DataFrame({"a": [1]}), url, if_exists="replace")
    other.close()


def test_columns_that_a_database_cannot_hold_are_an_error(place):
    with pytest.raises(shoal.DataError, match="cannot hold column 'list'"):
        shoal.write_table(pl.DataFrame({"list": [[1]]}), place("t"))


def test_names_that_differ_in_case_only_are_told_apart_where_the_database_can(tmp_path):
    frame = pl.DataFrame({"Age": [1], "age": [2]})
    with pytest.raises(shoal.DataError, match="differ only in their case"):
        shoal.write_table(frame, f"sqlite:///{tmp_path}/a.db?table=t")


def test_a_view_is_read_and_never_replaced(server, database):
    with server.connect(database) as connection:
        connection.execute("CREATE VIEW v AS SELECT 1 AS a")
    url = server.url("v", database=database)
    assert shoal.read_table(url).rows() == [(1,)]
    with pytest.raises(shoal.DataError, match="is no table"):
        shoal.write_table(pl.DataFrame({"a": [1]}), url, if_exists="replace")


def test_a_table_that_a_view_depends_on_stays(server, database):
    url = server.url("t", database=database)
    shoal.write_table(pl.DataFrame({"a": [1]}), url)
    with server.connect(database) as connection:
        connection.execute("CREATE VIEW v AS SELECT a FROM t")
    with pytest.raises(shoal.DataError, match="depends on the one there"):
        shoal.write_table(pl.DataFrame({"a": [2]}), url, if_exists="replace")
    assert shoal.read_table(url).rows() == [(1,)]


def test_a_table_goes_into_the_schema_that_the_url_names(server, database):
    with server.connect(database) as connection:
        connection.execute('CREATE SCHEMA "my.schema"')
    url = server.url('"my.schema".t', database=database)
    shoal.write_table(pl.DataFrame({"a": [1]}), url)
    assert shoal.read_table(url).height == 1
    with pytest.raises(shoal.DataError, match="no schema 'other'"):
        shoal.write_table(pl.DataFrame({"a": [1]}), server.url("other.t", database=database))


def test_a_certificate_fits_a_table_of_sqlite_that_holds_no_nan(tmp_path):
    """SQLite keeps NaN as a missing cell."""
    frame = pl.DataFrame(
        {"age": [1, 1, 1, 2, 2, 2], "score": [0.5, float("nan"), None, 1.5, -0.0, float("nan")]}
    )
    safe = f"sqlite:///{tmp_path}/safe.db?table=t"
    frame.write_parquet(tmp_path / "in.parquet")
    job = shoal.Job(
        input=str(tmp_path / "in.parquet"),
        output=shoal.Output(table=safe, certificate=str(tmp_path / "c.json")),
        columns={
            "age": shoal.JobColumn(role="quasi-identifier"),
            "score": shoal.JobColumn(role="sensitive"),
        },
        k=3,
        rows_are_people=True,
        seed=1,
    )
    shoal.run_job(job)
    assert shoal.verify_certificate(safe, tmp_path / "c.json").same_file
