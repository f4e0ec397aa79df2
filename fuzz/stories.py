"""What somebody has who keeps every table that was ever published: sets of people, and counting.

A *chapter* is one published table together with the truth, which only the simulation knows: whose
each row is. The attacker knows who is in which group of which table, and intersects. Nothing of
the package is imported here, and there is no array.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fuzz.checker import broken_promises, cleaned, groups_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fuzz.bytes import Published
    from fuzz.tables import Case

Story = tuple[int | None, ...]
"""The group of a person in each table; None where the person is not in it."""


@dataclass
class Chapter:
    """One published table.

    Attributes:
        case: what it was made from, and what it promises.
        published: what a reader finds.
        whose: the person of each published row.
    """

    case: Case
    published: Published
    whose: list[Any]

    def group_of_person(self) -> dict[Any, int]:
        """Return the group of each person; every person has one row."""
        groups = groups_of(self.case, self.published)
        return {self.whose[row]: number for number, rows in enumerate(groups) for row in rows}

    def value_of_person(self, column: str) -> dict[Any, Any]:
        """Return the value of each person as a reader takes it."""
        values = (
            cleaned(cell) if isinstance(cell, str) else cell
            for cell in self.published.column(column)
        )
        return dict(zip(self.whose, values, strict=True))


def stories_of(chapters: Sequence[Chapter]) -> dict[Any, Story]:
    """Return the story of everybody who is in any table."""
    places = [chapter.group_of_person() for chapter in chapters]
    everybody = {person for place in places for person in place}
    return {person: tuple(place.get(person) for place in places) for person in everybody}


def company(chapters: Sequence[Chapter]) -> dict[Any, int]:
    """Return for everybody how many people are in all groups of that person."""
    stories = stories_of(chapters)
    members: dict[tuple[int, int], set[Any]] = defaultdict(set)
    for person, story in stories.items():
        for at in _parts(story):
            members[at].add(person)
    return {
        person: len(set.intersection(*(members[at] for at in _parts(story))))
        for person, story in stories.items()
    }


def joined(chapters: Sequence[Chapter]) -> dict[Any, int]:
    """Return for everybody with how many others of the same past they came into a group, at least.

    Who has the tables before and after takes those away from a group whom the earlier ones show
    elsewhere; whoever is left must not be alone.
    """
    stories = stories_of(chapters)
    fewest = dict.fromkeys(stories, len(stories))
    for place in range(len(chapters)):
        parts: dict[Story, set[Any]] = defaultdict(set)
        for person, story in stories.items():
            if story[place] is not None:
                parts[story[: place + 1]].add(person)
        for part in parts.values():
            for person in part:
                fewest[person] = min(fewest[person], len(part))
    return fewest


def lasting_values(chapters: Sequence[Chapter], column: str) -> dict[Any, int]:
    """Return for everybody how many values that never changed the people of that story have."""
    had: dict[Any, set[Any]] = defaultdict(set)
    for chapter in chapters:
        for person, value in chapter.value_of_person(column).items():
            had[person].add(value)
    stories = stories_of(chapters)
    values: dict[Story, set[Any]] = defaultdict(set)
    for person, story in stories.items():
        values[story] |= had[person] if len(had[person]) == 1 else set()
    return {person: len(values[story]) for person, story in stories.items()}


def shared_values(chapters: Sequence[Chapter], column: str) -> dict[Any, int]:
    """Return for everybody how many values the groups of that person have in common."""
    shown: dict[tuple[int, int], set[Any]] = defaultdict(set)
    for place, chapter in enumerate(chapters):
        values = chapter.value_of_person(column)
        for person, group in chapter.group_of_person().items():
            shown[place, group].add(values[person])
    return {
        person: len(set.intersection(*(shown[at] for at in _parts(story))))
        for person, story in stories_of(chapters).items()
    }


def _parts(story: Story) -> list[tuple[int, int]]:
    return [(place, group) for place, group in enumerate(story) if group is not None]


def learned(chapters: Sequence[Chapter]) -> list[str]:
    """Say what somebody learns from all tables together that was promised to stay hidden.

    What a table promises, it promises to everybody who is in it, whatever comes later: k people
    in all groups, and the values of ℓ-diversity. A later table must keep what the earlier ones
    promise about each group, too.
    """
    stories = stories_of(chapters)
    k = {who: max(chapters[at].case.k for at, _ in _parts(told)) for who, told in stories.items()}
    found = _below(k, company(chapters), "people are in all groups of somebody")
    found += _below(k, joined(chapters), "people with one past came into a group")
    for column in chapters[0].case.named("sensitive"):
        least = {
            who: max(_values(chapters[at].case, column.name) for at, _ in _parts(told))
            for who, told in stories.items()
        }
        if any(least.values()):
            lasting, shared = (
                each(chapters, column.name) for each in (lasting_values, shared_values)
            )
            found += _below(least, lasting, f"values of {column.name} have people of one story")
            found += _below(least, shared, f"values of {column.name} do all groups show")
    for place, chapter in enumerate(chapters):
        for earlier in chapters[:place]:
            asked = replace(chapter.case, k=2, privacy=earlier.case.privacy)
            for problem in broken_promises(asked, chapter.published, chapter.whose):
                found.append(f"table {place + 1} undoes what was promised: {problem}")
    return list(dict.fromkeys(found))


def _values(case: Case, column: str) -> int:
    """Return how many values of a column a table promises to leave; 0 if it does not."""
    models = [m for m in case.privacy if m["name"] == "l-diversity"]
    numbers = [math.ceil(m["l"]) for m in models if m.get("column") in (None, column)]
    return max(numbers, default=0)


def _below(promised: dict[Any, int], counted: dict[Any, int], what: str) -> list[str]:
    short = {(counted[who], number) for who, number in promised.items() if counted[who] < number}
    return [f"{count} {what}, promised {number}" for count, number in sorted(short)[:1]]
