"""A published column, opened: what each of its distinct cells stands for."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from shoal.errors import DataError, OptionError, did_you_mean
from shoal.hierarchy import canonical_label
from shoal.publish.recode import Style

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.hierarchy import Taxonomy
    from shoal.table.coding import End
    from shoal.table.grid import Grid


# Reads the ends of an interval from the text of a cell, whoever wrote it.

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_MOMENT = r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[-+]\d{2}:?\d{2})?)?"
_BETWEEN = r"\s*(?:-|\u2013|,|;|\.\.|:|/|\bto\b)\s*"
_OTHERS = {
    kind: re.compile(rf"([\[\](])?\s*({end}){_BETWEEN}({end})\s*([\[\])])?")
    for kind, end in (("number", _NUMBER), ("moment", _MOMENT))
}
_ONE_SIDED = {
    kind: re.compile(rf"(<=|>=|<|>|≤|≥)\s*({end})|({end})\s*\+")
    for kind, end in (("number", _NUMBER), ("moment", _MOMENT))
}
_EPOCH = dt.date(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


Read = TypeVar("Read")


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


class StyledText:
    """What a style writes into one cell, taken apart again.

    A value may hold what stands between values, so a text is split where all its parts are values
    that the caller knows.
    """

    def __init__(self, style: Style) -> None:
        self._intervals = [
            re.split(r"\{low\}|\{high\}", form)
            for form in (style.interval_format, style.wide_interval_format)
        ]
        self._set = style.set_format.split("{values}")
        self._between = style.set_separator

    def interval(self, text: str, read: Callable[[str, str], Read | None]) -> Read | None:
        """Return what ``read`` makes of the first two ends that it knows; None without any."""
        for before, between, after in self._intervals:
            inner = _unwrap(text, before, after)
            start = -1 if inner is None else inner.find(between)
            while inner is not None and start >= 0:
                found = read(inner[:start], inner[start + len(between) :])
                if found is not None:
                    return found
                start = inner.find(between, start + 1)
        return None

    def members(self, text: str, known: Callable[[str], bool]) -> list[str] | None:
        """Return the values of a set, each as long as it can be; None if one is not known."""
        inner = _unwrap(text, *self._set)
        parts = [] if inner is None else inner.split(self._between)
        found: list[str] = []
        while parts:
            for stop in range(len(parts), 0, -1):
                value = self._between.join(parts[:stop])
                if known(value):
                    found.append(value)
                    parts = parts[stop:]
                    break
            else:
                return None
        return found or None

    def parts(self, text: str) -> list[str] | None:
        """Return the values of a set of several, of which nothing is known; None if it is none."""
        inner = _unwrap(text, *self._set)
        return inner.split(self._between) if inner and self._between in inner else None


def _unwrap(text: str, before: str, after: str) -> str | None:
    """Return what stands between two texts, or None if they are not there."""
    if len(text) < len(before) + len(after):
        return None
    if not (text.startswith(before) and text.endswith(after)):
        return None
    return text[len(before) : len(text) - len(after)]


class EndReader:
    """Turns cells into intervals: as this package writes them, and as others do.

    Args:
        style: how the release writes intervals.
        place: where a value lies on the line; None for what is no value.
    """

    def __init__(self, style: Style, place: Callable[[object], float | None]) -> None:
        self.place = place
        self._styled = StyledText(style)

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
        return self._styled.interval(text, self._pair) or self._foreign(text)

    def _pair(self, low: object, high: object) -> Interval | None:
        first, last = self._end(low, "<=", -math.inf), self._end(high, "+", math.inf)
        if first is None or last is None or first > last or low is high is None:
            return None
        return Interval(first, last)

    def _end(self, end: object, mark: str, beyond: float) -> float | None:
        """Return where an end lies; one that is marked, or left out, stands for all beyond it."""
        if end is None:
            return beyond
        text = end.strip() if isinstance(end, str) else ""
        inner = text.removesuffix(mark) if mark == "+" else text.removeprefix(mark)
        marked = inner != text and self.place(inner) is not None
        return beyond if marked else self.place(end)

    def _foreign(self, text: str) -> Interval | None:
        """Return an interval as other software writes it: ``[20, 30[``, ``20-29``, ``>=65``."""
        kind = "number" if self.place is as_number else "moment"
        found = _OTHERS[kind].fullmatch(text)
        if found is not None:
            ends = self._pair(found[2], found[3])
            if ends is None:
                return None
            return ends._replace(open_low=found[1] in ("]", "("), open_high=found[4] in ("[", ")"))
        one = _ONE_SIDED[kind].fullmatch(text)
        number: Any = None if one is None else self.place(one[3] or one[2])
        if one is None or number is None:
            return None
        if one[3] is not None:
            return Interval(number, math.inf)
        if one[1] in ("<", "<=", "≤"):
            return Interval(-math.inf, number, open_high=one[1] == "<")
        return Interval(number, math.inf, open_low=one[1] == ">")


Line = Literal["number", "date", "datetime", "ordinal", "label"]
KINDS = ("numeric", "ordinal", "date", "datetime", "flat", "set", "categorical")
EXACT = "exact"
"""What a column of labels is that was published as it is: no cell of it is a set."""
_LINES: dict[str, Line] = {
    "numeric": "number",
    "ordinal": "ordinal",
    "date": "date",
    "datetime": "datetime",
}
_PLACES: dict[str, Callable[[object], float | None]] = {
    "number": as_number,
    "date": as_date,
    "datetime": as_datetime,
}


_EXACT = 2.0**53
"""Below it every whole number is a float."""


@dataclass(frozen=True, eq=False)
class OpenColumn:
    """The distinct cells of a published column, and what each stands for.

    Attributes:
        name: the column.
        line: what kind of line its values lie on; ``label`` if on none.
        codes: which of the distinct cells each row holds.
        cells: the distinct cells as they are published.
        missing: which of them are empty.
        everything: which of them stand for anything.
        low: of a line: lower end of each cell, NaN where it has none.
        high: of a line: upper end.
        open_low: of a line: whether the lower end is just outside.
        open_high: of a line: whether the upper end is just outside.
        members: of labels: the values that each cell stands for; empty for anything.
        order: of an ordinal column: its values from low to high.
        whole: whether all ends are whole numbers, so that both belong to the cell.
        zone: time zone of a datetime column, if it has one.
    """

    name: str
    line: Line
    codes: NDArray[np.int64]
    cells: list[object]
    missing: NDArray[np.bool_]
    everything: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    open_low: NDArray[np.bool_]
    open_high: NDArray[np.bool_]
    members: tuple[tuple[str, ...], ...] = ()
    order: tuple[str, ...] = ()
    whole: bool = False
    zone: str | None = None

    @property
    def generalised(self) -> bool:
        """Whether any cell stands for more than one value."""
        if self.everything.any():
            return True
        if self.line == "label":
            return any(len(each) > 1 for each in self.members)
        return bool((self.low < self.high).any())


def source_names(name: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the published columns that hold a column: itself, or its two bounds.

    Raises:
        OptionError: there are none.
    """
    if name in columns:
        return (name,)
    pair = (f"{name}_low", f"{name}_high")
    if all(each in columns for each in pair):
        return pair
    raise OptionError(
        "The release has no column {name!r}.{hint}", name=name, hint=did_you_mean(name, columns)
    )


def open_column(
    name: str,
    columns: Sequence[pl.Series],
    *,
    style: Style | None = None,
    kind: str | None = None,
    order: Sequence[object] | None = None,
    taxonomy: Taxonomy | None = None,
    grid: Grid | None = None,
    coded: tuple[End | None, End | None] = (None, None),
) -> OpenColumn:
    """Say what the cells of a published column stand for.

    Args:
        name: the column.
        columns: its cells: one column, or the two of its bounds.
        style: how the release writes generalised cells.
        kind: how it was generalised; found from its cells unless given.
        order: values of an ordinal column from low to high.
        taxonomy: the hierarchy of a categorical column.
        grid: the lines that its intervals end on; those of numbers that are not whole and of
            moments end just before their upper one.
        coded: its top and its bottom; an interval that ends there and does not say so is one of
            values between them, without the end itself.

    Raises:
        DataError: a cell stands for nothing that could be said; cells are counted, never shown.
    """
    style = style or Style()
    cells, codes = distinct_cells(columns)
    cells = [_plain(cell) for cell in cells]
    missing = np.array([cell is None for cell in cells], np.bool_)
    found = _by_line(cells, missing, style, kind, order, taxonomy)
    zone = next((getattr(c.dtype, "time_zone", None) for c in columns), None)
    if found is None:
        members, everything = _labels(cells, style, taxonomy, kind)
        nothing = np.full(len(cells), np.nan)
        never = np.zeros(len(cells), np.bool_)
        return OpenColumn(
            name,
            "label",
            codes,
            cells,
            missing,
            everything,
            nothing,
            nothing,
            never,
            never,
            members,
        )
    line, ends, everything = found
    blank = Interval(np.nan, np.nan)
    low, high, open_low, open_high = (
        np.array(each) for each in zip(*[end or blank for end in ends], strict=True)
    )
    finite = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    whole = line in ("date", "ordinal") or bool((finite == np.round(finite)).all())
    if line == "datetime":
        whole = False
    if grid and line in ("number", "datetime"):
        open_high = open_high | ((low < high) & _end_before(grid, high))
    top, bottom = (np.nan if end is None else _PLACES[line](end) for end in coded)
    open_high = (open_high | ((low < high) & (high == top))) & (high != bottom)
    open_low = open_low | ((low < high) & (low == bottom))
    return OpenColumn(
        name,
        line,
        codes,
        cells,
        missing,
        everything,
        low.astype(np.float64),
        high.astype(np.float64),
        open_low.astype(np.bool_),
        open_high.astype(np.bool_),
        order=tuple(canonical_label(each) for each in order or ()),
        whole=whole,
        zone=zone,
    )


def _end_before(grid: Grid, high: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which intervals end just before their upper end.

    Cells of whole numbers end one below a line, all others on it; so the end itself tells which
    they are. Only where both may be lines the type of the column has to.
    """
    if grid.base:  # 0 is a cell of its own
        return np.asarray((high != 0) & (not grid.whole), np.bool_)
    if grid.step is None or grid.step != int(grid.step):
        return np.full(len(high), not grid.whole, np.bool_)
    step = int(grid.step)

    def on_line(end: float) -> bool:
        is_exact = step > 1 and abs(end) < _EXACT
        return end.is_integer() and int(end) % step == 0 if is_exact else not grid.whole

    return np.array([on_line(end) for end in high.tolist()], np.bool_)


Found = tuple[Line, list[Interval | None], "NDArray[np.bool_]"]


def _by_line(
    cells: list[object],
    missing: NDArray[np.bool_],
    style: Style,
    kind: str | None,
    order: Sequence[object] | None,
    taxonomy: Taxonomy | None,
) -> Found | None:
    """Return the ends of all cells if they lie on one line."""
    if taxonomy is not None or kind in (EXACT, "flat", "set", "categorical"):
        return None
    if kind == "ordinal" or order:
        rank = {canonical_label(each): float(n) for n, each in enumerate(order or ())}
        found = _ends(cells, missing, style, lambda v: None if v is None else rank.get(_text(v)))
        if found is None:
            raise DataError(
                "A column with an order has cells that are neither values of it nor intervals of "
                "them; give the order that was used."
            )
        return ("ordinal", *found)
    for line in ("number", "date", "datetime"):
        if kind is not None and _LINES.get(kind) != line:
            continue
        found = _ends(cells, missing, style, _PLACES[line])
        if found is None:
            continue
        texts = [c for c, e in zip(cells, found[0], strict=True) if isinstance(c, str) and e]
        spans = any(end is not None and end.low < end.high for end in found[0])
        if kind is None and texts and not spans and line == "number":
            continue  # texts such as ZIP codes, none of them an interval
        if any(found[0]):
            return (line, *found)
    return None


def _ends(
    cells: list[object],
    missing: NDArray[np.bool_],
    style: Style,
    place: Callable[[object], float | None],
) -> tuple[list[Interval | None], NDArray[np.bool_]] | None:
    """Return the ends of each cell and which stand for anything; None if one is neither."""
    reader = EndReader(style, place)
    ends = [reader.read(cell) for cell in cells]
    everything = np.array(
        [
            end is None and (cell in (style.suppressed, "*") or cell == (None, None))
            for cell, end in zip(cells, ends, strict=True)
        ],
        np.bool_,
    )
    known = np.array([end is not None for end in ends], np.bool_) | everything | missing
    return (ends, everything) if known.all() else None


def _labels(
    cells: list[object], style: Style, taxonomy: Taxonomy | None, kind: str | None
) -> tuple[tuple[tuple[str, ...], ...], NDArray[np.bool_]]:
    """Return the values that each label stands for, and which labels stand for anything."""
    place = {} if taxonomy is None else {label: n for n, label in enumerate(taxonomy.labels)}
    styled = StyledText(style)
    members: list[tuple[str, ...]] = []
    everything = np.zeros(len(cells), np.bool_)
    for number, cell in enumerate(cells):
        text = "" if cell is None else _text(cell)
        node = place.get(text)
        if cell is None:
            members.append(())
        elif node is not None and taxonomy is not None:
            first, last = int(taxonomy.first_leaf[node]), int(taxonomy.last_leaf[node])
            members.append(taxonomy.labels[first : last + 1])
            everything[number] = node == taxonomy.root
        elif text in (style.suppressed, "*"):
            members.append(())
            everything[number] = True
        else:
            several = None if kind == EXACT else styled.parts(text)
            if several and taxonomy is not None:
                several = styled.members(text, place.__contains__) or several
            members.append(_below(several, taxonomy, place) if several else (text,))
    return tuple(members), everything


def _below(
    labels: list[str], taxonomy: Taxonomy | None, place: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the values that the labels of a set stand for: themselves, or all below a node."""
    found: list[str] = []
    for label in labels:
        node = place.get(label)
        if taxonomy is None or node is None:
            found.append(label)
        else:
            first, last = int(taxonomy.first_leaf[node]), int(taxonomy.last_leaf[node])
            found += taxonomy.labels[first : last + 1]
    return tuple(found)


def _plain(cell: object) -> object:
    """Return a cell as one value, or as the two ends that it holds."""
    if isinstance(cell, Mapping):
        return _pair(cell)
    if isinstance(cell, str) and cell.startswith('{"low":'):
        try:
            return _pair(json.loads(cell))
        except (ValueError, AttributeError):
            return cell
    if cell is None or cell == "" or (isinstance(cell, float) and cell != cell):  # noqa: PLR0124
        return None
    return cell


def _pair(ends: Mapping[str, Any]) -> tuple[object, object]:
    return ends.get("low"), ends.get("high")


def _text(value: object) -> str:
    return canonical_label(value)


def distinct_cells(columns: Sequence[pl.Series]) -> tuple[list[object], NDArray[np.int64]]:
    """Return the distinct cells, and which of them each row holds."""
    import polars as pl

    if len(columns) == 1:
        column = columns[0]
        if isinstance(column.dtype, pl.Categorical | pl.Enum):
            column = column.cast(pl.String)
        frame = column.to_frame("cell")
    else:
        frame = pl.DataFrame([c.alias(f"end{n}") for n, c in enumerate(columns)])
    distinct = frame.unique(maintain_order=True)
    numbered = distinct.with_row_index("code")
    codes = frame.join(
        numbered, on=frame.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    cells = distinct.rows() if len(columns) > 1 else distinct.to_series().to_list()
    return list(cells), codes.get_column("code").to_numpy().astype(np.int64)
