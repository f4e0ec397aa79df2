"""Blocks that cannot win are skipped; the groups are those of comparing with everything.

The twins of OKA, KACA and agglomerative clustering compare with all by definition; here blocks are
so small, or tables so large, that most of them are skipped again and again.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.helpers.brute import TREE, make_run, small_tables

from shoal.algorithm import agglomerative, kaca, oka
from shoal.algorithm.agglomerative import Agglomerative
from shoal.algorithm.kaca import KACA
from shoal.algorithm.oka import OKA
from shoal.hierarchy import Taxonomy
from shoal.table.encode import encode
from shoal.table.schema import Column, Kind, Role, Schema

MEASURES = ("ncp", "lm", "tree", "suppression", "whd-height", "mi", "pmi")
ALGORITHMS = {
    "oka": (OKA(), oka, "BLOCK_CLUSTERS"),
    "oka twice": (OKA(iterations=2), oka, "BLOCK_CLUSTERS"),
    "kaca": (KACA(), kaca, "BLOCK_CLASSES"),
    "agglomerative": (Agglomerative(), agglomerative, "BLOCK_CLUSTERS"),
}


def large_table(seed, n_rows=1500):
    """Encode rows of all kinds, some equal, some values missing."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(17, 90, n_rows),
            "hours": [None if v == 13 else int(v) for v in rng.integers(0, 40, n_rows)],
            "country": [TREE[i][0] for i in rng.integers(0, len(TREE), n_rows)],
            "colour": rng.choice(["red", "green", "blue", "grey"], n_rows, p=[0.6, 0.2, 0.1, 0.1]),
            "sick": rng.choice(["flu", "none"], n_rows),
        }
    )
    frame = pl.concat([frame, frame.head(n_rows // 3)])
    hidden = Role.QUASI_IDENTIFIER
    columns = (
        Column(name="age", role=hidden, kind=Kind.NUMERIC),
        Column(name="hours", role=hidden, kind=Kind.NUMERIC, weight=0.5),
        Column(
            name="country",
            role=hidden,
            kind=Kind.CATEGORICAL,
            hierarchy=Taxonomy.from_paths(TREE),
        ),
        Column(name="colour", role=hidden, kind=Kind.FLAT),
        Column(name="sick", role=Role.SENSITIVE),
    )
    return encode(frame, Schema(columns))


def labels_with_blocks_of(size, name, table, measure, k, monkeypatch):
    algorithm, module, constant = ALGORITHMS[name]
    monkeypatch.setattr(module, constant, size)
    return algorithm.partition(table, make_run(table, measure, k, 7)).labels.tolist()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_blocks_of_any_size_give_the_groups_of_one_block(name, measure, monkeypatch):
    for number, table in enumerate(small_tables(71, count=15)):
        k = 2 + number % 4
        whole = labels_with_blocks_of(10**6, name, table, measure, k, monkeypatch)
        for size in (1, 3, 8):
            found = labels_with_blocks_of(size, name, table, measure, k, monkeypatch)
            assert found == whole, (number, size)


@pytest.mark.parametrize("measure", ["ncp", "whd-height", "suppression"])
@pytest.mark.parametrize("name", ["oka", "kaca", "agglomerative"])
def test_blocks_of_a_large_table_give_the_groups_of_one_block(name, measure, monkeypatch):
    table = large_table(5)
    for k in (3, 10):
        whole = labels_with_blocks_of(10**6, name, table, measure, k, monkeypatch)
        for size in (4, 32):
            assert labels_with_blocks_of(size, name, table, measure, k, monkeypatch) == whole
