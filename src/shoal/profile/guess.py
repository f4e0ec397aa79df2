"""From one column to a guess: its role, its kind, its hierarchy, and why.

Hierarchies for a column whose kind is guessed are intervals, prefixes, dates or frequencies. Then
what columns say about one another: functions, a short list, and whom they single out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.errors import HierarchyError
from shoal.hierarchy import Taxonomy, canonical_label, frequency_hierarchy
from shoal.hierarchy.rules import HierarchyRule
from shoal.io.vocabulary import unglued, words_of
from shoal.messages import Message
from shoal.profile import column_facts as values
from shoal.profile.column_facts import Facts, facts_of
from shoal.profile.roles import QUASI_TOPICS, is_code, judge
from shoal.publish.danger import Codes, follows, go_together, renumbered
from shoal.publish.recode import hash_cells
from shoal.table.schema import Kind, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

# Which promise is proposed for sensitive columns: two different values in every group.

TWO_VALUES = (
    "Proposed: at least two different values in every group, so that none gives its value away.\n"
    "Raise l where more can be kept; without this promise a group may share one value."
)
"""What stands above such a promise in a job file."""


def other_values(frame: pl.DataFrame) -> dict[str, float]:
    """Return by column the share of the rows that have another than the most frequent value."""
    found = {}
    for column in frame.get_columns():
        if column.dtype.is_nested() or not frame.height:
            continue
        filled = column.drop_nulls()
        most = filled.value_counts().to_series(1).to_numpy().max(initial=0)
        found[column.name] = float(len(filled) - most) / frame.height
    return found


def can_be_promised(sensitive: Iterable[str], others: Mapping[str, float], k: int) -> list[str]:
    """Return the columns for which two values are proposed: groups need not be far beyond k.

    Where fewer than one row in 2 k has another value, each group would have to be larger than
    that, so that nothing is proposed; people are asked instead.
    """
    return [name for name in sensitive if others.get(name, 0.0) * 2 * k >= 1]


def promise_for(column: str) -> dict[str, Any]:
    """Return the promise as a job file has it."""
    return {"model": "l-diversity", "l": 2, "kind": "distinct", "column": column}


_LONG_TAIL = 12
"""A text column with more values than this is worth a hierarchy."""


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What a column probably is.

    Attributes:
        name: the column.
        role: what should happen to it.
        kind: how it would be generalised; used only if it is a quasi-identifier.
        order: the values of an ordinal column, from low to high.
        hierarchy: a hierarchy built from its values. It is in use if the kind is categorical;
            for numbers, dates and sensitive codes it is an alternative on offer.
        why: one sentence for the role; never a cell.
        how: one sentence for the kind and the hierarchy; never a cell.
        sure: whether names and values leave little doubt. If not, a person should decide.
        topic: what the column is about, if known.
        alone: how many rows have a value here that no other row has.
        n_values: how many different values there are.
        together: how many rows nobody shares if this column is known beside the quasi-identifiers;
            None if that was not counted.
    """

    name: str
    role: Role
    kind: Kind | None = None
    order: tuple[str, ...] | None = None
    hierarchy: Taxonomy | None = None
    rule: HierarchyRule | None = None
    """How the hierarchy grows, where no value has to be listed for it."""
    why: str = ""
    how: str = ""
    sure: bool = True
    topic: str | None = None
    alone: int = 0
    n_values: int = 0
    together: int | None = None

    @property
    def uses_hierarchy(self) -> bool:
        """Whether the run needs the hierarchy."""
        return self.role is Role.QUASI_IDENTIFIER and self.kind is Kind.CATEGORICAL


def guess_column(column: pl.Series, role: Role | None = None) -> Guess:
    """Return the guess for one column, or for one whose role a person has decided."""
    facts = facts_of(column)
    verdict = judge(facts)
    guessed, why, sure = verdict.role, verdict.why, verdict.sure
    if role is not None:
        why = why if role is guessed else Message("You said so")
        guessed, sure = role, True
    shown = Message("{why} ({values})", why=why, values=facts.sentence) if facts.n_filled else why
    plain = Guess(
        name=column.name,
        role=guessed,
        why=Message("{why}.", why=shown),
        sure=sure,
        topic=verdict.topic,
        alone=facts.alone,
        n_values=0 if column.dtype.is_nested() else facts.n_values,
    )
    if guessed not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE) or not facts.n_filled:
        return plain
    kind, order, (tree, rule), how = _guess_kind(facts)
    if guessed is Role.SENSITIVE and not (facts.is_icd or facts.is_atc):
        tree, rule = NOTHING  # published as it is; only codes are worth offering one
    return replace(plain, kind=kind, order=order, hierarchy=tree, rule=rule, how=how)


