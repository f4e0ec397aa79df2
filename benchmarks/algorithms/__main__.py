"""Time, memory, loss and growth of every algorithm on Adult's eight quasi-identifiers, k = 10.

Run: python -m benchmarks.algorithms [name ...]
Each algorithm runs in a process of its own (its peak memory is then its own), on 10,000, 20,000,
40,000 and 45,222 rows; the growth exponent is the slope of log time over log rows from 10,000 to
40,000. Writes benchmarks/algorithms/results/ and docs/results/algorithms.md.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from typing import Any

import numpy as np

import shoal
from benchmarks.common import RESULTS, eight, machine, peak_mebibytes, raw_results, save_json, timed
from benchmarks.draw.tables import table
from shoal.datasets import load_adult

SIZES = (10_000, 20_000, 40_000, 45_222)
LEVELS = {"incognito", "datafly", "top-down-specialization"}
NEEDS_TREES = {*LEVELS, "kaca"}


def one(algorithm: str) -> dict[str, object]:
    """Measure one algorithm in this process."""
    adult = load_adult().sample(fraction=1.0, shuffle=True, seed=1)
    roles = eight(adult, taxonomies=algorithm in NEEDS_TREES)
    if algorithm in LEVELS:
        trees = shoal.datasets.adult_hierarchies()
        numbers = sorted(set(adult.get_column("education_num")))
        roles["hierarchies"] |= {
            "age": trees["age"],
            "education_num": shoal.interval_hierarchy(numbers, widths=(2, 4, 8)),
        }
    timed(adult.head(1000), 10, roles, algorithm=algorithm, seed=0)  # compile
    before = peak_mebibytes()
    seconds = {}
    release = None
    for rows in SIZES:
        times = []
        for _ in range(1 if seconds and max(seconds.values()) > 5 else 3):
            release, took = timed(adult.head(rows), 10, roles, algorithm=algorithm, seed=0)
            times.append(took)
        seconds[rows] = min(times)
    assert release is not None
    sizes = [math.log(n) for n in SIZES[:3]]
    slope = float(np.polyfit(sizes, [math.log(seconds[n]) for n in SIZES[:3]], 1)[0])
    return {
        "algorithm": algorithm,
        "seconds": seconds,
        "growth": slope,
        "peak_mib": peak_mebibytes(),
        "above_start_mib": peak_mebibytes() - before,
        "ncp": release.scores["ncp"],
        "lm": release.scores["lm"],
        "suppressed": release.n_suppressed,
        "trees": algorithm in NEEDS_TREES,
    }


def page(content: dict[str, Any]) -> str:
    """Return the page of results."""
    card = content["machine"]
    lines = [
        "# How fast, how large, how good: every algorithm",
        "",
        (
            "Adult, 45,222 rows, eight quasi-identifiers, k = 10, measure ncp; "
            f"{card['cores']} cores, Python {card['python']}, numba {card['numba']}, commit "
            f"{card['commit']}. Seconds are the best of three runs of the whole call (encode to "
            "score), compiling left out. Growth is the exponent b of time = a · rows^b between "
            "10,000 and 40,000 rows. Memory is the peak of the process and, beside it, what the "
            "runs added to what Python, the libraries and the table hold. Algorithms marked * ran "
            "with taxonomies (Incognito and KACA generalise along them), the others with flat "
            "categories, so losses compare only within a kind."
        ),
        "",
        "Made by `make bench-algorithms`.",
        "",
    ]
    heads = ["algorithm", "10,000", "20,000", "40,000", "45,222 rows", "growth", "peak MiB"]
    body = []
    for row in content["rows"]:
        seconds = row["seconds"]
        times = [f"{seconds[str(n)]:.2f} s" for n in SIZES]
        star = "*" if row["trees"] else ""
        memory = [f"{row['peak_mib']:.0f}", f"{row['above_start_mib']:.0f}"]
        losses = [f"{row['ncp']:.4f}", f"{row['lm']:.4f}"]
        name, growth = f"{row['algorithm']}{star}", f"{row['growth']:.2f}"
        body.append([name, *times, growth, *memory, *losses, row["suppressed"]])
    lines += table([*heads, "added MiB", "ncp", "lm", "suppressed rows"], body)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run every algorithm in its own process and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one)))
        return
    rows = []
    for name in arguments.names or shoal.algorithms():
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.algorithms", "--one", name],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(f"{name}: failed: {done.stderr.strip().splitlines()[-1]}", flush=True)
            continue
        row = json.loads(done.stdout.splitlines()[-1])
        rows.append(row)
        print(
            f"{name:15s} {row['seconds']['45222']:7.2f} s  growth {row['growth']:.2f}  "
            f"ncp {row['ncp']:.4f}  {row['peak_mib']:.0f} MiB",
            flush=True,
        )
    if not arguments.names:
        content = {"machine": machine(), "rows": rows}
        save_json(raw_results("algorithms") / "algorithms.json.gz", content)
        (RESULTS / "algorithms.md").write_text(page(content), encoding="utf-8")


if __name__ == "__main__":
    main()
