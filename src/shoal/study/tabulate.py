"""Tables of counts from which no small number can be worked out.

Counts below a minimum are hidden (primary suppression). What is hidden could be worked out from
totals and the other numbers, so further numbers are hidden (secondary suppression) until a reader
is left with at least as many possible numbers as the minimum says, for every hidden line. The
further lines are the corners of a box through the one to be protected (the hypercube method of
official statistics: Repsilber 1994; Giessing and Repsilber 2002): moving the same number of people
round the corners changes no total, so the reader cannot tell. Totals of a column may be corners,
too. The box that hides the fewest people is taken.

0 is shown: that nobody is there is no small number of people, but it does say something about the
others (docs/tabulate.md).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, OptionError, PromiseError, RoleError, refuse_unknown
from shoal.messages import Message
from shoal.study.count_bounds import (
    HIDDEN,
    CountBounds,
    Place,
    RoundingRule,
    too_narrow,
    with_totals,
)
from shoal.table.encode import encode_people
from shoal.table.frames import to_polars

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl
    from numpy.typing import NDArray

TOTAL, MISSING, COUNT, STAR = "Total", "(missing)", "count", "*"
MOST_COLUMNS, MOST_LINES = 4, 20_000


@dataclass(frozen=True, eq=False)
class CountTable:
    """A table of counts as it is published.

    Attributes:
        by: the columns that are counted by.
        levels: the values of each, in order, without the total.
        shown: the published numbers, an axis for each column, its total last; -1 where hidden.
        rule: how they are published.
        n_people: how many people were counted; None if rows were.
        n_in_several: how many of them are in several lines that are no totals.
    """

    by: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    shown: NDArray[np.int64]
    rule: RoundingRule
    n_people: int | None = None
    n_in_several: int = 0

    @property
    def n_hidden(self) -> int:
        """How many numbers are hidden."""
        return int(np.count_nonzero(self.shown == HIDDEN))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A line for each combination and each total; the count of a hidden one is null."""
        import polars as pl

        lines = list(product(*((*each, TOTAL) for each in self.levels)))
        columns = dict(zip(self.by, map(list, zip(*lines, strict=True)), strict=True))
        counts = pl.Series(COUNT, self.shown.ravel(), pl.Int64)
        return pl.DataFrame(columns).with_columns(counts.set(counts == HIDDEN, None))

    def to_csv(self) -> str:
        """Return the table as CSV; a hidden number is ``*``."""
        import polars as pl

        text = pl.col(COUNT).cast(pl.String).fill_null(STAR)
        return self.frame.with_columns(text).write_csv()

    def verify(self) -> None:
        """Check the published numbers again.

        Raises:
            PromiseError: a small number is shown, or can be worked out.
        """
        low = self.rule.minimum - self.rule.base // 2
        if np.any((self.shown > 0) & (self.shown < low)):
            raise PromiseError("The table of counts shows a number below its minimum.")
        narrow = too_narrow(self.shown, self.rule)
        if narrow:
            raise PromiseError(
                "{n} hidden numbers of the table of counts can be worked out to fewer than "
                "{minimum} possible numbers.",
                n=len(narrow),
                minimum=self.rule.minimum,
            )

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import shown, table

        rows = (("*" if each is None else each for each in row) for row in self.frame.iter_rows())
        return shown(table(self.frame.columns, map(tuple, rows)))


