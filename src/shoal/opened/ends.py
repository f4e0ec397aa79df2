"""Reads the ends of an interval from the text of a cell, whoever wrote it."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.publish.recode import Style

__all__ = ["EndReader", "Interval", "as_date", "as_datetime", "as_number"]

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_MOMENT = r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[-+]\d{2}:?\d{2})?)?"
_BETWEEN = r"\s*(?:-|\u2013|,|;|\.\.|:|/|\bto\b)\s*"
_OTHERS = {
    kind: re.compile(rf"([\[\](])?\s*({end}){_BETWEEN}({end})\s*([\[\])])?")
    for kind, end in (("number", _NUMBER), ("moment", _MOMENT))
}
_ONE_SIDED = re.compile(rf"(<=|>=|<|>|≤|≥)\s*({_NUMBER})|({_NUMBER})\s*\+")
_EPOCH = dt.date(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


class Interval(NamedTuple):
    """The ends of a cell as places on a line, and whether each end belongs to it."""

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False


def as_number(value: object) -> float | None:
    """Return a number, or None if it is none."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]  # that is the test
    except (TypeError, ValueError, OverflowError):
        return None
    plain = not isinstance(value, str) or re.fullmatch(_NUMBER, value.strip())
    return number if math.isfinite(number) and plain else None


def as_date(value: object) -> float | None:
    """Return the days since 1970 of a date, or None if it is none."""
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return float((value - _EPOCH).days)
    if isinstance(value, str) and len(value.strip()) == 10:
        try:
            return float((dt.date.fromisoformat(value.strip()) - _EPOCH).days)
        except ValueError:
            return None
    return None


def as_datetime(value: object) -> float | None:
    """Return the microseconds since 1970 of a moment, or None if it is none."""
    moment = value
    if isinstance(moment, str):
        try:
            moment = dt.datetime.fromisoformat(moment.strip())
        except ValueError:
            return None
    if isinstance(moment, dt.datetime):
        zone = None if moment.tzinfo is None else dt.UTC
        return float((moment - dt.datetime(1970, 1, 1, tzinfo=zone)) // _MICROSECOND)
    if isinstance(moment, dt.date):
        return float((moment - _EPOCH).days) * 86_400e6
    return None


class EndReader:
    """Turns cells into intervals: as this package writes them, and as others do.

    Args:
        style: how the release writes intervals.
        place: where a value lies on the line; None for what is no value.
    """

    def __init__(self, style: Style, place: Callable[[object], float | None]) -> None:
        self.place = place
        self._parts = [
            re.split(r"\{low\}|\{high\}", form)
            for form in (style.interval_format, style.wide_interval_format)
        ]

    def read(self, cell: object) -> Interval | None:
        """Return the interval of a cell; None if it is neither a value nor an interval."""
        if isinstance(cell, tuple):
            return self._pair(*cell)
        exact = self.place(cell)
        if exact is not None:
            return Interval(exact, exact)
        if not isinstance(cell, str):
            return None
        text = cell.strip().removeprefix("'")
        return self._styled(text) or self._foreign(text)

    def _pair(self, low: object, high: object) -> Interval | None:
        first, last = self.place(low), self.place(high)
        if first is None or last is None or first > last:
            return None
        return Interval(first, last)

    def _styled(self, text: str) -> Interval | None:
        for before, between, after in self._parts:
            if not (text.startswith(before) and text.endswith(after)):
                continue
            inner = text[len(before) : len(text) - len(after)]
            start = inner.find(between)
            while start >= 0:
                found = self._pair(inner[:start], inner[start + len(between) :])
                if found is not None:
                    return found
                start = inner.find(between, start + 1)
        return None

    def _foreign(self, text: str) -> Interval | None:
        """Return an interval as other software writes it: ``[20, 30[``, ``20-29``, ``>=65``."""
        kind = "number" if self.place is as_number else "moment"
        found = _OTHERS[kind].fullmatch(text)
        if found is not None:
            ends = self._pair(found[2], found[3])
            if ends is None:
                return None
            return ends._replace(open_low=found[1] in ("]", "("), open_high=found[4] in ("[", ")"))
        one = _ONE_SIDED.fullmatch(text) if kind == "number" else None
        if one is None:
            return None
        if one[3] is not None:
            return Interval(float(one[3]), math.inf)
        number: Any = float(one[2])
        if one[1] in ("<", "<=", "≤"):
            return Interval(-math.inf, number, open_high=one[1] == "<")
        return Interval(number, math.inf, open_low=one[1] == ">")
