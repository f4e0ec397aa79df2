"""Beyond the papers: every algorithm times every measure times k, on one table."""

from __future__ import annotations

import csv
import sys
from statistics import mean, median
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

import shoal
from benchmarks.draw import figures
from benchmarks.papers.as_published import HELP, OURS
from benchmarks.papers.cross_guide import ENDS, guide, published, refined, runs_of
from benchmarks.papers.cross_page import (
    all_measures,
    minimised_tables,
    notes,
    other_tables,
    refined_table,
)
from benchmarks.papers.cross_run import (
    CLASSES,
    SAME,
    SHOWN,
    can_be_minimised,
    of_the_papers,
    on_other,
    own_process,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from benchmarks.kept import Jobs, Keep
    from benchmarks.papers.claims import Claim

TITLE = "The cross table: every algorithm, every measure, every k"
ROWS, QUICK_ROWS = 30_162, 800
KS = (5, 10, 25, 50, 100)
SEEDS = (0, 1, 2)
DETERMINISTIC = ("mondrian", "incognito", "datafly", "top-down-specialization")
"""Algorithms that leave nothing to chance: the same groups with every seed, so one run says all."""
LOGARITHMS = ("mi", *CLASSES)
KS_OF_CLASSES = (10, 50)
"""With logarithms, most of all per class, runs take longest."""
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
"""Of the literature beside the papers: NCP only."""
ROWS_OF_OTHERS = {"german_credit": 1_000, "census_income": 10_000}
HELPED = tuple(f"{name}, {HELP}" for name in ("mdav", "v-mdav"))
"""What Shoal makes of them where a table is larger than 30,000 rows and nothing else is asked."""


def measure(keep: Keep, *, quick: bool) -> dict[str, Any]:
    """Run processes side by side, each one algorithm and one measure over seeds and k."""
    rows, ks = (ROWS, KS) if not quick else (QUICK_ROWS, (5, 10))
    names = (*shoal.algorithms(), *HELPED)
    minimised = can_be_minimised() if not quick else ("ncp", "il", "tree", "lm", "pmi")
    if quick:
        names = ("auto", "k-member", "mondrian", "incognito", "mdav", "forest", *HELPED[:1])
    jobs = jobs_of(names, minimised, rows, ks)
    # what takes longest begins first, so that all processes end at the same time
    slowest = ("agglomerative", "auto", "sequential")
    order = sorted(
        jobs,
        key=lambda key: (not key.split("; ")[1].endswith("mi"), not key.startswith(slowest)),
    )
    done = keep.many({key: jobs[key] for key in order})
    others = _measure_others(keep, [name for name in names if name not in HELPED], quick=quick)
    cells: dict[str, Any] = {}
    for key, (_, (algorithm, name, *_)) in jobs.items():
        cells.setdefault(algorithm, {})[name] = over_seeds(done[key])
    return {
        "rows": rows,
        "ks": list(ks),
        "cells": cells,
        "measures": list(of_the_papers()),
        "others": others,
    }


def jobs_of(names: Sequence[str], minimised: Sequence[str], rows: int, ks: Sequence[int]) -> Jobs:
    """Return what is run on Adult: the key of each process and its work.

    Whatever is ranked has all seeds, unless chance plays no part. NCP by other names is not ranked:
    one run each shows that it is the same. Ours is not ranked either, and has one seed where it
    takes longest.
    """
    jobs = {}
    for algorithm in names:
        for name in minimised if algorithm not in (*BASELINES, *HELPED) else ("ncp",):
            once = name in SAME or (algorithm in OURS and name in LOGARITHMS)
            seeds = _needed(algorithm, SEEDS[:1] if once else SEEDS)
            asked = (SHOWN,) if name in SAME else KS_OF_CLASSES if name in CLASSES else KS
            some = tuple(k for k in ks if k in asked)
            key = f"{algorithm}; {name}; {_said(rows, some, seeds)}"
            jobs[key] = (own_process, (algorithm, name, rows, seeds, some))
    return jobs


def _needed(algorithm: str, seeds: tuple[int, ...]) -> tuple[int, ...]:
    return seeds[:1] if algorithm in DETERMINISTIC else seeds


def _said(rows: int, ks: Sequence[int], seeds: Sequence[int]) -> str:
    return f"rows={rows} k={','.join(map(str, ks))} seeds={','.join(map(str, seeds))}"


def _measure_others(keep: Keep, names: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """Return rows and, per algorithm, NCP over k and seeds on the other tables."""
    ks, jobs = KS if not quick else (5, 10), {}
    for table, rows in ROWS_OF_OTHERS.items() if not quick else [("german_credit", QUICK_ROWS)]:
        for algorithm in names:
            seeds = _needed(algorithm, SEEDS if not quick else SEEDS[:1])
            key = f"{algorithm}; {table}; {_said(rows, ks, seeds)}"
            jobs[key] = (on_other, (algorithm, table, rows, seeds, ks))
    done = keep.many(jobs)
    found: dict[str, Any] = {}
    for key, (_, (algorithm, table, rows, *_)) in jobs.items():
        part = found.setdefault(table, {"rows": rows, "cells": {}})
        part["cells"][algorithm] = {"ncp": over_seeds(done[key])}
    return found


def over_seeds(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return one algorithm and measure over k: means of the seeds, their ends, the most memory.

    A loss has its least and its most beside it; times are medians.
    """
    runs, cells = found["seeds"], {}
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
    return {"k": cells, "mebibytes": found.get("mebibytes", 0)}


def draw(results: dict[str, Any], folder: Path) -> list[str]:
    """Draw loss and time over k and loss over measures; what is refined says so in its label."""
    cells, ks = results["cells"], [str(k) for k in results["ks"]]
    beside, apart = published(results), refined(results)
    baselines = {name: cells[name] for name in cells if name in (*BASELINES, "k-member")}
    panels = []
    for whose, rows in (("", {**beside, **apart}), ("baselines, ", {**baselines, **apart})):
        for what, title in (("ncp", "loss: NCP, minimised"), ("seconds", "time")):
            series = {}
            for label, row in rows.items():
                found = row["ncp"]["k"]
                points = [(int(k), *_values(found[k], what)) for k in ks if "loss" in found[k]]
                if points:
                    series[label] = points
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
            title=f"Loss ÷ least loss as published, at k = {SHOWN}",
            x_label="measure that is minimised and shown",
        )
    )
    return stems


def _values(cell: Mapping[str, Any], what: str) -> list[float]:
    """Return a time, or a loss with its least and its most."""
    return [cell["seconds"]] if what == "seconds" else [cell[which][what] for which in ENDS]


def _ratios(results: dict[str, Any]) -> tuple[list[str], list[str], list[list[float]]]:
    """Return loss ÷ least loss as published, each run minimising that measure."""
    ranked = published(results)
    apart = {label: row for label, row in refined(results).items() if len(row) > 1}
    columns = [m for m in next(iter(ranked.values())) if m not in SAME]
    values = []
    for row in (*ranked.values(), *apart.values()):
        found = [row[m]["k"].get(str(SHOWN), {}) for m in columns]
        values.append(
            [
                c["loss"][m] if "loss" in c else float("nan")
                for c, m in zip(found, columns, strict=True)
            ]
        )
    best = [np.nanmin(column) for column in zip(*values[: len(ranked)], strict=True)]
    ratios = [[v / b for v, b in zip(row, best, strict=True)] for row in values]
    return [figures.shown(label) for label in (*ranked, *apart)], columns, ratios


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
    yield from _about(results)
    yield ""
    yield from notes(results)
    yield ""
    yield "### Which algorithm for which purpose"
    yield ""
    yield from guide(results)
    yield ""
    yield figures.picture("cross_over_k", "NCP and time over k")
    yield figures.picture("cross_measures", "Loss of each algorithm under each measure")
    yield from minimised_tables(results)
    yield from all_measures(results)
    yield from other_tables(results)
    yield from refined_table(results)


def _about(results: dict[str, Any]) -> Iterator[str]:
    ranked = published(results)
    n_runs = sum(1 for _ in runs_of(results))
    once = [figures.shown(name) for name in results["cells"] if name in DETERMINISTIC]
    fewer = "".join(
        f" ({', '.join(row[name]['k'])} for {name})"
        for row in list(ranked.values())[:1]
        for name in CLASSES
        if name in row and len(row[name]["k"]) < len(results["ks"])
    )
    yield (
        f"Adult, {results['rows']:,} rows of its training part (all that are complete are "
        "30,162), eight quasi-identifiers, six of them with taxonomies, "
        "salary sensitive; "
        f"{len(results['cells'])} lines, {len(next(iter(ranked.values())))} "
        f"measures to minimise, k = {', '.join(map(str, results['ks']))}{fewer}: {n_runs} cells, "
        "one thread each. Baselines of the literature beside the papers "
        f"({', '.join(figures.shown(name) for name in BASELINES)}) minimise NCP only. "
        "A loss is the mean of three seeds, with the least and the most in brackets where they "
        f"differ; {', '.join(once)} leave nothing to chance and need one run. All cells, with the "
        f"loss under all {len(results['measures'])} measures, come as a table with "
        "`python -m benchmarks.papers.cross > cross.csv`. Each algorithm and measure has a process "
        "of its own, whose peak is the memory shown (about "
        "250 MiB of it are Python, the libraries and the table). Times are CPU seconds, the median "
        "of the seeds. Algorithms "
        "that recode whole columns (Incognito, Datafly, top-down specialisation) have trees for "
        "age and education, too. Class-aware measures "
        "look at salary. What is ranked is as published: each algorithm sees the whole table and "
        "nothing is refined (`block_rows` off). `auto`, which is no paper's, cuts and refines, and "
        f"so do two lines that say *{HELP}*: what Shoal makes of MDAV and V-MDAV where nobody asks "
        "otherwise, since it cuts tables of more than 30,000 rows for them and refines the seams "
        "under the measure. These three stand apart, not in the ranks."
    )
    short = [
        name
        for name in next(iter(ranked.values()))
        if name not in SAME and any(_of_one_seed(a, row[name]) for a, row in ranked.items())
    ]
    if short:
        yield ""
        yield f"So far of one seed: {', '.join(f'`{name}`' for name in short)}."
    missing = [name for name in shoal.algorithms() if name not in results["cells"]]
    if missing:
        yield ""
        yield f"Not measured yet: {', '.join(figures.shown(name) for name in missing)}."


def _of_one_seed(algorithm: str, entry: Mapping[str, Any]) -> bool:
    chance = algorithm not in DETERMINISTIC
    return chance and any(cell.get("seeds") == 1 for cell in entry["k"].values())


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
