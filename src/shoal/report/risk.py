"""Computes how likely it is that a person is found, in the usual models of attackers.

All numbers are aggregates over class sizes: how many rows agree in every quasi-identifier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ASSUMED_FRACTIONS = (0.01, 0.1, 0.5, 1.0)
"""Shares of the population that are shown where nobody has said what the table is a sample of."""

_LIMITS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3334, 0.5, 1.0)
_BANDS = ("≤1", "≤2", "≤5", "≤10", "≤20", "≤33", "≤50", "100")


@dataclass(frozen=True)
class Risk:
    """Chances that somebody who knows the quasi-identifiers of people finds their rows.

    Attributes:
        rows: number of rows.
        classes: number of different tuples of quasi-identifiers.
        uniques: rows that agree with no other row.
        prosecutor_highest: chance for the person who is easiest to find, if the attacker knows
            that the person is in the table: 1 ÷ the smallest class.
        prosecutor_mean: mean over the rows of 1 ÷ class size.
        journalist_highest: the same if the attacker does not know who is in the table and looks
            the person up in the population, of which the table is a random sample: a class of
            f rows stands for f ÷ fraction people. Without a fraction it equals the prosecutor's.
        marketer: share of rows that an attacker who matches every row to a list of everybody
            gets right on average: classes ÷ rows (times the fraction).
    """

    rows: int
    classes: int
    uniques: int
    prosecutor_highest: float
    prosecutor_mean: float
    journalist_highest: float
    marketer: float


def check_fraction(fraction: object) -> float | None:
    """Return the share of the population that the table holds.

    Raises:
        OptionError: it is no share.
    """
    if fraction is None:
        return None
    number = isinstance(fraction, int | float | np.number) and not isinstance(fraction, bool)
    if not number or not 0 < float(fraction) <= 1:  # type: ignore[arg-type]  # it is a number here
        raise OptionError(
            "sampling_fraction must be the share of the population that is in the table, "
            "above 0 and at most 1, got {fraction!r}.",
            fraction=fraction,
        )
    return float(fraction)  # type: ignore[arg-type]  # as above


def risk_of(sizes: Sequence[tuple[int, int]], fraction: float | None = None) -> Risk:
    """Return the risks of a table from its class sizes.

    Args:
        sizes: (rows of a class, how many classes of that size there are).
        fraction: share of the population that is in the table, if known.
    """
    rows = sum(size * count for size, count in sizes)
    classes = sum(count for _, count in sizes)
    smallest = min((size for size, _ in sizes), default=1)
    share = 1.0 if fraction is None else fraction
    mean = classes / max(rows, 1)
    return Risk(
        rows=rows,
        classes=classes,
        uniques=sum(count for size, count in sizes if size == 1),
        prosecutor_highest=1 / smallest,
        prosecutor_mean=mean,
        journalist_highest=share / smallest,
        marketer=mean * share,
    )


def coarse_sizes(sizes: Sequence[tuple[int, int]], k: int) -> tuple[tuple[int, int], ...]:
    """Return class sizes of the original as they may be told: rounded, in steps of k rows or more.

    The report is handed on, and how many rows agree in the original is not to be seen in the
    release. So sizes above five are told as the nearest of 5, 7, 10, 15, 20, 30, 50, 70, …, and the
    rows of each size in steps of k rows or of one per cent of all, whichever is more. Nobody
    who knows all rows but one learns about that one from the difference of such numbers, but where
    a number happens to lie on the edge of a step. A size that occurs is never told as none.
    """
    n_rows = sum(size * number for size, number in sizes)
    step = max(k, -(-n_rows // 100))
    rows: dict[int, int] = {}
    for size, number in sizes:
        shown = size if size <= 5 else _nearest(size)
        rows[shown] = rows.get(shown, 0) + size * number
    return tuple(
        (size, max(round(step * max(round(count / step), 1) / size), 1))
        for size, count in sorted(rows.items())
    )


def _nearest(size: int) -> int:
    power = int("1" + "0" * (len(str(size)) - 1))
    marks = [each * power // 10 for each in (10, 15, 20, 30, 50, 70, 100)]
    return min(marks, key=lambda mark: abs(mark - size))


def rows_by_risk(sizes: Sequence[tuple[int, int]]) -> list[tuple[str, float]]:
    """Return the share of rows in each band (per cent) of the prosecutor's risk, lowest first."""
    size = np.array([each for each, _ in sizes], dtype=np.float64)
    rows = np.array([each * count for each, count in sizes], dtype=np.float64)
    # The band of 1 % holds classes of 100 rows, although 1/100 may be a rounding above 0.01.
    band = np.searchsorted(np.array(_LIMITS) + 1e-9, 1 / size) if len(size) else size.astype(int)
    shares = np.bincount(band, weights=rows, minlength=len(_BANDS)) / max(float(rows.sum()), 1.0)
    return list(zip(_BANDS, shares.tolist(), strict=True))


def population_uniques(sizes: Sequence[tuple[int, int]], fraction: float) -> float:
    """Estimate how many rows belong to people who are unique in the population.

    Zayatz's estimator: n_1 sample uniques times the probability that a sample unique is unique
    in the population, which is by Bayes' rule

        P(F = 1 | f = 1) = P(F = 1) P(f = 1 | F = 1) ÷ Σ_F P(F) P(f = 1 | F),

    where f and F are the sizes of a class in the sample and in the population, the distribution
    of F is taken to be that of f, and P(f = 1 | F) = F π (1 − π)^(F−1) is the chance that a
    random sample of the share π holds one of F people (the binomial limit of the
    hypergeometric). So the estimate is n_1² ÷ Σ_F n_F F (1 − π)^(F−1).

    Assumptions: the table is a simple random sample, and classes are as large in the population
    as in the table. They are larger, so a small share gives too many uniques: the estimate errs
    on the careful side. Without sample uniques it is 0.

    References:
        Zayatz, *Estimation of the Percent of Unique Population Elements on a Microdata File
        Using the Sample*, US Bureau of the Census, 1991.
    """
    counts = dict(sizes)
    uniques = counts.get(1, 0)
    if not uniques:
        return 0.0
    size: NDArray[Any] = np.array(list(counts), dtype=np.float64)
    number = np.array(list(counts.values()), dtype=np.float64)
    expected = float(np.sum(number * size * (1.0 - fraction) ** (size - 1)))
    return uniques * uniques / expected
