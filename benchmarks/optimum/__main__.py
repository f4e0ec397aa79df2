"""How far `auto` is from the optimum, and the bound from it, on tables small enough to solve.

Run: python -m benchmarks.optimum [--tables N]
Rows of Adult in five columns of few values. Writes benchmarks/optimum/results/ and
docs/results/optimum.md. Needs scipy, which comes with the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import shoal
from benchmarks.common import machine, run_benchmark
from benchmarks.draw.tables import titled
from benchmarks.optimum.exact import solve
from shoal.datasets import load_adult
from shoal.measure.scores import create_measure
from shoal.table.encode import encode

COLUMNS = ["age", "education_num", "sex", "race", "marital_status"]
CASES = ((60, 2), (60, 3), (60, 5), (120, 2), (120, 3))
EFFORTS = ("fast", "balanced", "best")


def table_of(n_rows: int, seed: int) -> pl.DataFrame:
    """Return some rows of Adult; ages in steps of five years, so that closures can be listed."""
    rows = load_adult().sample(n_rows, seed=seed).select(COLUMNS)
    return rows.with_columns(pl.col("age") // 5 * 5, pl.col("education_num") // 2 * 2)


def measure(n_tables: int) -> dict[str, Any]:
    """Solve every table, and release and bound it."""
    ncp = create_measure("ncp")
    runs = []
    for n_rows, k in CASES:
        for seed in range(n_tables):
            frame = table_of(n_rows, seed)
            made = {
                effort: shoal.anonymize(
                    frame,
                    k,
                    quasi_identifiers=COLUMNS,
                    algorithm_options={"effort": effort},
                    seed=seed,
                    threads=1,
                )
                for effort in EFFORTS
            }
            best = made["best"]
            found = solve(encode(frame, best.schema), k, ncp, best.groups)  # type: ignore[arg-type]
            run = {"rows": n_rows, "k": k, "least": found.least, "found": found.found}
            run["bound"] = shoal.lower_bound(frame, k, quasi_identifiers=COLUMNS, threads=1)
            runs.append({**run, **{e: made[e].scores["ncp"] for e in EFFORTS}})
            print(runs[-1], flush=True)
    return {"machine": machine(), "tables": n_tables, "runs": runs}


def page(content: dict[str, Any]) -> str:
    """Return the page of results."""
    runs = content["runs"]
    solved = sum(run["found"] <= run["least"] * (1 + 1e-6) for run in runs)
    lines = [
        "# The gap to the optimum",
        "",
        (
            "How much less could be lost at best? On small tables that can be said: the best of "
            "all groupings is a linear programme with a column for every possible group, solved by "
            "column generation (`benchmarks/optimum/exact.py`, HiGHS from scipy). No release is "
            f"below its value; in {solved} of {len(runs)} tables whole groups reach it, so it is "
            "the optimum, and in the others the optimum lies between it and the best release found."
        ),
        "",
        (
            f"{content['tables']} random samples of Adult per line, five quasi-identifiers "
            f"({', '.join(COLUMNS)}; ages in steps of five, education in steps of two). Loss is "
            "`ncp`, all columns say how many times the value of the programme it is, "
            "on average and, in brackets, at worst. `bound` is what `shoal.lower_bound` says: "
            "below 1, and 1 would be perfect. Again: `python -m benchmarks.optimum`."
        ),
    ]
    rows = []
    for n_rows, k in CASES:
        own = [run for run in runs if (run["rows"], run["k"]) == (n_rows, k)]
        cells = [f"{n_rows}", f"{k}", f"{np.mean([run['least'] for run in own]):.4f}"]
        for name in ("found", *reversed(EFFORTS), "bound"):
            ratio = [run[name] / run["least"] for run in own]
            worst = min(ratio) if name == "bound" else max(ratio)
            cells.append(f"{np.mean(ratio):.3f} ({worst:.3f})")
        rows.append(cells)
    heads = [
        "rows",
        "k",
        "programme",
        "whole groups",
        "`auto`, best",
        "`auto`",
        "`auto`, fast",
        "bound",
    ]
    lines += titled("Loss as a multiple of the value that no release is below", heads, rows)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_benchmark("optimum", __doc__, measure, page, tables=(5, "tables of each size"))
