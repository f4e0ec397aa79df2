"""From one column to a guess: its role, its kind, its hierarchy, and why.

Hierarchies for a column whose kind is guessed are intervals, prefixes, dates or frequencies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import HierarchyError
from shoal.hierarchy import Taxonomy, canonical_label, frequency_hierarchy
from shoal.hierarchy.rules import HierarchyRule
from shoal.profile import column_facts as values
from shoal.profile.column_facts import Facts, facts_of
from shoal.profile.roles import is_code, judge
from shoal.table.schema import Kind, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

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
        tree, rule = NOTHING  # published as it is; only codes are worth offering one
    return replace(plain, kind=kind, order=order, hierarchy=tree, rule=rule, how=how)


def _guess_kind(
    facts: Facts,
) -> tuple[Kind, tuple[str, ...] | None, Grown, str]:
    import polars as pl

    dtype = facts.column.dtype
    if dtype in (pl.Date, pl.Datetime):
        kind = Kind.DATE if dtype == pl.Date else Kind.DATETIME
        return kind, None, date_tree(facts.distinct), "Published as spans of time."
    if dtype.is_numeric() and facts.about("postcode") is None and not is_code(facts):
        return Kind.NUMERIC, None, interval_tree(facts.distinct), "Published as intervals."
    if facts.scale is not None:
        return (
            Kind.ORDINAL,
            facts.scale,
            NOTHING,
            "An ordered scale, published as ranges of steps.",
        )
    if isinstance(dtype, pl.Enum):
        return Kind.ORDINAL, tuple(dtype.categories), NOTHING, "Ordered by its data type."
    grown, how = _guess_tree(facts)
    if grown.tree is not None:
        return Kind.CATEGORICAL, None, grown, how
    return (
        Kind.FLAT,
        None,
        NOTHING,
        ('Kept or suppressed as a whole; a hierarchy, or kind = "set", would keep more.'),
    )


def _guess_tree(facts: Facts) -> tuple[Grown, str]:
    import polars as pl

    tree, how = NOTHING, ""
    if facts.column.dtype == pl.Boolean:
        pass
    elif facts.date_form is not None:
        tree = date_text_tree(facts.texts, facts.date_form)
        how = "Dates, published as month, year or decade."
    elif facts.is_icd:
        tree, how = prefix_tree(facts.texts, keep=(3, 1)), "Codes, masked from the right."
    elif facts.about("postcode"):
        tree, how = prefix_tree(facts.distinct), "Codes, masked from the right."
    elif facts.n_values > _LONG_TAIL and facts.is_text and values.looks_like_code(facts.texts):
        tree, how = prefix_tree(facts.texts), "Codes, masked from the right."
    elif facts.n_values > _LONG_TAIL:
        tree = frequency_tree(facts.filled)
        how = "Many values, so put together by frequency; a hierarchy by meaning would be better."
    return tree, how


MOST_LEAVES = 5_000
"""A longer file helps nobody who has to read it."""


class Grown(NamedTuple):
    """A hierarchy, and the rule by which it grows; None where values have to be listed."""

    tree: Taxonomy | None
    rule: HierarchyRule | None


NOTHING = Grown(None, None)


def nice_width(low: float, high: float, parts: int = 16) -> float:
    """Return 1, 2 or 5 times a power of ten that cuts a range into about so many parts.

    >>> nice_width(17, 90), nice_width(0, 99_999), nice_width(36.1, 41.4)
    (5, 10000, 0.5)
    """
    share = (high - low) / parts
    if not (math.isfinite(share) and share > 0):
        return 1
    exponent = math.floor(math.log10(share))
    step = next(step for step in (1, 2, 5, 10) if step * 10.0**exponent >= share * 0.999)
    if step == 10:
        step, exponent = 1, exponent + 1
    return step * 10**exponent if exponent >= 0 else float(f"{step}e{exponent}")


def interval_tree(values: pl.Series) -> Grown:
    """Return nested intervals of a round width; None where there is nothing to nest."""
    low, high = values.min(), values.max()
    if low is None or high is None or len(values) > MOST_LEAVES:
        return NOTHING
    width = nice_width(float(low), float(high))  # type: ignore[arg-type]  # of a numeric column
    if values.dtype.is_integer():
        width = max(width, 2)
    # From text: 3 * 0.1 is not 0.3 in binary, and each width must divide the next.
    widths = [float(f"{times * width:.12g}") for times in (1, 2, 4)]
    plain = [int(each) if each.is_integer() else each for each in widths]
    return _grown(values, {"rule": "intervals", "widths": plain})


def prefix_tree(values: pl.Series, keep: tuple[int, ...] | None = None) -> Grown:
    """Return codes masked from the right."""
    labels = [canonical_label(value) for value in values.to_list()]
    if not labels or len(labels) > MOST_LEAVES:
        return NOTHING
    length = max(map(len, labels))
    kept = [count for count in keep or range(length - 1, 0, -1) if count < length]
    if not kept:
        return NOTHING
    return _grown(values, {"rule": "prefix", "keep": kept, "length": length})


def date_tree(values: pl.Series) -> Grown:
    """Return day → month → year → decade."""
    if len(values) > MOST_LEAVES:
        return NOTHING
    return _grown(values, {"rule": "dates", "levels": ["month", "year", "decade"]})


def date_text_tree(values: pl.Series, form: str) -> Grown:
    """Return day → month → year → decade for dates that are written in another form than ISO."""
    if len(values) > MOST_LEAVES:
        return NOTHING
    return _grown(values, {"rule": "dates", "levels": ["month", "year", "decade"], "form": form})


def frequency_tree(column: pl.Series, fanout: int = 4) -> Grown:
    """Return parts of about equal frequency, frequent values first, ties by label."""
    import polars as pl

    counts = column.drop_nulls().cast(pl.String).value_counts(name="n rows")
    counts = counts.sort(["n rows", column.name], descending=[True, False])
    labels, rows = counts.get_column(column.name).to_list(), counts.get_column("n rows").to_list()
    if not 2 < len(labels) <= MOST_LEAVES:
        return NOTHING
    try:
        return Grown(frequency_hierarchy(labels, rows, fanout=fanout), None)
    except HierarchyError:
        return NOTHING


def _grown(values: pl.Series, given: dict[str, object]) -> Grown:
    """Return a rule and its tree, or nothing where the values do not allow one."""
    rule = HierarchyRule.of(given)
    try:
        return Grown(rule.build(values.to_list(), decimals=values.dtype.is_float()), rule)
    except HierarchyError:
        return NOTHING
