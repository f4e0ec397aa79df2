"""Whom published cells cover, and on which lines they end: counted and derived anew.

Nothing of the package is imported here. Lines are fractions, people are counted one by one.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fuzz.cells import ends_of, is_missing, published_closure
from fuzz.checker import covers

if TYPE_CHECKING:
    from fuzz.bytes import Published
    from fuzz.tables import Case

SLACK = 1e-8
INTEGERS = ("i64", "u32")
Person = tuple[Any, ...]
"""The values of somebody in the quasi-identifiers."""


# -- a population -------------------------------------------------------------------------------


def as_read(case: Case) -> Case:
    """Return the case as its cells are read: a tree whose values are published is a set of them."""
    values = case.options.get("categories") == "values"
    columns = [
        replace(column, kind="set") if values and column.kind == "tree" else column
        for column in case.columns
    ]
    return replace(case, columns=columns)


def miscounted(
    case: Case,
    published: Published,
    people: list[Person],
    numbers: list[int],
    model: dict[str, Any],
) -> list[str]:
    """Say whether a promise about a population is broken.

    Args:
        case: the table, as its cells are read.
        published: what was read.
        people: values of everybody in the order of the quasi-identifiers.
        numbers: how many people each of them is.
        model: the promise.
    """
    quasi = case.named("quasi")
    rows: Counter[str] = Counter()
    covered: dict[str, list[bool]] = {}
    for row in published.rows:
        named = dict(zip(published.names, row, strict=True))
        made = [published_closure(case, column, named, published.textual) for column in quasi]
        key = repr(made)
        rows[key] += 1
        if key not in covered:
            covered[key] = [
                all(
                    covers(case, column, cell, value)
                    for column, cell, value in zip(quasi, made, person, strict=True)
                )
                for person in people
            ]
    totals = {
        key: sum(n for n, fits in zip(numbers, each, strict=True) if fits)
        for key, each in covered.items()
    }
    if model["model"] == "k-map":
        least = min(totals.values())
        return [f"a row fits {least} people, promised {model['k']}"] if least < model["k"] else []
    if 0 in totals.values():
        return ["a row fits nobody of the population"]
    chances = [
        sum(rows[key] / totals[key] for key in rows if covered[key][place])
        for place, number in enumerate(numbers)
        if number
    ]
    low, high = min(chances), max(chances)
    if low < model["delta_min"] - SLACK or high > model["delta_max"] + SLACK:
        return [f"chances are between {low} and {high}, promised {model}"]
    return []


# -- lines --------------------------------------------------------------------------------------


def off_the_grid(case: Case, published: Published, form: str = "") -> list[str]:
    """Say where a cell does not cover the value it stands for, or ends beside the lines.

    Args:
        case: the table; the insensitive column marks its rows.
        published: what was read.
        form: of the file; a spreadsheet keeps 15 digits of a number.
    """
    marks = case.named("insensitive")[0].cells
    found = []
    for row in published.rows:
        named = dict(zip(published.names, row, strict=True))
        place = marks.index(named["mark"])
        for column in case.named("quasi"):
            cells = _cells(column.name, named)
            value = column.cells[place]
            grid = case.options["grid"].get(column.name)
            kind = "xlsx" if column.dtype == "f64" and form == "xlsx" else column.dtype
            problem = _wrong_cell(kind, cells, value, grid)
            if problem:
                found.append(f"{column.name}, {grid}: {cells} stands for {value!r}: {problem}")
    return found[:4]


def _cells(name: str, named: dict[str, Any]) -> tuple[Any, Any]:
    if name in named:
        return ends_of(named[name])
    return named[f"{name}_low"], named[f"{name}_high"]


def _wrong_cell(dtype: str, cells: tuple[Any, Any], value: Any, grid: Any) -> str:
    """Return what is wrong with one published cell, "" if nothing is."""
    if any(cell in (None, "", "*") for cell in cells):
        # everything, or in two columns something suppressed; a missing value is nothing else
        return ""
    if is_missing(value):
        return "a missing value became a number"
    if dtype in INTEGERS:
        low, high = (int(cell) for cell in cells)
        if not low <= value <= high:
            return "does not cover it"
        if grid in (None, "none"):
            return ""
        on = _on_line(low, grid) or _on_line(low - 1, grid)  # cells are closed on both sides of 0
        on = on and (_on_line(high, grid) or _on_line(high + 1, grid))
        return "" if on else "beside the lines"
    narrow = NARROW.get(dtype, float)
    low, high, value = (narrow(float(each)) for each in (*cells, value))
    if not low <= value <= high:
        return "does not cover it"
    if grid in (None, "none"):
        return ""
    # a cell ends before its upper line, which is rounded in a narrow type; of powers 0 is a cell
    # of its own
    own = str(grid).startswith("powers") and high == 0
    if value == high > low and not own and dtype not in NARROW:
        return "ends before it"
    return "" if all(_near_line(each, grid, narrow) for each in (low, high)) else "beside the lines"


def _single(number: float) -> float:
    found: float = struct.unpack("f", struct.pack("f", number))[0]
    return found


def _fifteen(number: float) -> float:
    return float(f"{number:.15g}")


NARROW = {"f32": _single, "xlsx": _fifteen}
"""What is left of a number in a type or a spreadsheet."""


def _on_line(number: int, grid: Any) -> bool:
    if isinstance(grid, str) and grid.startswith("powers"):
        base = int(grid.rpartition(" ")[2])
        size = abs(number)
        while size > 1 and size % base == 0:
            size //= base
        return size in (0, 1)
    return (Fraction(number) / Fraction(str(grid))).denominator == 1


def _near_line(number: float, grid: Any, narrow: Any) -> bool:
    """Return whether a float is the nearest one to a line."""
    if number == 0 or math.isinf(number):
        return True
    size = Fraction(abs(number))
    if isinstance(grid, str) and grid.startswith("powers"):
        base = int(grid.rpartition(" ")[2])
        about = round(math.log(abs(number), base))
        lines = [Fraction(base) ** (about + more) for more in (-1, 0, 1)]
    else:
        step = Fraction(str(grid))
        lines = [round(size / step) * step]
    return any(narrow(_nearest(line)) == abs(number) for line in lines)


def _nearest(line: Fraction) -> float:
    try:
        return line.numerator / line.denominator
    except OverflowError:
        return math.inf
