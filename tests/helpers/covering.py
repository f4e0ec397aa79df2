"""A short list of rows that shows every pair of values: a covering array, made greedily."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product


def places(row):
    """Return the values of a row with their places; None is an empty place."""
    return [(place, value) for place, value in enumerate(row) if value is not None]


def pairs(factors, apart=lambda *_: False):
    """Return every pair of values of two factors that may meet, each value with its place."""
    return [
        pair
        for one, other in combinations(factors_with_places(factors), 2)
        for pair in product(one, other)
        if not apart(pair[0][1], pair[1][1])
    ]


def factors_with_places(factors):
    """Return the values of each factor with the place of the factor."""
    return [[(place, value) for value in values] for place, values in enumerate(factors)]


def covering(*factors, apart=lambda *_: False, seeds=()):
    """Return rows, one value of each factor in each, that show every pair of values.

    The rows depend on the arguments alone.

    Args:
        factors: the values of each place.
        apart: says of two values that they never meet.
        seeds: rows to begin with, because they are known to be dangerous; None is any value.
    """
    missing = dict.fromkeys(pairs(factors, apart))  # in order, unlike a set
    used, rows, waiting = Counter(), [], [list(seed) for seed in seeds]
    while waiting or missing:
        row = waiting.pop(0) if waiting else [None] * len(factors)
        if not places(row):
            for place, value in next(iter(missing)):
                row[place] = value
        for place, values in enumerate(factors):
            if row[place] is None:
                row[place] = _best(place, values, row, apart, missing, used)
        used.update(places(row))
        for pair in combinations(places(row), 2):
            missing.pop(pair, None)
        rows.append(tuple(row))
    return rows


def _best(place, values, row, apart, missing, used):
    """The value that shows most of what is missing beside the others; the rarest of several."""

    def worth(value):
        beside = [tuple(sorted([(place, value), other])) for other in places(row)]
        return sum(pair in missing for pair in beside), -used[place, value]

    return max((v for v in values if not any(apart(v, o) for _, o in places(row))), key=worth)
