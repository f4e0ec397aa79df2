"""`auto`, refinement and the bound beside other software, the papers and other shapes of data.

Run: python -m benchmarks.beyond [PART ...] [--quick] [--fresh], with parts software, every_k,
over_time, promises, allowance, whole, table_2, shapes, curves, papers, best.
Writes benchmarks/beyond/results/ run by run (a stopped benchmark goes on where it was), then
docs/results/beyond.md and its figures. Quick runs use small samples, in build/beyond-quick.
"""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any

import shoal
from benchmarks.beyond import mdav
from benchmarks.beyond.allowance import WHOSE_SAKE, left_out
from benchmarks.beyond.asked import (
    EVERY_K,
    OTHER_SEEDS,
    PROMISES,
    promised_frame,
    promised_roles,
)
from benchmarks.beyond.curves import CURVE_K, STARTS, efforts_over_time, trace
from benchmarks.beyond.page import PAPER_MEASURES, write_page
from benchmarks.beyond.shapes import SHAPES
from benchmarks.beyond.whole import GROWING, WHOLE_ROWS
from benchmarks.common import RESULTS, ROOT, cpu_timed, eight, fourteen, raw_results, timed
from benchmarks.kept import Keep
from benchmarks.papers.published_numbers import TABLE_2
from shoal.datasets import load_adult
from shoal.errors import ShoalError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EFFORTS = ("fast", "balanced", "best")
PAPERS = ("kaca", "mondrian", "hilbert", "k-member", "oka", "agglomerative", "sequential")
KS = (10, 50, 5, 25, 100)
CELLS = [
    (measure, trees, k) for measure in PAPER_MEASURES for trees in ("flat", "tree") for k in KS
]


