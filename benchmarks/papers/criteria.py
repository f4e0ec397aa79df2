"""What words of the papers are taken for, with two sides: too little fails as too much does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ALMOST_LINEAR = (0.85, 1.15)
QUADRATIC = (1.8, 2.2)
INVERSE = (-1.2, -0.8)


def about(value: float, other: float, within: float) -> bool:
    """Return whether two numbers are about the same: neither is above the other by more."""
    return abs(value - other) <= within


def nearly(ratio: float, within: float) -> bool:
    """Return whether a ratio is nearly 1: at most so far above, and as far below."""
    return 1 / (1 + within) <= ratio <= 1 + within


def slightly_more(ratio: float, most: float) -> bool:
    """Return whether it is more, but not by much: less fails, and so does much more."""
    return 1 < ratio <= 1 + most


def inside(value: float, bounds: tuple[float, float]) -> bool:
    """Return whether a value is neither below nor above bounds."""
    return bounds[0] <= value <= bounds[1]


def r_squared(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the share of the variance that a straight line explains, from 0 to 1."""
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    total = float(((ys - ys.mean()) ** 2).sum())
    if total == 0:
        return 1.0
    slope, start = np.polyfit(xs, ys, 1)
    return 1 - float(((ys - start - slope * xs) ** 2).sum()) / total


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return how steep the line is."""
    return float(np.polyfit(np.asarray(x, float), np.asarray(y, float), 1)[0])


def linear(x: Sequence[float], y: Sequence[float], least: float) -> bool:
    """Return whether y grows along a line: it rises, and a line explains enough of it."""
    return slope(x, y) > 0 and r_squared(x, y) >= least


def reproduced(printed: float, variants: Iterable[float], within: float) -> list[bool]:
    """Return the two cases by which a printed number is judged against variants of a method.

    The first is that every variant is about the number, the second that the number lies in the
    range of the variants. None is chosen because it comes nearest.
    """
    found = list(variants)
    low, high = min(found) - within, max(found) + within
    return [all(about(value, printed, within) for value in found), low <= printed <= high]


def range_of(variants: dict[str, Any], what: str, form: str = ".3f") -> str:
    """Return the least and the most of variants, with their names."""
    low = min(variants, key=lambda name: variants[name][what])
    high = max(variants, key=lambda name: variants[name][what])
    return f"{variants[low][what]:{form}} ({low}) to {variants[high][what]:{form}} ({high})"
