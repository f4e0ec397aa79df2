"""Columns made anew, so that their memory holds what they show and nothing else.

A column that was picked out of a larger one shows a part of it and may still carry the rest: the
texts of all rows in the order of the input, the levels of a category that nobody has any more, a
number under a missing cell. Whoever writes such a column to Arrow, Parquet or a pickle writes the
rest, too. So every published column is made anew from its cells before anybody gets it.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl


def fresh_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the same table with every column made anew (see `fresh_column`)."""
    import polars as pl

    if not frame.width:
        return frame
    return pl.DataFrame([fresh_column(column) for column in frame.get_columns()])


def fresh_column(column: pl.Series) -> pl.Series:
    """Return the same cells in memory of their own.

    Levels of a category or an enumeration that no cell has are gone, and levels inside nested
    cells have become text; the order of the other levels stays. A missing cell has nothing under
    it. Of numbers, all that read NaN are one, and minus zero is zero.

    Cost: one pass over the column, and a second copy of it for the time being.
    """
    import polars as pl

    dtype = column.dtype
    if isinstance(dtype, pl.Enum):
        return _fresh_levels(column)
    if isinstance(dtype, pl.Categorical):
        # The codes are numbers, and whoever writes them looks their texts up one by one.
        return column if column.null_count() == 0 else _without_hidden(column)
    if dtype == pl.Object:
        return pl.Series(column.name, column.to_list(), dtype=pl.Object)
    if dtype.is_nested():
        return _through_parquet(column.cast(_without_levels(dtype)))
    if dtype in {pl.String, pl.Binary}:
        return _through_parquet(column)
    if dtype.is_float():
        column = _one_zero(column).fill_nan(float("nan"))
    return _without_hidden(column)


def _one_zero(column: pl.Series) -> pl.Series:
    """Return a column of numbers in which minus zero is zero."""
    import polars as pl

    zero = pl.lit(0.0, dtype=column.dtype)
    name = column.name
    return (
        column.to_frame()
        .select(pl.when(pl.col(name) == 0).then(zero).otherwise(pl.col(name)).alias(name))
        .to_series()
    )


def _fresh_levels(column: pl.Series) -> pl.Series:
    import polars as pl

    used = np.unique(column.drop_nulls().to_physical().to_numpy())
    assert isinstance(column.dtype, pl.Enum)
    levels = column.dtype.categories.gather(pl.Series(used, dtype=pl.UInt32)).to_list()
    texts = _through_parquet(column.cast(pl.String))
    return texts.cast(pl.Enum(levels))


def _without_hidden(column: pl.Series) -> pl.Series:
    """Return a copy of a column whose missing cells hide no value."""
    import polars as pl

    if column.null_count() == 0 or column.dtype == pl.Null:
        return column.clone()
    present = column.is_not_null()
    first = present.arg_max()
    if first is None or not present[first]:
        return pl.Series(column.name, [None], dtype=column.dtype).new_from_index(0, len(column))
    # Under a missing cell lies a copy of the first cell that is there.
    at = np.where(present.to_numpy(), np.arange(len(column)), first)
    cells = column.gather(pl.Series(at, dtype=pl.UInt32))
    return (
        pl.DataFrame({"cells": cells, "present": present})
        .select(pl.when("present").then("cells").alias(column.name))
        .to_series()
    )


def _through_parquet(column: pl.Series) -> pl.Series:
    """Return what a Parquet file of the column gives back: it has no place for anything else."""
    import polars as pl

    memory = io.BytesIO()
    column.to_frame("cells").write_parquet(memory, compression="uncompressed", statistics=False)
    memory.seek(0)
    return pl.read_parquet(memory).get_column("cells").rename(column.name).cast(column.dtype)


def _without_levels(dtype: pl.DataType) -> pl.DataType:
    """Return a nested type whose categories and enumerations are text."""
    import polars as pl

    if isinstance(dtype, pl.List):
        return pl.List(_without_levels(dtype.inner))  # type: ignore[arg-type]  # a type with its parameters
    if isinstance(dtype, pl.Array):
        return pl.Array(_without_levels(dtype.inner), dtype.size)  # type: ignore[arg-type]  # likewise
    if isinstance(dtype, pl.Struct):
        return pl.Struct(
            [pl.Field(f.name, _without_levels(f.dtype)) for f in dtype.fields]  # type: ignore[arg-type]  # likewise
        )
    return pl.String() if isinstance(dtype, pl.Enum | pl.Categorical) else dtype
