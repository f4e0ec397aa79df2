"""How many people are unique in the population: three estimates from the groups of a sample.

Given are the sizes of the groups (rows that agree in all quasi-identifiers), n rows in u groups,
u_1 of them of one row, and the share π = n / N of the population that is in the table. Each
estimate is the share of the rows whose people are unique in the population; it is 0 where no group
has one row, since who is not unique in the sample is not unique in the population.

- **zayatz**: u_1 times the chance that a sample unique is a population unique, by Bayes' rule with
  the sizes of the sample in place of those of the population. Always there; too high for small
  fractions.
- **pitman**: the population is one draw from Pitman's sampling formula with parameters θ and α.
  They are those of largest likelihood for the sample, and the expected number of uniques among N is
  N · Γ(θ + 1) / Γ(θ + α) · Γ(θ + α + N − 1) / Γ(θ + N), about N^α · Γ(θ + 1) / Γ(θ + α). None
  where the likelihood is largest at an end: α = 0 or 1, or θ without bound.
- **snb**: sizes in the population are 1 + a negative binomial number with parameters a and b, K
  groups in all; the sample has each person with chance π. K, a and b are those for which N, u and
  u_1 are as expected, and K · b^a is the expected number of uniques. No estimate where no
  parameters do that.

References:
    Zayatz, *Estimation of the Percent of Unique Population Elements on a Microdata File Using the
    Sample*, 1991. Hoshino, *Applying Pitman's Sampling Formula to Microdata Disclosure Risk
    Assessment*, 2001. Chen and Keller-McNulty, *Estimation of Identification Disclosure Risk in
    Microdata*, 1998. Dankar, El Emam, Neisa and Roffey, *Estimating the Re-identification Risk of
    Clinical Data Sets*, 2012 (which of them to take).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


_SMALL_FRACTION = 0.1
_EDGE = 1e-6


def estimate_uniques(
    sizes: NDArray[np.integer[Any]], fraction: float, estimator: str = "auto"
) -> float | None:
    """Return the share of the rows whose people are estimated to be unique in the population.

    ``auto`` takes Pitman's estimate up to a fraction of a tenth and the slide negative binomial
    one above, and Zayatz's where that does not converge. None if the one asked for does not.
    """
    if not (sizes == 1).any():
        return 0.0
    if fraction >= 1:
        return float(np.count_nonzero(sizes == 1) / sizes.sum())
    if estimator != "auto":
        return ESTIMATORS[estimator](sizes, fraction)
    first = pitman if fraction <= _SMALL_FRACTION else snb
    found = first(sizes, fraction)
    return zayatz(sizes, fraction) if found is None else found


def zayatz(sizes: NDArray[np.integer[Any]], fraction: float) -> float:
    """Return Zayatz's estimate: u_1² / Σ_F u_F F (1 − π)^(F − 1), as a share of the rows."""
    size, number = np.unique(np.asarray(sizes, np.float64), return_counts=True)
    alone = float(number[size == 1].sum())
    if not alone:
        return 0.0
    expected = float(np.sum(number * size * (1.0 - fraction) ** (size - 1)))
    return alone * alone / expected / float(np.sum(sizes))


def pitman(sizes: NDArray[np.integer[Any]], fraction: float) -> float | None:
    """Return the estimate by Pitman's sampling formula; None if it does not converge."""
    size, number = np.unique(np.asarray(sizes, np.int64), return_counts=True)
    n, u = int(np.sum(sizes)), len(sizes)
    if u < 2 or u == n:
        return None

    def best_theta(alpha: float) -> tuple[float, float]:
        """Return the likelihood and the logarithm of θ + α, where that is best."""

        def at(log: float) -> float:
            theta = math.exp(log) - alpha
            ratio = theta / alpha
            grown = math.lgamma(ratio + u) - math.lgamma(ratio + 1) + (u - 1) * math.log(alpha)
            return grown - math.lgamma(theta + n) + math.lgamma(theta + 1)

        log = _highest(at, math.log(1e-4), math.log(1e3 * n))
        inside = sum(
            int(many) * (math.lgamma(each - alpha) - math.lgamma(1 - alpha))
            for each, many in zip(size.tolist(), number.tolist(), strict=True)
        )
        return at(log) + inside, log

    alpha = _highest(lambda each: best_theta(each)[0], _EDGE, 1 - _EDGE)
    log = best_theta(alpha)[1]
    theta = math.exp(log) - alpha
    if not (1e-3 < alpha < 1 - 1e-3) or log > math.log(900 * n):
        return None
    people = n / fraction
    grown = math.lgamma(theta + alpha + people - 1) - math.lgamma(theta + people)
    return min(math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + grown), 1.0)


def snb(sizes: NDArray[np.integer[Any]], fraction: float) -> float | None:
    """Return the estimate by the slide negative binomial model; None if it does not converge."""
    n, u = int(np.sum(sizes)), len(sizes)
    alone = int(np.count_nonzero(np.asarray(sizes) == 1))
    people, left = n / fraction, 1.0 - fraction

    def groups(a: float, b: float) -> float:
        return people / (1.0 + a * (1.0 - b) / b)

    def groups_in_sample(a: float, b: float) -> float:
        """Return how many groups of the population have somebody in the sample."""
        return groups(a, b) * (1.0 - left * math.pow(b / (1.0 - (1.0 - b) * left), a))

    def groups_sampled_once(a: float, b: float) -> float:
        below = 1.0 - (1.0 - b) * left
        rate = fraction * math.pow(b / below, a)
        return groups(a, b) * rate * (1.0 + left * a * (1.0 - b) / below)

    def right_a(b: float) -> float | None:
        return _root(
            lambda log: groups_in_sample(math.exp(log), b) - u, math.log(1e-6), math.log(1e6)
        )

    def off(b: float) -> float | None:
        log = right_a(b)
        return None if log is None else groups_sampled_once(math.exp(log), b) - alone

    marks = 1.0 / (1.0 + np.exp(-np.linspace(-12.0, 12.0, 121)))
    before: tuple[float, float] | None = None
    for b in marks.tolist():
        here = off(b)
        if here is not None and before is not None and here * before[1] <= 0:
            found = _root(lambda each: off(each) or 0.0, before[0], b)
            log = None if found is None else right_a(found)
            if found is not None and log is not None:
                a = math.exp(log)
                return min(groups(a, found) * math.pow(found, a) / people, 1.0)
        before = None if here is None else (b, here)
    return None


ESTIMATORS: dict[str, Callable[[NDArray[np.integer[Any]], float], float | None]] = {
    "zayatz": zayatz,
    "pitman": pitman,
    "snb": snb,
}


def _highest(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one hill is highest, by golden sections."""
    golden = (math.sqrt(5) - 1) / 2
    one, other = high - golden * (high - low), low + golden * (high - low)
    at_one, at_other = function(one), function(other)
    for _ in range(60):
        if at_one > at_other:
            high, other, at_other = other, one, at_one
            one = high - golden * (high - low)
            at_one = function(one)
        else:
            low, one, at_one = one, other, at_other
            other = low + golden * (high - low)
            at_other = function(other)
    return (low + high) / 2


def _root(function: Callable[[float], float], low: float, high: float) -> float | None:
    """Return where a function changes its sign, by bisection; None if its ends have the same."""
    at_low, at_high = function(low), function(high)
    if at_low * at_high > 0:
        return None
    for _ in range(100):
        middle = (low + high) / 2
        at_middle = function(middle)
        if at_low * at_middle <= 0:
            high = middle
        else:
            low, at_low = middle, at_middle
    return (low + high) / 2
