"""Columns and numbers as plain JSON, and back, with a look at everything that is read."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "Damaged",
    "column_from_json",
    "column_to_json",
    "numbers_from_json",
    "numbers_to_json",
    "take",
]

_WIDTHS: dict[int, Any] = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}
_WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
_PHYSICAL = ("Date", "Time", "Datetime", "Duration")
_UNITS = ("ms", "us", "ns")


class Damaged(Exception):  # noqa: N818 - it is caught by whoever knows the name of the file
    """What was read is not what a file of ours holds; the text says what is wrong with it."""


def take(table: object, key: str, kind: type | tuple[type, ...]) -> Any:
    """Return an entry of an object that was read.

    Raises:
        Damaged: it is not there, or of another type.
    """
    if not isinstance(table, dict) or key not in table:
        raise Damaged(f"{key!r} is missing")
    value = table[key]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise Damaged(f"{key!r} is of the wrong type")
    return value


def numbers_to_json(numbers: NDArray[Any]) -> str:
    """Return whole numbers of at least 0 as text: width in bytes, then base64, low byte first."""
    most = int(numbers.max(initial=0))
    width = next(each for each in _WIDTHS if most < 1 << (8 * each))
    data = np.ascontiguousarray(numbers.astype(_WIDTHS[width])).tobytes()
    return f"{width}:{base64.b64encode(data).decode('ascii')}"


def numbers_from_json(table: Mapping[str, Any], key: str, *, below: int) -> NDArray[np.int64]:
    """Return whole numbers that were written by `numbers_to_json`.

    Raises:
        Damaged: they are none, or one of them is not below the limit.
    """
    text = take(table, key, str)
    width, _, data = text.partition(":")
    if not width.isascii() or not width.isdigit() or int(width[:2]) not in _WIDTHS:
        raise Damaged(f"{key!r} holds no numbers")
    dtype = _WIDTHS[int(width[:2])]
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise Damaged(f"{key!r} holds no numbers") from None
    if len(raw) % dtype.itemsize:
        raise Damaged(f"{key!r} ends within a number")
    numbers: NDArray[Any] = np.frombuffer(raw, dtype)
    if len(numbers) and int(numbers.max()) >= below:
        raise Damaged(f"{key!r} holds a number that is too large")
    return numbers.astype(np.int64)


def column_to_json(column: pl.Series) -> dict[str, Any]:
    """Return the cells of a column with their type.

    Raises:
        DataError: its type is one that a release file does not hold.
    """
    import polars as pl

    dtype = column.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return {"type": "String", "values": column.cast(pl.String).to_list()}
    name = str(dtype.base_type())
    if name in _WHOLE or name in ("String", "Boolean"):
        return {"type": name, "values": column.to_list()}
    if name in ("Float32", "Float64"):
        values = [None if each is None else repr(float(each)) for each in column.to_list()]
        return {"type": name, "values": values}
    if name in _PHYSICAL:
        said: dict[str, Any] = {"type": name, "values": column.to_physical().to_list()}
        if isinstance(dtype, pl.Datetime | pl.Duration):
            said["unit"] = dtype.time_unit
        if isinstance(dtype, pl.Datetime):
            said["zone"] = dtype.time_zone
        return said
    if isinstance(dtype, pl.Decimal):
        values = [None if each is None else str(each) for each in column.to_list()]
        return {"type": name, "scale": dtype.scale, "values": values}
    raise DataError(
        f"Column {column.name!r} is of a type that a release file does not hold ({name}); publish "
        "it as text, numbers or dates, or drop it."
    )


def column_from_json(name: str, said: object) -> pl.Series:
    """Return a column that was written by `column_to_json`.

    Raises:
        Damaged: it is none.
    """
    import polars as pl

    kind, values = take(said, "type", str), take(said, "values", list)
    assert isinstance(said, dict)
    wanted: type | tuple[type, ...] = str
    if kind in _WHOLE or kind in _PHYSICAL:
        wanted = int
    elif kind == "Boolean":
        wanted = bool
    for each in values:
        if each is not None and (
            not isinstance(each, wanted) or (wanted is int and isinstance(each, bool))
        ):
            raise Damaged(f"column {name!r} holds cells of another type than it says")
    try:
        column = _typed(name, kind, values, said)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        raise Damaged(f"the cells of column {name!r} cannot be read") from None
    if column is None:
        raise Damaged(f"column {name!r} is of an unknown type")
    return column


def _typed(name: str, kind: str, values: list[Any], said: dict[str, Any]) -> pl.Series | None:
    import polars as pl

    if kind in _WHOLE or kind in ("String", "Boolean"):
        return pl.Series(name, values, dtype=getattr(pl, kind))
    if kind in ("Float32", "Float64"):
        numbers = [None if each is None else float(each) for each in values]
        return pl.Series(name, numbers, dtype=getattr(pl, kind), strict=False)
    if kind in ("Date", "Time"):
        physical = pl.Int32 if kind == "Date" else pl.Int64
        return pl.Series(name, values, dtype=physical).cast(getattr(pl, kind))
    if kind in ("Datetime", "Duration") and said.get("unit") in _UNITS:
        zone = take(said, "zone", (str, type(None))) if kind == "Datetime" else None
        unit = said["unit"]
        target = pl.Datetime(unit, zone) if kind == "Datetime" else pl.Duration(unit)
        return pl.Series(name, values, dtype=pl.Int64).cast(target)
    if kind == "Decimal" and 0 <= take(said, "scale", int) <= 38:
        return pl.Series(name, values, dtype=pl.String).cast(pl.Decimal(38, said["scale"]))
    return None
