"""What the slow twins of the algorithms share: costs by definition, and random small tables.

The integer cost of a set of rows is computed here from closures and cost forms alone, attribute by
attribute, without columns, queries or kernels; only the scale and the rule of rounding are those
of `shoal.search.scan`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.hierarchy import Taxonomy
from shoal.measure.base import (
    CostModel,
    CountForm,
    IndicatorForm,
    LinearForm,
    LogForm,
    TreeForm,
    pick_target,
)
from shoal.measure.scores import create_measure
from shoal.search.scan import Run, Scanner
from shoal.table.closure import IntervalClosures, SetClosures, TreeClosures, close
from shoal.table.encode import EncodedTable, encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema
from tests.helpers.effort import share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MEASURES = ("ncp", "lm", "mi", "pmi")

TREE = [
    ("India", "South", "Asia", "*"),
    ("Nepal", "South", "Asia", "*"),
    ("Iran", "West", "Asia", "*"),
    ("USA", "North", "America", "*"),
    ("Peru", "Andes", "America", "*"),
    ("Chile", "Andes", "America", "*"),
]
LOPSIDED = [
    ("a", "ab", "abc", "*"),
    ("b", "ab", "abc", "*"),
    ("c", "abc", "*"),
    ("d", "only", "*"),
    ("e", "*"),
]
ORDER = ("low", "middle", "high", "top")
DOMAINS: dict[str, tuple[Kind, list[Any]]] = {
    "integer": (Kind.NUMERIC, list(range(-3, 9))),
    "decimal": (Kind.NUMERIC, [-1.5, 0.0, 0.25, 3.75, 4.0]),
    "ordinal": (Kind.ORDINAL, list(ORDER)),
    "country": (Kind.CATEGORICAL, [path[0] for path in TREE]),
    "lopsided": (Kind.CATEGORICAL, [path[0] for path in LOPSIDED]),
    "flat": (Kind.FLAT, ["red", "green", "blue"]),
    "set": (Kind.SET, ["u", "v", "w", "x"]),
}
TREES = {"country": TREE, "lopsided": LOPSIDED}


def small_tables(seed: int, count: int = 50, max_rows: int = 40) -> Iterator[EncodedTable]:
    """Yield random tables of 10 to max_rows rows, mixed kinds, missing values and weights."""
    rng = np.random.default_rng(seed)
    for _ in range(share(count)):
        n = int(rng.integers(10, max_rows + 1))
        names = rng.permutation(sorted(DOMAINS))[: int(rng.integers(1, 6))]
        yield _small_table(rng, [str(name) for name in names], n)


def _small_table(rng: np.random.Generator, names: list[str], n: int) -> EncodedTable:
    columns, series = [], []
    for name in names:
        kind, domain = DOMAINS[name]
        values = [domain[int(i)] for i in rng.integers(len(domain), size=n)]
        if rng.random() < 0.4:
            values = [None if rng.random() < 0.15 else v for v in values]
            values[0] = domain[0]
        dtype = {"integer": pl.Int64, "decimal": pl.Float64}.get(name, pl.String)
        series.append(pl.Series(name, values, dtype=dtype))
        columns.append(
            Column(
                name=name,
                role=Role.QUASI_IDENTIFIER,
                kind=kind,
                hierarchy=Taxonomy.from_paths(TREES[name]) if name in TREES else None,
                order=ORDER if name == "ordinal" else None,
                weight=float(rng.choice([1.0, 1.0, 0.5, 2.0])),
            )
        )
    sick = [str(v) for v in rng.choice(["flu", "none", "cough"], size=n)]
    series.append(pl.Series("sick", sick))
    columns.append(Column(name="sick", role=Role.SENSITIVE))
    return encode(pl.DataFrame(series), Schema(tuple(columns)))


def make_run(table: EncodedTable, measure: str, k: int, seed: int, **options: Any) -> Run:
    """Bind a measure to a table the way the pipeline does."""
    model = CostModel.bind(create_measure(measure, {}), table, pick_target(table, {}))
    scanner = Scanner.build(table, model)
    return Run(k=k, model=model, scanner=scanner, rng=np.random.default_rng(seed), **options)


def row_cost(table: EncodedTable, scanner: Scanner, model: CostModel, rows: Sequence[int]) -> int:
    """Return the total integer cost of one cluster: Σ_y hist_y · cost_y of its closure."""
    return charge(scanner, closure_cost(table, scanner, model, rows), rows)


def charge(scanner: Scanner, cost: Sequence[int], rows: Sequence[int]) -> int:
    """Return what these rows pay together if a row of sensitive value y pays cost[y]."""
    return sum(cost[int(scanner.classes[row])] for row in rows)


def closure_cost(
    table: EncodedTable, scanner: Scanner, model: CostModel, rows: Sequence[int]
) -> list[int]:
    """Return the cost per member of the closure of these rows, per sensitive value."""
    parts = [attribute_cost(table, scanner, model, j, rows) for j in range(len(table.attributes))]
    return [sum(part[y] for part in parts) for y in range(scanner.n_classes)]


def attribute_cost(
    table: EncodedTable, scanner: Scanner, model: CostModel, j: int, rows: Sequence[int]
) -> list[int]:
    """Return the part of attribute j in the cost per member of a set of rows."""
    labels = np.full(table.n_rows, -1, np.int32)
    labels[list(rows)] = 0
    attribute, form = table.attributes[j], model.forms[j]
    closures = close(attribute, Partition(labels, 1))
    factor = float(model.weights[j]) * scanner.scale
    classes = range(scanner.n_classes)
    if isinstance(form, TreeForm):
        assert isinstance(closures, TreeClosures)
        cost = np.rint(form.node * factor).astype(np.int64).reshape(len(form.node), -1)
        return [int(cost[closures.node[0], y]) for y in classes]
    if isinstance(form, IndicatorForm):
        return [0 if closures.single()[0] else round(form.full * factor) for _ in classes]
    everything = bool(closures.everything[0])
    if isinstance(form, LinearForm):
        assert isinstance(closures, IntervalClosures)
        place = np.append(np.rint(form.position * factor), 0).astype(np.int64)
        full = round(form.full * factor)
        spread = int(place[closures.high[0]] - place[closures.low[0]])
        return [full if everything else min(full, spread) for _ in classes]
    if isinstance(form, CountForm):
        assert isinstance(closures, SetClosures)
        n_values = int(closures.indptr[1] - closures.indptr[0])
        spread = math.floor(form.unit * factor * (n_values - 1) + 0.5)
        return [round(form.full * factor) if everything else spread for _ in classes]
    assert isinstance(form, LogForm)
    if isinstance(closures, SetClosures):
        codes = closures.members[closures.indptr[0] : closures.indptr[1]]
    else:
        assert isinstance(closures, IntervalClosures)
        codes = np.arange(closures.low[0], closures.high[0] + 1, dtype=np.int32)
    mass = form.mass.sum(axis=0) if everything else form.mass[codes].sum(axis=0)
    return [_log_cost(form, factor, mass, y, everything, attribute.algebra) for y in classes]


def _log_cost(
    form: LogForm, factor: float, mass: Any, y: int, everything: bool, algebra: str
) -> int:
    whole = math.log2(max(int(mass[0]), 1))
    if len(mass) == 1:
        return int(np.rint(whole * factor))
    if mass[1 + y] == 0:
        return 0
    part = math.log2(int(mass[1 + y]))
    if everything and algebra == "set":  # a set's "everything" is rounded in one piece
        return int(np.rint(factor * (whole - form.beta * part)))
    return int(np.rint(whole * factor)) - int(np.rint(part * (factor * form.beta)))


def as_groups(partition: Partition) -> set[frozenset[int]]:
    """Return the groups of a partition as sets of rows (suppressed rows are in none)."""
    return {frozenset(partition.rows_of(g).tolist()) for g in range(partition.n_groups)}
