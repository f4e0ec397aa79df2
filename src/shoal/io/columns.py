"""Columns that grow piece by piece while a file is read, as small as they can be kept."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import polars as pl


# Text as codes: a long column of text that repeats itself takes four bytes a cell, not sixteen.
#
# Between a file and a file, text columns travel as polars categoricals of a namespace of our own.
# The namespace tells them from categoricals that the user brought along, so that a written table
# has the data types that one would have had without the detour.

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


def is_text(dtype: Any) -> bool:
    """Return whether a data type is text, perhaps as codes of ours."""
    import polars as pl

    return dtype == pl.String or is_coded(dtype)


def through_distinct(column: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Return a column of text with each different text changed once; itself if none is.

    Args:
        column: text, perhaps as codes of ours.
        change: takes texts and returns as many values.
    """
    import polars as pl

    if not is_coded(column.dtype):
        return change(column)
    codes = column.to_physical()
    distinct = (
        pl.DataFrame({"code": codes, "text": column}).unique("code").drop_nulls().sort("code")
    )
    texts = distinct.get_column("text").cast(pl.String).alias(column.name)
    changed = change(texts)
    if changed is texts or changed.dtype == pl.String:
        return column
    # A dictionary may have more codes than the column: each value stands where its code says.
    values = pl.DataFrame({"code": distinct.get_column("code"), "value": changed})
    places = pl.DataFrame({"code": codes}).join(values, "code", "left", maintain_order="left")
    return places.get_column("value").alias(column.name)


def code_text(series: pl.Series) -> pl.Series:
    """Return a column of text as codes; any other column as it is."""
    import polars as pl

    return series.cast(new_code_type()) if series.dtype == pl.String else series


