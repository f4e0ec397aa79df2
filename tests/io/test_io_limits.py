"""Facts about sizes: what a file claims is looked at before memory is taken for it."""

import contextlib
import gzip
import io
import json
import random
import struct
import subprocess
import sys
import zipfile

import polars as pl
import pytest
import xlsxwriter
import zstandard
from tests.helpers.effort import further

from shoal.errors import DataError, OptionError, did_you_mean
from shoal.hierarchy import load_hierarchy
from shoal.io import source
from shoal.io.limits import LIMITS, limit
from shoal.io.read import guess_rows, read_table
from shoal.io.vocabulary import topics_of
from shoal.io.write import write_table
from shoal.report.advice import read_explanation
from shoal.runtime.sanitize import hide_credentials, safe_lines
from shoal.settings.job_file import read_job

MEGA = 1 << 20


@pytest.fixture
def refuses(tmp_path):
    """Writes a file and checks that reading it ends in a message with these words."""

    def check(name, data, *words):
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(DataError) as error:
            read_table(path)
        for word in words:
            assert word in str(error.value)
        return str(error.value)

    return check


# Limits themselves


@pytest.mark.parametrize(
    ("text", "number"), [("7", 7), ("3K", 3072), ("2m", 2 * MEGA), ("1G", 1 << 30)]
)
def test_a_limit_is_changed_by_its_variable(monkeypatch, text, number):
    monkeypatch.setenv("SHOAL_MAX_DEPTH", text)
    assert limit("depth") == number


@pytest.mark.parametrize("text", ["many", "0", "-3", "1.5", "G", "9" * 99])
def test_a_limit_that_is_no_number_is_refused(monkeypatch, text):
    monkeypatch.setenv("SHOAL_MAX_DEPTH", text)
    with pytest.raises(OptionError, match="SHOAL_MAX_DEPTH must be a whole number"):
        limit("depth")


@pytest.mark.parametrize("name", LIMITS)
def test_every_limit_is_above_nothing_by_default(name):
    assert limit(name) > 0


# Compressed files


