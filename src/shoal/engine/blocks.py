"""Large tables in blocks of similar rows, one thread per block.

A block is cut median after median, as Mondrian does. Every block has its own generator, spawned in
order, so the result depends on the seed and not on the number of threads.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import OptionError
from shoal.privacy.base import judge
from shoal.runtime.threads import Pieces
from shoal.search.blocked import similar_blocks
from shoal.search.enforce import enforce, violations
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shoal.algorithm.base import Algorithm
    from shoal.engine.layers import Layers
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


# Parts of a table in threads, with progress counted in rows.

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shoal.search.scan import Run

    Tick = Callable[[int, int, str], None]


_LOOK = 0.2  # seconds between two looks at Ctrl-C


class _StoppedError(Exception):
    """Raised inside a worker to end it early."""


def in_threads(
    run: Run,
    sizes: Sequence[int],
    work: Callable[[int, Tick], Partition],
    what: str,
    *,
    keep_on_interrupt: bool = False,
) -> tuple[list[Partition | None], bool]:
    """Run work(0), work(1), … in threads; progress counts rows.

    Args:
        run: how many threads, and whom to tell.
        sizes: rows of each piece.
        work: makes one piece; it is handed a function to call now and then, which ends it early.
        what: name of the work for the progress bar.
        keep_on_interrupt: on Ctrl-C let the pieces that have begun return what they have, instead
            of giving everything up.

    Returns:
        What each piece returned (None if it never began), and whether Ctrl-C was pressed.
    """
    total, done = sum(sizes), 0
    interrupted = False
    with Pieces[Partition](run.threads) as pieces:

        def tick(done: int, total: int, name: str) -> None:
            del done, total, name
            if pieces.stopping.is_set():
                raise KeyboardInterrupt if keep_on_interrupt else _StoppedError

        try:
            run.progress(0, total, what)
            each = [partial(work, number, tick) for number in range(len(sizes))]
            for ended in pieces.ends(each, every=_LOOK):
                done += sum(sizes[number] for number in ended)
                run.progress(done, total, what)
        except KeyboardInterrupt:
            if not keep_on_interrupt:
                raise
            interrupted = True
            pieces.stop()
    return [pieces.result(number) for number in range(len(sizes))], interrupted


UNITED = 2
"""Blocks united until they can keep the promises may be so many times too large."""
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Blocks:
    """What is clustered by itself.

    Attributes:
        rows: the rows of each block.
        whole: whether the table was not to be cut.
        layers: where a person has several rows, what the blocks are cut from.
    """

    rows: tuple[NDArray[np.int64], ...]
    whole: bool
    layers: Layers | None = None

    @property
    def seamed(self) -> bool:
        """Whether groups could be better than what the blocks allow by themselves."""
        return self.layers is not None or (not self.whole and len(self.rows) > 1)


def cut_table(
    table: EncodedTable, algorithm: Algorithm, run: Run, block_rows: int | None
) -> Blocks:
    """Cut a table that is too large for the algorithm (or for ``block_rows``, if given).

    Where a person has several rows, every layer of the table is cut like a table.

    Raises:
        OptionError: the algorithm cannot work in blocks.
    """
    if table.person is None or algorithm.counts_people or not algorithm.works_in_blocks:
        return _cut(table, algorithm, run, block_rows)
    from shoal.engine.layers import cut_layers

    layers = cut_layers(table, run.k)
    blocks: list[NDArray[np.int64]] = []
    for rows in layers.rows:
        found = _cut(table.take(rows).row_by_row, algorithm, run, block_rows)
        blocks += [rows[block] for block in found.rows]
    return Blocks(tuple(blocks), whole=False, layers=layers)


def _cut(table: EncodedTable, algorithm: Algorithm, run: Run, block_rows: int | None) -> Blocks:
    most_rows, rows = algorithm.block_sizes(run)
    if block_rows is not None:
        most_rows = rows = block_rows
    if table.n_rows <= most_rows:
        return Blocks((np.arange(table.n_rows),), whole=True)
    if not algorithm.works_in_blocks:
        raise refused_blocks(algorithm)
    rows = max(rows, 4 * run.k)
    order, starts = similar_blocks(table, rows)
    most = UNITED * rows if run.privacy else table.n_rows
    blocks = _unite(order, starts, 2 * run.k, most, _Room(table, run).has_room)
    if blocks is None:
        order, starts = _deal(table, run, order, -(-table.n_rows // rows))
        every, possible = table.n_rows, lambda part: _possible(table, run, part)
        blocks = _unite(order, starts, 2 * run.k, every, possible)
        assert blocks is not None
    return Blocks(tuple(blocks), whole=False)


def refused_blocks(algorithm: Algorithm) -> OptionError:
    """Return what is said where an algorithm cannot work in blocks."""
    return OptionError(
        "Algorithm {name!r} generalises whole columns and cannot work in blocks; leave "
        "block_rows out.",
        name=algorithm.name,
    )


def _unite(
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    fewest: int,
    most: int,
    fine: Callable[[NDArray[np.int64]], bool],
) -> list[NDArray[np.int64]] | None:
    """Join neighbouring blocks until each has enough rows and is fine; None if one is too large."""
    blocks: list[NDArray[np.int64]] = []
    pending = np.empty(0, np.int64)
    for low, high in itertools.pairwise(starts):
        pending = np.concatenate((pending, order[low:high]))
        if len(pending) >= fewest and fine(pending):
            blocks.append(pending)
            pending = np.empty(0, np.int64)
        elif len(pending) > most:
            return None
    if len(pending):
        if blocks:
            last = np.concatenate((blocks.pop(), pending))
            while blocks and not fine(last):
                last = np.concatenate((blocks.pop(), last))
            blocks.append(last)
        else:
            blocks.append(pending)
    return blocks


class _Room:
    """Whether a block leaves the search room: it must be halfway to what the table reaches.

    A block that only just keeps a promise is one huge group.
    """

    def __init__(self, table: EncodedTable, run: Run) -> None:
        self.table, self.run = table, run
        self.reached = self._measure(table)

    def _measure(self, part: EncodedTable) -> list[float]:
        labels = np.zeros(part.n_rows, np.int64)
        return [
            judge(
                model.on(column),
                labels,
                1,
                column.codes,
                column.size,
                people=part.person,
                whole=column.whole,
            ).measured
            for model in self.run.privacy
            for column in model.columns(part)
        ]

    def has_room(self, rows: NDArray[np.int64]) -> bool:
        if not _possible(self.table, self.run, rows):
            return False
        part = self.table.part(rows)
        models = [model for model in self.run.privacy for _ in model.columns(part)]
        for model, here, whole in zip(models, self._measure(part), self.reached, strict=True):
            halfway = (model.promised + whole) / 2
            if not (here >= halfway if model.at_least else here <= halfway):
                return False
        return True


def _deal(
    table: EncodedTable, run: Run, order: NDArray[np.int64], n_blocks: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut the rows of each sensitive value into as many pieces, and make a block of one of each.

    Blocks then have the distribution of the table, and similar rows still stand together: the
    rows of a value are cut in the order of ``order``.
    """
    columns = {id(c): c for model in run.privacy for c in model.columns(table)}
    values = Partition.of_equal_rows([c.codes for c in columns.values()])
    place = np.empty(table.n_rows, np.int64)
    place[order] = np.arange(table.n_rows)
    by_value = np.lexsort((place, values.labels))
    rank = np.empty(table.n_rows, np.int64)
    rank[by_value] = np.arange(table.n_rows) - np.repeat(values.starts[:-1], values.sizes)
    # rare values begin somewhere else each, or one block would get all of them
    shift = (np.arange(values.n_groups) * GOLDEN) % 1.0
    block = ((rank + shift[values.labels]) * n_blocks / values.sizes[values.labels]).astype(int)
    dealt = np.lexsort((place, np.minimum(block, n_blocks - 1)))
    sizes = np.bincount(np.minimum(block, n_blocks - 1), minlength=n_blocks)
    starts = np.concatenate(([0], np.cumsum(sizes[sizes > 0])))
    return dealt.astype(np.int64), starts.astype(np.int64)


