"""Checks the guarantee over several releases, and what earlier ones promised, by counting alone.

It knows nothing of how a release was made: it takes the private halves of the earlier ones and
the published rows of the new one.

A promise that is out must hold over all releases. Whoever has all of them may know which rows
belong to the people with one story: in the same groups of the same releases, and missing from the
same others. So promises about values are judged for such people as for a group, in every table.
l-diversity also counts what is left of their values when all tables are put side by side: those of
people whose value never changed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.archive.kept import digests_of, number_classes, number_people
from shoal.errors import OptionError
from shoal.hierarchy import canonical_label
from shoal.messages import Message, plural
from shoal.privacy.l_diversity import LDiversity
from shoal.publish.cells import columns_needed
from shoal.publish.verification_terms import promises_of
from shoal.publish.verify import BESIDE, Check, verify_table
from shoal.table.sensitive import person_would_say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.archive.release_file import Digests, KeptPeople, KeptRelease
    from shoal.privacy import PrivacyModel
    from shoal.publish.release_data import PublishedTable
    from shoal.settings.request import Request
    from shoal.table.schema import Schema

# Who was in which group of which release: the stories of people, side by side.
#
# Only the holder of the data can put stories together: it takes the private half of every release.

ABSENT = -1
CHANGED = -2


@dataclass(frozen=True, eq=False)
class Stories:
    """The stories of everybody who is in a release or in the present table.

    Attributes:
        groups: group of each person (first axis) in each release (second axis); -1 if absent.
        values: by sensitive column, the person's value in each release; -1 if absent.
        row: row of the present table of each person; -1 if absent.
    """

    groups: NDArray[np.int64]
    values: dict[str, NDArray[np.int64]]
    row: NDArray[np.int64]

    def atoms(self) -> NDArray[np.int64]:
        """Return a number for each person, equal for those with the same story so far."""
        import polars as pl

        if not self.groups.shape[1]:
            return np.zeros(len(self.row), np.int64)
        table = pl.DataFrame(
            {str(number): column for number, column in enumerate(self.groups.T)},
            schema=dict.fromkeys(map(str, range(self.groups.shape[1])), pl.Int64),
        )
        numbered = table.unique(maintain_order=True).with_row_index("atom")
        joined = table.join(numbered, on=table.columns, how="left", maintain_order="left")
        return joined.get_column("atom").to_numpy().astype(np.int64)

    def lasting(self, name: str) -> NDArray[np.int64]:
        """Return the value that each person has in all its releases; -2 if it changed."""
        values = self.values[name]
        if not values.shape[1]:
            return np.full(len(values), ABSENT, np.int64)
        highest = values.max(axis=1)
        lowest = np.where(values == ABSENT, np.iinfo(np.int64).max, values).min(axis=1)
        return np.where(highest == ABSENT, ABSENT, np.where(lowest == highest, highest, CHANGED))


def needed_values(privacy: Sequence[PrivacyModel], schema: Schema) -> dict[str, int]:
    """Return how many values must be left of each sensitive column, as ℓ-diversity promises."""
    needed: dict[str, int] = {}
    for model in privacy:
        if isinstance(model, LDiversity):
            for name in schema.sensitive:
                if model.column in (None, name):
                    needed[name] = max(needed.get(name, 0), math.ceil(model.l - 1e-9))
    return needed


def check_chain(previous: Sequence[KeptRelease]) -> tuple[KeptPeople, ...]:
    """Return the people of earlier releases, which must be all of one chain.

    Raises:
        OptionError: one lacks its private half, or a release of the chain is not given.
    """
    found: list[KeptPeople] = []
    for number, kept in enumerate(previous, start=1):
        if kept.people is None:
            raise OptionError(
                "Release {number} of those given as previous does not say who its people are; "
                "it must have been made with person=... (--person), and its private file "
                "(.shoal.people) must lie beside it.",
                number=number,
            )
        if not kept.people.alone:
            raise OptionError(
                "Release {number} of those given as previous has people with several rows, or "
                "rows without a person; releases beside others need one row for each person.",
                number=number,
            )
        found.append(kept.people)
    if len({people.key for people in found}) > 1:
        raise OptionError(
            "The releases given as previous do not belong together: each but the first must have "
            "been made with those before it as previous."
        )
    marks = [mark for people in found for mark in people.marks]
    known = set(marks)
    if len(known) < len(marks):
        raise OptionError(
            "A release is given twice as previous, by itself or as part of one that was saved with "
            "further rows; give each once."
        )
    missing = {each for people in found for each in people.beside} - known
    if missing:
        raise OptionError(
            plural(
                "{n} earlier release that the given ones were made beside must be given as "
                "previous, too.",
                "{n} earlier releases that the given ones were made beside must be given as "
                "previous, too.",
                len(missing),
            )
        )
    return tuple(found)


def tell_stories(
    previous: Sequence[KeptRelease],
    names: Sequence[str],
    present: Digests,
    values: Mapping[str, pl.Series],
) -> tuple[Stories, dict[str, NDArray[np.int64]]]:
    """Put the stories of everybody together.

    Args:
        previous: the earlier releases.
        names: sensitive columns that count.
        present: keyed hash of each row's person in the present table.
        values: these columns of the present table.

    Returns:
        The stories, and the numbers of the present values of each column by row.

    Raises:
        OptionError: an earlier release lacks a sensitive column.
    """
    people = [kept.people for kept in previous if kept.people is not None]
    everybody = np.concatenate([each.digests for each in people] + [present])
    number, n_people = number_people(everybody)
    starts = np.cumsum([0, *(len(each.digests) for each in people)])
    groups = np.full((n_people, len(people)), ABSENT, np.int64)
    for place, each in enumerate(people):
        groups[number[starts[place] : starts[place + 1]], place] = each.place
    row = np.full(n_people, ABSENT, np.int64)
    row[number[starts[-1] :]] = np.arange(len(present))
    told: dict[str, NDArray[np.int64]] = {}
    now: dict[str, NDArray[np.int64]] = {}
    for name in names:
        known: dict[tuple[str, ...], int] = {}
        told[name] = np.full((n_people, len(people)), ABSENT, np.int64)
        for place, (kept, each) in enumerate(zip(previous, people, strict=True)):
            if name not in kept.sensitive:
                raise OptionError(
                    "Column {name!r} is sensitive now and was not in release {place} of those "
                    "given as previous; give it the same role.",
                    name=name,
                    place=place + 1,
                )
            codes = _said(kept.sensitive[name].values, known)[each.values[name]]
            told[name][number[starts[place] : starts[place + 1]], place] = codes
        now[name] = number_values(values[name], known)
    return Stories(groups, told, row), now


def number_values(values: pl.Series, known: dict[tuple[str, ...], int]) -> NDArray[np.int64]:
    """Return a number for each row, equal where a person would call the values equal.

    Args:
        values: values of a sensitive column, one for each row.
        known: the numbers given so far; values that are new get the next ones.
    """
    rows = values.to_frame("value")
    distinct = rows.unique().with_row_index("code")
    joined = rows.join(distinct, on="value", how="left", nulls_equal=True, maintain_order="left")
    of_code = _said(distinct.get_column("value"), known)
    numbers: NDArray[np.int64] = of_code[joined.get_column("code").to_numpy()]
    return numbers


def _said(values: pl.Series, known: dict[tuple[str, ...], int]) -> NDArray[np.int64]:
    """Return a number for each value, equal for those that a person would call equal."""
    import polars as pl

    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        values = values.cast(pl.String)
    said: list[Any] = [
        () if each is None else person_would_say(canonical_label(each)) for each in values.to_list()
    ]
    return np.array([known.setdefault(each, len(known)) for each in said], np.int64)


def checks_over_all(
    previous: Sequence[KeptRelease],
    published: PublishedTable,
    schema: Schema,
    k: int,
    needed: dict[str, int],
) -> tuple[Check, ...]:
    """Return what holds over all releases together, the new one included."""
    stories, _ = stories_with(previous, published, schema, tuple(needed))
    n_releases = sum(kept.people.n_tables for kept in previous if kept.people is not None) + 1
    fewest = fewest_people(stories.groups)
    checks = [
        Check(
            name=Message("k-anonymity over {n} releases", n=n_releases),
            promised=k,
            measured=fewest,
            holds=fewest >= k,
            sentence=Message(
                "Holds: every person shares all groups, over {n_releases} releases, with at least "
                "{others}.",
                n_releases=n_releases,
                others=plural("{n:,} other", "{n:,} others", k - 1),
            )
            if fewest >= k
            else Message(
                "Broken: the groups of a person over {n_releases} releases have {people} in "
                "common and not {k:,}.",
                n_releases=n_releases,
                people=plural("{n:,} person", "{n:,} persons", fewest),
                k=k,
            ),
            judged_by=BESIDE,
        )
    ]
    for name, least in needed.items():
        found = fewest_values(stories, name)
        checks.append(
            Check(
                name=Message(
                    "{promise} of {column!r} over {n:,} releases",
                    promise="l-diversity",
                    column=name,
                    n=n_releases,
                ),
                promised=least,
                measured=found,
                holds=found >= least,
                sentence=_left_with(name, n_releases, least, found),
                judged_by=BESIDE,
            )
        )
    return tuple(checks)


def _left_with(name: str, n_releases: int, least: int, found: int) -> Message:
    values = plural("{n:,} value", "{n:,} values", least)
    if found >= least:
        return Message(
            "Holds: whoever has all {n_releases} releases is left with at least {values} of "
            "{name!r} for everybody.",
            n_releases=n_releases,
            values=values,
            name=name,
        )
    return Message(
        "Broken: whoever has all {n_releases} releases is left with at least {values} of {name!r} "
        "for everybody, but for somebody there are {found:,}.",
        n_releases=n_releases,
        values=values,
        name=name,
        found=found,
    )


def stories_with(
    previous: Sequence[KeptRelease],
    published: PublishedTable,
    schema: Schema,
    names: tuple[str, ...],
) -> tuple[Stories, Stories]:
    """Return the stories of everybody with the new release as their last chapter, and without.

    Args:
        previous: the earlier releases.
        published: the new one.
        schema: what its columns are.
        names: sensitive columns that count.
    """
    assert published.ids is not None
    people = [kept.people for kept in previous if kept.people is not None]
    digests = digests_of(published.ids, people[0].key if people else bytes(32))
    values = {name: published.frame.get_column(name) for name in names}
    before, now = tell_stories(previous, names, digests, values)
    keys = columns_needed(published.frame.columns, schema.quasi_identifiers)
    _, group, _ = number_classes(published.frame.select(keys))
    return _with_new(before, group, now), before


def few_missing(before: Stories, k: int) -> tuple[int, int]:
    """Return how many stories go on with all but fewer than k people, and how many these are.

    Whoever knows who is missing finds their earlier rows among those that are missing.

    Args:
        before: the stories up to the new release; `row` says who is published in it.
        k: how many would be enough.
    """
    told = (before.groups >= 0).any(axis=1)
    atoms = before.atoms()[told]
    there = before.row[told] >= 0
    stay = np.bincount(atoms[there], minlength=int(atoms.max(initial=0)) + 1)
    gone = np.bincount(atoms[~there], minlength=len(stay))
    few = (stay > 0) & (gone > 0) & (gone < k)
    return int(few.sum()), int(gone[few].sum())


def _with_new(
    stories: Stories, group: NDArray[np.int64], now: dict[str, NDArray[np.int64]]
) -> Stories:
    """Return the stories with the new release as their last chapter."""
    there = stories.row >= 0

    def chapter(of_row: NDArray[np.int64]) -> NDArray[np.int64]:
        column = np.full(len(stories.row), -1, np.int64)
        column[there] = of_row[stories.row[there]]
        return column[:, None]

    return Stories(
        np.hstack([stories.groups, chapter(group)]),
        {name: np.hstack([old, chapter(now[name])]) for name, old in stories.values.items()},
        stories.row,
    )


def fewest_people(groups: NDArray[np.int64]) -> int:
    """Return how many people the groups of a person have in common, at least.

    Everybody counts who is in all groups of the person, wherever else they may be.
    """
    import polars as pl

    there = groups >= 0
    patterns, which = np.unique(there, axis=0, return_inverse=True)
    fewest = len(groups)
    for number, pattern in enumerate(patterns):
        if not pattern.any():
            continue
        all_there = there[:, pattern].all(axis=1)
        # column by column: how an array lies in memory must not decide what is a release
        chapters = {str(place): groups[all_there, place] for place in np.flatnonzero(pattern)}
        columns = list(chapters)
        table = pl.DataFrame(chapters).with_columns(
            own=pl.Series(which.ravel()[all_there] == number)
        )
        counted = table.group_by(columns).agg(pl.len().alias("people"), pl.col("own").any())
        people = counted.filter("own").get_column("people").to_numpy()
        fewest = min(fewest, int(people.min()))
    return fewest


def fewest_values(stories: Stories, name: str) -> int:
    """Return how many lasting values the people of one story have between them, at least."""
    atoms = stories.atoms()[(stories.groups >= 0).any(axis=1)]
    lasting = stories.lasting(name)[(stories.groups >= 0).any(axis=1)]
    n_atoms = int(atoms.max(initial=-1)) + 1
    known = lasting >= 0
    n_values = int(lasting.max(initial=0)) + 1
    pairs = np.unique(atoms[known] * n_values + lasting[known])
    counts = np.bincount(pairs // n_values, minlength=n_atoms)
    return int(counts[np.unique(atoms)].min(initial=len(atoms)))


def given_up(previous: Sequence[KeptRelease], request: Request, schema: Schema) -> list[str]:
    """Return in words what earlier releases promise and a new one does not ask for."""
    most = max((kept.k for kept in previous), default=0)
    found = [f"k = {most:,} (now {request.k:,})"] if request.k < most else []
    found += [
        Message("{promise}; it cannot be counted over several releases", promise=model.label)
        for kept in previous
        for model in kept.privacy
        if not _can_be_judged(model)
    ]
    for model in _owed(previous):
        column = str(model.column)
        if column in schema.insensitive:
            found.append(
                Message(
                    "{promise} of {column!r}; the column is not sensitive now",
                    promise=model.label,
                    column=column,
                )
            )
        elif any(column in kept.schema.insensitive for kept in previous):
            found.append(
                Message(
                    "{promise} of {column!r}; the column is not sensitive in all of them",
                    promise=model.label,
                    column=column,
                )
            )
        elif column in schema.sensitive and not any(
            _as_much(now, model) for now in request.privacy
        ):
            found.append(f"{model.label} of {column!r}")
    return list(dict.fromkeys(found))


def judge_over_all(
    previous: Sequence[KeptRelease],
    published: PublishedTable,
    schema: Schema,
    needed: dict[str, int],
) -> tuple[Check, ...]:
    """Return what is left of the promises about values that earlier releases made.

    Args:
        previous: the earlier releases.
        published: the new one.
        schema: what its columns are.
        needed: by column, how many values are left for everybody, as is checked elsewhere.
    """
    owed = [
        model
        for model in _owed(previous)
        if not (_distinct(model) and model.promised <= needed.get(str(model.column), 0))
    ]
    tables = list(_tables(previous, published, schema)) if owed else []
    return tuple(_judge(model, tables) for model in owed)


def _owed(previous: Sequence[KeptRelease]) -> list[PrivacyModel]:
    """Return the promises about values that are out, each for one column."""
    found: dict[str, PrivacyModel] = {}
    for kept in previous:
        for model in kept.privacy:
            if not _can_be_judged(model):
                continue
            for name in kept.schema.sensitive:
                if model.column in (None, name):
                    single = _about(model, name)
                    found.setdefault(repr(single), single)
    return list(found.values())


def _can_be_judged(model: PrivacyModel) -> bool:
    # a population or a tree of values is not kept
    return model.about == "groups" and getattr(model, "distance", "") != "hierarchical"


def _distinct(model: PrivacyModel) -> bool:
    return isinstance(model, LDiversity) and model.kind == "distinct"


def _as_much(now: PrivacyModel, before: PrivacyModel) -> bool:
    """Return whether a promise is at least what was promised for a column."""
    if type(now) is not type(before) or now.column not in (None, before.column):
        return False
    enough = now.promised >= before.promised if now.at_least else now.promised <= before.promised
    if _distinct(before):
        return enough  # l-diversity of any kind takes as many different values
    asked, owed = now.to_dict(), before.to_dict()
    other = {key for key in {*asked, *owed} - {"column"} if asked.get(key) != owed.get(key)}
    if len(other) == 1:
        key = other.pop()
        return enough and (asked.get(key), owed.get(key)) == (now.promised, before.promised)
    return not other


class _Table:
    """A published table: each row's person and that person's story, and its values by column."""

    def __init__(
        self,
        person: NDArray[np.int64],
        story: NDArray[np.int64],
        values: dict[str, pl.Series],
        orders: dict[str, tuple[str, ...]],
    ) -> None:
        self.person, self.story, self.values, self.orders = person, story, values, orders


def _tables(
    previous: Sequence[KeptRelease], published: PublishedTable, schema: Schema
) -> Iterator[_Table]:
    import polars as pl

    assert published.ids is not None
    people = [kept.people for kept in previous if kept.people is not None]
    present = digests_of(published.ids, people[0].key)
    number, _ = number_people(np.concatenate([*(each.digests for each in people), present]))
    story = stories_with(previous, published, schema, ())[0].atoms()[number]
    start = 0
    for kept, each in zip(previous, people, strict=True):
        of_row = slice(start, start + len(each.digests))
        start += len(each.digests)
        orders = {name: counts.order for name, counts in kept.sensitive.items() if counts.order}
        for number_of_table in range(each.n_tables):
            rows = np.flatnonzero(each.of_table == number_of_table)
            values = {
                name: counts.values.gather(pl.Series(each.values[name][rows], dtype=pl.UInt32))
                for name, counts in kept.sensitive.items()
            }
            yield _Table(number[of_row][rows], story[of_row][rows], values, orders)
    names = [name for name in schema.sensitive if name in published.frame.columns]
    values = {name: published.frame.get_column(name) for name in names}
    yield _Table(number[start:], story[start:], values, {})


def _judge(model: PrivacyModel, tables: Sequence[_Table]) -> Check:
    """Judge one promise in every table, with people of one story as a group."""
    import polars as pl

    name = str(model.column)
    found = [
        verify_table(
            pl.DataFrame({"story": table.story, "value": table.values[name]}),
            k=2,
            quasi_identifiers=["story"],
            sensitive=["value"],
            promises=promises_of([_about(model, "value")]),
            orders={"value": table.orders[name]} if name in table.orders else None,
        ).checks[1]
        for table in tables
        if name in table.values and len(table.story)
    ]
    worst = (min if model.at_least else max)(check.measured for check in found)
    holds = all(check.holds for check in found)
    if isinstance(model, LDiversity):
        left = _fewest_lasting_values(name, tables)
        worst, holds = min(worst, left), holds and left >= math.ceil(model.l - 1e-9)
    words = model.describe(name)
    if not isinstance(words, Message):
        words = Message(words)
    return Check(
        name=Message(
            "{promise} of {column!r} over {n:,} releases",
            promise=model.name,
            column=name,
            n=len(tables),
        ),
        promised=model.promised,
        measured=worst,
        holds=holds,
        sentence=Message(
            "Holds: {promise:clause}, over {n:,} releases together.", promise=words, n=len(tables)
        )
        if holds
        else Message(
            "Broken: {label} of {name!r}, which a release that is out promises, does not hold over "
            "{n:,} releases: people with one story reach {worst:.4g}; wait for more people, or "
            "give it up with weaken=True (--weaken).",
            label=model.label,
            name=name,
            n=len(tables),
            worst=worst,
        ),
        judged_by=BESIDE,
    )


def _fewest_lasting_values(name: str, tables: Sequence[_Table]) -> int:
    """Return how many values people of one story have who had one value in all their tables."""
    import polars as pl

    known: dict[tuple[str, ...], int] = {}
    rows = pl.concat(
        pl.DataFrame(
            {
                "person": table.person,
                "story": table.story,
                "value": number_values(table.values[name], known),
            }
        )
        for table in tables
        if name in table.values
    )
    people = rows.group_by("person").agg(
        pl.col("story").first(), pl.col("value").first(), changed=pl.col("value").n_unique() > 1
    )
    lasting = pl.col("value").filter(~pl.col("changed")).n_unique()
    return int(people.group_by("story").agg(lasting).get_column("value").to_numpy().min())


def _about(model: PrivacyModel, column: str) -> PrivacyModel:
    single: Any = model
    about: PrivacyModel = replace(single, column=column)
    return about
