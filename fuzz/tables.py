"""Random tables and random options: whatever a user could ask for, made from one seed.

Nothing of the package is imported here: the checker reads the same description of a table as the
run does, and must not share code with it.
"""

from __future__ import annotations

import datetime as dt
import math
import random
import struct
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

FORMATS = ("csv", "tsv", "csv.gz", "tsv.zst", "parquet", "arrow", "xlsx", "jsonl", "jsonl.gz", "db")
FRAMES = ("polars", "polars", "polars", "pandas", "pyarrow")
STYLES = ("interval", "interval", "interval", "bounds", "struct", "mean", "median")
TREE = {
    "Asia": {"South Asia": ["India", "Nepal"], "West Asia": ["Iran", "Iraq"]},
    "America": {"North": ["USA", "Canada"], "Andes": ["Peru", "Chile"]},
    "Oceania": ["Fiji"],
}
GRADES = ["none", "basic", "middle", "high", "top"]
ZONES = ("Europe/Berlin", "America/Lima", "UTC")
LETTERS = "bcdfghjkmnpqrstvwxyz23456789"
ODD = (
    "",
    " ",
    "a,b",
    'say "no"',
    "line\nbreak",
    "tab\there",
    "=1+1",
    "-",
    "NA",
    "null",
    "nan",
    "[1-2]",
    "{a, b}",
    "flu",
    "flu ",
    "Flu",
    "ß",
    "ñandú",
    "日本語",
    "🐟",
    "é",
    "e\u0301",
    "\u200b",
    "1",
    "1.0",
    "01",
    "true",
)

WHOLE_COLUMNS = ("incognito", "datafly", "top-down-specialization")
"""Algorithms that need a hierarchy for every quasi-identifier."""
LEAVE_ROWS_OUT = ("incognito", "datafly", "loukides-shao")
"""Algorithms that leave rows out by themselves."""


@dataclass
class Column:
    """One column: its cells as plain values, and what the run is told about it.

    Attributes:
        name: its name.
        role: quasi, sensitive, identifier, insensitive or drop.
        kind: numeric, ordinal, tree, flat, set, date or datetime (how it is generalised).
        dtype: name of the data type that the frame gets.
        cells: one value per row; None is missing.
        levels: all levels of a category or enum, in order, unused ones included.
        hidden: values that lie under the mask of missing cells, per row, where there are any.
    """

    name: str
    role: str
    kind: str
    dtype: str
    cells: list[Any]
    levels: list[str] = field(default_factory=list)
    hidden: dict[int, Any] = field(default_factory=dict)


@dataclass
class Case:
    """A table with everything that is asked of the run."""

    seed: str
    columns: list[Column]
    k: int
    frame: str = "polars"
    format: str = "csv"
    style: str = "interval"
    privacy: list[dict[str, Any]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.columns[0].cells)

    def named(self, *roles: str) -> list[Column]:
        """Columns of these roles, in order."""
        return [column for column in self.columns if column.role in roles]


def token(rng: random.Random, length: int = 15) -> str:
    """A text that occurs nowhere by chance."""
    return "".join(rng.choice(LETTERS) for _ in range(length))


def make_case(seed: str, algorithms: tuple[str, ...], measures: tuple[str, ...]) -> Case:
    """Return the table and the options that belong to a seed."""
    rng = random.Random(seed)
    algorithm = rng.choice(algorithms)
    n_rows = rng.choice((rng.randint(2, 12), rng.randint(8, 40), rng.randint(30, 90)))
    if rng.random() < 0.04:
        n_rows = rng.randint(90, 400)
    columns = _quasi_identifiers(rng, n_rows, algorithm)
    columns += _sensitive(rng, n_rows)
    columns += _others(rng, n_rows)
    if rng.random() < 0.4:
        _repeat_rows(rng, columns, n_rows)
    rng.shuffle(columns)
    case = Case(
        seed=seed,
        columns=columns,
        k=rng.choice((2, 2, 3, 3, 4, 5, 8)),
        frame=rng.choice(FRAMES),
        format=rng.choice(FORMATS),
        style=rng.choice(STYLES),
    )
    for column in columns:
        if case.frame == "pyarrow" and column.kind == "ordinal" and column.dtype == "enum":
            column.kind = "flat"  # an ordered dictionary is no order to other libraries
    case.privacy = _privacy(rng, case)
    case.options = _options(rng, algorithm, measures, case)
    _grids(random.Random(f"grid {seed}"), case)  # so that a seed makes the table it always made
    _fit_format(rng, case)
    return case


