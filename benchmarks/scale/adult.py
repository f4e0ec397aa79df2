"""Adult, 45,222 rows, k = 10: beside straightforward scans, and blocks beside the whole table."""

from __future__ import annotations

import time
from typing import Any

import narwhals as nw
import numpy as np

from benchmarks.common import eight, timed
from benchmarks.straightforward import straightforward_k_member
from benchmarks.straightforward_sequential import straightforward_sequential
from shoal.algorithm.base import create_algorithm
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult
from shoal.measure.base import CostModel
from shoal.measure.scores import create_measure
from shoal.search.scan import Run, Scanner
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.schema import build_schema

SEED = 7
YARDSTICKS = {"k-member": straightforward_k_member, "sequential": straightforward_sequential}
IN_BLOCKS = ("auto", "k-member", "kaca", "sequential")


def table_of(n_rows: int) -> Any:
    """Encode Adult with eight quasi-identifiers and no hierarchies, in a random order."""
    names = list(ADULT_QUASI_IDENTIFIERS)
    frame = load_adult().select([*names, "salary"])
    schema = build_schema(frame.columns, quasi_identifiers=names, sensitive=["salary"])
    table = encode(frame, infer_kinds(schema, nw.from_native(frame)))
    return table.take(np.random.default_rng(SEED).permutation(table.n_rows)[:n_rows])


def run_of(table: Any) -> Run:
    model = CostModel.bind(create_measure("ncp"), table)
    generator = np.random.default_rng(SEED)
    return Run(k=10, model=model, scanner=Scanner.build(table, model), rng=generator)


def ratios(n_rows: int) -> list[dict[str, Any]]:
    """Time both exact algorithms beside their straightforward twins, in this process."""
    table, small = table_of(n_rows), table_of(400)
    found = []
    for name, plain in YARDSTICKS.items():
        algorithm = create_algorithm(name)
        algorithm.partition(table, run_of(table))  # compile: widths of columns depend on the table
        plain(small, run_of(small))
        times = []
        for function in (algorithm.partition, plain):
            run = run_of(table)
            began = time.process_time()
            partition = function(table, run)
            times.append((time.process_time() - began, partition))
        (ours, one), (theirs, other) = times
        pairs = np.unique(np.stack([one.labels, other.labels]), axis=1)
        same = pairs.shape[1] == one.n_groups == other.n_groups
        found.append(
            {
                "algorithm": name,
                "rows": n_rows,
                "seconds": ours,
                "straightforward": theirs,
                "identical": bool(same),
            }
        )
    return found


def quality(n_rows: int) -> list[dict[str, Any]]:
    """Score blocks of the default size against the whole table."""
    from shoal.algorithm.base import BLOCK_ROWS

    frame = load_adult().sample(fraction=1.0, shuffle=True, seed=1).head(n_rows)
    roles = eight(frame)
    block_rows = min(BLOCK_ROWS, n_rows // 4)
    found = []
    for name in IN_BLOCKS:
        timed(frame.head(1500), 10, roles, algorithm=name, seed=0, block_rows=400)  # compile
        whole, seconds = timed(frame, 10, roles, algorithm=name, seed=0, block_rows=n_rows)
        cut, block_seconds = timed(frame, 10, roles, algorithm=name, seed=0, block_rows=block_rows)
        found.append(
            {
                "algorithm": name,
                "rows": n_rows,
                "block_rows": block_rows,
                "whole_ncp": whole.scores["ncp"],
                "block_ncp": cut.scores["ncp"],
                "whole_seconds": seconds,
                "block_seconds": block_seconds,
            }
        )
    return found
