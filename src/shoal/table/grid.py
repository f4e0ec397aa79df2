"""The grid of a column: the lines that published intervals may end on.

The ends of a group are somebody's exact values. On a grid they are lines instead, which are the
same whoever is in the table: the interval is widened outward to the next lines. A grid is a step
(5, 0.01), a unit of the calendar (month) or the powers of a number (1, 10, 100, …). Ordered words
have a step, too: so many neighbours are published together. A column with a hierarchy has a level
of it instead, below which nothing is published.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError, did_you_mean
from shoal.table.schema import Column, Kind, Role, Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


CALENDAR = ("second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade")
"""Steps of the calendar, from short to long; weeks begin on Monday."""
WITHIN_A_DAY = ("second", "minute", "hour")

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "month": 2_629_746}
_POWERS = re.compile(r"powers[ -]of[ -](2|10)")
_LEVEL = re.compile(r"level[ -]?([1-9][0-9]{0,3})")
_FINEST, _LARGEST = -18, 18
"""Powers of ten between which a step may lie."""
_PARTS = 100
"""A grid that was not asked for has at least so many steps between the quartiles."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Lines that intervals may end on.

    Attributes:
        step: distance of two lines; None for the calendar and for powers.
        unit: step of the calendar, or "".
        base: the number whose powers are the lines, or 0.
        level: the lowest level of a hierarchy that is published, counted from its values; or 0.
        by_default: whether nobody asked for it.
        whole: whether the column holds whole numbers, whose cells hold their upper ends.
    """

    step: Decimal | None = None
    unit: str = ""
    base: int = 0
    level: int = 0
    by_default: bool = False
    whole: bool = field(default=False, compare=False)

    def __bool__(self) -> bool:
        """Tell whether there are lines at all."""
        return self.step is not None or bool(self.unit) or self.base > 0 or self.level > 0

    def __str__(self) -> str:
        """Return the grid as users write it."""
        if self.step is not None:
            text = format(self.step, "f")
            return text.rstrip("0").rstrip(".") if "." in text else text
        if self.base:
            return f"powers of {self.base}"
        if self.level:
            return f"level {self.level}"
        return self.unit or "none"


NO_GRID = Grid()


def parse_grid(value: Any, *, column: str) -> Grid:
    """Return the grid that was given for a column: a number, a word, or text of either.

    Raises:
        OptionError: it is none.
    """
    if isinstance(value, Grid):
        return value
    words = value.strip().lower() if isinstance(value, str) else ""
    if words == "none":
        return NO_GRID
    if words in CALENDAR:
        return Grid(unit=words)
    powers = _POWERS.fullmatch(words)
    if powers:
        return Grid(base=int(powers[1]))
    level = _LEVEL.fullmatch(words)
    if level:
        return Grid(level=int(level[1]))
    step = _number(value)
    if step is None or not step.is_finite() or step <= 0:
        hint = did_you_mean(words, CALENDAR) if words else ""
        raise OptionError(
            "The grid of column {column!r} must be a number above 0, one of {calendar}, "
            "'powers of 10', 'powers of 2', 'level 1' (or higher) or 'none', not "
            "{value!r}.{hint}",
            column=column,
            calendar=", ".join(CALENDAR),
            value=value,
            hint=hint,
        )
    if not _FINEST <= step.adjusted() <= _LARGEST or len(step.as_tuple().digits) > _LARGEST:
        raise OptionError(
            "The grid of column {column!r} must lie between 1e{finest} and 1e{largest}, with "
            "at most {largest} digits, not {value!r}.",
            column=column,
            finest=_FINEST,
            largest=_LARGEST,
            value=value,
        )
    return Grid(step=step)


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or type(value).__name__ in {"bool_", "bool"}:
        return None
    try:
        # Through its text, so that 0.1 is a tenth.
        number = Decimal(value.strip() if isinstance(value, str) else str(value))
    except InvalidOperation:
        return None
    return number


def grids_of(given: object, quasi_identifiers: Sequence[str]) -> dict[str, Grid]:
    """Return no grid for any column, which is all that can be said without naming one.

    Raises:
        OptionError: it says something else.
    """
    if not isinstance(given, str) or given.strip().lower() != "none":
        raise OptionError(
            "grid must be 'none' or map columns to steps, as in grid={{{keys!r}: 5}}, not "
            "{grid!r}.",
            keys=quasi_identifiers[0],
            grid=given,
        )
    return dict.fromkeys(quasi_identifiers, NO_GRID)


def settle_grids(schema: Schema, frame: pl.DataFrame, *, by_default: bool = True) -> Schema:
    """Return the schema with a grid, or none, for every quasi-identifier; kinds are known.

    Args:
        schema: kinds are known, grids as far as they were asked for.
        frame: the table.
        by_default: whether columns of floats, decimals and datetimes get a grid if nothing was
            said about them.

    Raises:
        OptionError: a grid does not fit its column.
    """
    return replace(
        schema,
        columns=tuple(
            replace(column, grid=_settled(column, frame, by_default=by_default))
            if column.role is Role.QUASI_IDENTIFIER
            else column
            for column in schema.columns
        ),
    )


def _settled(column: Column, frame: pl.DataFrame, *, by_default: bool) -> Grid:
    values = frame.get_column(column.name)
    whole = values.dtype.is_integer()
    if column.grid is None:
        found = suggest_grid(column.kind, values) if by_default else NO_GRID
        return replace(found, by_default=True, whole=whole)
    if column.grid:
        check_fit(column, column.grid)
    return replace(column.grid, whole=whole)


def check_fit(column: Column, grid: Grid) -> None:
    """Refuse a grid of lines, steps or levels that a column of this kind has not.

    Raises:
        OptionError: it does not fit.
    """
    name, kind = column.name, column.kind
    if kind is Kind.NUMERIC:
        if grid.unit or grid.level:
            raise OptionError(
                "The grid of column {name!r} is {grid!r}, but it holds numbers; give a "
                "number, as 5 or 0.01.",
                name=name,
                grid=str(grid),
            )
    elif kind is not None and kind.is_time:
        if not grid.unit:
            raise OptionError(
                "The grid of column {name!r} is {grid!r}, but it holds dates; give one of "
                "{calendar}.",
                name=name,
                grid=str(grid),
                calendar=", ".join(CALENDAR),
            )
        if kind is Kind.DATE and grid.unit in WITHIN_A_DAY:
            raise OptionError(
                "The grid of column {name!r} is {unit!r}, but it holds days; give 'day' or longer.",
                name=name,
                unit=grid.unit,
            )
    elif kind is Kind.ORDINAL:
        _check_words(column, grid)
    elif kind is Kind.CATEGORICAL:
        _check_tree(column, grid)
    else:
        word = "unknown" if kind is None else kind.value
        raise OptionError(
            "Column {name!r} is given a grid but is of kind {word!r}, whose cells have no "
            "ends on a number line; leave the grid out, or give the column an order or a "
            "hierarchy.",
            name=name,
            word=word,
        )


def _check_words(column: Column, grid: Grid) -> None:
    step, name = grid.step, column.name
    if step is None or step < 2 or step != step.to_integral_value():
        raise OptionError(
            "The grid of column {name!r} is {grid!r}, but it holds ordered words; give how "
            "many neighbours are published together, as 2.",
            name=name,
            grid=str(grid),
        )
    if column.order is not None and step >= len(column.order):
        raise OptionError(
            "The grid of column {name!r} is {grid}, but its order has only {n} values, so "
            "that nothing would be left of them; choose a smaller one, leave the grid out, or "
            "drop the column.",
            name=name,
            grid=grid,
            n=len(column.order),
        )


def _check_tree(column: Column, grid: Grid) -> None:
    if not grid.level:
        raise OptionError(
            "The grid of column {name!r} is {grid!r}, but it has a hierarchy; give the lowest "
            "level of it that is published, as 'level 1'.",
            name=column.name,
            grid=str(grid),
        )
    if column.hierarchy is not None:
        from shoal.table.grid_cells import level_of

        level_of(column.hierarchy, grid.level, column.name)


def suggest_grid(kind: Kind | None, values: pl.Series, *, whole: bool = False) -> Grid:
    """Return a grid for a column whose ends would show more digits than a reader can use.

    It is the largest power of ten, or unit of the calendar, of which a hundred fit between the
    quartiles of the column: of all that the values could tell, no more than their order of
    magnitude. Values that lie on its lines anyway have none.

    Args:
        kind: of the column.
        values: the column; of another type than its kind says it has no grid.
        whole: whether whole numbers and days may have one, too.
    """
    if kind is Kind.NUMERIC and values.dtype.is_numeric():
        return _suggest_step(values, whole=whole)
    if kind is not None and kind.is_time and values.dtype.is_temporal():
        return _suggest_unit(values, whole=whole)
    return NO_GRID


def _suggest_step(values: pl.Series, *, whole: bool) -> Grid:
    import polars as pl

    from shoal.table.grid_cells import most_parts, on_lines

    if values.dtype.is_integer() and not whole:
        return NO_GRID
    numbers = values.cast(pl.Float64).drop_nulls().drop_nans()
    spread = _spread(numbers)
    finite = numbers.filter(numbers.is_finite())
    if not 0 < spread < float("inf"):
        return NO_GRID
    if not whole and bool((finite == finite.round(0)).all()):
        return NO_GRID
    power = Decimal(spread / _PARTS).adjusted()
    largest = float(finite.abs().max() or 0.0)  # type: ignore[arg-type]  # a float column
    if not _FINEST <= power <= _LARGEST or largest / 10.0**power >= most_parts(values.dtype) / 4:
        return NO_GRID
    step = Decimal(1).scaleb(power)
    return NO_GRID if on_lines(finite, step) else Grid(step=step)


def _suggest_unit(values: pl.Series, *, whole: bool) -> Grid:
    import polars as pl

    from shoal.table.grid_cells import per_second

    moments = values.drop_nulls()
    days = moments.dtype == pl.Date
    second = 1 if days else per_second(moments.dtype)
    seconds = moments.to_physical().cast(pl.Float64) * (_SECONDS["day"] if days else 1 / second)
    part = _spread(seconds) / _PARTS
    fitting = [unit for unit, length in _SECONDS.items() if length <= part]
    unit = fitting[-1] if fitting else "second"
    if days or (unit == "month" and bool((seconds % _SECONDS["day"] == 0).all())):
        return Grid(unit=unit) if whole and unit == "month" else NO_GRID
    # Moments that lie on its lines need no grid; a month is longer than a day, so it never is.
    on_lines = unit != "month" and bool((seconds % _SECONDS[unit] == 0).all())
    return NO_GRID if on_lines else Grid(unit=unit)


def _spread(numbers: pl.Series) -> float:
    """Return the distance of the quartiles, or of wider quantiles if they are equal."""
    for share in (0.25, 0.05, 0.0):
        low, high = numbers.quantile(share, "lower"), numbers.quantile(1 - share, "higher")
        if low is not None and high is not None and high > low:
            return float(high - low)
    return 0.0
