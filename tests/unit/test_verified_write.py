"""A release is verified in its file: every format is read back before it is put in place."""

import datetime as dt
import sqlite3
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import xlsxwriter

import shoal
from shoal.errors import PromiseError
from shoal.io.limits import LIMITS
from shoal.io.raw_reader import read_written
from shoal.io.write import write_table
from shoal.release import verified_write

FILES = ["csv", "tsv", "csv.gz", "csv.zst", "jsonl", "jsonl.gz", "parquet", "arrow", "xlsx"]
TARGETS = [*FILES, "db"]
MODELS = [shoal.LDiversity(2, kind="distinct"), shoal.TCloseness(0.9)]


def target_of(folder, ending):
    """The path of a release, or the URL of its table."""
    if ending == "db":
        return f"sqlite:///{folder}/safe.db?table=t"
    return str(folder / f"safe.{ending}")


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(1)
    n = 60
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "height": rng.normal(170, 9, n).round(1),
            "sex": rng.choice(["m", "f"], n),
            "born": [dt.date(1960 + i % 40, 1 + i % 12, 1 + i % 28) for i in range(n)],
            "illness": rng.choice(["flu", "cold", "gout", "ache"], n),
            "cost": rng.normal(0, 1, n),
            "note": ["x"] * n,
        }
    )
    return shoal.anonymize(
        frame,
        5,
        quasi_identifiers=["age", "height", "sex", "born"],
        sensitive=["illness", "cost"],
        insensitive="note",
        privacy=[
            shoal.LDiversity(2, kind="distinct"),
            shoal.TCloseness(0.9, column="illness"),
            shoal.TCloseness(0.9, distance="ordered", column="cost"),
        ],
        algorithm="mondrian",
        seed=1,
    )


@pytest.mark.parametrize("ending", TARGETS)
def test_a_written_release_carries_the_verification_of_its_file(release, tmp_path, ending):
    written = release.write(target_of(tmp_path, ending))
    found, before = written.verification, release.verification
    assert found is not before
    assert (found.n_rows, found.n_groups) == (before.n_rows, before.n_groups)
    for mine, other in zip(found.checks, before.checks, strict=True):
        assert (mine.name, mine.holds) == (other.name, True)
        assert mine.measured == pytest.approx(other.measured)


@pytest.mark.parametrize("style", ["bounds", "struct", "mean"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_every_style_of_numbers_is_found_in_the_file(tmp_path, style, ending):
    frame = pl.DataFrame({"age": range(20), "zip": ["a", "b"] * 10})
    made = shoal.anonymize(
        frame, 4, quasi_identifiers=["age", "zip"], algorithm="mondrian", style={"numeric": style}
    )
    if (style, ending) == ("struct", "csv"):
        with pytest.raises(shoal.DataError, match="CSV cannot hold column 'age'"):
            made.write(tmp_path / "safe.csv")
    else:
        assert made.write(tmp_path / f"safe.{ending}").verification.smallest_group >= 4


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow])
def test_a_release_of_any_frame_can_be_written(release, tmp_path, convert):
    other = replace(release, frame=convert(release.frame))
    assert other.write(tmp_path / "safe.parquet").verification.holds


# -- a promise that holds in memory and not in the file ------------------------------------------


def forged(release, **columns):
    """The release with other cells, whose verification in memory nobody asked for again."""
    return replace(release, frame=release.frame.with_columns(**columns))


@pytest.mark.parametrize("ending", TARGETS)
def test_an_empty_text_and_null_do_not_make_a_file_diverse(release, tmp_path, ending):
    cells = pl.Series(["" if i % 2 else None for i in range(60)])
    target = target_of(tmp_path, ending)
    with pytest.raises(PromiseError, match=r"does not keep the promise.*l-diversity|at least 2"):
        forged(release, illness=cells).write(target)
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_a_sheet_rounds_to_one_are_one(release, tmp_path):
    # Sixteen digits are stored: both are 0.3 there, and two numbers everywhere else.
    turn = pl.int_range(pl.len()).over(list(release.schema.quasi_identifiers)) % 2
    cells = pl.when(turn == 0).then(0.1 + 0.2).otherwise(0.3)
    made = replace(
        forged(release, cost=cells), privacy=(shoal.LDiversity(2, kind="distinct", column="cost"),)
    )
    made.write(tmp_path / "safe.csv")
    with pytest.raises(PromiseError, match="does not keep the promise"):
        made.write(tmp_path / "safe.xlsx")


