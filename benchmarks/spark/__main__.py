"""The same release on Spark and on one machine: what is lost, how long it takes, how much it needs.

Run: python -m benchmarks.spark [--only loss,same,growth,faults,connect] [--sizes 1000000,5000000]
Every run is a process of its own, on a cluster of two executor processes with one core each. Rows
beyond Adult are the synthetic census, written to Parquet a million at a time. Runs are kept one by
one, so a stopped benchmark goes on where it was. Writes benchmarks/spark/results/ and
docs/results/spark.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, ROOT, raw_results
from benchmarks.kept import Keep, Run
from benchmarks.spark.page import page
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult, make_census

PARTS = ("loss", "same", "growth", "faults", "connect")
TURNS = 3
PART_ROWS = 1_000_000
MOST_LOCAL = 50_000_000
"""Tables up to so many rows fit the memory of one machine with 16 GB."""
FAST = {"algorithm_options": {"effort": "fast"}}
MOMENTS = ("cutting into blocks", "clustering blocks", "verifying")


def write_rows(folder: Path, n_rows: int | None) -> Path:
    """Return a folder with Adult (None), or with so many rows of the census."""
    place = folder / str(n_rows or "adult")
    place.mkdir(exist_ok=True)
    names = [*ADULT_QUASI_IDENTIFIERS, "salary"]
    if n_rows is None:
        load_adult().select(names).write_parquet(place / "part-00000.parquet")
        return place
    for number, start in enumerate(range(0, n_rows, PART_ROWS)):
        path = place / f"part-{number:05d}.parquet"
        if not path.exists():
            part = make_census(min(PART_ROWS, n_rows - start), seed=number).select(names)
            part.write_parquet(path)
    return place


def run(what: str, rows: Path, asked: dict[str, Any], **cluster: Any) -> Run:
    """Run once in a process of its own."""
    given = json.dumps({"asked": asked, "cluster": cluster})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.spark.one", what, str(rows), given],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: Run = json.loads(done.stdout.splitlines()[-1])
    return found


def both(keep: Keep, name: str, rows: Path, asked: dict[str, Any], more: dict[str, Any]) -> None:
    """Run on one machine and on Spark."""
    keep(f"{name}: one machine", lambda: run("local", rows, asked))
    keep(f"{name}: Spark", lambda: run("spark", rows, asked | more))


def measure(part: str, keep: Keep, folder: Path, sizes: list[int], memory: str) -> None:
    """Make the runs of one part."""
    if part == "loss":
        adult = write_rows(folder, None)
        both(keep, "Adult", adult, {}, {})
        both(keep, "Adult in blocks of 20,000", adult, {}, {"block_rows": 20_000})
        both(keep, "1,000,000 rows, fast", write_rows(folder, 1_000_000), FAST, {})
    if part == "same":
        rows = write_rows(folder, 100_000)
        keep("same", lambda: run("same", rows, FAST | {"block_rows": 20_000}))
    if part == "growth":
        for size in sizes:
            rows, name = write_rows(folder, size), f"{size:,} rows, fast"
            keep(f"{name}: Spark", lambda rows=rows: run("spark", rows, FAST, memory=memory))
            if size <= MOST_LOCAL:
                keep(f"{name}: one machine", lambda rows=rows: run("local", rows, FAST))
    if part == "faults":
        rows = write_rows(folder, 500_000)
        asked = FAST | {"moments": list(MOMENTS)}
        keep("faults", lambda: run("faults", rows, asked))
    if part == "connect":
        rows = write_rows(folder, 200_000)
        for turn in range(1, TURNS + 1):
            for way in ("classic", "connect"):
                keep(f"{way}, turn {turn}", lambda way=way: run(way, rows, FAST))


def main() -> None:
    """Measure the parts asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(PARTS), help="comma-separated parts")
    parser.add_argument("--sizes", default="1000000,5000000,50000000", help="rows, for growth")
    parser.add_argument("--memory", default="1g", help="heap of an executor's Java, for growth")
    parser.add_argument("--folder", help="where tables are kept; a temporary one unless given")
    options = parser.parse_args()
    keep = Keep(raw_results("spark") / "spark.json.gz", quick=False)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        for part in options.only.split(","):
            sizes = [int(each) for each in options.sizes.split(",")]
            measure(part, keep, folder, sizes, options.memory)
    (RESULTS / "spark.md").write_text(page(keep.content), encoding="utf-8")


if __name__ == "__main__":
    main()
