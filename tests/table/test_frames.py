"""Which tables come in, and in which type each comes back: one table says it."""

import subprocess
import sys
from pathlib import Path

import duckdb
import ibis
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal.errors import DataError
from shoal.table.frames import is_frame, to_polars

ROOT = Path(__file__).parents[2]
N = 60
MARK = "zqxcell"


def people():
    return pl.DataFrame(
        {
            "age": [20 + 7 * n % 50 for n in range(N)],
            "sex": ["fm"[n % 2] for n in range(N)],
            "illness": [["flu", "gout", "asthma"][n % 3] for n in range(N)],
            "visits": pl.Series([n % 4 for n in range(N)], dtype=pl.Int16),
        }
    )


class Handed:
    """A table of which nobody knows more than that it hands its columns over as Arrow."""

    def __init__(self, frame):
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self.frame.__arrow_c_stream__(requested_schema)


def relation():
    connection = duckdb.connect()
    connection.register("people", people().to_arrow())
    return connection.sql("SELECT * FROM people")


# What comes in, and what goes out: the same, where that is a table, else an Arrow table.
TABLES = {
    "polars": (people, pl.DataFrame),
    "polars, lazy": (lambda: people().lazy(), pl.DataFrame),
    "pandas": (lambda: people().to_pandas(), pd.DataFrame),
    "pandas with Arrow types": (
        lambda: people().to_pandas(use_pyarrow_extension_array=True),
        pd.DataFrame,
    ),
    "pyarrow": (lambda: people().to_arrow(), pa.Table),
    "pyarrow, a batch": (lambda: people().to_arrow().combine_chunks().to_batches()[0], pa.Table),
    "pyarrow, a reader": (lambda: people().to_arrow().to_reader(), pa.Table),
    "narwhals": (lambda: nw.from_native(people()), nw.DataFrame),
    "narwhals on pandas": (lambda: nw.from_native(people().to_pandas()), nw.DataFrame),
    "narwhals, lazy": (lambda: nw.from_native(people().lazy()), nw.DataFrame),
    "a relation of DuckDB": (relation, pa.Table),
    "an expression of Ibis": (lambda: ibis.memtable(people()).filter(ibis._.age > 0), pa.Table),
    "anything with the Arrow interface": (lambda: Handed(people()), pa.Table),
}


def release_of(table, more=()):
    return shoal.anonymize(
        table,
        5,
        quasi_identifiers=["age", "sex"],
        sensitive="illness",
        insensitive=["visits", *more],
        seed=1,
        algorithm="mondrian",
    )


@pytest.fixture(scope="module")
def expected():
    return release_of(people())


@pytest.mark.parametrize("name", TABLES)
def test_what_comes_in_goes_out_and_holds_the_same(name, expected):
    make, comes_back = TABLES[name]
    release = release_of(make())
    assert type(release.frame) is comes_back
    published = to_polars(release.frame).select(expected.frame.columns)
    assert published.cast(expected.frame.schema).equals(expected.frame)
    assert release.groups.tolist() == expected.groups.tolist()
    checked = shoal.verify(release.frame, k=5, quasi_identifiers=["age", "sex"])
    assert checked.holds


def test_a_database_in_memory_reads_what_comes_back(expected):
    published = release_of(relation()).frame
    assert duckdb.sql("SELECT count(*) FROM published").fetchall() == [(N,)]
    assert len(published) == expected.n_published


def test_every_column_of_pandas_with_arrow_types_keeps_them():
    given = people().to_pandas(use_pyarrow_extension_array=True)
    published = release_of(given).frame
    assert all(isinstance(dtype, pd.ArrowDtype) for dtype in published.dtypes)
    assert published["visits"].dtype == given["visits"].dtype


def test_a_relation_is_computed_once():
    connection = duckdb.connect()
    connection.sql("CREATE SEQUENCE computed")
    connection.register("people", people().to_arrow())
    table = connection.sql("SELECT *, nextval('computed') AS year FROM people")
    release_of(table, ["year"])
    assert connection.sql("SELECT nextval('computed')").fetchall() == [(N + 1,)]


