"""The part of the page about the conjecture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.draw import figures, tables
from benchmarks.papers.conjecture_compare import (
    KINDS,
    METRICS,
    PROTOCOL,
    SHOWN,
    Case,
    cases,
    depends,
    direction,
    mean_over,
    over,
    rule_cases,
    slices,
    tally,
)
from benchmarks.papers.conjecture_models import MODELS
from benchmarks.papers.conjecture_readings import READINGS
from benchmarks.papers.utility import NAMES, ON_RULES, rules_table, verdict
from benchmarks.papers.utility_models import PASSES

if TYPE_CHECKING:
    from collections.abc import Iterator


def all_lines(results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the part, below its title."""
    first = next(iter(results["settings"].values()))
    rows = first["train"] + first["test"]
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
        f"interval, every category covered. Three models: {', '.join(MODELS)}. {ON_RULES} Better "
        "and worse mean that the interval excludes 0."
    )
    yield ""
    yield figures.picture(
        "conjecture", "PMI minus another release, with intervals: below 0 PMI is worse"
    )
    yield from _by_protocol(results)
    for name, found in results["settings"].items():
        yield from _values(NAMES[name], found)
        yield from _each(NAMES[name], found)
        yield from rules_table(NAMES[name], found, SHOWN)
    yield from _by_weight(results)
    yield ""
    yield f"**{answer(results)}**"
    for shown, found_cases in _halves(results).items():
        yield ""
        yield f"*{shown}*: PMI against MI, LM and NCP: {tally(found_cases)}. {depends(found_cases)}"


def _halves(results: dict[str, Any]) -> dict[str, list[Case]]:
    by_metric = {f"By {shown}": cases(results, metric) for metric, shown in METRICS.items()}
    return {**by_metric, "Rules": rule_cases(results)}


def answer(results: dict[str, Any]) -> str:
    """Return the verdict: what is so in general, and what depends on the protocol."""
    general: dict[str, list[str]] = {kind: [] for kind in (*KINDS, "mixed")}
    open_ones = []
    for shown, found in _halves(results).items():
        if depends(found).startswith("In general"):
            general[direction(found)].append(shown)
        else:
            parts = [
                what
                for part, what in PROTOCOL.items()
                if len({direction(some) for some in slices(found, part).values()}) > 1
            ]
            turned = f"turns with the {', the '.join(parts)}" if parts else "has no majority"
            open_ones.append(f"{shown[0].lower()}{shown[1:]} it is {direction(found)} and {turned}")
    said = [
        f"{' and '.join(names).lower()} PMI is {kind} in general"
        for kind, names in general.items()
        if names
    ]
    return f"PMI against MI, LM and NCP: {'; '.join(said + open_ones)}."


def _by_protocol(results: dict[str, Any]) -> Iterator[str]:
    rows = []
    for metric, shown in METRICS.items():
        found = cases(results, metric)
        for reading, part in slices(found, "reading").items():
            by_model = slices(part, "model")
            rows.append([shown, reading, *(tally(by_model[model]) for model in MODELS)])
    title = "PMI against MI, LM and NCP, by reading and model"
    yield from tables.titled(title, ["metric", "reading", *MODELS], rows)
    rows = [
        [shown, name, *(tally(slices(cases(results, m), what)[name]) for m in METRICS)]
        for what, shown in PROTOCOL.items()
        for name in slices(cases(results, "auc"), what)
    ]
    title = "PMI against MI, LM and NCP, by each part of the protocol"
    yield from tables.titled(title, ["part", "choice", *METRICS.values()], rows)


def _by_weight(results: dict[str, Any]) -> Iterator[str]:
    """Yield what the weight of MI in weighted MI does, from PMI (0) to MI (1)."""
    rows = []
    for name, found in results["settings"].items():
        cells = found["cells"]
        weighted = {float(v.split()[1]): row for v, row in cells.items() if v.startswith("wmi")}
        by_weight = {0.0: cells["pmi"], **weighted, 1.0: cells["mi"]}
        ks = [k for k in cells["pmi"] if all(k in row for row in by_weight.values())]
        rows += (
            [
                NAMES[name],
                k,
                f"{w:g}",
                *(f"{over(row[k], r, m):.3f}" for m in METRICS for r in READINGS),
            ]
            for k in ks
            for w, row in sorted(by_weight.items())
        )
    heads = [f"{shown}: {r}" for shown in METRICS.values() for r in READINGS]
    title = "Weighted MI: the weight of MI from 0 (PMI) to 1 (MI), mean over the models"
    yield from tables.titled(title, ["columns", "k", "w", *heads], rows)


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
    difference, half = mean_over(cell, reading, metric)
    return f"{difference:+.3f} ± {half:.3f} ({verdict(difference, half)})"
