"""Hierarchies for a column whose kind is guessed: intervals, prefixes, dates, frequencies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from shoal.errors import HierarchyError
from shoal.hierarchy import Taxonomy, canonical_label, frequency_hierarchy
from shoal.hierarchy.rules import HierarchyRule

if TYPE_CHECKING:
    import polars as pl


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
