"""Top and bottom coding: from some value on, a column tells no more than that.

Ages of 90 and more are published as ``90+``, all that lie at or below 18 as ``<=18``. From the
door on such a value counts as the end itself: groups, costs and measures see 90, and a published
interval that reaches it says so (``[85-90+]``).
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from shoal.errors import OptionError
from shoal.messages import Message
from shoal.options import as_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

TOP = "{}+"
BOTTOM = "<={}"
"""How an end is written that stands for all beyond it."""

End = int | float | str
"""A number, or a date or moment in ISO form."""


class Coded(Protocol):
    """A column of a schema, as far as its ends are concerned."""

    @property
    def name(self) -> str:
        """As the table spells it."""

    @property
    def kind(self) -> Any:
        """How it is generalised; None where it is not, or where that is not known yet."""

    @property
    def top(self) -> End | None:
        """The value from which on no more is published."""

    @property
    def bottom(self) -> End | None:
        """The value down from which no more is published."""

    @property
    def is_coded(self) -> bool:
        """Whether it has a top or a bottom."""


def parse_end(value: Any, *, column: str) -> End:
    """Return the end that was given for a column: a number or a date, or text of either.

    Raises:
        OptionError: it is neither.
    """
    if isinstance(value, dt.date):
        return value.isoformat()
    number: object = value
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = None
    elif isinstance(value, Decimal):
        number = float(value)
    found = as_number(number)
    if found is not None:
        return found
    try:
        dt.datetime.fromisoformat(value.strip())
    except (AttributeError, ValueError):
        raise OptionError(
            "The top or bottom of column {column!r} must be a number or a date such as "
            "1934-12-31, not {value!r}.",
            column=column,
            value=value,
        ) from None
    return str(value.strip())


def check_ends(column: Coded, dtype: pl.DataType) -> None:
    """Refuse a top or bottom that the values of a column have not.

    Raises:
        OptionError: they are no numbers or dates, or the ends are not of their type or cross.
    """
    if not column.is_coded:
        return
    measured = dtype.is_numeric() or dtype.is_temporal()
    if not measured or (column.kind is not None and not column.kind.is_measured):
        raise OptionError(
            "Column {name!r} is given a top or a bottom, which is for numbers and dates; leave it "
            "out, or let the column be of such a kind and without a hierarchy.",
            name=column.name,
        )
    top, bottom = ends_of(column, dtype)
    if top is not None and bottom is not None and not bottom < top:
        raise OptionError(
            "The bottom of column {name!r} must lie below its top, but they are {bottom} and "
            "{top}.",
            name=column.name,
            bottom=column.bottom,
            top=column.top,
        )


def ends_of(column: Coded, dtype: pl.DataType) -> tuple[Any, Any]:
    """Return the top and the bottom of a column as values of its type; None for none.

    Raises:
        OptionError: they cannot be.
    """
    top, bottom = (
        None if end is None else _native(column.name, end, dtype)
        for end in (column.top, column.bottom)
    )
    return top, bottom


def _native(name: str, end: End, dtype: Any) -> Any:
    if dtype.is_numeric():
        if isinstance(end, str):
            raise _refused(name, end, Message("numbers"))
        return _as_number(name, end, dtype)
    if not isinstance(end, str):
        raise _refused(name, end, Message("dates"))
    return _as_moment(name, end, dtype)


def _as_number(name: str, end: float, dtype: Any) -> Any:
    import numpy as np
    import polars as pl

    if dtype.is_integer():
        if end != int(end):
            raise _refused(name, end, Message("whole numbers"))
        return int(end)
    if isinstance(dtype, pl.Decimal):
        exact = Decimal(str(end))
        scaled = exact.scaleb(dtype.scale or 0)
        if scaled != scaled.to_integral_value():
            raise _refused(name, end, Message("numbers of fewer decimals"))
        return exact
    return float(np.float32(end)) if dtype == pl.Float32 else float(end)


def _as_moment(name: str, end: str, dtype: Any) -> Any:
    import polars as pl

    moment = dt.datetime.fromisoformat(end)
    if dtype == pl.Date:
        if moment.time() != dt.time.min or moment.tzinfo is not None:
            raise _refused(name, end, Message("days"))
        return moment.date()
    zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    if zone is None:
        if moment.tzinfo is not None:
            raise _refused(name, end, Message("moments without a time zone"))
        return moment
    from zoneinfo import ZoneInfo

    there = ZoneInfo(zone)
    return moment.replace(tzinfo=there) if moment.tzinfo is None else moment.astimezone(there)


def _refused(name: str, end: End, needed: str) -> OptionError:
    return OptionError(
        "The top or bottom of column {name!r} is {end!r}, but the column holds {needed}.",
        name=name,
        end=end,
        needed=needed,
    )


def clamp(values: pl.Series, column: Coded) -> pl.Series:
    """Return a column in which what lies beyond its top or bottom is that end itself.

    Raises:
        OptionError: its values have no such ends.
    """
    import polars as pl

    check_ends(column, values.dtype)
    top, bottom = ends_of(column, values.dtype)
    for end, above in ((top, True), (bottom, False)):
        if end is None:
            continue
        dtype = values.dtype
        if dtype.is_integer():
            known = values.drop_nulls()
            if not len(known):
                continue
            low, high = (int(each) for each in (known.min(), known.max()))  # type: ignore[arg-type]
            if (high if above else -low) < (end if above else -end):
                continue  # nothing lies beyond, and the type may not hold the end
            if not _holds(dtype, end):
                values, dtype = values.cast(pl.Int64), pl.Int64()
        limit = pl.Series(values.name, [end], dtype=dtype)
        beyond = (values >= limit) if above else (values <= limit)
        if dtype.is_float():
            beyond &= ~values.is_nan()
        values = values.set(beyond.fill_null(False), limit.item())
    return values


def _holds(dtype: Any, number: int) -> bool:
    import polars as pl

    bounds = pl.select(dtype.min().alias("low"), dtype.max().alias("high")).row(0)
    return bool(bounds[0] <= number <= bounds[1])


def clamp_frame(frame: pl.DataFrame, columns: Iterable[Coded]) -> pl.DataFrame:
    """Return a table in which what lies beyond the top or bottom of a column is that end itself."""
    changed = [
        clamp(frame.get_column(column.name), column)
        for column in columns
        if column.is_coded and column.name in frame.columns
    ]
    return frame.with_columns(changed) if changed else frame


def in_order(shown: pl.Series, column: Coded) -> pl.Series:
    """Return what is published of a column, with the order of its values if it is coded."""
    import polars as pl

    if not column.is_coded or shown.dtype != pl.String:
        return shown
    texts = shown.str.strip_suffix("+").str.strip_prefix("<=")
    if not isinstance(column.top if column.bottom is None else column.bottom, str):
        return texts.cast(pl.Float64, strict=False)
    return texts.cast(pl.Enum(texts.drop_nulls().unique().sort()))  # ISO texts are in order