def _possible(table: EncodedTable, run: Run, rows: NDArray[np.int64]) -> bool:
    if not run.privacy:
        return True
    part = table.part(rows)
    together = Partition(np.zeros(len(rows), np.int32), 1)
    return not violations(part, together, run.k, run.privacy).any()


def run_algorithm(table: EncodedTable, algorithm: Algorithm, run: Run) -> Partition:
    """Let an algorithm group the rows of a table, and look at what it returns."""
    if not algorithm.counts_people and table.person is not None:
        table = table.row_by_row
        if not _possible(table, run, np.arange(table.n_rows)):
            # rows as people cannot keep the promises: groups are merged until people do
            run = replace(run, privacy=())
    partition = algorithm.partition(table, run)
    if partition.n_rows != table.n_rows:
        raise ValueError(
            f"algorithm {algorithm.name!r} labelled {partition.n_rows} of {table.n_rows} rows"
        )
    return partition


def cluster_blocks(
    table: EncodedTable, algorithm: Algorithm, run: Run, blocks: Blocks
) -> Partition:
    """Run the algorithm on every block."""
    generators = run.rng.spawn(len(blocks.rows))
    share = table.n_rows

    def work(number: int, tick: Callable[[int, int, str], None]) -> Partition:
        rows = blocks.rows[number]
        allowed = run.max_suppressed
        inner = run.part(
            rows,
            rng=generators[number],
            threads=1,
            progress=tick,
            max_suppressed=None if allowed is None else allowed * len(rows) // share,
            part_of=run.all_rows,
        )
        return run_algorithm(table.part(rows), algorithm.for_blocks, inner)

    found = _in_blocks(table.n_rows, run, blocks, work, "clustering blocks")
    if blocks.layers is None:
        return found
    if run.privacy:  # within the blocks first: there are few groups to compare with
        found = enforce_blocks(table, run, blocks, found)
    from shoal.engine.layers import place_rest

    return place_rest(run, blocks.layers, found)


