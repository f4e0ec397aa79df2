"""Which promise is proposed for sensitive columns: two different values in every group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

__all__ = ["TWO_VALUES", "can_be_promised", "other_values", "promise_for"]

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
