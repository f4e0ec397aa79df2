"""Files as people and programs really write them: spaces, encodings, line ends, no header."""

import gzip
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError, OptionError
from shoal.hierarchy import load_hierarchy
from shoal.io import delimited
from shoal.io.delimited import mend
from shoal.io.overwrite_guard import watching_inputs
from shoal.io.raw_reader import read_written
from shoal.io.read import read_table
from shoal.io.source import Utf8Stream, check_encoding, guess_encoding

TEXT = "name;ort;wert\nMüller;Köln;1,5\nGroß;Füssen;2\nRené;Orléans;0,25\n"
ROWS = [("Müller", "Köln", 1.5), ("Groß", "Füssen", 2.0), ("René", "Orléans", 0.25)]


@pytest.fixture
def reading(tmp_path):
    """Write bytes, read them, and return the table with what was said about it."""

    def read(data, name="t.csv", **options):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        with watching_inputs() as watch:
            frame = read_table(path, **options)
            return frame, " ".join(watch.notes)

    return read


# Encodings


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_an_encoding_is_found_and_said(reading, encoding):
    frame, said = reading(TEXT.encode(encoding))
    assert frame.rows() == ROWS
    assert ("was read as" in said) is (encoding != "utf-8-sig")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "cp850", "mac_roman", "utf-32"])
def test_an_encoding_that_is_given_is_used_and_nothing_is_said(reading, encoding):
    frame, said = reading(TEXT.encode(encoding), encoding=encoding, decimal=",")
    assert frame.rows() == ROWS
    assert said == ""


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("имя,деньги\nИлья,Юля\n", "cp1251"),
        ("name,ort\nMüller,Köln\n", "cp850"),
        ("imię,miasto\nŁukasz,Wrocław\nPaweł,Łódź\n", "cp1250"),
        ("名前,市\n太郎,東京\n", "shift_jis"),
    ],
)
def test_what_is_not_western_european_is_asked_for_instead_of_guessed(reading, text, encoding):
    with pytest.raises(DataError, match="say what it is in, as in --encoding"):
        reading(text.encode(encoding))
    frame, _ = reading(text.encode(encoding), encoding=encoding)
    assert frame.rows() == [tuple(line.split(",")) for line in text.splitlines()[1:]]


def test_a_letter_that_comes_after_millions_of_bytes_is_still_read(reading):
    start = "a;b\n" + "x;1\n" * 3_000_000
    frame, said = reading((start + "é;2\n").encode("cp1252"))
    assert frame["a"][-1] == "é"
    assert "cp1252" in said


def test_utf8_with_one_damaged_letter_is_refused_rather_than_read_as_something_else(reading):
    with pytest.raises(DataError, match=r"line 3\)"):
        reading("a,b\né,ü\n".encode() + b"\xff,1\n" + "ö,ß\n".encode())


@given(
    text=st.text(alphabet="abé€ü,\n\x81ł日", max_size=60),
    encoding=st.sampled_from(["utf-8", "cp1252", "utf-16", "shift_jis", "gb18030"]),
    step=st.integers(1, 7),
)
def test_bytes_in_any_portions_become_the_same_text(text, encoding, step):
    class Slow(io.BytesIO):
        def read(self, size=-1, /):
            return super().read(step if size < 0 else min(step, size))

    data = text.encode(encoding, errors="replace")
    stream = Utf8Stream(Slow(data), name="'t'", encoding=encoding)
    found = b"".join(iter(lambda: stream.read(5), b"")).decode()
    assert found == data.decode(encoding)


def test_a_wrong_encoding_is_one_sentence():
    for wrong in ("utf-9", "rot13", "zlib", "unicode_escape", "a\0b", ""):
        with pytest.raises(OptionError, match="There is no encoding"):
            check_encoding(wrong)
    assert check_encoding("Latin1") == "iso8859-1"
    assert guess_encoding("Müller, d\u2019Arc, 5 €, 20 °C".encode("cp1252")) == "cp1252"


def test_bytes_that_do_not_fit_the_encoding_given_are_refused_with_their_place(reading):
    with pytest.raises(DataError, match=r"not text in the encoding shift_jis \(byte 7\)"):
        reading(b"a,b\n1,\xff\xff\n", encoding="shift_jis")


