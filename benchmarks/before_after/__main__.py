"""Two source trees run in turn: does a change cost time, and are the groups still the same?

Run: python -m benchmarks.before_after BEFORE AFTER [--repeats 5] [--algorithms k-member auto]
BEFORE and AFTER are folders that hold the package, such as the src of two checkouts. Every run is a
process of its own and the trees take turns, so that whatever else the machine does falls on both.
What counts is CPU time without compiling; the ratio is that of the least times, which other
programs disturb least. The exit status is 1 if a ratio is above --limit or groups differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ONE = Path(__file__).parent / "one.py"
ROWS = {"k-member": 12_000, "mondrian": 45_000, "sequential": 6_000, "auto": 8_000}


def run_one(tree: Path, algorithm: str, rows: int, k: int) -> tuple[float, str]:
    """Return the CPU seconds of one run with the package of a tree, and a digest of the groups."""
    done = subprocess.run(
        [sys.executable, str(ONE), algorithm, str(rows), str(k)],
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        check=True,
        text=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return found["seconds"], found["groups"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("before", type=Path, help="folder that holds the package")
    parser.add_argument("after", type=Path, help="folder that holds the changed package")
    parser.add_argument("--algorithms", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--repeats", type=int, default=5, help="runs of each tree")
    parser.add_argument("--k", type=int, default=10, help="group size")
    parser.add_argument("--share", type=float, default=1.0, help="share of the usual rows")
    parser.add_argument("--limit", type=float, default=1.05, help="largest ratio allowed")
    options = parser.parse_args()

    trees = [options.before.resolve(), options.after.resolve()]
    print(f"{'':<12} {'rows':>6} {'before':>8} {'after':>8} {'after ÷ before':>15}  groups")
    status = 0
    for name in options.algorithms:
        rows = int(ROWS[name] * options.share)
        for tree in trees:
            run_one(tree, name, rows, options.k)  # compiles
        runs: list[list[tuple[float, str]]] = [[], []]
        for turn in range(options.repeats):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                runs[which].append(run_one(trees[which], name, rows, options.k))
        before, after = (min(seconds for seconds, _ in found) for found in runs)
        same = len({groups for found in runs for _, groups in found}) == 1
        verdict = "same" if same else "DIFFERENT"
        ratio = after / before
        print(
            f"{name:<12} {rows:>6} {before:>8.3f} {after:>8.3f} {ratio:>15.3f}  {verdict}",
            flush=True,
        )
        status |= int(ratio > options.limit or not same)
    return status


if __name__ == "__main__":
    sys.exit(main())
