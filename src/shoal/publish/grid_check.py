"""Whether published labels are as coarse as promised, from the published cells alone.

Ordered words that are published in steps, and columns that stay at a level of their hierarchy.
Shares no code with what makes cells coarser: labels are looked up in the order or the tree itself.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.errors import OptionError
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray


# Whether published intervals end on the lines of a grid, from the published cells alone.
#
# Shares no code with what widens intervals: ends are read from their texts and judged by decimal
# arithmetic and the calendar.

_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_POWERS = re.compile(r"powers of ([0-9]+)")
_MOST_DIGITS = 1000
_DAY = timedelta(days=1)
_WEST, _EAST = timedelta(hours=12), timedelta(hours=14)
"""How far clocks are from UTC."""
_LAST = date(9999, 12, 31)
_END_OF_TIME = datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001 - as the clock on the wall says

Ends = tuple[Any, Any]


_UNITS: dict[str, str] = {
    each: each
    for each in (
        Message("second"),
        Message("minute"),
        Message("hour"),
        Message("day"),
        Message("week"),
        Message("month"),
        Message("quarter"),
        Message("year"),
        Message("decade"),
    )
}


class _End(NamedTuple):
    """One end of an interval of numbers: a line, or the whole number before one."""

    value: Fraction | None
    is_line: bool
    before_line: bool


class GridPromise:
    """A promise that the intervals of a column end on lines, as data.

    Attributes:
        name: the column.
        step: the grid, as users write it.
        formats: how an interval is written, each with ``{low}`` before ``{high}``.
        suppressed: what stands for anything.
        top: the value from which on no more is told, as text: a line, too; empty for none.
        bottom: the value down from which no more is told.
    """

    def __init__(
        self,
        name: str,
        step: str,
        formats: Sequence[str] = ("[{low}-{high}]", "[{low} to {high}]"),
        suppressed: str = "*",
        *,
        top: str = "",
        bottom: str = "",
    ) -> None:
        self.name = name
        self.step = step
        self.formats = tuple(formats)
        self.suppressed = suppressed
        self.top, self.bottom = top, bottom
        self._parts = [re.split(r"\{low\}|\{high\}", form) for form in self.formats]
        self._prepare()

    @property
    def title(self) -> Message:
        """What a check of it is called."""
        return Message("grid of {column!r}", column=self.name)

    def without_marks(self, cells: pl.Series) -> pl.Series:
        """Return a column that is published as it is as values that have an order."""
        return cells

    def _prepare(self) -> None:
        """Read the step, so that ends can be judged by it."""
        step = self.step
        self._seen: dict[object, _End] = {}
        powers = _POWERS.fullmatch(step)
        self._base = int(powers[1]) if powers else 0
        self._calendar = step in {"day", "week", *_SECONDS, *_MONTHS}
        try:
            self._step = Fraction(1) if self._base or self._calendar else Fraction(Decimal(step))
        except (InvalidOperation, ValueError, OverflowError):
            self._step = Fraction(0)
        if self._step <= 0:
            raise OptionError(
                "There is no rule to verify the grid {step!r} of column {name!r} by.",
                step=step,
                name=self.name,
            )
        self._own_lines = self._lines_of_ends()

    def _lines_of_ends(self) -> set[Fraction | date]:
        """Return the top and the bottom and what lies next to them: lines of their own."""
        found: set[Fraction | date] = set()
        for end, side in ((self.top, -1), (self.bottom, 1)):
            value, moment = number_of(end), moment_of(end)
            if self._calendar and isinstance(moment, datetime):
                found.add(moment)
            elif self._calendar and moment is not None:
                found |= {moment, datetime.combine(moment, time.min)}
                found |= {moment + side * _DAY} if date.min < moment < _LAST else set()
            elif value is not None:
                found |= written_as(value) | {value + side}
        return found

    def holds(self, cell: object) -> bool:
        """Return whether a cell is missing, suppressed, or tells no more than it may."""
        cell = plain_cell(cell)
        if cell is None or cell in (self.suppressed, ""):
            return True
        if isinstance(cell, tuple):
            return self._bounds_hold(*(None if end == "" else end for end in cell))
        return self._value_holds(cell)

    def _bounds_hold(self, low: object, high: object) -> bool:
        """Return whether two columns of bounds may tell these; None is an end that is left out."""
        if low is None and high is None:
            return True
        # an end that is left out stands for all beyond the other's top or bottom
        low = low if low is not None else self.bottom
        high = high if high is not None else self.top
        return low == "" or high == "" or self._are_lines([(low, high)])

    def _value_holds(self, cell: object) -> bool:
        """Return whether a cell of one column ends on lines."""
        readings = self._ends(cell) if isinstance(cell, str) else []
        return self._are_lines([*readings, (cell, cell)])

    def verdict(self, off: NDArray[np.bool_]) -> tuple[float, bool, str]:
        """Return the share of rows on the grid, whether all are, and that in words."""
        kept = not off.any()
        about = self._about()
        words = Message("Holds: {about}.", about=about)
        if not kept:
            words = Message("Broken: {about}.", about=about)
        return 1.0 - float(off.sum()) / max(len(off), 1), kept, words

    def _about(self) -> str:
        return Message(
            "every interval of {name!r} ends on lines of its grid ({step}), not on values of the "
            "table",
            name=self.name,
            step=_UNITS.get(self.step, self.step),
        )

    def _ends(self, text: str) -> list[Ends]:
        """Return all ways to read a text as an interval."""
        found: list[Ends] = []
        for before, between, after in self._parts:
            if not (text.startswith(before) and text.endswith(after)):
                continue
            inner = text[len(before) : len(text) - len(after)]
            start = inner.find(between)
            while start >= 0:
                found.append((inner[:start], inner[start + len(between) :]))
                start = inner.find(between, start + 1)
        return found

    def _are_lines(self, readings: list[Ends]) -> bool:
        judge = self._moments if self._calendar else self._numbers
        readings = [(self._unmarked(low), self._unmarked(high)) for low, high in readings]
        return any(judge(low, high) for low, high in readings)

    def _unmarked(self, end: object) -> object:
        """Return an end without the mark that says it stands for all beyond it."""
        if isinstance(end, str):
            text = shown_text(end)
            if self.top and text.endswith("+"):
                return text[:-1]
            if self.bottom and text.startswith("<="):
                return text[2:]
        return end

    def _numbers(self, low: object, high: object) -> bool:
        first, last = self._judged(low), self._judged(high)
        if first.value is None or last.value is None or first.value > last.value:
            return False
        if self._base:
            return self._between_powers(first.value, last.value)
        # Cells of whole numbers hold their upper ends; the others end just before them.
        is_open = last.is_line and last.value > first.value
        return first.is_line and (is_open or last.before_line)

    def _judged(self, end: object) -> _End:
        """Return an end, judged once: there are many intervals, and few lines."""
        found = self._seen.get(end)
        if found is None:
            value = number_of(end)
            if value is None:
                found = _End(None, is_line=False, before_line=False)
            else:
                before = value.denominator == 1 and not (value + 1) % self._step
                line = round(value / self._step) * self._step
                own = value in self._own_lines
                is_line = own or value in written_as(line)
                found = _End(value, is_line=is_line, before_line=own or before)
            self._seen[end] = found
        return found

    def _between_powers(self, first: Fraction, last: Fraction) -> bool:
        def is_line(value: Fraction) -> bool:
            return value == 0 or value in self._own_lines or self._is_power(abs(value))

        if first == last and (first == 0 or first in self._own_lines):
            return True
        if is_line(first) and is_line(last) and first < last:
            return True
        if first.denominator != 1 or last.denominator != 1:
            return False
        # Whole numbers: 10 to 99, and -99 to -10.
        low = first if first >= 0 else first - 1
        high = last if last <= 0 else last + 1
        return is_line(low) and is_line(high)

    def _is_power(self, value: Fraction) -> bool:
        size = math.log(value.numerator) - math.log(value.denominator)
        return value in written_as(Fraction(self._base) ** round(size / math.log(self._base)))

    def _moments(self, low: object, high: object) -> bool:
        first, last = moment_of(low), moment_of(high)
        if first is None or last is None:
            return False
        if type(first) is not type(last):  # of moments, a top or a bottom that is left out is a day
            first, last = (_as_midnight(each) for each in (first, last))
        if first == last and first in self._own_lines:
            return True
        if isinstance(first, datetime):
            assert isinstance(last, datetime)
            start, stop = (moment.replace(tzinfo=None) for moment in (first, last))
            if start < stop and self._begins(first) and (self._begins(last) or _ends_time(stop)):
                return True
            midnight = start.time() == stop.time() == time.min
            if not midnight or self.step in _SECONDS:
                return False
            first, last = first.date(), last.date()  # a file may write days as datetimes
        if not self._begins(first) or last < first:
            return False
        return last in self._own_lines or last == _LAST or self._begins(last + _DAY)

    def _begins(self, moment: date) -> bool:
        """Return whether a unit of the calendar begins here."""
        if moment in self._own_lines:
            return True
        if not isinstance(moment, datetime):
            return self._begins_day(moment)
        if self.step in _SECONDS:
            there = moment if moment.tzinfo is None else moment.astimezone(UTC)
            past = there.hour * 3600 + there.minute * 60 + there.second
            return past % _SECONDS[self.step] == 0 and there.microsecond == 0
        if moment.utcoffset() == timedelta(0):
            # A file may write moments of any zone in UTC: midnight of some zone is enough.
            return any(self._begins_day(day) for day in _midnights(moment.replace(tzinfo=None)))
        # Some zones skip midnight when summer begins.
        late = moment.tzinfo is not None and moment.hour == 1
        at = moment.replace(hour=0, tzinfo=None) if late else moment.replace(tzinfo=None)
        return at.time() == time.min and self._begins_day(moment.date())

    def _begins_day(self, day: date) -> bool:
        if self.step == "week":
            return day.weekday() == 0
        months = _MONTHS.get(self.step)
        if months is None:
            return True
        since = day.year * 12 + day.month - 1
        return (day.day == 1 and since % months == 0) or day == date.min


def plain_cell(cell: object) -> object:
    """Return a cell without what a file may put around it; two ends in one cell as a pair."""
    if isinstance(cell, str):
        cell = _unquoted(cell)
        if cell.startswith('{"low":'):
            return _object(cell)
    return cell


def different_cells(cells_of: pl.DataFrame) -> list[object]:
    """Return the different cells of a column, or of its two bounds."""
    return _cells_in(_plain_table(cells_of).unique())


def cells_off_grid(promise: GridPromise, cells_of: pl.DataFrame) -> NDArray[np.bool_]:
    """Return which rows of a column, or of its two bounds, have a cell that is off the grid."""
    import polars as pl

    table = _plain_table(cells_of)
    distinct = table.unique()
    with localcontext(prec=100):
        off = [not promise.holds(cell) for cell in _cells_in(distinct)]
    judged = distinct.with_columns(pl.Series("off", off, dtype=pl.Boolean))
    found = table.join(
        judged, on=table.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return found.get_column("off").to_numpy()


def _plain_table(cells_of: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    columns = cells_of.get_columns()
    if len(columns) == 1 and columns[0].dtype == pl.Struct:
        columns = columns[0].struct.unnest().select("low", "high").get_columns()
    # Narrow floats have short texts, and long numbers.
    plain = [c.cast(pl.String) if c.dtype == pl.Float32 else c for c in columns]
    plain = [
        c.cast(pl.String) if isinstance(c.dtype, pl.Categorical | pl.Enum) else c for c in plain
    ]
    return pl.DataFrame([c.alias(str(i)) for i, c in enumerate(plain)])


def _cells_in(table: pl.DataFrame) -> list[object]:
    return [row if table.width > 1 else row[0] for row in table.iter_rows()]


def _midnights(moment: datetime) -> list[date]:
    """Return the days that begin at a moment of UTC, somewhere on earth."""
    if moment.minute % 15 or moment.second or moment.microsecond:
        return []
    past = timedelta(hours=moment.hour, minutes=moment.minute)
    days = [moment.date()] if past <= _WEST else []
    if _DAY - past <= _EAST and moment.date() < _LAST:
        days.append(moment.date() + _DAY)
    return days


def _object(text: str) -> Any:
    """Return the two ends that a line of JSON has in one cell."""
    try:
        found = json.loads(text, parse_float=str, parse_int=str)
        return found["low"], found["high"]
    except (ValueError, KeyError, TypeError):
        return text


def _as_midnight(moment: date) -> datetime:
    """Return a moment, or when a day begins."""
    return moment if isinstance(moment, datetime) else datetime.combine(moment, time.min)


def _ends_time(moment: datetime) -> bool:
    return moment.replace(microsecond=0) == _END_OF_TIME


def _unquoted(text: str) -> str:
    """Return a text without the quotation marks or the apostrophe that a file may give it."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    return text.removeprefix("'")