def decode_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with coded text as text again."""
    import polars as pl

    coded = [name for name, dtype in frame.schema.items() if is_coded(dtype)]
    return frame.with_columns(pl.col(coded).cast(pl.String)) if coded else frame


# From text columns to typed ones, without ever losing what the text said.
#
# A column gets a type only if every one of its values can be told apart afterwards exactly as
# before: codes such as the ZIP 01234, the hospital ward 12E4 or the diagnosis 250.10 beside 250.1
# stay text. Everything runs on whole columns; no value becomes a Python object.

BLANKS = (" ", "\t", "\xa0")
"""What may stand around a cell without being part of it."""

# No leading zero, and an exponent only with a point or a sign: 12E4 may be a code.
_FLOAT = (
    r"^-?(?:0|[1-9][0-9]*)"
    r"(?:(?:\.[0-9]+)?|\.[0-9]+[eE][+-]?[0-9]{1,3}|[eE][+-][0-9]{1,3})$"
)
_MINUS_ZERO = r"^-(0(?:\.0+)?)$"
_COMMA_FLOAT = r"^-?(?:0|[1-9][0-9]*)(?:,[0-9]+)?$"
# Whole numbers that a 64-bit float cannot hold exactly.
_LONG_INTEGER = r"^-?[0-9]{16,}$"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?P<separator>[T ])[0-9]{2}:[0-9]{2}"
    r"(?P<seconds>:[0-9]{2}(?:\.[0-9]{1,9})?)?(?P<utc>Z)?"
)


def mark_missing(column: pl.Series, missing_values: Collection[str]) -> pl.Series:
    """Return a text column with null in place of every missing-value marker."""
    import polars as pl

    if not missing_values:
        return column
    markers = pl.Series(list(missing_values), dtype=pl.String)
    return column.set(column.is_in(markers.implode()), None)


def may_have_blanks(data: bytes, delimiter: str) -> bool:
    """Tell whether blanks may stand around a cell of some rows; in doubt they may."""
    import numpy as np

    if "\xa0".encode() in data:
        return True
    piece = np.frombuffer(data, dtype=np.uint8)
    edges = np.frombuffer(f'{delimiter}"\r\n'.encode(), dtype=np.uint8)
    for blank in (b" ", b"\t"):
        if blank not in data:
            continue
        if blank.decode() == delimiter:  # a blank only between quotation marks
            if b'"' + blank in data or blank + b'"' in data:
                return True
            continue
        at = np.flatnonzero(piece == blank[0])
        if at[0] == 0 or at[-1] == piece.size - 1:
            return True
        if np.isin(piece[at - 1], edges).any() or np.isin(piece[at + 1], edges).any():
            return True
    return False


def trim(column: pl.Series) -> pl.Series:
    """Return a text column without blanks at the ends of its cells; itself if there are none."""
    text = column.str
    if any(bool((text.starts_with(each) | text.ends_with(each)).any()) for each in BLANKS):
        return text.strip_chars("".join(BLANKS))
    return column


def type_columns(
    frame: pl.DataFrame,
    *,
    numbers: bool = True,
    numeric: Collection[str] = (),
    decimal: str | None = None,
) -> pl.DataFrame:
    """Return the frame with text columns typed where that loses nothing.

    Args:
        frame: text columns are looked at, others are kept.
        numbers: whether text may become a number; otherwise only dates are recognised.
        numeric: columns in which 1.5 and 1.50 are the same number, whatever the text says.
        decimal: a comma if 1,5 is a number, too.
    """
    import polars as pl

    return frame.with_columns(
        type_column(column, numbers=numbers, lenient=column.name in numeric, decimal=decimal)
        for column in frame.get_columns()
        if column.dtype == pl.String
    )


def type_column(
    column: pl.Series, *, numbers: bool = True, lenient: bool = False, decimal: str | None = None
) -> pl.Series:
    """Return a text column typed where that loses nothing, and as it is elsewhere."""
    first_at = column.is_not_null().arg_max()
    first = None if first_at is None else column[first_at]
    if first is None:
        return column
    typed = None
    # One look at the first value spares text columns the attempts on millions of others.
    if numbers and re.fullmatch(_FLOAT, first):
        typed = as_integer(column)
        if typed is None:
            typed = _as_float(column, lenient=lenient)
        if typed is None and decimal == ",":
            typed = _with_comma(column, lenient=lenient)
    elif numbers and decimal == "," and re.fullmatch(_COMMA_FLOAT, first):
        typed = _with_comma(column, lenient=lenient)
    elif _DATE.fullmatch(first):
        typed = _as_date(column)
    elif match := _DATETIME.fullmatch(first):
        typed = _as_datetime(column, match)
    return column if typed is None else typed


def as_integer(column: pl.Series) -> pl.Series | None:
    """Return a text column as whole numbers, or None where that would lose what the text says."""
    import polars as pl

    values = column.cast(pl.Int64, strict=False)
    # Only canonical integers are the same text again: not 007, +7, -0 or 7.0.
    return values if _same_text(values.cast(pl.String), column) else None


def _as_float(column: pl.Series, *, lenient: bool) -> pl.Series | None:
    import polars as pl

    if not column.str.contains(_FLOAT).all() or column.str.contains(_LONG_INTEGER).any():
        return None
    values = column.cast(pl.Float64, strict=False)
    if values.null_count() > column.null_count() or not values.is_finite().all():
        return None
    if not lenient and values.n_unique() < column.n_unique():
        # A zero with a minus is what programs write for a number too small to show, not a code.
        spelled = column.str.replace(_MINUS_ZERO, "$1")
        if values.n_unique() < spelled.n_unique():
            return None
    return values


def _with_comma(column: pl.Series, *, lenient: bool) -> pl.Series | None:
    if not column.str.contains(_COMMA_FLOAT).all():
        return None
    return _as_float(column.str.replace(",", ".", literal=True), lenient=lenient)


def may_be_grouped(texts: pl.Series) -> bool:
    """Tell whether numbers could also have their one sign between three digits, as in 1.234."""
    grouped = r"^-?(?:[1-9][0-9]{0,2}(?:[.,][0-9]{3})?|0)$"
    return bool(texts.str.contains(grouped).all() and texts.str.contains("[.,]").any())


def _as_date(column: pl.Series) -> pl.Series | None:
    import polars as pl

    if not (column.str.len_bytes() == 10).all():
        return None
    values = column.str.to_date("%Y-%m-%d", strict=False)
    return values if _same_text(values.cast(pl.String), column) else None


def _as_datetime(column: pl.Series, match: re.Match[str]) -> pl.Series | None:
    # Every value must look like the first one: same separator, with or without seconds and Z.
    if not column.str.contains(_pattern_of(match)).all():
        return None
    text = column.str.strip_suffix("Z") if match["utc"] else column
    unit: Literal["us", "ns"] = "us"
    if match["seconds"] and column.str.contains(r"\.[0-9]{7}").any():
        # Nanoseconds fit into 64 bits from 1678 to 2261 only.
        if not column.str.slice(0, 4).is_between("1678", "2261").all():
            return None
        unit = "ns"
    form = f"%Y-%m-%d{match['separator']}%H:%M" + (":%S%.f" if match["seconds"] else "")
    values = text.str.to_datetime(form, time_unit=unit, strict=False)
    if values.null_count() > column.null_count():
        return None
    return values.dt.replace_time_zone("UTC") if match["utc"] else values


def _pattern_of(match: re.Match[str]) -> str:
    # A leap second (:60) is text: it has no place on the time line.
    seconds = r":[0-5][0-9](?:\.[0-9]{1,9})?" if match["seconds"] else ""
    day = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
    return f"^{day}{match['separator']}[0-9]{{2}}:[0-9]{{2}}{seconds}{match['utc'] or ''}$"


def _same_text(back: pl.Series, column: pl.Series) -> bool:
    return back.null_count() == column.null_count() and bool((back == column).all())


def mark_codes(frame: pl.DataFrame, codes: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """Return the table with null for codes that mean a missing value in a column.

    A column that was text only because of them gets its type; among numbers a code is one that is
    as large, and among dates one of the same day, as 9999-12-31.
    """
    import polars as pl

    if not codes:
        return frame
    columns = []
    for column in frame.get_columns():
        texts = [str(each) for each in codes.get(column.name, ())]
        if not texts:
            columns.append(column)
        elif column.dtype == pl.String:
            marked = mark_missing(column, texts)
            freed = marked.null_count() > column.null_count()
            columns.append(type_column(marked) if freed else column)
        elif column.dtype.is_numeric():
            numbers = pl.Series(texts, dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
            columns.append(column.set(column.cast(pl.Float64).is_in(numbers.implode()), None))
        elif column.dtype.is_temporal():
            days = pl.Series(texts).str.to_date("%Y-%m-%d", strict=False).drop_nulls()
            is_day = column.dtype in (pl.Date, pl.Datetime)
            found = column.cast(pl.Date).is_in(days.implode()) if is_day else False
            columns.append(column.set(found | column.cast(pl.String).is_in(texts), None))
        else:
            columns.append(column.set(column.cast(pl.String).is_in(texts), None))
    return pl.DataFrame(columns)


def without_markers(frame: pl.DataFrame, markers: Collection[str]) -> pl.DataFrame:
    """Turn markers into nulls; a column that was text only because of them gets its type."""
    import polars as pl

    if not markers:
        return frame
    texts = {marker for marker in markers if marker}
    columns = []
    for each in frame.get_columns():
        held = is_coded(each.dtype) and bool(each.is_in(list(markers)).any())
        column = each.cast(pl.String) if held else each
        if column.dtype == pl.String:
            marked = mark_missing(column, texts)
            if marked.null_count() > column.null_count():
                marked = type_columns(marked.to_frame()).to_series()
            columns.append(mark_missing(marked, markers) if marked.dtype == pl.String else marked)
        else:
            columns.append(column)
    return pl.DataFrame(columns)


class ColumnBuilder:
    """Takes the texts of one column in pieces and gives the typed column.

    Text that repeats itself is held as codes, and its type is decided on the distinct texts
    alone, which is the same decision: every rule is about single values or about which of them
    are equal. Other columns are held as whole numbers as long as every piece is numbers, and
    else as they are.

    Attributes:
        waits: whether numbers that could be written in two ways stay text, for somebody to decide.
        comma: whether the finished column is numbers that were written with a decimal comma.
        trimmed: whether blanks at the ends of cells were taken away.
    """

    def __init__(self, name: str, missing_values: Collection[str]) -> None:
        self._name = name
        self._missing_values = missing_values
        self._parts: list[pl.Series] = []
        self._codes: pl.Categorical | None = None
        self._whole = True
        self.waits = False
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
        if self.waits and typed.dtype.is_float() and may_be_grouped(column):
            return column
        self.comma = typed.dtype.is_float() and bool(column.str.contains(",", literal=True).any())
        return typed

    def _typed_codes(
        self, column: pl.Series, *, lenient: bool, coded: bool, decimal: str | None
    ) -> pl.Series:
        import polars as pl

        typed = through_distinct(
            column, lambda texts: self._typed(texts, lenient=lenient, decimal=decimal)
        )
        return typed if coded or not is_text(typed.dtype) else typed.cast(pl.String)


# -- Columns made anew, so that their memory holds what they show and nothing else -----------------
#
# A column that was picked out of a larger one shows a part of it and may still carry the rest: the
# texts of all rows in the order of the input, the levels of a category that nobody has any more, a
# number under a missing cell. Whoever writes such a column to Arrow, Parquet or a pickle writes the
# rest, too. So every published column is made anew from its cells before anybody gets it.


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
    import numpy as np
    import polars as pl

    used = np.unique(column.drop_nulls().to_physical().to_numpy())
    assert isinstance(column.dtype, pl.Enum)
    levels = column.dtype.categories.gather(pl.Series(used, dtype=pl.UInt32)).to_list()
    texts = _through_parquet(column.cast(pl.String))
    return texts.cast(pl.Enum(levels))


def _without_hidden(column: pl.Series) -> pl.Series:
    """Return a copy of a column whose missing cells hide no value."""
    import numpy as np
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
