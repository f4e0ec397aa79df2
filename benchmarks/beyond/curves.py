"""Loss over time while a partition is refined, sweep by sweep, from several starts."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

import shoal
from benchmarks.common import cpu_timed
from shoal.algorithm.base import create_algorithm
from shoal.measure.base import CostModel, Grouped
from shoal.measure.scores import create_measure
from shoal.search.bound import bound_table
from shoal.search.refine import EFFORTS, refine_partition
from shoal.search.scan import Run, Scanner
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.partition import Partition
from shoal.table.schema import build_schema

CURVE_K = (10, 50, 500)
STARTS = ("random", "mondrian", "kaca", "sequential", "agglomerative")


def trace(frame: Any, roles: dict[str, Any], k: int, starts: Any, sweeps: int) -> dict[str, Any]:
    """Return (seconds, loss) after the start and after each sweep of `best`, and the bound."""
    schema = infer_kinds(build_schema(frame.columns, **roles), nw.from_native(frame))
    table = encode(frame, schema)
    table = table.take(np.random.default_rng(0).permutation(table.n_rows))
    measure = create_measure("ncp")
    model = CostModel.bind(measure, table)
    scanner = Scanner.build(table, model)
    effort = replace(EFFORTS["best"], sweeps=1, min_gain=0.0)
    curves = {}
    for start in starts:
        run = Run(k=k, model=model, scanner=scanner, rng=np.random.default_rng(1))
        began = time.perf_counter()
        if start == "random":
            n_groups = table.n_rows // k
            found = Partition.from_labels(np.arange(table.n_rows) % n_groups)
        else:
            found = create_algorithm(start).partition(table, run)
        took = time.perf_counter() - began
        points = [(took, measure.score(Grouped(table, found)))]
        for _ in range(sweeps):
            began = time.perf_counter()
            found = refine_partition(table, found, run, effort)
            took += time.perf_counter() - began
            points.append((took, measure.score(Grouped(table, found))))
        curves[start] = points
        print(
            f"  {start:14s} {points[0][1]:.4f} -> {points[-1][1]:.4f} in {took:.1f} s", flush=True
        )
    return {"k": k, "rows": table.n_rows, "curves": curves, "bound": bound_table(table, k, measure)}


def efforts_over_time(
    frame: Any, roles: dict[str, Any], k: int, more: tuple[int, ...]
) -> dict[str, Any]:
    """Return (seconds, loss) of each effort, and of `best` refined for some seconds more."""
    points = []
    took = 0.0
    for effort in EFFORTS:
        release, took = cpu_timed(frame, k, roles, seed=0, algorithm_options={"effort": effort})
        points.append((effort, took, release.scores["ncp"]))
    for seconds in more:
        began = time.process_time()
        release = shoal.refine(
            frame, release.groups, k, effort="best", seconds=seconds, seed=0, **roles
        )
        took += time.process_time() - began
        points.append((f"best, {seconds} s more", took, release.scores["ncp"]))
    return {"points": points}
