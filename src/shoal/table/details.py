"""What is said about a quasi-identifier beside its kind: checked here, used by the schema."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from shoal.errors import OptionError

__all__ = ["check_order", "check_weight"]

_MOST = 1e100
"""The largest weight: sums and products of these are still numbers."""


def check_weight(name: str, weight: float) -> float:
    """Return the weight of a column after a check that it is a number above 0."""
    try:
        number = math.nan if isinstance(weight, bool) else float(weight)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number <= _MOST:
        message = (
            f"The weight of column {name!r} must be a number above 0 and at most {_MOST:g}, not "
            f"{weight!r}; "
            "to leave the column out of the release, drop it."
        )
        raise OptionError(message)
    return number


def check_order(name: str, order: Sequence[object]) -> tuple[str, ...]:
    """Return the order of a column as labels after a check that each stands in it once."""
    from shoal.hierarchy.labels import canonical_label

    if isinstance(order, str) or not isinstance(order, Iterable):
        message = f"The order of column {name!r} must be a list of its values from low to high."
        raise OptionError(message)
    labels = tuple(canonical_label(value) for value in order)
    if not labels:
        message = f"The order of column {name!r} is empty; list its values from low to high."
        raise OptionError(message)
    if len(set(labels)) < len(labels):
        raise OptionError(f"The order of column {name!r} lists a value more than once.")
    return labels
