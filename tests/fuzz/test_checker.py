"""The checker of the campaign is checked: it finds what is planted, and shares no code."""

from __future__ import annotations

import ast
import gzip
import io
import pickle
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from fuzz import bytes as files
from fuzz.bytes import Published
from fuzz.checker import broken_promises, not_from_rows, wrong_cells
from fuzz.leaks import leaks
from fuzz.tables import Case, Column

ROOT = Path(__file__).parents[2]
PLANTED = "zq7kxw2mvpfh9rt"
NUMBER = 734_912_650_183


def table(**changes):
    """Six people in two groups, with a secret in the identifier and a dropped number."""
    case = Case(
        seed="",
        columns=[
            Column("age", "quasi", "numeric", "i64", [31, 34, 36, 58, 61, 64]),
            Column("home", "quasi", "flat", "text", ["a", "a", "a", "b", "c", "b"]),
            Column("ill", "sensitive", "", "text", ["flu", "gout", "flu", "ulcer", "flu", "gout"]),
            Column("name", "identifier", "", "text", [f"{PLANTED}{i}" for i in range(6)]),
            Column("gone", "drop", "", "i64", [NUMBER + i for i in range(6)]),
        ],
        k=3,
        options={"algorithm": "mondrian"},
    )
    for name, value in changes.items():
        setattr(case, name, value)
    return case


GOOD = [
    ("[31-36]", "a", "flu"),
    ("[31-36]", "a", "gout"),
    ("[31-36]", "a", "flu"),
    ("[58-64]", "*", "ulcer"),
    ("[58-64]", "*", "flu"),
    ("[58-64]", "*", "gout"),
]
LABELS = [0, 0, 0, 1, 1, 1]


def published(rows=GOOD):
    return Published(["age", "home", "ill"], list(rows), textual=True)


def changed(row, column, cell):
    rows = [list(each) for each in GOOD]
    rows[row][column] = cell
    return published(map(tuple, rows))


def test_a_good_release_has_nothing_wrong():
    assert broken_promises(table(), published()) == []
    assert wrong_cells(table(), published(), LABELS) == []
    assert not_from_rows(table(), published()) == []


@pytest.mark.parametrize("cell", ["[31-37]", "[31 - 36]", " [31-36]", "[31.0-36]"])
def test_a_row_that_reads_differently_breaks_k(cell):
    assert broken_promises(table(), changed(0, 0, cell))


@pytest.mark.parametrize(
    ("model", "ill"),
    [
        ({"name": "l-diversity", "kind": "distinct", "l": 3}, None),
        ({"name": "l-diversity", "kind": "frequency", "l": 2}, None),
        ({"name": "l-diversity", "kind": "entropy", "l": 2}, None),
        ({"name": "l-diversity", "kind": "recursive", "l": 2, "c": 2}, None),
        ({"name": "t-closeness", "distance": "equal", "t": 0.15}, None),
        ({"name": "t-closeness", "distance": "ordered", "t": 0.1}, [1, 2, 1, 3, 1, 2]),
        ({"name": "alpha-k", "alpha": 0.5}, None),
    ],
    ids=["distinct", "frequency", "entropy", "recursive", "t equal", "t ordered", "alpha"],
)
def test_every_broken_promise_is_found_and_a_weaker_one_holds(model, ill):
    case = table(privacy=[model])
    rows = GOOD
    if ill:
        case.columns[2] = Column("ill", "sensitive", "", "i64", ill)
        rows = [(*row[:2], str(value)) for row, value in zip(GOOD, ill, strict=True)]
    assert broken_promises(case, published(rows))
    weaker = {"l": 1.5, "c": 3, "t": 0.9, "alpha": 0.9}
    whole = {"l": 2} if model.get("kind") in ("distinct", "recursive") else {}
    case.privacy = [{k: (weaker | whole).get(k, v) for k, v in model.items()}]
    assert broken_promises(case, published(rows)) == []