@pytest.mark.parametrize("ending", TARGETS)
@pytest.mark.parametrize("column", ["age", "sex", "born", "height"])
def test_a_cell_that_changes_on_its_way_to_the_file_is_noticed(
    release, tmp_path, monkeypatch, ending, column
):
    def spoil(frame):
        cells = frame.get_column(column).cast(pl.String).to_list()
        cells[7] = "somebody else"
        return frame.with_columns(pl.Series(column, cells))

    spoil_writing(monkeypatch, spoil)
    with pytest.raises(PromiseError, match="the smallest group has 1 row"):
        release.write(target_of(tmp_path, ending))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", TARGETS)
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.head(-1), "has 59 rows and the release 60"),
        (lambda frame: frame.drop("note"), "has 6 columns and the release 7"),
        (lambda frame: frame.with_columns(illness=pl.lit("flu")), "at least 2 different"),
    ],
    ids=["a row less", "a column less", "one illness"],
)
def test_a_file_that_is_not_the_release_never_appears(
    release, tmp_path, monkeypatch, ending, spoil, message
):
    spoil_writing(monkeypatch, spoil)
    with pytest.raises(PromiseError, match=message):
        release.write(target_of(tmp_path, ending))
    assert list(tmp_path.iterdir()) == []


def spoil_writing(monkeypatch, spoil):
    """Let every writer of files and databases write something else than it is given."""
    files, tables = verified_write.stage_table, verified_write.stage_sql

    def spoiled_file(group, frame, *rest, **more):
        return files(group, spoil(frame), *rest, **more)

    def spoiled_table(group, frame, *rest):
        return tables(group, spoil(frame), *rest)

    monkeypatch.setattr(verified_write, "stage_table", spoiled_file)
    monkeypatch.setattr(verified_write, "stage_sql", spoiled_table)


def test_the_previous_file_stays_when_the_new_one_breaks_a_promise(release, tmp_path):
    path = tmp_path / "safe.csv"
    path.write_text("previous")
    with pytest.raises(PromiseError):
        forged(release, illness=pl.lit("flu")).write(path)
    assert path.read_text() == "previous"


def test_a_table_of_a_database_is_rolled_back_when_it_breaks_a_promise(release, tmp_path):
    target = target_of(tmp_path, "db")
    release.write(target)
    with pytest.raises(PromiseError):
        forged(release, illness=pl.lit("flu")).write(target, if_exists="replace")
    with sqlite3.connect(tmp_path / "safe.db") as connection:
        assert connection.execute("SELECT count(DISTINCT illness) FROM t").fetchone() == (4,)
    connection.close()


def test_a_warning_about_spellings_is_that_of_the_file(release, tmp_path):
    # In memory "" and null are two spellings of nothing, in CSV they are one.
    cells = pl.Series(["flu", "cold", "", None] * 15)
    made = shoal.anonymize(
        release.frame.select("sex", "note").with_columns(illness=cells),
        5,
        quasi_identifiers="sex",
        sensitive="illness",
        insensitive="note",
        privacy=MODELS,
        algorithm="mondrian",
    )
    assert "4 values as written, but only 3" in made.warnings[0]
    assert made.write(tmp_path / "safe.csv").warnings == ()
    assert made.write(tmp_path / "safe.parquet").warnings == made.warnings


