"""How time grows with rows, for every algorithm, as a whole and in blocks; and with threads."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from typing import Any

import numpy as np

from shoal.engine.local import BLOCK_ROWS

SIZES = (50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000)
QUICK_SIZES = (5_000, 10_000, 20_000)
MODES = ("blocks", "whole")


class TooLongError(Exception):
    """Raised from the progress of a run that has used up its time."""


def one(name: str, mode: str, sizes: list[int], cap: float) -> dict[str, Any]:
    """Run one algorithm on growing tables in this process until a run exceeds the cap."""
    from benchmarks.common import eight, make_census, timed

    largest = make_census(max(sizes), seed=1)
    roles = eight(largest)
    timed(largest.head(2000), 10, roles, algorithm=name, seed=0, block_rows=500)  # compile
    timed(largest.head(2000), 10, roles, algorithm=name, seed=0)
    began = 0.0

    def limit(done: int, total: int, what: str) -> None:
        del done, total, what
        if time.perf_counter() - began > cap:
            raise TooLongError

    seconds, elapsed, stopped = {}, {}, None
    for rows in sizes:
        # in quick runs tables are small, and blocks must be smaller still
        block_rows = max(sizes) if mode == "whole" else min(BLOCK_ROWS, min(sizes) // 4)
        options = {"algorithm": name, "seed": 0, "block_rows": block_rows, "progress": limit}
        options["threads"] = 1  # CPU seconds of one thread are shown
        began, used = time.perf_counter(), time.process_time()
        try:
            elapsed[rows] = timed(largest.head(rows), 10, roles, **options)[1]
            seconds[rows] = time.process_time() - used
        except TooLongError:
            stopped = rows
            break
    return {
        "algorithm": name,
        "mode": mode,
        "seconds": seconds,
        "elapsed": elapsed,
        "stopped": stopped,
    }


def growth(names: list[str], sizes: list[int], cap: float, deadline: float) -> list[dict[str, Any]]:
    """Measure every algorithm in a process of its own; stop at the deadline."""
    found = []
    for mode in MODES:
        for name in names:
            if time.time() > deadline:
                found.append({"algorithm": name, "mode": mode, "error": "no time left"})
                continue
            command = [sys.executable, "-m", "benchmarks.scale.growth", name, mode]
            command += [",".join(map(str, sizes)), str(cap)]
            try:
                done = subprocess.run(
                    command,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=60 + 2 * cap * len(sizes),
                )
            except subprocess.TimeoutExpired:
                found.append({"algorithm": name, "mode": mode, "error": "did not stop when told"})
                continue
            if done.returncode:
                error = done.stderr.strip().splitlines()[-1]
                found.append({"algorithm": name, "mode": mode, "error": error})
                continue
            row = json.loads(done.stdout.splitlines()[-1])
            row["exponent"] = exponent(row["seconds"])
            found.append(row)
            print(f"{mode:7s}{name:15s}{row['exponent']}  {row['seconds']}", flush=True)
    return found


def exponent(seconds: dict[str, float]) -> float | None:
    """Return b of the best fit of time = a · rows^b, None for fewer than two sizes."""
    if len(seconds) < 2:
        return None
    rows = [math.log(int(n)) for n in seconds]
    return round(float(np.polyfit(rows, [math.log(s) for s in seconds.values()], 1)[0]), 3)


def threads(n_rows: int) -> list[dict[str, Any]]:
    """Time the default algorithm in blocks with one thread and with two."""
    from benchmarks.common import eight, make_census, timed

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