def _guess_kind(
    facts: Facts,
) -> tuple[Kind, tuple[str, ...] | None, Grown, str]:
    import polars as pl

    dtype = facts.column.dtype
    if dtype in (pl.Date, pl.Datetime):
        kind = Kind.DATE if dtype == pl.Date else Kind.DATETIME
        return kind, None, date_tree(facts.distinct), "Published as spans of time."
    if dtype.is_numeric() and facts.about("postcode") is None and not is_code(facts):
        return Kind.NUMERIC, None, interval_tree(facts.distinct), "Published as intervals."
    if facts.scale is not None:
        return (
            Kind.ORDINAL,
            facts.scale,
            NOTHING,
            "An ordered scale, published as ranges of steps.",
        )
    if isinstance(dtype, pl.Enum):
        return Kind.ORDINAL, tuple(dtype.categories), NOTHING, "Ordered by its data type."
    grown, how = _guess_tree(facts)
    if grown.tree is not None:
        return Kind.CATEGORICAL, None, grown, how
    return (
        Kind.FLAT,
        None,
        NOTHING,
        ('Kept or suppressed as a whole; a hierarchy, or kind = "set", would keep more.'),
    )


def _guess_tree(facts: Facts) -> tuple[Grown, str]:
    import polars as pl

    tree, how = NOTHING, ""
    if facts.column.dtype == pl.Boolean:
        pass
    elif facts.date_form is not None:
        tree = date_text_tree(facts.texts, facts.date_form)
        how = "Dates, published as month, year or decade."
    elif facts.is_icd:
        tree, how = code_tree(facts.texts, "icd10"), _LIKE_ICD
        if tree is NOTHING:
            tree, how = prefix_tree(facts.texts, keep=(3, 1)), "Codes, masked from the right."
    elif facts.is_atc:
        tree, how = code_tree(facts.texts, "atc"), _LIKE_ATC
    elif facts.is_country:
        tree, how = code_tree(facts.texts, "country"), _LIKE_COUNTRIES
    elif facts.about("postcode"):
        tree, how = prefix_tree(facts.distinct), "Codes, masked from the right."
    elif facts.n_values > _LONG_TAIL and facts.is_text and values.looks_like_code(facts.texts):
        tree, how = prefix_tree(facts.texts), "Codes, masked from the right."
    elif facts.n_values > _LONG_TAIL:
        tree = frequency_tree(facts.filled)
        how = "Many values, so put together by frequency; a hierarchy by meaning would be better."
    return tree, how


MOST_LEAVES = 5_000
"""A longer file helps nobody who has to read it."""


class Grown(NamedTuple):
    """A hierarchy, and the rule by which it grows; None where values have to be listed."""

    tree: Taxonomy | None
    rule: HierarchyRule | None


NOTHING = Grown(None, None)


def nice_width(low: float, high: float, parts: int = 16) -> float:
    """Return 1, 2 or 5 times a power of ten that cuts a range into about so many parts.

    >>> nice_width(17, 90), nice_width(0, 99_999), nice_width(36.1, 41.4)
    (5, 10000, 0.5)
    """
    share = (high - low) / parts
    if not (math.isfinite(share) and share > 0):
        return 1
    exponent = math.floor(math.log10(share))
    step = next(step for step in (1, 2, 5, 10) if step * 10.0**exponent >= share * 0.999)
    if step == 10:
        step, exponent = 1, exponent + 1
    return step * 10**exponent if exponent >= 0 else float(f"{step}e{exponent}")


def interval_tree(values: pl.Series) -> Grown:
    """Return nested intervals of a round width; None where there is nothing to nest."""
    low, high = values.min(), values.max()
    if low is None or high is None or len(values) > MOST_LEAVES:
        return NOTHING
    width = nice_width(float(low), float(high))  # type: ignore[arg-type]  # of a numeric column
    if values.dtype.is_integer():
        width = max(width, 2)
    # From text: 3 * 0.1 is not 0.3 in binary, and each width must divide the next.
    widths = [float(f"{times * width:.12g}") for times in (1, 2, 4)]
    plain = [int(each) if each.is_integer() else each for each in widths]
    return _grown(values, {"rule": "intervals", "widths": plain})


