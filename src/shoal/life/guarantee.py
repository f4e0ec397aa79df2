"""Checks the guarantee over several releases, from who was published where; by counting alone.

It knows nothing of how a release was made: it takes the private halves of the earlier ones and
the published rows of the new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.life.history import Stories, tell_stories
from shoal.life.kept import number_classes
from shoal.life.people import digests_of
from shoal.publish.named import columns_needed
from shoal.publish.verification import BESIDE, Check, count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.life.kept import KeptRelease
    from shoal.publish.whose import PublishedTable
    from shoal.table.schema import Schema

__all__ = ["checks_over_all", "few_missing", "fewest_people", "fewest_values", "stories_with"]


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
            name=f"k-anonymity over {n_releases} releases",
            promised=k,
            measured=fewest,
            holds=fewest >= k,
            sentence=(
                f"Holds: every person shares all groups, over {n_releases} releases, with at least "
                f"{count_of(k - 1, 'other')}."
                if fewest >= k
                else f"Broken: the groups of a person over {n_releases} releases have "
                f"{count_of(fewest, 'person')} in common and not {k:,}."
            ),
            judged_by=BESIDE,
        )
    ]
    for name, least in needed.items():
        found = fewest_values(stories, name)
        checks.append(
            Check(
                name=f"l-diversity of {name!r} over {n_releases} releases",
                promised=least,
                measured=found,
                holds=found >= least,
                sentence=(
                    f"{'Holds' if found >= least else 'Broken'}: whoever has all {n_releases} "
                    f"releases is left with at least {count_of(least, 'value')} of {name!r} for "
                    "everybody"
                    + ("." if found >= least else f", but for somebody there are {found:,}.")
                ),
                judged_by=BESIDE,
            )
        )
    return tuple(checks)


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
