"""What a cell means: the same for every format, and what a group of values must be published as.

Nothing of the package is imported here: closures are derived by their definition.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from fuzz.frames import zoneinfo_names
from fuzz.tables import tree_paths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fuzz.bytes import Published
    from fuzz.tables import Case, Column

EVERYTHING = ("everything",)


def canonical(column: Column, cell: Any, published: Published | None) -> Any:
    """Return a cell of a column that is published as it is, the same for every format."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if cell == "" and published is not None and published.textual:
        return None
    dtype = column.dtype
    if dtype in ("i64", "i8", "u32", "f64", "f32", "dec"):
        return number_of(cell, dtype)
    if dtype == "bool":
        return cell in (True, 1, "true", "True", "TRUE")
    if dtype == "date":
        return moment_of(cell).date()
    if dtype == "time" or dtype in zoneinfo_names():
        return moment_of(cell)
    return cell


def number_of(cell: Any, dtype: str) -> Decimal | None:
    """Return a number as it is, whatever a format makes of it; None if it is none."""
    if isinstance(cell, float) and math.isnan(cell):
        return None
    if isinstance(cell, str) and cell.lower() in ("nan", "=#num!", "#num!"):
        return None
    if dtype == "f32":
        number = Decimal(repr(struct.unpack("f", struct.pack("f", float(cell)))[0]))
    elif dtype == "f64":
        number = Decimal(f"{float(cell):.10g}")  # a spreadsheet keeps 15 digits
    else:
        number = Decimal(str(cell))
    return number.normalize() + 0


def moment_of(cell: Any) -> dt.datetime:
    """Return a moment in UTC, in the milliseconds that every format keeps."""
    if isinstance(cell, str):
        cell = dt.datetime.fromisoformat(cell)
    if isinstance(cell, dt.date) and not isinstance(cell, dt.datetime):
        cell = dt.datetime(cell.year, cell.month, cell.day)
    if cell.tzinfo is not None:
        cell = cell.astimezone(dt.UTC).replace(tzinfo=None)
    return cell


# -- what a group of values must be published as ------------------------------------------------


def closure(column: Column, values: Iterable[Any]) -> Any:
    """Return what the values of a group have in common, by definition."""
    cells = list(values)
    present = [cell for cell in cells if not is_missing(cell)]
    if not present:
        return None
    if len(present) < len(cells):
        return EVERYTHING
    kind = column.kind
    if kind in ("numeric", "date", "datetime"):
        places = [_place(column, cell) for cell in present]
        return min(places), max(places)
    if kind == "ordinal":
        ranks = [column.levels.index(cell) for cell in present]
        return min(ranks), max(ranks)
    if kind == "set":
        return frozenset(present)
    labels = {_label(cell) for cell in present}
    if len(labels) == 1:
        return labels.pop()
    if kind == "tree":
        paths = tree_paths()
        common = [node for node in paths[present[0]] if all(node in paths[v] for v in present)]
        return common[0] if common else EVERYTHING
    return EVERYTHING


def _place(column: Column, cell: Any) -> Any:
    if column.kind == "numeric":
        return number_of(cell, column.dtype)
    return moment_of(cell).date() if column.kind == "date" else moment_of(cell)


def _label(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)


