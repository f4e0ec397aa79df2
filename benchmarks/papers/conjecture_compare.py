"""How releases are compared: every comparison by its protocol, and what slices of them say."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.papers.conjecture_models import MODELS, WEIGHTS
from benchmarks.papers.utility import NAMES, verdict
from benchmarks.papers.utility import SHOWN as SINGLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

METRICS = {"accuracy": "accuracy", "balanced": "balanced accuracy", "auc": "AUC"}
OTHERS = ("mi", "lm", "ncp")
"""The measures that the conjecture is about: information loss that does not look at the class."""
SHOWN = {**SINGLE, **{f"wmi {w}": f"wMI, w = {w}" for w in WEIGHTS}}
PROTOCOL = {
    "reading": "reading of a cell",
    "model": "model",
    "k": "k",
    "other": "other measure",
    "setting": "kind of recoding",
}
"""What can be chosen when releases are compared."""
KINDS = ("better", "even", "worse")


@dataclass(frozen=True)
class Case:
    """One comparison: PMI minus another release under one protocol, with its half width."""

    setting: str
    other: str
    k: str
    reading: str
    model: str
    difference: float
    half: float

    @property
    def kind(self) -> str:
        """Whether PMI is better, even or worse."""
        return verdict(self.difference, self.half)


def over(cell: dict[str, Any], reading: str, metric: str) -> float:
    """Return a metric of a release, averaged over the models."""
    return mean(cell["models"][reading][model][metric] for model in MODELS)


def mean_over(cell: dict[str, Any], reading: str, metric: str) -> tuple[float, float]:
    """Return PMI minus another release: the models' mean difference and mean half width."""
    found = [cell["models"][reading][m][metric] for m in MODELS]
    return mean(d for d, _ in found), mean(h for _, h in found)


def cases(results: dict[str, Any], metric: str, others: Sequence[str] = OTHERS) -> list[Case]:
    """Return all comparisons of PMI with other measures under a metric."""
    return [
        Case(NAMES[name], SHOWN[other], f"k = {k}", reading, model, *found_metrics[metric])
        for name, found in results["settings"].items()
        for other, row in found["against"].items()
        if other in others
        for k, cell in row.items()
        for reading, models in cell["models"].items()
        for model, found_metrics in models.items()
    ]


def rule_cases(results: dict[str, Any]) -> list[Case]:
    """Return all comparisons of rules: how they are mined stands for the reading."""
    return [
        Case(NAMES[name], SHOWN[other], f"k = {k}", mined, "rules", *case)
        for name, found in results["settings"].items()
        for other, row in found["against"].items()
        if other in OTHERS
        for k, cell in row.items()
        for mined, case in cell["rules"].items()
    ]


def tally(found: Iterable[Case]) -> str:
    """Return how many comparisons are better, even and worse, and the mean difference."""
    listed = list(found)
    kinds = [case.kind for case in listed]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in KINDS)
    return f"{counts} of {len(listed)}, mean {mean(case.difference for case in listed):+.3f}"


def direction(found: Iterable[Case]) -> str:
    """Return "better", "even" or "worse" if more than half of the comparisons are, else "mixed"."""
    kinds = [case.kind for case in found]
    for kind in KINDS:
        if kinds.count(kind) * 2 > len(kinds):
            return kind
    return "mixed"


def slices(found: Sequence[Case], what: str) -> dict[str, list[Case]]:
    """Return the comparisons by one choice of the protocol."""
    parts: dict[str, list[Case]] = {}
    for case in found:
        parts.setdefault(getattr(case, what), []).append(case)
    return parts


def depends(found: Sequence[Case]) -> str:
    """Return what is so in general and what depends on the protocol.

    General is what more than half of the comparisons say under every choice of every part of the
    protocol; a part under which they say different things is named with what each choice gives.
    """
    whole = direction(found)
    turned = {}
    for what, shown in PROTOCOL.items():
        by = {name: direction(part) for name, part in slices(found, what).items()}
        if set(by.values()) != {whole}:
            turned[shown] = by
    if not turned:
        every = ", ".join(PROTOCOL.values())
        return f"In general so: PMI is {whole} in most comparisons for every {every}."
    parts = [
        f"by {shown} " + ", ".join(f"{name} {kind}" for name, kind in by.items())
        for shown, by in turned.items()
    ]
    same = [shown for shown in PROTOCOL.values() if shown not in turned]
    held = f"; {whole} for every {' and '.join(same)}" if same else ""
    return (
        f"Depends on the protocol (in most comparisons PMI is {whole}{held}): {'; '.join(parts)}."
    )
