"""Signs that people have several rows although nobody has said so.

k counts rows unless a run is told whose they are. A column that numbers people and repeats, or
rows that are there twice, say that rows are not people; whoever makes the release should hear it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.io.vocabulary import says_only, topics_of
from shoal.messages import Message, joined, named_of
from shoal.profile.column_facts import share
from shoal.profile.guess import spread_cells
from shoal.publish.judgement import Doubt, OpenPoint
from shoal.publish.recode import hash_cells
from shoal.table.schema import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.profile.guess import Guess
    from shoal.settings.request import Request
    from shoal.table.schema import Schema


# Signs of a panel: people who were asked again every year, in a table without their ids.
#
# Nothing numbers the people, but their rows give them away: the same combination of columns that do
# not change (sex, schooling, year of birth) comes again and again, each time with the next year. If
# rows were people, rows that share such a combination would have years by chance: some the same,
# others far apart. So combinations are looked for whose rows have years in a row, each once, far
# more often than chance would have it.

FEWEST_ROWS = 60
_FEWEST_WAVES, _MOST_WAVES = 3, 60
_MOST_COLUMNS = 14
_MOST_ROWS = 5_000
"""Of larger tables so many rows are looked at: the first ones, and those of some values."""
_MOST_READ = 100_000
"""And none beyond these."""
_MOST_STEPS = 200
"""A number with more values than this does not grow with the years, as age does."""
_SHARE = 0.2
"""Share of the rows in such combinations beyond chance, from which it is a sign."""
_FEWEST_PEOPLE = 10
_ON = 0.5
"""Share of the rows whose next row goes on, from which it is a sign."""
_QUICK = 0.1
"""Share of the first rows whose next row takes the same step, below which none is looked for."""
_MOST_MISSED = 3
_STAYS = 0.95
_TIMES = 3.0
"""How many times what chance makes there must be."""

_Key = tuple[str, bool]
"""A column, and whether it is the year in which its number was 0 that stays."""
_Counted = tuple[float, int, int]
Hashes = np.ndarray[Any, np.dtype[np.uint64]]


class Waves(NamedTuple):
    """A sign of a panel.

    Attributes:
        running: the column that runs on from row to row of a person.
        constant: columns that stay.
        rows: how many rows are in combinations of these whose running column goes on in steps.
        combinations: how many such combinations there are.
    """

    running: str
    constant: tuple[str, ...]
    rows: int
    combinations: int


def find_waves(frame: pl.DataFrame) -> Waves | None:
    """Return the strongest sign that the table is a panel; None if there is none."""
    if frame.height < FEWEST_ROWS:
        return None
    frame = frame.head(_MOST_READ)
    running = {*_running(frame)}
    found = [
        _in_order(frame, name, ranked=name in running)
        or (_judge(frame, name) if name in running else None)
        for name in frame.columns
    ]
    signs = [each for each in found if each is not None]
    return max(signs, key=lambda each: each.rows, default=None)


def _running(frame: pl.DataFrame) -> Iterable[str]:
    """Return the columns that may count years, waves or visits: numbers or days in equal steps."""
    for column in frame.get_columns():
        if not (column.dtype.is_integer() or column.dtype.is_temporal()):
            continue
        values = column.drop_nulls().to_physical().unique().sort()
        if not _FEWEST_WAVES <= len(values) <= _MOST_WAVES:
            continue
        steps = np.diff(values.cast(float).to_numpy())
        if steps.max() <= 1.2 * steps.min():  # months and leap years are equal steps, too
            yield column.name


def _in_order(frame: pl.DataFrame, name: str, *, ranked: bool) -> Waves | None:
    """Return the sign that rows which follow one another give: some years on, all else the same.

    How often chance makes such steps is counted in rows that are dealt out anew.

    Args:
        frame: the table.
        name: the column that may go on.
        ranked: whether its values count as equal steps, and not by their size.
    """
    column = frame.get_column(name)
    if ranked:
        column = column.to_physical().rank("dense").fill_null(0)
    if not column.dtype.is_numeric() or column.null_count():
        return None
    cells = column.cast(float).to_numpy()
    rises, counts = np.unique(_steps(cells[:_MOST_ROWS]), return_counts=True)
    rises, counts = rises[rises > 0], counts[rises > 0]
    if not len(rises) or counts.max() < _QUICK * min(len(cells), _MOST_ROWS):
        return None
    step, steps = rises[counts.argmax()], _steps(cells)
    dealt = _steps(np.random.default_rng(0).permutation(cells))
    for missed in (0, _MOST_MISSED):  # who is not asked in some years comes again later
        going_on = (step * np.arange(1, missed + 2)).round(6)
        on, by_chance = np.isin(steps, going_on), np.isin(dealt, going_on).mean()
        found = _with_constants(frame, name, on, float(by_chance))
        if found is not None:
            return found
    return None


def _with_constants(
    frame: pl.DataFrame, name: str, on: NDArray[np.bool_], by_chance: float
) -> Waves | None:
    """Return the sign of a column that goes on where others stay; None if it is none.

    Args:
        frame: the table.
        name: the column.
        on: for every row but the last, whether the column goes on in the next one.
        by_chance: in which share of the rows it would if rows were people.
    """
    rows = int(np.count_nonzero(np.append(False, on) | np.append(on, False)))
    ends = np.count_nonzero(on & ~np.append(on[1:], False))
    few_each = ends >= _FEWEST_PEOPLE and rows <= MOST_ROWS_EACH * ends
    if on.mean() < max(_ON, _TIMES * by_chance) or not few_each or on.all():
        return None
    constant = []
    for column in frame.get_columns():
        if column.name != name:
            changes = np.diff(hash_cells(column).astype(np.int64)) != 0
            stays = changes[on].mean() < 1 - _STAYS
            constant += [column.name] if stays and changes[~on].mean() > 0.3 else []
    return Waves(name, tuple(constant), rows, int(ends)) if constant else None


def _steps(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.diff(cells).round(6)


def _judge(frame: pl.DataFrame, name: str) -> Waves | None:
    """Return the sign that one column gives, with the columns beside which it is strongest."""
    wave = frame.get_column(name).to_physical().rank("dense").fill_null(0).cast(int).to_numpy()
    columns = _columns(frame, name, wave)
    looks = [np.flatnonzero(wave > 0)]
    if len(looks[0]) > _MOST_ROWS:
        looks = _parts(columns, looks[0])
    for rows in looks:
        found = _strongest({each: cells[rows] for each, cells in columns.items()}, wave[rows] - 1)
        if found is not None:
            constant, inside, number = found
            names = dict.fromkeys(each for each, _ in constant)
            return Waves(name, tuple(names), inside, number)
    return None


def _columns(frame: pl.DataFrame, name: str, wave: NDArray[np.int64]) -> dict[_Key, Hashes]:
    """Return hashes of what may stay: columns, and numbers that would grow with the years.

    The hashes of several columns add up to one of their combination.
    """
    import polars as pl

    others = [each for each in frame.get_columns() if not each.dtype.is_nested()]
    sizes = {each.name: each.n_unique() for each in others if each.name != name}
    fewest = sorted((n, other) for other, n in sizes.items() if 1 < n < frame.height / 2)
    found: dict[_Key, Hashes] = {}
    for n_values, other in fewest[:_MOST_COLUMNS]:
        column = frame.get_column(other)
        found[other, False] = spread_cells(column)
        if column.dtype.is_integer() and n_values <= _MOST_STEPS:
            since = (column.cast(int) - pl.Series(wave)).alias(f"{other} since")
            found[other, True] = spread_cells(since)
    return found


def _parts(columns: dict[_Key, Hashes], rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the first rows, and all rows of some values of the columns that have most."""
    parts, some = [rows[:_MOST_ROWS]], np.uint64(-(-len(rows) // _MOST_ROWS))
    grown = sorted(columns, key=lambda each: each[1])[-3:]  # the last are those that grow
    parts += [rows[columns[each][rows] % some == 0][: 2 * _MOST_ROWS] for each in grown]
    return parts


def _strongest(
    columns: dict[_Key, Hashes], wave: NDArray[np.int64]
) -> tuple[tuple[_Key, ...], int, int] | None:
    """Return the columns beside which the waves run on most, the rows, and the combinations."""
    if len(wave) < FEWEST_ROWS or not columns:
        return None
    chances = _chances(np.bincount(wave) / len(wave))
    for name in [name for name, since in columns if since]:  # it stays, or grows: not both
        pair = sorted(
            ((name, each) for each in (False, True)), key=lambda e: _contrast(columns[e], wave)
        )
        columns = {each: cells for each, cells in columns.items() if each != pair[0]}
    chosen, total = tuple(columns), np.zeros(len(wave), np.uint64)
    for cells in columns.values():
        total = total + cells
    best = (_excess(total, wave, chances), chosen)
    while len(chosen) > 1:  # leave the column out that changes most from year to year
        out = max(chosen, key=lambda each: _contrast(total - columns[each], wave))
        total, chosen = total - columns[out], tuple(each for each in chosen if each != out)
        best = max(best, (_excess(total, wave, chances), chosen), key=lambda each: each[0])
    best = _with_more(best, columns, wave, chances)
    (excess, rows, number), constant = best
    if excess < _SHARE * len(wave) or rows < _TIMES * (rows - excess) or number < _FEWEST_PEOPLE:
        return None
    return constant, rows, number


def _contrast(keys: Hashes, wave: NDArray[np.int64]) -> float:
    """Return by how many deviations pairs of rows with one key share their wave too seldom."""
    n_waves = int(wave.max()) + 1
    shared = float(((np.bincount(wave) / len(wave)) ** 2).sum())
    own = np.unique(keys, return_inverse=True)[1]
    sizes = np.bincount(own).astype(float)
    both = np.bincount(np.unique(own * n_waves + wave, return_inverse=True)[1]).astype(float)
    pairs, same = ((each * (each - 1)).sum() for each in (sizes, both))
    return float((shared * pairs - same) / math.sqrt(max(pairs * shared * (1 - shared), 1.0)))


def _with_more(
    best: tuple[_Counted, tuple[_Key, ...]],
    columns: dict[_Key, Hashes],
    wave: NDArray[np.int64],
    chances: NDArray[np.float64],
) -> tuple[_Counted, tuple[_Key, ...]]:
    """Return the choice with columns that came to be left out too early."""
    while True:
        total = np.zeros(len(wave), np.uint64)
        for each in best[1]:
            total = total + columns[each]
        more = [each for each in columns if each not in best[1]]
        tried = [(_excess(total + columns[each], wave, chances), (*best[1], each)) for each in more]
        better = max(tried, key=lambda each: each[0], default=best)
        if better[0] <= best[0]:
            return best
        best = better


def _excess(keys: Hashes, wave: NDArray[np.int64], chances: NDArray[np.float64]) -> _Counted:
    """Return how many rows run on beyond chance, how many do, and in how many combinations."""
    import polars as pl

    each = pl.col("wave")
    found = (
        pl.DataFrame({"key": keys, "wave": wave})
        .group_by("key")
        .agg(
            pl.len().alias("n"), each.n_unique().alias("own"), (each.max() - each.min()).alias("d")
        )
        .filter(pl.col("n").is_between(_FEWEST_WAVES, len(chances) - 1))
    )
    sizes = found.get_column("n").to_numpy()
    on = ((found["own"] == found["n"]) & (found["d"] == found["n"] - 1)).to_numpy()
    rows = int(sizes[on].sum())
    return rows - float((sizes * chances[sizes]).sum()), rows, int(on.sum())


def _chances(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by n the chance that n rows have n waves in a row, each once."""
    chances = np.zeros(len(shares) + 1)
    for n in range(1, len(shares) + 1):
        runs = np.lib.stride_tricks.sliding_window_view(shares, n)
        chances[n] = math.factorial(n) * float(runs.prod(axis=1).sum())
    return chances


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
_YEAR, _DAY = r"(?:1[89]|20)[0-9]{2}", r"[0-3]?[0-9]"
_TIMES_OF = (
    rf"\b{_YEAR}[./-]{_DAY}[./-]{_DAY}\b|\b{_DAY}[./-]{_DAY}[./-]{_YEAR}\b"
    rf"|\b{_YEAR}\s?(?:-|\u2013|to|bis)\s?{_YEAR}\b"
)
"""A day, or from which year to which: a term of office is no person."""


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
    some = filled.head(_LOOKED_AT).unique()
    if values < FEWEST or (text and share(some.cast(pl.String), _TIMES_OF) >= _NEARLY):
        return None
    texts = [] if dtype.is_integer() else some.cast(pl.String).to_list()
    with_digits = sum(bool(_DIGIT.search(each)) for each in texts)
    numbered = dtype.is_integer() or with_digits > len(texts) / 2
    return Repeats(values, rows, numbered)


def _numbers_people(name: str, found: Repeats) -> bool:
    """Return whether a column that repeats numbers people, by its name and how often it does."""
    if found.unique or not found.numbered:
        return False
    if names_a_person(name):
        return found.rows <= MOST_ROWS_EACH * found.values
    return _is_key(name) and found.values >= _KEYS * found.rows


def propose_person(
    frame: pl.DataFrame, guesses: Sequence[Guess], waves: Waves | None = None
) -> list[Guess]:
    """Return the guesses; the id that repeats, if there is one, says whose row it is.

    Args:
        frame: the table.
        guesses: a guess per column.
        waves: the sign of a panel, if there is one: an id that stays in it numbers people.
    """
    found, stays = [], () if waves is None else waves.constant
    for guess in guesses:
        if guess.role is not Role.IDENTIFIER:
            continue
        counted = repeats_of(frame.get_column(guess.name))
        if counted is not None and (
            _numbers_people(guess.name, counted)
            or (guess.name in stays and counted.numbered and not counted.unique)
        ):
            found.append((not names_a_person(guess.name), counted.values, guess.name))
    if not found or any(guess.role is Role.PERSON for guess in guesses):
        return [*guesses]
    whose = min(found)[2]
    why = Message("It repeats: people have several rows, so k counts people.")
    return [
        replace(guess, role=Role.PERSON, why=joined(" ", [guess.why, why]))
        if guess.name == whose
        else guess
        for guess in guesses
    ]


def find_signs(frame: pl.DataFrame, schema: Schema, request: Request) -> list[Doubt]:
    """Return what can be said before a run: rows that are not people, columns that name them.

    Args:
        frame: the table, or its first rows; columns that were not read are not looked at.
        schema: the roles of its columns.
        request: what is asked.
    """
    from shoal.profile.roles import find_cells_in_names, find_slips

    repeats = [] if says_whose(request) else find_repeats(frame, schema, request.k)
    keys = [each.name for each in schema.columns if each.role is Role.QUASI_IDENTIFIER]
    slips = find_slips(frame, schema.exact)
    return [*repeats, *slips, *find_cells_in_names(frame, [*keys, *schema.exact])]


def find_repeats(frame: pl.DataFrame, schema: Schema, k: int) -> list[Doubt]:
    """Return a sentence if people seem to have several rows; never a cell.

    Args:
        frame: the table; columns that were not read are not looked at.
        schema: the roles of its columns.
        k: what is promised.
    """
    roles = {each.name: each.role for each in schema.columns if each.name in frame.columns}
    read = frame.select(name for name in frame.columns if name in schema.used)
    return _find_repeats(frame, roles, k, lambda: find_waves(read))


def find_repeats_among(
    frame: pl.DataFrame, guesses: Sequence[Guess], k: int, waves: Waves | None
) -> list[Doubt]:
    """Return a sentence if people seem to have several rows and no column says whose they are.

    Args:
        frame: the table.
        guesses: a guess per column.
        k: what is proposed.
        waves: the sign of a panel, if there is one.
    """
    roles = {guess.name: guess.role for guess in guesses}
    return [] if Role.PERSON in roles.values() else _find_repeats(frame, roles, k, lambda: waves)


def _find_repeats(
    frame: pl.DataFrame, roles: Mapping[str, Role], k: int, waves: Callable[[], Waves | None]
) -> list[Doubt]:
    """Return the sentence about the strongest sign, looking for a panel last: it takes longest."""
    found, own, people = [], False, False
    for name, role in roles.items():
        if role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
            continue
        counted = repeats_of(frame.get_column(name))
        if counted is None:
            continue
        named = names_a_person(name)
        own = own or (counted.unique and (named or role is Role.IDENTIFIER))
        people = people or (counted.unique and named)  # and not only the number of a row
        near = role is Role.IDENTIFIER and counted.values >= _NEARLY * counted.rows
        if _numbers_people(name, counted) and (named or role is Role.IDENTIFIER):
            found.append((not named, counted.values, counted.rows, name))
        elif near and not counted.unique:  # a name, or a number of something
            found.append((True, counted.values, counted.rows, name))
    if own:  # every row has an id of its own, so that names that repeat are namesakes
        found = [each for each in found if names_a_person(each[3])]
    if found:
        _, values, rows, name = min(found)
        sign = Message(
            "Column {name!r} has {values:,} different values in {rows:,} rows",
            name=name,
            values=values,
            rows=rows,
        )
        return [_several_rows(sign, k, name)]
    twice = _duplicates(frame)
    if twice:
        sign = Message(
            "{twice:,} of {height:,} rows are there more than once",
            twice=twice,
            height=frame.height,
        )
        return [_several_rows(sign, k)]
    return [] if people else _panel(waves(), k)


def _panel(found: Waves | None, k: int) -> list[Doubt]:
    """Return a sentence if a table looks like a panel without ids."""
    if found is None:
        return []
    sign = Message(
        "{running!r} runs on from row to row where {constant} stay the same, as in a panel",
        running=found.running,
        constant=named_of(found.constant, _MOST_NAMES),
    )
    return [_several_rows(sign, k)]


def _several_rows(sign: Message, k: int, name: str | None = None) -> Doubt:
    """Return the sentence about a sign that people have several rows."""
    short = Message(
        "{sign}: people seem to have several rows, so a group of {k:,} rows may be fewer than "
        "{k:,} people.",
        sign=sign,
        k=k,
    )
    if name is None:
        advice = Message(
            "Name the column that says whose row it is (person=..., --person), and where there is "
            "none, add one with a number for each person; or say rows_are_people=True "
            "(--rows-are-people) if every row is a different person."
        )
    else:
        advice = Message(
            "Say person={name!r} (--person) to count people, or rows_are_people=True "
            "(--rows-are-people) if every row is a different person.",
            name=name,
        )
    return Doubt(joined(" ", [short, advice]), OpenPoint("several rows", short, name))


def _is_key(name: str) -> bool:
    return {"key", "glued key"} & {*topics_of(name)} != set()


def _duplicates(frame: pl.DataFrame) -> int:
    """Return how many rows are there more than once, where that cannot be chance.

    Rows of different people are equal by chance where no column has many values. So one must, and
    equal pairs must be many more than if every column took its values by chance.
    """
    from shoal.publish.recode import RowHash

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
