"""Promises about the sizes of all groups together, written from their definitions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError
from shoal.publish.uniques import estimate_uniques

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["judge_counts", "judge_sizes"]

_SLACK = Fraction(1, 10**9)

Judged = tuple[float, bool, "NDArray[np.bool_]"]


def judge_sizes(promise: Mapping[str, Any]) -> Callable[..., Judged]:
    """Return the rule for the table of a promise of the model ``population-risk``."""

    def judge(
        table: pl.DataFrame, groups: NDArray[np.int64], in_group: NDArray[np.int64]
    ) -> Judged:
        del table
        size, place = np.unique(in_group, return_inverse=True)
        n_groups = np.bincount(place)
        rows = np.bincount(place[groups], minlength=len(size))
        reached, kept, broken = judge_counts(promise, size, n_groups, rows)
        return reached, kept, broken[place][groups]

    return judge


def judge_counts(
    promise: Mapping[str, Any],
    size: NDArray[np.integer[Any]],
    n_groups: NDArray[np.integer[Any]],
    rows: NDArray[np.integer[Any]],
) -> Judged:
    """Return the number reached, whether that is enough, and which sizes break the promise.

    Args:
        promise: the table of a promise of the model ``population-risk``.
        size: the different sizes of groups, in people.
        n_groups: how many groups are of each.
        rows: how many rows are in them.
    """
    fraction = Fraction(promise.get("sampling_fraction") or 1)
    if promise.get("population_size"):
        # who has several rows is counted in several groups, at most once in each
        people = sum(int(f) * int(n) for f, n in zip(size, n_groups, strict=True))
        fraction = min(Fraction(people, promise["population_size"]), Fraction(1))
    limit = Fraction(promise["limit"]) * (1 + _SLACK)
    kind = promise.get("kind", "average")
    if kind == "uniques":
        estimator = promise.get("estimator", "auto")
        share = estimate_uniques(np.repeat(size, n_groups), float(fraction), estimator)
        if share is None:
            raise OptionError(
                f"The estimator {estimator!r} does not converge for the sizes of these groups; "
                "use estimator='zayatz' or 'auto'."
            )
        return share, share <= limit, np.asarray(size == 1)
    if kind == "highest":
        highest = fraction / int(size.min())
        small = np.array([fraction / int(each) > limit for each in size])
        return float(highest), highest <= limit, small
    total = sum((Fraction(int(r), int(f)) for r, f in zip(rows, size, strict=True)), Fraction(0))
    mean = fraction * total / int(rows.sum())
    return float(mean), mean <= limit, np.full(len(size), mean > limit)
