"""Loss with and without a role for the person, on a panel made from Adult.

Run: python -m benchmarks.person
People of Adult answer in one to six years: they grow older, some change their work. Beside it the
same with a grid for ages, and Adult itself, where every row is a person. Writes
benchmarks/person/results/ and docs/results/person.md.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import polars as pl

import shoal
from benchmarks.common import machine, run_benchmark
from benchmarks.draw.tables import titled
from shoal.datasets import adult_hierarchies, load_adult

KS = (5, 10)
N_PEOPLE = 3_000
MOST_WAVES = 6
SEED = 7
QUASI = ("age", "workclass", "education", "marital_status", "occupation", "race", "sex")
ALGORITHMS = (
    "auto", "agglomerative", "k-member", "sequential", "kaca", "mondrian", "hilbert", "oka",
    "loukides-shao", "chiu-tsai",
)  # fmt: skip


def panel() -> pl.DataFrame:
    """Return answers of people over the years, in no order."""
    rng = np.random.default_rng(SEED)
    people = load_adult().sample(N_PEOPLE, seed=SEED)
    waves = rng.integers(1, MOST_WAVES + 1, N_PEOPLE)
    who = np.repeat(np.arange(N_PEOPLE), waves)
    wave = np.concatenate([np.arange(each) for each in waves])
    rows = people[who].with_columns(pl.col("age") + pl.Series(wave), person=pl.Series(who))
    changes = pl.Series(rng.random(len(who)) < 0.1)
    other = people["occupation"][rng.integers(0, N_PEOPLE, len(who))]
    rows = rows.with_columns(
        occupation=pl.when(changes).then(other).otherwise(pl.col("occupation"))
    )
    return rows.select(*QUASI, "salary", "person").sample(fraction=1, shuffle=True, seed=SEED)


def crossed(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Run `auto` with and without the role and with and without a grid, on both tables."""
    adult = load_adult().sample(table.height, seed=SEED).select(*QUASI, "salary")
    tables = {
        "Adult": adult.with_columns(person=pl.int_range(pl.len())),
        "panel": table,
    }
    runs = []
    for name, frame in tables.items():
        for k in KS:
            run: dict[str, Any] = {"table": name, "k": k, "rows": frame.height}
            for title, grid in (("none", "none"), ("grid", {"age": 5})):
                for who in ("rows", "people"):
                    asked: dict[str, Any] = (
                        {"drop": "person"} if who == "rows" else {"person": "person"}
                    )
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", shoal.ShoalWarning)
                        made = shoal.anonymize(
                            frame, k, **_columns(), **asked, grid=grid, seed=SEED
                        )
                    run[f"{who}_{title}"] = made.scores["ncp"]
            runs.append(run)
            print(run, flush=True)
    return runs


def _columns() -> dict[str, Any]:
    return {
        "quasi_identifiers": QUASI,
        "sensitive": "salary",
        "hierarchies": {n: t for n, t in adult_hierarchies().items() if n in QUASI and n != "age"},
    }


def measure() -> dict[str, Any]:
    """Run every algorithm with and without the role."""
    table, runs = panel(), []
    both = crossed(table)
    for algorithm in ALGORITHMS:
        for k in KS:
            runs.append({"algorithm": algorithm, "k": k, **_one(table, algorithm, k)})
            print(runs[-1], flush=True)
    return {
        "machine": machine(),
        "rows": table.height,
        "people": table["person"].n_unique(),
        "runs": runs,
        "crossed": both,
    }