@pytest.mark.parametrize("same", [("flu", "flu "), ("flu", "Flu"), ("5.0", "5"), ("", "null")])
def test_sensitive_values_that_a_person_takes_for_one_are_one(same):
    case = table(privacy=[{"name": "l-diversity", "kind": "distinct", "l": 2}])
    rows = [(*row[:2], same[place % 2]) for place, row in enumerate(GOOD)]
    assert broken_promises(case, published(rows))


@pytest.mark.parametrize(
    ("row", "column", "cell"),
    [(0, 0, "[31-35]"), (3, 0, "[59-64]"), (3, 1, "b"), (0, 2, "ulcer"), (0, 0, "[30-36]")],
)
def test_cells_that_no_group_of_rows_makes_are_found(row, column, cell):
    assert wrong_cells(table(), changed(row, column, cell), LABELS)


@pytest.mark.parametrize(
    ("row", "column", "cell"), [(0, 0, "[32-34]"), (3, 1, "a"), (0, 2, "ulcer"), (4, 0, "[58-60]")]
)
def test_a_row_that_covers_no_row_of_the_input_is_found_without_the_groups(row, column, cell):
    assert not_from_rows(table(), changed(row, column, cell))


def test_one_row_of_the_input_is_not_published_twice():
    rows = [*GOOD[:3], *GOOD[3:5], GOOD[3]]
    assert not_from_rows(table(), published(rows))


# A leak in every format: the published table is as it should be, the bytes hold more.


def hidden_in_views():
    """A frame whose text column was cut out of a longer one with its memory."""
    public = [f"a text of more than twelve letters: {row[2]}" for row in GOOD]
    whole = pl.Series("ill", public + [f"{PLANTED}{i}" for i in range(6)])
    return plain().with_columns(whole.gather(range(6)))


def plain():
    return pl.DataFrame(GOOD, schema=["age", "home", "ill"], orient="row")


def leaky_parquet(codec):
    table = plain().to_arrow().select(["age", "home"])
    levels = pa.array(["flu", "gout", "ulcer", f"{PLANTED}0"])
    ill = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2, 0, 1]), levels)
    memory = io.BytesIO()
    pq.write_table(table.append_column("ill", ill), memory, compression=codec, store_schema=False)
    return memory.getvalue()


def leaky_arrow(codec):
    table = plain().to_arrow().select(["age", "home"])
    levels = pa.array(["flu", "gout", "ulcer", f"{PLANTED}0"])
    ill = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2, 0, 1]), levels)
    memory = io.BytesIO()
    whole = table.append_column("ill", ill)
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_file(memory, whole.schema, options=options) as file:
        file.write_table(whole)
    return memory.getvalue()


def leaky_excel():
    memory = io.BytesIO()
    frame = plain()
    import xlsxwriter

    with xlsxwriter.Workbook(memory) as book:
        frame.write_excel(book)
        book.set_properties({"comments": f"made from {PLANTED}0"})
    return memory.getvalue()


def with_metadata():
    table = plain().to_arrow().replace_schema_metadata({"from": f"{PLANTED}3"})
    memory = io.BytesIO()
    pq.write_table(table, memory)
    return memory.getvalue()


def csv_bytes(extra=""):
    return (plain().write_csv() + extra).encode()


LEAKY = {
    "csv": lambda: csv_bytes(f"# {PLANTED}1\n"),
    "gzip": lambda: gzip.compress(csv_bytes(f"# {PLANTED}1\n")),
    "zstd": lambda: zstandard.compress(csv_bytes(f"# {PLANTED}1\n")),
    "a number in a csv": lambda: csv_bytes(f"{NUMBER}\n"),
    "json escapes": lambda: (
        b'{"a": "' + "".join(f"\\u{ord(c):04x}" for c in PLANTED).encode() + b'0"}'
    ),
    "html": lambda: b"<p>" + "".join(f"&#{ord(c)};" for c in PLANTED).encode() + b"0</p>",
    "xlsx": leaky_excel,
    "arrow": lambda: leaky_arrow(None),
    "arrow lz4": lambda: leaky_arrow("lz4"),
    "arrow zstd": lambda: leaky_arrow("zstd"),
    "pickle": lambda: pickle.dumps({"rows": GOOD, "more": NUMBER + 2}),
    "parquet metadata": with_metadata,
    **{
        f"parquet {codec}": lambda codec=codec: leaky_parquet(codec)
        for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4")
    },
}


