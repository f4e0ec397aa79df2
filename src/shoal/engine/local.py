"""Clustering on one machine: whole tables while they are small, blocks of similar rows beyond.

A large table is cut into blocks of similar rows (median after median, as Mondrian does), the
algorithm runs on every block in a thread of its own (kernels release the GIL), and then the seams
are repaired: the groups on both sides of each cut are refined together. Every block has its own
generator, spawned in order, so the result depends on the seed and not on the number of threads.
"""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithms.blocked import similar_blocks
from shoal.enforce import enforce, violations
from shoal.errors import OptionError
from shoal.partition import Partition
from shoal.refine import Effort, refine_partition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal.algorithms.base import Algorithm, Run
    from shoal.encode import EncodedTable

__all__ = ["BLOCK_ROWS", "WHOLE_ROWS", "cluster"]

WHOLE_ROWS = 100_000
"""Tables up to this size are clustered as a whole unless ``block_rows`` says otherwise."""
BLOCK_ROWS = 12_000
"""Rows of a block: large enough for good groups, small enough for quadratic algorithms."""
SEAM = Effort(sweeps=2, min_gain=0.002)
"""How the groups beside a seam are refined."""
REGION_BLOCKS = 2
"""Rows of a region that is refined together, as a multiple of a block's."""
ROUNDS = 3
"""How often seams are repaired, each time with other regions."""


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
    in_blocks = table.n_rows > (WHOLE_ROWS if block_rows is None else block_rows)
    if block_rows is None and not algorithm.needs_blocks:
        in_blocks = False
    if not in_blocks:
        return _group(table, algorithm, run, effort)
    if not algorithm.works_in_blocks:
        raise OptionError(
            f"Algorithm {algorithm.name!r} generalises whole columns and cannot work in blocks; "
            "leave block_rows out."
        )
    order, starts = similar_blocks(table, max(block_rows or BLOCK_ROWS, 4 * run.k))
    blocks = _possible_blocks(table, run, order, starts)
    partition = _run_blocks(table, algorithm, run, blocks, effort)
    if len(blocks) > 1 and not partition.n_suppressed:
        for number in range(ROUNDS):
            longest = max(len(rows) for rows in blocks)
            regions = _regions(table, run, partition, REGION_BLOCKS * longest, number)
            partition = _repair_seams(table, run, partition, regions, effort or SEAM)
    if run.privacy:  # blocks satisfy the models against their own rows; the table's may differ
        partition = enforce(table, partition, run.scanner, run.k, run.privacy, run.progress)
    return partition


def _group(table: EncodedTable, algorithm: Algorithm, run: Run, effort: Effort | None) -> Partition:
    partition = algorithm.partition(table, run)
    if run.privacy:  # finds nothing to do where the algorithm has respected the models
        partition = enforce(table, partition, run.scanner, run.k, run.privacy, run.progress)
    if effort is not None and not partition.recoded:
        partition = refine_partition(
            table, partition, run.scanner, run.k, run.privacy, effort, run.rng, run.progress
        )
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
    effort: Effort | None,
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
        return _group(table.take(rows), algorithm, inner, effort)

    labels = np.empty(table.n_rows, np.int32)
    n_groups = 0
    parts = _in_threads(run, [len(rows) for rows in blocks], work, "clustering blocks")
    for rows, part in zip(blocks, parts, strict=True):
        labels[rows] = np.where(part.labels < 0, -1, part.labels + n_groups)
        n_groups += part.n_groups
    return Partition(labels, n_groups)


def _regions(
    table: EncodedTable, run: Run, partition: Partition, max_rows: int, number: int
) -> list[NDArray[np.int64]]:
    """Cut the groups (each by one of its rows) into regions of similar groups.

    Columns are weighted by chance, so that every round cuts elsewhere and the rows that one cut
    tore apart meet again in another.
    """
    heads = table.take(partition.order[partition.starts[:-1]])
    chance = run.rng.uniform(0.2, 1.0, len(heads.attributes)) ** (number + 1)
    weighted = tuple(
        replace(a, weight=float(a.weight * w))
        for a, w in zip(heads.attributes, chance, strict=True)
    )
    mean = table.n_rows / partition.n_groups
    order, starts = similar_blocks(
        replace(heads, attributes=weighted), max(2, int(max_rows / mean))
    )
    return [order[low:high] for low, high in itertools.pairwise(starts)]


def _repair_seams(
    table: EncodedTable,
    run: Run,
    partition: Partition,
    regions: Sequence[NDArray[np.int64]],
    effort: Effort,
) -> Partition:
    """Refine the groups of each region together; regions share no group."""
    generators = run.rng.spawn(len(regions))
    members = [np.concatenate([partition.rows_of(int(g)) for g in groups]) for groups in regions]

    def work(number: int, tick: Callable[[int, int, str], None]) -> Partition:
        rows = members[number]
        inner = Partition.from_labels(partition.labels[rows])
        return refine_partition(
            table.take(rows),
            inner,
            run.scanner.take(rows),
            run.k,
            run.privacy,
            effort,
            generators[number],
            tick,
        )

    labels = np.empty(table.n_rows, np.int32)
    n_groups = 0
    parts = _in_threads(run, [len(rows) for rows in members], work, "repairing seams")
    for rows, part in zip(members, parts, strict=True):
        labels[rows] = part.labels + n_groups
        n_groups += part.n_groups
    return Partition(labels, n_groups)


class _StoppedError(Exception):
    """Raised inside a worker to end it early."""


def _in_threads(
    run: Run,
    sizes: Sequence[int],
    work: Callable[[int, Callable[[int, int, str], None]], Partition],
    what: str,
) -> list[Partition]:
    """Run work(0), work(1), … in threads; progress counts rows; Ctrl-C stops all of them."""
    stop = threading.Event()

    def tick(done: int, total: int, name: str) -> None:
        del done, total, name
        if stop.is_set():
            raise _StoppedError

    total, done = sum(sizes), 0
    run.progress(0, total, what)
    with ThreadPoolExecutor(max(1, run.threads)) as pool:
        futures: dict[Future[Partition], int] = {}
        try:
            for number in range(len(sizes)):
                futures[pool.submit(work, number, tick)] = number
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    done += sizes[futures[future]]
                run.progress(done, total, what)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [future.result() for future in futures]
