"""Tables of numbers with the shape of those that microaggregation is measured with.

Tarragona, Census and EIA are the reference tables of the field; they come with R's sdcMicro and
not with us. These are generated: as many rows and columns, tails as long and columns as related,
and no value of the originals. Errors on them cannot be compared with published ones, only with
each other.
"""

from __future__ import annotations

import numpy as np
import polars as pl


def tarragona_like() -> pl.DataFrame:
    """Return 834 companies with 13 sums: a size that all share, long tails, profits and losses."""
    rng = np.random.default_rng(834)
    size = rng.normal(0, 1.1, (834, 1))
    trade = rng.normal(0, 0.6, (834, 3)) @ rng.normal(0, 0.6, (3, 11))
    sums = np.exp(5 + size + trade + rng.normal(0, 0.5, (834, 11)))
    profit = sums[:, :2] * rng.normal(0.05, 0.25, (834, 2))
    return _table(np.column_stack([sums, profit]))


def census_like() -> pl.DataFrame:
    """Return 1,080 people with 13 sums of income and tax, most of them made from one another."""
    rng = np.random.default_rng(1080)
    wages = np.exp(rng.normal(10, 0.6, 1080))
    interest = np.exp(rng.normal(6, 1.2, 1080))
    other = np.exp(rng.normal(7, 1.0, 1080))
    income = wages + interest + other
    taxed = np.maximum(income - rng.normal(8000, 2000, 1080), 0)
    columns = [
        rng.normal(190_000, 60_000, 1080),
        income,
        wages * rng.normal(0.06, 0.01, 1080),
        taxed * rng.normal(0.18, 0.02, 1080),
        income * rng.normal(1.0, 0.03, 1080),
        taxed * rng.normal(0.05, 0.01, 1080),
        taxed,
        other,
        interest,
        wages * rng.normal(1.0, 0.02, 1080),
        wages * 0.0765,
        wages,
        wages * rng.normal(0.97, 0.05, 1080),
    ]
    return _table(np.column_stack(columns))


def eia_like() -> pl.DataFrame:
    """Return 4,092 monthly reports of 341 utilities, 11 columns: near copies, very long tails."""
    rng = np.random.default_rng(4092)
    utility = np.repeat(np.arange(341), 12)
    month = np.tile(np.arange(1, 13), 341)
    size = np.exp(rng.normal(8, 2.0, (341, 1)))
    shares = rng.dirichlet(np.full(4, 1.5), 341)
    sales = (size * shares)[utility] * rng.normal(1, 0.08, (4092, 4))
    revenue = sales * rng.uniform(0.05, 0.12, (341, 4))[utility]
    cells = [rng.permutation(20_000)[:341][utility], month, sales, revenue, sales.sum(axis=1)]
    return _table(np.column_stack(cells))


def _table(cells: np.ndarray) -> pl.DataFrame:
    whole = np.rint(cells).astype(np.int64)
    return pl.DataFrame({f"v{j + 1}": whole[:, j] for j in range(whole.shape[1])})


TABLES = {"Tarragona": tarragona_like, "Census": census_like, "EIA": eia_like}
