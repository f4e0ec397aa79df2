"""What all attacks share: the release as an attacker reads it, and the people to attack."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.errors import OptionError, refuse_unknown
from shoal.hierarchy import canonical_label
from shoal.messages import Message

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.release_reader.classes import Classes, People
    from shoal.table.schema import Schema


# What an attack found: a number, how sure it is, what it is compared with, and a sentence.

_Z = 1.959963984540054
"""The 97.5 % point of the normal distribution: intervals hold with 95 %."""


def interval_of(total: float, n: int, *, everybody: bool = False) -> tuple[float, float]:
    """Return a 95 % interval for a mean of n numbers between 0 and 1 (Wilson 1927).

    Of all distributions on [0, 1] with one mean, 0 or 1 spreads most, so that the interval of a
    share holds for any of them.

    Args:
        total: their sum.
        n: how many there are.
        everybody: whether nobody was left out, so that there is nothing to be unsure of.
    """
    if n == 0:
        return 0.0, 1.0
    share = min(max(total / n, 0.0), 1.0)
    if everybody:
        return share, share
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    # The ends are 0 and 1 there, and rounding must not say otherwise.
    low = 0.0 if share == 0 else max(middle - half, 0.0)
    return low, 1.0 if share == 1 else min(middle + half, 1.0)


class Rate(NamedTuple):
    """How often an attacker is right: of n numbers the mean, with a 95 % interval."""

    rate: float
    low: float
    high: float
    n: int


def rate_of(total: float, n: int, *, everybody: bool = False) -> Rate:
    """Return a mean with its interval (the arguments are those of `interval_of`)."""
    return Rate(total / max(n, 1), *interval_of(total, n, everybody=everybody), n)


@dataclass(frozen=True)
class Finding:
    """What one attacker reaches.

    Attributes:
        rate: how often the attacker is right: a mean over the people who were attacked.
        low: lower end of a 95 % interval.
        high: upper end.
        n: how many people, guesses or groups were tried.
        name: what it is called, as in ``linkage: prosecutor, all 3 columns``.
        attack: the group it belongs to.
        baseline: what is reached without the release; None where that means nothing.
        control: what is reached about people who are not in the table; None without any.
        worst: the highest chance of a single person, where there is such a number.
        sentence: all this in words.
        lowered_by: which option lowers the number.
    """

    rate: float
    low: float
    high: float
    n: int
    _: KW_ONLY
    name: str
    attack: str
    sentence: str
    lowered_by: str
    baseline: float | None = None
    control: float | None = None
    worst: float | None = None

    @property
    def risk(self) -> float:
        """How much of what was left to find is found: (rate - control) / (1 - control).

        The control is what holds for people outside the table; without one it is the baseline.
        """
        known = self.control if self.control is not None else self.baseline
        if known is None:
            return self.rate
        return 0.0 if known >= 1 else max((self.rate - known) / (1 - known), 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding, ready for JSON."""
        return {**asdict(self), "risk": self.risk}


def compared(
    chances: Sequence[float],
    before: Sequence[float],
    sentence: Message,
    *,
    name: str,
    attack: str,
    lowered_by: str,
    everybody: bool = False,
    worst: float | None = None,
    **values: Any,
) -> Finding:
    """Return how often an attacker is right with the release, and without it.

    Args:
        chances: how likely the attacker is right about each person.
        before: the same without the release.
        sentence: says this in words, without its values.
        name: what the finding is called.
        attack: the group it belongs to.
        lowered_by: which option lowers the number.
        everybody: whether no person was left out.
        worst: the highest chance of a single person.
        values: of the sentence, beside ``rate`` and ``usual``.
    """
    reached = rate_of(sum(chances), len(chances), everybody=everybody)
    usual = sum(before) / max(len(before), 1)
    return Finding(
        *reached,
        name=name,
        attack=attack,
        baseline=usual,
        sentence=Message(sentence.template, rate=reached.rate, usual=usual, **values),
        lowered_by=lowered_by,
        worst=worst,
    )