@pytest.mark.parametrize("ending", TARGETS)
def test_with_strict_a_warning_that_only_the_file_deserves_is_an_error(
    tmp_path, monkeypatch, ending
):
    def respell(frame):
        cells = frame.get_column("illness").to_list()
        cells[cells.index("flu")] = "Flu "
        return frame.with_columns(illness=pl.Series(cells))

    frame = pl.DataFrame({"sex": ["m", "f"] * 10, "illness": ["flu", "flu", "cold", "cold"] * 5})
    made = shoal.anonymize(
        frame, 5, quasi_identifiers="sex", sensitive="illness", privacy=MODELS[:1],
        algorithm="mondrian", strict=True,
    )  # fmt: skip
    assert made.warnings == ()
    spoil_writing(monkeypatch, respell)
    with pytest.raises(PromiseError, match="with strict it is not published: Column 'illness'"):
        made.write(target_of(tmp_path, ending))
    assert list(tmp_path.iterdir()) == []


# -- cells of a file as they are written --------------------------------------------------------


def written_groups(path, text, **options):
    path.write_text(text)
    return read_written(path, **options).frame.get_column("a").n_unique()


@pytest.mark.parametrize(
    ("ending", "text", "n_cells"),
    [
        ("csv", "a,b\n100,1\n100.0,1\n100.000,1\n", 3),
        ("csv", "a,b\n?,1\nNA,1\n,1\n", 3),
        ("csv", 'a,b\n"",1\n,1\n"x",1\nx,1\n', 2),
        ("csv", "a,b\n9007199254740993,1\n9007199254740992,1\n1.5,1\n", 3),
        ("tsv", "a\tb\n1\t1\n1.0\t1\n01\t1\n", 3),
        ("jsonl", '{"a":1}\n{"a":1.0}\n{"a":"1"}\n', 3),
        ("jsonl", '{"a":true}\n{"a":"true"}\n{"a":null}\n{"a":"null"}\n{"b":1}\n', 5),
        ("jsonl", '{"a":[1]}\n{"a":[1.0]}\n{"a":{"b":"1"}}\n{"a":{"b":1}}\n', 4),
        ("jsonl", '{"a":1E5}\n\n{"a":100000}\n{"a":1e5}\n', 3),
    ],
)
def test_fields_that_differ_in_the_file_differ(tmp_path, ending, text, n_cells):
    assert written_groups(tmp_path / f"table.{ending}", text) == n_cells


def test_cells_of_a_sheet_differ_by_what_is_stored(tmp_path):
    path = tmp_path / "table.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_string(0, 0, "a")
        sheet.write_number(1, 0, 1)
        sheet.write_string(2, 0, "1")
        sheet.write_boolean(3, 0, True)
        sheet.write_string(4, 0, "TRUE")
        sheet.write_string(5, 0, "true")
        sheet.write_number(6, 0, 1.5)
    assert read_written(path).frame.get_column("a").n_unique() == 6


@pytest.mark.parametrize("number", [3_000_000.5, 1e12, -1e15, 1.5e18, 1e300])
def test_numbers_of_a_sheet_beyond_the_calendar_are_read(tmp_path, number):
    path = tmp_path / "t.xlsx"
    frame = pl.DataFrame({"x": [number, 2.5, None], "day": [dt.date(2024, 2, 29)] * 3})
    frame.write_excel(path)
    read = read_written(path).frame
    assert read["x"].cast(pl.Float64).to_list() == [number, 2.5, None]
    assert read["day"].n_unique() == 1


def test_cells_of_sqlite_differ_by_storage_and_value(tmp_path):
    with sqlite3.connect(tmp_path / "table.db") as connection:
        connection.execute("CREATE TABLE t (a)")
        cells = [1, "1", 1.0, None, b"1", 9007199254740993, 9007199254740992.0]
        connection.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
    connection.close()
    table = read_written(f"sqlite:///{tmp_path}/table.db?table=t")
    assert table.frame.get_column("a").n_unique() == len(cells)


