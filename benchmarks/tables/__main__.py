"""Several tables of a hospital beside the main one alone and one row per person.

Run: python -m benchmarks.tables
The tables of `make_hospital`: what is lost, table by table, where all are published together
against somebody who knows one, two or three events; where only the main one is published; and
where stays and diagnoses become columns of the main one. How far a join gets in each. Time and
memory for many people, in a process of their own. Writes benchmarks/tables/results/ and
docs/results/tables.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

import shoal
from benchmarks.common import machine, run_benchmark
from benchmarks.draw.tables import titled
from shoal.datasets import HOSPITAL_LINKS, HOSPITAL_ROLES, hospital_hierarchies, make_hospital
from shoal.measure.scores import score_table
from shoal.table.encode import encode
from shoal.table.infer import schema_of_used
from shoal.table.partition import Partition

K = 10
SEED = 1
TARGETS = 100
TABLES = ("patients", "stays", "diagnoses")
PLACES, CODES = 5, 3
"""Of one row per person: so many stays, and so many diagnoses of each."""


def tables_of(n_people: int) -> dict[str, pl.DataFrame]:
    """Return patients, stays and diagnoses."""
    every = make_hospital(n_people, SEED)
    return {name: every[name] for name in TABLES}


def roles() -> dict[str, dict[str, Any]]:
    """Return what the columns are."""
    trees = hospital_hierarchies()
    return {name: {**HOSPITAL_ROLES[name], "hierarchies": trees.get(name, {})} for name in TABLES}


def together(tables: dict[str, pl.DataFrame], m: int) -> shoal.TablesRelease:
    """Publish all tables against somebody who knows m events."""
    links = {one: other for one, other in HOSPITAL_LINKS.items() if one.split(".")[0] in TABLES}
    return shoal.anonymize_tables(tables, K, links=links, roles=roles(), knows_events=m, seed=SEED)


def alone(tables: dict[str, pl.DataFrame]) -> shoal.Release[pl.DataFrame]:
    """Publish the main table alone."""
    patients = tables["patients"]
    said = roles()["patients"]
    return shoal.anonymize(patients, K, **said, drop="patient_id", rows_are_people=True, seed=SEED)


def flattened(tables: dict[str, pl.DataFrame]) -> dict[str, float]:
    """Publish one row per person with columns for stays and diagnoses; return losses."""
    patients = tables["patients"].drop("name").with_row_index("who")
    stays = (
        tables["stays"]
        .join(patients.select("who", "patient_id"), on="patient_id", maintain_order="left")
        .with_columns(place=pl.int_range(pl.len()).over("patient_id"))
    )
    codes = (
        tables["diagnoses"]
        .join(stays.select("stay_id", "who", "place"), on="stay_id", maintain_order="left")
        .with_columns(number=pl.int_range(pl.len()).over("stay_id"))
    )
    wide, names, trees = (
        patients,
        ["sex", "born", "postcode"],
        dict(roles()["patients"]["hierarchies"]),
    )
    code_tree = roles()["diagnoses"]["hierarchies"]["code"]
    for place in range(PLACES):
        own = stays.filter(pl.col("place") == place)
        columns = {c: f"{c}{place}" for c in ("admitted", "ward", "days")}
        wide = wide.join(own.select("who", *columns).rename(columns), on="who", how="left")
        names += columns.values()
        for number in range(CODES):
            column = f"code{place}{number}"
            chosen = codes.filter((pl.col("place") == place) & (pl.col("number") == number))
            chosen = chosen.select("who", pl.col("code").alias(column))
            wide = wide.join(chosen, on="who", how="left")
            names.append(column)
            trees[column] = code_tree
    wide = wide.sort("who")
    release = shoal.anonymize(
        wide,
        K,
        quasi_identifiers=names,
        drop=["who", "patient_id"],
        hierarchies=trees,
        rows_are_people=True,
        algorithm_options={"effort": "fast"},
        seed=SEED,
    )
    group = np.asarray(release.groups)
    found = {"columns": len(names)}
    for name, frame, keys in (
        ("patients", patients, []),
        ("stays", stays, ["place"]),
        ("diagnoses", codes, ["place", "number"]),
    ):
        loss, out = _loss_of_cells(name, frame, keys, group)
        found |= {name: loss, f"{name} left out": out}
    return found


def _loss_of_cells(
    name: str, frame: pl.DataFrame, keys: list[str], group: np.ndarray
) -> tuple[float, float]:
    """Return the loss of the rows of a table whose cells are columns of a row per person.

    A column that somebody of a group does not have is published as anything for the group.
    """
    said = roles()[name]
    frame = frame.with_columns(group=pl.Series(group[frame.get_column("who").to_numpy()]))
    people = pl.DataFrame({"group": group}).group_by("group").len("people")
    fits = [pl.col(key) < most for key, most in zip(keys, (PLACES, CODES), strict=False)]
    within = frame.filter(fits) if fits else frame
    whole = (
        within.group_by("group", *keys)
        .agg(pl.col("who").n_unique().alias("have"))
        .join(people, on="group")
        .filter((pl.col("have") == pl.col("people")) & (pl.col("group") >= 0))
        .with_row_index("label")
    )
    on = ["group", *keys]
    labelled = frame.join(whole.select("label", *on), on=on, how="left", maintain_order="left")
    labels = labelled.get_column("label").cast(pl.Int64).fill_null(-1).to_numpy()
    schema = schema_of_used(
        nw.from_native(frame.select(said["quasi_identifiers"]), eager_only=True),
        quasi_identifiers=said["quasi_identifiers"],
        hierarchies=said["hierarchies"],
        default_grid=True,
    )
    table = encode(frame.select(said["quasi_identifiers"]), schema)
    partition = Partition.from_labels(labels)
    return score_table(table, partition, ("ncp",))["ncp"], float((labels < 0).mean())


def attacked(release: shoal.TablesRelease, tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """Return how far joins get."""
    found = release.audit(tables, targets=TARGETS)
    return {name: {"rate": each.rate, "worst": each.worst} for name, each in found.items()}


def measure(people: int, large: int) -> dict[str, Any]:
    """Measure losses, attacks, time and memory; what is timed is the work, not the clock."""
    command = [sys.executable, "-m", "benchmarks.tables.one", str(large)]
    many = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    tables = tables_of(people)
    runs = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shoal.ShoalWarning)
        for m in (1, 2, 3):
            began = time.process_time()
            release = together(tables, m)
            seconds = time.process_time() - began
            runs.append(
                {
                    "m": m,
                    "loss": {name: each["ncp"] for name, each in release.scores.items()},
                    "left out": {
                        name: n / tables[name].height for name, n in release.left_out.items()
                    },
                    "people": list(release.verification.fewest),
                    "attacks": attacked(release, tables),
                    "seconds": seconds,
                }
            )
            print(runs[-1], flush=True)
        one = alone(tables).scores["ncp"]
        print(one, flush=True)
        flat = flattened(tables)
        print(flat, flush=True)
        bare = bare_attack(tables)
        print(bare, flush=True)
    told, _ = many.communicate()
    return {
        "machine": machine(),
        "rows": {name: frame.height for name, frame in tables.items()},
        "runs": runs,
        "alone": one,
        "flat": flat,
        "bare": bare,
        "large": json.loads(told.splitlines()[-1]),
    }


def bare_attack(tables: dict[str, pl.DataFrame]) -> dict[str, Any]:
    """Attack a release in which only the main table is generalised and keys are pseudonyms."""
    release = together(tables, 1)
    people = shoal.anonymize(
        tables["patients"].drop("name"),
        K,
        quasi_identifiers=["sex", "born", "postcode"],
        hierarchies=roles()["patients"]["hierarchies"],
        insensitive="patient_id",
        seed=SEED,
    )
    frames = {"patients": people.frame, **{name: tables[name] for name in TABLES[1:]}}
    made = {name: replace(release.releases[name], frame=frame) for name, frame in frames.items()}
    return attacked(replace(release, releases=made), tables)


def page(content: dict[str, Any]) -> str:
    """Return the results as a page."""
    rows, large = content["rows"], content["large"]
    rarest = {1: "join: the rarest 1 event", 2: "join: the rarest 2 events"}
    rarest[3] = "join: the rarest 3 events"
    lines = [
        "# What it costs to publish several tables",
        "",
        (
            f"A synthetic hospital (`make_hospital`, seed {SEED}): {rows['patients']:,} patients, "
            f"{rows['stays']:,} stays, {rows['diagnoses']:,} diagnoses; k = {K}. Sex, day of birth "
            "and postcode are known of patients; day of admission, ward and days of stays; the "
            f"code of a diagnosis. Commit {content['machine']['commit']}."
        ),
        "",
        "Made by `make bench-tables` (`python -m benchmarks.tables`).",
        "",
        "## What is lost, table by table",
        "",
        (
            "Loss is NCP: 0 where every cell is exact, 1 where none tells anything. A row that is "
            "left out counts as 1. *The main table alone* publishes nothing else. *One row per "
            f"person* has columns for {PLACES} stays and {CODES} diagnoses of each "
            f"({content['flat']['columns']} quasi-identifiers) and is k-anonymous over all of "
            "them; what does not fit into these columns is left out, and a column that somebody of "
            "a group does not have tells nothing of the others. Its attacker knows everything."
        ),
        *titled(
            "Loss (NCP), and rows left out",
            ["published", "patients", "stays", "diagnoses", "stays left out", "diagnoses left out"],
            [
                ["the main table alone", f"{content['alone']:.3f}", "1", "1", "100 %", "100 %"],
                [
                    "one row per person",
                    *(f"{content['flat'][name]:.3f}" for name in TABLES),
                    *(f"{100 * content['flat'][f'{name} left out']:.1f} %" for name in TABLES[1:]),
                ],
                *(
                    [
                        f"all tables, {run['m']} known event{'s' if run['m'] > 1 else ''}",
                        *(f"{run['loss'][name]:.3f}" for name in TABLES),
                        *(f"{100 * run['left out'][name]:.1f} %" for name in TABLES[1:]),
                    ]
                    for run in content["runs"]
                ),
            ],
        ),
        "",
        (
            "Patients lose more than alone, because their groups are larger (three, five or eight "
            "times k for one, two or three events) and are made of people with like histories."
        ),
        "",
        "## How far a join gets",
        "",
        (
            f"Of {TARGETS} people the attacker knows the cells of the main table and some true "
            "events, the rarest ones of the person, and picks one of the people who fit. *As they "
            "are*: the main table is k-anonymous, and stays and diagnoses are published as they "
            "are, with pseudonyms."
        ),
        *titled(
            "Chance to pick the right person",
            ["published", "events known", "mean", "highest", "1 / k"],
            [
                [
                    "stays and diagnoses as they are",
                    1,
                    f"{content['bare'][rarest[1]]['rate']:.1%}",
                    f"{content['bare'][rarest[1]]['worst']:.1%}",
                    f"{1 / K:.0%}",
                ],
                *(
                    [
                        "all tables together",
                        run["m"],
                        f"{run['attacks'][rarest[run['m']]]['rate']:.1%}",
                        f"{run['attacks'][rarest[run['m']]]['worst']:.1%}",
                        f"{1 / K:.0%}",
                    ]
                    for run in content["runs"]
                ),
            ],
        ),
        "",
        "## Time and memory",
        "",
        (
            f"{large['rows']['patients']:,} patients, {large['rows']['stays']:,} stays and "
            f"{large['rows']['diagnoses']:,} diagnoses, two known events, from frames to verified "
            f"frames: {large['cpu']:.0f} CPU seconds ({large['seconds']:.0f} "
            "seconds on a machine that was busy with other work), and at most "
            f"{large['peak']:,.0f} MiB. Loss: "
            + ", ".join(f"{name} {large['loss'][name]:.3f}" for name in TABLES)
            + "; left out: "
            + ", ".join(f"{100 * large['left out'][name]:.2f} % of {name}" for name in TABLES[1:])
            + "."
        ),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_benchmark(
        "tables",
        __doc__,
        measure,
        page,
        people=(4_000, "people whose tables are compared"),
        large=(100_000, "people whose tables are timed"),
    )
