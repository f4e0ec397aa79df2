"""One run, in a process of its own: the package is whatever PYTHONPATH finds.

Run: python benchmarks/before_after/one.py ALGORITHM ROWS K, with the tree's src in PYTHONPATH.
Prints one line of JSON: CPU seconds of the run alone (everything has run before on a few rows) and
a digest of the groups, which says whether two trees form the same ones.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time

import narwhals as nw
import numpy as np

from shoal.algorithms.base import Run, create_algorithm
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult
from shoal.encode import encode
from shoal.engine.local import cluster
from shoal.infer import infer_kinds
from shoal.measures.base import CostModel
from shoal.scan import Scanner
from shoal.schema import build_schema
from shoal.scores import create_measure

SEED = 7
FEW = 600


def main() -> None:
    name, n_rows, k = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    names = list(ADULT_QUASI_IDENTIFIERS)
    frame = load_adult().select([*names, "salary"])
    schema = build_schema(frame.columns, quasi_identifiers=names, sensitive=["salary"])
    table = encode(frame, infer_kinds(schema, nw.from_native(frame)))
    order = np.random.default_rng(SEED).permutation(table.n_rows)
    for rows in (order[:FEW], order[:n_rows]):
        part = table.take(rows)
        model = CostModel.bind(create_measure("ncp"), part)
        scanner, rng = Scanner.build(part, model), np.random.default_rng(SEED)
        run = Run(k=k, model=model, scanner=scanner, rng=rng)
        began = time.process_time()
        partition = cluster(part, create_algorithm(name), run, None, None)
        seconds = time.process_time() - began
    groups = hashlib.sha256(partition.labels.tobytes()).hexdigest()
    print(json.dumps({"seconds": seconds, "groups": groups}))


if __name__ == "__main__":
    main()
