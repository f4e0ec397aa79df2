"""Promises about the sizes of all groups together, written from their definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError
from shoal.publish.uniques import estimate_uniques

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["judge_sizes"]

_SLACK = Fraction(1, 10**9)

Judged = tuple[float, bool, "NDArray[np.bool_]"]


def judge_sizes(promise: Mapping[str, Any]) -> Callable[..., Judged]:
    """Return the rule for the table of a promise of the model ``population-risk``."""

    def judge(
        table: pl.DataFrame, groups: NDArray[np.int64], in_group: NDArray[np.int64]
    ) -> Judged:
        del table
        n_rows = len(groups)
        fraction = Fraction(promise.get("sampling_fraction") or 1)
        if promise.get("population_size"):
            # who has several rows is counted in several groups, at most once in each
            fraction = min(Fraction(int(in_group.sum()), promise["population_size"]), Fraction(1))
        limit = Fraction(promise["limit"]) * (1 + _SLACK)
        kind = promise.get("kind", "average")
        if kind == "uniques":
            estimator = promise.get("estimator", "auto")
            share = estimate_uniques(in_group, float(fraction), estimator)
            if share is None:
                raise OptionError(
                    f"The estimator {estimator!r} does not converge for the sizes of these groups; "
                    "use estimator='zayatz' or 'auto'."
                )
            return share, share <= limit, (in_group == 1)[groups]
        if kind == "highest":
            highest = fraction / int(in_group.min())
            small = np.array([fraction / int(each) > limit for each in in_group.tolist()])
            return float(highest), highest <= limit, small[groups]
        rows = np.bincount(groups, minlength=len(in_group))
        size, place = np.unique(in_group, return_inverse=True)
        of_size = np.bincount(place, weights=rows).astype(np.int64)
        total = sum(
            (Fraction(int(r), int(f)) for r, f in zip(of_size, size, strict=True)), Fraction(0)
        )
        mean = fraction * total / n_rows
        return float(mean), mean <= limit, np.full(n_rows, mean > limit)

    return judge
