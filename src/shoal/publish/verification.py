"""What a promise is, and what verification says about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.publish.judgement import Judgement

__all__ = [
    "BESIDE",
    "OWN_RULE",
    "POPULATION",
    "Check",
    "OwnRule",
    "Promise",
    "Verification",
    "WholePromise",
    "count_of",
]

OwnRule = Callable[..., tuple["NDArray[np.bool_]", float]]
"""A plug-in's rule: of group, value and person of each row, numbers of groups and values, and the
name and order of the column it tells which groups hold and the worst number."""


BESIDE = "the people of all releases"
"""By what a check over several releases is judged (`shoal.life.guarantee`)."""
POPULATION = "verification, with the population"
"""By what a check is judged that compares the published cells with the table of everybody."""
OWN_RULE = "the model's own rule"
"""By what a check is judged for which verification has no predicate."""


@dataclass(frozen=True)
class Promise:
    """A promise about the sensitive values of every group, as data.

    Attributes:
        table: model and options, as in a job file; ``column`` names one column, else all count.
        promised: the promised number.
        at_least: whether the number is a lower bound (otherwise an upper bound).
        describe: gives the promise for a column in words.
        own_rule: judges where verification has no predicate for the model.
        trees: per column the tree that a distance goes along: of each leaf the labels on its way
            up to the root.
    """

    table: Mapping[str, Any]
    promised: float
    at_least: bool
    describe: Callable[[str], str]
    own_rule: OwnRule | None = None
    trees: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class WholePromise:
    """A promise about a release as a whole, as data and a rule.

    Attributes:
        name: the promise, as ``"k-map"``.
        promised: the promised number.
        sentence: the promise in words.
        judge: of the published table, the group of each row and the people of each group it tells
            the number reached, whether that is enough, and which rows break the promise.
        judged_by: who judges: verification, or that with the population.
    """

    name: str
    promised: float
    sentence: str
    judge: Callable[..., tuple[float, bool, NDArray[np.bool_]]]
    judged_by: str = "verification"


@dataclass(frozen=True)
class Check:
    """One promise and what was found.

    Attributes:
        name: the promise, as ``"k-anonymity"`` or ``"l-diversity of 'diagnosis'"``.
        promised: the promised number.
        measured: the worst number of any group.
        holds: whether every group keeps the promise, as written and after cleaning.
        sentence: the same in plain words.
        judged_by: ``"verification"``; `OWN_RULE` for a model of a plug-in, for which verification
            has no predicate of its own; `POPULATION` and `BESIDE` where published cells are not
            enough to tell.
        is_share: whether the numbers are a share of the rows, to be shown as per cent.
    """

    name: str
    promised: float
    measured: float
    holds: bool
    sentence: str
    judged_by: str = "verification"
    is_share: bool = False

    def shown(self, number: float) -> str:
        """Return the promised or the measured number as people read it."""
        if not self.is_share:
            return f"{number:,.6g}"
        # never rounded up to a promise that is not kept
        return "100 %" if number >= 1.0 else f"{min(number, 0.9999):.2%}"


@dataclass(frozen=True)
class Verification:
    """What a published table keeps of what it promises; true if it keeps everything.

    Attributes:
        holds: whether every promise is kept.
        k: the promised group size.
        smallest_group: rows of the smallest group of equal quasi-identifiers.
        n_groups: number of groups.
        n_rows: number of published rows.
        highest_risk: chance to pick the right person of the smallest group, 1 / its people; where
            nobody has said whose rows they are, 1 / its rows, which is right only if every row
            is a different person.
        violating_groups: groups that break at least one promise.
        violating_rows: rows in those groups.
        checks: each promise on its own, k-anonymity first.
        notes: where a reader and a person would disagree about which cells are equal: of the
            sensitive columns that promises are about, and of quasi-identifiers if k is broken;
            and what a file holds beside its table.
        read_from: what was checked: ``"the table in memory"`` or ``"what was written"``.
        fewest_people: different people in the group that has fewest; None if rows were counted.
        judgement: the headline of a table that was given to `shoal.verify`: ``"green"``,
            ``"amber"`` or ``"red"``, with ``.sentence`` and ``.open``, as of a release. None where
            a release has it (`Release.judgement`).
    """

    holds: bool
    k: int
    smallest_group: int
    n_groups: int
    n_rows: int
    highest_risk: float
    violating_groups: int
    violating_rows: int
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    read_from: str = "the table in memory"
    fewest_people: int | None = None
    judgement: Judgement | None = None

    def __bool__(self) -> bool:
        return self.holds

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return asdict(self) | {
            "checks": [asdict(check) for check in self.checks],
            "notes": list(self.notes),
            "judgement": None if self.judgement is None else self.judgement.to_dict(),
        }

    def how(self) -> str:
        """Return in a sentence or two what was checked, and by whom."""
        cells = "the published cells alone"
        if self.fewest_people is not None:
            cells = "the published cells with the ids of their people, which are not published"
        text = (
            f"Checked on {cells} ({self.read_from}), by code that shares nothing with the search "
            "that made them."
        )
        for judge, how in (
            (OWN_RULE, "judged by the model's own rule."),
            (POPULATION, "for these the cells are compared with the table of the population."),
            (
                BESIDE,
                "counted before writing, with the private files of the earlier releases.",
            ),
        ):
            names = [check.name for check in self.checks if check.judged_by == judge]
            if names:
                text += f" Except {', '.join(names)}: {how}"
        return text

    def sentences(self) -> tuple[str, ...]:
        """Return one sentence per promise, and one about the rows that break any."""
        verdict = "Every promise holds."
        if not self.holds:
            rows, groups = self.violating_rows, self.violating_groups
            verdict = (
                f"{count_of(rows, 'row')} in {count_of(groups, 'group')} must not be published "
                "like this."
            )
        return (*(check.sentence for check in self.checks), verdict)


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