_LIKE_ICD = (
    "The values look like codes of ICD-10, and all of them are in one of its blocks: put together "
    "by category, block and chapter."
)
_LIKE_ATC = (
    "The values look like codes of ATC: put together by group of substances, up to the anatomical "
    "main group."
)
_LIKE_COUNTRIES = "The values are countries: put together by part of the world and continent."


def code_tree(values: pl.Series, name: str) -> Grown:
    """Return the tree of a classification, or nothing where a value is no code of it."""
    if len(values) > MOST_LEAVES:
        return NOTHING
    return _grown(values, {"rule": name})


def prefix_tree(values: pl.Series, keep: tuple[int, ...] | None = None) -> Grown:
    """Return codes masked from the right."""
    labels = [canonical_label(value) for value in values.to_list()]
    if not labels or len(labels) > MOST_LEAVES:
        return NOTHING
    length = max(map(len, labels))
    kept = [count for count in keep or range(length - 1, 0, -1) if count < length]
    if not kept:
        return NOTHING
    return _grown(values, {"rule": "prefix", "keep": kept, "length": length})


def date_tree(values: pl.Series) -> Grown:
    """Return day → month → year → decade."""
    if len(values) > MOST_LEAVES:
        return NOTHING
    return _grown(values, {"rule": "dates", "levels": ["month", "year", "decade"]})


def date_text_tree(values: pl.Series, form: str) -> Grown:
    """Return day → month → year → decade for dates that are written in another form than ISO."""
    if len(values) > MOST_LEAVES:
        return NOTHING
    return _grown(values, {"rule": "dates", "levels": ["month", "year", "decade"], "form": form})


def frequency_tree(column: pl.Series, fanout: int = 4) -> Grown:
    """Return parts of about equal frequency, frequent values first, ties by label."""
    import polars as pl

    counts = column.drop_nulls().cast(pl.String).value_counts(name="n rows")
    counts = counts.sort(["n rows", column.name], descending=[True, False])
    labels, rows = counts.get_column(column.name).to_list(), counts.get_column("n rows").to_list()
    if not 2 < len(labels) <= MOST_LEAVES:
        return NOTHING
    try:
        return Grown(frequency_hierarchy(labels, rows, fanout=fanout), None)
    except HierarchyError:
        return NOTHING


def _grown(values: pl.Series, given: dict[str, object]) -> Grown:
    """Return a rule and its tree, or nothing where the values do not allow one."""
    rule = HierarchyRule.of(given)
    try:
        return Grown(rule.build(values.to_list(), decimals=values.dtype.is_float()), rule)
    except HierarchyError:
        return NOTHING


MOST_QUASI = 20
"""More quasi-identifiers than this leave little detail in each of them.

Up to here a column that is kept loses less than one that is dropped, as
`python -m benchmarks.init.wide` shows.
"""
_LOOKED_AT = 20_000
_COUNTED = 1_000_000
_FEWEST = 100
"""In smaller tables columns go together by chance."""
_QUICK_LOOK = 2_000
_FEWEST_KEPT = 10
"""Fewer values than this do not stand for a column that has many."""
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
    twice = {*out}  # nothing is lost with these: there is no question to ask
    for private in _of_role(guesses, Role.SENSITIVE, out):
        plain = unglued(words_of(private.name))
        for other in _of_role(guesses, Role.SENSITIVE, out):
            if words_of(other.name) in plain and found.tells(other, private):
                why = Message(
                    "It follows from {name!r}, which is published as it is", name=other.name
                )
                out[private.name] = why
                twice.add(private.name)
    for private in _of_role(guesses, Role.SENSITIVE, out):
        _settle(found, private, _of_role(guesses, Role.QUASI_IDENTIFIER, out), out)
    return [
        _left_out(guess, out[guess.name], sure=guess.name in twice) if guess.name in out else guess
        for guess in guesses
    ]


def _of_role(guesses: Sequence[Guess], role: Role, out: dict[str, str]) -> list[Guess]:
    left = [guess for guess in guesses if guess.role is role and guess.name not in out]
    known = [guess for guess in left if guess.topic is not None]
    # So many unknown ones are left out of the short list anyway; comparing all pairs takes long.
    return left if role is Role.SENSITIVE or len(left) - len(known) <= 2 * MOST_QUASI else known


