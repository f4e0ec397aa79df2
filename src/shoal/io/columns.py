"""Columns that grow piece by piece while a file is read, as small as they can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.io.celltypes import as_integer, mark_missing, trim, type_column
from shoal.io.text_codes import new_code_type, repeats_itself

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

__all__ = ["ColumnBuilder"]


class ColumnBuilder:
    """Takes the texts of one column in pieces and gives the typed column.

    Text that repeats itself is held as codes, and its type is decided on the distinct texts
    alone, which is the same decision: every rule is about single values or about which of them
    are equal. Other columns are held as whole numbers as long as every piece is numbers, and
    else as they are.

    Attributes:
        comma: whether the finished column is numbers that were written with a decimal comma.
        trimmed: whether blanks at the ends of cells were taken away.
    """

    def __init__(self, name: str, missing_values: Collection[str]) -> None:
        self._name = name
        self._missing_values = missing_values
        self._parts: list[pl.Series] = []
        self._codes: pl.Categorical | None = None
        self._whole = True
        self.comma = False
        self.trimmed = False

    def add(self, texts: pl.Series, *, trims: bool = False) -> None:
        """Take the next piece, as text; blanks go from the ends of cells if there may be any."""
        if trims:
            before, texts = texts, trim(texts)
            self.trimmed = self.trimmed or texts is not before
        # Polars gives null for an empty field; here the user says what is missing.
        if "" not in self._missing_values:
            texts = texts.fill_null("")
        marked = mark_missing(texts, self._missing_values)
        if not self._parts and repeats_itself(marked):
            self._codes = new_code_type()
        if self._codes is not None:
            self._parts.append(marked.cast(self._codes))
            return
        numbers = as_integer(marked) if self._whole else None
        if numbers is None and self._whole:
            self._back_to_text()
        self._parts.append(marked if numbers is None else numbers)

    def _back_to_text(self) -> None:
        import polars as pl

        # Canonical whole numbers: their text is the text they were read from.
        self._whole = False
        self._parts = [part.cast(pl.String) for part in self._parts]

    def finish(
        self, *, lenient: bool, coded: bool, typed: bool = True, decimal: str | None = None
    ) -> pl.Series:
        """Return the column and forget the pieces.

        Args:
            lenient: whether 1.5 and 1.50 are the same number.
            coded: whether text stays codes.
            typed: whether text may get a type; whole numbers in their usual form may be numbers
                in any case, since no two texts become one by that.
            decimal: a comma if 1,5 is a number.
        """
        import polars as pl

        column = pl.concat(self._parts, rechunk=True)
        self._parts.clear()
        if not typed:
            return column
        if self._codes is not None:
            return self._typed_codes(column, lenient=lenient, coded=coded, decimal=decimal)
        if column.null_count() == len(column):
            return column.cast(pl.String)
        if column.dtype != pl.String:
            return column
        return self._typed(column, lenient=lenient, decimal=decimal)

    def _typed(self, column: pl.Series, *, lenient: bool, decimal: str | None) -> pl.Series:
        typed = type_column(column, lenient=lenient, decimal=decimal)
        self.comma = typed.dtype.is_float() and bool(column.str.contains(",", literal=True).any())
        return typed

    def _typed_codes(
        self, column: pl.Series, *, lenient: bool, coded: bool, decimal: str | None
    ) -> pl.Series:
        import polars as pl

        physical = column.to_physical()
        # Every code of the dictionary occurs, so the n-th smallest code is n.
        distinct = pl.DataFrame({"text": column.unique().drop_nulls()})
        distinct = distinct.sort(pl.col("text").to_physical())
        texts = distinct.get_column("text").cast(pl.String)
        typed = self._typed(texts, lenient=lenient, decimal=decimal)
        if typed.dtype == pl.String:
            return column if coded else column.cast(pl.String)
        return typed.gather(physical).alias(self._name)