def written_as(line: Fraction) -> set[Fraction]:
    """Return the numbers that a line may be published as: itself, or as the float next to it.

    Floats are written in full, by as many digits as tell them from others, or, in Excel, by 16.
    """
    try:
        near = float(line)
    except OverflowError:
        return {line}
    with np.errstate(over="ignore", under="ignore"):
        narrow = np.float32(near)
    short = f"{near:.16g}"
    floats = [near, float(short), *([float(narrow)] if np.isfinite(narrow) else [])]
    texts = [repr(near), short, *([str(narrow)] if np.isfinite(narrow) else [])]
    return {line, *map(Fraction, floats), *(Fraction(Decimal(text)) for text in texts)}


def number_of(value: object) -> Fraction | None:
    """Return the exact number of a cell or of its text; None if it is none."""
    text = shown_text(value) if isinstance(value, str) else str(value)
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    # No column has such numbers, and no memory their digits.
    known = number.is_finite() and abs(number.adjusted()) < _MOST_DIGITS
    return Fraction(number) if known else None


def moment_of(value: object) -> date | None:
    """Return the day or moment of a cell or of its text; None if it is none."""
    if isinstance(value, date):
        return value
    return _spelt(shown_text(value)) if isinstance(value, str) else None


def shown_text(text: str) -> str:
    """Return a cell without what only tells it from others (`shoal.io.raw_reader`)."""
    return text.strip().rstrip("\u2063")


@lru_cache(maxsize=1 << 16)
def _spelt(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        return None
