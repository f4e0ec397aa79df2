"""The grid of a column: the lines that published intervals may end on.

The ends of a group are somebody's exact values. On a grid they are lines instead, which are the
same whoever is in the table: the interval is widened outward to the next lines. A grid is a step
(5, 0.01), a unit of the calendar (month) or the powers of a number (1, 10, 100, …). Ordered words
have a step, too: so many neighbours are published together. A column with a hierarchy has a level
of it instead, below which nothing is published.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from shoal.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence


CALENDAR = ("second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade")
"""Steps of the calendar, from short to long; weeks begin on Monday."""
WITHIN_A_DAY = ("second", "minute", "hour")

_POWERS = re.compile(r"powers[ -]of[ -](2|10)")
_LEVEL = re.compile(r"level[ -]?([1-9][0-9]{0,3})")
FINEST, LARGEST = -18, 18
"""Powers of ten between which a step may lie."""


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
    if not FINEST <= step.adjusted() <= LARGEST or len(step.as_tuple().digits) > LARGEST:
        raise OptionError(
            "The grid of column {column!r} must lie between 1e{finest} and 1e{largest}, with "
            "at most {largest} digits, not {value!r}.",
            column=column,
            finest=FINEST,
            largest=LARGEST,
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
