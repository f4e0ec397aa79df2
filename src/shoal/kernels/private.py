"""Privacy models as predicates on histograms, for kernels that respect them while they cluster.

A model is a row of two arrays: ``kinds[m]`` (below), ``numbers[m] = (parameter, c, column)``.
Histograms of all sensitive columns lie one after the other; ``first[s]`` says where column s
begins. ``whole`` is the histogram of all rows. `shoal.privacy` holds the definitions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.kernels.jit import helper

__all__ = [
    "ALPHA",
    "DISTINCT",
    "ENTROPY",
    "FREQUENCY",
    "RECURSIVE",
    "T_EQUAL",
    "T_ORDERED",
    "group_holds",
]

FREQUENCY, DISTINCT, ENTROPY, RECURSIVE, T_EQUAL, T_ORDERED, ALPHA = range(7)
TOLERANCE = 1e-9


@helper
def _recursive_holds(hist: Any, a: int, b: int, l: float, c: float) -> bool:
    """r_1 < c · (r_l + … + r_m), with the counts r in falling order."""
    top = 0
    for v in range(a, b):
        top = max(top, hist[v])
    skip = math.ceil(l - TOLERANCE) - 1
    counts = np.sort(hist[a:b])[::-1]
    tail = 0
    for v in range(min(skip, b - a), b - a):
        tail += counts[v]
    return top * (1.0 + TOLERANCE) < c * tail


@helper
def _distance(hist: Any, whole: Any, a: int, b: int, size: int, ordered: bool) -> float:
    """Earth mover's distance from the whole, over the values that occur in the whole."""
    n = 0
    present = 0
    for v in range(a, b):
        n += whole[v]
        present += 1 if whole[v] > 0 else 0
    distance = 0.0
    running = 0.0
    for v in range(a, b):
        if whole[v] == 0:
            continue  # a value that no row has is no step of the order
        gap = hist[v] / size - whole[v] / n
        running += gap
        distance += abs(running) if ordered else abs(gap)
    # the last running sum is 0; a single value leaves nothing to differ
    return distance / max(present - 1, 1) if ordered else distance / 2.0


@helper
def group_holds(hist: Any, whole: Any, first: Any, kinds: Any, numbers: Any) -> bool:
    """Return whether a group with these histograms satisfies every model."""
    for m in range(kinds.shape[0]):
        kind = kinds[m]
        value = numbers[m, 0]
        s = int(numbers[m, 2])
        a = first[s]
        b = first[s + 1]
        size = np.int64(0)
        most = np.int64(0)
        distinct = 0
        for v in range(a, b):
            size += hist[v]
            most = max(most, hist[v])
            distinct += 1 if hist[v] > 0 else 0
        if size == 0:
            continue
        if kind == FREQUENCY:
            holds = most * value <= size * (1.0 + TOLERANCE)
        elif kind == ALPHA:
            holds = most <= value * size * (1.0 + TOLERANCE)
        elif kind == DISTINCT:
            holds = distinct + TOLERANCE >= value
        elif kind == ENTROPY:
            entropy = 0.0
            for v in range(a, b):
                if hist[v] > 0:
                    p = hist[v] / size
                    entropy -= p * math.log(p)
            holds = entropy + TOLERANCE >= math.log(value)
        elif kind == RECURSIVE:
            holds = _recursive_holds(hist, a, b, value, numbers[m, 1])
        else:
            holds = _distance(hist, whole, a, b, size, kind == T_ORDERED) <= value + TOLERANCE
        if not holds:
            return False
    return True
