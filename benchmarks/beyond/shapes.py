"""Other shapes of data than Adult, made here so that nothing has to be fetched."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl


def many_numbers(n_rows: int = 5_000, n_columns: int = 12) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return rows around 40 centres in many numeric columns, as measurements are."""
    rng = np.random.default_rng(1)
    centres = rng.normal(0, 3, (40, n_columns))
    cells = centres[rng.integers(40, size=n_rows)] + rng.normal(0, 1, (n_rows, n_columns))
    frame = pl.DataFrame({f"m{j}": np.round(cells[:, j], 2) for j in range(n_columns)})
    return frame, {"quasi_identifiers": frame.columns}


def few_rows(n_rows: int = 600, n_columns: int = 40) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return few rows with many columns of few values, driven by six hidden traits."""
    rng = np.random.default_rng(2)
    trait = rng.integers(3, size=(n_rows, 6))
    columns = {}
    for j in range(n_columns):
        noise = rng.random(n_rows) < 0.15
        value = np.where(noise, rng.integers(4, size=n_rows), trait[:, j % 6])
        columns[f"q{j}"] = [f"v{v}" for v in value]
    frame = pl.DataFrame(columns)
    return frame, {"quasi_identifiers": frame.columns, "kinds": dict.fromkeys(columns, "flat")}


def heavy_duplicates(
    n_rows: int = 20_000, n_tuples: int = 1_500
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return rows of few distinct tuples whose frequencies fall as 1 ÷ rank."""
    rng = np.random.default_rng(3)
    share = 1 / np.arange(1, n_tuples + 1)
    pick = rng.choice(n_tuples, size=n_rows, p=share / share.sum())
    tuples = {
        "age": rng.integers(18, 90, n_tuples),
        "zip": np.char.add("z", rng.integers(60, size=n_tuples).astype(str)),
        "sex": rng.choice(["f", "m"], n_tuples),
        "job": np.char.add("j", rng.integers(15, size=n_tuples).astype(str)),
    }
    frame = pl.DataFrame({name: values[pick] for name, values in tuples.items()})
    flat = dict.fromkeys(("zip", "sex", "job"), "flat")
    return frame, {"quasi_identifiers": frame.columns, "kinds": flat}


SHAPES = {
    "many numeric columns": many_numbers,
    "few rows, many columns": few_rows,
    "heavy duplicates": heavy_duplicates,
}
