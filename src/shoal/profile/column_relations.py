"""What columns say about one another: functions, a short list, and whom they single out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.profile.roles import QUASI_TOPICS
from shoal.publish.recode import hash_cells
from shoal.table.relations import Codes, follows, go_together, renumbered
from shoal.table.schema import Kind, Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.profile.guess import Guess


MOST_QUASI = 10
"""More quasi-identifiers than this protect nobody: every row is unique, and all detail is lost."""
_LOOKED_AT = 20_000
_COUNTED = 1_000_000
_FEWEST = 100
"""In smaller tables columns go together by chance."""
_QUICK_LOOK = 2_000
_CORE = ("age", "birth", "sex", "postcode", "place", "origin")


def compare_columns(frame: pl.DataFrame, guesses: Sequence[Guess]) -> list[Guess]:
    """Return the guesses, with what follows from a quasi-identifier (or gives it away) dropped.

    Of two quasi-identifiers that are functions of one another the finer is kept, unless it singles
    out most rows by itself: the age is kept, the day of birth and the class of age are not.
    """
    if frame.height < _FEWEST:
        return list(guesses)
    found = _Columns(frame, guesses)
    guesses = [_as_person(guess, found, guesses) for guess in guesses]
    out: dict[str, str] = {}
    _leave_out_finest(found, _of_role(guesses, Role.QUASI_IDENTIFIER, out), out)
    _leave_out_coarser(found, _of_role(guesses, Role.QUASI_IDENTIFIER, out), out)
    for private in _of_role(guesses, Role.SENSITIVE, out):
        _settle(found, private, _of_role(guesses, Role.QUASI_IDENTIFIER, out), out)
    return [_left_out(guess, out[guess.name]) if guess.name in out else guess for guess in guesses]


def _of_role(guesses: Sequence[Guess], role: Role, out: dict[str, str]) -> list[Guess]:
    left = [guess for guess in guesses if guess.role is role and guess.name not in out]
    known = [guess for guess in left if guess.topic is not None]
    # So many unknown ones are left out of the short list anyway; comparing all pairs takes long.
    return left if role is Role.SENSITIVE or len(left) - len(known) <= 2 * MOST_QUASI else known


def _leave_out_finest(found: _Columns, quasi: list[Guess], out: dict[str, str]) -> None:
    """A column that singles out most rows goes, if a coarser one says the same."""
    fine = [guess for guess in quasi if guess.alone > found.n_rows / 2]
    coarse = [guess for guess in quasi if guess not in fine]
    for finer in fine:
        kept = next((other for other in coarse if found.tells(finer, other)), None)
        if kept is not None:
            why = f"{kept.name!r} follows from it and is kept; this one singles out most rows"
            out[finer.name] = why


def _leave_out_coarser(found: _Columns, quasi: list[Guess], out: dict[str, str]) -> None:
    """Of what follows from another quasi-identifier, the finer one is kept."""
    quasi = sorted(quasi, key=lambda guess: -found.n_values[guess.name])
    for finer in quasi:
        for other in quasi:
            same = other is finer or {other.name, finer.name} & out.keys()
            if same or not found.tells(finer, other):
                continue
            worse, better = other, finer
            if found.tells(other, finer) and _rather(other, finer):
                worse, better = finer, other
            why = f"It follows from {better.name!r}, which is kept; both would count it twice"
            out[worse.name] = why


def _settle(found: _Columns, private: Guess, quasi: list[Guess], out: dict[str, str]) -> None:
    """What is published exactly must not tell what is generalised: one of the two goes."""
    for other in quasi:
        gives_away = found.tells(private, other)
        if gives_away and other.topic not in _CORE:
            out[other.name] = f"It follows from {private.name!r}, which is published as it is"
        elif gives_away or found.tells(other, private):
            why = f"It goes together with {other.name!r} and would tell what is hidden there"
            out[private.name] = why
            return


def _as_person(guess: Guess, found: _Columns, guesses: Sequence[Guess]) -> Guess:
    """Return the guess, as an identifier if it is a number from which much else follows.

    That is what the number of a person looks like in a table with several rows per person.
    """
    if guess.role is not Role.QUASI_IDENTIFIER or guess.topic is not None:
        return guess
    if found.n_values[guess.name] <= max(20, 0.05 * found.n_looked):
        return guess
    others = [other for other in guesses if other.name in found.n_values and other is not guess]
    if sum(found.tells(guess, other) for other in others) < 2:
        return guess
    why = "Several other columns follow from it, as they do from the number of a person"
    return replace(_left_out(guess, why), role=Role.IDENTIFIER)


def _rather(first: Guess, second: Guess) -> bool:
    """Return whether the first of two that say the same is the better one: a number has order."""
    return first.kind is Kind.NUMERIC and second.kind is not Kind.NUMERIC


def shorten(guesses: Sequence[Guess]) -> list[Guess]:
    """Return the guesses with at most so many quasi-identifiers; the others are dropped.

    Those that were recognised come first, in the order of what others know best. Where there is no
    room for all that were not recognised, none of them is kept: chance should not choose.
    """
    quasi = [guess for guess in guesses if guess.role is Role.QUASI_IDENTIFIER]
    if len(quasi) <= MOST_QUASI:
        return list(guesses)
    order = {topic: place for place, topic in enumerate(QUASI_TOPICS)}
    known = [guess for guess in quasi if guess.topic is not None]
    known.sort(key=lambda guess: order.get(guess.topic or "", len(order)))
    kept = {guess.name for guess in known[:MOST_QUASI]}
    of = f"one of {len(quasi)} columns that others may know"
    return [
        guess
        if guess.name in kept or guess.role is not Role.QUASI_IDENTIFIER
        else _left_out(
            guess,
            f"Left out, {of}: others know it less well than those that are kept"
            if guess.topic is not None
            else f"Left out, {of}: not recognised, so nobody but you knows whether it matters",
        )
        for guess in guesses
    ]


def _left_out(guess: Guess, why: str) -> Guess:
    return replace(
        guess,
        role=Role.DROP,
        why=f"{why}.",
        sure=False,
        kind=None,
        order=None,
        hierarchy=None,
        rule=None,
    )


def count_singled_out(
    frame: pl.DataFrame, guesses: Sequence[Guess]
) -> tuple[list[Guess], int | None]:
    """Return the guesses with whom they single out, and how many rows all quasi-identifiers do.

    Very large tables are not counted; a sample would make more rows look unique than are.
    """
    quasi = [guess.name for guess in guesses if guess.role is Role.QUASI_IDENTIFIER]
    if not 0 < frame.height <= _COUNTED or not quasi:
        return list(guesses), None
    hashes = {name: spread_cells(frame.get_column(name)) for name in quasi}
    total = np.zeros(frame.height, np.uint64)
    for own in hashes.values():
        total += own
    n_all = count_alone(total)
    counted = []
    for guess in guesses:
        column = frame.get_column(guess.name)
        together: int | None = n_all
        if column.dtype.is_nested():
            together = None
        elif guess.name not in hashes:
            together = count_alone(total + spread_cells(column))
        counted.append(replace(guess, together=together))
    return counted, n_all


def spread_cells(column: pl.Series) -> NDArray[np.uint64]:
    """Return hashes that add up without cancelling out, different for every column."""
    own = hash_cells(column) ^ np.uint64(_hash_of_name(column.name))
    own = own * np.uint64(0x9E37_79B9_7F4A_7C15)
    own ^= own >> np.uint64(31)
    return own * np.uint64(0xBF58_476D_1CE4_E5B9)


def _hash_of_name(name: str) -> int:
    """Return a number for the name of a column; two columns with equal cells differ."""
    import polars as pl

    return int(hash_cells(pl.Series([name]))[0])


def count_alone(keys: NDArray[np.uint64]) -> int:
    """Return how many rows have a key that no other row has."""
    return int(np.count_nonzero(np.unique(keys, return_counts=True)[1] == 1))


class _Columns:
    """The codes of the columns that are compared, made when they are needed."""

    def __init__(self, frame: pl.DataFrame, guesses: Sequence[Guess]) -> None:
        step = max(-(-frame.height // _LOOKED_AT), 1)
        self._frame = frame.gather_every(step)
        self._codes: dict[str, tuple[Codes, NDArray[np.bool_]]] = {}
        self._ranks: dict[str, NDArray[Any] | None] = {}
        self._known: dict[tuple[str, str], bool] = {}
        self.n_rows, self.n_looked = frame.height, self._frame.height
        self.n_values = {
            guess.name: int(self.codes(guess.name)[0].max(initial=-1)) + 1
            for guess in guesses
            if guess.role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE)
        }

    def codes(self, name: str) -> tuple[Codes, NDArray[np.bool_]]:
        if name not in self._codes:
            column = self._frame.get_column(name)
            present = column.is_not_null().to_numpy()
            self._codes[name] = renumbered(hash_cells(column)), present
        return self._codes[name]

    def tells(self, finer: Guess, other: Guess) -> bool:
        """Return whether the other follows from the finer one."""
        pair = finer.name, other.name
        if pair not in self._known:
            self._known[pair] = self._follows(*pair) or (
                {finer.topic, other.topic} <= {"age", "birth"} and self._rise(*pair)
            )
        return self._known[pair]

    def _follows(self, finer: str, other: str) -> bool:
        (of, there), (what, here) = self.codes(finer), self.codes(other)
        both = there & here
        if not both.any():
            return False
        if _contradicted(what[:_QUICK_LOOK], of[:_QUICK_LOOK], both[:_QUICK_LOOK]):
            return False
        if both.all():
            return follows(what, of)
        return follows(renumbered(what[both]), renumbered(of[both]))

    def _rise(self, first: str, second: str) -> bool:
        one, two = self._rank(first), self._rank(second)
        if one is None or two is None:
            return False
        both = ~(np.isnan(one) | np.isnan(two))
        return go_together(one[both], two[both])

    def _rank(self, name: str) -> NDArray[Any] | None:
        import polars as pl

        from shoal.profile.column_facts import facts_of

        if name not in self._ranks:
            column = self._frame.get_column(name)
            form = facts_of(column).date_form
            if form is not None:
                column = column.cast(pl.String).str.to_datetime(form, strict=False)
            ordered = column.dtype.is_numeric() or column.dtype.is_temporal()
            rank = column.to_physical().rank("average").cast(pl.Float64) if ordered else None
            self._ranks[name] = None if rank is None else rank.to_numpy()
        return self._ranks[name]


def _contradicted(what: Codes, of: Codes, both: NDArray[np.bool_]) -> bool:
    """Return at a glance whether many rows that share the second value differ in the first."""
    what, of = what[both], of[both]
    n_of = int(np.count_nonzero(np.bincount(of))) if len(of) else 0
    n_shared = len(of) - n_of
    if n_shared <= 50:
        return False
    pairs = np.unique(of * (int(what.max()) + 1) + what)
    return len(pairs) - n_of > 0.1 * n_shared
