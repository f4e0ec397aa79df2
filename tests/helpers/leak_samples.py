"""People in groups that lie far apart, and others who are left out and planted with secrets."""

from __future__ import annotations

import random
import re

import polars as pl

from fuzz.parts import run_command
from fuzz.tables import token

SEED = 987_654_321  # long enough to be recognised wherever it should not be
K = 5
GROUPS = 8  # of five each, so that every algorithm finds the same ones
LEFT_OUT = 4  # rows without an age, which `missing = "suppress"` leaves out
HOMES = [f"village {letter}" for letter in "abcdefgh"]
ILLS = ["asthma of the bronchi", "migraine with an aura", "diabetes of type two"]
FORMATS = ("csv", "tsv", "csv.gz", "csv.zst", "jsonl", "jsonl.gz", "parquet", "arrow", "xlsx", "db")
TREE = {"north": HOMES[:4], "south": HOMES[4:]}
SHORT = re.compile(
    rb'"created": "[^"]*"'
    rb'|"seconds": [0-9.]+'
    rb"|20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9:]+(Z|\+00:00| UTC)?"
    rb"|\b[0-9.]+ (s|seconds?)\b"
)


def secret(name):
    """A text that occurs nowhere else; always the same for the same name."""
    return token(random.Random(f"secret {name}"), 18)


def number(name):
    """A whole number that occurs nowhere else."""
    return random.Random(f"number {name}").randrange(10**13, 10**15)


def rows(order=None, **changes):
    """Rows as dicts: five to each group, then those who are left out.

    Args:
        order: places of the rows, if another order is wanted.
        changes: cells of the people left out, by column, and `inside` for the people in groups.
    """
    inside = changes.pop("inside", 2)
    made = []
    for group in range(GROUPS):
        for member in range(5):
            age = 1000 * group + (0, 4, inside, 1, 3)[member]
            made.append(
                {
                    "age": age,
                    "home": HOMES[group],
                    "ill": ILLS[member % 3],
                    "cost": 100 + member,
                    "note": "plain",
                }
            )
    for person in range(LEFT_OUT):
        left = {
            "age": None,
            "home": f"{secret('home')}{person}",
            "ill": f"{secret('ill')}{person}",
            "cost": number("cost") + person,
            "note": f"{secret('note')}{person}",
        }
        made.append(left | {name: given[person % len(given)] for name, given in changes.items()})
    for place, row in enumerate(made):
        row["name"] = f"{secret('name')}{place}"
        row["path"] = f"{secret('path')}{place}"
        row["account"] = number("account") + place
    return made if order is None else [made[place] for place in order]


def frame(**changes):
    """The people as a polars frame."""
    types = {"age": pl.Int64, "cost": pl.Int64, "account": pl.Int64}
    return pl.DataFrame(rows(**changes), schema_overrides=types)


SECRETS = [secret(name).encode() for name in ("home", "ill", "note", "name", "path")]
NUMBERS = [
    number(name) + place
    for name, places in (("cost", LEFT_OUT), ("account", 5 * GROUPS + LEFT_OUT))
    for place in range(places)
]
ROLES = {
    "quasi_identifiers": ["age", "home"],
    "sensitive": ["ill", "cost"],
    "insensitive": ["note"],
    "identifiers": ["name"],
    "drop": ["path", "account"],
}
FLAGS = [
    *("--qi", "age,home", "--sensitive", "ill,cost", "--insensitive", "note"),
    *("--identifier", "name", "--drop", "path,account"),
]


def anonymize(folder, table, ending, *more, report=True):
    """Publish a table through the command line; return all that came out, by name."""
    table.write_parquet(folder / "in.parquet")
    name = f"safe.{ending}"
    target = f"sqlite:///{name}?table=safe" if ending == "db" else name
    words = ["anonymize", "in.parquet", "--replace", "-o", target, "--k", str(K), *FLAGS]
    words += ["--missing", "suppress", "--seed", str(SEED), "--certificate", "certificate.json"]
    words += ["--report", "report.html"] if report else []
    ran = run_command([*words, *more], folder)
    assert ran.status == 0, ran.err.decode()
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    del files["in.parquet"]
    return files | {"standard output": ran.out, "standard error": ran.err}


def without_time(data):
    """The bytes of a certificate, a report or a stream without when and how long."""
    return SHORT.sub(b"", data)
