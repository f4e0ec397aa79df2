"""The conjecture that Goldberger and Tassa leave open (section 9): do PMI releases predict better?

Releases of training rows are made with several measures; classifiers and association rules made
from them are judged by held-out original rows and by the rules of the original training rows.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.draw import figures
from benchmarks.papers.conjecture_claims import all_claims
from benchmarks.papers.conjecture_compare import (
    METRICS,
    NAMES,
    RULES,
    SHOWN,
    over,
    paired,
)
from benchmarks.papers.conjecture_models import FOLDS, MODELS, original, release
from benchmarks.papers.conjecture_page import lines
from benchmarks.papers.conjecture_readings import READINGS

if TYPE_CHECKING:
    from benchmarks.kept import Keep

TITLE = "The conjecture again: several readings of a cell, models, metrics and weights"
SPLITS = 3
"""How many of the folds are used: every release is made and read once per split."""
MAIN = ("pmi", "mi", "lm", "ncp")
PLAN: dict[str, dict[str, tuple[int, ...]]] = {
    "taxonomies": dict.fromkeys((*MAIN, "wmi 0.25", "wmi 0.75"), (50,)),
    # cells are kept or suppressed: ncp is lm
    "suppression": dict.fromkeys(("pmi", "mi", "lm"), (50,)),
}
"""The releases of a setting, and for which k: with more k the study takes as many times as long."""


def measure(keep: Keep, *, quick: bool) -> dict[str, Any]:
    """Make all releases, two at a time; no time is shown."""
    splits = 2 if quick else SPLITS
    plan = {
        name: {v: (10,) if quick else ks for v, ks in row.items()} for name, row in PLAN.items()
    }
    if quick:
        plan = {name: {v: row[v] for v in ("pmi", "mi", "lm")} for name, row in plan.items()}
    jobs: dict[str, Any] = {}
    for name, row in plan.items():
        for fold in range(splits):  # a split is whole before the next begins
            jobs[f"{name} original split={fold}"] = (original, (name, fold, quick))
            for variant, ks in row.items():
                for k in ks:
                    key = f"{name} {variant} k={k} split={fold}"
                    jobs[key] = (release, (name, variant, k, fold, quick))
    done = keep.many(jobs)
    results: dict[str, Any] = {"splits": splits, "folds": FOLDS, "settings": {}}
    for name, row in plan.items():
        base = [done[f"{name} original split={fold}"] for fold in range(splits)]
        cells = {
            variant: {
                str(k): [done[f"{name} {variant} k={k} split={fold}"] for fold in range(splits)]
                for k in ks
            }
            for variant, ks in row.items()
        }
        results["settings"][name] = _summary(base, cells)
    return results


def _summary(base: list[Any], cells: dict[str, Any]) -> dict[str, Any]:
    share = base[0]["test"] / base[0]["train"]
    return {
        "train": base[0]["train"],
        "test": base[0]["test"],
        "majority": mean(run["majority"] for run in base),
        "n_rules": mean(run["n_rules"] for run in base),
        "original": {
            m: {w: mean(run["models"]["mean"][m][w] for run in base) for w in METRICS}
            for m in MODELS
        },
        "cells": {
            variant: {k: _means(runs) for k, runs in row.items()} for variant, row in cells.items()
        },
        "against": {
            other: {
                k: _differences(cells["pmi"][k], runs, share)
                for k, runs in row.items()
                if k in cells["pmi"]
            }
            for other, row in cells.items()
            if other != "pmi"
        },
    }


def _means(runs: list[Any]) -> dict[str, Any]:
    return {
        "models": {
            r: {
                m: {w: mean(run["models"][r][m][w] for run in runs) for w in METRICS}
                for m in MODELS
            }
            for r in READINGS
        },
        "rules": {
            r: {w: mean(run["rules"][r][w] for run in runs) for w in runs[0]["rules"][r]}
            for r in RULES
        },
        "scores": {s: mean(run["scores"][s] for run in runs) for s in runs[0]["scores"]},
    }


def _differences(pmi: list[Any], other: list[Any], share: float) -> dict[str, Any]:
    """Return PMI minus the other release, paired by split: mean and half width per comparison."""
    pairs = list(zip(pmi, other, strict=True))
    return {
        "models": {
            r: {
                m: {
                    w: paired(
                        [a["models"][r][m][w] - b["models"][r][m][w] for a, b in pairs], share
                    )
                    for w in METRICS
                }
                for m in MODELS
            }
            for r in READINGS
        },
        "rules": {
            r: paired([a["rules"][r]["f1"] - b["rules"][r]["f1"] for a, b in pairs], share)
            for r in RULES
        },
    }


def draw(results: dict[str, Any], folder: Path) -> list[str]:
    """Draw the three metrics of every release by reading, models averaged."""
    panels = []
    for name, found in results["settings"].items():
        k = list(found["cells"]["pmi"])[-1]
        for metric in METRICS:
            series = {
                SHOWN[variant]: [
                    (place, over(row[k], reading, metric)) for place, reading in enumerate(READINGS)
                ]
                for variant, row in found["cells"].items()
                if k in row and variant in (*MAIN, "wmi 0.25")  # more looks than these are alike
            }
            panels.append(
                figures.Panel(
                    series,
                    "reading: " + ", ".join(f"{n} {r}" for n, r in enumerate(READINGS)),
                    f"{METRICS[metric]}, mean of the models",
                    f"{NAMES[name]}, k = {k}",
                    zero=False,
                )
            )
    return [figures.panels("conjecture", folder, panels)]


def section(results: dict[str, Any]) -> str:
    """Return the part of the page."""
    return "\n".join(lines(TITLE, results))


claims = all_claims
