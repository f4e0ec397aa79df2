"""Further rows in the cells of a release, once or twice, with and without people of several rows.

The first table is released, kept in memory or in a file, and rows that came later are applied to
it; who had to wait comes again. Promises are counted on the new table alone and on all of them as
one, in people where the truth has people.
"""

from __future__ import annotations

import json
import random
import warnings
from typing import TYPE_CHECKING, Any

from fuzz.bytes import Published, of_frame
from fuzz.checker import broken_promises, not_from_rows
from fuzz.frames import polars_frame
from fuzz.leaks import leaks
from fuzz.parts import BROKEN, HELD, LEAKED, REFUSED, Outcome, crashed, refuses_its_own
from fuzz.sequences import ALGORITHMS, HOMES, ILLS, as_options, promise
from fuzz.stories import Chapter
from fuzz.tables import Case, Column, token

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def run(seed: str, folder: Path) -> Outcome:
    """Release a table, apply what came later, and count."""
    rng = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _run(rng, folder)
        except Exception as error:
            return crashed(error)


def _run(rng: random.Random, folder: Path) -> Outcome:
    import shoal

    several = rng.random() < 0.5
    note = "people" if several else "rows"
    case = table_of(rng, rng.choice((2, 2, 3)), promise(rng), several=several)
    whose = {"person": "id"} if several else {"identifiers": ["id"], "rows_are_people": True}
    options = as_options(case) | whose | {"algorithm": rng.choice(ALGORITHMS), "threads": 1}
    try:
        release = shoal.anonymize(polars_frame(case), case.k, **options)
    except shoal.ShoalError as error:
        return _refused(case, str(error), note)
    out = [chapter_of(case, release.frame, several)]
    kept: Any = release
    for number in range(rng.choice((1, 1, 2))):
        if rng.random() < 0.4:
            path = folder / f"{number}.shoal"
            kept.save(path)
            kept = shoal.load_release(path)
        case = table_of(rng, case.k, case.privacy, several=several, again=_waiting(out))
        try:
            applied = shoal.apply(polars_frame(case), kept, threads=1)
        except shoal.ShoalError as error:
            return _refused(case, str(error), note)
        out.append(chapter_of(case, applied.frame, several))
        wrong = _wrong(case, out, applied)
        if wrong:
            return Outcome(BROKEN, wrong, note)
        said = json.dumps(applied.certificate(), ensure_ascii=False).encode()
        leaked = leaks(case, out[-1].published, [said], "the certificate")
        if leaked:
            return Outcome(LEAKED, leaked, note)
        kept = applied.kept
    return Outcome(HELD, note=note)


def _wrong(case: Case, out: list[Chapter], applied: Any) -> list[str]:
    new = out[-1]
    found = broken_promises(case, new.published, new.whose) + not_from_rows(case, new.published)
    found += [f"together: {each}" for each in broken_together(out)]
    marks = {*new.published.column("mark"), *of_frame(applied.waiting).column("mark")}
    counts = (len(new.published.rows), applied.n_waiting)
    if marks != set(case.columns[-1].cells) or sum(counts) != case.n_rows:
        found.append(f"{case.n_rows} rows became {counts}")
    if not applied.certificate()["together"]["holds"]:
        found.append("the certificate says that both together do not hold")
    return found


def broken_together(out: list[Chapter]) -> list[str]:
    """Check the promises of the first table on all tables as one."""
    first = out[0]
    columns = [first.published.names.index(name) for name in first.published.names]
    rows = []
    for chapter in out:
        places = [chapter.published.names.index(first.published.names[at]) for at in columns]
        rows += [tuple(row[place] for place in places) for row in chapter.published.rows]
    whose = [person for chapter in out for person in chapter.whose]
    return broken_promises(first.case, Published(first.published.names, rows), whose)


Row = tuple[Any, ...]


def table_of(
    rng: random.Random,
    k: int,
    privacy: list[dict[str, Any]],
    *,
    several: bool,
    again: Sequence[Row] = (),
) -> Case:
    """Return a table of people who were never here before, and of rows that come again."""
    n_rows = rng.randint(6, 24)
    people = [token(rng, 12) for _ in range(rng.randint(3, 14) if several else n_rows)]
    ids = [*people, *(rng.choice(people) for _ in range(n_rows - len(people)))]
    if several and rng.random() < 0.2:
        ids = [None if rng.random() < 0.1 else each for each in ids]
    few = rng.choice((ILLS, ILLS[:2], ILLS[:3]))
    habit = {each: rng.choice(few) for each in ids}
    rows: list[Row] = [
        (
            each,
            rng.choice((rng.randint(20, 40), rng.randint(20, 60), 30)),
            rng.choice(HOMES[:2]),
            habit[each] if rng.random() < 0.6 else rng.choice(few),
            token(rng, 9),
        )
        for each in ids
    ]
    ids, ages, homes, ills, marks = (list(cells) for cells in zip(*rows, *again, strict=True))
    columns = [
        Column("id", "identifier", "", "text", ids),
        Column("age", "quasi", "numeric", "i64", ages),
        Column("home", "quasi", "flat", "text", homes),
        Column("ill", "sensitive", "", "text", ills),
        Column("mark", "insensitive", "", "text", marks),
    ]
    return Case(rng.random().hex(), columns, k, privacy=privacy)


def _waiting(out: list[Chapter]) -> list[Row]:
    """Return the rows of people of the last batch of whom nothing is out yet."""
    if len(out) < 2:
        return []
    known = {person for chapter in out for person in chapter.whose}
    rows = zip(*(column.cells for column in out[-1].case.columns), strict=True)
    return [row for row in rows if row[0] is not None and not known & {row[0], row[-1]}]


def chapter_of(case: Case, frame: Any, several: bool) -> Chapter:
    """Return a published table with the truth: whose each row is, by its mark.

    Rows that nobody is named for count as one person of their table.
    """
    published = of_frame(frame)
    ids, *_, marks = (column.cells for column in case.columns)
    whose = (each or case.seed for each in ids) if several else marks
    own = dict(zip(marks, whose, strict=True))
    return Chapter(case, published, [own[mark] for mark in published.column("mark")])


def _refused(case: Case, message: str, note: str) -> Outcome:
    leaked = leaks(case, Published([], []), [message.encode()], "the message")
    if leaked:
        return Outcome(LEAKED, leaked, note)
    # new rows are another whole table: an old group may be too far from that
    far = "together" in message and any(model["name"] == "t-closeness" for model in case.privacy)
    own = refuses_its_own(message) and not far
    return Outcome(BROKEN if own else REFUSED, [message], note)