def tabulate(
    frame: Any,
    by: str | Iterable[str],
    *,
    minimum: int = 10,
    round_to: int = 1,
    person: str | None = None,
) -> CountTable:
    """Count rows or people by columns, and hide what would tell of fewer than the minimum.

    What holds: no number from 1 to below the minimum is shown, and whoever puts all numbers and
    totals of this table together is left with at least ``minimum`` possible numbers for every
    hidden one. It holds for this table alone: two tables about the same people can tell more
    together.

    Args:
        frame: pandas, polars or pyarrow; one row for each person, unless `person` is given.
        by: up to four columns.
        minimum: the smallest number that is shown, beside 0.
        round_to: numbers are rounded to multiples of it; 1 leaves them exact.
        person: the column that says whose row it is. Each person then counts once in a line; a
            total is the sum of its lines, so it counts those who are in several of them in each,
            and is hidden, too, if it is about fewer people than the minimum.

    Raises:
        OptionError: an option is wrong, or the table would be too large.
        RoleError: there is no such column.
        DataError: a value is called like a total.
    """
    rule = count_rule(minimum, round_to)
    columns = (by,) if isinstance(by, str) else tuple(by)
    levels, codes, whose = _read(to_polars(frame), columns, person)
    sizes = tuple(map(len, levels))
    places = np.ravel_multi_index(codes, sizes)
    if whose is None:
        counts = people = with_totals(
            np.bincount(places, minlength=math.prod(sizes)).reshape(sizes)
        )
        told = {}
    else:
        places, whose = np.unique([places, whose], axis=1)
        counts = with_totals(np.bincount(places, minlength=math.prod(sizes)).reshape(sizes))
        people = _people(np.unravel_index(places, sizes), whose, sizes)
        lines_each = np.unique(whose, return_counts=True)[1]
        told = {"n_people": len(lines_each), "n_in_several": int(np.sum(lines_each > 1))}
    hidden = (people > 0) & (people < rule.minimum)
    waiting = sorted(_places(hidden), key=lambda place: int(counts[place]))
    bounds: CountBounds | None = None
    for place in waiting:  # grows while it is walked through
        if bounds is None:
            bounds = CountBounds(_publish(counts, hidden, rule), rule)
        if bounds.leaves_enough(place):
            continue  # and more hidden numbers can only leave more open
        further = [each for each in _cheapest_box(counts, hidden, place, rule) if not hidden[each]]
        for each in further:
            hidden[each] = True
        waiting += further
        bounds = None
    return CountTable(columns, levels, _publish(counts, hidden, rule), rule, **told)


