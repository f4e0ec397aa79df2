"""Sets of codes in the cells of a column: lists, or texts with a mark between codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import DataError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

SEPARATOR = "|"
"""Between the codes of a cell of text."""


def codes_of(cells: pl.Series) -> tuple[NDArray[np.int64], pl.DataFrame]:
    """Return the different codes of each cell, and the row that each is from.

    Raises:
        DataError: the cells are neither lists nor texts, or there is no code.
    """
    import polars as pl

    if isinstance(cells.dtype, pl.Categorical | pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        cells = cells.str.split(SEPARATOR)
    if not isinstance(cells.dtype, pl.List) or cells.dtype.inner not in (pl.String, pl.Int64):
        raise DataError(
            "Column {name!r} is of kind items: its cells must be lists of codes, or texts with "
            "{separator!r} between codes.",
            name=cells.name,
            separator=SEPARATOR,
        )
    rows = cells.to_frame().with_row_index("row number").explode(cells.name).drop_nulls()
    rows = rows.with_columns(pl.col(cells.name).cast(pl.String).str.strip_chars())
    rows = rows.filter(pl.col(cells.name) != "").unique(maintain_order=True)
    if not rows.height:
        raise DataError("Column {name!r} is of kind items and holds no code.", name=cells.name)
    return rows.get_column("row number").to_numpy().astype(np.int64), rows.select(cells.name)


def as_sets(codes: pl.Series, rows: NDArray[np.int64], like: pl.Series) -> pl.Series:
    """Return codes as one set for each row, in the order of the alphabet, in cells like others.

    Raises:
        DataError: a code holds the mark that stands between codes of a text.
    """
    import polars as pl

    texts = codes.cast(pl.String)
    is_list = isinstance(like.dtype, pl.List)
    if not is_list and texts.str.contains(SEPARATOR, literal=True).any():
        raise DataError(
            "A label of the hierarchy of column {name!r} holds {separator!r}, which stands between "
            "codes; give lists instead of texts, or another label.",
            name=like.name,
            separator=SEPARATOR,
        )
    joined = (
        pl.DataFrame({"row": rows, "code": texts})
        .unique()
        .sort("row", "code")
        .group_by("row", maintain_order=True)
        .agg("code")
    )
    every = pl.DataFrame({"row": np.arange(len(like))}).join(
        joined, on="row", how="left", maintain_order="left"
    )
    sets = every.get_column("code")
    return (sets if is_list else sets.list.join(SEPARATOR)).alias(like.name)
