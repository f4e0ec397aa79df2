"""What is open where dates of a person are moved, or counted from the person's first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import PromiseError
from shoal.messages import Message, named_of
from shoal.publish.judgement import Doubt, OpenPoint
from shoal.table.date_offsets import SINCE_FIRST, offsets_of

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.schema import Schema

_MOST_NAMES = 4
_NEAR_DAYS = 366
"""A date this near to one that is counted from the first tells about when that was."""


def doubts_of_dates(frame: pl.DataFrame, schema: Schema) -> list[Doubt]:
    """Return what a user must know whose dates are moved.

    Args:
        frame: the table, its dates as they were.
        schema: what its columns are.
    """
    moved = schema.moved_dates
    if not moved:
        return []
    shifted = [name for name, dates in moved.items() if dates != SINCE_FIRST]
    # as quasi-identifiers days are generalised, and k holds for them as for any other
    counted = [name for name in moved if name not in (*shifted, *schema.quasi_identifiers)]
    found = [_of_shifted(shifted, moved)] if shifted else []
    found += [_of_counted(counted)] if counted else []
    return found + [_of_near(name) for name in _near(frame, schema)]


def refuse_first_of_others(
    schema: Schema, person_of_row: NDArray[np.integer[Any]] | None, out: NDArray[np.bool_]
) -> None:
    """Refuse days since the first of people of whom some rows are left out and others are not.

    The first date may be that of a row that nobody is to hear of.

    Args:
        schema: what the columns are.
        person_of_row: number of the person of each row; None if every row is one of its own.
        out: which rows are not published.

    Raises:
        PromiseError: there are such people.
    """
    if person_of_row is None or not out.any() or SINCE_FIRST not in schema.moved_dates.values():
        return
    if np.isin(person_of_row[out], person_of_row[~out]).any():
        raise PromiseError(
            "Days are counted since the first date of a person, and some rows of people would be "
            "left out: the days would tell of them. Leave out no rows, or move the dates by "
            "'shift' instead."
        )


def _of_shifted(names: list[str], moved: dict[str, str]) -> Doubt:
    n = offsets_of(moved[names[0]]).n
    shown = named_of(names, _MOST_NAMES)
    short = Message(
        "Dates are moved by one of {n:,} offsets for each person ({names}): who knows one date of "
        "a person and finds its row knows them all, and the days between dates may single somebody "
        "out.",
        n=n,
        names=shown,
    )
    return Doubt(short, OpenPoint("moved dates", short))


def _of_counted(names: list[str]) -> Doubt:
    short = Message(
        "Dates are published as days since the first of each person ({names}): who knows one date "
        "of a person and finds its row knows them all, and the days between dates may single "
        "somebody out.",
        names=named_of(names, _MOST_NAMES),
    )
    return Doubt(short, OpenPoint("moved dates", short))


def _of_near(name: str) -> Doubt:
    sentence = Message(
        "Column {name!r} holds dates near those that are moved and is not moved itself, so that a "
        "reader can tell by how much the others were; move it, too (dates, --dates), or drop it.",
        name=name,
    )
    return Doubt(sentence, OpenPoint("unmoved dates", sentence, name))


def _near(frame: pl.DataFrame, schema: Schema) -> list[str]:
    """Return published columns of dates that mostly lie as near as the others can be moved."""
    import polars as pl

    moved = schema.moved_dates
    reach = max(
        _NEAR_DAYS if dates == SINCE_FIRST else offsets_of(dates).days for dates in moved.values()
    )
    others = [
        name
        for name in schema.published
        if name not in moved and frame.schema[name] in (pl.Date, pl.Datetime)
    ]
    if not others:
        return []
    days = frame.select(pl.col(*others, *moved).cast(pl.Date).cast(pl.Int32))
    found = []
    for name in others:
        apart = [days.select((pl.col(name) - pl.col(each)).abs().median()).item() for each in moved]
        if any(each is not None and each <= reach for each in apart):
            found.append(name)
    return found
