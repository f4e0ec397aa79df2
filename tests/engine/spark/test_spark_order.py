"""What a shuffle delivers in any order is put into one before anything else is done with it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from shoal.engine.spark.block import in_order
from shoal.engine.spark.plan import Columns


def test_equal_rows_of_different_groups_are_in_one_order_however_they_are_delivered():
    columns = Columns(
        raw=("a0",),
        kept=(),
        keys=(),
        codes=("q0",),
        original=(),
        sensitive=("s0",),
        person=True,
        tuples=False,
    )
    rng = np.random.default_rng(1)
    few = {name: rng.integers(0, 2, 200) for name in ("q0", "s0", "w", "h", "z", "g")}
    rows = pa.table(few)
    expected = in_order(columns, rows)
    for _ in range(5):
        assert in_order(columns, rows.take(pa.array(rng.permutation(200)))).equals(expected)
    many = pa.table({**few, "m": rng.integers(1, 4, 200)})
    told = in_order(columns, many)
    assert told.num_rows == int(many.column("m").to_numpy().sum())