def enforce_blocks(
    table: EncodedTable, run: Run, blocks: Blocks, partition: Partition
) -> Partition:
    """Merge the groups of each block that break a promise, with others of the block."""

    def work(number: int, tick: Callable[[int, int, str], None]) -> Partition:
        rows = blocks.rows[number]
        before = Partition.from_labels(partition.labels[rows])
        if blocks.layers is not None and not _possible(table, run, rows):
            return before  # a layer may lack what all of them have together
        return enforce(
            table.part(rows),
            before,
            run.scanner.take(rows),
            run.k,
            run.privacy,
            tick,
        )

    return _in_blocks(table.n_rows, run, blocks, work, "enforcing privacy in blocks")


def _in_blocks(
    n_rows: int,
    run: Run,
    blocks: Blocks,
    work: Callable[[int, Callable[[int, int, str], None]], Partition],
    what: str,
) -> Partition:
    parts, _ = in_threads(run, [len(rows) for rows in blocks.rows], work, what)
    return put_together(n_rows, blocks.rows, [part for part in parts if part is not None])


def put_together(
    n_rows: int, members: Sequence[NDArray[np.int64]], parts: Sequence[Partition]
) -> Partition:
    """Return one partition of all rows from the partitions of parts that share no row.

    Rows of no part are suppressed.
    """
    labels = np.full(n_rows, SUPPRESSED, np.int32)
    n_groups = 0
    for rows, part in zip(members, parts, strict=True):
        labels[rows] = np.where(part.labels < 0, -1, part.labels + n_groups)
        n_groups += part.n_groups
    return Partition(labels, n_groups)
