"""Facts about CSV files: what is read, what type it gets, and what is refused."""

import datetime as dt
import io
import sys

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, OptionError
from shoal.io import delimited
from shoal.io.delimited import Dialect, parse_delimited, sniff_delimiter
from shoal.io.read import read_table
from shoal.io.write import write_table


def parse(data, *, delimiter=None, missing_values=("",), **options):
    raw = data.encode() if isinstance(data, str) else data
    dialect = Dialect(delimiter=delimiter)
    return parse_delimited(
        raw, name="'t.csv'", dialect=dialect, missing_values=missing_values, **options
    )


def column(*values, **options):
    return parse("x,y\n" + "".join(f"{value},-\n" for value in values), **options)["x"]


# What type a column gets


def test_canonical_integers_become_integers():
    assert column("0", "-7", "", "9223372036854775807").dtype == pl.Int64
    assert column("0", "-7", "").to_list() == [0, -7, None]


@pytest.mark.parametrize("odd", ["007", "+7", "1_000", "0x1f", "٣", "1e5"])
def test_a_single_value_that_is_no_canonical_number_keeps_the_column_text(odd):
    for values in (("1", odd), (odd, "1")):
        assert column(*values).to_list() == list(values)


def test_codes_with_leading_zeros_stay_text():
    assert column("01234", "47906").to_list() == ["01234", "47906"]
    assert column("47906", "01234").to_list() == ["47906", "01234"]
    assert column("1.5", "01.5").dtype == pl.String


def test_decimal_numbers_become_floats():
    assert column("1.5", "-2", "", "3.25e-7", "1e+20").to_list() == [1.5, -2.0, None, 3.25e-7, 1e20]
    assert column("1.50", "2.25", "3.00").to_list() == [1.5, 2.25, 3.0]


def test_a_zero_with_a_minus_is_the_number_zero():
    assert column("-0.0", "0.0", "1.5").to_list() == [0.0, 0.0, 1.5]
    assert column("-0", "0", "1.5").to_list() == [0.0, 0.0, 1.5]
    assert column("-0.0", "0.0", "0.00").to_list() == ["-0.0", "0.0", "0.00"]


def test_different_texts_stay_different_unless_the_column_is_said_to_be_numeric():
    assert column("250.1", "250.10").to_list() == ["250.1", "250.10"]
    assert column("250.1", "250.10", numeric=["x"]).to_list() == [250.1, 250.1]


def test_codes_that_look_like_powers_of_ten_stay_text():
    assert column("12E4", "13E2").to_list() == ["12E4", "13E2"]


def test_integers_too_long_for_a_float_stay_text():
    assert column("12345678901234567890", "1").dtype == pl.String
    assert column("9007199254740993", "1.5").dtype == pl.String


def test_numbers_too_large_for_a_float_stay_text():
    assert column("1.5e999", "1.5").dtype == pl.String


def test_iso_dates_become_dates_and_impossible_ones_keep_the_column_text():
    assert column("2020-02-29", "").to_list() == [dt.date(2020, 2, 29), None]
    assert column("2020-02-28", "2021-02-29").dtype == pl.String
    assert column("2020-02-28", "2020-2-8").dtype == pl.String


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2020-02-29T12:30:15", dt.datetime(2020, 2, 29, 12, 30, 15)),
        ("2020-02-29 12:30:15.250", dt.datetime(2020, 2, 29, 12, 30, 15, 250_000)),
        ("2020-02-29 12:30", dt.datetime(2020, 2, 29, 12, 30)),
        ("2020-02-29T12:30:15Z", dt.datetime(2020, 2, 29, 12, 30, 15, tzinfo=dt.UTC)),
        ("1400-02-28T12:30:15", dt.datetime(1400, 2, 28, 12, 30, 15)),
    ],
)
def test_iso_datetimes_become_datetimes(text, value):
    assert column(text, "").to_list() == [value, None]


