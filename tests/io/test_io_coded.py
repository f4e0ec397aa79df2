"""Facts about text as codes between two files, and about reading only what is needed."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.io import delimited
from shoal.io.columns import decode_text, is_coded
from shoal.io.delimited import Dialect, parse_delimited
from shoal.io.read import guess_rows, read_table
from shoal.io.write import write_table


def parse(text, **options):
    return parse_delimited(
        text.encode(), name="'t.csv'", dialect=Dialect(","), missing_values=("",), **options
    )


CELLS = st.sampled_from(["", "a", "b", "007", "7", "1.5", "1.50", "2020-01-01", "é", '"', "x,y"])


@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=40),
    chunk=st.sampled_from([1, 16, 64, 1 << 24]),
)
def test_pieces_and_codes_give_the_table_that_one_piece_of_text_gives(rows, chunk):
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")
    text = frame.write_csv(quote_style="always")
    whole = parse(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_CHUNK", chunk)
        assert parse(text).equals(whole)
        coded = parse(text, coded=True)
    assert decode_text(coded).equals(whole)
    assert decode_text(coded).schema == whole.schema


def test_text_that_repeats_itself_is_codes_and_other_text_is_not(tmp_path):
    frame = pl.DataFrame(
        {"sex": ["f", "m"] * 2000, "id": [f"p{n}" for n in range(4000)], "n": range(4000)}
    )
    for name in ("t.csv", "t.parquet", "t.arrow"):
        write_table(frame, tmp_path / name)
        back = read_table(tmp_path / name, coded=True)
        assert is_coded(back["sex"].dtype)
        assert back["id"].dtype == pl.String
        assert decode_text(back).equals(frame)
        assert read_table(tmp_path / name).equals(frame)


@pytest.mark.parametrize("late", ["x", "007", "99999999999999999999"])
def test_numbers_that_turn_out_to_be_text_late_are_the_text_they_were(monkeypatch, late):
    monkeypatch.setattr(delimited, "_CHUNK", 8192)
    values = [str(n) for n in range(5000)]
    text = "id,y\n" + "".join(f"{value},-\n" for value in values)
    assert parse(text)["id"].to_list() == list(range(5000))
    assert parse(f"{text}{late},-\n")["id"].to_list() == [*values, late]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow", "t.jsonl", "t.xlsx"])
def test_coded_text_is_written_as_text(tmp_path, name):
    frame = pl.DataFrame({"sex": ["f", None, "m"], "n": [1, 2, 3]})
    write_table(frame, tmp_path / "in.csv")
    coded = read_table(tmp_path / "in.csv", coded=True)
    assert is_coded(coded["sex"].dtype)
    write_table(coded, tmp_path / name)
    back = read_table(tmp_path / name)
    assert back.schema["sex"] == pl.String
    assert back["sex"].to_list() == ["f", None, "m"]


def test_a_categorical_of_the_user_stays_one(tmp_path):
    frame = pl.DataFrame({"sex": pl.Series(["f", "m"], dtype=pl.Categorical)})
    write_table(frame, tmp_path / "in.parquet")
    coded = read_table(tmp_path / "in.parquet", coded=True)
    write_table(coded, tmp_path / "out.parquet")
    assert read_table(tmp_path / "out.parquet").schema == read_table(tmp_path / "in.parquet").schema


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_a_function_picks_the_columns_from_all_names(tmp_path, name):
    write_table(pl.DataFrame({"a": [1], "b": [2], "c": [3]}), tmp_path / name)
    asked = []

    def pick(names):
        asked.append(list(names))
        return names[1:]

    assert read_table(tmp_path / name, columns=pick).columns == ["b", "c"]
    assert asked == [["a", "b", "c"]]


def test_columns_are_picked_before_any_row_is_read():
    def refuse(names):
        raise DataError(f"looked at {names}")

    with pytest.raises(DataError, match=r"looked at \['a', 'b'\]"):
        parse("a,b\n1,2\n1,2,3\n", columns=refuse)


def test_a_row_is_checked_even_where_its_cells_are_not_needed():
    with pytest.raises(DataError, match="line 3: the row has 3 fields"):
        parse("a,b\n1,2\n1,2,3\n", columns=["a"])


def test_blank_lines_are_skipped_where_one_column_of_several_is_read():
    assert parse("a,b\n1,2\n\n3,4\n", columns=["b"]).rows() == [(2,), (4,)]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet"])
def test_the_rows_of_a_file_are_guessed_without_reading_it(tmp_path, name):
    write_table(pl.DataFrame({"a": ["text"] * 10_000, "b": [12345] * 10_000}), tmp_path / name)
    assert guess_rows(str(tmp_path / name)) == pytest.approx(10_000, rel=0.01)


def test_nobody_knows_the_rows_of_a_stream_or_a_workbook(tmp_path):
    write_table(pl.DataFrame({"a": [1]}), tmp_path / "t.xlsx")
    assert guess_rows("-") is None
    assert guess_rows(str(tmp_path / "t.xlsx")) is None


def test_reading_says_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_CHUNK", 1 << 14)
    write_table(pl.DataFrame({"a": ["text"] * 200_000}), tmp_path / "t.csv")
    told = []
    read_table(tmp_path / "t.csv", progress=lambda *args: told.append(args))
    done = [rows for rows, _, _ in told]
    assert done == sorted(done)
    assert done[-1] == 200_000
    assert told[len(told) // 2][1] == pytest.approx(200_000, rel=0.3)