def _grids(rng: random.Random, case: Case) -> None:
    """Half of the tables end on exact values; of the others, some columns on lines asked for."""
    case.options["default_grid"] = rng.random() < 0.5
    if not case.options["default_grid"]:
        return
    steps = {
        "numeric": (1, 5, 100, "powers of 10", "powers of 2", "none"),
        "date": ("day", "week", "month", "quarter", "year", "decade", "none"),
        "datetime": ("second", "minute", "hour", "day", "week", "month", "year", "none"),
    }
    case.options["grid"] = {
        column.name: rng.choice(steps[column.kind])
        for column in case.named("quasi")
        if column.kind in steps and rng.random() < 0.5
    }


def _quasi_identifiers(rng: random.Random, n_rows: int, algorithm: str) -> list[Column]:
    makers = [_integers, _integers, _floats, _decimals, _dates, _datetimes]
    makers += [_flat, _flat, _booleans, _ordinal, _set, _tree, _tree]
    if algorithm in WHOLE_COLUMNS:
        makers = [_tree]
    made = []
    for number in range(rng.choice((1, 2, 2, 3, 4))):
        kind, dtype, cells, levels = rng.choice(makers)(rng, n_rows)
        column = Column(f"q{number}", "quasi", kind, dtype, cells, levels)
        _forget(rng, column, rng.choice((0, 0, 0, 0.05, 0.3)))
        if all(_is_missing(cell) for cell in column.cells):
            column.cells[rng.randrange(n_rows)] = next(
                (cell for cell in _restored(column) if not _is_missing(cell)), None
            )
        made.append(column)
    return made


def _restored(column: Column) -> list[Any]:
    return list(column.hidden.values())


def _forget(rng: random.Random, column: Column, share: float) -> None:
    """Make some cells missing; what was there stays hidden under the mask."""
    if not share:
        return
    for row, cell in enumerate(column.cells):
        if cell is not None and rng.random() < share:
            column.hidden[row], column.cells[row] = cell, None


def _integers(rng: random.Random, n: int) -> tuple[str, str, list[Any], list[str]]:
    dtype, low, high = rng.choice(
        (
            ("i64", 0, 99),
            ("i64", -5, 5),
            ("i8", -100, 100),
            ("u32", 0, 4_000_000_000),
            ("i64", 10**12, 10**15),
            ("i64", -(2**60), 2**60),
            ("i64", 10_000, 99_999),
        )
    )
    spread = [rng.randint(low, high) for _ in range(rng.choice((3, 8, n)))]
    cells = [rng.choice(spread) for _ in range(n)]
    if rng.random() < 0.3:
        cells[rng.randrange(n)] = high  # an outlier
    return "numeric", dtype, cells, []


def _floats(rng: random.Random, n: int) -> tuple[str, str, list[Any], list[str]]:
    dtype = rng.choice(("f64", "f64", "f32"))
    pool = [rng.uniform(-1000, 1000) for _ in range(rng.choice((3, n)))]
    pool += [rng.choice((0.0, -0.0, 0.1, 1e-7, 1.5, 1e15, math.nan)) for _ in range(4)]
    if dtype == "f32":
        pool = [struct.unpack("f", struct.pack("f", each))[0] for each in pool]
    return "numeric", dtype, [rng.choice(pool) for _ in range(n)], []


def _decimals(rng: random.Random, n: int) -> tuple[str, str, list[Any], list[str]]:
    return "numeric", "dec", [Decimal(rng.randint(-500, 500)) / 4 for _ in range(n)], []


def _dates(rng: random.Random, n: int) -> tuple[str, str, list[Any], list[str]]:
    start = dt.date(rng.choice((1969, 1900, 2023)), 12, 30)
    return "date", "date", [start + dt.timedelta(rng.randint(0, 800)) for _ in range(n)], []


