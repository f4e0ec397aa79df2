"""Squared error of published means, by algorithm, with and without refinement.

Run: python -m benchmarks.means [--seeds N]
Tables of numbers made from a seed (benchmarks/means/tables.py). Writes benchmarks/means/results/
and docs/results/means.md.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import shoal
from benchmarks.beyond.mdav import mdav
from benchmarks.common import machine, run_benchmark
from benchmarks.draw.tables import titled
from benchmarks.means.tables import TABLES

KS = (3, 5, 10)
WAYS: dict[str, dict[str, Any]] = {
    "`mdav`": {"algorithm": "mdav"},
    "`v-mdav`": {"algorithm": "v-mdav"},
    "`v-mdav`, gamma 1.1": {"algorithm": "v-mdav", "algorithm_options": {"gamma": 1.1}},
    "`mdav`, refined fast": {"algorithm": "mdav", "refine": "fast"},
    "`auto`": {},
    "`auto`, best": {"algorithm_options": {"effort": "best"}},
    "`auto` for `ncp`": {"measure": "ncp"},
}


def measure(seeds: int) -> dict[str, Any]:
    """Publish every table in every way, and score the means."""
    runs = []
    for name, make in TABLES.items():
        frame = make()
        numbers = frame.to_numpy().astype(np.float64)
        points = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
        for k in KS:
            began = time.perf_counter()
            groups = mdav(points, k)
            seconds = time.perf_counter() - began
            scores = shoal.score(frame, groups, quasi_identifiers=frame.columns, measures=["sse"])
            run = {"table": name, "k": k, "way": "plain MDAV", "sse": [scores["sse"]]}
            runs.append({**run, "seconds": seconds})
            for way, options in WAYS.items():
                runs.append(
                    {"table": name, "k": k, "way": way, **_release(frame, k, options, seeds)}
                )
                print(runs[-1], flush=True)
    return {"machine": machine(), "seeds": seeds, "runs": runs}


def _release(frame: Any, k: int, options: dict[str, Any], seeds: int) -> dict[str, Any]:
    found, seconds = [], []
    asked = {"measure": "sse", "style": {"numeric": "mean"}, "threads": 1, **options}
    for seed in range(seeds):
        made = shoal.anonymize(frame, k, quasi_identifiers=frame.columns, seed=seed, **asked)
        found.append(made.scores["sse"])
        seconds.append(made.seconds)
    return {"sse": found, "seconds": min(seconds)}


def page(content: dict[str, Any]) -> str:
    """Return the page of results."""
    runs = content["runs"]
    lines = [
        "# The error of published means",
        "",
        (
            "Microaggregation publishes the mean of each group of at least k records and is judged "
            "by the squared error of these means, as a share of what one mean for all would have "
            "([`sse`](../measures.md), columns standardised). Below it is in per cent, lower is "
            "better: MDAV and V-MDAV as published, and what refinement makes of them."
        ),
        "",
        (
            "The field's three reference tables are not ours to hand on. These are **generated** "
            "with their shape (Tarragona 834 by 13, Census 1,080 by 13, EIA 4,092 by 11), tails as "
            "long and columns as related, in `benchmarks/means/tables.py`. Compare the lines with "
            "each other and not with published figures. `plain MDAV` is a version of a dozen lines "
            "that shares no code with the package: it has the error of `mdav`."
        ),
        "",
        (
            f"Mean of {content['seeds']} seeds, the largest distance from it behind ±, then the "
            "seconds of the fastest run, in one thread. Again: `python -m benchmarks.means`."
        ),
    ]
    for name in TABLES:
        rows = []
        ways = dict.fromkeys(run["way"] for run in runs)
        for way in ways:
            cells = []
            for k in KS:
                (run,) = (r for r in runs if (r["table"], r["k"], r["way"]) == (name, k, way))
                cells.append(_cell(run))
            rows.append([way, *cells])
        lines += titled(f"{name}, generated", ["", *(f"k = {k}" for k in KS)], rows)
    lines += ["", *_verdict(runs)]
    return "\n".join(lines) + "\n"


def _cell(run: dict[str, Any]) -> str:
    middle = float(np.mean(run["sse"]))
    spread = max(abs(each - middle) for each in run["sse"])
    more = f" ± {100 * spread:.2f}" if len(run["sse"]) > 1 and spread > 5e-5 else ""
    return f"{100 * middle:.2f}{more}, {run['seconds']:.1f} s"


def _verdict(runs: list[dict[str, Any]]) -> list[str]:
    def error(name: str, k: int, way: str) -> float:
        (run,) = (r for r in runs if (r["table"], r["k"], r["way"]) == (name, k, way))
        return float(np.mean(run["sse"]))

    cases = [(name, k) for name in TABLES for k in KS]
    off = max(abs(error(*c, "`mdav`") / error(*c, "plain MDAV") - 1) for c in cases)
    less = {
        w: [1 - error(*c, w) / error(*c, "`mdav`") for c in cases]
        for w in ("`auto`", "`auto`, best")
    }
    sentences = [f"`mdav` and the plain version differ by at most {100 * off:.1f} %."]
    sentences += [
        f"{way} is {100 * min(gains):.0f} to {100 * max(gains):.0f} % below `mdav`."
        for way, gains in less.items()
    ]
    return [" ".join(sentences)]


if __name__ == "__main__":
    run_benchmark("means", __doc__, measure, page, seeds=(3, "runs of each way"))