def is_missing(cell: Any) -> bool:
    """Return whether a cell of the input is missing."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def published_closure(case: Case, column: Column, row: dict[str, Any], textual: bool) -> Any:
    """Return what the published cells of a quasi-identifier say, in the words of `closure`."""
    name = column.name
    intervals = column.kind in ("numeric", "date", "datetime", "ordinal")
    if intervals and case.style == "bounds":
        return _bounds(column, row[f"{name}_low"], row[f"{name}_high"], textual)
    cell = row[name]
    if intervals and case.style == "struct":
        return _bounds(column, cell and cell["low"], cell and cell["high"], textual)
    if cell is None or (textual and cell == ""):
        return None
    if not intervals:
        return _text_closure(column, cell)
    if cell == "*":
        return EVERYTHING
    low, high = ends_of(cell)
    return _parsed(column, low), _parsed(column, high)


def ends_of(cell: Any) -> tuple[Any, Any]:
    """Return both ends of a published interval, as they are written."""
    if not (isinstance(cell, str) and cell.startswith("[") and cell.endswith("]")):
        return cell, cell
    low, _, high = cell[1:-1].partition(" to " if " to " in cell else "-")
    return low, high


def _text_closure(column: Column, cell: Any) -> Any:
    if cell == "*":
        return EVERYTHING
    if column.kind == "set":
        many = cell.startswith("{") and cell.endswith("}")
        return frozenset(cell[1:-1].split(", ") if many else [cell])
    if column.kind == "flat" and cell not in map(_label, column.cells) and cell[:1] == "{":
        return frozenset(cell[1:-1].split(", "))
    return cell


MOST_LISTED = 8
"""So many values a column without a hierarchy lists."""


def listed(column: Column, values: Iterable[Any], k: int) -> Any:
    """Return the set that a flat column publishes of a group, or that everything is hidden."""
    own, every = set(map(_label, values)), [c for c in column.cells if not is_missing(c)]
    labels = list(map(_label, every))
    odd = any(", " in each or (each[:1] == "{" and each[-1:] == "}") for each in labels)
    few = len(own) <= MOST_LISTED and own < set(labels)
    known = few and not odd and all(labels.count(each) >= k for each in own)
    return frozenset(own) if known else EVERYTHING


def _bounds(column: Column, low: Any, high: Any, textual: bool) -> Any:
    if low is None or (textual and low == ""):
        return None  # suppressed or missing: published alike
    return _parsed(column, low), _parsed(column, high)


def _parsed(column: Column, cell: Any) -> Any:
    if column.kind == "ordinal":
        return column.levels.index(cell)
    try:
        return _place(column, cell)
    except (ValueError, InvalidOperation, TypeError):
        return ("unreadable", cell)


def comparable(value: Any, published: Published) -> Any:
    """Return a value of a kept column in what every format keeps of it."""
    if isinstance(value, dt.datetime):
        return value.replace(microsecond=0)
    return None if published.textual and value == "" else value


def as_styled(
    case: Case, column: Column, made: Any, cells: list[Any], textual: bool = False
) -> Any:
    """Return a closure as the style publishes it."""
    intervals = column.kind in ("numeric", "date", "datetime", "ordinal")
    if intervals and case.style in ("bounds", "struct"):
        return None if made == EVERYTHING else to_seconds(made)
    if column.kind == "numeric" and case.style in ("mean", "median"):
        if made in (None, EVERYTHING):
            return None
        numbers = sorted(float(cell) for cell in cells)
        half = len(numbers) // 2
        middle = (numbers[half] + numbers[-half - 1]) / 2
        return _rounded(math.fsum(numbers) / len(numbers) if case.style == "mean" else middle)
    if column.kind == "flat" and made == "":
        return None if textual else made
    return to_seconds(made)


def seen_in(
    case: Case, column: Column, named: dict[str, Any], published: Published, blurred: bool
) -> Any:
    """Return what was published of a quasi-identifier, in the words of `as_styled`."""
    if blurred and column.kind == "numeric" and case.style in ("mean", "median"):
        cell = named[column.name]
        return None if cell is None or cell == "" else _rounded(float(cell))
    return to_seconds(published_closure(case, column, named, published.textual))


def to_seconds(made: Any) -> Any:
    """Return a span of moments in what every format keeps of it."""
    if isinstance(made, tuple) and isinstance(made[0], dt.datetime):
        return tuple(each.replace(microsecond=0) for each in made)
    return made


def _rounded(number: float) -> str:
    return f"{number + 0.0:.5g}".replace("-0", "0") if abs(number) < 1e-9 else f"{number:.5g}"