def fits_nobody(n_without: int, n: int) -> Message:
    """Return a note about people whose published rows are not found."""
    return Message(
        "{nobody:,} of the {n:,} people who were attacked fit no published row: their "
        "rows were left out, or changed.",
        nobody=n_without,
        n=n,
    )


class Audit(Mapping[str, Finding]):
    """The findings of all attackers, by name; no cell of a table is in them.

    Attributes:
        findings: in the order of the attacks.
        notes: what could not be tried, and why.
        n_rows: rows of the original.
        n_published: rows of the release.
    """

    def __init__(
        self, findings: Sequence[Finding], notes: Sequence[str], n_rows: int, n_published: int
    ) -> None:
        self.findings = tuple(findings)
        self.notes = tuple(notes)
        self.n_rows = n_rows
        self.n_published = n_published
        self._by_name = {each.name: each for each in findings}

    def __getitem__(self, name: str) -> Finding:
        """Return a finding by its name."""
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names."""
        return iter(self._by_name)

    def __len__(self) -> int:
        """Return how many findings there are."""
        return len(self._by_name)

    def of(self, attack: str) -> tuple[Finding, ...]:
        """Return the findings of one group of attacks."""
        return tuple(each for each in self.findings if each.attack == attack)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything in words."""
        return tuple(each.sentence for each in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit, ready for JSON."""
        return {
            "n_rows": self.n_rows,
            "n_published": self.n_published,
            "findings": [each.to_dict() for each in self.findings],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Audit: {len(self)} findings about {self.n_published} published rows>"

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import facts, lists, share, shown, table

        heads = ("attacker", "right", "95 % interval", "without", "outside", "worst")
        return shown(
            facts([("Rows published", f"{self.n_published:,} of {self.n_rows:,}")]),
            table(
                heads,
                (
                    (
                        each.name,
                        share(each.rate),
                        f"{each.low:.1%} to {each.high:.1%}",
                        *map(share, (each.baseline, each.control, each.worst)),
                    )
                    for each in self.findings
                ),
            ),
            lists(self.notes),
        )


_BINS = 20
"""A column of more different numbers than this is guessed to within a twentieth of the people."""


@dataclass(frozen=True, eq=False)
class Secret:
    """A sensitive column: what is published of it, and what is true.

    Attributes:
        name: the column.
        n_values: how many different values there are; numbers may be put into classes.
        true: value of each person of the original.
        control: value of each person of the control table; None without one.
        pair_class: class of each pair of class and value that is published.
        pair_value: its value.
        pair_count: how many rows have it.
        whole: published rows with each value.
        published: value of each published row.
    """

    name: str
    n_values: int
    true: NDArray[np.int64]
    control: NDArray[np.int64] | None
    pair_class: NDArray[np.int64]
    pair_value: NDArray[np.int64]
    pair_count: NDArray[np.int64]
    whole: NDArray[np.int64]
    published: NDArray[np.int64]

    def among(self, classes: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return how many rows of these classes have each value."""
        chosen = classes[self.pair_class]
        values, rows = self.pair_value[chosen], self.pair_count[chosen].astype(np.float64)
        counts: NDArray[Any] = np.bincount(values, weights=rows, minlength=self.n_values)
        return counts


def read_secrets(
    name: str,
    releases: Sequence[tuple[NDArray[np.int64], pl.DataFrame]],
    original: pl.DataFrame,
    control: pl.DataFrame | None,
) -> list[Secret]:
    """Return a sensitive column of each release, with the same numbers for the same values.

    Args:
        name: the column.
        releases: the class of each row, and the table, of every release.
        original: the table they were made from.
        control: people who are not in it.

    Raises:
        OptionError: one of the tables lacks the column.
    """
    published = [frame for _, frame in releases]
    frames = [*published, original, *([] if control is None else [control])]
    for frame in frames:
        missing = Message("A table has no sensitive column {name!r}.{hint}")
        refuse_unknown([name], frame.columns, OptionError, missing)
    codes = _common_codes([frame.get_column(name) for frame in frames])
    n_values = int(max(each.max(initial=0) for each in codes)) + 1
    found = []
    for (of_row, _), here in zip(releases, codes, strict=False):
        pairs, count = np.unique(of_row * n_values + here, return_counts=True)
        pair_class, pair_value = np.divmod(pairs, n_values)
        found.append(
            Secret(
                name,
                n_values,
                codes[len(published)],
                codes[-1] if control is not None else None,
                pair_class,
                pair_value,
                count.astype(np.int64),
                np.bincount(here, minlength=n_values).astype(np.int64),
                here,
            )
        )
    return found


def _common_codes(columns: Sequence[pl.Series]) -> list[NDArray[np.int64]]:
    """Return the values of several columns as numbers that mean the same in all of them."""
    import polars as pl

    first = columns[0]
    if all(each.dtype.is_numeric() for each in columns) and first.n_unique() > _BINS:
        numbers = [each.cast(pl.Float64).fill_null(np.nan).to_numpy() for each in columns]
        known = numbers[0][~np.isnan(numbers[0])]
        cuts = np.unique(np.quantile(known, np.linspace(0, 1, _BINS + 1)[1:-1]))
        return [
            np.where(np.isnan(each), len(cuts) + 1, np.searchsorted(cuts, each, side="left"))
            for each in numbers
        ]
    seen: dict[str | None, int] = {}
    result = []
    for column in columns:
        labels = [None if v is None or v != v else canonical_label(v) for v in column.to_list()]  # noqa: PLR0124
        result.append(np.array([seen.setdefault(each, len(seen)) for each in labels], np.int64))
    return result


@dataclass(frozen=True, eq=False)
class Seen:
    """One person as an attacker sees the release through what is known about them.

    Attributes:
        who: number of the person.
        fits: which classes (second axis) fit in which column (first axis).
        full: which classes fit in all columns.
        rows: how many rows those have.
    """

    who: int
    fits: NDArray[np.bool_]
    full: NDArray[np.bool_]
    rows: int


@dataclass(frozen=True, eq=False)
class Scene:
    """The stage of all attacks.

    Attributes:
        classes: the release.
        people: the people of the original.
        original: the original table.
        published: the release as it is.
        schema: what its columns are.
        secrets: its sensitive columns.
        targets: numbers of the people who are attacked.
        control: people who are not in the table; None without any.
        control_frame: their table.
        seed: where chance begins.
    """

    classes: Classes
    people: People
    original: pl.DataFrame
    published: pl.DataFrame
    schema: Schema
    secrets: tuple[Secret, ...]
    targets: NDArray[np.int64]
    control: People | None
    control_frame: pl.DataFrame | None
    seed: int

    @property
    def everybody(self) -> bool:
        """Whether every person is attacked, so that nothing is guessed from a sample."""
        return len(self.targets) == self.people.n

    @property
    def n_columns(self) -> int:
        """How many quasi-identifiers there are."""
        return len(self.classes.columns)

    def chance(self, number: int) -> np.random.Generator:
        """Return randomness of its own for each attack, whichever others are run."""
        return np.random.default_rng([self.seed, number])

    def look(self, people: People, who: int) -> Seen:
        """Return how one person sees the release."""
        fits = self.classes.fitting(people, who, {})
        full: NDArray[Any] = np.logical_and.reduce(fits, axis=0)
        return Seen(who, fits, full, int(self.classes.sizes[full].sum()))

    @cached_property
    def seen(self) -> tuple[Seen, ...]:
        """Every target, looked at once."""
        return tuple(self.look(self.people, who) for who in self.targets.tolist())