def zst_bomb(n_bytes, unit=bytes(MEGA)):
    packer = zstandard.ZstdCompressor().compressobj()
    return b"".join(packer.compress(unit) for _ in range(n_bytes // len(unit))) + packer.flush()


def gz_bomb(n_bytes, unit=b"a" * MEGA):
    memory = io.BytesIO()
    with gzip.GzipFile(fileobj=memory, mode="wb", compresslevel=9) as file:
        for _ in range(n_bytes // len(unit)):
            file.write(unit)
    return memory.getvalue()


LINE = b"1,2\n" * (MEGA // 4)


@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.csv.zst"])
def test_a_compressed_file_that_is_one_endless_line_is_refused_early(refuses, name, monkeypatch):
    monkeypatch.setenv("SHOAL_MAX_RECORD_BYTES", "4M")
    bomb = gz_bomb if name.endswith("gz") else zst_bomb
    data = b"a" * MEGA
    refuses(name, bomb(64 * MEGA, data), "4 MB", "SHOAL_MAX_RECORD_BYTES")


@pytest.mark.parametrize(
    "name", further(["bomb.csv.gz", "bomb.csv.zst"], lambda name: name.endswith("zst"))
)
def test_a_compressed_file_that_grows_beyond_measure_is_refused(refuses, name, monkeypatch):
    monkeypatch.setattr(source, "_SMALL", 16 * MEGA)  # the way to 256 is long
    bomb = gz_bomb if name.endswith("gz") else zst_bomb
    refuses(name, bomb(40 * MEGA, LINE), "300 times", "SHOAL_MAX_EXPANSION")


@pytest.mark.long
def test_the_growth_that_is_allowed_can_be_raised(tmp_path, monkeypatch):
    (tmp_path / "a.csv.zst").write_bytes(zst_bomb(300 * MEGA, LINE))
    monkeypatch.setenv("SHOAL_MAX_EXPANSION", "1000000")
    assert read_table(tmp_path / "a.csv.zst").height == 300 * MEGA // 4 - 1


def test_rows_are_counted_in_a_bomb_without_unpacking_it(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gz_bomb(600 * MEGA, LINE))
    code = (
        "import resource, sys; from shoal.io.read import guess_rows; import shoal.io;"
        "resource.setrlimit(resource.RLIMIT_DATA, (400 << 20, 400 << 20));"
        "print(guess_rows(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "a.csv.gz"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert 0.5 < int(done.stdout) / (150 * MEGA) < 2
    assert guess_rows(str(tmp_path / "a.csv.gz")) == int(done.stdout)


def test_zstandard_frames_one_after_another_are_one_file(tmp_path):
    pack = zstandard.ZstdCompressor().compress
    (tmp_path / "a.csv.zst").write_bytes(pack(b"a,b\n1,2\n") + pack(b"3,4\n"))
    assert read_table(tmp_path / "a.csv.zst")["b"].to_list() == [2, 4]


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_zstandard_file_that_was_cut_short_is_refused(refuses, cut):
    data = zstandard.ZstdCompressor().compress(b"a,b\n" + LINE)
    refuses("a.csv.zst", data[:-cut], "Zstandard", "cut short")


def test_bytes_are_counted_before_a_whole_file_is_in_memory(refuses, monkeypatch):
    monkeypatch.setenv("SHOAL_MAX_BYTES", "3M")
    line = json.dumps({"a": "x" * 1000}).encode() + b"\n"
    refuses("a.jsonl.gz", gzip.compress(line * 5000), "3 MB", "SHOAL_MAX_BYTES")
    refuses("a.jsonl", line * 5000, "3 MB")


# Text


def test_a_header_without_end_is_refused(refuses, monkeypatch):
    monkeypatch.setenv("SHOAL_MAX_RECORD_BYTES", "1M")
    refuses("a.csv", b'"' + b"a\n" * MEGA, "the header", "SHOAL_MAX_RECORD_BYTES")


def test_a_row_without_end_is_named_by_its_line(refuses, monkeypatch):
    monkeypatch.setenv("SHOAL_MAX_RECORD_BYTES", "1M")
    refuses("a.csv", b'a,b\n1,2\n3,"' + b"x" * (40 * MEGA), "line 3", "SHOAL_MAX_RECORD_BYTES")


def test_blanks_without_end_are_refused(refuses, monkeypatch):
    monkeypatch.setenv("SHOAL_MAX_RECORD_BYTES", "1M")
    refuses("a.csv", b" " * (4 * MEGA), "SHOAL_MAX_RECORD_BYTES")


def test_millions_of_blank_lines_before_the_header_are_skipped(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\r\n" * (8 * MEGA) + b"a\n1\n")
    assert read_table(tmp_path / "a.csv").to_dict(as_series=False) == {"a": [1]}


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow", "a.xlsx"])
def test_too_many_columns_are_refused_in_every_format(tmp_path, refuses, monkeypatch, name):
    (tmp_path / "in").mkdir()
    write_table(pl.DataFrame({f"c{n}": [n] for n in range(30)}), tmp_path / "in" / name)
    monkeypatch.setenv("SHOAL_MAX_COLUMNS", "29")
    refuses(name, (tmp_path / "in" / name).read_bytes(), "29", "SHOAL_MAX_COLUMNS")


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow", "a.xlsx"])
def test_a_name_without_end_is_refused_by_its_place_and_not_shown(tmp_path, refuses, name):
    (tmp_path / "in").mkdir()
    long = "x" * 3_000
    write_table(pl.DataFrame({"a": [1], long: [2]}), tmp_path / "in" / name)
    text = refuses(name, (tmp_path / "in" / name).read_bytes(), "column 2", "3,000")
    assert "xxx" not in text.replace(".xlsx", "")


# Three million letters: what grows with the square of them would take hours.
LONG = 3_000_000


@pytest.mark.parametrize("unit", ["a", "aA", "a:", "@", "a@", "/", "'", "é", "_", "password="])
def test_the_time_for_a_long_text_grows_with_its_length_only(unit):
    text = unit * (LONG // len(unit))
    topics_of(text)
    hide_credentials(text + "@")
    hide_credentials(f"'{text}")
    safe_lines(text)
    did_you_mean(text, [text, text[1:]])


# Excel


def workbook(sheet, **more):
    memory = io.BytesIO()
    with xlsxwriter.Workbook(memory, {"in_memory": True}) as book:
        book.add_worksheet().write(0, 0, "a")
    result = io.BytesIO()
    with (
        zipfile.ZipFile(memory) as old,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for part in old.infolist():
            data = old.read(part)
            if part.filename == "xl/worksheets/sheet1.xml":
                data = sheet
            new.writestr(part.filename, data)
        for name, data in more.items():
            new.writestr(name, data)
    return result.getvalue()


NAMESPACE = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def sheet_of(rows):
    return (
        b'<?xml version="1.0" encoding="UTF-8"?><worksheet '
        + NAMESPACE
        + b"><sheetData>"
        + rows
        + b"</sheetData></worksheet>"
    )


FAR = (
    b'<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
)
UNNAMED = (
    b'<row r="1">' + b"<c/>" * 16_000 + b"<c><v>1</v></c></row>"
    b'<row r="1048576"><c r="A1048576"><v>2</v></c></row>'
)
PREFIXED = (
    b'<x:row r="1"><x:c s="0" r="A1"><x:v>1</x:v></x:c></x:row>'
    b"<x:row r='1048576'><x:c t='n'\n r = 'XFD1048576'><x:v>2</x:v></x:c></x:row>"
)


@pytest.mark.parametrize(
    "rows",
    [FAR, UNNAMED, PREFIXED, b"<!--" + b"x" * (5 * MEGA) + b"-->" + FAR],
    ids=["far", "unnamed", "prefixed", "in the second part"],
)
def test_a_small_workbook_that_claims_a_huge_sheet_is_refused(refuses, rows):
    data = workbook(sheet_of(rows))
    assert len(data) < 20_000
    refuses("a.xlsx", data, "1,048,576 rows", "SHOAL_MAX_BYTES")


@pytest.mark.parametrize(
    "place",
    [
        *(b"A1048577", b"A99999999", b"A999999999", b"A4294967295", b"A" + b"9" * 30),
        *(b"XFE1", b"ZZZZ9", b"ZZZZZ9", b"ZZZZZZ9", b"zzzzz9", b"Z" * 30 + b"9"),
    ],
)
def test_a_workbook_with_cells_where_no_sheet_has_any_is_refused(refuses, place):
    row = b'<row r="1"><c r="A1"><v>1</v></c><c r="%s"><v>2</v></c></row>' % place
    refuses("a.xlsx", workbook(sheet_of(row)), "a sheet of Excel has", "damaged")


def test_a_workbook_that_is_a_bomb_is_refused(refuses, monkeypatch):
    monkeypatch.setenv("SHOAL_MAX_BYTES", "100000000")
    data = workbook(sheet_of(b"<!--" + b" " * (200 * MEGA) + b"-->"))
    refuses("a.xlsx", data, "100 MB", "SHOAL_MAX_BYTES")
    data = workbook(sheet_of(b""), **{"xl/sharedStrings2.xml": b" " * (200 * MEGA)})
    refuses("a.xlsx", data, "100 MB", "SHOAL_MAX_BYTES")


def test_cells_without_references_are_read(tmp_path):
    rows = b"".join(
        b'<row><c t="inlineStr"><is><t>%s</t></is></c><c><v>%d</v></c></row>' % (name, number)
        for name, number in [(b"a", 5), (b"b", 6), (b"c", 7)]
    )
    (tmp_path / "a.xlsx").write_bytes(workbook(sheet_of(rows)))
    assert read_table(tmp_path / "a.xlsx").shape == (2, 2)


# JSON lines


@pytest.mark.parametrize("unit", [(b"[", b"]"), (b'{"b":', b"}")], ids=["lists", "objects"])
@pytest.mark.parametrize("depth", [65, 1_000, 100_000])
def test_json_that_is_nested_without_end_is_refused(refuses, unit, depth):
    data = b'{"a":' + unit[0] * depth + b"1" + unit[1] * depth + b"}\n"
    refuses("a.jsonl", b'{"a":1}\n' + data, "line 2", "64 levels", "SHOAL_MAX_DEPTH")


def test_brackets_inside_texts_are_no_levels(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a":"' + b"[" * 500 + b'\\"{"}\n')
    assert read_table(tmp_path / "a.jsonl").shape == (1, 1)


def test_json_lines_that_each_have_names_of_their_own_are_refused(refuses):
    lines = b"".join(b'{"c%d":1}\n' % n for n in range(20_000))
    refuses("a.jsonl", lines, "16,384 different names", "SHOAL_MAX_COLUMNS")


def test_json_lines_that_would_be_a_huge_table_are_refused(refuses, monkeypatch):
    monkeypatch.setenv("SHOAL_MAX_BYTES", "50M")
    lines = b"".join(b'{"c%d":1}\n' % n for n in range(10_000))
    refuses("a.jsonl", lines, "10,000 rows", "SHOAL_MAX_BYTES")


# Parquet and Arrow


def test_a_parquet_file_of_more_rows_than_fit_is_refused(refuses, monkeypatch):
    monkeypatch.setenv("SHOAL_MAX_BYTES", "1M")
    memory = io.BytesIO()
    pl.DataFrame({"a": [1] * 400_000, "b": ["x"] * 400_000}).write_parquet(memory)
    assert len(memory.getvalue()) < 50_000
    refuses("a.parquet", memory.getvalue(), "400,000 rows of 2 columns", "SHOAL_MAX_BYTES")


def arrow_file(compression):
    memory = io.BytesIO()
    pl.DataFrame(
        {"a": list(range(5000)), "b": [f"text {n % 7} and more" for n in range(5000)]}
    ).write_ipc(memory, compression=compression)
    return memory.getvalue()


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_an_arrow_file_whose_buffers_claim_terabytes_is_refused(refuses, compression):
    data = bytearray(arrow_file(compression))
    true = struct.pack("<q", 5000 * 8)
    at = data.find(true)
    assert at > 0
    data[at : at + 8] = struct.pack("<q", 1 << 42)
    refuses("a.arrow", bytes(data), "buffers", "SHOAL_MAX_BYTES")


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_arrow_files_of_every_kind_are_read(tmp_path, compression):
    (tmp_path / "a.arrow").write_bytes(arrow_file(compression))
    assert read_table(tmp_path / "a.arrow").shape == (5000, 2)
    frame = pl.DataFrame({"c": ["x", "y"] * 50}, schema={"c": pl.Categorical})
    frame.write_ipc_stream(tmp_path / "b.arrow", compression=compression)
    assert read_table(tmp_path / "b.arrow").shape == (100, 1)


@pytest.mark.parametrize("compression", ["uncompressed", "zstd"])
def test_a_damaged_arrow_or_parquet_file_ends_in_a_message(tmp_path, compression):
    good = arrow_file(compression)
    memory = io.BytesIO()
    pl.read_ipc(io.BytesIO(good)).write_parquet(memory)
    chance = random.Random(7)
    for name, data in (("a.arrow", good), ("a.parquet", memory.getvalue())):
        for _ in range(60):
            bad = bytearray(data)
            tail = chance.random() < 0.6  # the footer holds the claims
            for _ in range(chance.randint(1, 4)):
                low = max(len(bad) - 900, 0) if tail else 0
                bad[chance.randrange(low, len(bad))] = chance.randrange(256)
            (tmp_path / name).write_bytes(bad)
            with contextlib.suppress(DataError):  # anything else fails the test
                assert read_table(tmp_path / name).width >= 1


# Files beside the table


@pytest.mark.parametrize(
    "read", [load_hierarchy, read_job, read_explanation], ids=["hierarchy", "job", "explanation"]
)
def test_a_file_beside_the_table_is_not_read_without_end(monkeypatch, read):
    monkeypatch.setenv("SHOAL_MAX_SIDE_BYTES", "1M")
    with pytest.raises(DataError, match="SHOAL_MAX_SIDE_BYTES"):
        read("/dev/zero")


EXPLANATION = {"advice": [], "changes": [], "outliers": []}
NOT_ONE = [
    {"advice": [["deep"]]},
    {"changes": [{"sentence": "x", "loss": True}]},
    {"changes": [{"sentence": "x", "loss": float("nan")}]},
    {"changes": [{"sentence": "x", "loss": 10**400}]},
    {"outliers": [{"cells": {"a": ["b"]}, "n_rows": 1, "loss": 0.5}]},
    {"outliers": [{"cells": {"a": "b"}, "n_rows": True, "loss": 0.5}]},
    {"outliers": [{"cells": {"a": "b"}, "n_rows": 10**30, "loss": 0.5}]},
]


@pytest.mark.parametrize("wrong", NOT_ONE, ids=[str(n) for n in range(len(NOT_ONE))])
def test_an_explanation_that_nobody_wrote_is_refused(tmp_path, wrong):
    (tmp_path / "why.json").write_text(json.dumps(EXPLANATION | wrong), encoding="utf-8")
    with pytest.raises(DataError, match="is not what 'shoal explain --out' writes"):
        read_explanation(tmp_path / "why.json")


def test_an_explanation_nested_without_end_is_refused(tmp_path):
    text = '{"advice":' + "[" * 100_000 + "]" * 100_000 + "}"
    (tmp_path / "why.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="is not what"):
        read_explanation(tmp_path / "why.json")


def test_a_workbook_that_was_cut_anywhere_is_refused_in_a_sentence(tmp_path):
    memory = io.BytesIO()
    pl.DataFrame({"age": range(9), "name": ["Ada"] * 9}).write_excel(memory)
    whole = memory.getvalue()
    path = tmp_path / "data.xlsx"
    rng = random.Random(5)
    for _ in range(400):
        data = bytearray(whole)
        at = rng.randrange(len(data))
        if rng.random() < 0.5:
            del data[at : at + rng.choice((1, 60))]
        else:
            data[at] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        with contextlib.suppress(DataError):
            read_table(path)
