"""How releases are compared: names, intervals of paired differences, and what they say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.papers.conjecture_models import MODELS

METRICS = {"accuracy": "accuracy", "balanced": "balanced accuracy", "auc": "AUC"}
RULES = ("shares", "certain")
OTHERS = ("mi", "lm", "ncp")
"""The measures that the conjecture is about: information loss that does not look at the class."""
SHOWN = {
    "pmi": "PMI",
    "mi": "MI",
    "lm": "LM",
    "ncp": "NCP",
    "wmi 0.25": "wMI, w = 0.25",
    "wmi 0.5": "wMI, w = 0.5",
    "wmi 0.75": "wMI, w = 0.75",
}
NAMES = {
    "taxonomies": "eight columns with taxonomies",
    "suppression": "14 columns, kept or suppressed",
}
Case = tuple[float, float]


def paired(differences: Sequence[float], share: float) -> list[float]:
    """Return the mean of paired differences and the half width of its 95 % interval.

    Splits share training rows, so the variance of the mean is (1 ÷ splits + test ÷ train) times
    that of the differences (Nadeau and Bengio 2003), not 1 ÷ splits.
    """
    from scipy.stats import t

    values = np.asarray(differences, float)
    if len(values) < 2:
        return [float(values.mean()), float("inf")]
    error = np.sqrt((1 / len(values) + share) * values.var(ddof=1))
    return [float(values.mean()), float(t.ppf(0.975, len(values) - 1) * error)]


def verdict(difference: float, half: float) -> str:
    """Return "better" or "worse" if the interval excludes 0, else "even"."""
    if difference - half > 0:
        return "better"
    return "worse" if difference + half < 0 else "even"


def over(cell: dict[str, Any], reading: str, metric: str) -> float:
    """Return a metric of a release, averaged over the models."""
    return mean(cell["models"][reading][model][metric] for model in MODELS)


def cases(
    results: dict[str, Any],
    metric: str,
    reading: str | None = None,
    model: str | None = None,
    others: Sequence[str] = OTHERS,
) -> list[Case]:
    """Return all comparisons of PMI with other measures under a metric."""
    return [
        tuple(found_metrics[metric])
        for found in results["settings"].values()
        for other, row in found["against"].items()
        if other in others
        for cell in row.values()
        for r, models in cell["models"].items()
        if reading in (None, r)
        for m, found_metrics in models.items()
        if model in (None, m)
    ]


def rule_cases(results: dict[str, Any]) -> list[Case]:
    """Return all comparisons of rules."""
    return [
        tuple(case)
        for found in results["settings"].values()
        for other, row in found["against"].items()
        if other in OTHERS
        for cell in row.values()
        for case in cell["rules"].values()
    ]


def tally(found: Iterable[Case]) -> str:
    """Return how many comparisons are better, even and worse, and the mean difference."""
    listed = list(found)
    kinds = [verdict(*case) for case in listed]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("better", "even", "worse"))
    return f"{counts} of {len(listed)}, mean {mean(case[0] for case in listed):+.3f}"


def direction(found: Iterable[Case]) -> str:
    """Return "better" or "worse" if more than half of the comparisons are, else "mixed"."""
    kinds = [verdict(*case) for case in found]
    for kind in ("better", "worse", "even"):
        if kinds.count(kind) * 2 > len(kinds):
            return kind
    return "mixed"