def _datetimes(rng: random.Random, n: int) -> tuple[str, str, list[Any], list[str]]:
    start = dt.datetime(2023, 10, 28, 22, 15)
    dtype = rng.choice(("time", "time", *ZONES))
    step = rng.choice(
        (dt.timedelta(minutes=1), dt.timedelta(hours=1), dt.timedelta(microseconds=1))
    )
    return "datetime", dtype, [start + rng.randint(0, 3000) * step for _ in range(n)], []


def _booleans(rng: random.Random, n: int) -> tuple[str, str, list[Any], list[str]]:
    return "flat", "bool", [rng.random() < 0.6 for _ in range(n)], []


def _texts(rng: random.Random, n: int) -> list[str]:
    kind = rng.random()
    if kind < 0.35:
        pool = ["a", "b", "c"]
    elif kind < 0.6:
        pool = [*rng.sample(ODD, 5), "x"]
    else:
        pool = [token(rng, rng.choice((9, 15, 40, 300))) for _ in range(rng.choice((2, 5, n)))]
    return [rng.choice(pool) for _ in range(n)]


def _flat(rng: random.Random, n: int) -> tuple[str, str, list[Any], list[str]]:
    cells = [cell if cell != "*" else "star" for cell in _texts(rng, n)]
    if rng.random() < 0.25:
        levels = list(dict.fromkeys([*cells, token(rng), token(rng)]))
        rng.shuffle(levels)
        return "flat", "category", cells, levels
    return "flat", "text", cells, []


def _ordinal(rng: random.Random, n: int) -> tuple[str, str, list[Any], list[str]]:
    if rng.random() < 0.5:
        levels = [*GRADES, token(rng)]
        return "ordinal", "enum", [rng.choice(GRADES) for _ in range(n)], levels
    return "ordinal", "text", [rng.choice(GRADES) for _ in range(n)], list(GRADES)


def _set(rng: random.Random, n: int) -> tuple[str, str, list[Any], list[str]]:
    pool = ["u", "v", "w", *(token(rng) for _ in range(3))]
    return "set", "text", [rng.choice(pool) for _ in range(n)], []


def _tree(rng: random.Random, n: int) -> tuple[str, str, list[Any], list[str]]:
    leaves = list(tree_paths())
    pool = rng.sample(leaves, rng.randint(2, len(leaves)))
    return (
        "tree",
        rng.choice(("text", "text", "category")),
        [rng.choice(pool) for _ in range(n)],
        [],
    )


def tree_paths() -> dict[str, list[str]]:
    """Return the ancestors of each leaf of the tree, the nearest first, without the root."""
    paths = {}
    for continent, regions in TREE.items():
        if isinstance(regions, list):
            paths |= {leaf: [continent] for leaf in regions}
            continue
        for region, leaves in regions.items():
            paths |= {leaf: [region, continent] for leaf in leaves}
    return paths


def _sensitive(rng: random.Random, n: int) -> list[Column]:
    made = []
    for number in range(rng.choice((0, 1, 1, 1, 2))):
        kind = rng.random()
        levels: list[str] = []
        if kind < 0.25:
            dtype, cells = "text", [rng.choice(("flu", "gout", "asthma", "none")) for _ in range(n)]
        elif kind < 0.4:
            dtype, cells = (
                "text",
                [rng.choice(("flu", "flu ", "", "gout", "5.0", "5.00")) for _ in range(n)],
            )
        elif kind < 0.6:
            pool = [token(rng, rng.choice((9, 20, 60))) for _ in range(rng.choice((3, 6, n)))]
            dtype, cells = "text", [rng.choice(pool) for _ in range(n)]
        elif kind < 0.75:
            dtype = "i64"
            pool = [rng.choice((rng.randint(1, 9), rng.randint(10**12, 10**15))) for _ in range(5)]
            cells = [rng.choice(pool) for _ in range(n)]
        elif kind < 0.85:
            pool = [rng.uniform(-9, 9), 0.0, -0.0, 1.5, 2.5, math.nan]
            dtype, cells = "f64", [rng.choice(pool) for _ in range(n)]
        else:
            dtype = rng.choice(("enum", "category"))
            used = [token(rng, 12) for _ in range(4)]
            levels = [*used, token(rng), token(rng)]
            cells = [rng.choice(used) for _ in range(n)]
        column = Column(f"s{number}", "sensitive", "", dtype, cells, levels)
        _forget(rng, column, rng.choice((0, 0, 0.1)))
        made.append(column)
    return made


