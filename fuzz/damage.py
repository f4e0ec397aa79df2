"""Damaged files: every format that is read, with bits flipped, cut, spliced, misnamed or blown up.

A damaged file may still be a table; then the run goes on. Otherwise it ends in one sentence that
shows nothing of the file, with exit status 2 (or 1 where the promise cannot be kept).
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import re
import sqlite3
import struct
import zipfile
import zlib
from functools import cache
from typing import TYPE_CHECKING

import polars as pl
import zstandard

from fuzz.commands import judge
from fuzz.parts import Outcome, crashed, run_command, run_process
from fuzz.tables import token

if TYPE_CHECKING:
    from pathlib import Path

TABLES = ("csv", "tsv", "csv.gz", "csv.zst", "parquet", "arrow", "xlsx", "jsonl", "jsonl.gz", "db")
OTHERS = ("job.toml", "tree.csv", "why.json", "certificate.json")
ROLES = ["--qi", "age,zip", "--sensitive", "ill", "--drop", "name"]
PLANTED = [token(random.Random(f"damage {number}"), 12) for number in range(30)]
BOMB = 1 << 24  # bytes of a small bomb; what is claimed may be far more


def run(seed: str, folder: Path) -> Outcome:
    """Run one command on one damaged file."""
    rng = random.Random(seed)
    kind = rng.choice((*TABLES, *TABLES, *OTHERS))
    data = _damage(rng, _sound(kind), kind)
    for name in OTHERS:
        (folder / name).write_bytes(_sound(name))
    (folder / "data.csv").write_bytes(_sound("csv"))
    name = kind if kind in OTHERS else f"data.{kind}"
    if kind in TABLES and rng.random() < 0.1:
        name = f"data.{rng.choice(TABLES)}"  # a wrong ending
    (folder / name).write_bytes(data)
    words = _command(rng, kind, name)
    before = _sizes(folder)
    try:
        ran = run_command(words, folder)
        if b"panicked" in ran.below and rng.random() < 0.03:
            ran = run_process(words, folder)  # where nobody sees what libraries say
    except Exception as error:
        return crashed(error, kind)
    # A cell that the damage has moved into the first line is the name of a column now.
    header = _first_line(data)
    hidden = [text for text in PLANTED if text.encode() not in header]
    verdict, problems = judge(words, ran, before, _sizes(folder), hidden)
    return Outcome(verdict, problems and [repr(words), *problems], kind)


def _first_line(data: bytes) -> bytes:
    with contextlib.suppress(OSError, EOFError, zlib.error):
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    with contextlib.suppress(zstandard.ZstdError):
        if data[:4] == b"\x28\xb5\x2f\xfd":
            data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return re.split(rb"[\r\n]", data[:100_000].lstrip(), maxsplit=1)[0]


def _sizes(folder: Path) -> dict[str, str]:
    return {path.name: str(path.stat().st_size) for path in folder.iterdir() if path.is_file()}


def _command(rng: random.Random, kind: str, name: str) -> list[str]:
    if kind == "tree.csv":
        return rng.choice(
            (
                ["hierarchy", "check", name],
                ["hierarchy", "check", name, "--data", "data.csv", "--column", "zip"],
                ["anonymize", "data.csv", "-o", "x.csv", "--replace", "--k", "2", *ROLES,
                 "--algorithm", "mondrian", "--hierarchy", f"zip={name}"],
            )
        )  # fmt: skip
    if kind == "job.toml":
        return [
            "anonymize",
            "data.csv",
            "-o",
            "x.csv",
            "--replace",
            "--job",
            name,
            "--algorithm",
            "mondrian",
        ]
    if kind == "why.json":
        return ["anonymize", "data.csv", "-o", "x.csv", "--replace", "--k", "2", *ROLES,
                "--algorithm", "mondrian", "--report", "r.html", "--explanation", name]  # fmt: skip
    if kind == "certificate.json":
        return ["verify", "data.csv", "--k", "2", "--qi", "age", "--certificate", name]
    source = f"sqlite:///{name}?table=people" if name.endswith(".db") else name
    return rng.choice(
        (
            ["verify", source, "--k", "2", "--qi", "age,zip"],
            ["verify", source, "--k", "2", "--qi", "zip", "--sensitive", "ill", "--alpha", "0.9"],
            ["anonymize", source, "--dry-run", "--k", "2", *ROLES],
            ["init", source, "--yes", "-o", "new.toml"],
            [
                "anonymize",
                source,
                "-o",
                "x.csv",
                "--replace",
                "--k",
                "2",
                *ROLES,
                "--algorithm",
                "mondrian",
            ],
            ["hierarchy", "build", source, "--column", "zip", "-o", "new.csv"],
        )
    )


@cache
def _sound(kind: str) -> bytes:
    """Return a file of a kind before it is damaged."""
    n = len(PLANTED)
    frame = pl.DataFrame(
        {
            "name": PLANTED,
            "age": [20 + i for i in range(n)],
            "zip": [f"4790{i % 6}" for i in range(n)],
            "ill": [PLANTED[i % 3] for i in range(n)],
        }
    )
    memory = io.BytesIO()
    if kind == "job.toml":
        roles = {"name": "drop", "age": "quasi-identifier", "zip": "quasi-identifier"}
        lines = ["k = 2", 'measure = "ncp"', "max_suppression = 0.1", "[style]",
                 'numeric = "bounds"', "[[privacy]]", 'model = "alpha-k"', "alpha = 1"]  # fmt: skip
        for name, role in (roles | {"ill": "sensitive"}).items():
            lines += [f"[columns.{name}]", f'role = "{role}"']
        return "\n".join(lines).encode()
    if kind == "tree.csv":
        return "".join(f"4790{i};4790{i // 3};4790*;*\n" for i in range(6)).encode()
    if kind == "why.json":
        return _explanation()
    if kind == "certificate.json":
        return json.dumps({"schema_version": 2, "holds": True, "promises": []}).encode()
    if kind == "db":
        base = sqlite3.connect(":memory:")
        base.execute("CREATE TABLE people (name TEXT, age INTEGER, zip TEXT, ill TEXT)")
        base.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", frame.rows())
        base.commit()
        return base.serialize()
    if kind == "parquet":
        frame.write_parquet(memory)
    elif kind == "arrow":
        frame.write_ipc(memory)
    elif kind == "xlsx":
        frame.write_excel(memory)
    elif kind.startswith("jsonl"):
        frame.write_ndjson(memory)
    else:
        frame.write_csv(memory, separator="\t" if kind == "tsv" else ",")
    data = memory.getvalue()
    if kind.endswith(".gz"):
        return gzip.compress(data)
    return zstandard.compress(data) if kind.endswith(".zst") else data


@cache
def _explanation() -> bytes:
    """Return what the program itself writes as an explanation."""
    from fuzz.parts import empty_folder

    with empty_folder() as folder:
        (folder / "data.csv").write_bytes(_sound("csv"))
        words = ["explain", "data.csv", "--k", "2", *ROLES, "--algorithm", "mondrian"]
        ran = run_command([*words, "--out", "why.json", "--quiet"], folder)
        path = folder / "why.json"
        if not path.exists():
            message = f"explain wrote nothing: {ran.err!r}"
            raise RuntimeError(message)
        return path.read_bytes()


def _damage(rng: random.Random, data: bytes, kind: str) -> bytes:
    way = rng.random()
    if way < 0.03:
        return _bomb(rng, kind, data)
    if way < 0.05:
        return b""
    if way < 0.07:
        return rng.randbytes(rng.randint(1, 600))
    if kind == "xlsx" and way < 0.6:
        return _inside_zip(rng, data)
    if kind.endswith(".gz") and way < 0.6:
        return gzip.compress(_scratch(rng, gzip.decompress(data)))
    if kind.endswith(".zst") and way < 0.6:
        return zstandard.compress(_scratch(rng, zstandard.decompress(data)))
    return _scratch(rng, data)


def _scratch(rng: random.Random, data: bytes) -> bytes:
    """Flip, cut, repeat, insert and splice."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        if not made:
            break
        at = rng.randrange(len(made))
        kind = rng.randrange(9)
        if kind <= 2:
            made[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            made[at] = rng.choice((0, 255, 10, 13, 34, 44, 92, 123, 239))
        elif kind == 4:
            del made[at : at + rng.choice((1, 4, 60))]
        elif kind == 5:
            made[at:at] = rng.randbytes(rng.choice((1, 4, 30)))
        elif kind == 6:
            piece = made[at : at + rng.randint(1, 50)]
            to = rng.randrange(len(made))
            made[to:to] = piece * rng.choice((1, 3))
        elif kind == 7:
            made[at : at + 4] = struct.pack("<i", rng.choice((-1, 2**31 - 1, 2**30, 0)))
        elif rng.random() < 0.3:
            del made[at:]
    return bytes(made)


def _inside_zip(rng: random.Random, data: bytes) -> bytes:
    """Damage one member of a zip and pack it again, so that the damage is reached."""
    memory = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            member = old.read(name)
            new.writestr(name, _scratch(rng, member) if name == chosen else member)
    return memory.getvalue()


def _bomb(rng: random.Random, kind: str, data: bytes) -> bytes:
    """Return a file that is small and claims or becomes a lot."""
    if kind.endswith(".gz"):
        return gzip.compress(b"a,b\n" + b"0" * BOMB, 9)
    if kind.endswith(".zst"):
        return zstandard.compress(b"a,b\n" + b"0," * (BOMB // 2))
    if kind == "xlsx":
        return _sheet_bomb(rng, data)
    if kind in ("csv", "tsv"):
        return rng.choice((b"x" * 200_000 + b"\n1\n", b"," * 50_000 + b"\n", b'"' + b"y" * 200_000))
    if kind == "jsonl":
        return b"[" * 100_000 + b"\n"
    if kind == "job.toml":
        return b"a = " + b"[" * 20_000
    if kind.endswith(".json"):
        return b"[" * 200_000 if rng.random() < 0.5 else b'{"a":' * 50_000
    if kind == "tree.csv":
        return rng.choice((b"a;" * 100_000 + b"*\n", b"a" * 300_000 + b";*\n"))
    return data[: len(data) // 2] + zlib.compress(b"\0" * BOMB)[:3000] + data[len(data) // 2 :]


def _sheet_bomb(rng: random.Random, data: bytes) -> bytes:
    memory = io.BytesIO()
    far = rng.choice(("XFD1048576", "A99999999", "ZZZZZ9", "A1048576"))
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            member = old.read(name)
            if name.startswith("xl/worksheets/sheet"):
                cell = f'<row r="1048576"><c r="{far}"><v>1</v></c></row></sheetData>'.encode()
                member = member.replace(b"</sheetData>", cell)
            new.writestr(name, member)
    return memory.getvalue()
