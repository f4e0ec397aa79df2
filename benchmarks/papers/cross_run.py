"""One algorithm and one measure over k, in a process of its own, so that its memory is its own.

Run: python -m benchmarks.papers.cross_run ALGORITHM MEASURE ROWS SEED[,SEED...] K[,K...]
Prints one line of JSON.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import shoal
from benchmarks.common import eight, peak_mebibytes
from benchmarks.papers.as_published import helped, whole_table
from benchmarks.papers.features import encoded
from shoal.datasets import load_adult
from shoal.engine.local import LocalEngine
from shoal.engine.pipeline import run_pipeline
from shoal.errors import ShoalError, ShoalWarning
from shoal.measure.scores import score_table
from shoal.registry import algorithms, load, measures
from shoal.settings.request import build_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CLASSES = ("pmi", "wmi")
SAME = ("il", "tree", "whd")
"""In this setting NCP, or NCP times the number of cells: run to show it, and not ranked."""
SHOWN = 10
"""The k at which all measures are shown."""
PASSES = 10
"""Sequential clustering stops here with PMI, which is not monotone and keeps moving records."""
OTHERS = {"german_credit": "credit_risk", "census_income": "salary"}
"""Other tables that come with the package, and what is sensitive in them."""
WIDTHS = ((2, 4), (5, 10, 20))
"""Levels of numbers with few and with many values, where whole columns are recoded."""
WARM_ROWS = 503
"""Compiles everything: no multiple of k, so that some rows are left for a group to take."""


def own_process(
    algorithm: str, measure: str, rows: int, seeds: tuple[int, ...], ks: tuple[int, ...]
) -> dict[str, Any]:
    """Return the runs of one algorithm and measure, made in a new process."""
    numbers = [str(rows), *(",".join(map(str, found)) for found in (seeds, ks))]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.papers.cross_run", algorithm, measure, *numbers],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{algorithm} with {measure} failed:\n{done.stderr[-2_000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@lru_cache(maxsize=1)
def adult(rows: int) -> Any:
    """Return rows of Adult's training part in one random order."""
    return load_adult(part="train").sample(fraction=1.0, shuffle=True, seed=1).head(rows)


@lru_cache(maxsize=1)
def other(name: str, rows: int) -> Any:
    """Return rows of another table in one random order: quasi-identifiers, then the sensitive."""
    whole = getattr(shoal.datasets, f"load_{name}")()
    columns = [*getattr(shoal.datasets, f"{name.upper()}_QUASI_IDENTIFIERS"), OTHERS[name]]
    return whole.select(columns).sample(fraction=1.0, shuffle=True, seed=1).head(rows)


def described(frame: Any, algorithm: str, name: str = "adult") -> dict[str, Any]:
    """Return the roles of the columns: what raises columns to levels has trees for numbers."""
    levels = not load("algorithms", algorithm).works_in_blocks
    if name != "adult":
        *columns, sensitive = frame.columns
        known = getattr(shoal.datasets, f"{name}_hierarchies")()
        trees = {column: known[column] for column in columns if column in known}
        for column in set(columns) - set(trees) if levels else ():
            values = sorted(set(frame.get_column(column)))
            trees[column] = shoal.interval_hierarchy(values, widths=WIDTHS[len(values) > 10])
        return {"quasi_identifiers": columns, "sensitive": [sensitive], "hierarchies": trees}
    roles = eight(frame, taxonomies=True)
    if levels:
        numbers = sorted(set(load_adult().get_column("education_num")))
        roles["hierarchies"] = roles["hierarchies"] | {
            "age": shoal.datasets.adult_hierarchies()["age"],
            "education_num": shoal.interval_hierarchy(numbers, widths=(2, 4, 8)),
        }
    return roles


def on_other(
    algorithm: str, name: str, rows: int, seeds: tuple[int, ...], ks: tuple[int, ...]
) -> dict[str, Any]:
    """Return the runs of one algorithm on another table, NCP minimised, for each seed over k."""
    run(algorithm, "ncp", 0, min(rows, WARM_ROWS), 5, name)  # compile
    return over_k(algorithm, "ncp", rows, seeds, ks, name)


def over_k(
    label: str,
    measure: str,
    rows: int,
    seeds: Iterable[int],
    ks: Sequence[int],
    name: str = "adult",
) -> dict[str, Any]:
    """Return the runs for each seed over k."""
    return {
        "seeds": [
            {"k": {str(k): run(label, measure, seed, rows, k, name) for k in ks}} for seed in seeds
        ]
    }


def run(
    label: str, measure: str, seed: int, rows: int, k: int, name: str = "adult"
) -> dict[str, Any]:
    """Return what one run loses under every measure, and its CPU seconds."""
    frame = adult(rows) if name == "adult" else other(name, rows)
    algorithm, help_wanted = (label, False) if label in algorithms() else (helped(label), True)
    roles = described(frame, algorithm, name)
    options = {"max_passes": PASSES} if algorithm == "sequential" and measure in CLASSES else {}
    given = {
        "k": k,
        "algorithm": algorithm,
        "algorithm_options": options,
        "measure": measure,
        "seed": seed,
        "threads": 1,
        **roles,
    }
    request = build_request(given if help_wanted else whole_table(rows, given))
    schema = request.schema(frame.columns)
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShoalWarning)
            result = run_pipeline(frame, schema, request, LocalEngine())
    except ShoalError as error:
        return {"error": str(error)}
    seconds = time.process_time() - began
    scores = score_table(encoded(frame, roles), result.groups, of_the_papers())
    labels = result.groups.labels
    # groups are the same if they list the same rows, whatever their numbers
    first = np.unique(labels, return_index=True, return_inverse=True)
    canonical = first[1][first[2]].astype(np.int64)
    return {
        "seconds": round(seconds, 3),
        "groups": result.groups.n_groups,
        "suppressed": result.groups.n_suppressed,
        "same": hashlib.sha256(canonical.tobytes()).hexdigest()[:12],
        "loss": {name: float(f"{value:.6g}") for name, value in scores.items()},
    }


def of_the_papers() -> tuple[str, ...]:
    """Return the measures that any table has; squared errors of means are another field's.

    Without the sum of diameters, which compares all pairs of records of groups of thousands, too,
    and without C_avg, which is the average class size divided by k.
    """
    return tuple(
        name
        for name in measures()
        if not getattr(load("measures", name), "of_means", False)
        and name not in ("diameters", "c-avg")
    )


def can_be_minimised() -> tuple[str, ...]:
    """Return those of them that algorithms can minimise."""
    return tuple(name for name in of_the_papers() if load("measures", name).can_minimise)


def main() -> None:
    """Run all seeds and k of the command line and print the result."""
    label, measure, rows, *listed = sys.argv[1:]
    seeds, ks = ([int(number) for number in text.split(",")] for text in listed)
    run(label, measure, seeds[0], WARM_ROWS, 5)  # compile
    adult.cache_clear()
    found = over_k(label, measure, int(rows), seeds, ks)
    print(json.dumps({**found, "mebibytes": round(peak_mebibytes())}))


if __name__ == "__main__":
    main()
