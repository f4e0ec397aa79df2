"""From the description of a table to a frame of pandas, polars or pyarrow, or to an input file."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import zoneinfo
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.tables import Case, Column

_POLARS = {
    "i64": pl.Int64,
    "i8": pl.Int8,
    "u32": pl.UInt32,
    "f64": pl.Float64,
    "f32": pl.Float32,
    "dec": pl.Decimal(20, 2),
    "date": pl.Date,
    "time": pl.Datetime("us"),
    "bool": pl.Boolean,
    "text": pl.String,
}
_ARROW = {
    "i64": pa.int64(),
    "i8": pa.int8(),
    "u32": pa.uint32(),
    "f64": pa.float64(),
    "f32": pa.float32(),
    "dec": pa.decimal128(20, 2),
    "date": pa.date32(),
    "time": pa.timestamp("us"),
    "bool": pa.bool_(),
    "text": pa.string(),
}
_MASKED = ("i64", "f64", "text")
"""Data types whose missing cells can carry a value under their mask in pyarrow."""


def build(case: Case) -> Any:
    """Return the table in the kind of frame that the case asks for."""
    makers = {"polars": polars_frame, "pandas": _pandas_frame, "pyarrow": _arrow_table}
    return makers[case.frame](case)


def polars_frame(case: Case) -> pl.DataFrame:
    """Return the table as a polars frame; missing cells hide a value where arrow can."""
    return pl.DataFrame([_polars_series(column) for column in case.columns])


def _polars_series(column: Column) -> pl.Series:
    if column.hidden and column.dtype in _MASKED:
        return pl.Series(column.name, pl.from_arrow(_masked(column)))
    if column.dtype == "enum":
        return pl.Series(column.name, column.cells, dtype=pl.Enum(column.levels))
    if column.dtype == "category":
        # Levels that no row uses stay in the mapping of the series.
        extra = [level for level in column.levels if level not in column.cells]
        kind = pl.Categorical(pl.Categories.random())
        whole = pl.Series(column.name, [*extra, *column.cells], dtype=pl.String).cast(kind)
        return whole.slice(len(extra))
    if column.dtype in zoneinfo_names():
        naive = pl.Series(column.name, column.cells, dtype=pl.Datetime("us"))
        return naive.dt.replace_time_zone("UTC").dt.convert_time_zone(column.dtype)
    return pl.Series(column.name, column.cells, dtype=_POLARS[column.dtype])


def zoneinfo_names() -> tuple[str, ...]:
    """Return the zones that a column of datetimes may have; its cells are UTC."""
    from fuzz.tables import ZONES

    return ZONES


def aware(column: Column) -> list[Any]:
    """Return the cells of a column of datetimes with a zone, as Python values."""
    zone = zoneinfo.ZoneInfo(column.dtype)
    return [
        None if cell is None else cell.replace(tzinfo=dt.UTC).astimezone(zone)
        for cell in column.cells
    ]


def _masked(column: Column) -> pa.Array:
    """Return an array whose missing cells have a value under the mask."""
    under = [column.hidden.get(row, cell) for row, cell in enumerate(column.cells)]
    array = pa.array(under, _ARROW[column.dtype])
    valid = np.array([cell is not None for cell in column.cells])
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(array.type, len(array), [bitmap, *array.buffers()[1:]])


def _arrow_table(case: Case) -> pa.Table:
    return pa.table({column.name: _arrow_array(column) for column in case.columns})


def _arrow_array(column: Column) -> Any:
    if column.dtype in ("enum", "category"):
        levels = column.levels or list(dict.fromkeys(c for c in column.cells if c is not None))
        codes = [None if cell is None else levels.index(cell) for cell in column.cells]
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, pa.int32()),
            pa.array(levels, pa.string()),
            ordered=column.dtype == "enum",
        )
    if column.hidden and column.dtype in _MASKED:
        return _masked(column)
    if column.dtype in zoneinfo_names():
        return pa.array(column.cells, pa.timestamp("us")).cast(pa.timestamp("us", column.dtype))
    return pa.array(column.cells, _ARROW[column.dtype])


def _pandas_frame(case: Case) -> pd.DataFrame:
    return pd.DataFrame({column.name: _pandas_series(column) for column in case.columns})


def _pandas_series(column: Column) -> pd.Series:
    cells, dtype = column.cells, column.dtype
    if dtype in ("enum", "category"):
        levels = column.levels or list(dict.fromkeys(c for c in cells if c is not None))
        return pd.Series(pd.Categorical(cells, categories=levels, ordered=dtype == "enum"))
    if dtype == "i64" and column.hidden:
        under = [
            column.hidden.get(row, 0 if cell is None else cell) for row, cell in enumerate(cells)
        ]
        mask = np.array([cell is None for cell in cells])
        return pd.Series(pd.arrays.IntegerArray(np.array(under, np.int64), mask))
    nullable = {"i64": "Int64", "i8": "Int8", "u32": "UInt32", "bool": "boolean"}
    if dtype in nullable:
        plain = {"i64": "int64", "i8": "int8", "u32": "uint32", "bool": "bool"}
        return pd.Series(cells, dtype=nullable[dtype] if None in cells else plain[dtype])
    if dtype in ("f64", "f32"):
        return pd.Series(cells, dtype="float64" if dtype == "f64" else "float32")
    if dtype == "time":
        return pd.Series(cells, dtype="datetime64[us]")
    if dtype in zoneinfo_names():
        return pd.Series(cells, dtype="datetime64[us]").dt.tz_localize("UTC").dt.tz_convert(dtype)
    if dtype == "text":
        return pd.Series(cells, dtype="str" if len(cells) % 2 else object)
    return pd.Series(cells, dtype=object)


def write_input(case: Case, path: Path) -> None:
    """Write the table as a CSV with the csv module: what an officer may have."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in case.columns])
    for row in range(case.n_rows):
        writer.writerow([_cell_text(column.cells[row]) for column in case.columns])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")


def _cell_text(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)
