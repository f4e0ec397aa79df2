"""Whether what `sequential` skips pays: the same moves with and without looking at every group.

Run: python -m benchmarks.plain_scan
Adult in 8 and 14 columns, k from 5 to 1,000. Writes benchmarks/plain_scan/results/ and
docs/results/plain_scan.md.
"""

from __future__ import annotations

import time
from typing import Any

import narwhals as nw
import numpy as np

from benchmarks.common import eight, fourteen, machine, run_benchmark
from benchmarks.draw.tables import titled
from shoal.algorithm.sequential import ALPHA, _Moves, start_clusters
from shoal.datasets import load_adult
from shoal.measure.base import CostModel
from shoal.measure.scores import create_measure
from shoal.search.scan import Run, Scanner
from shoal.table.encode import EncodedTable, encode
from shoal.table.infer import infer_kinds
from shoal.table.schema import build_schema

KS = (5, 10, 50, 100, 500, 1000)
OMEGA, PASSES = 1.5, 100
NEVER = -5


class _Plain(_Moves):
    """The passes without memory: every record looks at every cluster in every pass."""

    def _pass(self, number: int) -> int:
        self.looks.seen[:] = NEVER
        return super()._pass(number)


def measure() -> dict[str, Any]:
    """Run both on every table, in turn."""
    train = load_adult(part="train")
    cases = (
        ("8 columns, ncp", train, eight(train), "ncp"),
        ("14 columns kept or suppressed, lm", train, fourteen(train), "lm"),
        ("8 columns, mi", train, eight(train), "mi"),
    )
    runs = []
    for name, frame, roles, score in cases:
        schema = infer_kinds(build_schema(frame.columns, **roles), nw.from_native(frame))
        table = encode(frame, schema)
        for kind in (_Moves, _Plain):  # compiles
            _timed(table.take(np.arange(500)), 10, score, kind)
        for k in KS:
            ours, groups = _timed(table, k, score, _Moves)
            plain, others = _timed(table, k, score, _Plain)
            assert np.array_equal(groups, others)
            runs.append({"table": name, "k": k, "ours": ours, "plain": plain})
            print(runs[-1], flush=True)
    return {"machine": machine(), "rows": train.height, "runs": runs}


def _timed(table: EncodedTable, k: int, score: str, kind: type[_Moves]) -> tuple[float, Any]:
    model = CostModel.bind(create_measure(score), table)  # type: ignore[arg-type]
    run = Run(k, model, Scanner.build(table, model), np.random.default_rng(0))
    start = start_clusters(table, run, table.n_rows // max(1, round(ALPHA * k)))
    assert start is not None
    began = time.process_time()
    found = kind(table, run, start).until_stable(OMEGA * k, PASSES)
    return time.process_time() - began, found.labels


def page(content: dict[str, Any]) -> str:
    """Return the page of results."""
    lines = [
        "# Sequential clustering beside a plain scan",
        "",
        (
            f"{content['rows']:,} rows of Adult, one core, CPU seconds of the passes. The plain "
            "scan lets every record look at every cluster in every pass; ours skips clusters that "
            "did not change. Both end with the same clusters, which the benchmark checks. Again: "
            f"`python -m benchmarks.plain_scan`. Measured at commit {content['machine']['commit']}."
        ),
        "",
    ]
    rows = [
        [
            r["table"],
            r["k"],
            f"{r['ours']:.2f}",
            f"{r['plain']:.2f}",
            f"{r['ours'] / r['plain']:.2f}",
        ]
        for r in content["runs"]
    ]
    lines += titled("Passes until nothing moves", ["table", "k", "ours", "plain", "ratio"], rows)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run_benchmark("plain_scan", __doc__, measure, page)
