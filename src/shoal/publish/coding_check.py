"""Whether no published cell tells more than a top or a bottom allows, from the cells alone.

Shares no code with what codes them. A cell is read as the values that it may stand for: of those
that lie at or beyond an end it has to allow all or none.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from shoal.messages import Message
from shoal.publish.grid_check import (
    GridPromise,
    moment_of,
    number_of,
    shown_text,
    written_as,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

_FORMATS = ("[{low}-{high}]", "[{low} to {high}]")
Value = Fraction | date


class CodingPromise(GridPromise):
    """A promise that beyond some values no cell of a column tells more than that, as data.

    Attributes:
        top: the value from which on no more is told, as text; empty for none.
        bottom: the value down from which no more is told.
        numbers: whether cells are means or medians, in which an end counts as itself.
        half_open: whether intervals end just before their upper end, so that one may be the top.
    """

    def __init__(
        self,
        name: str,
        formats: Sequence[str] = _FORMATS,
        suppressed: str = "*",
        *,
        top: str = "",
        bottom: str = "",
        numbers: bool = False,
        half_open: bool = False,
    ) -> None:
        self.numbers, self.half_open = numbers, half_open
        super().__init__(name, "coded", formats, suppressed, top=top, bottom=bottom)

    @property
    def title(self) -> Message:
        """What a check of it is called."""
        return Message("top and bottom of {column!r}", column=self.name)

    def _bounds_hold(self, low: object, high: object) -> bool:
        """Return whether bounds tell no more than they may."""
        return self._may_span(low, high)

    def _value_holds(self, cell: object) -> bool:
        """Return whether a cell of one column tells no more than it may."""
        if not isinstance(cell, str):
            return self._may_span(cell, cell)
        mark, value = self._parsed(cell)
        if mark:
            return value is not None
        return any(self._may_span(low, high) for low, high in [*self._ends(cell), (cell, cell)])

    def without_marks(self, cells: pl.Series) -> pl.Series:
        """Return a column whose ends are written without their marks, so that it has an order."""
        import polars as pl

        if cells.dtype != pl.String:
            return cells
        marked = {
            text: text.strip().removesuffix("+").removeprefix("<=")
            for text in cells.drop_nulls().unique().to_list()
            if all(self._parsed(text))
        }
        return cells.replace(marked) if marked else cells

    def _prepare(self) -> None:
        """Read the ends: both are numbers, or both are moments."""
        self._numeric = all(number_of(end) is not None for end in (self.top, self.bottom) if end)
        self._top = self._value(self.top) if self.top else None
        self._bottom = self._value(self.bottom) if self.bottom else None

    def _about(self) -> Message:
        ends = [f"{self.top}+"] * bool(self.top) + [f"<={self.bottom}"] * bool(self.bottom)
        return Message(
            "no cell of {name!r} tells more than {ends}", name=self.name, ends=", ".join(ends)
        )

    def _value(self, end: object) -> Value | None:
        return number_of(end) if self._numeric else moment_of(end)

    def _parsed(self, end: object) -> tuple[str, Value | None]:
        """Return the mark of an end and its value; no value if it is not that of the promise."""
        text = shown_text(end) if isinstance(end, str) else ""
        for mark, inner, limit in (
            ("+", text.removesuffix("+"), self._top),
            ("<=", text.removeprefix("<="), self._bottom),
        ):
            if inner != text:
                value = self._value(inner)
                fits = value is not None and limit is not None and _order(value, limit) == 0
                return mark, value if fits else None
        return "", self._value(end)

    def _may_span(self, low: object, high: object) -> bool:
        """Return whether a cell may stand for all that lies from one end to another; None is none.

        Where a column has bounds of its own, an end that stands for all beyond it is left out.
        """
        begins, first = self._parsed(low) if low is not None else ("<=", None)
        stops, last = self._parsed(high) if high is not None else ("+", None)
        if (low is not None and first is None) or (high is not None and last is None):
            return False
        if begins == "+" or stops == "<=":  # such an end stands alone
            return False
        width = 1 if first is None or last is None else _order(last, first)
        if width < 0:
            return False
        on_end = self.numbers or (self.half_open and width > 0)
        above = not stops or first is None or self._top is None or _order(first, self._top) <= 0
        below = (
            not begins or last is None or self._bottom is None or _order(last, self._bottom) >= 0
        )
        if self._top is not None and not stops and last is not None:
            order = _order(last, self._top)
            above = order < 0 or (order == 0 and on_end)
        if self._bottom is not None and not begins and first is not None:
            order = _order(first, self._bottom)
            below = order > 0 or (order == 0 and on_end)
        return above and below


def _order(value: Value, other: Value) -> int:
    """Return -1, 0 or 1: whether a value is below another, the same, or above."""
    if isinstance(value, Fraction):
        assert isinstance(other, Fraction)
        if value in written_as(other):
            return 0
        return -1 if value < other else 1
    assert isinstance(other, date)
    first, last = _on_one_clock(value, other)
    return (first > last) - (first < last)


def _on_one_clock(value: date, other: date) -> tuple[datetime, datetime]:
    """Return two moments that can be compared; a day is its midnight."""
    one, two = (
        each if isinstance(each, datetime) else datetime(each.year, each.month, each.day)  # noqa: DTZ001 - as the clock on the wall says
        for each in (value, other)
    )
    if one.tzinfo is None or two.tzinfo is None:
        return one.replace(tzinfo=None), two.replace(tzinfo=None)
    return one, two
