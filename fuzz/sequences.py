"""Releases over time: people come, go and change; everything that is out is put side by side.

A small world is simulated, month by month. Each month is released beside the earlier ones, from
memory or from kept files, with other numbers now and then; sometimes further rows are applied in
between. What is published carries a mark in every row that tells the simulation, and nobody else,
whose it is. So what an attacker learns from all tables and certificates is counted in the truth.
"""

from __future__ import annotations

import json
import random
import re
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fuzz.bytes import of_frame
from fuzz.checker import broken_promises, not_from_rows
from fuzz.frames import polars_frame
from fuzz.leaks import leaks
from fuzz.parts import BROKEN, HELD, LEAKED, REFUSED, Outcome, crashed
from fuzz.stories import Chapter, company, lasting_values, learned
from fuzz.tables import Case, Column, token

ALGORITHMS = ("mondrian",) * 6 + ("hilbert", "k-member", "oka", "auto")
ILLS = ("flu", "gout", "asthma", "ulcer", "rash")
SPELLED = ("flu", "Flu ", "gout", "asthma", "ulcer")
HOMES = ("north", "south", "east")
GIVEN_UP = "A promise of a release that is out is given up"
OVER_ALL = re.compile(r"over (\d+) (?:releases|tables)")


@dataclass
class Person:
    """Somebody of the simulated world."""

    name: str
    age: int
    home: str
    ill: str
    here: bool = True


@dataclass
class World:
    """Everybody, and how they come, go and change."""

    rng: random.Random
    ills: tuple[str, ...]
    leave: float
    change: float
    people: list[Person] = field(default_factory=list)

    def come(self, number: int) -> list[Person]:
        """Let people come who have never been here."""
        rng = self.rng
        new = [
            Person(token(rng, 12), rng.randint(20, 60), rng.choice(HOMES), rng.choice(self.ills))
            for _ in range(number)
        ]
        self.people += new
        return new

    def pass_time(self) -> None:
        """Let people leave, come back and change."""
        for person in self.people:
            person.here = self.rng.random() >= (self.leave if person.here else 0.7)
            if self.rng.random() < self.change:
                person.ill = self.rng.choice(self.ills)
            person.age += self.rng.random() < 0.3

    def table(self, people: list[Person], k: int, privacy: list[dict[str, Any]]) -> Case:
        """Return the table of some people, with a mark in every row."""
        rng = self.rng
        rng.shuffle(people)
        columns = [
            Column("id", "identifier", "", "text", [person.name for person in people]),
            Column("age", "quasi", "numeric", "i64", [person.age for person in people]),
            Column("home", "quasi", "flat", "text", [person.home for person in people]),
            Column("ill", "sensitive", "", "text", [person.ill for person in people]),
            Column("mark", "insensitive", "", "text", [token(rng, 9) for _ in people]),
        ]
        return Case(rng.random().hex(), columns, k, privacy=privacy)


def run(seed: str, folder: Path) -> Outcome:
    """Release a small world a few times, and look at everything that is out."""
    rng = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _Sequence(rng, folder).run()
        except Exception as error:
            return crashed(error)


