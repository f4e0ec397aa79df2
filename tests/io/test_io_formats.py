"""Facts about the file formats: what goes out comes back, and damage is named."""

import datetime as dt
import gzip
import io
import json
import os

import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import zstandard

import shoal
from shoal.app.steps.open import kind_of
from shoal.errors import DataError, OptionError
from shoal.io.atomic import sha256_of
from shoal.io.formats import ENDINGS, FORMATS, FileFormat, detect_format
from shoal.io.raw_reader import read_written
from shoal.io.read import read_table
from shoal.io.write import write_table

FRAME = pl.DataFrame(
    {
        "age": [39, None, 50],
        "zip": ["01234", "47906", None],
        "rate": [0.1, 2.5, None],
        "born": [dt.date(1980, 2, 29), None, dt.date(1970, 1, 1)],
        "seen": [dt.datetime(2020, 1, 1, 12, 30, 15), None, dt.datetime(2021, 5, 6)],
        "note": ['say "hi", ok', "=1+1", "línea\n2"],
    }
)
EVERY = [
    "t.csv", "t.txt", "t.tsv", "t.csv.gz", "t.csv.zst", "t.tsv.gz", "t.parquet", "t.arrow",
    "t.feather", "t.ipc", "t.jsonl", "t.ndjson", "t.jsonl.gz", "t.ndjson.zst", "T.CSV.GZ",
]  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_every_format_gives_back_the_table(tmp_path, name):
    write_table(FRAME, tmp_path / name)
    assert read_table(tmp_path / name).equals(FRAME)


def test_excel_gives_back_the_table_with_text_that_stays_text(tmp_path):
    write_table(FRAME, tmp_path / "t.xlsx")
    back = read_table(tmp_path / "t.xlsx")
    assert back.with_columns(pl.col("seen").cast(pl.Datetime("us"))).equals(FRAME)


