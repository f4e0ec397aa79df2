"""Everything that issue "better than every paper" asks to be shown.

Run: python -m benchmarks.beyond [--quick] [--minutes 8]
Writes docs/results/beyond.json, beyond.md and, with matplotlib (extra bench), beyond_*.svg/png.
A cell that the time does not allow is left out and named in the page.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import shoal
from benchmarks.beyond.curves import STARTS, trace
from benchmarks.beyond.page import write_page
from benchmarks.beyond.shapes import SHAPES
from benchmarks.common import eight, fourteen, load_adult, timed, write_json
from benchmarks.papers.published_numbers import TABLE_2
from shoal.errors import ShoalError

ARX = {5: 0.0571, 10: 0.0858, 50: 0.1713}
SDC_MICRO_LM = 0.0516
EFFORTS = ("fast", "balanced", "best")
PAPERS = ("kaca", "mondrian", "hilbert", "sequential", "k-member", "agglomerative", "oka")


class Clock:
    """Says whether there is time left, and remembers what was left out."""

    def __init__(self, minutes: float) -> None:
        """Start the clock."""
        self.began = time.monotonic()
        self.end = self.began + 60 * minutes
        self.skipped: list[str] = []

    def until(self, share: float) -> Callable[[str], bool]:
        """Return a test that is true while this share of the whole time is not used up."""
        limit = self.began + share * (self.end - self.began)

        def allows(what: str) -> bool:
            if time.monotonic() < limit:
                return True
            self.skipped.append(what)
            return False

        return allows


def main() -> None:
    """Measure what the time allows and write it down after each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small samples, to try the script")
    parser.add_argument("--minutes", type=float, default=8.0)
    given = parser.parse_args()
    clock = Clock(given.minutes)
    results: dict[str, Any] = {"quick": given.quick, "load_average": os.getloadavg()[0]}
    train, adult = load_adult(part="train"), load_adult()
    if given.quick:
        train, adult = train.sample(1500, seed=0), adult.sample(1500, seed=0)
    warm_up(adult)
    parts = (
        ("software", lambda: other_software(train, clock.until(0.35))),
        ("table_2", lambda: table_2(adult, clock.until(0.5))),
        ("shapes", lambda: shapes(clock.until(0.65), quick=given.quick)),
        ("curves", lambda: curves(train, clock.until(0.75))),
        ("papers", lambda: papers(adult, clock.until(1.0))),
    )
    for name, part in parts:
        print(name, flush=True)
        results[name] = part()
        results["skipped"] = clock.skipped
        write_json("beyond.json", results)
    print(write_page(results))


def warm_up(adult: Any) -> None:
    """Compile every kernel, so that no time below holds compiling."""
    few = adult.head(300)
    for measure in ("ncp", "mi"):
        for algorithm in ("auto", *PAPERS):
            timed(few, 5, eight(few), algorithm=algorithm, measure=measure, bound=True, seed=0)


def other_software(train: Any, allows: Callable[[str], bool]) -> list[dict[str, Any]]:
    """30,162 rows of adult.data, eight columns, beside ARX and sdcMicro."""
    names = eight(train)["quasi_identifiers"]
    bounds = {k: shoal.lower_bound(train, k, quasi_identifiers=names) for k in ARX}
    asked = [("ncp", k, effort) for effort in EFFORTS for k in ARX]
    asked.insert(2 * len(ARX), ("lm", 10, "balanced"))  # before the long runs of `best`
    rows = [
        cell(train, k, measure, effort)
        | {
            "other": ARX[k] if measure == "ncp" else SDC_MICRO_LM,
            "bound": bounds[k] if measure == "ncp" else None,
        }
        for measure, k, effort in asked
        if allows(f"software: {measure}, k = {k}, {effort}")
    ]
    return sorted(rows, key=lambda row: (row["measure"] != "ncp", row["k"]))


def cell(train: Any, k: int, measure: str, effort: str) -> dict[str, Any]:
    """One run of auto."""
    release, took = timed(
        train, k, eight(train), measure=measure, algorithm_options={"effort": effort}, seed=0
    )
    loss = release.scores[measure]
    print(f"  {measure} k={k} {effort}: {loss:.4f} in {took:.1f} s", flush=True)
    return {"k": k, "measure": measure, "effort": effort, "loss": loss, "seconds": took}


def shapes(allows: Callable[[str], bool], *, quick: bool) -> list[dict[str, Any]]:
    """Three other shapes of data, at k = 5 and 25."""
    rows = []
    for name, make in SHAPES.items():
        frame, roles = make(300) if quick else make()
        for k in (5, 25):
            if not allows(f"shapes: {name}, k = {k}"):
                continue
            found = compare(frame, k, roles, "ncp", allows, f"shapes: {name}, k = {k}")
            bound = shoal.lower_bound(frame, k, **roles)
            rows.append({"shape": name, "rows": frame.height, "k": k, "bound": bound, **found})
    return rows


def compare(
    frame: Any, k: int, roles: Any, measure: str, allows: Callable[[str], bool], what: str
) -> dict[str, Any]:
    """Return loss and seconds of auto and of each algorithm of the papers."""
    found: dict[str, Any] = {}
    asked = (("auto", "balanced"), *((name, None) for name in PAPERS), ("auto", "best"))
    for name, effort in asked:
        label = name if effort is None else f"auto, {effort}"
        if not allows(f"{what}, {label}"):
            continue
        options = {} if effort is None else {"algorithm_options": {"effort": effort}}
        try:
            release, took = timed(
                frame, k, roles, algorithm=name, measure=measure, seed=0, **options
            )
        except ShoalError as error:
            print(f"  {what}, {label}: {error}", flush=True)
            continue
        found[label] = {"loss": release.scores[measure], "seconds": took}
    listed = ", ".join(f"{name} {value['loss']:.4f}" for name, value in found.items())
    print(f"  {what}: {listed}", flush=True)
    return {"measure": measure, "found": found}


def curves(train: Any, allows: Callable[[str], bool]) -> list[dict[str, Any]]:
    """Loss over time of refinement from several starts."""
    few = train.sample(min(5_000, train.height), seed=1)
    return [trace(few, eight(few), k, STARTS, 8) for k in (10, 50) if allows(f"curves: k = {k}")]


def table_2(adult: Any, allows: Callable[[str], bool]) -> list[dict[str, Any]]:
    """Goldberger and Tassa's 14 columns, each value kept or suppressed."""
    rows = []
    for k in (10, 50, 100, 20, 30, 40, 75):
        if not allows(f"Table 2: k = {k}"):
            continue
        release, took = timed(adult, k, fourteen(adult), measure="lm", seed=0)
        loss = release.scores["lm"]
        print(f"  k={k} published {TABLE_2[k]} auto {loss:.4f} in {took:.1f} s", flush=True)
        rows.append({"k": k, "published": TABLE_2[k], "loss": loss, "seconds": took})
    return sorted(rows, key=lambda row: row["k"])


def papers(adult: Any, allows: Callable[[str], bool]) -> list[dict[str, Any]]:
    """Adult, eight columns, flat and with taxonomies: auto beside the papers' algorithms."""
    rows = []
    for measure in ("ncp", "lm", "mi"):
        for taxonomies in (False, True):
            for k in (10, 50, 5, 25, 100):
                trees = "taxonomies" if taxonomies else "flat"
                what = f"papers: {measure}, {trees}, k = {k}"
                if allows(what):
                    roles = eight(adult, taxonomies=taxonomies)
                    found = compare(adult, k, roles, measure, allows, what)
                    rows.append({"k": k, "trees": trees, **found})
    return rows


if __name__ == "__main__":
    main()