def test_encodings_work_for_compressed_files_json_lines_and_hierarchies(reading, tmp_path):
    frame, said = reading(gzip.compress(TEXT.encode("cp1252")), name="t.csv.gz")
    assert frame.rows() == ROWS
    assert "cp1252" in said
    lines = '{"a":"é"}\n{"a":"ü"}\n'.encode("cp1252")
    for encoding in ("cp1252", None):
        frame, said = reading(lines, name="t.jsonl", encoding=encoding)
        assert frame["a"].to_list() == ["é", "ü"]
        assert ("read as cp1252" in said) is (encoding is None)
    (tmp_path / "tree.csv").write_bytes("Köln;Rhein;*\nMünchen;Isar;*\n".encode("cp1252"))
    with watching_inputs() as watch:
        assert set(load_hierarchy(tmp_path / "tree.csv").leaf_labels) == {"Köln", "München"}
        assert "read as cp1252" in " ".join(watch.notes)
        assert [how.encoding for how in watch.how_read.values()] == ["utf-8"]


# Spaces


def test_spaces_around_cells_names_and_marks_are_taken_away_and_said(reading):
    frame, said = reading('age , zip,\tname \n 34, "47, 906" ,Ada \n61 ,"47304 ",\xa0Ben\n   \n')
    assert frame.to_dict(as_series=False) == {
        "age": [34, 61],
        "zip": ["47, 906", "47304"],
        "name": ["Ada", "Ben"],
    }
    assert said == f"In {frame_name(reading)} spaces around cells were taken away."


def frame_name(reading):
    return repr(str(reading.__closure__[0].cell_contents / "t.csv"))


def test_markers_of_missing_values_are_found_among_spaces(reading):
    frame, _ = reading("a, b\n1, ?\n2, x\n3,  \n", missing_values=["", " ?"])
    assert frame["b"].to_list() == [None, "x", None]


def test_a_tidy_file_is_read_without_a_word(reading):
    assert reading('a,b\n"New York",x y\n"a ""b"" c",\n')[1] == ""


@given(
    rows=st.lists(
        st.tuples(
            *[st.sampled_from(["x", "", "a b", ' "q" ', " x", "a,b", "x\ny", "x\ry", "\t"])] * 3
        ),
        min_size=1,
        max_size=8,
    )
)
def test_verification_still_tells_apart_cells_that_differ_in_spaces(rows):
    frame = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row")
    data = frame.write_csv(quote_style="always").encode()
    read = delimited.parse_delimited(
        data,
        name="'t'",
        dialect=delimited.Dialect(","),
        missing_values=(),
        typed=False,
    )
    assert read.cast(pl.String).rows() == rows