def test_excel_keeps_every_digit_of_long_numbers(tmp_path):
    long = 9_007_199_254_740_993
    write_table(pl.DataFrame({"id": [long, 1]}), tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx")["id"].to_list() == [str(long), "1"]


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(FRAME, tmp_path / name)
    assert sha256_of(tmp_path / "a.csv.gz") == sha256_of(tmp_path / "b.csv.gz")


def test_compression_is_what_it_says(tmp_path):
    write_table(FRAME, tmp_path / "t.csv.gz")
    write_table(FRAME, tmp_path / "t.csv.zst")
    plain = FRAME.write_csv().encode()
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == plain
    reader = zstandard.ZstdDecompressor().decompressobj()
    assert reader.decompress((tmp_path / "t.csv.zst").read_bytes()) == plain


def test_compressed_parts_in_a_row_are_read_as_one_file(tmp_path):
    for name, compress in (("t.csv.gz", gzip.compress), ("t.csv.zst", zstandard.compress)):
        (tmp_path / name).write_bytes(compress(b"a,b\n1,2\n") + compress(b"3,4\n"))
        assert read_table(tmp_path / name).rows() == [(1, 2), (3, 4)]


def test_a_compressed_file_is_recognised_without_its_suffix(tmp_path):
    (tmp_path / "t.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read_table(tmp_path / "t.csv").rows() == [(1, 2)]


def test_a_format_can_be_given_in_words(tmp_path):
    write_table(FRAME, tmp_path / "table", format="jsonl.gz")
    assert read_table(tmp_path / "table", format="jsonl").equals(FRAME)
    assert detect_format("-").name == "csv"
    assert detect_format("x.dat", "feather").name == "arrow"
    assert detect_format("x.csv.gz", "tsv").compression == "gz"


def test_lists_and_structs_in_parquet_are_read(tmp_path):
    frame = pl.DataFrame({"x": [1], "tags": [["a", "b"]], "s": [{"low": 1, "high": 2}]})
    write_table(frame, tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").equals(frame)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx"])
def test_flat_formats_refuse_nested_columns_by_name(tmp_path, name):
    with pytest.raises(DataError, match="cannot hold column 'tags'"):
        write_table(pl.DataFrame({"tags": [["a"]]}), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_sheet_too_long_for_excel_is_refused(tmp_path):
    with pytest.raises(DataError, match="An Excel sheet holds 1,048,575 rows"):
        write_table(pl.DataFrame({"x": pl.zeros(1_048_576, eager=True)}), tmp_path / "t.xlsx")


def test_an_arrow_stream_is_read_too(tmp_path):
    FRAME.write_ipc_stream(tmp_path / "t.arrow")
    assert read_table(tmp_path / "t.arrow").equals(FRAME)


# Excel and JSON lines made elsewhere


def sheet(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_markers_in_excel_and_json_are_missing_and_do_not_decide_the_type(tmp_path):
    path = sheet(tmp_path / "t.xlsx", [["age", "code"], [39, "07"], ["?", "?"], [41, ""]])
    back = read_table(path, missing_values=("", "?"))
    assert back.to_dict(as_series=False) == {"age": [39, None, 41], "code": ["07", None, None]}
    (tmp_path / "t.jsonl").write_text('{"age": 39, "code": "7"}\n\n{"age": "?", "code": ""}\n')
    back = read_table(tmp_path / "t.jsonl", missing_values=("", "?"))
    assert back.to_dict(as_series=False) == {"age": [39, None], "code": ["7", None]}


def test_every_row_of_a_sheet_decides_the_type(tmp_path):
    path = sheet(tmp_path / "t.xlsx", [["x"], *([n] for n in range(2000)), ["text"]])
    assert read_table(path)["x"].to_list()[-1] == "text"


def test_two_columns_of_one_name_in_a_sheet_are_told_apart(tmp_path):
    path = sheet(tmp_path / "t.xlsx", [["a", "a", " a"], [1, 2, 3]])
    assert read_table(path).rows(named=True) == [{"a": 1, "a_2": 2, "a_3": 3}]
    assert read_written(path).columns == ("a", "a_2", "a_3")


def test_a_sheet_column_without_a_name_gets_one(tmp_path):
    assert read_table(sheet(tmp_path / "t.xlsx", [["a", None], [1, 2]])).columns == [
        "a",
        "column_2",
    ]


@pytest.mark.parametrize(("rows", "message"), [([], "is empty"), ([["a", "b"]], "no rows")])
def test_a_sheet_without_rows_is_refused(tmp_path, rows, message):
    with pytest.raises(DataError, match=message):
        read_table(sheet(tmp_path / "t.xlsx", rows))


def test_keys_that_some_json_lines_lack_are_missing_values(tmp_path):
    lines = [{"a": n} for n in range(300)] + [{"b": "late"}]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    back = read_table(tmp_path / "t.jsonl")
    assert back.row(-1) == (None, "late")


@pytest.mark.parametrize(
    ("text", "line"), [('{"a":1}\n{"a":\n', 2), ('{"a":1}\n\n[1]\n', 3), ("secret\n", 1)]
)
def test_a_bad_json_line_is_named(tmp_path, text, line):
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(DataError, match=rf"t\.jsonl', line {line}, is not one JSON") as caught:
        read_table(tmp_path / "t.jsonl")
    assert "secret" not in str(caught.value)


# What cannot be read


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet", "t.xlsx", "t.arrow"])
def test_an_empty_file_is_refused(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    with pytest.raises(DataError, match="is empty"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst", "t.parquet", "t.xlsx", "t.arrow"])
def test_a_damaged_or_cut_file_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"this is something else entirely")
    with pytest.raises(DataError, match=r"is not a readable .* file"):
        read_table(path)
    write_table(FRAME, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(DataError, match=r"is not a readable .* file"):
        read_table(path)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.xlsx"])
def test_a_table_without_rows_is_refused(tmp_path, name):
    write_table(FRAME.clear(), tmp_path / name)
    with pytest.raises(DataError, match="has no rows"):
        read_table(tmp_path / name)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"There is no file '.*t.csv'"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(DataError, match="no table in the folder"):
        read_table(tmp_path / "d.csv")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("t.cvs", r"ending '\.cvs'.*\.csv .*Did you mean '\.csv'"),
        ("t", "does not say which format"),
        ("t.parquet.gz", r"ending '\.parquet\.gz'"),
        ("t.gz", "does not say which format"),
    ],
)
def test_an_unknown_suffix_lists_the_formats(name, hint):
    with pytest.raises(DataError, match=hint):
        detect_format(name)


@pytest.mark.parametrize("given", ["cvs", "parquet.gz", "csv.bz2"])
def test_an_unknown_format_lists_the_formats(given):
    with pytest.raises(OptionError, match=f"csv, tsv, parquet.*not '{given}'"):
        detect_format("t.csv", given)


@pytest.mark.parametrize("name", ["t.arrow", "t.parquet"])
def test_other_readers_cast_texts_and_categories_of_a_file(tmp_path, name):
    cells = ["flu", "hiv", None, "flu"]
    frame = pl.DataFrame(
        {
            "text": cells,
            "category": pl.Series(cells, dtype=pl.Categorical),
            "levels": pl.Series(cells, dtype=pl.Enum(["flu", "hiv"])),
            "texts": [[cell] for cell in cells],
        }
    )
    write_table(frame, tmp_path / name)
    read = pa.parquet.read_table if name == "t.parquet" else pa.feather.read_table
    table = read(tmp_path / name)
    for each in ("text", "category", "levels"):
        assert table[each].cast(pa.string()).to_pylist() == cells
    assert read_table(tmp_path / name).equals(frame)


@pytest.mark.parametrize(
    "line",
    [
        '{"a":"x\\ud800"}',
        '{"a":"\\uDC00\\uD800"}',
        '{"a":"\\ud83d\\ud83d\\ude00"}',
        '{"\\udfff":"x"}',
        '{"a":{"b":["\\udabc"]}}',
    ],
)
def test_half_a_character_of_json_is_refused_in_a_sentence(tmp_path, line):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a":"x"}\n' + line + "\n", encoding="ascii")
    for read in (read_table, read_written):
        with pytest.raises(DataError, match="line 2, holds half a character"):
            read(path)


def test_whole_characters_of_json_are_read_however_they_are_escaped(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a":"\\uD83D\\uDE00"}\n{"a":"\\\\ud800"}\n{"a":"\\u00e9"}\n')
    assert read_table(path)["a"].to_list() == ["\N{GRINNING FACE}", "\\ud800", "é"]
    assert read_written(path).frame["a"].cast(str).to_list() == [
        "\N{GRINNING FACE}", "\\ud800", "é",
    ]  # fmt: skip


# What a further format needs: a row, and functions that read and write it


def write_rows(frame, file, _):
    file.write(frame.write_json().encode())


def read_rows(data, name, _, __):
    return pl.read_json(io.BytesIO(data))


@pytest.fixture
def rows(monkeypatch):
    here = f"{__name__}:"
    row = FileFormat(
        name="rows",
        title="Rows",
        suffixes=(".rows",),
        write=here + "write_rows",
        read=here + "read_rows",
    )
    monkeypatch.setitem(FORMATS, "rows", row)
    monkeypatch.setitem(ENDINGS, ".rows", "rows")


@pytest.mark.usefixtures("rows")
def test_a_row_of_the_table_makes_a_format_for_files_releases_and_pages(tmp_path):
    frame = pl.DataFrame({"age": [30, 31, 40, 41], "job": ["a", "a", "b", "b"]})
    write_table(frame, tmp_path / "t.rows")
    assert read_table(tmp_path / "t.rows").equals(frame)
    release = shoal.anonymize(frame, k=2, quasi_identifiers=["age", "job"])
    release.write(tmp_path / "safe.rows")  # which reads back and verifies
    assert pl.read_json(tmp_path / "safe.rows").height == 4
    with os.scandir(tmp_path) as entries:
        assert {kind_of(each) for each in entries} == {"table"}
    with pytest.raises(OptionError, match=r"parquet, arrow, xlsx, jsonl, .*, rows"):
        read_table(tmp_path / "t.rows", format="rowss")
