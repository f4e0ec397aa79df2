"""``shoal verify`` compares what a reader sees, and names what a file holds beside its table."""

import contextlib
import io
import json
import zipfile

import numpy as np
import openpyxl
import openpyxl.comments
import openpyxl.styles
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
from tests.helpers.cli_samples import ROLES

import shoal
from shoal.io.hidden_contents import beside_parquet

PROMISE = ["--k", "2", "--qi", "age", "--sensitive", "ill"]
DIVERSE = [*PROMISE, "--l-diversity", "2", "--l-kind", "distinct"]


@pytest.fixture
def book(tmp_path):
    """A workbook of four rows that look alike; what it holds beside them is yet to come."""
    found = openpyxl.Workbook()
    found.properties.creator = None
    for row in (["age", "ill"], [1, "flu"], [1, "hiv"], [1, "flu"], [1, "hiv"]):
        found.active.append(row)
    found.to = tmp_path / "safe.xlsx"
    return found


def outcome_of(shoal_runs, book, *more):
    book.save(book.to)
    return shoal_runs("verify", book.to, *PROMISE, "--json", *more)


def holds(outcome):
    return outcome.status, json.loads(outcome.out)["holds"]


def named(shoal_runs, path, words):
    """Check that a release is good, that its note says these words, and that it is too strict."""
    found = shoal_runs("verify", path, *PROMISE, "--json")
    assert holds(found) == (0, True), found.out + found.err
    notes = json.loads(found.out)["warnings"]
    assert [each for each in notes if words in each], notes
    refused = shoal_runs("verify", path, *PROMISE, "--strict")
    assert refused.status == 1
    assert "REFUSED for the warnings" in refused.out
    assert words in refused.out


def test_a_workbook_of_plain_cells_has_nothing_beside_its_table(shoal_runs, book):
    assert holds(outcome_of(shoal_runs, book, "--strict")) == (0, True)


def test_what_is_beside_a_table_is_told_on_screen_and_in_json_and_by_the_status(shoal_runs, book):
    book.create_sheet("names").append(["Ada"])
    book.save(book.to)
    shown = shoal_runs("verify", book.to, *PROMISE)
    assert (shown.status, "Warning: The workbook holds sheets" in shown.out) == (0, True)
    assert holds(shoal_runs("verify", book.to, *PROMISE, "--json", "--strict")) == (1, False)
    quiet = shoal_runs("verify", book.to, *PROMISE, "--strict", "--quiet")
    assert (quiet.status, quiet.out) == (1, "")


@pytest.mark.parametrize(
    ("formats", "kept"),
    [
        (["General", "General", "0.00", "0.00"], True),  # two groups of two
        (["General", "0.00", "0.00", "0.00"], False),
        (["0", "General", "0", "General"], True),  # all of them show 1
        (['"born 1994"', '"born 1963"', '"born 1994"', '"born 1970"'], False),
        (['"born "0'] * 4, True),
        (["0.0", "0.00", "0.000", "0.0000"], False),
        (["yyyy-mm-dd", "yyyy-mm-dd", "dd.mm.yyyy", "yyyy-mm-dd"], False),
    ],
)
def test_numbers_that_are_shown_differently_are_different_cells(shoal_runs, book, formats, kept):
    for row, code in enumerate(formats, start=2):
        book.active.cell(row, 1).number_format = code
    assert holds(outcome_of(shoal_runs, book)) == (0 if kept else 1, kept)


def test_a_table_that_does_not_begin_in_the_first_row_is_compared_as_it_is_shown(shoal_runs, book):
    book.active.insert_rows(1, 2)
    assert holds(outcome_of(shoal_runs, book, "--strict")) == (0, True)
    book.active.cell(5, 1).number_format = "0.00"
    assert holds(outcome_of(shoal_runs, book)) == (1, False)


def test_small_numbers_of_a_workbook_are_no_zeros(shoal_runs, book):
    for row, number in enumerate([1e-18, 2e-18, 1e-18, 3e-18], start=2):
        book.active.cell(row, 1).value = number
    assert holds(outcome_of(shoal_runs, book)) == (1, False)


def test_a_sensitive_number_is_not_two_by_the_way_it_is_shown(shoal_runs, book):
    for row, code in enumerate(["General", "0.00", "General", "0.00"], start=2):
        book.active.cell(row, 2).value = 7
        book.active.cell(row, 2).number_format = code
    book.save(book.to)
    assert shoal_runs("verify", book.to, *DIVERSE).status == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: b.create_sheet("names").append(["Ada"]), "sheets that are not checked"),
        (
            lambda b: setattr(b.active["A2"], "comment", openpyxl.comments.Comment("Ada", "me")),
            "holds comments",
        ),
        (
            lambda b: setattr(b.active["A2"], "font", openpyxl.styles.Font(bold=True)),
            "In 'age' cells differ by font",
        ),
        (lambda b: setattr(b.active.row_dimensions[3], "hidden", True), "hidden rows"),
        (lambda b: setattr(b.active.column_dimensions["B"], "hidden", True), "hidden rows"),
        (lambda b: setattr(b.properties, "title", "Ada's table"), "properties: 'title'"),
        (lambda b: setattr(b.active["B2"], "hyperlink", "http://x.org/ada"), "'hyperlinks'"),
    ],
)
def test_what_a_workbook_holds_beside_its_table_is_named(shoal_runs, book, change, words):
    change(book)
    book.save(book.to)
    named(shoal_runs, book.to, words)


