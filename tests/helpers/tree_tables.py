"""Random tables whose columns all have a tree, and what a value is at a level of its column."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.hierarchy import Taxonomy
from shoal.table.encode import encode
from shoal.table.schema import Column, Kind, Role, Schema
from tests.helpers.brute import LOPSIDED, TREE

AGES = [(str(a), f"{a // 2 * 2}+", f"{a // 4 * 4}..", "*") for a in range(8)]
FLAT = [("red", "*"), ("green", "*"), ("blue", "*")]
# A node with one child at each level: two levels that group alike but publish differently.
CHAIN = [("x", "x1", "x2", "*"), ("y", "y1", "yz", "*"), ("z", "z1", "yz", "*")]
PATHS = {"country": TREE, "lopsided": LOPSIDED, "flat": FLAT, "age": AGES, "chain": CHAIN}
SICK = ["flu", "none", "cough"]


def tree_tables(seed, count, max_rows=30):
    """Random tables whose columns all have a tree, with missing values and weights."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(8, max_rows + 1))
        names = rng.permutation(sorted(PATHS))[: int(rng.integers(1, 5))].tolist()
        columns, series = [], []
        for name in names:
            leaves = [path[0] for path in PATHS[name]]
            share = rng.dirichlet(np.full(len(leaves), 0.5))
            values = [leaves[i] for i in rng.choice(len(leaves), size=n, p=share)]
            if rng.random() < 0.4:
                values = [None if rng.random() < 0.2 else v for v in values]
                values[0] = leaves[0]
            series.append(pl.Series(name, values, dtype=pl.String))
            columns.append(
                Column(
                    name=name,
                    role=Role.QUASI_IDENTIFIER,
                    kind=Kind.FLAT if name == "flat" else Kind.CATEGORICAL,
                    hierarchy=None if name == "flat" else Taxonomy.from_paths(PATHS[name]),
                    weight=float(rng.choice([1.0, 1.0, 0.5, 2.0])),
                )
            )
        series.append(pl.Series("sick", rng.choice(SICK, size=n, p=[0.6, 0.3, 0.1]).tolist()))
        columns.append(Column(name="sick", role=Role.SENSITIVE))
        frame = pl.DataFrame(series)
        yield frame, encode(frame, Schema(tuple(columns)))


def generalise(name, value, level):
    """Label of a value at a level of its column, by the paths alone."""
    height = max(len(path) for path in PATHS[name]) - 1
    if value is None:
        return "*" if level == height else None
    path = next(path for path in PATHS[name] if path[0] == value)
    return path[max(0, len(path) - 1 - (height - level))]