@pytest.mark.parametrize("known", ["score", "verify", "audit", "utility"])
def test_other_functions_take_them_too(known, expected):
    roles = {"quasi_identifiers": ["age", "sex"], "sensitive": "illness"}
    before, after = relation(), Handed(expected.frame)
    if known == "score":
        assert shoal.score(before, expected.groups, **roles)["ncp"] == expected.scores["ncp"]
    elif known == "verify":
        assert shoal.verify(after, k=5, **roles).holds
    elif known == "audit":
        assert shoal.audit(before, after, **roles, targets=20).findings
    else:
        assert shoal.utility(before, after, **roles).one_way


def failing():
    text = f"SELECT CAST(cell AS INTEGER) AS age FROM (VALUES ('{MARK}')) AS t(cell)"
    return {
        "DuckDB": duckdb.sql(text),
        "polars": pl.LazyFrame({"age": [MARK]}).select(pl.col("age").cast(pl.Int64)),
        "narwhals": nw.from_native(duckdb.sql(text)),
    }


@pytest.mark.parametrize("name", failing())
def test_a_table_that_cannot_be_computed_is_one_sentence_without_a_cell(name):
    with pytest.raises(DataError, match="The table cannot be computed") as error:
        to_polars(failing()[name])
    assert MARK not in str(error.value)
    assert error.value.__suppress_context__


def test_names_that_stand_twice_are_refused():
    table = pa.table([[1, 2], [3, 4]], names=["a", "a"])
    for twice in (table, Handed(table), table.to_reader()):
        with pytest.raises(DataError, match="two columns of the same name"):
            to_polars(twice)


@pytest.mark.parametrize("column", [people()["age"], pa.chunked_array([[1, 2]]), pd.Series([1])])
def test_a_column_is_no_table_although_it_hands_itself_over(column):
    assert not is_frame(column)
    with pytest.raises(DataError, match="must be a dataframe"):
        to_polars(column)


def test_libraries_that_are_not_used_are_not_loaded():
    others = ("duckdb", "ibis", "modin", "pyarrow", "pandas", "pyspark")
    code = (
        "import sys, polars, shoal\n"
        "frame = polars.DataFrame({'age': [1, 1, 2, 2]})\n"
        "shoal.verify(frame, k=2, quasi_identifiers=['age'])\n"
        f"print([name for name in {others} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Modin needs an older pandas than the other tests have, so that it has an environment of its own.
_MODIN = ("modin==0.37.1", "pandas==2.3.3", "pyarrow==26.0.1", "packaging==26.3", "psutil==7.2.2")
_MORE = ("fsspec==2026.9.0", "python-dateutil==2.9.0.post0", "pytz==2026.6", "six==1.17.0")
_ON_MODIN = """
import os
os.environ["MODIN_ENGINE"] = "native"  # in this process, without Ray or Dask
import modin.config, modin.pandas, shoal
modin.config.Backend.put("Pandas")
table = modin.pandas.DataFrame(
    {"age": [20 + 7 * n % 50 for n in range(60)], "sex": ["fm"[n % 2] for n in range(60)]}
)
release = shoal.anonymize(
    table, 5, quasi_identifiers=["age"], insensitive="sex", seed=1, algorithm="mondrian"
)
assert type(release.frame) is modin.pandas.DataFrame, type(release.frame)
assert release.frame["sex"].dtype == table["sex"].dtype
assert shoal.verify(release.frame, k=5, quasi_identifiers=["age"]).holds
"""


@pytest.mark.long
def test_modin_comes_back_as_modin(tmp_path):
    lock = tmp_path / "modin.txt"
    lock.write_text("\n".join([*_MODIN, *_MORE, "tzdata==2026.6"]))
    install = [sys.executable, ROOT / "tools/install.py", tmp_path / "venv"]
    subprocess.run([*install, ROOT / "requirements/user.txt", lock], check=True)
    subprocess.run([tmp_path / "venv/bin/python", "-c", _ON_MODIN], check=True, cwd=tmp_path)