def test_texts_that_no_cell_has_and_parts_that_no_sheet_is_are_named(shoal_runs, tmp_path):
    path, other = tmp_path / "one.xlsx", tmp_path / "two.xlsx"
    shoal.write_table(pl.DataFrame({"age": [1] * 4, "ill": ["flu", "hiv"] * 2}), path)
    assert holds(shoal_runs("verify", path, *PROMISE, "--json", "--strict")) == (0, True)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            new.writestr(name, text.replace(b"</sst>", b"<si><t>Ada</t></si></sst>"))
        new.writestr("xl/notes.xml", "<notes>Ada</notes>")
    named(shoal_runs, other, "1 texts that no cell of the table has")
    named(shoal_runs, other, "parts beside its table: 'xl/notes.xml'")


@pytest.mark.parametrize("line", ['{"age":1,"age":2,"ill":"flu"}', '{"age":1,"ill":{"a":1,"a":2}}'])
def test_a_key_that_stands_twice_is_refused(shoal_runs, tmp_path, line):
    path = tmp_path / "safe.jsonl"
    path.write_text('{"age":1,"ill":"flu"}\n' * 2 + line + "\n")
    outcome = shoal_runs("verify", path, *PROMISE)
    assert outcome.status == 2
    assert "line 3, has 'a" in outcome.err
    assert "twice" in outcome.err


ZEROS = ["0.0", "-0.0", "0.0", "-0.0"]


@pytest.mark.parametrize("name", ["safe.csv", "safe.jsonl", "safe.parquet", "safe.arrow"])
def test_zero_and_minus_zero_are_one_sensitive_value(shoal_runs, tmp_path, name):
    path = tmp_path / name
    cells = [float(each) for each in ZEROS]
    if name.endswith("csv"):
        path.write_text("age,ill\n" + "".join(f"1,{each}\n" for each in ZEROS))
    elif name.endswith("jsonl"):
        path.write_text("".join(f'{{"age":1,"ill":{each}}}\n' for each in ZEROS))
    elif name.endswith("parquet"):
        pl.DataFrame({"age": [1] * 4, "ill": cells}).write_parquet(path)
    else:
        pl.DataFrame({"age": [1] * 4, "ill": cells}).write_ipc(path)
    assert shoal_runs("verify", path, *PROMISE).status == 0
    assert shoal_runs("verify", path, *DIVERSE).status == 1


def test_numbers_of_json_are_one_value_however_their_exponent_is_written(shoal_runs, tmp_path):
    path = tmp_path / "safe.jsonl"
    forms = ["5", "5e0", "5E0", "50e-1", "0.5e1"]
    path.write_text("".join(f'{{"age":1,"ill":{each}}}\n' for each in forms))
    assert shoal_runs("verify", path, *DIVERSE).status == 1
    path.write_text("".join(f'{{"age":{each},"ill":1}}\n' for each in ["1e5", "1e5", "1e+5"]))
    assert shoal_runs("verify", path, *PROMISE).status == 1  # the third is alone


def arrow_of(table, new=pa.ipc.new_file):
    memory = io.BytesIO()
    with new(memory, table.schema) as writer:
        writer.write_table(table)
    return memory.getvalue()


PLAIN = pa.table({"age": [1] * 4, "ill": ["flu", "hiv"] * 2})
NOT_A_NUMBER = np.array([0x7FF8000000000000, 0x7FF8000000000ADA] * 2, "u8").view("f8")
CODED = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 2), pa.array(["flu", "hiv", "Ada"]))