def _leave_out_finest(found: _Columns, quasi: list[Guess], out: dict[str, str]) -> None:
    """A column that singles out most rows goes, if a coarser one says the same."""
    fine = [guess for guess in quasi if found.alone(guess.name) > found.n_looked / 2]
    # A flag or a few classes keep too little of what they follow from.
    coarse = [g for g in quasi if g not in fine and found.n_values[g.name] >= _FEWEST_KEPT]
    for finer in fine:
        kept = next((other for other in coarse if found.tells(finer, other)), None)
        if kept is not None:
            why = Message(
                "{name!r} follows from it and is kept; this one singles out most rows",
                name=kept.name,
            )
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
            why = Message(
                "It follows from {name!r}, which is kept; both would count it twice",
                name=better.name,
            )
            out[worse.name] = why


def _settle(found: _Columns, private: Guess, quasi: list[Guess], out: dict[str, str]) -> None:
    """What is published exactly must not tell what is generalised: one of the two goes."""
    for other in quasi:
        gives_away = found.tells(private, other)
        if gives_away and other.topic not in _CORE:
            out[other.name] = Message(
                "It follows from {name!r}, which is published as it is", name=private.name
            )
        elif gives_away or found.tells(other, private):
            why = Message(
                "It goes together with {name!r} and would tell what is hidden there",
                name=other.name,
            )
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
    # A logarithm tells its number as well: it says the same, and nothing about a person.
    told = [each for each in others if found.tells(guess, each) and not found.tells(each, guess)]
    if len(told) < 2:
        return guess
    why = Message("Several other columns follow from it, as they do from the number of a person")
    return replace(_left_out(guess, why), role=Role.IDENTIFIER)


def _rather(first: Guess, second: Guess) -> bool:
    """Return whether the first of two that say the same is the better one.

    A number has order, and the wage is read more easily than its logarithm.
    """
    if words_of(first.name) in unglued(words_of(second.name)):
        return True
    return first.kind is Kind.NUMERIC and second.kind is not Kind.NUMERIC


def shorten(
    guesses: Sequence[Guess], first: Sequence[str] = ()
) -> tuple[list[Guess], tuple[str, ...]]:
    """Return the guesses with at most so many quasi-identifiers, and the unknown ones left out.

    Those that were recognised come first, in the order of what others know best. What is left of
    the list goes to those that were not recognised, fewest values first: they cost least. Whatever
    is left out is dropped and marked, so that a person decides.

    Args:
        guesses: a guess per column.
        first: columns that are kept before all others: they show that people have several rows.
    """
    quasi = [guess for guess in guesses if guess.role is Role.QUASI_IDENTIFIER]
    if len(quasi) <= MOST_QUASI:
        return list(guesses), ()
    order = {topic: place for place, topic in enumerate(QUASI_TOPICS)}
    quasi.sort(
        key=lambda guess: (
            guess.name not in first,
            guess.topic is None,
            order.get(guess.topic or "", len(order)),
            guess.n_values if guess.topic is None else 0,
        )
    )
    why = {
        guess.name: Message(
            "Left out, one of {n} columns that others may know: {why}",
            n=len(quasi),
            why=Message("not recognised, so nobody but you knows whether it matters")
            if guess.topic is None
            else Message("others know it less well than those that are kept"),
        )
        for guess in quasi[MOST_QUASI:]
    }
    unknown = tuple(g.name for g in guesses if g.name in why and g.topic is None)
    return [_left_out(g, why[g.name]) if g.name in why else g for g in guesses], unknown


def _left_out(guess: Guess, why: str, *, sure: bool = False) -> Guess:
    return replace(
        guess,
        role=Role.DROP,
        why=Message("{why}.", why=why),
        sure=sure,
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
    """The codes of the columns that are compared, made when they are needed.

    Where people have several rows, one row of each is looked at: in all of them whatever stays
    with a person would follow from whatever nobody shares, as the sex from the day of birth.
    """

    def __init__(self, frame: pl.DataFrame, guesses: Sequence[Guess]) -> None:
        person = [guess.name for guess in guesses if guess.role is Role.PERSON]
        if person:
            frame = frame.unique(person, keep="first", maintain_order=True)
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

    def alone(self, name: str) -> int:
        """Return how many rows have a value that no other row has."""
        return int(np.count_nonzero(np.bincount(self.codes(name)[0]) == 1))

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
