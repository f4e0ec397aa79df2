"""From one column to a guess: its role, its kind, its hierarchy, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.profile import column_facts as values
from shoal.profile import hierarchies as trees
from shoal.profile.column_facts import Facts, facts_of
from shoal.profile.roles import is_code, judge
from shoal.table.schema import Kind, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from shoal.hierarchy import Taxonomy
    from shoal.hierarchy.rules import HierarchyRule


# Which promise is proposed for sensitive columns: two different values in every group.

TWO_VALUES = (
    "Proposed: at least two different values in every group, so that none gives its value away.\n"
    "Raise l where more can be kept; without this promise a group may share one value."
)
"""What stands above such a promise in a job file."""


def other_values(frame: pl.DataFrame) -> dict[str, float]:
    """Return by column the share of the rows that have another than the most frequent value."""
    found = {}
    for column in frame.get_columns():
        if column.dtype.is_nested() or not frame.height:
            continue
        filled = column.drop_nulls()
        most = filled.value_counts().to_series(1).to_numpy().max(initial=0)
        found[column.name] = float(len(filled) - most) / frame.height
    return found


def can_be_promised(sensitive: Iterable[str], others: Mapping[str, float], k: int) -> list[str]:
    """Return the columns for which two values are proposed: groups need not be far beyond k.

    Where fewer than one row in 2 k has another value, each group would have to be larger than
    that, so that nothing is proposed; people are asked instead.
    """
    return [name for name in sensitive if others.get(name, 0.0) * 2 * k >= 1]


def promise_for(column: str) -> dict[str, Any]:
    """Return the promise as a job file has it."""
    return {"model": "l-diversity", "l": 2, "kind": "distinct", "column": column}


_LONG_TAIL = 12
"""A text column with more values than this is worth a hierarchy."""


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What a column probably is.

    Attributes:
        name: the column.
        role: what should happen to it.
        kind: how it would be generalised; used only if it is a quasi-identifier.
        order: the values of an ordinal column, from low to high.
        hierarchy: a hierarchy built from its values. It is in use if the kind is categorical;
            for numbers, dates and sensitive codes it is an alternative on offer.
        why: one sentence for the role; never a cell.
        how: one sentence for the kind and the hierarchy; never a cell.
        sure: whether names and values leave little doubt. If not, a person should decide.
        topic: what the column is about, if known.
        alone: how many rows have a value here that no other row has.
        together: how many rows nobody shares if this column is known beside the quasi-identifiers;
            None if that was not counted.
    """

    name: str
    role: Role
    kind: Kind | None = None
    order: tuple[str, ...] | None = None
    hierarchy: Taxonomy | None = None
    rule: HierarchyRule | None = None
    """How the hierarchy grows, where no value has to be listed for it."""
    why: str = ""
    how: str = ""
    sure: bool = True
    topic: str | None = None
    alone: int = 0
    together: int | None = None

    @property
    def uses_hierarchy(self) -> bool:
        """Whether the run needs the hierarchy."""
        return self.role is Role.QUASI_IDENTIFIER and self.kind is Kind.CATEGORICAL


def guess_column(column: pl.Series, role: Role | None = None) -> Guess:
    """Return the guess for one column, or for one whose role a person has decided."""
    facts = facts_of(column)
    verdict = judge(facts)
    guessed, why, sure = verdict.role, verdict.why, verdict.sure
    if role is not None:
        why = why if role is guessed else "You said so"
        guessed, sure = role, True
    why = f"{why} ({facts.sentence})." if facts.n_filled else f"{why}."
    plain = Guess(
        name=column.name, role=guessed, why=why, sure=sure, topic=verdict.topic, alone=facts.alone
    )
    if guessed not in (Role.QUASI_IDENTIFIER, Role.SENSITIVE) or not facts.n_filled:
        return plain
    kind, order, (tree, rule), how = _guess_kind(facts)
    if guessed is Role.SENSITIVE and not facts.is_icd:
        tree, rule = trees.NOTHING  # published as it is; only codes are worth offering one
    return replace(plain, kind=kind, order=order, hierarchy=tree, rule=rule, how=how)


def _guess_kind(
    facts: Facts,
) -> tuple[Kind, tuple[str, ...] | None, trees.Grown, str]:
    import polars as pl

    dtype = facts.column.dtype
    if dtype in (pl.Date, pl.Datetime):
        kind = Kind.DATE if dtype == pl.Date else Kind.DATETIME
        return kind, None, trees.date_tree(facts.distinct), "Published as spans of time."
    if dtype.is_numeric() and facts.about("postcode") is None and not is_code(facts):
        return Kind.NUMERIC, None, trees.interval_tree(facts.distinct), "Published as intervals."
    if facts.scale is not None:
        return (
            Kind.ORDINAL,
            facts.scale,
            trees.NOTHING,
            "An ordered scale, published as ranges of steps.",
        )
    if isinstance(dtype, pl.Enum):
        return Kind.ORDINAL, tuple(dtype.categories), trees.NOTHING, "Ordered by its data type."
    grown, how = _guess_tree(facts)
    if grown.tree is not None:
        return Kind.CATEGORICAL, None, grown, how
    return (
        Kind.FLAT,
        None,
        trees.NOTHING,
        ('Kept or suppressed as a whole; a hierarchy, or kind = "set", would keep more.'),
    )


def _guess_tree(facts: Facts) -> tuple[trees.Grown, str]:
    import polars as pl

    tree, how = trees.NOTHING, ""
    if facts.column.dtype == pl.Boolean:
        pass
    elif facts.date_form is not None:
        tree = trees.date_text_tree(facts.texts, facts.date_form)
        how = "Dates, published as month, year or decade."
    elif facts.is_icd:
        tree, how = trees.prefix_tree(facts.texts, keep=(3, 1)), "Codes, masked from the right."
    elif facts.about("postcode"):
        tree, how = trees.prefix_tree(facts.distinct), "Codes, masked from the right."
    elif facts.n_values > _LONG_TAIL and facts.is_text and values.looks_like_code(facts.texts):
        tree, how = trees.prefix_tree(facts.texts), "Codes, masked from the right."
    elif facts.n_values > _LONG_TAIL:
        tree = trees.frequency_tree(facts.filled)
        how = "Many values, so put together by frequency; a hierarchy by meaning would be better."
    return tree, how
