"""Texts that a spreadsheet would take for formulas, written so that it does not.

A spreadsheet that opens a CSV runs a cell such as ``=HYPERLINK(...)``. With an apostrophe in front
it is text. An apostrophe is put before one that is there already, so that different cells stay
different and promises about them stay what they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.io.text_codes import is_coded

if TYPE_CHECKING:
    import polars as pl

__all__ = ["escape_formulas"]

# What a spreadsheet begins a formula with, also in the wide letters of East Asian ones.
_STARTS = "^[=+\\-@\t\r\n'\uff1d\uff0b\uff0d\uff20]"
_NUMBER = r"^[+-]?[0-9]+(?:[.,][0-9]+)*(?:[eE][+-]?[0-9]+)?$"


def escape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the table with an apostrophe before texts and names that look like formulas.

    Numbers stay as they are, also those that are texts.
    """
    import polars as pl

    texts = [
        name
        for name, dtype in frame.schema.items()
        if isinstance(dtype, (pl.String, pl.Categorical, pl.Enum)) or is_coded(dtype)
    ]
    cells = [pl.col(name).cast(pl.String) for name in texts]
    escaped = frame.with_columns(
        pl.when(cell.str.contains(_STARTS) & ~cell.str.contains(_NUMBER))
        .then(pl.lit("'") + cell)
        .otherwise(cell)
        .alias(name)
        for name, cell in zip(texts, cells, strict=True)
    )
    names = pl.Series(frame.columns, dtype=pl.String)
    starts = names.str.contains(_STARTS) & ~names.str.contains(_NUMBER)
    return escaped.rename({name: f"'{name}" for name in names.filter(starts)})
