"""The text of a data value: the one place where data and hierarchy labels meet."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import HierarchyError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["canonical_label"]


def canonical_label(value: object) -> str:
    """Return the text under which a value is looked up among the leaves of a hierarchy.

    The same quantity has the same text whatever type carries it: ``17``, ``17.0``,
    ``Decimal("17.00")`` and ``np.int8(17)`` are all ``"17"``. Booleans are ``"true"`` and
    ``"false"``, dates and datetimes are ISO (a blank between date and time), text is itself.

    Raises:
        HierarchyError: for ``None``, which stands for a missing value and has no label.
    """
    if type(value) is str:  # the common case, on the path of every cell of a file
        return value
    for types, label in _LABELS:
        if isinstance(value, types):
            return label(value)
    if value is None:
        msg = "A missing value has no label: leave missing values out of a hierarchy."
        raise HierarchyError(msg)
    return str(value)


def _float_label(value: float | np.floating) -> str:
    # Through text for narrow floats: float32 0.1 is "0.1", not 0.10000000149011612.
    number = float(value) if isinstance(value, float) else float(str(value))
    if math.isfinite(number) and number.is_integer():
        # Of the short text: 1e23 is a one with 23 zeros, not 99999999999999991611392.
        return str(int(Decimal(repr(number))))
    return repr(number)


def _decimal_label(value: Decimal) -> str:
    if not value.is_finite():
        return str(value)
    # Not Decimal.normalize(): it rounds to the precision of the context.
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


# The order matters: bool is an int, and datetime is a date.
_LABELS: tuple[tuple[tuple[type, ...], Callable[[Any], str]], ...] = (
    ((str,), str),
    ((bool, np.bool_), lambda value: "true" if value else "false"),
    ((int, np.integer), lambda value: str(int(value))),
    ((float, np.floating), _float_label),
    ((Decimal,), _decimal_label),
    ((dt.datetime,), lambda value: value.isoformat(sep=" ")),
    ((dt.date,), lambda value: value.isoformat()),
    ((np.datetime64,), lambda value: str(value).replace("T", " ")),
)