@pytest.mark.parametrize("name", ["safe.parquet", "safe.arrow", "stream.arrow"])
@pytest.mark.parametrize(
    ("table", "words"),
    [
        (PLAIN.replace_schema_metadata({"who": "Ada"}), "metadata beside its table, under 'who'"),
        (
            PLAIN.cast(PLAIN.schema.set(0, pa.field("age", pa.int64(), metadata={"x": "Ada"}))),
            "metadata beside its table, under 'x'",
        ),
        (
            pa.Table.from_pandas(PLAIN.to_pandas().set_index(pd.Index(list("abcd"), name="who"))),
            "'who' is an index of pandas",
        ),
        (PLAIN.append_column("dose", pa.array(NOT_A_NUMBER)), "In 'dose' cells that read NaN"),
        (PLAIN.append_column("age_low", pa.array([1, 2, 3, 4])), "'age_low' beside 'age'"),
        (PLAIN.append_column("Age (exact)", pa.array([1, 2, 3, 4])), "'Age (exact)' beside 'age'"),
    ],
)
def test_what_a_binary_file_holds_beside_its_table_is_named(
    shoal_runs, tmp_path, name, table, words
):
    path = tmp_path / name
    if name.endswith("parquet"):
        pa.parquet.write_table(table, path)
    else:
        new = pa.ipc.new_stream if name.startswith("stream") else pa.ipc.new_file
        path.write_bytes(arrow_of(table, new))
    named(shoal_runs, path, words)


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_texts_of_a_dictionary_that_no_cell_has_are_named(shoal_runs, tmp_path, new):
    path = tmp_path / "safe.arrow"
    path.write_bytes(arrow_of(PLAIN.set_column(1, "ill", CODED), new))
    named(shoal_runs, path, "The dictionary of 'ill' holds texts that no cell has")


def test_a_damaged_file_is_still_one_sentence(shoal_runs, tmp_path, book):
    book.save(book.to)
    pa.parquet.write_table(PLAIN.replace_schema_metadata({"who": "Ada"}), tmp_path / "p.parquet")
    (tmp_path / "a.arrow").write_bytes(arrow_of(PLAIN.replace_schema_metadata({"who": "Ada"})))
    rng = np.random.default_rng(1)
    for path in (book.to, tmp_path / "p.parquet", tmp_path / "a.arrow"):
        whole = path.read_bytes()
        for _ in range(12):
            broken = bytearray(whole)
            for at in rng.integers(0, len(whole), 4):
                broken[at] ^= int(rng.integers(1, 256))
            path.write_bytes(broken)
            outcome = shoal_runs("verify", path, *PROMISE)
            assert outcome.status in (0, 1, 2), outcome.err


@pytest.mark.parametrize(
    "name", ["safe.csv", "safe.tsv.gz", "safe.jsonl", "safe.xlsx", "safe.parquet", "safe.arrow"]
)
def test_what_we_write_has_nothing_beside_its_table(shoal_runs, table, tmp_path, name):
    safe, certificate = tmp_path / name, tmp_path / "c.json"
    made = shoal_runs(
        "anonymize", table, "-o", safe, "--k", 4, *ROLES, "--algorithm", "mondrian",
        "--certificate", certificate, "--quiet",
    )  # fmt: skip
    assert made.status == 0, made.err
    outcome = shoal_runs("verify", safe, "--certificate", certificate, "--strict")
    assert outcome.status == 0, outcome.out + outcome.err
    assert "Warning" not in outcome.out


def test_with_a_certificate_too_a_second_sheet_is_named_and_strict_refuses(
    shoal_runs, table, tmp_path
):
    safe, certificate = tmp_path / "safe.xlsx", tmp_path / "c.json"
    shoal_runs(
        "anonymize", table, "-o", safe, "--k", 4, *ROLES, "--algorithm", "mondrian",
        "--certificate", certificate, "--quiet",
    )  # fmt: skip
    book = openpyxl.load_workbook(safe)
    book.create_sheet("names").append(["Ada"])
    book.save(safe)
    content = json.loads(certificate.read_text())
    content["output"]["sha256"] = shoal.io.atomic.sha256_of(safe)  # somebody vouches for that file
    certificate.write_text(json.dumps(content))
    usual = ["verify", safe, "--certificate", certificate, "--json"]
    assert holds(shoal_runs(*usual)) == (0, True)
    strict = shoal_runs(*usual, "--strict")
    assert holds(strict) == (1, False)
    assert any("not checked" in each for each in json.loads(strict.out)["warnings"])


def test_a_damaged_description_of_columns_is_named_or_passed_over(tmp_path):
    # As the hunt found: the Arrow schema of a Parquet file ended in a traceback.
    path = tmp_path / "safe.parquet"
    pa.parquet.write_table(pa.table({"age": ["[20 to 30]"] * 4}), path)
    whole = path.read_bytes()
    schema = pa.parquet.read_metadata(path).metadata[b"ARROW:schema"]
    assert beside_parquet(str(path)) == []
    named = 0
    start = whole.index(schema)
    for at in range(start, start + len(schema), 3):
        path.write_bytes(whole[:at] + (b"B" if whole[at] != ord("B") else b"z") + whole[at + 1 :])
        with contextlib.suppress(shoal.ShoalError):
            shoal.read_table(path)  # before anybody looks at what lies beside the table
            named += any("ARROW:schema" in each for each in beside_parquet(str(path)))
    assert named