def _people(
    codes: Sequence[NDArray[np.intp]], whose: NDArray[np.int64], sizes: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return how many different people each line and each total is about."""
    shape = tuple(size + 1 for size in sizes)
    found = np.zeros(math.prod(shape), np.int64)
    for summed in product((False, True), repeat=len(sizes)):
        own = [
            np.full(len(whose), size) if all_of_it else each
            for each, size, all_of_it in zip(codes, sizes, summed, strict=True)
        ]
        lines = np.unique([np.ravel_multi_index(own, shape), whose], axis=1)[0]
        found += np.bincount(lines, minlength=len(found))
    return found.reshape(shape)


def read_counts(frame: pl.DataFrame, by: Sequence[str], rule: RoundingRule) -> CountTable:
    """Return a table of counts as anybody reads it, from its lines in any order.

    Raises:
        DataError: it is no such table.
    """
    import polars as pl

    names = [*by, COUNT]
    if sorted(frame.columns) != sorted(names):
        raise DataError("A table of counts by these columns has the columns {names}.", names=names)
    lines = frame.select(pl.col(names).cast(pl.String))
    levels, places = [], []
    for name in by:
        values = [each for each in lines[name].unique(maintain_order=True) if each != TOTAL]
        number = {each: at for at, each in enumerate((*values, TOTAL))}
        places.append([number[each] for each in lines[name]])
        levels.append(tuple(values))
    shown = np.full([len(each) + 1 for each in levels], HIDDEN - 1, np.int64)
    for *place, count in zip(*places, lines[COUNT], strict=True):
        if count not in (STAR, None) and not count.isdecimal():
            raise DataError("A count is neither a whole number nor {star!r}.", star=STAR)
        shown[tuple(place)] = HIDDEN if count in (STAR, None) else int(count)
    if frame.height != shown.size or np.any(shown < HIDDEN):
        raise DataError("The table of counts does not have one line for each combination.")
    return CountTable(tuple(by), tuple(levels), shown, rule)


def parse_counts(csv: str, by: Sequence[str], rule: RoundingRule) -> CountTable:
    """Return the table of counts that `CountTable.to_csv` has written."""
    import polars as pl

    return read_counts(pl.read_csv(csv.encode(), infer_schema=False), by, rule)


def count_rule(minimum: int, round_to: int) -> RoundingRule:
    """Return how numbers are published, if the options are whole numbers in range."""
    for name, given, least in (("minimum", minimum, 2), ("round_to", round_to, 1)):
        if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
            raise OptionError(
                "{name} must be a whole number of at least {least}, got {given!r}.",
                name=name,
                least=least,
                given=given,
            )
    return RoundingRule(int(minimum), int(round_to))


def _read(
    frame: pl.DataFrame, by: tuple[str, ...], person: str | None
) -> tuple[tuple[tuple[str, ...], ...], list[NDArray[np.int64]], NDArray[np.int64] | None]:
    """Return the values of columns in order, those of each row as numbers, and whose it is."""
    import polars as pl

    if not 1 <= len(by) <= MOST_COLUMNS or len(set(by)) < len(by):
        raise OptionError(
            "A table of counts is by one to {most} different columns, as in --by ward,sex.",
            most=MOST_COLUMNS,
        )
    missing = Message("The table has no column {name!r}.{hint}")
    refuse_unknown([*by, *([] if person is None else [person])], frame.columns, RoleError, missing)
    if COUNT in by:
        raise OptionError("A column called {name!r} is made; rename yours.", name=COUNT)
    if not frame.height:
        raise DataError("The table has no rows.")
    texts = frame.select(
        pl.col(name).cast(pl.String).replace("", None).fill_null(MISSING) for name in by
    )
    levels, codes = [], []
    for name in by:
        values = sorted(texts[name].unique(), key=_by_numbers)
        if TOTAL in values:
            raise DataError(
                "Column {name!r} has a value that is called {total!r}: leave totals out of the "
                "table that is counted.",
                name=name,
                total=TOTAL,
            )
        levels.append(tuple(values))
        codes.append(texts[name].replace_strict(values, range(len(values))).to_numpy())
    if math.prod(len(each) + 1 for each in levels) > MOST_LINES:
        raise OptionError(
            "The table of counts would have more than {most} lines; count by fewer columns or by "
            "coarser ones.",
            most=MOST_LINES,
        )
    if person is None:
        return tuple(levels), codes, None
    whose = encode_people(frame.get_column(person))
    return (
        tuple(levels),
        codes,
        np.arange(frame.height) if whose is None else whose.astype(np.int64),
    )


def _by_numbers(text: str) -> list[tuple[bool, int, str]]:
    """Return a key that puts 9 before 10, and what has no value last."""
    parts = re.split(r"(\d+)", text[:200])
    last = text == MISSING
    return [(last, int(part) if part.isdecimal() else -1, part) for part in parts]


def _publish(
    counts: NDArray[np.int64], hidden: NDArray[np.bool_], rule: RoundingRule
) -> NDArray[np.int64]:
    return np.where(hidden, HIDDEN, rule.shown(counts))


def _places(where: NDArray[np.bool_]) -> list[Place]:
    return [tuple(int(at) for at in place) for place in np.argwhere(where)]


def _cheapest_box(
    counts: NDArray[np.int64], hidden: NDArray[np.bool_], place: Place, rule: RoundingRule
) -> list[Place]:
    """Return the corners of the box through a line that hides the fewest further people.

    A box has two values of each column, or a value and the total. Moving people round its corners
    adds at some and takes away at the others; two values have opposite signs, a value and its
    total have the same. There is always one: with totals only, nothing is taken away.
    """
    n_axes, totals = counts.ndim, [size - 1 for size in counts.shape]
    partners = [
        [at for at in range(n) if at != own] for n, own in zip(counts.shape, place, strict=True)
    ]
    grid = [len(each) for each in partners]
    cost = np.zeros(grid)
    least = {True: np.full(grid, np.inf), False: np.full(grid, np.inf)}
    same_sign = [
        np.array([total in (own, other) for other in each])
        for each, own, total in zip(partners, place, totals, strict=True)
    ]
    for corner in product((False, True), repeat=n_axes):
        index, shape_of, sign = [], [1] * n_axes, np.ones([1] * n_axes, np.bool_)
        for axis, moved in enumerate(corner):
            index.append(partners[axis] if moved else [place[axis]])
            shape_of[axis] = len(index[-1])
            if moved:
                along = [1] * n_axes
                along[axis] = -1
                sign = sign == same_sign[axis].reshape(along)
        at = np.ix_(*index)
        number = counts[at].astype(float)
        cost = cost + np.where(hidden[at], 0.0, number) + np.where(number > 0, 0.0, np.inf)
        for adds in (True, False):
            least[adds] = np.minimum(least[adds], np.where(sign == adds, number, np.inf))
    possible = (least[True] - 1) + (least[False] - 1) + 1
    cost[possible < rule.minimum] = np.inf
    best = np.unravel_index(int(np.argmin(cost)), grid)
    chosen = [partners[axis][int(at)] for axis, at in enumerate(best)]
    return list(product(*zip(place, chosen, strict=True)))
