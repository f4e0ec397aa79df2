"""Counts and distributions: what an analyst gets from a release, beside the truth."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.study.use.views import View

__all__ = ["ask_counts", "associations", "one_way", "two_way"]

SELECTIVITIES = (0.01, 0.05, 0.1, 0.25)
_QUERIES = 25
_PAIRS = 30


def ask_counts(views: Sequence[View], chance: np.random.Generator) -> list[dict[str, Any]]:
    """Return the errors of random questions "how many people have …?".

    A question names 1 to 4 columns and some parts of each, so that about the wanted share of the
    people fits. The release answers with expected counts. The error is |answer - truth| over the
    truth, or over a thousandth of the rows where fewer fit.
    """
    n_rows = len(views[0].before)
    found = []
    for n_columns in range(1, min(4, len(views)) + 1):
        for wanted in SELECTIVITIES:
            errors, truths = [], []
            for _ in range(_QUERIES):
                true = np.ones(n_rows, np.bool_)
                answer = np.ones(len(views[0].codes))
                for number in chance.permutation(len(views))[:n_columns].tolist():
                    parts = _pick(views[number], wanted ** (1 / n_columns), chance)
                    true &= parts[views[number].before]
                    answer *= (views[number].within @ parts)[views[number].codes]
                truth = int(true.sum())
                truths.append(truth / n_rows)
                errors.append(abs(float(answer.sum()) - truth) / max(truth, n_rows / 1000))
            found.append(
                {
                    "columns": n_columns,
                    "selectivity": wanted,
                    "reached": float(np.mean(truths)),
                    "median_error": float(np.median(errors)),
                    "mean_error": float(np.mean(errors)),
                    "n": _QUERIES,
                }
            )
    return found


def _pick(view: View, wanted: float, chance: np.random.Generator) -> NDArray[np.bool_]:
    """Return some parts of a column that hold about so many people; of a line side by side."""
    share: NDArray[Any] = np.bincount(view.before, minlength=view.n_parts) / len(view.before)
    order = np.arange(view.n_parts)
    order = np.roll(order, -int(chance.integers(view.n_parts))) if view.line else order
    if not view.line:
        order = chance.permutation(order)
    reached = np.cumsum(share[order])
    parts = np.zeros(view.n_parts, np.bool_)
    parts[order[: int(np.searchsorted(reached, wanted)) + 1]] = True
    return parts


def one_way(views: Sequence[View]) -> dict[str, float]:
    """Return how far each column's distribution is off: ½ Σ |p - q| over its parts."""
    result = {}
    for view in views:
        before, after = view.shares()
        result[view.name] = float(np.abs(before - after).sum() / 2)
    return result


def _tables(one: View, two: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares of two columns together, in the original and in the release."""
    before = np.zeros((one.n_parts, two.n_parts))
    np.add.at(before, (one.before, two.before), 1.0)
    pairs, count = np.unique(one.codes * len(two.within) + two.codes, return_counts=True)
    first, second = np.divmod(pairs, len(two.within))
    after = (one.within[first] * count[:, None]).T @ two.within[second]
    return before / max(before.sum(), 1), after / max(after.sum(), 1e-12)


def two_way(views: Sequence[View], chance: np.random.Generator) -> dict[str, float]:
    """Return how far the joint distributions of pairs of columns are off: mean and worst."""
    chosen = list(combinations(range(len(views)), 2))
    if len(chosen) > _PAIRS:
        chosen = [chosen[i] for i in chance.choice(len(chosen), _PAIRS, replace=False).tolist()]
    off = [np.abs(np.subtract(*_tables(views[a], views[b]))).sum() / 2 for a, b in chosen]
    return {"mean": float(np.mean(off)), "worst": float(np.max(off))} if off else {}


def associations(views: Sequence[View]) -> dict[str, float]:
    """Return how far associations are off: Pearson's r of two lines, Cramér's V of others."""
    off = []
    for one, two in combinations(views, 2):
        if one.line and two.line:
            before = _pearson(one.middles, two.middles)
            after = _pearson(one.published, two.published)
        else:
            before, after = (_cramer(each) for each in _tables(one, two))
        off.append(abs(before - after))
    return {"mean": float(np.mean(off)), "worst": float(np.max(off))} if off else {}


def _pearson(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    known = ~(np.isnan(one) | np.isnan(two))
    one, two = one[known], two[known]
    if len(one) < 2 or one.std() == 0 or two.std() == 0:
        return 0.0
    return float(np.corrcoef(one, two)[0, 1])


def _cramer(shares: NDArray[np.float64]) -> float:
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    shares = shares[rows > 0][:, columns > 0]
    expected = np.outer(rows[rows > 0], columns[columns > 0])
    smaller = min(shares.shape) - 1
    if smaller < 1:
        return 0.0
    return float(np.sqrt(((shares - expected) ** 2 / expected).sum() / smaller))
