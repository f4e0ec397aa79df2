"""MDAV (Domingo-Ferrer and Mateo-Sanz) on standardised codes, to see how others count LM.

Categories become the ranks of their names and all columns are standardised, as is usual before
microaggregation elsewhere. Shoal's own `mdav` does not average the codes of two countries, which is
no country: values that have no order are equal or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import shoal

if TYPE_CHECKING:
    from numpy.typing import NDArray


def scores(frame: Any, k: int, roles: dict[str, Any], sets: dict[str, Any]) -> dict[str, Any]:
    """Return the LM of MDAV's groups with mixed categories as lost, and as sets of values."""
    names = roles["quasi_identifiers"]
    groups = mdav(_standardised(frame, names), k)
    found = {}
    for kinds, given in (("flat", roles), ("set", sets)):
        scored = shoal.score(
            frame, groups, quasi_identifiers=names, kinds=given.get("kinds"), measures=["lm"]
        )
        found[kinds] = scored["lm"]
    return found


def mdav(points: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the group of every point: two groups around the two far ends, again and again."""
    left = np.arange(len(points))
    groups = np.full(len(points), -1)
    n_groups = 0

    def take(centre: NDArray[np.float64]) -> None:
        nonlocal left, n_groups
        distance = ((points[left] - centre) ** 2).sum(axis=1)
        near = np.argpartition(distance, k - 1)[:k]
        groups[left[near]] = n_groups
        n_groups += 1
        left = np.delete(left, near)

    def furthest(centre: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = points[left][
            ((points[left] - centre) ** 2).sum(axis=1).argmax()
        ]
        return found

    while len(left) >= 3 * k:
        first = furthest(points[left].mean(axis=0))
        second = furthest(first)
        take(first)
        take(second)
    if len(left) >= 2 * k:
        take(furthest(points[left].mean(axis=0)))
    groups[left] = n_groups
    return groups


def _standardised(frame: Any, names: list[str]) -> NDArray[np.float64]:
    columns = [
        frame[name] if frame[name].dtype.is_numeric() else frame[name].cast(pl.String).rank("dense")
        for name in names
    ]
    codes = np.stack([column.to_numpy().astype(np.float64) for column in columns], axis=1)
    spread: NDArray[np.float64] = (codes - codes.mean(axis=0)) / codes.std(axis=0)
    return spread
