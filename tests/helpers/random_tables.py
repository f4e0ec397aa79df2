"""Random small tables with groups, and what closures and measures are by definition.

Nothing here uses codes: closures are plain sets of raw values, trees are lists of paths. The
tables cover every kind, missing values, suppressed rows and weights.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

import polars as pl
from hypothesis import strategies as st

from shoal.hierarchy import Taxonomy
from shoal.measure.base import Grouped
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema

MISSING = None

# Paths from the leaf to the root. The second tree is unbalanced and has a node with one child.
BALANCED = [
    ("India", "South", "Asia", "*"),
    ("Nepal", "South", "Asia", "*"),
    ("Iran", "West", "Asia", "*"),
    ("USA", "North", "America", "*"),
    ("Peru", "Andes", "America", "*"),
    ("Chile", "Andes", "America", "*"),
]
UNBALANCED = [
    ("a", "ab", "abc", "*"),
    ("b", "ab", "abc", "*"),
    ("c", "abc", "*"),
    ("d", "only", "*"),
    ("e", "*"),
]
EPOCH = dt.date(2000, 2, 28)
ORDER = ("low", "middle", "high", "top")

VALUES = {
    "integers": (Kind.NUMERIC, st.integers(-3, 4)),
    "decimals": (Kind.NUMERIC, st.sampled_from([-1.5, 0.0, 0.25, 3.75])),
    "dates": (Kind.DATE, st.integers(0, 40).map(lambda d: EPOCH + dt.timedelta(days=d))),
    "ordinal": (Kind.ORDINAL, st.sampled_from(ORDER)),
    "balanced": (Kind.CATEGORICAL, st.sampled_from([path[0] for path in BALANCED])),
    "unbalanced": (Kind.CATEGORICAL, st.sampled_from([path[0] for path in UNBALANCED])),
    "flat": (Kind.FLAT, st.sampled_from(["red", "green", "blue"])),
    "set": (Kind.SET, st.sampled_from(["u", "v", "w", "x"])),
}
TREES = {"balanced": BALANCED, "unbalanced": UNBALANCED}
INTERVALS = ("integers", "decimals", "dates", "ordinal")


@dataclass(frozen=True)
class Everything:
    """The closure of a suppressed row, and of missing mixed with anything else."""


@dataclass(frozen=True)
class Closure:
    """A closure by its values; ``node`` is its label in the tree, for tree columns."""

    values: frozenset
    node: str | None = None


@dataclass
class Case:
    """A table with its groups, raw and encoded."""

    columns: dict[str, list]
    labels: list[int]
    sensitive: list
    weights: dict[str, float]
    grouped: Grouped = field(repr=False)

    @property
    def n_rows(self):
        return len(self.labels)

    def domain(self, name):
        """Values of the domain, missing last where it occurs."""
        column = self.columns[name]
        present = {value for value in column if value is not MISSING}
        if name in TREES:
            values = [path[0] for path in TREES[name]]
        elif name == "ordinal":
            values = list(ORDER)
        else:
            values = sorted(present)
        return values + [MISSING] * (MISSING in column)

    def paths(self, name):
        """Path of each leaf to the root; a flat column is a tree of height 1."""
        if name in TREES:
            return {path[0]: path for path in TREES[name]}
        return {value: (value, "*") for value in self.domain(name) if value is not MISSING}

    def join(self, name, values):
        """Closure of some values of a column."""
        present = set(values)
        if present == {MISSING}:
            return Closure(frozenset(present))
        if MISSING in present:
            return Everything()
        if name in INTERVALS:
            known = [value for value in self.domain(name) if value is not MISSING]
            place = sorted(known.index(value) for value in present)
            return Closure(frozenset(known[place[0] : place[-1] + 1]))
        if name == "set":
            return Closure(frozenset(present))
        paths = self.paths(name)
        first = paths[next(iter(present))]
        node = next(label for label in first if all(label in paths[value] for value in present))
        if node == "*":
            return Everything()
        return Closure(frozenset(leaf for leaf in paths if node in paths[leaf]), node)

    def closure(self, name, row):
        """Closure of the cell of a row."""
        label = self.labels[row]
        if label < 0:
            return Everything()
        column = self.columns[name]
        return self.join(name, [v for v, g in zip(column, self.labels, strict=True) if g == label])

    def covered(self, name, closure):
        """Set of the values that a closure covers."""
        if isinstance(closure, Everything):
            return set(self.domain(name))
        return set(closure.values)


def make_case(columns, labels, sensitive, weights):
    """Encode a table of raw values with one group label per row."""
    dtypes = {"integers": pl.Int16, "decimals": pl.Float64, "dates": pl.Date}
    frame = pl.DataFrame(
        {
            **{n: pl.Series(n, v, dtype=dtypes.get(n, pl.String)) for n, v in columns.items()},
            "sick": pl.Series(sensitive, dtype=pl.String),
        }
    )
    schema = Schema(
        (
            *(
                Column(
                    name=name,
                    role=Role.QUASI_IDENTIFIER,
                    kind=VALUES[name][0],
                    hierarchy=Taxonomy.from_paths(TREES[name]) if name in TREES else None,
                    order=ORDER if name == "ordinal" else None,
                    weight=weights[name],
                )
                for name in columns
            ),
            Column(name="sick", role=Role.SENSITIVE),
        )
    )
    table = encode(frame, schema)
    partition = Partition.from_labels(labels)
    grouped = Grouped(table, partition, table.sensitive[0])
    return Case(columns, partition.labels.tolist(), sensitive, weights, grouped)


@st.composite
def cases(draw, *, max_rows=9, weighted=True):
    """A random table of one to four columns in random groups."""
    n_rows = draw(st.integers(1, max_rows))
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4, unique=True))
    columns = {}
    for name in names:
        value = VALUES[name][1]
        cell = draw(st.sampled_from([value, value | st.none()]))
        column = draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
        if all(v is MISSING for v in column):
            column[draw(st.integers(0, n_rows - 1))] = draw(value)
        columns[name] = column
    labels = draw(st.lists(st.integers(-1, 3), min_size=n_rows, max_size=n_rows))
    sensitive = draw(
        st.lists(st.sampled_from(["flu", "none", None]), min_size=n_rows, max_size=n_rows)
    )
    one = st.just(1.0)
    weights = {n: draw(st.sampled_from([0.5, 1.0, 2.0]) if weighted else one) for n in names}
    return make_case(columns, labels, sensitive, weights)
