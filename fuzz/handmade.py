"""Files that somebody made by hand for `verify`: what a reader tells apart, and what lies beside.

Every file starts as a table that keeps its promise. Then a fault is planted: in a cell, so that a
reader can tell rows of one group apart or finds one value where two were promised; or beside the
table, where a reader finds more than the table. The first must not hold; the second must be named,
and with ``--strict`` must not hold. A few files have no fault, and hold.
"""

from __future__ import annotations

import io
import json
import random
import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from openpyxl.comments import Comment

from fuzz.parts import BROKEN, CRASHED, HELD, REFUSED, Outcome, Ran, crashed, run_command

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
Maker = Callable[[random.Random, list[Row]], bytes]
PLAIN, APART, BESIDE = "plain", "apart", "beside"
STATUSES = (0, 1, 2)


def run(seed: str, folder: Path) -> Outcome:
    """Verify one file made by hand."""
    rng = random.Random(seed)
    name = rng.choice(sorted(FILES))
    ending, sort, words, maker = FILES[name]
    (folder / f"t.{ending}").write_bytes(maker(rng, rows_of(rng)))
    strict = sort == BESIDE and rng.random() < 0.5
    asked = ["verify", f"t.{ending}", "--k", "2", "--qi", "age,zip", "--sensitive", "ill"]
    asked += ["--l-diversity", "2", "--l-kind", "distinct"] + ["--strict"] * strict
    try:
        ran = run_command(asked, folder)
    except Exception as error:
        return crashed(error, name)
    problem = wrong_answer(ran, sort, words, strict=strict)
    if problem:
        said = (ran.out + ran.err)[-800:].decode("utf-8", "replace")
        return Outcome(CRASHED if "status" in problem else BROKEN, [problem, said], name)
    return Outcome(HELD if ran.status == 0 else REFUSED, note=name)


def wrong_answer(ran: Ran, sort: str, words: str, *, strict: bool) -> str:
    """Return what is wrong with an answer of verify, "" if nothing is.

    Args:
        ran: how the command ended.
        sort: plain, apart or beside.
        words: one of these must be said about what lies beside the table.
        strict: whether that was to be an error.
    """
    err = ran.err.decode("utf-8", "replace")
    errors = [line for line in err.splitlines() if line.startswith("Error:")]
    if ran.status not in STATUSES or "Traceback" in err:
        return f"exit status {ran.status}"
    if ran.status == 2 and len(errors) != 1:
        return f"{len(errors)} errors instead of one"
    if sort == PLAIN and ran.status:
        return "a table that holds does not hold"
    if sort == APART and ran.status == 0:
        return "holds, although a reader tells rows apart or finds one value"
    if sort == BESIDE and strict and ran.status == 0:
        return "holds strictly, although there is more than the table in the file"
    told = re.search(words, (ran.out + ran.err).decode("utf-8", "replace"), re.IGNORECASE)
    if sort == BESIDE and ran.status == 0 and not told:
        return "what lies beside the table is not named"
    return ""


def rows_of(rng: random.Random) -> list[Row]:
    """Return a table of groups of two to four, each with two values."""
    rows: list[Row] = []
    for group in range(rng.randint(2, 5)):
        ills = rng.sample(("flu", "gout", "rash"), 2)
        rows += [
            {"age": 20 + 10 * group, "zip": f"47{group}**", "ill": ills[place % 2]}
            for place in range(rng.randint(2, 4))
        ]
    return rows


# -- formats ------------------------------------------------------------------------------------


def _csv(rng: random.Random, rows: list[Row]) -> bytes:
    del rng
    lines = [",".join(rows[0])] + [",".join(map(str, row.values())) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def _jsonl(rng: random.Random, rows: list[Row]) -> bytes:
    del rng
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _parquet(rng: random.Random, rows: list[Row], metadata: dict[str, str] | None = None) -> bytes:
    del rng
    memory = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows).replace_schema_metadata(metadata), memory)
    return memory.getvalue()


def _arrow(table: pa.Table) -> bytes:
    memory = io.BytesIO()
    with pa.ipc.new_file(memory, table.schema) as file:
        file.write_table(table)
    return memory.getvalue()


def _excel(rows: list[Row], change: Callable[[Any, Any], object]) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(rows[0]))
    for row in rows:
        sheet.append(list(row.values()))
    change(book, sheet)
    memory = io.BytesIO()
    book.save(memory)
    return memory.getvalue()


# -- faults -------------------------------------------------------------------------------------


def _formats(rng: random.Random, rows: list[Row]) -> bytes:
    """The same number, shown as two texts."""
    at = rng.randrange(len(rows)) + 2
    form = rng.choice(("0.00", '"born 1994"', "0%", "General;@", '0" years"', "yyyy", "[h]:mm"))

    def change(book: Any, sheet: Any) -> None:
        del book
        for place in range(2, len(rows) + 2):
            sheet[f"A{place}"].number_format = "0"
        sheet[f"A{at}"].number_format = form if form != "General;@" else "0.0"

    return _excel(rows, change)


def _twice(rng: random.Random, rows: list[Row]) -> bytes:
    """A key twice in one line of JSON."""
    lines = [json.dumps(row) for row in rows]
    at = rng.randrange(len(lines))
    key = rng.choice(("age", "zip", "ill"))
    more = rng.choice((f'"{key}": 99', f'"{key}": "x"', f'"{key}": null'))
    lines[at] = rng.choice((lines[at][:-1] + ", " + more + "}", "{" + more + ", " + lines[at][1:]))
    return ("\n".join(lines) + "\n").encode()


