"""Who was in which group of which release: the stories of people, side by side.

Only the holder of the data can put stories together: it takes the private half of every release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError
from shoal.hierarchy import canonical_label
from shoal.life.people import number_people
from shoal.privacy import LDiversity
from shoal.table.cleaning import person_would_say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.life.kept import KeptRelease
    from shoal.life.people import Digests, KeptPeople
    from shoal.privacy import PrivacyModel
    from shoal.table.schema import Schema

__all__ = [
    "ABSENT",
    "CHANGED",
    "Stories",
    "check_chain",
    "needed_values",
    "number_values",
    "tell_stories",
]

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
                f"Release {number} of those given as previous does not say who its people are; it "
                "must have been made with person=... (--person), and its private file "
                "(.shoal.people) must lie beside it."
            )
        if not kept.people.alone:
            raise OptionError(
                f"Release {number} of those given as previous has people with several rows, or "
                "rows without a person; releases beside others need one row for each person."
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
            f"{len(missing)} earlier release{'s' if len(missing) > 1 else ''} that the given ones "
            "were made beside must be given as previous, too."
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
                    f"Column {name!r} is sensitive now and was not in release {place + 1} of those "
                    "given as previous; give it the same role."
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
