"""The join attack: who knows a person's cells in the main table and some events joins all tables.

What is known are true rows, drawn from the original tables. The attacker reads every published
cell as what it stands for, looks for the people whose main row fits, and of these for the ones who
have different published rows that fit the known events and hang together as they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.messages import Message, plural
from shoal.options import whole
from shoal.publish.recode import with_coded
from shoal.release_reader.classes import open_classes, values_of
from shoal.study.audit.attack_context import Audit, Finding, fits_nobody, rate_of
from shoal.table.frames import to_polars
from shoal.table.items import codes_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.release_data import TablesData
    from shoal.release_reader.classes import Classes, People

LOWERED_BY = "k, knows_events"


@dataclass(eq=False)
class _Side:
    """The rows of all further tables on one side, as one list.

    Attributes:
        table: which table each row is of.
        row: which row of that table.
        up: the row (of this list) that it hangs from; −1 for the person.
        person: the row of the main table.
        of_person: rows of each person, from ``starts``.
        starts: where the rows of each person begin.
    """

    table: NDArray[np.int64]
    row: NDArray[np.int64]
    up: NDArray[np.int64]
    person: NDArray[np.int64]
    of_person: NDArray[np.int64]
    starts: NDArray[np.int64]

    def rows(self, person: int) -> NDArray[np.int64]:
        """Return the rows of a person."""
        return self.of_person[self.starts[person] : self.starts[person + 1]]


def attack_tables(
    release: TablesData[Any], originals: Mapping[str, Any], *, targets: int = 1000, seed: int = 0
) -> Audit:
    """Attack a release of several tables; see `shoal.release.tables.TablesRelease.audit`.

    Raises:
        DataError: the release was not made from these tables.
    """
    targets, seed = whole(1)("targets", targets), whole(0)("seed", seed)
    true = {each.name: to_polars(originals[each.name]) for each in release.terms}
    published = {name: to_polars(frame) for name, frame in release.frames.items()}
    classes, people = _read(release, true, published)
    ours, theirs = _join(release, true), _join(release, published)
    main = release.terms[0].name
    chance = np.random.default_rng([seed, 5])
    n = true[main].height
    chosen = np.arange(n)
    if targets < n:
        chosen = np.sort(chance.choice(chosen, targets, replace=False))
    known_main, of_main = people[main], classes[main]
    m = release.knows_events
    rare = _rarity(release, true, ours)
    names = [
        *((Message("join: {events}", events=_events(i)), i, False) for i in range(m + 1)),
        (Message("join: the rarest {events}", events=_events(m)), m, True),
    ]
    chances: dict[str, list[float]] = {name: [] for name, _, _ in names}
    nobody = 0
    for who in chosen.tolist():
        fits = np.logical_and.reduce(of_main.fitting(known_main, who, {}), axis=0)
        within = np.flatnonzero(fits[of_main.of_row])
        nobody += not len(within)
        events = ours.rows(who)
        mixed = chance.permutation(events)
        for name, number, rarest in names:
            known = mixed[:number]
            if rarest:
                known = events[np.argsort(rare[events], kind="stable")][:number]
            left = within
            if len(known):
                left = _who_fits(within, known, (ours, theirs), classes, people)
            # nobody fits: a row was left out, and only the group is known
            left = left if len(left) else within
            chances[name].append(1.0 / len(left) if len(left) else 0.0)
    findings = [_finding(name, values, n) for name, values in chances.items()]
    notes = [fits_nobody(nobody, len(chosen))] if nobody else []
    return Audit(findings, notes, n, published[main].height)


def _events(n: int) -> Message:
    return plural("{n} event", "{n} events", n)


def _finding(name: str, values: Sequence[float], n: int) -> Finding:
    rate = rate_of(sum(values), len(values), everybody=len(values) == n)
    worst = max(values)
    sentence = Message(
        "{name:capital}: of the people who fit, the right one is picked with a chance of "
        "{rate:.2%} on average, and at most {worst:.2%}.",
        name=name,
        rate=rate.rate,
        worst=worst,
    )
    return Finding(
        *rate,
        name=name,
        attack="linkage",
        sentence=sentence,
        lowered_by=LOWERED_BY,
        baseline=1 / n,
        worst=worst,
    )


def _read(
    release: TablesData[Any],
    true: Mapping[str, pl.DataFrame],
    published: Mapping[str, pl.DataFrame],
) -> tuple[dict[str, Classes], dict[str, People]]:
    """Return what the cells of each table stand for, and the true values in the same terms."""
    classes, people = {}, {}
    for name, each in release.releases.items():
        style = each.style
        assert style is not None
        frame, original = published.get(name), true.get(name)
        if frame is None or original is None:  # a column of sets: one row for each code
            table, _, column = name.partition(".")
            original = codes_of(true[table].get_column(column))[1]
            frame = codes_of(published[table].get_column(column))[1]
        classes[name] = open_classes(frame, each.schema, style)
        people[name] = values_of(with_coded(original, each.schema), classes[name])
    return classes, people


def _join(release: TablesData[Any], tables: Mapping[str, pl.DataFrame]) -> _Side:
    """Return the rows of all further tables, with what each hangs from; orphans are left out."""
    import polars as pl

    names = list(release.releases)
    own: dict[str, NDArray[np.int64]] = {}  # place in the list of each row of a table; −1 is none
    whose: dict[str, NDArray[np.int64]] = {}
    parts: list[tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
    offset = 0
    terms = {each.name: each for each in release.terms}
    for name, asked in terms.items():
        frame = tables[name]
        if asked.above is None:
            own[name] = np.full(frame.height, -1, np.int64)
            whose[name] = np.arange(frame.height, dtype=np.int64)
        else:
            above = terms[asked.above]
            assert above.key is not None
            assert asked.link is not None
            keys = tables[above.name].select(pl.col(above.key).alias("key")).with_row_index("up")
            place = (
                frame.select(pl.col(asked.link).alias("key"))
                .join(keys, on="key", how="left", maintain_order="left")
                .get_column("up")
                .cast(pl.Int64)
                .fill_null(-1)
                .to_numpy()
            )
            there = place >= 0
            whose[name] = np.where(there, whose[above.name][place], -1)
            there &= whose[name] >= 0
            rows = np.flatnonzero(there)
            own[name] = np.full(frame.height, -1, np.int64)
            own[name][rows] = offset + np.arange(len(rows))
            parts.append((names.index(name), rows, own[above.name][place[rows]], whose[name][rows]))
            offset += len(rows)
        for column in asked.items:
            above_row, codes = codes_of(frame.get_column(column))
            rows = np.flatnonzero(whose[name][above_row] >= 0)
            of_codes = names.index(f"{name}.{column}")
            parts.append((of_codes, rows, own[name][above_row[rows]], whose[name][above_row[rows]]))
            offset += len(rows)
            del codes
    empty = np.zeros(0, np.int64)
    table = np.concatenate([empty, *(np.full(len(rows), which) for which, rows, _, _ in parts)])
    row, up, person = (np.concatenate([empty, *(p[i] for p in parts)]) for i in (1, 2, 3))
    order = np.argsort(person, kind="stable")
    n_people = tables[release.terms[0].name].height
    starts = np.searchsorted(person[order], np.arange(n_people + 1))
    return _Side(table, row, up, person, order, starts)


def _rarity(
    release: TablesData[Any], true: Mapping[str, pl.DataFrame], side: _Side
) -> NDArray[np.int64]:
    """Return how many rows of the original are like each row in its own quasi-identifiers."""
    import polars as pl

    found = np.zeros(len(side.row), np.int64)
    for which, (name, each) in enumerate(release.releases.items()):
        here = side.table == which
        if not here.any():
            continue
        if name in true:
            frame = true[name].select(each.schema.quasi_identifiers)
        else:
            table, _, column = name.partition(".")
            frame = codes_of(true[table].get_column(column))[1]
        counts = frame.select(pl.len().over(frame.columns)).to_series().to_numpy()
        found[here] = counts[side.row[here]]
    return found


def _who_fits(
    within: NDArray[np.int64],
    known: NDArray[np.int64],
    sides: tuple[_Side, _Side],
    classes: Mapping[str, Classes],
    people: Mapping[str, People],
) -> NDArray[np.int64]:
    """Return which people have different rows that fit what is known, hanging together alike."""
    ours, theirs = sides
    names = list(classes)

    def fitting(mine: int) -> NDArray[np.bool_]:
        """Return which published rows fit a known one, with all rows that they hang from."""
        name = names[int(ours.table[mine])]
        each = classes[name].fitting(people[name], int(ours.row[mine]), {})
        full = np.logical_and.reduce(each, axis=0)[classes[name].of_row]
        found = np.zeros(len(theirs.table), np.bool_)
        here = np.flatnonzero(theirs.table == ours.table[mine])
        found[here] = full[theirs.row[here]]
        if ours.up[mine] >= 0:
            found[here] &= fitting(int(ours.up[mine]))[theirs.up[here]]
        return found

    def have(candidates: Sequence[list[int]], taken: tuple[int, ...]) -> bool:
        at = len(taken)
        if at == len(candidates):
            return True
        return any(
            other not in taken
            and all(
                _shared(ours, int(known[at]), int(known[i])) == _shared(theirs, other, taken[i])
                for i in range(at)
            )
            and have(candidates, (*taken, other))
            for other in candidates[at]
        )

    fits = [fitting(mine) for mine in known.tolist()]
    for each in fits:
        within = np.intersect1d(within, theirs.person[each])
    found = []
    for person in within.tolist():
        rows = theirs.rows(person)
        if have([rows[each[rows]].tolist() for each in fits], ()):
            found.append(person)
    return np.array(found, np.int64)


def _shared(side: _Side, a: int, b: int) -> int:
    """Return how many rows above two rows, themselves included, are the same."""

    def path(row: int) -> set[int]:
        rows = set()
        while row >= 0:
            rows.add(row)
            row = int(side.up[row])
        return rows

    return len(path(a) & path(b))