def _one(table: pl.DataFrame, algorithm: str, k: int) -> dict[str, Any]:
    """Return losses and people: rows counted, people counted, and rows repaired to people."""
    columns = _columns()
    options = {**columns, "algorithm": algorithm, "seed": SEED, "shuffle": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shoal.ShoalWarning)
        by_rows = shoal.anonymize(table, k, **options, drop="person")
        began = time.perf_counter()
        by_people = shoal.anonymize(table, k, **options, person="person")
        seconds = time.perf_counter() - began
        effort = "balanced" if algorithm == "auto" else "fast"
        repaired = shoal.refine(
            table, by_rows.groups, k, **columns, person="person", seed=SEED, effort=effort
        )
    counted = table.with_columns(group=pl.Series(by_rows.groups)).filter(pl.col("group") >= 0)
    people = counted.group_by("group").agg(pl.col("person").n_unique())["person"]
    return {
        "rows_ncp": by_rows.scores["ncp"],
        "rows_fewest": int(people.min()),  # type: ignore[arg-type]  # a count
        "rows_below": float((people < k).mean()),  # type: ignore[arg-type]  # a share
        "people_ncp": by_people.scores["ncp"],
        "people_fewest": by_people.verification.fewest_people,
        "people_seconds": seconds,
        "rows_seconds": by_rows.seconds,
        "repaired_ncp": repaired.scores["ncp"],
    }


def page(content: dict[str, Any]) -> str:
    """Return the results as a page."""
    lines = [
        "# What it costs to count people",
        "",
        (
            f"A panel made from Adult: {content['people']:,} people with {content['rows']:,} rows, "
            f"one to {MOST_WAVES} each. They grow a year older from row to row, and in one row of "
            f"ten they have another occupation. {len(QUASI)} quasi-identifiers, ages as numbers, "
            f"the others with hierarchies. Seed {SEED}, commit {content['machine']['commit']}."
        ),
        "",
        "Made by `make bench-person` (`python -m benchmarks.person`).",
        "",
        "## People and grids, each alone and together",
        "",
        (
            "The loss (NCP) of `auto` on the panel, and on as many rows of Adult, where every row "
            "is a person: there the role changes what is checked, not what is asked for. The "
            "[grid](../grid.md) widens ages to steps of 5 years. The panel loses less than Adult "
            "while rows are counted because its people look like themselves: that is the leak."
        ),
        *titled(
            "NCP",
            ["table", "k", "rows counted", "rows, grid", "`person`", "`person`, grid"],
            [
                [
                    f"{run['table']}, {run['rows']:,} rows",
                    run["k"],
                    *(
                        f"{run[each]:.4f}"
                        for each in ("rows_none", "rows_grid", "people_none", "people_grid")
                    ),
                ]
                for run in content["crossed"]
            ],
        ),
        "",
        "## Every algorithm",
        "",
        (
            "Without the role every algorithm keeps its promise in rows and breaks it in people: "
            "the table shows how many people the smallest group has, and how many groups have "
            "fewer than k. With `person` every group has k people. The loss is NCP. Groups are "
            "then refined across the layers, whichever algorithm formed them; that is why some "
            "lose less than before."
        ),
    ]
    for k in KS:
        rows = [run for run in content["runs"] if run["k"] == k]
        lines += titled(
            f"k = {k}",
            [
                "algorithm",
                "loss, rows counted",
                "fewest people",
                "groups below k people",
                "loss, with `person`",
                "fewest people",
            ],
            [
                [
                    run["algorithm"],
                    f"{run['rows_ncp']:.4f}",
                    run["rows_fewest"],
                    f"{100 * run['rows_below']:.0f} %",
                    f"{run['people_ncp']:.4f}",
                    run["people_fewest"],
                ]
                for run in rows
            ],
        )
    lines += [
        "",
        "## One row of each person at a time, or repair afterwards?",
        "",
        (
            "Algorithms count rows. Shoal gives them one row of each person at a time, and refines "
            "across these layers, counting people. The other way is to let them group all rows, "
            "to merge groups of too few people, and to refine those. It loses more, but with "
            "Loukides and Shao's algorithm, which leaves rows out on its own. Loss, and seconds of "
            "the way that is taken, on a machine that was busy (the first run of some algorithms "
            "also compiled them):"
        ),
    ]
    lines += titled(
        "NCP of the two ways",
        ["algorithm", "k", "layers (in use)", "repair", "seconds, rows counted", "seconds, people"],
        [
            [
                run["algorithm"],
                run["k"],
                f"{run['people_ncp']:.4f}",
                f"{run['repaired_ncp']:.4f}",
                f"{run['rows_seconds']:.1f}",
                f"{run['people_seconds']:.1f}",
            ]
            for run in content["runs"]
        ],
    )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_benchmark("person", __doc__, measure, page)