@pytest.mark.parametrize("kind", LEAKY)
def test_a_leak_is_found_in_every_kind_of_bytes(kind):
    case = table()
    data = LEAKY[kind]()
    if kind == "pickle":  # as binary, the way arrays are pickled
        data += (NUMBER + 2).to_bytes(8, "little")
    assert leaks(case, published(), files.layers(data), kind)


@pytest.mark.parametrize(
    ("cell", "shown"), [("1.0000000116860974e-7", True), ("1.0000000116860975e-7", False)]
)
def test_a_published_number_may_be_spelled_as_python_does_and_no_other(cell, shown):
    case = table()
    case.columns[0].cells[0] = 1.0000000116860974e-07
    page = [b"<text>under 1.0000000116860974e-07</text>"]
    assert bool(leaks(case, changed(0, 0, cell), page, "a report")) is not shown


def test_memory_behind_a_published_column_is_a_leak():
    assert leaks(table(), published(), files.layers_of_frame(hidden_in_views()), "the frame")


def test_levels_that_no_row_has_are_a_leak():
    frame = plain().to_pandas()
    frame["ill"] = frame["ill"].astype("category").cat.add_categories([f"{PLANTED}5"])
    assert leaks(table(), published(), files.layers_of_frame(frame), "the frame")


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "xlsx", "jsonl"])
def test_a_clean_file_is_no_leak_and_is_read_as_it_was_written(tmp_path, suffix):
    path = tmp_path / f"safe.{suffix}"
    write = {
        "csv": plain().write_csv,
        "parquet": plain().write_parquet,
        "arrow": plain().write_ipc,
        "xlsx": plain().write_excel,
        "jsonl": plain().write_ndjson,
    }
    write[suffix](path)
    found = files.read(path, suffix)
    assert found.rows == GOOD
    assert leaks(table(), found, files.layers(path.read_bytes()), suffix) == []


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "brotli", "zstd", "lz4"])
def test_every_page_of_a_parquet_file_is_decompressed(codec, version):
    cells = [f"cell number {number} of many" for number in range(500)]
    memory = io.BytesIO()
    pq.write_table(
        pa.table({"text": cells, "number": range(500)}),
        memory,
        compression=codec,
        data_page_version=version,
        use_dictionary=False,
        data_page_size=2048,
        write_batch_size=50,
    )
    pages = list(files.parquet_pages(memory.getvalue()))
    assert len(pages) > 8
    assert all(any(cell.encode() in page for page in pages) for cell in cells)


def test_an_order_that_comes_from_the_input_is_found(monkeypatch, tmp_path):
    from fuzz import order
    from fuzz.parts import LEAKED, run_command

    def keeping_the_order(words, folder):
        return run_command([*words, "--no-shuffle"], folder)

    monkeypatch.setattr(order, "run_command", keeping_the_order)
    verdicts = []
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        verdicts.append(order.run(f"order:planted:{number}", folder).verdict)
    assert LEAKED in verdicts


# What the checker stands on.


STANDS_ON = ("bytes", "cells", "checker", "counted", "frames", "leaks", "stories", "tables")


@pytest.mark.parametrize("name", STANDS_ON)
def test_the_checker_and_what_it_reads_with_import_nothing_of_shoal(name):
    for node in ast.walk(ast.parse((ROOT / "fuzz" / f"{name}.py").read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [f"fuzz.{a.name}" for a in node.names] if base == "fuzz" else [base]
        for found in names:
            top, _, rest = found.partition(".")
            assert top != "shoal"
            assert top != "fuzz" or rest.split(".")[0] in STANDS_ON


def test_importing_the_checker_loads_nothing_of_shoal():
    code = (
        "import sys, fuzz.checker, fuzz.leaks, fuzz.bytes, fuzz.counted, fuzz.stories;"
        "sys.exit(any(name.split('.')[0] == 'shoal' for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
