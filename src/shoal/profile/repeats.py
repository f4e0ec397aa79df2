"""Signs that people have several rows although nobody has said so.

k counts rows unless a run is told whose they are. A column that numbers people and repeats, or
rows that are there twice, say that rows are not people; whoever makes the release should hear it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shoal.io.column_names import says_only, topics_of
from shoal.profile.waves import find_waves
from shoal.publish.judgement import Doubt, OpenPoint
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from shoal.profile.guess import Guess
    from shoal.settings.request import Request
    from shoal.table.schema import Schema

__all__ = [
    "Repeats",
    "find_repeats",
    "names_a_person",
    "propose_person",
    "repeats_of",
    "says_whose",
    "worth_a_look",
]

MOST_ROWS_EACH = 50
"""A number that has more rows than this on average is one of a place or a class."""
FEWEST = 10
"""Fewer different values than this number nobody."""
_NEARLY = 0.5
_KEYS = 0.15
"""Share of the rows that have different values, from which any key may number people."""
_LOOKED_AT = 1_000
_DUPLICATES = 0.02
"""Share of rows that are there more than once, from which that is no chance any more."""
_VARIED = 0.2
_SAMPLE = 50_000
_CHANCE = 10.0
"""Columns depend on one another, so that chance makes more equal rows than if they did not."""
_MOST_NAMES = 4
_DIGIT = re.compile(r"[0-9]")


def says_whose(request: Request) -> bool:
    """Return whether a run is told whose the rows are, so that nobody has to look for signs."""
    return request.person is not None or request.rows_are_people


def names_a_person(name: str) -> bool:
    """Return whether the name of a column says that it numbers people."""
    topics = topics_of(name)
    if "number of a person" in topics or "contact" in topics:
        return True
    return "whose" in topics and says_only(name, "whose", "key", "glued key", "number of a person")


def worth_a_look(schema: Schema) -> list[str]:
    """Return the columns that are removed and may tell that people have several rows."""
    return [
        column.name
        for column in schema.columns
        if column.role is Role.IDENTIFIER
        or (column.role is Role.DROP and names_a_person(column.name))
    ]


@dataclass(frozen=True)
class Repeats:
    """How often the values of a column of ids repeat.

    Attributes:
        values: how many different ones there are.
        rows: in how many rows.
        numbered: whether they are numbers or codes. Names repeat because people have the same
            name; a number belongs to somebody.
    """

    values: int
    rows: int
    numbered: bool

    @property
    def unique(self) -> bool:
        """Whether every row has its own."""
        return self.values == self.rows


def repeats_of(column: pl.Series) -> Repeats | None:
    """Return how often the ids of a column repeat; None if its values are no ids."""
    import polars as pl

    dtype = column.dtype
    text = dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)
    other = {"address", "postcode", "place", "date", "birth"} & {*topics_of(column.name)}
    if other or not (text or dtype.is_integer()):
        return None
    filled = column.drop_nulls()
    values, rows = filled.n_unique(), len(filled)
    if values < FEWEST:
        return None
    numbered = dtype.is_integer() or _has_digits(filled.head(_LOOKED_AT).unique())
    return Repeats(values, rows, numbered)


def _numbers_people(name: str, found: Repeats) -> bool:
    """Return whether a column that repeats numbers people, by its name and how often it does."""
    if found.unique or not found.numbered:
        return False
    if names_a_person(name):
        return found.rows <= MOST_ROWS_EACH * found.values
    return _is_key(name) and found.values >= _KEYS * found.rows


def propose_person(frame: pl.DataFrame, guesses: Sequence[Guess]) -> list[Guess]:
    """Return the guesses; the id that repeats, if there is one, says whose row it is."""
    found = []
    for guess in guesses:
        counted = repeats_of(frame.get_column(guess.name))
        if (
            guess.role is Role.IDENTIFIER
            and counted is not None
            and _numbers_people(guess.name, counted)
        ):
            found.append((not names_a_person(guess.name), counted.values, guess.name))
    if not found:
        return [*guesses]
    whose = min(found)[2]
    why = "It repeats: people have several rows, so k counts people"
    return [
        replace(guess, role=Role.PERSON, why=f"{guess.why} {why}.")
        if guess.name == whose
        else guess
        for guess in guesses
    ]


def find_repeats(frame: pl.DataFrame, schema: Schema, k: int) -> list[Doubt]:
    """Return a sentence if people seem to have several rows; never a cell.

    Args:
        frame: the table; columns that were not read are not looked at.
        schema: the roles of its columns.
        k: what is promised.
    """
    found, own = [], False
    for column in schema.columns:
        name, role = column.name, column.role
        if name not in frame.columns or role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
            continue
        counted = repeats_of(frame.get_column(name))
        if counted is None:
            continue
        named = names_a_person(name)
        own = own or (counted.unique and (named or role is Role.IDENTIFIER))
        near = role is Role.IDENTIFIER and counted.values >= _NEARLY * counted.rows
        if _numbers_people(name, counted) and (named or role is Role.IDENTIFIER):
            found.append((not named, counted.values, counted.rows, name))
        elif near and not counted.unique:  # a name, or a number of something
            found.append((True, counted.values, counted.rows, name))
    if own:  # every row has an id of its own, so that names that repeat are namesakes
        found = [each for each in found if names_a_person(each[3])]
    if found:
        _, values, rows, name = min(found)
        sign = f"Column {name!r} has {values:,} different values in {rows:,} rows"
        return [_several_rows(sign, k, name)]
    twice = _duplicates(frame)
    if twice:
        sign = f"{twice:,} of {frame.height:,} rows are there more than once"
        return [_several_rows(sign, k)]
    return [] if own else _waves(frame.select(n for n in frame.columns if n in schema.used), k)


def _waves(frame: pl.DataFrame, k: int) -> list[Doubt]:
    """Return a sentence if what is read of a table looks like a panel without ids."""
    found = find_waves(frame)
    if found is None:
        return []
    shown = ", ".join(repr(each) for each in found.constant[:_MOST_NAMES])
    if len(found.constant) > _MOST_NAMES:
        shown += f" and {len(found.constant) - _MOST_NAMES} more"
    sign = f"{found.running!r} runs on from row to row where {shown} stay the same, as in a panel"
    return [_several_rows(sign, k)]


def _several_rows(sign: str, k: int, name: str | None = None) -> Doubt:
    """Return the sentence about a sign that people have several rows."""
    short = (
        f"{sign}: people seem to have several rows, so a group of {k:,} rows may be fewer than "
        f"{k:,} people."
    )
    whose = (
        "Name the column that says whose row it is (person=..., --person), or say"
        if name is None
        else f"Say person={name!r} (--person) to count people, or"
    )
    return Doubt(
        f"{short} {whose} rows_are_people=True (--rows-are-people) if every row is a different "
        "person.",
        OpenPoint("several rows", short, name),
    )


def _is_key(name: str) -> bool:
    return {"key", "glued key"} & {*topics_of(name)} != set()


def _has_digits(values: pl.Series) -> bool:
    import polars as pl

    texts = values.cast(pl.String).to_list()
    return sum(bool(_DIGIT.search(text)) for text in texts) > len(texts) / 2


def _duplicates(frame: pl.DataFrame) -> int:
    """Return how many rows are there more than once, where that cannot be chance.

    Rows of different people are equal by chance where no column has many values. So one must, and
    equal pairs must be many more than if every column took its values by chance.
    """
    from shoal.publish.order import RowHash

    n_rows = frame.height
    plain = [each for each in frame.get_columns() if not each.dtype.is_nested()]
    some = [each.gather_every(max(1, n_rows // _SAMPLE)) for each in plain]
    varied = any(each.n_unique() >= _VARIED * len(each) for each in some)
    if n_rows < MOST_ROWS_EACH or len(plain) < 2 or not varied:
        return 0
    hashes = RowHash(n_rows)
    for column in frame.get_columns():
        hashes.add(column)
    one, found = hashes.different()
    twice = int(found[found > 1].sum())
    if twice < _DUPLICATES * n_rows:
        return 0
    pairs, by_chance = float((found * (found - 1.0)).sum()), n_rows * (n_rows - 1.0)
    for column in plain:  # by the rows that differ: what is there twice must not count for itself
        counts = column.gather(one).value_counts().to_series(1).cast(float).to_numpy()
        by_chance *= float((counts * (counts - 1)).sum()) / max(len(one) * (len(one) - 1.0), 1)
    return twice if pairs > _CHANCE * by_chance else 0
