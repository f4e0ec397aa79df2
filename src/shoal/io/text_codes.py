"""Text as codes: a long column of text that repeats itself takes four bytes a cell, not sixteen.

Between a file and a file, text columns travel as polars categoricals of a namespace of our own.
The namespace tells them from categoricals that the user brought along, so that a written table
has the data types that one would have had without the detour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

__all__ = ["code_text", "decode_text", "is_coded", "new_code_type", "repeats_itself"]

_NAMESPACE = "shoal"
_FEW_ROWS = 1000


def new_code_type() -> pl.Categorical:
    """Return a data type for codes of text, with a dictionary of its own."""
    import polars as pl

    return pl.Categorical(pl.Categories.random(_NAMESPACE, pl.UInt32))


def is_coded(dtype: Any) -> bool:
    """Return whether a data type was made by `new_code_type`."""
    import polars as pl

    return isinstance(dtype, pl.Categorical) and dtype.categories.namespace() == _NAMESPACE


def repeats_itself(series: pl.Series) -> bool:
    """Return whether a column of text (or its beginning) is shorter as codes."""
    return len(series) < _FEW_ROWS or 2 * series.n_unique() < len(series)


def code_text(series: pl.Series) -> pl.Series:
    """Return a column of text as codes; any other column as it is."""
    import polars as pl

    return series.cast(new_code_type()) if series.dtype == pl.String else series


def decode_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with coded text as text again."""
    import polars as pl

    coded = [name for name, dtype in frame.schema.items() if is_coded(dtype)]
    return frame.with_columns(pl.col(coded).cast(pl.String)) if coded else frame
