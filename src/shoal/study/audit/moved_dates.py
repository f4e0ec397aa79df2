"""Attacks on dates that were moved, or counted from the first: what days tell about a person.

What is moved by one offset keeps every interval. So whoever knows one date of a person, and the
quasi-identifiers of that visit, is left with the published rows that fit and that an offset can
bring to that date; with the right row comes the offset, and every other date. Whoever knows how
many days lie between all dates of a person looks for the places where all visits fit at once, or,
where pseudonyms are published, for the people whose rows do.

An attacker who is left with *c* rows, places or people picks one: the chance is 1/c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.messages import Message
from shoal.release_reader.classes import open_cells
from shoal.release_reader.columns import source_names
from shoal.study.audit.attack_context import compared
from shoal.table.date_offsets import SINCE_FIRST, offsets_of
from shoal.table.dates import people_in

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.recode import Style
    from shoal.study.audit.attack_context import Finding, Scene
    from shoal.table.date_offsets import Offsets
    from shoal.table.schema import Schema

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]

_PEOPLE = 300
_WIDEST = 2_000_000
_LOWERED_BY = Message(
    "columns of dates as quasi-identifiers, so that they are generalised; no pseudonyms; a larger k"
)


@dataclass(frozen=True, eq=False)
class _Days:
    """Columns of dates as an attacker sees them, in days.

    Attributes:
        true: of each row of the original and each column; NaN where it is missing.
        low: of each published row and each column, where its cell begins; NaN where it is missing.
        high: where it ends.
        name: of each published row, the number of its pseudonym; one for all rows without any.
        has_names: whether pseudonyms are published.
    """

    true: Floats
    low: Floats
    high: Floats
    name: Numbers
    has_names: bool

    def apart(self, visit: int, rows: Numbers, columns: slice) -> tuple[Floats, Floats]:
        """Return from and up to which offset each of these published rows can be this visit."""
        known = np.flatnonzero(~np.isnan(self.true[visit]))[columns]
        true = self.true[visit, known]
        low = (self.low[rows][:, known] - true).max(axis=1)
        high = (self.high[rows][:, known] - true).min(axis=1)
        return np.ceil(low), np.floor(high)


def follow_dates(
    scene: Scene, original: pl.DataFrame, schema: Schema, style: Style
) -> list[Finding]:
    """Return what the days between dates, and one known date, lead to.

    Args:
        scene: attackers who know the quasi-identifiers, but for those that are moved.
        original: the table, its dates as they were.
        schema: what its columns are.
        style: how the release writes generalised cells.
    """
    found: list[Finding] = []
    moved = schema.moved_dates
    shifted = [name for name, dates in moved.items() if dates != SINCE_FIRST]
    counted = [name for name in moved if name not in shifted]
    people, _ = people_in(original, schema, b"")
    visits = _visits(scene, people)
    if shifted:
        days = _read(shifted, original, scene.published, schema, style)
        if days is not None:
            found += [
                _one_date(scene, days, offsets_of(moved[shifted[0]])),
                _intervals(scene, days, visits, moved=True),
            ]
    if counted:
        days = _read(counted, scene.original, scene.published, schema, style)
        if days is not None:
            found.append(_intervals(scene, days, visits, moved=False))
    return found


def _visits(scene: Scene, people: Numbers) -> list[Numbers]:
    """Return the rows of each person that is attacked."""
    order = np.argsort(people, kind="stable")
    chosen = _some(scene, np.unique(people[scene.targets]))
    starts = np.searchsorted(people, chosen, side="left", sorter=order)
    ends = np.searchsorted(people, chosen, side="right", sorter=order)
    return [order[start:end] for start, end in zip(starts, ends, strict=True)]


def _some(scene: Scene, among: Numbers) -> Numbers:
    """Return some of these, by chance, if they are very many."""
    if len(among) <= _PEOPLE:
        return among
    return np.sort(scene.chance(301).choice(among, _PEOPLE, replace=False))


def _read(
    names: list[str], original: pl.DataFrame, published: pl.DataFrame, schema: Schema, style: Style
) -> _Days | None:
    """Return the columns in days; None where the release does not show them as such."""
    true, low, high = [], [], []
    for name in names:
        sources = [published.get_column(each) for each in source_names(name, published.columns)]
        column = open_cells(name, sources, schema, style)
        if column.line not in ("date", "datetime", "number"):
            return None
        unit = 86_400e6 if column.line == "datetime" else 1.0
        ends = (
            np.where(column.everything, -np.inf, column.low),
            np.where(column.everything, np.inf, column.high),
        )
        first, last = (np.floor(each / unit)[column.codes] for each in ends)
        low.append(first)
        high.append(last)
        true.append(_in_days(original.get_column(name)))
    numbers = np.zeros(published.height, np.int64)
    has_names = schema.person is not None and schema.person in published.columns
    if has_names:
        numbers = published.get_column(str(schema.person)).rank("dense").fill_null(0).to_numpy()
        numbers = np.where(numbers == 0, -1 - np.arange(len(numbers)), numbers).astype(np.int64)
        numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return _Days(
        np.column_stack(true), np.column_stack(low), np.column_stack(high), numbers, has_names
    )


def _in_days(column: pl.Series) -> Floats:
    import polars as pl

    if column.dtype.is_temporal():
        column = column.cast(pl.Date).cast(pl.Int32)
    days: Floats = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return days


def _rows_of(scene: Scene, who: int) -> Numbers:
    """Return the published rows that fit what is known of a row beside its dates."""
    moved = scene.schema.moved_dates
    others = np.array([column.name not in moved for column in scene.classes.columns], np.bool_)
    fits: NDArray[Any] = np.logical_and.reduce(scene.look(scene.people, who).fits[others], axis=0)
    return np.flatnonzero(fits[scene.classes.of_row])


def _one_date(scene: Scene, days: _Days, offsets: Offsets) -> Finding:
    """Look for a visit whose quasi-identifiers and one date are known."""
    chances, before = [], []
    step, most = offsets.step, offsets.days
    dated = scene.targets[np.isfinite(days.true[scene.targets]).any(axis=1)]
    for who in _some(scene, dated).tolist():
        rows = _rows_of(scene, who)
        low, high = _bounds(days, who, rows, slice(0, 1))
        low, high = np.maximum(low, -most), np.minimum(high, most)
        first = np.ceil(low / step) * step
        first = np.where(first == 0, step, first)  # nobody's dates stay where they are
        near = (first <= high) | ((low <= -step) & (high >= -step))
        left = int(np.count_nonzero(near))
        if left:
            chances.append(1 / left)
            before.append(1 / len(rows))
    return compared(
        chances,
        before,
        Message(
            "Who knows the quasi-identifiers of a visit and one of its dates picks the right row, "
            "and with it the offset of all dates of that person, with a chance of {rate:.2%}; "
            "without the date {usual:.2%}."
        ),
        name=Message("dates: one date known"),
        attack="dates",
        lowered_by=_LOWERED_BY,
        worst=max(chances, default=0.0),
        everybody=len(chances) == scene.people.n,
    )


def _bounds(days: _Days, who: int, rows: Numbers, columns: slice) -> tuple[Floats, Floats]:
    low, high = days.apart(who, rows, columns)
    gone = np.isnan(low) | np.isnan(high)  # a date that is missing there
    return np.where(gone, 1.0, low), np.where(gone, 0.0, high)


def _intervals(scene: Scene, days: _Days, visits: list[Numbers], *, moved: bool) -> Finding:
    """Look for people the days between whose dates are all known."""
    chances, before = [], []
    for rows in visits:
        known = rows[np.isfinite(days.true[rows]).any(axis=1)]
        if np.isfinite(days.true[known]).sum() < 2:
            continue
        fitting = [_rows_of(scene, int(who)) for who in known]
        count = _places if moved or days.has_names else _rows
        left, blind = count(days, known, fitting, moved=moved)
        if left:
            chances.append(1 / left)
            before.append(1 / blind)
    name = Message("dates: days between them known")
    if not moved:
        name = Message("dates: days since the first known")
    return compared(
        chances,
        before,
        Message(
            "Who knows the quasi-identifiers of all visits of a person with several dates, and the "
            "days between these, finds them with a chance of {rate:.2%}; without the days "
            "{usual:.2%}."
        ),
        name=name,
        attack="dates",
        lowered_by=_LOWERED_BY,
        worst=max(chances, default=0.0),
    )


def _rows(days: _Days, known: Numbers, fitting: list[Numbers], *, moved: bool) -> tuple[int, int]:
    """Return how many rows fit the visit that the days since the first give away most."""
    del moved
    found = []
    for who, rows in zip(known.tolist(), fitting, strict=True):
        low, high = _bounds(days, who, rows, slice(None))
        found.append((int(np.count_nonzero((low <= 0) & (high >= 0))), len(rows)))
    return min(found)


def _places(days: _Days, known: Numbers, fitting: list[Numbers], *, moved: bool) -> tuple[int, int]:
    """Return how many offsets, or pseudonyms, fit all visits; and how many one date alone does."""
    left: Numbers | None = None
    finite = np.isfinite(days.low) & np.isfinite(days.high)
    shown = days.low[finite], days.high[finite]
    true = days.true[known]
    if not moved:
        ends = 0, 0
    elif shown[0].size:
        ends = int(shown[0].min() - np.nanmax(true)), int(shown[1].max() - np.nanmin(true))
    else:
        return 0, 0
    blind = 0
    for who, rows in zip(known.tolist(), fitting, strict=True):
        if not blind:
            codes = _codes(days, rows, _bounds(days, who, rows, slice(0, 1)), ends)
            if days.has_names:
                blind = len(np.unique(days.name[rows]))
            elif codes is not None:
                blind = len(codes)
        codes = _codes(days, rows, _bounds(days, who, rows, slice(None)), ends)
        if codes is not None:
            left = codes if left is None else np.intersect1d(left, codes, assume_unique=True)
    if left is None:
        return 0, 0
    if days.has_names:
        left = np.unique(left // (ends[1] - ends[0] + 1))
    return len(left), max(blind, 1)


def _codes(
    days: _Days, rows: Numbers, bounds: tuple[Floats, Floats], ends: tuple[int, int]
) -> Numbers | None:
    """Return the pairs of pseudonym and offset that a visit allows; None if they are too many."""
    low = np.maximum(bounds[0], ends[0]).clip(max=ends[1] + 1).astype(np.int64)
    high = np.minimum(bounds[1], ends[1]).clip(min=ends[0] - 1).astype(np.int64)
    width = np.maximum(high - low + 1, 0)
    if int(width.sum()) > _WIDEST:
        return None
    place = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
    offset = np.repeat(low, width) + place - ends[0]
    return np.unique(np.repeat(days.name[rows], width) * (ends[1] - ends[0] + 1) + offset)
