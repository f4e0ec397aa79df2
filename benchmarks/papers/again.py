"""Stored runs made again with the code of today; all but times is compared.

Run: python -m benchmarks.papers.again PART [NUMBER [SEED]]
Runs are chosen by chance among those that took at most 15 CPU seconds. The last comparison is
stored with the part, for the page; the runs stay as they are. The exit status is 1 if a number
differs by more than a thousandth.
"""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.common import load_json, raw_results, save_json
from benchmarks.kept import Keep, Run
from benchmarks.papers.__main__ import part

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.kept import Jobs

LONG = 15.0  # CPU seconds
TIMES = ("second", "time", "mebibytes", "cpu")
CLOSE, EQUAL = 1e-3, 1e-9  # as shares


class Again(Keep):
    """Stored runs, of which some are made again."""

    def choose(self, number: int, seed: int) -> None:
        """Choose which."""
        short = [key for key in self.content["runs"] if self.content["cpu"].get(key, LONG) < LONG]
        order = np.random.default_rng(seed).permutation(len(short))
        self.chosen = {short[place] for place in order[:number].tolist()}
        self.worst: dict[str, float] = {}

    def __call__(self, key: str, make: Callable[[], Run]) -> Run:
        """Return the stored run; compare it with one that is made now if it was chosen."""
        stored: Run = self.content["runs"][key]
        if key in self.chosen and key not in self.worst:
            self.worst[key] = apart(stored, json.loads(json.dumps(make())))
            print(f"  {key}: {self.worst[key]:.2g}", flush=True)
        return stored

    def many(self, jobs: Jobs, *, processes: int = 1) -> dict[str, Run]:
        """Return many stored runs."""
        del processes
        return {key: self(key, lambda job=job: job[0](*job[1])) for key, job in jobs.items()}

    def note(self) -> dict[str, Any]:
        """Store with the part how the comparison came out, and return it."""
        worst = self.worst.values()
        found = {
            "commit": self.content["machine"]["commit"],
            "runs": len(worst),
            "same": sum(far <= EQUAL for far in worst),
            "most": max(worst, default=0.0),
        }
        save_json(self.path, {**load_json(self.path), "again": found})
        return found


def apart(one: Any, other: Any) -> float:
    """Return the largest difference of two runs as a share; times are passed over."""
    if isinstance(one, dict) and isinstance(other, dict):
        timed = [key for key in one if any(word in key for word in TIMES)]
        if one.keys() != other.keys():
            return float("inf")
        return max((apart(one[key], other[key]) for key in one if key not in timed), default=0.0)
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return float("inf")
        return max(map(apart, one, other), default=0.0)
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if one == other or (numbers and math.isnan(one) and math.isnan(other)):
        return 0.0
    return abs(one - other) / max(abs(one), abs(other)) if numbers else float("inf")


def main() -> int:
    """Make some runs of a part again and say how far they are apart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part")
    parser.add_argument("number", nargs="?", type=int, default=10)
    parser.add_argument("seed", nargs="?", type=int, default=0)
    asked = parser.parse_args()
    keep = Again(raw_results("papers") / f"{asked.part}.json.gz", quick=False)
    keep.choose(asked.number, asked.seed)
    part(asked.part).measure(keep, quick=False)
    found = keep.note()
    said = "{runs} runs made again, {same} the same, at most {most:.2g} apart".format(**found)
    print(f"{asked.part}: {said}")
    return int(found["most"] > CLOSE)


if __name__ == "__main__":
    raise SystemExit(main())
