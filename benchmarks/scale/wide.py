"""Wide tables: the census with further columns, some of which go with each other."""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, make_census

WIDTHS = (8, 25, 60)
SHARE = 0.6


def wide_table(n_rows: int, n_columns: int, seed: int = 1) -> pl.DataFrame:
    """Return the eight columns of the census and further ones of 2 to 14 values.

    Six of ten cells of a further column follow a type that a person has; the others are drawn.
    """
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 6, n_rows)
    further = {}
    for j in range(n_columns - len(ADULT_QUASI_IDENTIFIERS)):
        n_values = int(rng.integers(2, 15))
        drawn = rng.integers(0, n_values, n_rows)
        values = np.where(rng.random(n_rows) < SHARE, (7 * kind + j) % n_values, drawn)
        numeric = j % 3 == 0
        further[f"answer_{j}"] = values if numeric else np.array(list("abcdefghijklmn"))[values]
    census = make_census(n_rows, seed=seed).select(ADULT_QUASI_IDENTIFIERS)
    return census.with_columns(**{name: pl.Series(column) for name, column in further.items()})


def widths(n_rows: int, k: int = 10) -> list[dict[str, Any]]:
    """Measure `auto` on tables of several widths, the narrowest first."""
    shoal.anonymize(
        wide_table(20_000, WIDTHS[-1]), k, quasi_identifiers=list(ADULT_QUASI_IDENTIFIERS), **_REST
    )
    found = []
    for width in WIDTHS:
        table = wide_table(n_rows, width)
        wall, cpu = time.perf_counter(), time.process_time()
        release = shoal.anonymize(table, k, quasi_identifiers=table.columns, seed=1)
        found.append(
            {
                "rows": n_rows,
                "columns": width,
                "seconds": time.perf_counter() - wall,
                "cpu": time.process_time() - cpu,
                "ncp": release.scores["ncp"],
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
        print(found[-1], flush=True)
    return found


_REST: dict[str, Any] = {
    "drop": [f"answer_{j}" for j in range(WIDTHS[-1] - len(ADULT_QUASI_IDENTIFIERS))],
    "seed": 1,
}
