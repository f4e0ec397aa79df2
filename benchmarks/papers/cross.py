"""Beyond the papers: every algorithm times every measure times k, on one table."""

from __future__ import annotations

import csv
import sys
from statistics import geometric_mean, mean, median
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

import shoal
from benchmarks.draw import figures, tables
from benchmarks.papers.as_published import HELP
from benchmarks.papers.cross_guide import complete, guide, ignoring, runs_of
from benchmarks.papers.cross_run import (
    CLASSES,
    PASSES,
    can_be_minimised,
    of_the_papers,
    on_other,
    own_process,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from benchmarks.kept import Keep
    from benchmarks.papers.claims import Claim

TITLE = "The cross table: every algorithm, every measure, every k"
ROWS, QUICK_ROWS = 30_162, 800
KS = (5, 10, 25, 50, 100)
SHOWN = 10  # the k of the tables on the page that have all measures
SAME = ("il", "tree", "whd")
"""In this setting NCP, or NCP times the number of cells: run, to show it, but not shown again."""
SEEDS = (0, 1, 2)
ONE_SEED = (*SAME, "mi", *CLASSES)
"""Measures that are minimised with the first seed only: those with logarithms take longest."""
BASELINES = (
    "mhm",
    "tfrp",
    "top-down-greedy",
    "r-gather",
    "forest",
    "systematic",
    "datafly",
    "top-down-specialization",
)
"""Of the literature beside the papers: NCP only, over all seeds."""
BESIDE = ("auto", "k-member")
"""What baselines are drawn with."""
ROWS_OF_OTHERS = {"german_credit": 1_000, "census_income": 10_000}
HELPED = tuple(f"{name}, {HELP}" for name in ("mdav", "v-mdav"))
"""What Shoal makes of them where a table is larger than 30,000 rows and nothing else is asked."""


def measure(keep: Keep, *, quick: bool) -> dict[str, Any]:
    """Run two processes at a time, each one algorithm, one measure and one seed over k."""
    rows, ks = (ROWS, KS) if not quick else (QUICK_ROWS, (5, 10))
    names = (*shoal.algorithms(), *HELPED)
    minimised = can_be_minimised() if not quick else ("ncp", "il", "tree", "lm", "pmi")
    if quick:
        names = ("auto", "k-member", "mondrian", "incognito", "mdav", "forest", *HELPED[:1])
    jobs = {}
    for algorithm in names:
        for name in minimised if algorithm not in BASELINES else ("ncp",):
            for seed in SEEDS[:1] if name in ONE_SEED or algorithm in HELPED else SEEDS:
                key = f"{algorithm}; {name}; rows={rows} k={','.join(map(str, ks))} seed={seed}"
                jobs[key] = (own_process, (algorithm, name, seed, rows, ks))
    # what takes longest begins first, so that both processes end at the same time
    slowest = ("agglomerative", "auto", "sequential")
    order = sorted(
        jobs,
        key=lambda key: (not key.split("; ")[1].endswith("mi"), not key.startswith(slowest)),
    )
    done = keep.many({key: jobs[key] for key in order})
    others = _measure_others(keep, [name for name in names if name not in HELPED], quick=quick)
    seeds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for key in jobs:
        algorithm, name, _ = key.split("; ")
        seeds.setdefault((algorithm, name), []).append(done[key])
    cells: dict[str, Any] = {}
    for (algorithm, name), runs in seeds.items():
        cells.setdefault(algorithm, {})[name] = over_seeds(runs)
    return {
        "rows": rows,
        "ks": list(ks),
        "cells": cells,
        "measures": list(of_the_papers()),
        "others": others,
    }


def _measure_others(keep: Keep, names: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """Return rows and, per algorithm, k and seeds on the other tables."""
    ks, jobs = KS if not quick else (5, 10), {}
    for table, rows in ROWS_OF_OTHERS.items() if not quick else [("german_credit", QUICK_ROWS)]:
        for algorithm in names:
            seeds = SEEDS if not quick else SEEDS[:1]
            key = f"{algorithm}; {table}; rows={rows} k={','.join(map(str, ks))} seeds={seeds}"
            jobs[key] = (on_other, (algorithm, table, rows, seeds, ks))
    done = keep.many(jobs)
    found: dict[str, Any] = {}
    for key, (_, (algorithm, table, rows, *_)) in jobs.items():
        part = found.setdefault(table, {"rows": rows, "cells": {}})
        part["cells"][algorithm] = over_seeds(done[key]["seeds"])
    return found


def over_seeds(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one algorithm and measure over k: means of the seeds, their ends, the most memory.

    A loss has its least and its most beside it; times are medians.
    """
    cells: dict[str, Any] = {}
    for k in runs[0]["k"]:
        each = [run["k"][k] for run in runs]
        failed = [cell for cell in each if "error" in cell]
        if failed:
            cells[k] = failed[0]
            continue
        losses = {name: [cell["loss"][name] for cell in each] for name in each[0]["loss"]}
        cells[k] = {
            "seeds": len(each),
            "seconds": median(cell["seconds"] for cell in each),
            "groups": round(mean(cell["groups"] for cell in each)),
            "suppressed": max(cell["suppressed"] for cell in each),
            "same": each[0]["same"],
            "loss": {name: mean(found) for name, found in losses.items()},
            "least": {name: min(found) for name, found in losses.items()},
            "most": {name: max(found) for name, found in losses.items()},
        }
    return {"k": cells, "mebibytes": max(run.get("mebibytes", 0) for run in runs)}


def draw(results: dict[str, Any], folder: Path) -> list[str]:
    """Draw loss and time over k and loss over measures."""
    cells, ks = results["cells"], [str(k) for k in results["ks"]]
    panels = []
    baselines = [*BESIDE, *(name for name in cells if name in BASELINES)]
    for whose, names in (("", list(complete(results))), ("baselines, ", baselines)):
        for what, title in (("ncp", "loss: NCP, minimised"), ("seconds", "time")):
            series = {}
            for algorithm in names:
                found = cells[algorithm]["ncp"]["k"]
                points = [(int(k), *_values(found[k], what)) for k in ks if "loss" in found[k]]
                if points:
                    series[algorithm] = points
            panels.append(
                figures.Panel(
                    series,
                    "k (records)",
                    "CPU time (s)" if what == "seconds" else "NCP (mean per cell)",
                    f"Adult, {results['rows']:,} rows: {whose}{title}",
                    log_x=True,
                    log_y=True,
                )
            )
    stems = [figures.panels("cross_over_k", folder, panels)]
    rows, columns, ratios = _ratios(results)
    stems.append(
        figures.heat(
            "cross_measures",
            folder,
            rows,
            columns,
            ratios,
            title=f"Loss ÷ least loss of all algorithms at k = {SHOWN}",
            x_label="measure that is minimised and shown",
        )
    )
    return stems


def _values(cell: Mapping[str, Any], what: str) -> list[float]:
    """Return a time, or a loss with its least and its most."""
    if what == "seconds":
        return [cell["seconds"]]
    return [cell[which][what] for which in ("loss", "least", "most")]


def _ratios(results: dict[str, Any]) -> tuple[list[str], list[str], list[list[float]]]:
    """Return loss ÷ least loss per algorithm and measure, each run minimising that measure."""
    cells = complete(results)
    columns = [m for m in next(iter(cells.values())) if m not in SAME]
    values = []
    for row in cells.values():
        found = [row[m]["k"].get(str(SHOWN), {}) for m in columns]
        values.append(
            [
                c["loss"][m] if "loss" in c else float("nan")
                for c, m in zip(found, columns, strict=True)
            ]
        )
    best = [np.nanmin(column) for column in zip(*values, strict=True)]
    ratios = [[v / b for v, b in zip(row, best, strict=True)] for row in values]
    return [figures.shown(a) for a in cells], columns, ratios


def write_csv(results: dict[str, Any], file: TextIO) -> None:
    """Write all runs as CSV: `python -m benchmarks.papers.cross > cross.csv`."""
    names = results["measures"]
    out = csv.writer(file)
    out.writerow(
        ["algorithm", "minimised", "k", "seeds", "seconds", "peak MiB", "groups", "suppressed"]
        + [f"{name}{end}" for name in names for end in ("", " least", " most")]
    )
    for algorithm, minimised, k, cell, memory in runs_of(results):
        head = [algorithm, minimised, k]
        if "loss" in cell:
            rest = [cell["seeds"], cell["seconds"], memory, cell["groups"], cell["suppressed"]]
            ends = [cell[w][name] for name in names for w in ("loss", "least", "most")]
            out.writerow([*head, *rest, *ends])
        else:
            out.writerow([*head, cell["error"]])


def section(results: dict[str, Any]) -> Iterator[str]:
    """Yield the part of the page, below its title."""
    n_runs = sum(1 for _ in runs_of(results))
    repeated = sum(cell.get("seeds", 1) > 1 for *_, cell, _ in runs_of(results))
    yield (
        f"Adult, {results['rows']:,} rows of its training part (all that are complete are "
        "30,162), eight quasi-identifiers, six of them with taxonomies, "
        "salary sensitive; "
        f"{len(results['cells'])} lines, {len(next(iter(results['cells'].values())))} "
        f"measures to minimise, k = {', '.join(map(str, results['ks']))}: {n_runs} cells, one "
        "thread each. Baselines of the literature beside the papers "
        f"({', '.join(figures.shown(name) for name in BASELINES)}) minimise NCP only. "
        f"{repeated:,} cells are the mean of several seeds, with the least and the "
        "most in brackets where they differ; the others are of one seed. "
        "All cells, with the loss under all "
        f"{len(results['measures'])} measures, come as a table with "
        "`python -m benchmarks.papers.cross > cross.csv`. Each algorithm and measure has a process "
        "of its own, whose peak is the memory shown (about "
        "250 MiB of it are Python, the libraries and the table). Times are CPU seconds. Algorithms "
        "that recode whole columns (Incognito, Datafly, top-down specialisation) have trees for "
        "age and education, too. Class-aware measures "
        "look at salary. Algorithms of the papers see the whole table and nothing is refined "
        "(`block_rows` off); only `auto`, which is no paper's, cuts and refines. Two lines say "
        f"*{HELP}*: what Shoal makes of MDAV and V-MDAV where nobody asks otherwise, since it cuts "
        "tables of more than 30,000 rows for them and refines the seams under the measure."
    )
    missing = [name for name in shoal.algorithms() if name not in results["cells"]]
    if missing:
        yield ""
        yield f"Not measured yet: {', '.join(figures.shown(name) for name in missing)}."
    yield ""
    yield from _notes(results)
    yield ""
    yield "### Which algorithm for which purpose"
    yield ""
    yield from guide(results)
    yield ""
    yield figures.picture("cross_over_k", "NCP and time over k")
    yield figures.picture("cross_measures", "Loss of each algorithm under each measure")
    yield from _minimised(results)
    yield from _everything(results)
    yield from _others(results)


def _notes(results: dict[str, Any]) -> Iterator[str]:
    """Say once what an algorithm cannot minimise or does not look at."""
    same = ignoring(results)
    if same:
        yield (
            "- The same groups whatever measure is asked for: "
            f"{', '.join(figures.shown(name) for name in same)}."
        )
    errors: dict[str, list[str]] = {}
    for algorithm, minimised, k, cell, _ in runs_of(results):
        if "error" in cell:
            errors.setdefault(cell["error"], []).append(f"{algorithm}, {minimised}, k = {k}")
    for text, where in errors.items():
        yield f"- Not possible ({'; '.join(where)}): {text}"
    pairs = [
        (row["ncp"]["k"][k], row[name]["k"][k])
        for row in complete(results).values()
        for name in SAME
        if name in row
        for k in map(str, results["ks"])
    ]
    equal = sum(a.get("same") == b.get("same") for a, b in pairs)
    yield (
        f"- With these trees {', '.join(f'`{name}`' for name in SAME)} are `ncp`, or `ncp` times "
        f"the number of cells, and minimising them gives the same groups in {equal} of "
        f"{len(pairs)} pairs of runs. Only `ncp` has a table below."
    )
    scores = [m for m in results["measures"] if m not in can_be_minimised()]
    yield f"- Scores only, which no algorithm minimises: {', '.join(scores)}."
    yield (
        f"- With `pmi` and `wmi`, sequential clustering stops after {PASSES} passes; its default "
        "is 100, and it would use them all."
    )


def _minimised(results: dict[str, Any]) -> Iterator[str]:
    """Show per algorithm the loss in the measure that was minimised, over k."""
    ks = [str(k) for k in results["ks"]]
    for name in next(iter(results["cells"].values())):
        if name in SAME:
            continue
        cells = {a: row for a, row in results["cells"].items() if name in row}
        lowest = {
            k: min(
                (row[name]["k"][k]["loss"][name] for row in cells.values() if _has(row[name], k)),
                default=0.0,
            )
            for k in ks
        }
        rows = []
        for algorithm, row in cells.items():
            shown = [_cell(row[name]["k"].get(k), name, lowest[k]) for k in ks]
            rows.append([figures.shown(algorithm), *shown, row[name]["mebibytes"]])
        yield from tables.titled(
            f"`{name}` minimised: {name} over k, CPU seconds in brackets, and memory",
            ["algorithm", *(f"k = {k}" for k in ks), "peak MiB"],
            rows,
        )


def _has(entry: Mapping[str, Any], k: str) -> bool:
    return "loss" in entry["k"].get(k, {})


def _cell(cell: Mapping[str, Any] | None, name: str, lowest: float) -> str:
    if cell is None or "loss" not in cell:
        return "-"
    text = f"{cell['loss'][name]:.4f}"
    if cell["loss"][name] <= lowest:
        text = f"**{text}**"
    low, high = f"{cell['least'][name]:.4f}", f"{cell['most'][name]:.4f}"
    if cell["seeds"] > 1 and low != high:
        text = f"{text} [{low}, {high}]"
    gone = f", {cell['suppressed']} rows left out" if cell["suppressed"] else ""
    return f"{text} ({cell['seconds']:.1f}{gone})"


def _everything(results: dict[str, Any]) -> Iterator[str]:
    """Show all measures at one k, for NCP and PMI."""
    names = results["measures"]
    for minimised in ("ncp", "pmi"):
        rows = []
        for algorithm, row in results["cells"].items():
            cell = row.get(minimised, {"k": {}})["k"].get(str(SHOWN), {})
            if "loss" in cell:
                values = [f"{cell['loss'][name]:.4g}" for name in names]
                rows.append([figures.shown(algorithm), *values])
        yield from tables.titled(
            f"All measures at k = {SHOWN} where `{minimised}` is minimised",
            ["algorithm", *names],
            rows,
        )


def _others(results: dict[str, Any]) -> Iterator[str]:
    """Show NCP over k on the other tables, the algorithms in the order of their losses."""
    yield "### On other tables"
    yield ""
    yield (
        "German Credit (1,000 borrowers) and Census-Income (people of the Census Bureau's survey) "
        "come with the package, with trees for all columns but numbers, which are intervals, and "
        "have trees where whole columns are recoded. NCP minimised; every algorithm, three seeds, "
        "nothing refined. Lines are in the order of their losses over all k."
    )
    yield ""
    for name, part in results["others"].items():
        table = {a: row["k"] for a, row in part["cells"].items()}
        ks = [k for k in map(str, results["ks"]) if any("loss" in row[k] for row in table.values())]
        lowest = {
            k: min(row[k]["loss"]["ncp"] for row in table.values() if "loss" in row[k]) for k in ks
        }
        ratio = {
            a: geometric_mean(row[k]["loss"]["ncp"] / lowest[k] for k in ks if "loss" in row[k])
            for a, row in table.items()
            if any("loss" in row[k] for k in ks)
        }
        rows = [
            [
                figures.shown(a),
                *(_cell(table[a].get(k), "ncp", lowest[k]) for k in ks),
                f"{ratio[a]:.2f}",
            ]
            for a in sorted(ratio, key=ratio.__getitem__)
        ]
        yield from tables.titled(
            f"{name.replace('_', ' ').capitalize()}, {part['rows']:,} rows: NCP over k, CPU "
            "seconds in brackets",
            ["algorithm", *(f"k = {k}" for k in ks), "÷ least"],
            rows,
        )


def claims(results: dict[str, Any]) -> list[Claim]:
    """Return none: the table goes beyond the papers."""
    del results
    return []


def main() -> None:
    """Print the stored runs as CSV."""
    from benchmarks.common import raw_results
    from benchmarks.kept import stored

    content = stored(raw_results("papers") / "cross.json.gz")
    if content is None:
        raise SystemExit("Not measured yet: run `make papers-cross`.")
    write_csv(content["results"], sys.stdout)


if __name__ == "__main__":
    main()
