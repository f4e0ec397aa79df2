"""What can be said about the dates of a person: that they are moved, or that days are counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SINCE_FIRST = "since first"
_SHIFT = re.compile(r"shift(?: (\d{1,9}))?(?: (days|weeks))?")
_STEPS = {"days": 1, "weeks": 7}
_USUAL = {"days": 365, "weeks": 52}
_LEAST_DAYS, _MOST_DAYS = 28, 36_500
"""Shorter reaches can be guessed, longer ones leave the calendar."""


class Offsets(NamedTuple):
    """By how much the dates of a person can be moved.

    Attributes:
        step: days between two offsets: 1, or 7 where weekdays stay.
        most: so many steps at most, forwards or backwards; never none.
    """

    step: int
    most: int

    @property
    def n(self) -> int:
        """How many there are."""
        return 2 * self.most

    @property
    def days(self) -> int:
        """The longest, in days."""
        return self.step * self.most

    def at(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the offsets with these numbers, from 0 on, in days."""
        return self.step * (numbers - self.most + (numbers >= self.most))


def read_dates(column: str, value: Any) -> str:
    """Return what happens to the dates of a column, spelled in full.

    Raises:
        OptionError: it is none of the ways, or reaches too little or too far.
    """
    found = _SHIFT.fullmatch(value) if isinstance(value, str) else None
    if value == SINCE_FIRST:
        return SINCE_FIRST
    if found is None:
        known = ("shift", "shift weeks", SINCE_FIRST)
        raise OptionError(
            "The dates of column {column!r} must be 'shift', 'shift weeks', a longest shift as in "
            "'shift 90 days' or 'shift 26 weeks', or 'since first', not {value!r}.{hint}",
            column=column,
            value=value,
            hint=did_you_mean(str(value), known),
        )
    unit = found[2] or "days"
    most = int(found[1] or _USUAL[unit])
    if not _LEAST_DAYS <= most * _STEPS[unit] <= _MOST_DAYS:
        raise OptionError(
            "The dates of column {column!r} are to be moved by at most {most:,} {unit}; give a "
            "reach of {least} days to 100 years, so that it can neither be guessed nor leave the "
            "calendar.",
            column=column,
            most=most,
            unit=unit,
            least=_LEAST_DAYS,
        )
    return f"shift {most} {unit}"


def offsets_of(dates: str) -> Offsets:
    """Return by how much dates are moved, from what `read_dates` returned."""
    _, most, unit = dates.split()
    return Offsets(_STEPS[unit], int(most))


def check_alike(moved: dict[str, str]) -> None:
    """Raise an OptionError if columns of one person are to be moved by different offsets."""
    found = {dates: name for name, dates in moved.items() if dates != SINCE_FIRST}
    if len(found) > 1:
        (one, first), (two, second), *_ = found.items()
        raise OptionError(
            "Column {first!r} is given the dates {one!r} and column {second!r} {two!r}, but a "
            "person has one offset; say the same for both.",
            first=first,
            one=one,
            second=second,
            two=two,
        )
