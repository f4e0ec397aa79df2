"""Times of algorithms as published: one core, CPU seconds of the clustering alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers.features import encoded

if TYPE_CHECKING:
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition

Cluster = Callable[["EncodedTable", "Run"], "Partition"]
SMALL = 300
"""Rows of the run that compiles."""


def prepared(
    frame: Any, roles: dict[str, Any], measure: str, k: int, seed: int
) -> tuple[EncodedTable, Run]:
    """Return a table as codes, and what an algorithm is given beside it."""
    from shoal.measure.base import CostModel
    from shoal.measure.scores import create_measure
    from shoal.search.scan import Run, Scanner

    table = encoded(frame, roles)
    model = CostModel.bind(create_measure(measure), table)
    rng = np.random.default_rng(seed)
    return table, Run(k=k, model=model, scanner=Scanner.build(table, model), rng=rng)


def plain_time(
    cluster: Cluster,
    frame: Any,
    describe: Callable[[Any], dict[str, Any]],
    measure: str,
    k: int,
    seed: int = 0,
) -> dict[str, float]:
    """Return CPU seconds of the clustering, compiling and scoring left out, and its loss.

    Args:
        cluster: forms groups of an encoded table.
        frame: the table.
        describe: the roles of the columns of a table.
        measure: what is minimised and scored.
        k: least size of a group.
        seed: of the run.
    """
    from shoal.measure.scores import score_table

    def once(rows: Any, least: int) -> dict[str, float]:
        table, run = prepared(rows, describe(rows), measure, least, seed)
        began = time.process_time()
        found = cluster(table, run)
        seconds = time.process_time() - began
        return {"seconds": seconds, measure: score_table(table, found, [measure])[measure]}

    once(frame.head(SMALL), 5)
    return once(frame, k)
