"""Clustering on one machine: whole tables while they are small, blocks of similar rows beyond.

A large table is cut into blocks of similar rows (median after median, as Mondrian does), the
algorithm runs on every block in a thread of its own (kernels release the GIL), and then the seams
are repaired: groups of several blocks are refined together (`engine.polish`). Every block has its
own generator, spawned in order, so the result depends on the seed and not on the number of threads.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.blocked import similar_blocks
from shoal.enforce import enforce, violations
from shoal.engine.polish import polish
from shoal.engine.workers import in_threads
from shoal.errors import OptionError
from shoal.partition import Partition
from shoal.refine import Effort

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal.algorithms.base import Algorithm, Run
    from shoal.encode import EncodedTable

__all__ = ["BLOCK_ROWS", "cluster"]

BLOCK_ROWS = 8_000
"""Rows of a block: large enough for good groups, small enough for quadratic algorithms."""
SEAM = Effort(sweeps=2, min_gain=0.002)
"""How groups are refined across blocks, unless the algorithm refines by itself."""


def cluster(
    table: EncodedTable,
    algorithm: Algorithm,
    run: Run,
    block_rows: int | None = None,
    effort: Effort | None = None,
) -> Partition:
    """Group the rows of a table, in blocks if it is large, and satisfy every privacy model.

    Args:
        table: the rows, in random order.
        algorithm: how to group them.
        run: k, measure, chance, privacy models, threads, progress.
        block_rows: rows of a block; None chooses by the size of the table.
        effort: how hard to refine the result, None for not at all.

    Raises:
        OptionError: the algorithm cannot work in blocks.
    """
    if table.n_rows <= (algorithm.whole_rows if block_rows is None else block_rows):
        partition = _group(table, algorithm, run)
        return partition if effort is None else polish(table, partition, run, effort)
    if not algorithm.works_in_blocks:
        raise OptionError(
            f"Algorithm {algorithm.name!r} generalises whole columns and cannot work in blocks; "
            "leave block_rows out."
        )
    order, starts = similar_blocks(table, max(block_rows or BLOCK_ROWS, 4 * run.k))
    blocks = _possible_blocks(table, run, order, starts)
    partition = _run_blocks(table, algorithm.for_blocks, run, blocks)
    if len(blocks) > 1:
        for step in (effort,) if effort else algorithm.seams or (SEAM,):
            partition = polish(table, partition, run, step)
    if run.privacy:  # blocks satisfy the models against their own rows; the table's may differ
        partition = enforce(table, partition, run.scanner, run.k, run.privacy, run.progress)
    return partition


def _group(table: EncodedTable, algorithm: Algorithm, run: Run) -> Partition:
    partition = algorithm.partition(table, run)
    if partition.n_rows != table.n_rows:
        raise ValueError(
            f"algorithm {algorithm.name!r} labelled {partition.n_rows} of {table.n_rows} rows"
        )
    if run.privacy:  # finds nothing to do where the algorithm has respected the models
        partition = enforce(table, partition, run.scanner, run.k, run.privacy, run.progress)
    return partition


def _possible_blocks(
    table: EncodedTable, run: Run, order: NDArray[np.int64], starts: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Join neighbouring blocks until each has 2k rows and can satisfy every privacy model."""
    blocks: list[NDArray[np.int64]] = []
    pending = np.empty(0, np.int64)
    for low, high in itertools.pairwise(starts):
        pending = np.concatenate((pending, order[low:high]))
        if len(pending) >= 2 * run.k and _possible(table, run, pending):
            blocks.append(pending)
            pending = np.empty(0, np.int64)
    if len(pending):
        if blocks:
            last = np.concatenate((blocks.pop(), pending))
            while blocks and not _possible(table, run, last):
                last = np.concatenate((blocks.pop(), last))
            blocks.append(last)
        else:
            blocks.append(pending)
    return blocks


def _possible(table: EncodedTable, run: Run, rows: NDArray[np.int64]) -> bool:
    if not run.privacy:
        return True
    part = table.take(rows)
    together = Partition(np.zeros(len(rows), np.int32), 1)
    return not violations(part, together, run.k, run.privacy).any()


def _run_blocks(
    table: EncodedTable,
    algorithm: Algorithm,
    run: Run,
    blocks: Sequence[NDArray[np.int64]],
) -> Partition:
    """Run the algorithm on every block."""
    generators = run.rng.spawn(len(blocks))
    share = table.n_rows

    def work(number: int, tick: Callable[[int, int, str], None]) -> Partition:
        rows = blocks[number]
        allowed = run.max_suppressed
        inner = replace(
            run,
            model=run.model.take(rows),
            scanner=run.scanner.take(rows),
            rng=generators[number],
            threads=1,
            progress=tick,
            max_suppressed=None if allowed is None else allowed * len(rows) // share,
        )
        return _group(table.take(rows), algorithm, inner)

    labels = np.empty(table.n_rows, np.int32)
    n_groups = 0
    parts, _ = in_threads(run, [len(rows) for rows in blocks], work, "clustering blocks")
    every = [part for part in parts if part is not None]  # all: Ctrl-C has raised
    for rows, part in zip(blocks, every, strict=True):
        labels[rows] = np.where(part.labels < 0, -1, part.labels + n_groups)
        n_groups += part.n_groups
    return Partition(labels, n_groups)
