"""Refinement of tables of any size: regions of similar groups in threads, then the whole table.

Regions share no group, so they can be refined side by side. Every round cuts the groups into
other regions, so that groups which one cut kept apart meet in another. What is left is refined
as a whole where the table is small enough for that. Every region has its own generator, spawned
in order: the result depends on the seed and not on the number of threads.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.blocked import similar_blocks
from shoal.engine.parts import put_together
from shoal.engine.workers import in_threads
from shoal.search.enforce import GroupState
from shoal.search.refine import Effort, refine_partition
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shoal.algorithm.base import Run
    from shoal.table.encode import EncodedTable

__all__ = ["REGION_ROWS", "polish"]

REGION_ROWS = 20_000
"""Rows of a region; larger tables are refined in regions first."""
WHOLE_ROWS = 100_000
"""Tables up to this size are refined as a whole in the end: scans of all groups are cheap there."""


def polish(table: EncodedTable, partition: Partition, run: Run, effort: Effort) -> Partition:
    """Return a partition that costs no more; suppressed rows stay so.

    Deterministic given the generator unless ``effort.seconds`` is set.
    """
    if partition.recoded or not partition.n_groups:
        return partition
    if partition.n_suppressed:
        return _without_suppressed(table, partition, run, effort)
    end = None if effort.seconds is None else time.monotonic() + effort.seconds
    if table.n_rows > REGION_ROWS:
        cost = _cost(run, partition)
        for number in range(effort.rounds):
            partition, interrupted = _refine_regions(table, partition, run, effort, end, number)
            if interrupted or (end is not None and time.monotonic() > end):
                return partition
            before, cost = cost, _cost(run, partition)
            if cost == before:
                break
        if table.n_rows > WHOLE_ROWS:
            return partition
    left = None if end is None else max(0.0, end - time.monotonic())
    return refine_partition(
        table,
        partition,
        run.scanner,
        run.k,
        run.privacy,
        replace(effort, seconds=left),
        run.rng,
        run.progress,
    )


def _cost(run: Run, partition: Partition) -> int:
    return int(GroupState(run.scanner, partition).costs.sum())


def _without_suppressed(
    table: EncodedTable, partition: Partition, run: Run, effort: Effort
) -> Partition:
    kept = np.flatnonzero(partition.labels >= 0)
    inner_run = replace(run, model=run.model.take(kept), scanner=run.scanner.take(kept))
    inner = polish(
        table.take(kept), Partition(partition.labels[kept], partition.n_groups), inner_run, effort
    )
    labels = partition.labels.copy()
    labels[kept] = inner.labels
    return Partition(labels, inner.n_groups)


def _regions(
    table: EncodedTable, run: Run, partition: Partition, number: int
) -> list[NDArray[np.int64]]:
    """Cut the groups (each by one of its rows) into regions of similar groups.

    Columns are weighted by chance, so that every round cuts elsewhere.
    """
    heads = table.take(partition.heads)
    chance = run.rng.uniform(0.2, 1.0, len(heads.attributes)) ** (number + 1)
    weighted = tuple(
        replace(a, weight=float(a.weight * w))
        for a, w in zip(heads.attributes, chance, strict=True)
    )
    mean = table.n_rows / partition.n_groups
    order, starts = similar_blocks(
        replace(heads, attributes=weighted), max(2, int(REGION_ROWS / mean))
    )
    return [order[low:high] for low, high in itertools.pairwise(starts)]


def _refine_regions(
    table: EncodedTable,
    partition: Partition,
    run: Run,
    effort: Effort,
    end: float | None,
    number: int,
) -> tuple[Partition, bool]:
    """Refine the groups of each region together; regions share no group."""
    regions = _regions(table, run, partition, number)
    generators = run.rng.spawn(len(regions))
    members = [np.concatenate([partition.rows_of(int(g)) for g in groups]) for groups in regions]
    efforts = _shares(effort, end, len(regions), effort.rounds - number, run.threads)

    def work(region: int, tick: Callable[[int, int, str], None]) -> Partition:
        rows = members[region]
        return refine_partition(
            table.part(rows),
            Partition.from_labels(partition.labels[rows]),
            run.scanner.take(rows),
            run.k,
            run.privacy,
            efforts(),
            generators[region],
            tick,
        )

    parts, interrupted = in_threads(
        run,
        [len(rows) for rows in members],
        work,
        f"refining, round {number + 1}",
        keep_on_interrupt=effort.keep_on_interrupt,
    )
    found = [
        Partition.from_labels(partition.labels[rows]) if part is None else part
        for rows, part in zip(members, parts, strict=True)
    ]
    return put_together(table.n_rows, members, found), interrupted


def _shares(
    effort: Effort, end: float | None, n_regions: int, rounds: int, threads: int
) -> Callable[[], Effort]:
    """Return a function that gives the next region its fair share of the time that is left."""
    if end is None:
        return lambda: effort
    waves = itertools.count(rounds * -(-n_regions // max(1, threads)) * max(1, threads), -1)

    def share() -> Effort:
        left = max(0.0, end - time.monotonic())
        return replace(effort, seconds=left * max(1, threads) / max(1, next(waves)))

    return share