def main() -> None:
    """Measure the parts asked for and write the page after each."""
    parts: dict[str, Callable[[Bench], None]] = {
        "software": software,
        "every_k": every_k,
        "over_time": over_time,
        "promises": promises,
        "allowance": allowance,
        "whole": whole,
        "table_2": table_2,
        "shapes": shapes,
        "curves": curves,
        "papers": papers,
        "best": best,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--quick", action="store_true", help="small samples, to try the script")
    parser.add_argument("--fresh", action="store_true", help="forget stored runs")
    given = parser.parse_args()
    folder = ROOT / "build" / "beyond-quick" if given.quick else RESULTS
    bench = Bench(folder, quick=given.quick, fresh=given.fresh)
    warm_up(bench.adult)
    for name in given.parts or parts:
        print(name, flush=True)
        parts[name](bench)
        print(write_page(bench.keep.content, folder), flush=True)


class Bench:
    """The tables and the stored runs."""

    def __init__(self, folder: Path, *, quick: bool, fresh: bool) -> None:
        kept = folder if quick else raw_results("beyond")
        self.keep = Keep(kept / "beyond.json.gz", quick=quick, fresh=fresh)
        self.quick = quick
        self.train, self.adult = load_adult(part="train"), load_adult()
        if quick:
            self.train, self.adult = self.train.sample(900, seed=0), self.adult.sample(900, seed=0)

    def run(
        self,
        key: str,
        frame: Any,
        k: int,
        roles: Any,
        measure: str,
        *,
        seed: int = 0,
        **options: Any,
    ) -> None:
        """Keep loss and seconds of one release."""

        def make() -> dict[str, Any]:
            try:
                release, took = cpu_timed(frame, k, roles, measure=measure, seed=seed, **options)
            except ShoalError as error:
                return {"error": str(error)}
            return {"loss": release.scores[measure], "seconds": took}

        self.keep(key, make)

    def auto(self, key: str, frame: Any, k: int, roles: Any, measure: str, effort: str) -> None:
        """Keep one run of auto."""
        self.run(key, frame, k, roles, measure, algorithm_options={"effort": effort})

    def bound(self, key: str, frame: Any, k: int, roles: Any, measure: str) -> None:
        """Keep the lower bound."""
        names = ("quasi_identifiers", "hierarchies", "kinds")
        given = {name: roles[name] for name in names if name in roles}
        self.keep(key, lambda: {"bound": shoal.lower_bound(frame, k, measure=measure, **given)})


def warm_up(adult: Any) -> None:
    """Compile every kernel, so that no time below holds compiling."""
    few = adult.head(300)
    for measure in ("ncp", "mi"):
        for algorithm in ("auto", *PAPERS):
            timed(few, 5, eight(few), algorithm=algorithm, measure=measure, bound=True, seed=0)
    for roles in (as_sets(few), fourteen(few)):
        timed(few, 5, roles, measure="lm", seed=0, block_rows=100)
    for name, model in PROMISES.items():
        with contextlib.suppress(ShoalError):  # few rows may not keep it
            frame = promised_frame(few, name)
            asked = [] if model is None else [model]
            timed(frame, 5, promised_roles(frame, name), privacy=asked, seed=0)


def as_sets(frame: Any) -> dict[str, Any]:
    """Return the eight columns with categories published as sets of values."""
    roles = eight(frame)
    words = [c for c in roles["quasi_identifiers"] if not frame[c].dtype.is_numeric()]
    return {**roles, "kinds": dict.fromkeys(words, "set")}


def software(bench: Bench) -> None:
    """30,162 rows of adult.data, eight columns, beside ARX and sdcMicro."""
    train, flat, sets = bench.train, eight(bench.train), as_sets(bench.train)
    for effort in EFFORTS:
        for k in (5, 10, 50):
            bench.auto(f"software ncp flat {k} {effort}", train, k, flat, "ncp", effort)
        bench.auto(f"software lm set 10 {effort}", train, 10, sets, "lm", effort)
        bench.auto(f"software lm flat 10 {effort}", train, 10, flat, "lm", effort)
    bench.keep("software mdav", lambda: mdav.scores(train, 10, flat, sets))
    for k in (5, 10, 50):
        bench.bound(f"software ncp flat {k} bound", train, k, flat, "ncp")


def every_k(bench: Bench) -> None:
    """30,162 rows of adult.data, eight columns, k from 2 to 1,000."""
    for k in EVERY_K:
        for effort in EFFORTS if k <= bench.train.height else ():
            key = f"every k | {k} | {effort}"
            bench.auto(key, bench.train, k, eight(bench.train), "ncp", effort)
        for seed in OTHER_SEEDS if k <= bench.train.height else ():
            key = f"every k | {k} | seed {seed}"
            bench.run(key, bench.train, k, eight(bench.train), "ncp", seed=seed)


def over_time(bench: Bench) -> None:
    """30,162 rows of adult.data: the three efforts, and `best` given more and more time."""
    more = (1,) if bench.quick else (20, 40)
    for k in CURVE_K:
        key = f"over time {k}"
        bench.keep(key, lambda k=k: efforts_over_time(bench.train, eight(bench.train), k, more))


def promises(bench: Bench) -> None:
    """30,162 rows of adult.data, k = 10, a promise on a sensitive column."""
    for name, model in PROMISES.items():
        frame = promised_frame(bench.train, name)
        roles = promised_roles(frame, name)
        asked = [] if model is None else [model]
        for effort in EFFORTS:
            options = {"algorithm_options": {"effort": effort}, "privacy": asked}
            bench.run(f"promises | {name} | {effort}", frame, 10, roles, "ncp", **options)
        for seed in OTHER_SEEDS:
            key = f"promises | {name} | seed {seed}"
            bench.run(key, frame, 10, roles, "ncp", seed=seed, privacy=asked)


def allowance(bench: Bench) -> None:
    """30,162 rows of adult.data, k = 10, of which 5 % may be left out."""
    for whose in WHOSE_SAKE:
        bench.keep(f"allowance | {whose}", lambda whose=whose: left_out(bench.train, whose))


def whole(bench: Bench) -> None:
    """The synthetic census, whole and in blocks: how time grows with rows."""
    for n in (300, 600) if bench.quick else WHOLE_ROWS:
        frame = shoal.datasets.make_census(n, seed=1)
        for name in GROWING:
            for cut, rows in (("whole", n), ("blocks", None)):
                key = f"whole | {name} | {cut} | {n}"
                bench.run(key, frame, 10, eight(frame), "ncp", algorithm=name, block_rows=rows)


def table_2(bench: Bench) -> None:
    """Goldberger and Tassa's 14 columns, each value kept or suppressed."""
    for k in TABLE_2:
        bench.auto(f"table_2 {k}", bench.adult, k, fourteen(bench.adult), "lm", "balanced")


def shapes(bench: Bench) -> None:
    """Three other shapes of data, at k = 5 and 25."""
    for name, make in SHAPES.items():
        frame, roles = make(300) if bench.quick else make()
        for k in (5, 25):
            cell = f"shapes | {name} | ncp | {k}"
            for effort in ("balanced", "best"):
                bench.auto(f"{cell} | auto, {effort}", frame, k, roles, "ncp", effort)
            for algorithm in PAPERS:
                bench.run(f"{cell} | {algorithm}", frame, k, roles, "ncp", algorithm=algorithm)
            bench.bound(f"{cell} | bound", frame, k, roles, "ncp")


def curves(bench: Bench) -> None:
    """Loss over time of refinement from several starts."""
    few = bench.train.sample(min(5_000, bench.train.height), seed=1)
    for k in (10, 50):
        bench.keep(f"curves {k}", lambda k=k: trace(few, eight(few), k, STARTS, 8))


def papers(bench: Bench) -> None:
    """Adult, eight columns: auto, balanced, beside the algorithms of the papers."""
    for measure, trees, k in CELLS:
        roles = eight(bench.adult, taxonomies=trees == "tree")
        cell = f"papers | {trees} | {measure} | {k}"
        bench.auto(f"{cell} | auto, balanced", bench.adult, k, roles, measure, "balanced")
        for name in PAPERS:
            bench.run(f"{cell} | {name}", bench.adult, k, roles, measure, algorithm=name)


def best(bench: Bench) -> None:
    """Adult, eight columns: auto, best, for the measure that is the default."""
    for measure, trees, k in (cell for cell in CELLS if cell[0] == "ncp"):
        roles = eight(bench.adult, taxonomies=trees == "tree")
        cell = f"papers | {trees} | {measure} | {k}"
        bench.auto(f"{cell} | auto, best", bench.adult, k, roles, measure, "best")


if __name__ == "__main__":
    main()