class _Sequence:
    """One simulation.

    Attributes:
        chapters: what was published, in order.
        kept: what the holder has of each: a release, or the name of its file.
        weaker: whether a later month may promise less than an earlier one.
        replaced: the file of the first release, if one with further rows takes its place.
    """

    def __init__(self, rng: random.Random, folder: Path) -> None:
        self.rng, self.folder = rng, folder
        ills = rng.choice((ILLS, ILLS[:3], SPELLED))
        self.world = World(rng, ills, rng.choice((0.05, 0.2, 0.4)), rng.choice((0.0, 0.0, 0.1)))
        self.world.come(rng.randint(6, 24))
        self.k = rng.choice((2, 2, 3, 4))
        self.privacy = promise(rng)
        self.weaker = False
        self.algorithm = rng.choice(ALGORITHMS)
        self.chapters: list[Chapter] = []
        self.kept: list[Any] = []
        self.replaced: Path | None = None
        self.refusals: list[str] = []

    def run(self) -> Outcome:
        """Let months pass."""
        months = self.rng.choice((2, 2, 2, 3, 3, 4))
        for month in range(months):
            if month:
                self.world.pass_time()
                self.world.come(self.rng.choice((0, 1, self.k, self.rng.randint(0, 12))))
                self._change_promises()
            problems = self._release(month)
            if problems is None and len(self.chapters) == 1 and self.rng.random() < 0.25:
                problems = self._apply()
            if problems is not None:
                return problems
        done = len(self.chapters)
        verdict = HELD if done > 1 else REFUSED
        return Outcome(verdict, self.refusals[:1], f"{done} tables in {months} months")

    def _change_promises(self) -> None:
        if self.rng.random() < 0.15:
            self.k, self.weaker = self.rng.choice((2, 3, 4)), True
        if self.rng.random() < 0.15:
            self.privacy, self.weaker = promise(self.rng), True

    def _release(self, month: int) -> Outcome | None:
        """Publish this month, if that can be; return what is wrong with it."""
        import shoal

        here = [person for person in self.world.people if person.here]
        if not here:
            return None
        case = self.world.table(here, self.k, self.privacy)
        given, lacking = self._given()
        weaken = self.weaker and self.rng.random() < 0.3
        try:
            release = shoal.anonymize(
                polars_frame(case), case.k, previous=given, weaken=weaken, **self._options(case)
            )
        except shoal.ShoalError as error:
            self.refusals.append(str(error))
            return _message(case, str(error))
        if lacking:
            return Outcome(BROKEN, ["a release that the given ones were made beside is not given"])
        chapter = _chapter(case, release.frame)
        self.chapters.append(chapter)
        certificate = release.certificate()
        wrong = broken_promises(case, chapter.published) + not_from_rows(case, chapter.published)
        wrong += overclaimed(self.chapters, certificate["promises"])
        given_up = [each for each in certificate["warnings"] if each.startswith(GIVEN_UP)]
        if given_up and not weaken:
            wrong.append(f"nobody said that this is given up: {given_up}")
        wrong += [] if given_up else learned(self.chapters)
        if wrong:
            return Outcome(BROKEN, [f"month {month + 1}: {each}" for each in wrong])
        said = json.dumps(certificate, ensure_ascii=False).encode()
        leaked = leaks(case, chapter.published, [said], "the certificate")
        if leaked:
            return Outcome(LEAKED, leaked)
        self.kept.append(self._keep(release, str(month)))
        return Outcome(HELD, note="given up and said so") if given_up else None

    def _apply(self) -> Outcome | None:
        """Publish people who are new in the cells of the first release; it is out with them."""
        import shoal

        case = self.world.table(self.world.come(self.rng.randint(2, 9)), self.k, self.privacy)
        first = self.chapters[0].case
        case = replace(case, k=first.k, privacy=first.privacy)
        try:
            old = self.kept[0]
            release = shoal.load_release(old) if isinstance(old, Path) else old
            applied = shoal.apply(polars_frame(case), release, threads=1)
        except shoal.ShoalError as error:
            self.refusals.append(str(error))
            return _message(case, str(error))
        self.chapters.append(_chapter(case, applied.frame))
        self.kept[0] = self._keep(applied.kept, "both")
        if isinstance(old, Path) and isinstance(self.kept[0], Path):
            self.replaced = old
        wrong = broken_promises(case, self.chapters[-1].published) + learned(self.chapters)
        return Outcome(BROKEN, [f"applied: {each}" for each in wrong]) if wrong else None

    def _options(self, case: Case) -> dict[str, Any]:
        return as_options(case) | {
            "person": "id",
            "algorithm": self.algorithm,
            "reserve": self.rng.choice((1.0, 1.0, 1.5)),
            "seed": self.rng.randrange(2**31),
            "threads": 1,
        }

    def _given(self) -> tuple[list[Any], bool]:
        """Return the earlier releases as they are given, and whether the chain has a hole."""
        given = list(self.kept)
        if self.replaced is not None and self.rng.random() < 0.3:
            return [self.replaced, *given[1:]], True  # what was applied lies beside it
        if len(given) < 2 or self.rng.random() > 0.05:
            return given, False
        given.pop(self.rng.randrange(len(given) - 1))  # the last one was made beside it
        return given, True

    def _keep(self, release: Any, name: str) -> Any:
        if self.rng.random() < 0.7:
            return release
        path = self.folder / f"{name}.shoal"
        release.save(path)
        return path


def as_options(case: Case) -> dict[str, Any]:
    """Return the roles and promises of a table of the world, as `shoal.anonymize` takes them."""
    models = [{"model" if k == "name" else k: v for k, v in m.items()} for m in case.privacy]
    return {
        "quasi_identifiers": ["age", "home"],
        "sensitive": ["ill"],
        "insensitive": ["mark"],
        "privacy": models,
    }


def promise(rng: random.Random) -> list[dict[str, Any]]:
    """Return what is promised beyond k, often nothing."""
    kind = rng.choice(("", "", "distinct", "distinct", "entropy", "frequency", "t", "alpha"))
    if kind == "":
        return []
    if kind == "t":
        return [{"name": "t-closeness", "t": rng.choice((0.4, 0.6)), "distance": "equal"}]
    if kind == "alpha":
        return [{"name": "alpha-k", "alpha": rng.choice((0.5, 0.8))}]
    number = rng.choice((2, 2, 3)) if kind == "distinct" else rng.choice((1.5, 2))
    return [{"name": "l-diversity", "l": number, "kind": kind}]


def _chapter(case: Case, frame: Any) -> Chapter:
    published = of_frame(frame)
    names, *_, marks = (column.cells for column in case.columns)
    person = dict(zip(marks, names, strict=True))
    return Chapter(case, published, [person[each] for each in published.column("mark")])


def _message(case: Case, message: str) -> Outcome | None:
    """A refusal is no place for a cell."""
    from fuzz.bytes import Published

    leaked = leaks(case, Published([], []), [message.encode()], "the message")
    return Outcome(LEAKED, leaked) if leaked else None


def overclaimed(chapters: list[Chapter], promises: list[dict[str, Any]]) -> list[str]:
    """Say which numbers of a certificate about all tables together are higher than the truth."""
    found = []
    for promise in promises:
        over = OVER_ALL.search(promise["name"])
        if over is None:
            continue
        if promise["name"].startswith("k-anonymity"):
            true = min(company(chapters).values())
        elif promise["name"].startswith("l-diversity"):
            true = min(lasting_values(chapters, "ill").values())
        else:
            continue
        if promise["holds"] and (promise["measured"] > true or promise["promised"] > true):
            found.append(f"the certificate says {promise}, counted {true}")
        if int(over[1]) != len(chapters):
            found.append(f"{promise['name']}, but {len(chapters)} are out")
    return found
