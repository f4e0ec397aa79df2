"""Whether one column of a table follows from another, as far as its rows tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


FEWEST_ROWS = 10
"""Fewer rows tell nothing."""
_ERROR = 0.02
"""How much of the guessing a relation may leave, as a share of guessing without it."""
_CHANCE = 1e-6
_CORRELATED = 0.98

Codes = np.ndarray[Any, np.dtype[np.int64]]


def renumbered(values: NDArray[Any]) -> Codes:
    """Return numbers from 0 on, equal for equal values and in their order."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)


def follows(what: Codes, of: Codes) -> bool:
    """Return whether the first value of a row can be told from the second, and not by chance.

    Rows whose second value nobody shares say nothing. Of the others, guessing the most frequent
    first value beside each second value must leave hardly any of the error of guessing blindly;
    and rows must repeat so often that agreement by chance is out of the question.

    Args:
        what: a code per row, from 0 on.
        of: a code per row of the other column, from 0 on.
    """
    shared = np.bincount(of)[of] > 1
    n_rows = int(np.count_nonzero(shared))
    if n_rows < FEWEST_ROWS:
        return False
    first, second = what[shared], renumbered(of[shared])
    frequent = np.bincount(first)
    blind = 1 - float(frequent.max()) / n_rows
    agreement = float(np.sum((frequent / n_rows) ** 2))
    repeats = n_rows - int(second.max()) - 1
    if blind <= 0 or agreement >= 1 or repeats * math.log(agreement) > math.log(_CHANCE):
        return False
    right = _most_frequent(first, second)
    return 1 - right / n_rows <= _ERROR * blind


def _most_frequent(first: Codes, second: Codes) -> int:
    """Return how many rows have the most frequent first value beside their second value."""
    width = int(first.max()) + 1
    pairs, counts = np.unique(second * width + first, return_counts=True)
    starts = np.flatnonzero(np.diff(pairs // width, prepend=-1))
    return int(np.maximum.reduceat(counts, starts).sum())


def go_together(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Return whether the ranks of two columns rise (or fall) together.

    Args:
        first: a rank per row.
        second: a rank per row of the other column.
    """
    if len(first) < 2 * FEWEST_ROWS or not (np.ptp(first) and np.ptp(second)):
        return False
    return bool(abs(np.corrcoef(first, second)[0, 1]) >= _CORRELATED)