def test_spaces_between_delimiter_and_mark_stay_in_the_cell_where_cells_are_compared(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\nx, "y"\nx,"y"\n')
    cells = read_written(tmp_path / "t.csv").frame["b"].cast(pl.String).to_list()
    assert cells == [" y", "y"]


def test_a_stray_mark_is_no_matter_of_spaces(reading):
    for row in ('x, "y" z', 'x, y "z"', 'x z "y",1'):
        with pytest.raises(DataError, match="line 2: a quotation mark"):
            reading(f"a,b\n{row}\n")


# Line ends


@pytest.mark.parametrize("ends", ["\r", "\r\n", "\n", "\r\n\r", "\n\r\n"])
def test_line_ends_may_be_of_any_kind_and_mixed(reading, ends):
    lines = ["a,b", "1,x", '2,"y\rz"', "3,w"]
    kinds = [ends[:1], ends[-1:], "\r\n" if "\r\n" in ends else ends[:1]]
    data = "".join(line + kinds[place % 3] for place, line in enumerate(lines))
    frame, _ = reading(data.encode())
    assert frame.rows() == [(1, "x"), (2, "y\rz"), (3, "w")]


@given(
    data=st.lists(st.sampled_from([b"a", b",", b'"', b" ", b"\r", b"\n", b"\t"]), max_size=30),
    last=st.booleans(),
)
def test_mending_keeps_every_byte_but_line_ends_and_every_cell(data, last):
    joined = b"".join(data)
    mended = mend(joined, ",", last=last)
    assert len(mended) == len(joined)
    assert sorted(mended.replace(b"\r", b"\n")) == sorted(joined.replace(b"\r", b"\n"))


def test_a_return_at_the_end_of_a_piece_may_be_half_of_a_line_end(monkeypatch, reading):
    for size in range(1, 12):
        monkeypatch.setattr(delimited, "_CHUNK", size)
        assert reading(b"a,b\r\n1,2\r\n3,4\r\n")[0].rows() == [(1, 2), (3, 4)]


# Names


def test_names_that_repeat_get_a_number_and_it_is_said(reading):
    frame, said = reading("age,age, age,age_2,\n1,2,3,4,5\n")
    assert frame.columns == ["age", "age_3", "age_4", "age_2", "column_5"]
    assert "(columns 1 and 2); _3 was added to the name of column 2" in said


def test_without_a_header_columns_are_numbered_and_no_row_is_lost(reading):
    frame, said = reading("34,Berlin\n61,Paris\n", header=False)
    assert frame.to_dict(as_series=False) == {"column_1": [34, 61], "column_2": ["Berlin", "Paris"]}
    assert said == ""


@pytest.mark.parametrize("first", ["34,Berlin", "x,Paris", "a@b.org,x"])
def test_a_first_line_of_data_is_noticed_without_showing_it(reading, first):
    _, said = reading(f"{first}\n61,Paris\n47,Rome\n")
    assert "looks like data rather than column names" in said
    assert "--no-header" in said
    for cell in first.split(","):
        assert cell not in said.replace("t.csv", "")


def test_sheets_without_a_header_and_with_twins_are_read(reading, tmp_path):
    frame = pl.DataFrame({"a": [" x", "y"], "b": [1, 2]})
    frame.write_excel(tmp_path / "out.xlsx")
    data = (tmp_path / "out.xlsx").read_bytes()
    assert reading(data, name="t.xlsx", header=False)[0].columns == ["column_1", "column_2"]
    found, said = reading(data, name="t.xlsx")
    assert found.rows() == [("x", 1), ("y", 2)]
    assert "spaces around cells" in said


# Decimal commas


def test_decimal_commas_are_found_where_no_comma_separates_cells(reading):
    frame, said = reading("a;b\n1,5;x\n2;y\n-0,25;z\n")
    assert frame["a"].to_list() == [1.5, 2.0, -0.25]
    assert "decimal comma" in said
    assert reading("a;b\n1,5;x\n2;y\n", decimal=".")[0]["a"].to_list() == ["1,5", "2"]
    assert reading('a,b\n"1,5",x\n2,y\n')[0]["a"].to_list() == ["1,5", "2"]
    assert reading('a,b\n"1,5",x\n2,y\n', decimal=",")[0]["a"].to_list() == [1.5, 2.0]


@pytest.mark.parametrize("value", ["01,5", "1,5,2", "1.000,5", "1,", ",5", "1,5 m", "1,50"])
def test_commas_that_may_be_something_else_keep_the_column_text(reading, value):
    frame, _ = reading(f"a;b\n1,5;x\n{value};y\n")
    assert frame["a"].to_list() == ["1,5", value]


def test_a_wrong_decimal_sign_is_one_sentence(reading):
    with pytest.raises(OptionError, match=r"must be ',' or '\.'"):
        reading("a\n1\n", decimal=";")


@given(
    rows=st.lists(
        st.tuples(*[st.text(alphabet="xy \t\xa0", max_size=4)] * 2), min_size=1, max_size=6
    ),
    delimiter=st.sampled_from(",;|"),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_no_cell_keeps_a_blank_at_its_ends(rows, delimiter, ends):
    lines = [f"{a}{delimiter}{b}" for a, b in [("p", "q"), *rows]]
    frame = delimited.parse_delimited(
        ends.join(lines).encode(),
        name="'t'",
        dialect=delimited.Dialect(delimiter),
        missing_values=(),
    )
    assert frame.cast(pl.String).rows() == [
        (a.strip(" \t\xa0"), b.strip(" \t\xa0")) for a, b in rows
    ]
