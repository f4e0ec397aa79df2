"""One run, in a process of its own: the package is whatever PYTHONPATH finds.

Run: python benchmarks/before_after/one.py ALGORITHM ROWS K, with the tree's src in PYTHONPATH.
Prints one line of JSON: CPU seconds of the clustering alone (everything has run before on a few
rows) and a digest of the published rows, which says whether two trees form the same groups. Only
what `anonymize` has always offered is used, so that old trees can be measured.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

import shoal
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult

SEED = 7
FEW = 600


class Stages:
    """Notes the CPU time at which the clustering began and ended."""

    def __init__(self) -> None:
        self.began = self.ended = 0.0

    def __call__(self, done: int, total: int, what: str) -> None:
        """Take note of a stage."""
        del done, total
        if what == "publishing":
            self.ended = self.ended or time.process_time()
        elif what != "encoding":
            self.began = self.began or time.process_time()


def main() -> None:
    name, n_rows, k = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    names = list(ADULT_QUASI_IDENTIFIERS)
    table = load_adult().select([*names, "salary"]).sample(fraction=1.0, shuffle=True, seed=SEED)
    for rows in (FEW, n_rows):
        stages = Stages()
        release = shoal.anonymize(
            table.head(rows),
            k,
            quasi_identifiers=names,
            sensitive=["salary"],
            algorithm=name,
            seed=SEED,
            progress=stages,
        )
    published = sorted(map(str, release.frame.rows()))
    groups = hashlib.sha256("\n".join(published).encode()).hexdigest()
    print(json.dumps({"seconds": stages.ended - stages.began, "groups": groups}))


if __name__ == "__main__":
    main()
