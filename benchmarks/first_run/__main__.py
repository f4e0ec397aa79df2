"""What first commands take where nothing is compiled yet, and what they take again.

Run: python -m benchmarks.first_run [--rows N]
The package is copied without compiled code. The commands run one after the other, each twice: what
the first time takes longer is compiling. Writes benchmarks/first_run/results/ and
docs/results/first_run.md.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.common import ROOT, eight, machine, run_benchmark
from benchmarks.draw.tables import table
from shoal.datasets import load_adult

K, SEED = 20, 1


def commands(folder: Path, n_rows: int) -> dict[str, list[str]]:
    """Write a table, and return what is asked of it, by what a reader would call it."""
    frame = load_adult().head(n_rows).with_columns(patient=pl.arange(n_rows) // 2)
    frame.write_csv(folder / "few.csv")
    roles = eight(frame)
    drop = ",".join(set(roles["drop"]) - {"patient"})
    columns = ["--qi", ",".join(roles["quasi_identifiers"]), "--sensitive", "salary"]
    columns += ["--drop", drop, "--quiet"]
    rows, people = [*columns, "--drop", "patient"], [*columns, "--person", "patient"]
    release = ["anonymize", "few.csv", "-o", "safe.csv", "--replace", "--k", str(K)]
    release += ["--seed", str(SEED)]
    diverse = ["--l-diversity", "2", "--l-kind", "distinct"]
    return {
        "`shoal anonymize`": [*release, *rows],
        "then with `--l-diversity 2 --l-kind distinct`": [*release, *rows, *diverse],
        "then with `--l-diversity 1.2`": [*release, *rows, "--l-diversity", "1.2"],
        "then with `--person`": [*release, *people],
        "then `shoal explain`": ["explain", "few.csv", "--k", str(K), *rows],
        "then `shoal compare`": ["compare", "few.csv", "--k", str(K), *rows, "--out", "runs.jsonl"],
    }


def seconds(command: list[str], folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Run a command, and return its seconds on the clock and on all cores."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "shoal", *command],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    elapsed, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (folder / "runs.jsonl").unlink(missing_ok=True)  # a comparison would go on where it was
    return {"elapsed": elapsed, "cpu": cpu}


def measure(n_rows: int) -> dict[str, Any]:
    """Run every command twice in a copy that has compiled nothing."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        left_out = shutil.ignore_patterns("kernels-*", "compiled")
        shutil.copytree(ROOT / "src", folder / "src", ignore=left_out)
        environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
        environment |= {"NUMBA_CACHE_DIR": str(folder / "code"), "XDG_CACHE_HOME": str(folder)}
        runs: dict[str, Any] = {}
        load = round(os.getloadavg()[0], 2)
        asked = commands(folder, n_rows)
        seconds(["measures"], folder, environment)  # modules of Python are compiled by now
        for name, command in asked.items():
            first, again = (seconds(command, folder, environment) for _ in range(2))
            runs[name] = {"first": first, "again": again}
            print(name, runs[name], flush=True)
    return {"machine": machine(), "rows": n_rows, "load": load, "runs": runs}


def page(content: dict[str, Any]) -> str:
    """Return the page of results."""
    made, rows = content["machine"], []
    for name, run in content["runs"].items():
        first, again = run["first"], run["again"]
        more = first["elapsed"] - again["elapsed"]
        cells = [first["elapsed"], again["elapsed"], more, first["cpu"] - again["cpu"]]
        rows.append([name, *(f"{cell:.1f}" for cell in cells)])
    heads = ["command", "first time (s)", "again (s)", "compiling (s)", "compiling (CPU s)"]
    lines = [
        "# What the first run compiles",
        "",
        (
            f"{content['rows']} rows of Adult, k = {K}, one command after the other in a copy of "
            "the package that has compiled nothing. What a command takes longer than when it is "
            "called again is compiling; a command finds what those above it have compiled. "
            f"Commit {made['commit']}, Python {made['python']}, numba {made['numba']}, "
            f"{made['cores']} cores, load {content['load']} when it began. Again: `python -m "
            "benchmarks.first_run`. [More on the first run](../first-run.md)."
        ),
        "",
        *table(heads, rows),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_benchmark("first_run", __doc__, measure, page, rows=(500, "rows of the table"))
