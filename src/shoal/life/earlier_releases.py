"""What earlier releases promised, and what is left of it beside a new one.

A promise that is out must hold over all releases. Whoever has all of them may know which rows
belong to the people with one story: in the same groups of the same releases, and missing from the
same others. So promises about values are judged for such people as for a group, in every table.
l-diversity also counts what is left of their values when all tables are put side by side: those of
people whose value never changed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.archive.membership import digests_of, number_people
from shoal.life.guarantee import number_values, stories_with
from shoal.messages import Message
from shoal.privacy.l_diversity import LDiversity
from shoal.publish.verification_terms import promises_of
from shoal.publish.verify import BESIDE, Check, verify_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.archive.kept import KeptRelease
    from shoal.privacy import PrivacyModel
    from shoal.publish.people import PublishedTable
    from shoal.settings.request import Request
    from shoal.table.schema import Schema


def given_up(previous: Sequence[KeptRelease], request: Request, schema: Schema) -> list[str]:
    """Return in words what earlier releases promise and a new one does not ask for."""
    most = max((kept.k for kept in previous), default=0)
    found = [f"k = {most:,} (now {request.k:,})"] if request.k < most else []
    found += [
        f"{model.label}; it cannot be counted over several releases"
        for kept in previous
        for model in kept.privacy
        if not _can_be_judged(model)
    ]
    for model in _owed(previous):
        column = str(model.column)
        if column in schema.insensitive:
            found.append(f"{model.label} of {column!r}; the column is not sensitive now")
        elif any(column in kept.schema.insensitive for kept in previous):
            found.append(f"{model.label} of {column!r}; the column is not sensitive in all of them")
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