@pytest.mark.parametrize(
    "other", ["2020-02-29", "2020-02-30T12:30:15", "2020-02-29 12:30:15", "2020-02-29T12:30:60"]
)
def test_a_value_unlike_the_first_datetime_keeps_the_column_text(other):
    assert column("2020-02-29T12:30:15", other).dtype == pl.String


def test_nanoseconds_are_kept_where_they_fit():
    values = column("2020-01-01T00:00:00.123456789")
    assert values.dtype == pl.Datetime("ns")
    assert values.dt.nanosecond().to_list() == [123456789]
    assert column("1400-01-01T00:00:00.123456789").dtype == pl.String


def test_times_with_an_offset_stay_text():
    assert column("2020-01-01T00:00:00+02:00").dtype == pl.String


def test_a_column_without_values_is_text():
    assert column("", "").dtype == pl.String


# Missing values


def test_markers_are_missing_values_and_do_not_decide_the_type():
    assert column("1", "?", "", missing_values=("", "?")).to_list() == [1, None, None]


def test_an_empty_field_is_text_when_it_is_not_a_marker():
    assert column("a", "", "NA", missing_values=("NA",)).to_list() == ["a", "", None]
    assert column("a", "", missing_values=()).to_list() == ["a", ""]


# Delimiters, quotes, line ends, header


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter):
    text = "name,n\nA,1\nB,2\n".replace(",", delimiter)
    assert sniff_delimiter(text.encode()) == delimiter
    assert parse(text).columns == ["name", "n"]


def test_characters_inside_fields_do_not_mislead_the_search_for_the_delimiter():
    assert sniff_delimiter(b"a;b\n1,5;2\n2,5;3\n") == ";"
    assert sniff_delimiter(b'a|b\n"x,y,z"|1\n"x,y"|2\n') == "|"
    assert sniff_delimiter(b"name|n\nA,B|1\nC,D|2\n") == "|"
    assert sniff_delimiter(b"only\n1\n2\n") == ","


def test_a_ragged_file_still_gets_the_delimiter_of_its_header():
    with pytest.raises(DataError, match="line 2: the row has 1 field where the header has 2"):
        parse("a;b\n1\n")


def test_a_delimiter_given_is_used():
    assert parse("a:b\n1:2\n", delimiter=":").row(0) == (1, 2)


@pytest.mark.parametrize("delimiter", ["", "::", '"', "\n", "é"])
def test_a_delimiter_is_one_plain_character(tmp_path, delimiter):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(OptionError, match="delimiter must be one ASCII character"):
        read_table(tmp_path / "t.csv", delimiter=delimiter)


def test_quoted_fields_hold_delimiters_line_ends_and_quotes():
    frame = parse('a,b\n"x, ""y""\nz",1\n"",2\r\n"""",3\n')
    assert frame["a"].to_list() == ['x, "y"\nz', None, '"']


def test_windows_line_ends_are_not_part_of_the_values():
    assert parse('a,b\r\n1,"x"\r\n2,y\r\n').rows() == [(1, "x"), (2, "y")]


def test_the_last_line_needs_no_line_end():
    assert parse("a,b\n1,2").rows() == [(1, 2)]
    assert parse('a,b\n1,"x"').rows() == [(1, "x")]


def test_blank_lines_are_nothing_in_a_table_and_missing_values_in_a_single_column():
    assert parse("\n\na,b\n1,2\n\n\r\n,\n3,4\n\n\n").rows() == [(1, 2), (None, None), (3, 4)]
    assert parse("a\n1\n\n2\n").rows() == [(1,), (None,), (2,)]


def test_a_header_with_byte_order_mark_and_letters_beyond_ascii_is_read():
    assert parse(b"\xef\xbb\xbf\xc3\xa9t\xc3\xa9,\xe5\xb9\xb4\n1,2\n").columns == ["été", "年"]


def test_a_column_without_a_name_gets_one():
    assert parse(",age\n1,2\n").columns == ["column_1", "age"]


