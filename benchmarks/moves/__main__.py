"""Loss over CPU seconds for every move of the search: python -m benchmarks.moves [--rows N,N].

Keeps benchmarks/moves/results/moves.json.gz run by run (a stopped benchmark goes on where it was;
a run is made again if it is deleted or with --fresh), then writes docs/results/moves.md.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.common import RESULTS, cpu_timed, eight, load_json, raw_results
from benchmarks.draw.tables import table
from benchmarks.kept import Keep
from benchmarks.moves.trace import tracing
from shoal.datasets import load_adult, make_census
from shoal.search.refine import EFFORTS

if TYPE_CHECKING:
    from shoal.search.scan import Effort

ADULT = 30_162
SIZES = (ADULT, 300_000, 1_000_000)
KS = (5, 10, 50, 500)
BALANCED = EFFORTS["balanced"]
VARIANTS: dict[str, Effort] = {
    "balanced": BALANCED,
    "no hot sweeps": replace(BALANCED, hot=(0, 0)),
    "half as many": replace(BALANCED, hot=(BALANCED.hot[0] // 2, BALANCED.hot[1] // 2)),
    "twice as many": replace(BALANCED, hot=(2 * BALANCED.hot[0], 2 * BALANCED.hot[1])),
    "no rebuilding": replace(BALANCED, rebuild=False),
    "no renewals": replace(BALANCED, renewals=0),
}
PATH = raw_results("moves") / "moves.json.gz"


def main() -> None:
    """Measure the cells asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(map(str, SIZES)), help="comma-separated")
    parser.add_argument("--k", default=",".join(map(str, KS)), help="comma-separated")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="comma-separated")
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    given = parser.parse_args()
    keep = Keep(PATH, quick=False, fresh=given.fresh)
    for n_rows in map(int, given.rows.split(",")):
        frame = load_adult(part="train") if n_rows == ADULT else make_census(n_rows, seed=1)
        for block_rows in (900, None):  # compile
            few = frame.head(3_000)
            cpu_timed(few, 5, eight(few), seed=0, block_rows=block_rows)
        for k in map(int, given.k.split(",")):
            for name in given.variants.split(","):
                keep(f"{n_rows} | {k} | {name}", lambda f=frame, k=k, n=name: one(f, k, n))
    (RESULTS / "moves.md").write_text(page(load_json(PATH)), encoding="utf-8")


def one(frame: Any, k: int, variant: str) -> dict[str, Any]:
    """Return loss and CPU seconds of a release, and of its stages and moves."""
    EFFORTS["balanced"] = VARIANTS[variant]
    try:
        with tracing() as trace:
            release, seconds = cpu_timed(frame, k, eight(frame), seed=0)
    finally:
        EFFORTS["balanced"] = BALANCED
    moves = {"stages": trace.stages, "moves": trace.moves}
    return {"loss": release.scores["ncp"], "seconds": seconds, **moves}


def page(content: dict[str, Any]) -> str:
    """Return the page about moves."""
    card, runs = content["machine"], content["runs"]
    cells = [(rows, k) for rows in SIZES for k in KS if f"{rows} | {k} | balanced" in runs]
    missing = [f"{rows:,} rows at k = {k}" for rows in SIZES for k in KS if (rows, k) not in cells]
    lines = [
        "# What every move of the search gains per second",
        "",
        (
            f"Made by `make bench-moves` at commit {', '.join(content['commits'])} (Python "
            f"{card['python']}, numba {card['numba']}, {card['cores']} cores; load of the machine "
            f"when runs began: {', '.join(map(str, content['loads']))}). CPU seconds of all "
            "threads, compiling left out; one run per cell, seed 0, NCP, eight columns: "
            f"{ADULT:,} rows are adult.data, more the synthetic census."
        ),
        "",
    ]
    if missing:
        lines += [f"Not run: {', '.join(missing)}.", ""]
    lines += ["## With more and with less of it", "", "Loss and, in brackets, CPU seconds.", ""]
    body = []
    for rows, k in cells:
        found = [runs.get(f"{rows} | {k} | {name}") for name in VARIANTS]
        body.append(
            [
                f"{rows:,}",
                k,
                *("" if r is None else f"{r['loss']:.5f} ({r['seconds']:.1f})" for r in found),
            ]
        )
    lines += table(["rows", "k", *VARIANTS], body)
    lines += [
        "",
        "## Stage after stage",
        "",
        (
            "The loss after each stage, as a multiple of what it is in the end, over CPU seconds "
            "since the start began. Stages that follow each other under one name are one row."
        ),
        "",
    ]
    body = []
    for rows, k in cells:
        body += [[f"{rows:,}", k, *row] for row in _stages(runs[f"{rows} | {k} | balanced"])]
    lines += table(["rows", "k", "stage", "CPU seconds", "since the start", "loss"], body)
    lines += [
        "",
        "## Moves",
        "",
        (
            "Within each stage. Gain is in per cent of the loss in the end; hot moves may cost "
            "more than they gain, by chance: what they are worth shows in the first table."
        ),
        "",
    ]
    body = []
    for rows, k in cells:
        body += [[f"{rows:,}", k, *row] for row in _moves(runs[f"{rows} | {k} | balanced"])]
    lines += table(["rows", "k", "move", "CPU seconds", "gain", "gain per second"], body)
    return "\n".join(lines) + "\n"


def _stages(run: dict[str, Any]) -> list[list[str]]:
    last, since = run["stages"][-1][2], 0.0
    rows: list[list[Any]] = []
    for name, seconds, cost in run["stages"]:
        since += seconds
        before = rows.pop()[1] if rows and rows[-1][0] == name else 0.0
        rows.append([name, before + seconds, since, cost / last])
    return [[name, f"{s:.2f}", f"{t:.2f}", f"{loss:.4f}"] for name, s, t, loss in rows]


def _moves(run: dict[str, Any]) -> list[list[str]]:
    last = run["stages"][-1][2]
    return [
        [name, f"{seconds:.2f}", f"{gain / last:.2%}", f"{gain / last / max(seconds, 0.01):.2%}"]
        for name, (seconds, gain) in sorted(run["moves"].items())
    ]


if __name__ == "__main__":
    main()
