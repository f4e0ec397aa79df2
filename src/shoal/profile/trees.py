"""Hierarchies for a column whose kind is guessed: intervals, prefixes, dates, frequencies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from shoal.errors import HierarchyError
from shoal.hierarchy import (
    Taxonomy,
    canonical_label,
    date_hierarchy,
    frequency_hierarchy,
    interval_hierarchy,
    prefix_hierarchy,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

__all__ = [
    "date_text_tree",
    "date_tree",
    "frequency_tree",
    "interval_tree",
    "nice_width",
    "prefix_tree",
]

MOST_LEAVES = 5_000
"""A longer file helps nobody who has to read it."""


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


def interval_tree(values: pl.Series) -> Taxonomy | None:
    """Return nested intervals of a round width; None where there is nothing to nest."""
    low, high = values.min(), values.max()
    if low is None or high is None or len(values) > MOST_LEAVES:
        return None
    width = nice_width(float(low), float(high))  # type: ignore[arg-type]  # of a numeric column
    if values.dtype.is_integer():
        width = max(width, 2)
    # From text: 3 * 0.1 is not 0.3 in binary, and each width must divide the next.
    widths = [width, float(f"{2 * width:.12g}"), float(f"{4 * width:.12g}")]
    return _built(lambda: interval_hierarchy(values.to_list(), widths=widths))


def prefix_tree(values: pl.Series, keep: tuple[int, ...] | None = None) -> Taxonomy | None:
    """Return codes masked from the right."""
    labels = [canonical_label(value) for value in values.to_list()]
    if len(labels) > MOST_LEAVES:
        return None
    return _built(lambda: prefix_hierarchy(labels, keep=keep))


def date_tree(values: pl.Series) -> Taxonomy | None:
    """Return day → month → year → decade."""
    if len(values) > MOST_LEAVES:
        return None
    return _built(lambda: date_hierarchy(values.to_list()))


def date_text_tree(values: pl.Series, form: str) -> Taxonomy | None:
    """Return day → month → year → decade for dates that are written in another form than ISO."""
    if len(values) > MOST_LEAVES:
        return None
    days = values.str.to_datetime(form) if "%H" in form else values.str.to_date(form)
    order = days.arg_sort()
    paths = [
        (label, f"{day.year:04d}-{day.month:02d}", f"{day.year:04d}", f"{day.year // 10}0s", "*")
        for label, day in zip(values[order].to_list(), days[order].to_list(), strict=True)
    ]
    return _built(lambda: Taxonomy.from_paths(paths))


def frequency_tree(column: pl.Series, fanout: int = 4) -> Taxonomy | None:
    """Return parts of about equal frequency, frequent values first, ties by label."""
    import polars as pl

    counts = column.drop_nulls().cast(pl.String).value_counts(name="n rows")
    counts = counts.sort(["n rows", column.name], descending=[True, False])
    labels, rows = counts.get_column(column.name).to_list(), counts.get_column("n rows").to_list()
    if not 2 < len(labels) <= MOST_LEAVES:
        return None
    return _built(lambda: frequency_hierarchy(labels, rows, fanout=fanout))


def _built(build: Callable[[], Taxonomy]) -> Taxonomy | None:
    """Return the hierarchy, or None where the values do not allow one."""
    try:
        return build()
    except HierarchyError:
        return None