# What is refused


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\n \r\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"a,b\n", "a header but no rows"),
        (b"a,b", "a header but no rows"),
        (b"a,b\n\n\n", "a header but no rows"),
        (b"a,b\n1,2\n3\n", "line 3: the row has 1 field where the header has 2"),
        (b"\n\na,b\n1,2\n\n3,4,5\n", "line 6: the row has 3 fields where the header has 2"),
        (b'a,b\n"x\ny",2\n3\n', "line 4: the row has 1 field"),
        (b"a\n1,2\n", "line 2: the row has 2 fields where the header has 1"),
        (b'a,b\n1,2\n3,5" x\n3,6" x\n', "line 3: a quotation mark stands in the middle"),
        (b'a,b\n1,"x"y\n', "line 2: a quotation mark stands in the middle"),
        (b'a,b\n1,2\n1,"2\n3,x\n', "line 3: a quotation mark is opened and never closed"),
        (b'"a,b\n1,2\n', "header is never closed"),
        (b"a,b\n1,2\n3,\x81\n", r"not UTF-8 text \(byte 11, line 3\); say what it is in"),
        (b"a,b\n1,\0\0\0\0\n", "holds zero bytes"),
        (b"a" * 200_000 + b"\n1\n", "cannot be read as a header"),
    ],
)
def test_bad_files_are_refused_with_the_line(data, message):
    with pytest.raises(DataError, match=message) as caught:
        parse(data)
    assert str(caught.value).count("\n") == 0
    assert "t.csv" in str(caught.value)


def test_files_longer_than_a_chunk_are_checked_to_the_end(monkeypatch):
    monkeypatch.setattr(delimited, "_CHUNK", 64)
    good = "a,b\n" + '"x\n' + "y" * 200 + '",1\n' + "z,2\n" * 100
    assert parse(good).height == 101
    with pytest.raises(DataError, match="line 104: the row has 1 field"):
        parse(good + "z\n")
    with pytest.raises(DataError, match="line 104: a quotation mark is opened"):
        parse(good + 'z,"\n' + "more,1\n" * 50)
    with pytest.raises(DataError, match="line 104"):
        parse(good.encode() + b"\x81,1\n")


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@pytest.mark.parametrize("delimiter", [" ", "\t"])
def test_a_delimiter_between_quotation_marks_is_a_blank_of_the_cell(delimiter):
    text = f'"a"{delimiter}"b"\n"x"{delimiter}"{delimiter}"\n"y{delimiter}"{delimiter}"z"\n'
    back = parse(text.encode(), delimiter=delimiter, missing_values=())
    assert back.rows() == [("x", ""), ("y", "z")]


@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8),
    chunk=st.sampled_from([1, 7, 1 << 24]),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
)
def test_a_written_text_table_is_read_back_value_for_value(rows, chunk, delimiter):
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")
    text = frame.write_csv(separator=delimiter, quote_style="always").encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_CHUNK", chunk)
        back = parse(text, delimiter=delimiter, missing_values=())
    for before, after in zip(frame.get_columns(), back.get_columns(), strict=True):
        if after.dtype == pl.String:
            assert after.to_list() == [text.strip(" \t\xa0") for text in before]
        else:  # typed: as many different values as there were texts
            assert after.n_unique() == before.str.strip_chars(" \t\xa0").n_unique()


# Standard streams and files


def test_a_dash_reads_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;2\n")))
    assert read_table("-").rows() == [(1, 2)]


def test_a_dash_writes_standard_output(capfdbinary):
    write_table(pl.DataFrame({"a": [1], "b": ["x,y"]}), "-", delimiter=";")
    assert capfdbinary.readouterr().out == b"a;b\n1;x,y\n"


def test_columns_are_selected_and_unknown_ones_get_a_suggestion(tmp_path):
    (tmp_path / "t.csv").write_text("age,zip\n1,2\n")
    assert read_table(tmp_path / "t.csv", columns=["zip"]).columns == ["zip"]
    with pytest.raises(DataError, match=r"no column 'zpi'.*Did you mean 'zip'"):
        read_table(tmp_path / "t.csv", columns=["zpi"])
