"""How time grows with rows, for every algorithm, as a whole and in blocks; and with threads."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithm.base import BLOCK_ROWS

if TYPE_CHECKING:
    from benchmarks.kept import Keep

SIZES = (50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000)
QUICK_SIZES = (5_000, 10_000, 20_000)
MODES = ("blocks", "whole")


class TooLongError(Exception):
    """Raised from the progress of a run that has used up its time."""


def one(name: str, mode: str, sizes: list[int], cap: float) -> dict[str, Any]:
    """Run one algorithm on growing tables in this process until a run exceeds the cap.

    The cap is in CPU seconds. A run that would exceed it if time grew as it did from the size
    before is not begun.
    """
    from benchmarks.common import eight, timed
    from shoal.datasets import make_census

    largest = make_census(max(sizes), seed=1)
    roles = eight(largest)
    timed(largest.head(2000), 10, roles, algorithm=name, seed=0, block_rows=500)  # compile
    timed(largest.head(2000), 10, roles, algorithm=name, seed=0)
    began = 0.0

    def limit(done: int, total: int, what: str) -> None:
        del done, total, what
        if time.process_time() - began > cap:
            raise TooLongError

    seconds: dict[int, float] = {}
    elapsed: dict[int, float] = {}
    stopped = None
    for rows in sizes:
        # in quick runs tables are small, and blocks must be smaller still
        block_rows = max(sizes) if mode == "whole" else min(BLOCK_ROWS, min(sizes) // 4)
        options = {"algorithm": name, "seed": 0, "block_rows": block_rows, "progress": limit}
        options["threads"] = 1  # CPU seconds of one thread are shown
        last = list(seconds.values())[-2:]
        if len(last) == 2 and last[1] ** 2 / last[0] > cap:
            stopped = rows
            break
        began = time.process_time()
        try:
            elapsed[rows] = timed(largest.head(rows), 10, roles, **options)[1]
            seconds[rows] = time.process_time() - began
        except TooLongError:
            stopped = rows
            break
    return {"seconds": seconds, "elapsed": elapsed, "stopped": stopped}


def own_process(name: str, mode: str, sizes: list[int], cap: float) -> dict[str, Any]:
    """Return what `one` finds in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale.growth", name, mode]
    command += [",".join(map(str, sizes)), str(cap)]
    limit = 60 + 2 * cap * len(sizes)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"error": "did not stop when told"}
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def growth(
    names: list[str], modes: list[str], sizes: list[int], cap: float, keep: Keep
) -> list[dict[str, Any]]:
    """Measure every algorithm, two processes at a time: CPU seconds are shown."""
    keys = {(mode, name): f"{mode} {name} cap={cap:g}" for mode in modes for name in names}
    done = keep.many(
        {key: (own_process, (name, mode, sizes, cap)) for (mode, name), key in keys.items()}
    )
    return [
        {
            "algorithm": name,
            "mode": mode,
            **done[key],
            "exponent": exponent(done[key].get("seconds", {})),
        }
        for (mode, name), key in keys.items()
    ]


def exponent(seconds: dict[str, float]) -> float | None:
    """Return b of the best fit of time = a · rows^b, None for fewer than two sizes."""
    if len(seconds) < 2:
        return None
    rows = [math.log(int(n)) for n in seconds]
    return round(float(np.polyfit(rows, [math.log(s) for s in seconds.values()], 1)[0]), 3)


def threads(n_rows: int) -> list[dict[str, Any]]:
    """Time the default algorithm in blocks with one thread and with two."""
    from benchmarks.common import eight, timed
    from shoal.datasets import make_census

    frame = make_census(n_rows, seed=1)
    roles = eight(frame)
    timed(frame.head(2000), 10, roles, seed=0, block_rows=500)  # compile
    found = []
    for n_threads in (1, 2):
        block_rows = min(BLOCK_ROWS, n_rows // 4)
        release, seconds = timed(frame, 10, roles, seed=0, block_rows=block_rows, threads=n_threads)
        found.append(
            {
                "rows": n_rows,
                "threads": n_threads,
                "seconds": seconds,
                "ncp": release.scores["ncp"],
            }
        )
    return found


if __name__ == "__main__":
    sizes_given = [int(size) for size in sys.argv[3].split(",")]
    print(json.dumps(one(sys.argv[1], sys.argv[2], sizes_given, float(sys.argv[4]))))
