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
def _recursive_holds(hist: Any, a: int, b: int, size: int, l: float, c: float) -> bool:
    """r_1 < c · (r_l + … + r_m), with the counts r in falling order."""
    top = 0
    for v in range(a, b):
        top = max(top, hist[v])
    skip = int(math.ceil(l - TOLERANCE)) - 1
    counts = np.sort(hist[a:b])[::-1]
    tail = 0
    for v in range(min(skip, b - a), b - a):
        tail += counts[v]
    return top < c * tail - TOLERANCE


@helper
def group_holds(
    hist: Any, whole: Any, first: Any, kinds: Any, numbers: Any
) -> bool:
    """Return whether a group with these histograms satisfies every model."""
    for m in range(kinds.shape[0]):
        kind = kinds[m]
        value = numbers[m, 0]
        s = int(numbers[m, 2])
        a = first[s]
        b = first[s + 1]
        size = 0
        most = 0
        distinct = 0
        for v in range(a, b):
            size += hist[v]
            most = max(most, hist[v])
            distinct += 1 if hist[v] > 0 else 0
        if size == 0:
            continue
        if kind == FREQUENCY:
            if most * value > size * (1.0 + TOLERANCE):
                return False
        elif kind == ALPHA:
            if most > value * size * (1.0 + TOLERANCE):
                return False
        elif kind == DISTINCT:
            if distinct + TOLERANCE < value:
                return False
        elif kind == ENTROPY:
            entropy = 0.0
            for v in range(a, b):
                if hist[v] > 0:
                    p = hist[v] / size
                    entropy -= p * math.log(p)
            if entropy + TOLERANCE < math.log(value):
                return False
        elif kind == RECURSIVE:
            if not _recursive_holds(hist, a, b, size, value, numbers[m, 1]):
                return False
        else:
            n = 0
            for v in range(a, b):
                n += whole[v]
            distance = 0.0
            running = 0.0
            for v in range(a, b):
                gap = hist[v] / size - whole[v] / n
                running += gap
                distance += abs(gap) if kind == T_EQUAL else abs(running)
            if kind == T_EQUAL:
                distance /= 2.0
            else:
                # the last running sum is 0; a single value leaves nothing to differ
                distance /= max(b - a - 1, 1)
            if distance > value + TOLERANCE:
                return False
    return True
