"""The part of the page about the conjecture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.draw import figures, tables
from benchmarks.papers.conjecture_claims import depends
from benchmarks.papers.conjecture_compare import (
    METRICS,
    NAMES,
    SHOWN,
    cases,
    over,
    tally,
    verdict,
)
from benchmarks.papers.conjecture_models import CONFIDENCE, MODELS, PASSES, SUPPORT
from benchmarks.papers.conjecture_readings import READINGS


def lines(title: str, results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the part."""
    first = next(iter(results["settings"].values()))
    rows = first["train"] + first["test"]
    yield f"## {title}"
    yield ""
    yield (
        "Section 9 conjectures that, of several releases of the same table, the one made with PMI "
        "gives the most accurate classifier of the private column, and association rules closest "
        f"to the original's. {rows:,} rows in {results['splits']} splits: a release is made of "
        f"{first['train']:,} training rows, models are trained on it and tested on the "
        f"{first['test']:,} *original* rows left out; rules are compared with those of the "
        "original training rows. All measures are minimised by sequential clustering (at most "
        f"{PASSES} passes). Salary is the class."
    )
    yield ""
    yield (
        "A generalised cell is no number, and what a model makes of it depends on how it is read. "
        "Four readings: *mean*: the middle of an interval, 1 ÷ n for each of n categories, and "
        "the column's mean for a cell that says nothing; *middle*: the same without the mean; "
        "*draw*: each row draws one of the values its cell covers; *set*: both ends of an "
        f"interval, every category covered. Three models: {', '.join(MODELS)}. Rules have up to "
        f"three items on their left side, a support of at least {SUPPORT:.0%} of the rows and a "
        "confidence of at least "
        + " or ".join(f"{least:g} for {name}" for name, least in CONFIDENCE.items())
        + "; a cell counts for an item by its share, or only if it is certain. Differences are "
        "paired by split, with 95 % intervals that allow for splits sharing training rows (Nadeau "
        "and Bengio 2003); better and worse mean that the interval excludes 0."
    )
    yield ""
    yield figures.picture("conjecture", "Accuracy, balanced accuracy and AUC by reading")
    yield from _by_protocol(results)
    for name, found in results["settings"].items():
        yield from _values(NAMES[name], found)
        yield from _each(NAMES[name], found)
        yield from _rules(NAMES[name], found)
    yield ""
    for metric, shown in METRICS.items():
        yield f"**By {shown}: PMI against MI, LM and NCP: {tally(cases(results, metric))}.** "
        yield depends(results, metric)
        yield ""


def _by_protocol(results: dict[str, Any]) -> Iterator[str]:
    rows = [
        [shown, reading, *(tally(cases(results, metric, reading, model)) for model in MODELS)]
        for metric, shown in METRICS.items()
        for reading in READINGS
    ]
    title = "PMI against MI, LM and NCP, by protocol"
    yield from tables.titled(title, ["metric", "reading", *MODELS], rows)


def _values(name: str, found: dict[str, Any]) -> Iterator[str]:
    whole = {w: sum(c[w] for c in found["original"].values()) / len(MODELS) for w in METRICS}
    shown = [f"{whole[w]:.3f}" for w in METRICS]
    rows: list[list[str]] = [["original rows", "", *shown * len(READINGS)]]
    for variant, row in found["cells"].items():
        for k, cell in row.items():
            numbers = [f"{over(cell, r, w):.3f}" for r in READINGS for w in METRICS]
            rows.append([SHOWN[variant], k, *numbers])
    heads = [f"{r}: {w}" for r in READINGS for w in METRICS.values()]
    title = (
        f"Mean over the models, {name} (always guessing the larger class: accuracy "
        f"{found['majority']:.3f}, balanced 0.5)"
    )
    yield from tables.titled(title, ["release", "k", *heads], rows)


def _each(name: str, found: dict[str, Any]) -> Iterator[str]:
    rows = [
        [SHOWN[other], k, reading, *(_shown(cell, reading, metric) for metric in METRICS)]
        for other, row in found["against"].items()
        for k, cell in row.items()
        for reading in READINGS
    ]
    title = f"PMI minus the other release, the models' mean difference and mean half width: {name}"
    yield from tables.titled(title, ["other", "k", "reading", *METRICS.values()], rows)


def _shown(cell: dict[str, Any], reading: str, metric: str) -> str:
    found = [cell["models"][reading][m][metric] for m in MODELS]
    difference = sum(d for d, _ in found) / len(found)
    half = sum(h for _, h in found) / len(found)
    return f"{difference:+.3f} ± {half:.3f} ({verdict(difference, half)})"


def _rules(name: str, found: dict[str, Any]) -> Iterator[str]:
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
            rows.append([SHOWN[variant], k, *by_shares, *certain, entropy])
    title = f"Rules beside the {found['n_rules']:,.0f} of the original: {name}"
    yield from tables.titled(title, heads, rows)
