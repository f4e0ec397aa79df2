"""What is lost against attackers who know at most three columns, beside those who know all.

Run: python -m benchmarks.knows [--seeds N]
Adult with all columns but the income and Census-Income with 24 of 25, both in the package. Writes
benchmarks/knows/results/ and docs/results/knows.md.
"""

from __future__ import annotations

from math import comb
from typing import Any

from benchmarks.common import cpu_timed, machine, run_benchmark
from shoal.datasets import (
    adult_hierarchies,
    census_income_hierarchies,
    load_adult,
    load_census_income,
)

K, KNOWS = 10, 3
MOST_ROWS = 60_000
WAYS: dict[str, dict[str, Any]] = {
    "all columns, mondrian": {"algorithm": "mondrian"},
    "all columns, auto": {},
    f"at most {KNOWS} columns": {"knows": KNOWS},
}
TABLES = {
    "Adult": (load_adult, adult_hierarchies, "salary"),
    "Census-Income": (load_census_income, census_income_hierarchies, "salary"),
}


def measure(seeds: int) -> dict[str, Any]:
    """Publish each table in every way."""
    runs = []
    for table, (load, hierarchies, income) in TABLES.items():
        frame = load()
        frame = frame.sample(min(frame.height, MOST_ROWS), seed=1)
        columns = [name for name in frame.columns if name != income]
        trees = {name: tree for name, tree in hierarchies().items() if name in columns}
        roles = {"quasi_identifiers": columns, "drop": [income], "hierarchies": trees}
        for way, options in WAYS.items():
            for seed in range(seeds):
                release, seconds = cpu_timed(frame, K, roles, seed=seed, **options)
                runs.append(
                    {
                        "table": table,
                        "rows": frame.height,
                        "columns": len(columns),
                        "way": way,
                        "seed": seed,
                        "ncp": release.scores["ncp"],
                        "smallest": release.verification.smallest_group,
                        "seconds": seconds,
                    }
                )
                print(runs[-1], flush=True)
    return {"machine": machine(), "seeds": seeds, "runs": runs}


def page(content: dict[str, Any]) -> str:
    """Return the page of results."""
    runs, made_by = content["runs"], content["machine"]
    lines = [
        "# What is lost if the attacker knows three columns, and not all?",
        "",
        (
            f"Tables of {K} or more alike in all quasi-identifiers, beside tables in which every "
            f"combination of {KNOWS} of them has {K} or more rows alike "
            "([what that promises](../limited-attackers.md)). NCP, mean over the seeds; all rows "
            "were verified from the published table. CPU seconds of all threads with verification, "
            "the fastest run."
        ),
        "",
        (
            f"Seeds: {content['seeds']}. Commit {made_by['commit']}, Python {made_by['python']}, "
            f"{made_by['cores']} cores. Again: `python -m benchmarks.knows`. At most "
            f"{MOST_ROWS:,} rows of a table, drawn at random."
        ),
        "",
        f"| table | rows | columns | combinations | {' | '.join(WAYS)} | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for table in dict.fromkeys(run["table"] for run in runs):
        own = [run for run in runs if run["table"] == table]
        lost = []
        for way in WAYS:
            found = [run["ncp"] for run in own if run["way"] == way]
            lost.append(f"{sum(found) / len(found):.4f}")
        seconds = [min(r["seconds"] for r in own if r["way"] == way) for way in WAYS]
        lines.append(
            f"| {table} | {own[0]['rows']:,} | {own[0]['columns']} "
            f"| {comb(own[0]['columns'], KNOWS):,} | {' | '.join(lost)} "
            f"| {', '.join(f'{each:.0f}' for each in seconds)} |"
        )
    lines += [
        "",
        (
            "What it costs: somebody who knows more than three of these columns of a person may "
            "find the row. The headline of such a release is amber and says so first."
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_benchmark("knows", __doc__, measure, page, seeds=(1, "runs of each"))
