"""The conjecture that Goldberger and Tassa leave open (section 9): do PMI releases predict better?

Releases of training rows are made with several measures; classifiers and association rules made
from them are judged by held-out original rows and by the rules of the original training rows.
"""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.draw import figures, tables
from benchmarks.papers.claims import Claim, judge
from benchmarks.papers.utility_models import (
    CONFIDENCE,
    FOLDS,
    MODELS,
    PASSES,
    SUPPORT,
    VARIANTS,
    original,
    release,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from benchmarks.kept import Keep

TITLE = "Goldberger and Tassa's open conjecture: do releases made with PMI predict better?"
SETTINGS: dict[str, tuple[str, ...]] = {
    "taxonomies": tuple(VARIANTS),
    # cells are kept or suppressed: ncp is lm
    "suppression": ("pmi", "mi", "lm", "k-member, classification"),
}
MEASURES = ("mi", "lm", "ncp")
METRICS = ("accuracy", "balanced accuracy", "AUC")
RULES = ("shares", "certain")
READ = (
    "Judged with one reading of a cell only: a lost cell is the mean of its column. Other readings "
    "may turn it; `make papers-conjecture` repeats it with four."
)
KS = (10, 50, 100)
WORTH: dict[str, Callable[[dict[str, Any]], float]] = {
    "accuracy": lambda run: mean(run["models"][m]["accuracy"] for m in MODELS),
    "balanced accuracy": lambda run: mean(run["models"][m]["balanced"] for m in MODELS),
    "AUC": lambda run: mean(run["models"][m]["auc"] for m in MODELS),
    "rules, F1 by shares": lambda run: run["rules"]["shares"]["f1"],
    "rules, F1 by certain cells": lambda run: run["rules"]["certain"]["f1"],
    "rules, confidence": lambda run: -run["rules"]["shares"]["confidence_error"],
}
"""What a release is worth, more is better."""
SHOWN = {
    "pmi": "PMI",
    "mi": "MI",
    "lm": "LM",
    "ncp": "NCP",
    "k-member": "k-member",
    "k-member, classification": "k-member for classification",
}
ON_RULES = (
    "Rules have up to three items (bins of columns) on their left side, a support of at least "
    f"{SUPPORT:.0%} of the rows and a confidence of at least "
    + " or ".join(f"{least:g} for {name}" for name, least in CONFIDENCE.items())
    + ". In a release they are mined in two ways: a cell counts for an item by its share, or only "
    "if it is certain. Differences are paired by fold, with 95 % intervals that allow for folds "
    "sharing training rows (Nadeau and Bengio 2003)."
)
NAMES = {
    "taxonomies": "eight columns with taxonomies",
    "suppression": "14 columns, kept or suppressed",
}


def measure(keep: Keep, *, quick: bool) -> dict[str, Any]:
    """Make all releases, two at a time; no time is shown."""
    ks, folds = (KS, FOLDS) if not quick else ((10,), 2)
    plan = {name: dict.fromkeys(variants, ks) for name, variants in SETTINGS.items()}
    done = made(keep, plan, folds, (original, release), quick=quick)
    return {
        "folds": folds,
        "settings": {name: _summary(base, cells) for name, (base, cells) in done.items()},
    }


def made(
    keep: Keep,
    plan: Mapping[str, Mapping[str, Sequence[int]]],
    folds: int,
    work: tuple[Callable[..., Any], Callable[..., Any]],
    *,
    quick: bool,
) -> dict[str, tuple[list[Any], dict[str, Any]]]:
    """Return per setting what the original rows of each fold are worth, and the releases.

    Args:
        keep: where runs are written down, each as soon as it is made.
        plan: per setting and variant of a release, its values of k.
        folds: how many folds there are; one is whole before the next begins.
        work: what makes a run of original rows, and one of a release.
        quick: whether tables are small.
    """
    of_original, of_release = work
    jobs: dict[str, Any] = {}
    for fold in range(folds):
        for name, row in plan.items():
            jobs[f"{name} original fold={fold}"] = (of_original, (name, fold, quick))
            for variant, ks in row.items():
                for k in ks:
                    key = f"{name} {variant} k={k} fold={fold}"
                    jobs[key] = (of_release, (name, variant, k, fold, quick))
    done = keep.many(jobs)
    return {
        name: (
            [done[f"{name} original fold={fold}"] for fold in range(folds)],
            {
                variant: {
                    str(k): [done[f"{name} {variant} k={k} fold={fold}"] for fold in range(folds)]
                    for k in ks
                }
                for variant, ks in row.items()
            },
        )
        for name, row in plan.items()
    }


def facts(base: list[Any]) -> dict[str, float]:
    """Return what the original rows of all folds say of a setting."""
    return {
        "train": base[0]["train"],
        "test": base[0]["test"],
        "majority": mean(run["majority"] for run in base),
        "n_rules": mean(run["n_rules"] for run in base),
    }


def rules_and_scores(runs: list[Any]) -> dict[str, Any]:
    """Return the mean over folds of how close rules are, and of scores."""
    return {
        "rules": {
            r: {w: mean(run["rules"][r][w] for run in runs) for w in runs[0]["rules"][r]}
            for r in RULES
        },
        "scores": {s: mean(run["scores"][s] for run in runs) for s in runs[0]["scores"]},
    }


def _summary(base: list[Any], cells: dict[str, Any]) -> dict[str, Any]:
    share = base[0]["test"] / base[0]["train"]
    return {
        **facts(base),
        "original": {
            m: {w: mean(run["models"][m][w] for run in base) for w in ("accuracy", "auc")}
            for m in MODELS
        },
        "cells": {
            variant: {k: _means(runs) for k, runs in row.items()} for variant, row in cells.items()
        },
        "against": {
            other: {
                k: {
                    what: paired(
                        [worth(a) - worth(b) for a, b in zip(cells["pmi"][k], runs, strict=True)],
                        share,
                    )
                    for what, worth in WORTH.items()
                }
                for k, runs in row.items()
            }
            for other, row in cells.items()
            if other != "pmi"
        },
    }


def _means(runs: list[Any]) -> dict[str, Any]:
    return {
        "models": {
            m: {w: mean(run["models"][m][w] for run in runs) for w in ("accuracy", "auc")}
            for m in MODELS
        },
        **rules_and_scores(runs),
        "worth": {what: mean(worth(run) for run in runs) for what, worth in WORTH.items()},
    }


def paired(differences: Sequence[float], share: float) -> list[float]:
    """Return the mean of paired differences and the half width of its 95 % interval.

    Folds share training rows, so the variance of the mean is (1 ÷ folds + test ÷ train) times that
    of the differences (Nadeau and Bengio 2003), not 1 ÷ folds.
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


def draw(results: dict[str, Any], folder: Path) -> list[str]:
    """Draw accuracy and closeness of rules over k."""
    panels = []
    for name, found in results["settings"].items():
        for what in ("accuracy", "rules, F1 by shares"):
            series = {
                _label(variant): [(int(k), cell["worth"][what]) for k, cell in row.items()]
                for variant, row in found["cells"].items()
            }
            if what == "accuracy":
                whole = mean(cell["accuracy"] for cell in found["original"].values())
                ks = [int(k) for k in next(iter(found["cells"].values()))]
                series["original rows"] = [(k, whole) for k in ks]
                series["majority class"] = [(k, found["majority"]) for k in ks]
            panels.append(
                figures.Panel(
                    series,
                    "k (records)",
                    "accuracy on original rows"
                    if what == "accuracy"
                    else "F1 of rules (1: as the original)",
                    NAMES[name],
                    zero=what != "accuracy",
                )
            )
    return [figures.panels("utility", folder, panels)]


def _label(variant: str) -> str:
    return variant if variant in figures.LOOKS else SHOWN[variant]


def section(results: dict[str, Any]) -> Iterator[str]:
    """Yield the part of the page, below its title."""
    first = next(iter(results["settings"].values()))
    yield (
        "Section 9 conjectures that, of several releases of the same table, the one made with PMI "
        "gives the most accurate classifier of the private column, and association rules closest "
        f"to the original's. {results['folds']} folds: a release is made of {first['train']:,} "
        f"training rows, models are trained on it and tested on the {first['test']:,} *original* "
        "rows left out; rules are compared with those of the original training rows. PMI, MI, LM "
        f"and NCP are minimised by sequential clustering (at most {PASSES} passes), beside Byun's "
        "k-member (NCP) and its variant for classification. Salary is the class."
    )
    yield ""
    yield (
        "How generalised cells become features: a number by the midpoint of its interval; a "
        "category by one feature per value, a generalised cell counting 1 ÷ n for each of the n "
        "values it covers; a suppressed cell by the mean of the cells of its column that are not "
        "suppressed. Naive Bayes takes numbers as shares of ten bins at most, in the same way. "
        f"{ON_RULES}"
    )
    yield ""
    yield figures.picture("utility", "Accuracy and closeness of rules over k")
    for name, found in results["settings"].items():
        yield from _accuracies(NAMES[name], found)
        yield from rules_table(NAMES[name], found, SHOWN)
        yield from _differences(NAMES[name], found)
    yield ""
    yield f"**{answer(results)}**"


def _accuracies(name: str, found: dict[str, Any]) -> Iterator[str]:
    rows = [
        ["original rows", "", *(_both(found["original"][m]) for m in MODELS), "", ""],
        ["majority class", "", *[f"{found['majority']:.4f}"] * len(MODELS), "", ""],
    ]
    for variant, row in found["cells"].items():
        for k, cell in row.items():
            models = [_both(cell["models"][m]) for m in MODELS]
            scores = [f"{cell['scores'][what]:.3f}" for what in ("cm", "entropy-diversity")]
            rows.append([SHOWN[variant], k, *models, *scores])
    title = f"Accuracy on original rows (AUC in brackets): {name}"
    return tables.titled(title, ["release", "k", *MODELS, "CM", "entropy (bits)"], rows)


def _both(cell: dict[str, float]) -> str:
    return f"{cell['accuracy']:.4f} ({cell['auc']:.3f})"


def rules_table(name: str, found: dict[str, Any], shown: Mapping[str, str]) -> Iterator[str]:
    """Yield how close the rules of each release are, and how mixed its clusters."""
    heads = ["release", "k", "by shares: found again", "right", "F1", "error of confidence"]
    heads += ["by certain cells: found again", "right", "F1", "entropy of clusters (bits)"]
    rows = []
    for variant, row in found["cells"].items():
        for k, cell in row.items():
            share, sure = cell["rules"]["shares"], cell["rules"]["certain"]
            by_shares = [f"{share['recall']:.1%}", f"{share['precision']:.1%}"]
            by_shares += [f"{share['f1']:.3f}", f"{share['confidence_error']:.3f}"]
            certain = [f"{sure['recall']:.1%}", f"{sure['precision']:.1%}", f"{sure['f1']:.3f}"]
            entropy = f"{cell['scores']['entropy-diversity']:.3f}"
            rows.append([shown[variant], k, *by_shares, *certain, entropy])
    title = f"Rules beside the {found['n_rules']:,.0f} of the original: {name}"
    return tables.titled(title, heads, rows)


def _differences(name: str, found: dict[str, Any]) -> Iterator[str]:
    rows = []
    for other, row in found["against"].items():
        for k, cell in row.items():
            shown = [f"{d:+.4f} ± {half:.4f} ({verdict(d, half)})" for d, half in cell.values()]
            rows.append([SHOWN[other], k, *shown])
    title = f"PMI minus the other release, with 95 % intervals (more is better): {name}"
    return tables.titled(title, ["other", "k", *WORTH], rows)


def _cases(results: dict[str, Any], *whats: str) -> list[tuple[float, float]]:
    """Return all comparisons of PMI with the other measures of information loss."""
    return [
        tuple(cell[what])
        for found in results["settings"].values()
        for other, row in found["against"].items()
        if other in MEASURES
        for cell in row.values()
        for what in whats
    ]


def _tally(cases: list[tuple[float, float]]) -> str:
    kinds = [verdict(*case) for case in cases]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("better", "even", "worse"))
    return f"{counts} of {len(cases)} comparisons, mean difference {mean(c[0] for c in cases):+.4f}"


def answer(results: dict[str, Any]) -> str:
    """Return one sentence: do PMI releases predict better?"""
    parts = []
    for text, whats in (
        *(
            (f"by {metric}, classifiers trained on PMI releases are", (metric,))
            for metric in METRICS
        ),
        ("their rules are", ("rules, F1 by shares", "rules, F1 by certain cells")),
    ):
        cases = _cases(results, *whats)
        kinds = [verdict(*case) for case in cases]
        lead = max(("better", "even", "worse"), key=kinds.count)
        word = {"better": "better", "even": "neither better nor worse", "worse": "worse"}[lead]
        parts.append(f"{text} {word} than those of MI, LM and NCP ({_tally(cases)})")
    return f"With this reading of cells: {'; '.join(parts)}."


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return the conjecture's two halves, and the sentence of section 8.4 they rest on."""
    by_metric = {metric: _cases(results, metric) for metric in METRICS}
    rules = _cases(results, "rules, F1 by shares", "rules, F1 by certain cells")
    pairs = [
        (pmi["scores"]["entropy-diversity"], row[k]["scores"]["entropy-diversity"])
        for found in results["settings"].values()
        for k, pmi in found["cells"]["pmi"].items()
        for other, row in found["cells"].items()
        if other in MEASURES
    ]
    lower = [pmi < other for pmi, other in pairs]
    why = (
        "PMI pays for each column by itself and for keeping values that go with one class, so "
        "clusters of one class come cheap: rows are sorted by their class instead of by what "
        "predicts it, and the columns that a model needs are generalised away."
    )
    good = "Keeping what goes with the class is what a model needs."
    return [
        *(
            Claim(
                "Goldberger & Tassa, section 9",
                "a classifier made from a PMI release is more accurate than one made with another "
                f"measure: by {metric}, a lost cell read as its column's mean",
                f"{_tally(cases)} (mean of {len(MODELS)} models)",
                judge(verdict(*case) == "better" for case in cases),
                good if all(verdict(*case) == "better" for case in cases) else READ,
            )
            for metric, cases in by_metric.items()
        ),
        Claim(
            "Goldberger & Tassa, section 9",
            "the rules of a PMI release are closer to the original's than those of other measures",
            f"{_tally(rules)} (F1 of the rule sets, two ways of mining)",
            judge(verdict(*case) == "better" for case in rules),
            good if all(verdict(*case) == "better" for case in rules) else why,
        ),
        Claim(
            "Goldberger & Tassa, section 8.4",
            "the lower diversity of PMI clusters shows that PMI releases are more valuable for "
            "mining rules",
            f"the diversity is lower in {sum(lower)} of {len(lower)} comparisons, rules are "
            f"closer in {sum(verdict(*case) == 'better' for case in rules)} of {len(rules)}",
            judge([all(lower), all(verdict(*case) == "better" for case in rules)]),
            "A cluster of one class is also what sorting rows by class gives; diversity alone "
            "does not say whether original rows can be told apart.",
        ),
    ]