@pytest.mark.parametrize("ending", TARGETS)
def test_as_many_cells_are_read_as_were_written(tmp_path, ending):
    frame = pl.DataFrame(
        {
            "text": ["a", "A", "a b", 'q"u', "1", "1.0", "x\ny", None],
            "number": [1.5, -2.0, 1e16, 1e-7, 0.1, 0.2, 3.0, None],
            "day": [dt.date(2020, 1, 1 + i) for i in range(7)] + [None],
            "end": [1, 2, 3, 4, 5, 6, 2**40, 8],
        }
    )
    target = target_of(tmp_path, ending)
    write_table(frame, target)
    table = read_written(target)
    assert table.columns == tuple(frame.columns)
    assert table.frame.height == 8
    assert table.frame.select(pl.all().n_unique()).row(0) == (8, 8, 8, 8)


# -- every type of a sensitive column ---------------------------------------------------------


ZONE = dt.timezone(dt.timedelta(hours=2))
SENSITIVE = {
    "enumeration": pl.Series(["low", "mid", "high"], dtype=pl.Enum(["low", "mid", "high"])),
    "truth": pl.Series([True, False, None]),
    "day": pl.Series([dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(1999, 1, 1)]),
    "moment": pl.Series([dt.datetime(2020, 1, 1, 0, 0, s) for s in (0, 1, 2)]),
    "moment of a zone": pl.Series([dt.datetime(2020, 7, day, tzinfo=ZONE) for day in (1, 2, 3)]),
    "time": pl.Series([dt.time(1), dt.time(2), dt.time(3, 4, 5)]),
    "decimal": pl.Series(["1.50", "1.51", "-0.25"]).cast(pl.Decimal(12, 2)),
    "large": pl.Series([2**53, 2**53 + 1, 0]),
    "float": pl.Series([1e16, 1e-7, -0.5]),
    "narrow float": pl.Series([0.1, 1 / 3, 7e30], dtype=pl.Float32),
    "float with gaps": pl.Series([0.5, float("nan"), None]),
    "small": pl.Series([-1, 0, 1], dtype=pl.Int8),
}


# A sheet has no zones, and the writer has its own word about that.
PAIRS = [
    (kind, ending)
    for kind in SENSITIVE
    for ending in TARGETS
    if (kind, ending) != ("moment of a zone", "xlsx")
]


@pytest.mark.parametrize(("kind", "ending"), PAIRS)
def test_what_is_measured_in_the_file_is_what_was_measured_in_memory(
    release, tmp_path, ending, kind
):
    turn = pl.int_range(pl.len()).over(list(release.schema.quasi_identifiers)) % 3
    frame = release.frame.drop("note")
    column = SENSITIVE[kind].gather(frame.select(turn).to_series()).alias("cost")
    models = [shoal.LDiversity(1.5, kind="entropy", column="cost"), shoal.TCloseness(0.9)]
    if kind != "truth":
        models.append(shoal.TCloseness(0.9, distance="ordered", column="cost"))
    frame = frame.with_columns(column)
    options = {
        "quasi_identifiers": release.schema.quasi_identifiers,
        "sensitive": ["illness", "cost"],
    }
    before = shoal.verify(frame, 5, **options, privacy=models)
    assert before.holds
    made = replace(release, frame=frame, privacy=tuple(models), verification=before)
    after = made.write(target_of(tmp_path, ending)).verification
    assert after.holds
    if kind != "float with gaps":  # NaN is null in JSON and SQLite
        measured = [check.measured for check in before.checks]
        assert [check.measured for check in after.checks] == pytest.approx(measured)


# -- limits of inputs ---------------------------------------------------------------------------


@pytest.mark.parametrize("ending", FILES)
def test_a_release_of_our_own_is_read_back_whatever_the_limits_of_inputs(
    release, tmp_path, monkeypatch, ending
):
    for each in LIMITS.values():
        monkeypatch.setenv(each.variable, "1")
    assert release.write(target_of(tmp_path, ending)).verification.holds
    with pytest.raises(shoal.DataError, match="raise the limit"):
        read_written(target_of(tmp_path, ending))


def test_json_that_is_nested_too_deeply_is_refused_with_a_sentence(tmp_path):
    path = tmp_path / "deep.jsonl"
    path.write_text('{"a":' + "[" * 5000 + "]" * 5000 + "}")
    with pytest.raises(shoal.DataError, match="nested more than 64 levels"):
        read_written(path)
