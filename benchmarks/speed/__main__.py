"""Clustering and encoding alone: prints a table and keeps it in benchmarks/speed/results.

Run: python -m benchmarks.speed [--k 5 10 50] [--skip-encode]
Times exclude compiling (everything runs once before) and reading. k-member stands beside the
straightforward O(n²) scan of `straightforward.py`, run in the same process on the same table with
the same seed; their groups must be identical. The exit status is 1 if they are not, or if k-member
at k = 10 is less than 15 times as fast.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.common import machine, peak_mebibytes, raw_results, save_json
from benchmarks.speed import encode as encode_benchmark
from benchmarks.straightforward import straightforward_k_member
from shoal.algorithm.base import create_algorithm
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult
from shoal.measure.base import CostModel
from shoal.measure.scores import create_measure, score_table
from shoal.search.scan import Run, Scanner
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.schema import build_schema

TARGET = raw_results("speed") / "speed.json.gz"
SEED = 7
REPEATS = 3
LEAST_RATIO = 15.0


def adult_table(n_rows: int | None = None):
    """Encode Adult with eight quasi-identifiers and no hierarchies, in a random order."""
    import narwhals as nw

    names = list(ADULT_QUASI_IDENTIFIERS)
    frame = load_adult().select([*names, "salary"])
    schema = build_schema(frame.columns, quasi_identifiers=names, sensitive=["salary"])
    table = encode(frame, infer_kinds(schema, nw.from_native(frame)))
    order = np.random.default_rng(SEED).permutation(table.n_rows)[:n_rows]
    return table.take(order)


def make_run(table, k: int) -> Run:
    model = CostModel.bind(create_measure("ncp"), table)
    return Run(
        k=k,
        model=model,
        scanner=Scanner.build(table, model),
        rng=np.random.default_rng(SEED),
    )


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def same_groups(one, other) -> bool:
    """Return whether two partitions have the same groups, whatever they are called."""
    pairs = np.unique(np.stack([one.labels, other.labels]), axis=1)
    return pairs.shape[1] == one.n_groups == other.n_groups


def bench_clustering(name: str, ks: list[int], *, yardstick: bool) -> list[dict]:
    algorithm, table = create_algorithm(name), adult_table()
    small = adult_table(500)
    algorithm.partition(small, make_run(small, 10))
    if yardstick:
        straightforward_k_member(small, make_run(small, 7))
    results = []
    for k in ks:
        runs = [timed(algorithm.partition, table, make_run(table, k)) for _ in range(REPEATS)]
        partition = runs[0][1]
        row = {
            "algorithm": name,
            "k": k,
            "rows": table.n_rows,
            "columns": len(table.attributes),
            "seconds": round(statistics.median(seconds for seconds, _ in runs), 4),
            "ncp": round(score_table(table, partition, ["ncp"])["ncp"], 4),
        }
        if yardstick:
            seconds, plain = timed(straightforward_k_member, table, make_run(table, k))
            row["straightforward_seconds"] = round(seconds, 3)
            row["ratio"] = round(seconds / row["seconds"], 1)
            row["identical_groups"] = same_groups(partition, plain)
        results.append(row)
        show(row)
    return results


def show(row: dict) -> None:
    line = f"{row['algorithm']:<10} {row['k']:>4} {row['seconds']:>9.3f} {row['ncp']:>8.4f}"
    if "ratio" in row:
        same = "identical" if row["identical_groups"] else "DIFFERENT"
        line += f" {row['straightforward_seconds']:>17.2f} {row['ratio']:>7.1f}  {same}"
    print(line, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10, 50], help="group sizes")
    parser.add_argument("--skip-encode", action="store_true", help="leave out the million rows")
    parser.add_argument("--out", type=Path, default=TARGET, help="where the compressed JSON goes")
    options = parser.parse_args()

    report: dict = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "seed": SEED,
    }
    if not options.skip_encode:
        report["encode"] = found = encode_benchmark.run()
        print(
            f"encode {found['rows']:,} rows x {found['columns']} columns: "
            f"{found['seconds_flat']:.2f} s, with hierarchies {found['seconds_hierarchies']:.2f} s"
        )
    print("Adult, 45,222 rows x 8 quasi-identifiers, no hierarchies; seconds of clustering alone")
    print(f"{'':<10} {'k':>4} {'seconds':>9} {'ncp':>8} {'straightforward':>17} {'ratio':>7}")
    k_member = bench_clustering("k-member", options.k, yardstick=True)
    report["clustering"] = k_member + bench_clustering("mondrian", options.k, yardstick=False)
    report["peak_mebibytes"] = round(peak_mebibytes())
    save_json(options.out, report)
    print(f"written to {options.out}")
    return verdict(k_member)


def verdict(k_member: list[dict]) -> int:
    status = 0
    for row in k_member:
        if not row["identical_groups"]:
            print(f"k = {row['k']}: the groups differ", file=sys.stderr)
            status = 1
        if row["k"] == 10 and row["ratio"] < LEAST_RATIO:
            print(f"k = 10: {row['ratio']} is less than {LEAST_RATIO:g}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