def _half(rng: random.Random, rows: list[Row]) -> bytes:
    """Half a character."""
    lines = [json.dumps(row) for row in rows]
    at = rng.randrange(len(lines))
    half = rng.choice(("\\ud800", "\\uDFFF", "\\udc00\\ud800"))
    lines[at] = lines[at].replace('"zip": "', '"zip": "' + half)
    return ("\n".join(lines) + "\n").encode()


def _spelled(rng: random.Random, rows: list[Row]) -> bytes:
    """A cell that is written otherwise than its neighbours."""
    at = rng.randrange(len(rows))
    age = rows[at]["age"]
    other = (f"{age}.0", f"0{age}", f" {age}", f"{age} ", f"+{age}", f"{age}\u00a0", f"\u200b{age}")
    return _csv(
        rng, [row | {"age": rng.choice(other)} if n == at else row for n, row in enumerate(rows)]
    )


def _typed(rng: random.Random, rows: list[Row]) -> bytes:
    """A number of JSON in another form."""
    lines = [json.dumps(row) for row in rows]
    at = rng.randrange(len(lines))
    age = rows[at]["age"]
    other = rng.choice((f"{age}.0", f'"{age}"', f"{age / 10}e1", "null"))
    lines[at] = lines[at].replace(f'"age": {age}', f'"age": {other}')
    return ("\n".join(lines) + "\n").encode()


def _zeros(rng: random.Random, rows: list[Row]) -> bytes:
    """Two zeros that look like two values."""
    return _parquet(rng, [row | {"ill": (0.0, -0.0)[n % 2]} for n, row in enumerate(rows)])


def _payloads(rng: random.Random, rows: list[Row]) -> bytes:
    """NaN with something in it."""
    nan = [struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000000 | rng.randrange(1, 2**50)))[0]
           for _ in rows]  # fmt: skip
    values = pa.array([row["age"] for row in rows], pa.float64()).to_pylist()
    cells = [n if place < 2 else v for place, (n, v) in enumerate(zip(nan, values, strict=True))]
    return _arrow(pa.Table.from_pylist(rows).append_column("extra", pa.array(cells, pa.float64())))


def _metadata(rng: random.Random, rows: list[Row]) -> bytes:
    return _parquet(rng, rows, {"made from": "a table of names"})


def _index(rng: random.Random, rows: list[Row]) -> bytes:
    names = [f"person {rng.randrange(10**6)}" for _ in rows]
    memory = io.BytesIO()
    pl.DataFrame(rows).to_pandas().set_axis(names).to_parquet(memory)
    return memory.getvalue()


def _unused(rng: random.Random, rows: list[Row]) -> bytes:
    levels = [*sorted({row["ill"] for row in rows}), f"level of somebody {rng.randrange(10**6)}"]
    codes = pa.array([levels.index(row["ill"]) for row in rows], pa.int32())
    cells = pa.DictionaryArray.from_arrays(codes, pa.array(levels))
    return _arrow(pa.Table.from_pylist(rows).set_column(2, "ill", cells))


def _sheets(rng: random.Random, rows: list[Row]) -> bytes:
    return _excel(rows, lambda book, _: book.create_sheet("names").append([rng.random()]))


def _comments(rng: random.Random, rows: list[Row]) -> bytes:
    def change(book: Any, sheet: Any) -> None:
        del book
        sheet[f"C{rng.randrange(len(rows)) + 2}"].comment = Comment("this is Ada", "officer")

    return _excel(rows, change)


def _ends(rng: random.Random, rows: list[Row]) -> bytes:
    """Exact ends beside the cell that stands for them."""
    made = [
        row | {"age_low": row["age"] + n, "age_high": row["age"] + n} for n, row in enumerate(rows)
    ]
    return _csv(rng, made)


FILES: dict[str, tuple[str, str, str, Maker]] = {
    "csv": ("csv", PLAIN, "", _csv),
    "jsonl": ("jsonl", PLAIN, "", _jsonl),
    "parquet": ("parquet", PLAIN, "", _parquet),
    "arrow": ("arrow", PLAIN, "", lambda _, rows: _arrow(pa.Table.from_pylist(rows))),
    "xlsx": ("xlsx", PLAIN, "", lambda _, rows: _excel(rows, lambda *_: None)),
    "formats of cells": ("xlsx", APART, "", _formats),
    "a key twice": ("jsonl", APART, "", _twice),
    "half a character": ("jsonl", APART, "", _half),
    "another spelling": ("csv", APART, "", _spelled),
    "another type": ("jsonl", APART, "", _typed),
    "two zeros": ("parquet", APART, "", _zeros),
    "payloads": ("arrow", BESIDE, "nan", _payloads),
    "metadata": ("parquet", BESIDE, "metadata|made from", _metadata),
    "an index": ("parquet", BESIDE, "index", _index),
    "unused levels": ("arrow", BESIDE, "dictionar|categor|level|unused", _unused),
    "sheets": ("xlsx", BESIDE, "sheet", _sheets),
    "comments": ("xlsx", BESIDE, "comment", _comments),
    "exact ends": ("csv", BESIDE, "age_low", _ends),
}
"""By name of the fault: ending of the file, what a reader can do with it, what must be said of it,
and what makes it."""
