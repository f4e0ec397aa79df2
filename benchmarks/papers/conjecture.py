"""The conjecture of `utility` again: several readings of a cell, models, metrics and weights."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.draw import figures
from benchmarks.papers.conjecture_claims import all_claims
from benchmarks.papers.conjecture_compare import METRICS, OTHERS, SHOWN, mean_over
from benchmarks.papers.conjecture_models import MODELS, VARIANTS, original, release
from benchmarks.papers.conjecture_page import all_lines
from benchmarks.papers.conjecture_readings import READINGS
from benchmarks.papers.utility import KS, NAMES, RULES, facts, made, paired, rules_and_scores
from benchmarks.papers.utility_models import FOLDS

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.kept import Keep

TITLE = "The conjecture again: several readings of a cell, models, metrics and weights"
MIDDLE = (50,)
PLAN: dict[str, dict[str, tuple[int, ...]]] = {
    name: {variant: MIDDLE if variant.startswith("wmi") else KS for variant in variants}
    for name, variants in {
        "taxonomies": tuple(VARIANTS),
        # cells are kept or suppressed: ncp is lm
        "suppression": tuple(variant for variant in VARIANTS if variant != "ncp"),
    }.items()
}
"""The releases of a setting, and for which k: weights between PMI and MI at one k only."""


def measure(keep: Keep, *, quick: bool) -> dict[str, Any]:
    """Make all releases, two at a time; no time is shown."""
    folds = 2 if quick else FOLDS
    plan = PLAN
    if quick:
        few = ("pmi", "mi", "lm")
        plan = {name: dict.fromkeys(few, (10,)) for name in PLAN}
    done = made(keep, plan, folds, (original, release), quick=quick)
    return {
        "splits": folds,
        "settings": {name: _summary(base, cells) for name, (base, cells) in done.items()},
    }


def _summary(base: list[Any], cells: dict[str, Any]) -> dict[str, Any]:
    share = base[0]["test"] / base[0]["train"]
    return {
        **facts(base),
        "original": {
            m: {w: mean(run["models"]["mean"][m][w] for run in base) for w in METRICS}
            for m in MODELS
        },
        "cells": {
            variant: {k: _means(runs) for k, runs in row.items()} for variant, row in cells.items()
        },
        "against": {
            other: {k: _differences(cells["pmi"][k], runs, share) for k, runs in row.items()}
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
        **rules_and_scores(runs),
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
    """Draw PMI minus the other releases, with intervals, by reading, models averaged."""
    parts = {}
    for name, found in results["settings"].items():
        ks = list(found["cells"]["pmi"])
        k = "50" if "50" in ks else ks[-1]
        for metric in METRICS:
            parts[f"{NAMES[name]}, k = {k}:\n{METRICS[metric]}"] = {
                SHOWN[other]: [mean_over(row[k], reading, metric) for reading in READINGS]
                for other, row in found["against"].items()
                if other in (*OTHERS, "wmi 0.25")
            }
    return [
        figures.intervals(
            "conjecture",
            folder,
            parts,
            list(READINGS),
            x_label="reading of a cell",
            y_label="PMI minus the other",
            columns=3,
        )
    ]


section = all_lines
claims = all_claims
