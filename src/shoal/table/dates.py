"""Dates of a person: all moved by one offset, or counted in days from the person's first.

An offset is drawn for each person, and nobody can compute it without the key: it is an HMAC of the
id (`shoal.table.person_key`). Rows without an id, and rows where each is a person, have an offset
of their own from the randomness of the operating system.
"""

from __future__ import annotations

import os
from secrets import token_bytes
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import DataError, OptionError
from shoal.table.date_offsets import SINCE_FIRST, Offsets, offsets_of
from shoal.table.person_key import KEY_BYTES, clean_ids, keyed_hashes

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.schema import Schema


def move_dates(frame: pl.DataFrame, schema: Schema, key: bytes | None = None) -> pl.DataFrame:
    """Return the table with its dates moved, or counted from each person's first.

    Times of the day stay where dates are moved; points in time with a zone become those of the
    clock in that zone, so that all that is told of a person is exact. Days since the first are
    whole days of the calendar.

    Args:
        frame: the table.
        schema: what its columns are; ``dates`` says what happens to them.
        key: of people; one that is forgotten unless given.

    Raises:
        DataError: a column holds no dates, or they would leave the calendar.
    """
    moved = schema.moved_dates
    if not moved:
        return frame
    columns = {name: _clock(frame.get_column(name)) for name in moved}
    codes, hashes = people_in(frame, schema, key or token_bytes(KEY_BYTES))
    shifted = {name: dates for name, dates in moved.items() if dates != SINCE_FIRST}
    counted = {name: columns[name] for name in moved if name not in shifted}
    made = _since_first(counted, codes) if counted else []
    if shifted:
        offsets = _draw(offsets_of(next(iter(shifted.values()))), codes, hashes)
        made += [_shift(columns[name], offsets) for name in shifted]
    return frame.with_columns(made)


def move_as_released(frame: pl.DataFrame, schema: Schema, key: bytes | None) -> pl.DataFrame:
    """Return a table with its dates as a release of it has them, those of no use aside.

    Raises:
        OptionError: a quasi-identifier was moved under a key that is not given.
    """
    name = next(iter(schema.shifted), None)
    if name is not None and key is None:
        raise OptionError(
            "The dates of column {name!r} were moved by offsets that only the key tells; give the "
            "key (person_key, --person-key), or leave the column out.",
            name=name,
        )
    return move_dates(frame, schema, key)


def _clock(column: pl.Series) -> pl.Series:
    """Return a column of dates, without its time zone."""
    import polars as pl

    if column.dtype in (pl.Date, pl.Null):
        return column
    if not isinstance(column.dtype, pl.Datetime):
        raise DataError(
            "The dates of column {name!r} are to be moved, but it holds none (its data type is "
            "{dtype}); convert it to dates first, or leave it out.",
            name=column.name,
            dtype=column.dtype,
        )
    return column.dt.replace_time_zone(None)


def people_in(
    frame: pl.DataFrame, schema: Schema, key: bytes
) -> tuple[NDArray[np.int64], list[bytes]]:
    """Return the number of each row's person, and a hash of each; negative is a row by itself."""
    alone = -1 - np.arange(frame.height)
    if schema.person is None:
        return alone, []
    codes, texts = clean_ids(frame.get_column(schema.person))
    keyed = keyed_hashes(texts, key, "dates")
    known = {each: number for number, each in enumerate(dict.fromkeys(filter(None, keyed)))}
    # two spellings of one id are one person
    number = np.array([-1 if each is None else known[each] for each in keyed], np.int64)[codes]
    return np.where(number < 0, alone, number), list(known)


def _draw(offsets: Offsets, codes: NDArray[np.int64], hashes: list[bytes]) -> NDArray[np.int64]:
    """Return the offset of each row, in days."""
    numbers = np.frombuffer(os.urandom(8 * len(codes)), np.uint64) % np.uint64(offsets.n)
    if hashes:
        drawn = np.array([int.from_bytes(each) % offsets.n for each in hashes], np.uint64)
        numbers = np.where(codes < 0, numbers, drawn[codes])
    return offsets.at(numbers.astype(np.int64))


def _shift(column: pl.Series, offsets: NDArray[np.int64]) -> pl.Series:
    import polars as pl

    if column.dtype == pl.Null:
        return column
    by = pl.DataFrame({"days": offsets}).select(pl.duration(days="days")).to_series()
    found = column + by
    stays = found.dt.year().is_between(1, 9999).all() and (found - by).equals(column)
    if not stays:
        raise DataError(
            "The dates of column {name!r} would be moved out of the calendar; is a date in it "
            "that stands for a missing one, as 9999-12-31?",
            name=column.name,
        )
    return found.alias(column.name)


def _since_first(columns: dict[str, pl.Series], codes: NDArray[np.int64]) -> list[pl.Series]:
    """Return the days since the first date of each person, over all of these columns."""
    import polars as pl

    person = pl.Series("person", codes)
    days = [
        column.cast(pl.Date).cast(pl.Int32).cast(pl.Int64).alias(f"date {number}")
        for number, column in enumerate(columns.values())
    ]
    first = pl.min_horizontal(*(each.name for each in days)).min().over("person")
    made = pl.DataFrame([person, *days]).select(
        (pl.col(each.name) - first).alias(name) for name, each in zip(columns, days, strict=True)
    )
    return made.get_columns()