def _others(rng: random.Random, n: int) -> list[Column]:
    made = [Column("name", "identifier", "", "text", [token(rng) for _ in range(n)])]
    if rng.random() < 0.5:
        dtype, cells = rng.choice(
            (
                ("text", [token(rng, 30) for _ in range(n)]),
                ("i64", [rng.randint(10**12, 10**15) for _ in range(n)]),
                ("f64", [rng.random() for _ in range(n)]),
            )
        )
        made.append(Column("gone", "drop", "", dtype, cells))
    if rng.random() < 0.35:
        pool = [token(rng, 14) for _ in range(4)]
        column = Column("kept", "insensitive", "", "text", [rng.choice(pool) for _ in range(n)])
        _forget(rng, column, 0.1)
        made.append(column)
    return made


def _repeat_rows(rng: random.Random, columns: list[Column], n: int) -> None:
    """Make some rows copies of others, in all columns but the identifier."""
    for row in range(n):
        if rng.random() < 0.5:
            source = rng.randrange(n)
            for column in columns:
                if column.role != "identifier":
                    column.cells[row] = column.cells[source]
                    column.hidden.pop(row, None)
                    if source in column.hidden:
                        column.hidden[row] = column.hidden[source]


def _privacy(rng: random.Random, case: Case) -> list[dict[str, Any]]:
    columns = case.named("sensitive")
    if not columns:
        return []
    made = []
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        kind = rng.choice(
            ("frequency", "distinct", "entropy", "recursive", "equal", "ordered", "alpha")
        )
        model: dict[str, Any]
        if kind in ("equal", "ordered"):
            model = {
                "name": "t-closeness",
                "t": rng.choice((0.2, 0.35, 0.5, 0.8)),
                "distance": kind,
            }
        elif kind == "alpha":
            model = {"name": "alpha-k", "alpha": rng.choice((0.4, 0.5, 0.7, 0.9))}
        elif kind in ("distinct", "recursive"):
            model = {"name": "l-diversity", "l": rng.choice((2, 2, 3)), "kind": kind}
            if kind == "recursive":
                model["c"] = rng.choice((1, 1.5, 3))
        else:
            model = {"name": "l-diversity", "l": rng.choice((1.2, 1.5, 2, 2.5)), "kind": kind}
        if len(columns) > 1 or kind == "ordered" or rng.random() < 0.5:
            fitting = [c for c in columns if kind != "ordered" or c.dtype in ("i64", "f64", "enum")]
            if not fitting:
                continue
            if rng.random() < 0.7 or kind == "ordered":
                model["column"] = rng.choice(fitting).name
        made.append(model)
    return made


def _options(
    rng: random.Random, algorithm: str, measures: tuple[str, ...], case: Case
) -> dict[str, Any]:
    made: dict[str, Any] = {"algorithm": algorithm, "seed": rng.randrange(2**31)}
    if rng.random() < 0.4:
        made["measure"] = rng.choice(measures)
    if rng.random() < 0.45:
        made["max_suppression"] = rng.choice((0.02, 0.1, 0.2, 0.5))
        if made["seed"] % 3 == 0 and algorithm not in LEAVE_ROWS_OUT:
            made["suppress_for"] = "kept"
    if rng.random() < 0.4:
        made["missing"] = rng.choice(("suppress", "suppress", "category", "error"))
    if rng.random() < 0.15:
        made["refine"] = rng.choice(("fast", "balanced"))
    if rng.random() < 0.2:
        made["block_rows"] = rng.choice((1, 5, 20, 50))
    if rng.random() < 0.08:
        made["bound"] = True
    if rng.random() < 0.2:
        made["weights"] = {rng.choice(case.named("quasi")).name: rng.choice((0.5, 2.0, 10.0))}
    made["threads"] = rng.choice((1, 1, 2))
    return made


def _fit_format(rng: random.Random, case: Case) -> None:
    """Leave out what a format cannot hold at all; what it refuses by itself stays."""
    if case.style == "struct" and case.format not in ("parquet", "arrow", "jsonl", "jsonl.gz"):
        case.format = rng.choice(("parquet", "arrow", "jsonl"))


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))
