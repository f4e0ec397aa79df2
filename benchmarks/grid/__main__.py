"""What a grid costs: the same table released with exact ends and with ends on lines.

Run: python -m benchmarks.grid [--rows N]
Adult, and a table of floats, datetimes and dates made from a seed. Writes benchmarks/grid/results/
and docs/results/grid.md.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl

import shoal
from benchmarks.common import eight, machine, run_benchmark
from benchmarks.draw.tables import titled
from shoal.datasets import load_adult

SEED = 7
KS = (5, 10)
MEASURES = ("ncp", "lm", "mi", "suppression")
ADULT_GRIDS: dict[str, Any] = {
    "none": "none",
    "age by 5, education by 2": {"age": 5, "education_num": 2},
    "age by 10, education by 4": {"age": 10, "education_num": 4},
}
VISIT_GRIDS: dict[str, Any] = {
    "none": "none",
    "by default": None,
    "coarser by ten": {"lon": 0.1, "lat": 0.1, "seen": "month", "paid": 100, "born": "year"},
}


def visits(n_rows: int) -> pl.DataFrame:
    """Return people with a place, a moment, a sum and a birthday, made from a seed."""
    rng = np.random.default_rng(SEED)
    towns = rng.normal([10.0, 50.0], [2.5, 1.5], (40, 2))
    town = rng.integers(40, size=n_rows)
    place = towns[town] + rng.normal(0, 0.1, (n_rows, 2))
    start, birth = dt.datetime(2022, 1, 1), dt.date(1935, 1, 1)  # noqa: DTZ001 - no zone is meant
    return pl.DataFrame(
        {
            "lon": place[:, 0],
            "lat": place[:, 1],
            "seen": [start + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 10**8, n_rows)],
            "paid": rng.lognormal(6, 1, n_rows).round(2),
            "born": [birth + dt.timedelta(days=int(d)) for d in rng.integers(0, 30_000, n_rows)],
        }
    )


def measure(n_rows: int) -> dict[str, Any]:
    """Release both tables with every grid, and score what is published."""
    adult = load_adult().head(n_rows)
    made_up = visits(n_rows)
    tables: dict[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
        "Adult": (adult, eight(adult, taxonomies=True), ADULT_GRIDS),
        "visits": (made_up, {"quasi_identifiers": made_up.columns}, VISIT_GRIDS),
    }
    runs = []
    for name, (frame, roles, grids) in tables.items():
        for k in KS:
            for title, grid in grids.items():
                made = shoal.anonymize(frame, k, **roles, grid=grid, seed=SEED)
                steps = {c: str(each) for c, each in made.schema.grids.items() if each}
                scores = {each: made.scores[each] for each in MEASURES}
                run = {"table": name, "k": k, "grid": title, "steps": steps, **scores}
                runs.append({**run, "holds": made.verification.holds})
                print(runs[-1], flush=True)
    return {"machine": machine(), "rows": n_rows, "runs": runs}


def page(content: dict[str, Any]) -> str:
    """Return the page of results."""
    lines = [
        "# What a grid costs",
        "",
        (
            "The ends of an interval are somebody's exact values, unless they are widened to the "
            "lines of a [grid](../grid.md). Every measure counts the widened interval, so the "
            "price shows: below is the loss of the same table with exact ends and with lines. "
            "Lower is better; `suppression` is the share of cells that are not one value."
        ),
        "",
        (
            f"{content['rows']:,} rows of Adult (eight quasi-identifiers, with hierarchies), and "
            "as many made-up visits: longitude and latitude to the last digit, a moment to the "
            f"second, a sum to the cent, a birthday. `auto`, seed {SEED}. Again: `python -m "
            "benchmarks.grid`."
        ),
    ]
    for name in dict.fromkeys(run["table"] for run in content["runs"]):
        runs = [run for run in content["runs"] if run["table"] == name]
        rows = []
        for run in runs:
            start = next(r for r in runs if r["k"] == run["k"] and r["grid"] == "none")
            more = run["ncp"] / start["ncp"] - 1
            rows.append(
                [
                    run["k"],
                    run["grid"],
                    ", ".join(f"{c} {step}" for c, step in run["steps"].items()),
                    *(f"{run[each]:.4f}" for each in MEASURES),
                    "" if run is start else f"{100 * more:+.1f} %",
                ]
            )
        lines += titled(name, ["k", "grid", "lines", *MEASURES, "ncp, against none"], rows)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_benchmark("grid", __doc__, measure, page, rows=(5000, "rows of each table"))
