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

from shoal.algorithm.auto import can_renew, renewed
from shoal.engine.blocks import in_threads, put_together
from shoal.measure.base import LogForm
from shoal.messages import Message
from shoal.search.blocked import similar_blocks
from shoal.search.enforce import GroupState
from shoal.search.refine import (
    HOT_SHARE,
    MOST_HOT,
    Search,
    hot_sweeps,
    lost_cell,
    refine_partition,
)
from shoal.search.scan import Effort, SearchInterrupt
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shoal.algorithm.base import Algorithm
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


REGION_ROWS = 20_000
"""Rows of a region; larger tables are refined in regions first."""
WHOLE_ROWS = 100_000
"""Tables up to this size are refined as a whole in the end: scans of all groups are cheap there."""
USUAL_COLUMNS, LEAST_ROWS = 12, 5_000
"""A scan takes time with every column, and few rows of a wide table are near to each other: with
more columns than the first, both are smaller, down to the second."""
HOT_ROWS, HOT_GROUPS = 8_000, (800, 2_000)
"""Where moves may cost something, regions have so many rows, but no fewer and no more groups: more
of them take time and, measured, end no lower."""
RENEWED_ROWS, RENEWED_GROUPS = 600, (5, 30)
"""Groups that are made anew together: of so many rows, but no fewer and no more groups."""
FEW_GROUPS = 100
"""Groups as few as that are made anew: single rows matter little there."""
PATIENCE = 4
"""So many rounds in a row that change nothing are the last ones."""
FIRST_PRICE, FEWEST_HOT, COLD = 0.65, 6, 12
"""Where the number of groups is limited: the first price of a group, in mean costs of a group (the
loss grows about so much faster than groups become fewer), and sweeps while moves may cost something
and afterwards."""
HOT_POWER, COLD_POWER = 2.0, 6.0
"""How sharply the price follows the number of groups; cold sweeps change that little by itself."""


def polish(table: EncodedTable, partition: Partition, run: Run, effort: Effort) -> Partition:
    """Return a partition that costs no more; suppressed rows stay so.

    Deterministic given the generator unless ``effort.seconds`` is set.
    """
    if partition.recoded or not partition.n_groups:
        return partition
    if partition.n_suppressed:
        return _without_suppressed(table, partition, run, effort)
    end = None if effort.seconds is None else time.monotonic() + effort.seconds
    before = partition
    effort = _fewer_hot(run, effort)
    whole = table.n_rows <= _hot_rows(run)
    hot = hot_sweeps(effort, table.n_rows / partition.n_groups)
    if hot and not whole and run.scanner.points is None:
        partition, interrupted = _anneal_costly(table, partition, run, effort, hot, end)
        if interrupted:
            return cheaper(run, before, partition)
        effort = replace(effort, hot=(0, 0), rounds=1)
        whole = table.n_rows <= _most_at_once(run)
    found = _polish(table, partition, run, effort, end, whole=whole)
    return cheaper(run, before, found)


def polish_uncut(
    table: EncodedTable, partition: Partition, run: Run, algorithm: Algorithm, *, begin: bool
) -> Partition:
    """Refine the groups of a table that was not cut, as its algorithm wants it.

    If it may begin anew, what it finds elsewhere is looked at before the last step.
    """
    steps = algorithm.afterwards
    for left, step in zip(range(len(steps) - 1, -1, -1), steps, strict=True):
        if left == 0 and begin and table.person is None and not partition.n_suppressed:
            found = [partition, *algorithm.rivals(table, run)]
            partition = min(found, key=lambda each: _cost(run, each))
        partition = polish(table, partition, run, step)
    return partition


def polish_to_limit(
    table: EncodedTable,
    partition: Partition,
    run: Run,
    effort: Effort,
    excess: Callable[[Partition], float],
) -> Partition:
    """Return groups of which there are not too many, for as small a cost as is found.

    A limit on the number of groups leaves open which of them stay small. So each is charged a
    price beside what its rows pay (a Lagrange multiplier; Everett 1963), which every move weighs
    like any other cost: groups dissolve whose rows fit elsewhere, and those stay that save most.
    After each sweep the price follows the number of groups. The last sweeps accept only what pays,
    and the cheapest groups that keep the limit count.

    Deterministic given the generator. If no groups were found that keep the limit, they are too
    many still, but few: the caller merges them.

    Args:
        table: the rows.
        partition: the groups to begin with; suppressed rows stay so.
        run: k, costs, chance, promises about single groups.
        effort: how hard to try.
        excess: how many times too many groups there are; at most 1 where the limit is kept.
    """
    if partition.recoded or run.scanner.points is not None:
        return partition
    effort = _fewer_hot(run, effort)
    hot = max(FEWEST_HOT, hot_sweeps(effort, excess(partition) * table.n_rows / partition.n_groups))
    first = FIRST_PRICE * _cost(run, partition) / partition.n_groups
    price = first or lost_cell(run.scanner)
    found, least, kept = partition, None, 0
    for number in range(hot + COLD):
        share = max(0.0, 1.0 - number / hot)
        priced = replace(run, scanner=run.scanner.priced(max(1, int(price))))
        found, interrupted = _sweep_regions(
            table, found, priced, effort, effort.large * share, number
        )
        times = excess(found)
        if times <= 1:
            cost = _cost(run, found)
            least = min(least or (cost, number, found), (cost, number, found))
            kept += not share
        if interrupted or kept > 1:
            break
        price *= min(max(times ** (HOT_POWER if share else COLD_POWER), 0.5), 2.0)
    return found if least is None else least[-1]


def _polish(
    table: EncodedTable,
    partition: Partition,
    run: Run,
    effort: Effort,
    end: float | None,
    *,
    whole: bool,
) -> Partition:
    if not whole and table.n_rows > _room(run, REGION_ROWS):
        cost = _cost(run, partition)
        for number in range(effort.rounds):
            rounds = effort.rounds - number
            partition, interrupted = _refine_regions(
                table, partition, run, effort, end, number, rounds
            )
            if interrupted or _is_late(end):
                return partition
            before, cost = cost, _cost(run, partition)
            if cost == before:
                break
    if effort.sweeps and table.n_rows <= _most_at_once(run):
        partition, interrupted = _refine_whole(table, partition, run, effort, end)
        if interrupted:
            return partition
    if effort.renewals and partition.n_groups <= FEW_GROUPS and can_renew(table, run):
        partition = _renew(table, partition, run, effort, end)
    return partition


def _room(run: Run, rows: int) -> int:
    """Return how many rows of this table take as long as so many of a usual one."""
    share = min(1.0, USUAL_COLUMNS / len(run.model.forms)) ** 1.5
    return max(int(rows * share), min(rows, LEAST_ROWS))


def _most_at_once(run: Run) -> int:
    """Return up to how many rows a table is refined as a whole; parts of large ones are not."""
    whole = _room(run, WHOLE_ROWS)
    if run.part_of is not None and run.part_of > whole:
        return min(_room(run, REGION_ROWS), whole)
    return whole


def _fewer_hot(run: Run, effort: Effort) -> Effort:
    """Return an effort of fewer hot sweeps where they take long: large tables, wide ones, logs."""
    large = effort.large if run.all_rows > WHOLE_ROWS else 1.0
    share = large * min(1.0, USUAL_COLUMNS / len(run.model.forms)) ** 1.5
    logs = effort.logs if any(isinstance(form, LogForm) for form in run.model.forms) else 1.0
    few, many = effort.hot
    return replace(effort, hot=(int(few * share), int(many * share * logs)), large=large)


def _hot_rows(run: Run) -> int:
    fewest, most = (groups * run.k for groups in HOT_GROUPS)
    return min(max(_room(run, HOT_ROWS), fewest), most, _most_at_once(run))


def cheaper(run: Run, before: Partition, found: Partition) -> Partition:
    """Return what was found, or what was given if that costs less."""
    return found if _cost(run, found) <= _cost(run, before) else before


def _anneal_costly(
    table: EncodedTable, partition: Partition, run: Run, effort: Effort, hot: int, end: float | None
) -> tuple[Partition, bool]:
    """Anneal the groups that cost something: of large tables most groups cost nothing.

    Those have nothing to gain, and between them the others would rarely meet.
    """
    costly = GroupState(run.scanner, partition).costs > 0
    rows = np.flatnonzero(costly[partition.labels])
    if len(rows) < 2 * run.k:
        return partition, False
    inner = replace(run, model=run.model.take(rows), scanner=run.scanner.take(rows))
    before = Partition.from_labels(partition.labels[rows])
    found, interrupted = _anneal(table.part(rows), before, inner, effort, hot, end)
    labels = partition.labels.copy()
    labels[rows] = partition.n_groups + found.labels
    return Partition.from_labels(labels), interrupted


def _anneal(
    table: EncodedTable, partition: Partition, run: Run, effort: Effort, hot: int, end: float | None
) -> tuple[Partition, bool]:
    """Sweep over regions, cut anew each time, while moves may cost something, less and less."""
    began = time.monotonic()
    number = 0
    while number < (hot if end is None else MOST_HOT):
        share = 1.0 - number / hot
        if end is not None:
            share = 1.0 - (time.monotonic() - began) / (HOT_SHARE * max(end - began, 1e-9))
        if share <= 0:
            break
        partition, interrupted = _sweep_regions(
            table, partition, run, effort, effort.large * share, number
        )
        if interrupted:
            return partition, True
        number += 1
    return partition, False


def _sweep_regions(
    table: EncodedTable, partition: Partition, run: Run, effort: Effort, share: float, number: int
) -> tuple[Partition, bool]:
    """Sweep once over the groups of each region, at a share of the full heat."""
    mean = table.n_rows / partition.n_groups
    regions = _regions(table, run, partition, max(2, int(_hot_rows(run) / mean)), 2)

    def work(part: EncodedTable, groups: Partition, inner: Run) -> Partition:
        if part.n_rows < 2 * inner.k:
            return groups
        search = Search(part, groups, inner, effort)
        try:
            search.sweep_at(share, number)
        except KeyboardInterrupt:
            if not effort.keep_on_interrupt:
                raise
        return search.found()

    name = Message("refining, round {n}", n=number + 1)
    return _in_regions(table, partition, run, regions, work, name, effort)


def _is_late(end: float | None) -> bool:
    return end is not None and time.monotonic() > end


def _refine_whole(
    table: EncodedTable, partition: Partition, run: Run, effort: Effort, end: float | None
) -> tuple[Partition, bool]:
    """Refine all groups together; return whether Ctrl-C was pressed, too."""
    left = None if end is None else max(0.0, end - time.monotonic())
    try:
        found = refine_partition(table, partition, run, replace(effort, seconds=left))
    except SearchInterrupt as interrupt:
        if not effort.keep_on_interrupt:
            raise
        return interrupt.found, True
    return found, False


def _renew(
    table: EncodedTable, partition: Partition, run: Run, effort: Effort, end: float | None
) -> Partition:
    """Make groups anew, some neighbouring ones at a time, and refine across them.

    As many rounds as ``effort`` says; where it gives seconds, until they are over or nothing
    changes any more.
    """
    settle = replace(effort, sweeps=1, hot=(0, 0), rounds=1)
    cost, idle, number = _cost(run, partition), 0, 0
    while number < effort.renewals if end is None else idle < PATIENCE and not _is_late(end):
        partition, interrupted = _renew_regions(table, partition, run, effort, number)
        if interrupted or _is_late(end):
            break
        if table.n_rows <= _most_at_once(run):
            partition, interrupted = _refine_whole(table, partition, run, settle, end)
        else:
            partition, interrupted = _refine_regions(table, partition, run, settle, end, number, 1)
        if interrupted:
            break
        before, cost = cost, _cost(run, partition)
        idle = idle + 1 if cost == before else 0
        number += 1
    return partition


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
    table: EncodedTable, run: Run, partition: Partition, most: int, sharp: int
) -> list[NDArray[np.int64]]:
    """Cut the groups (each by one of its rows) into regions of at most so many similar groups.

    Columns are weighted by chance, the sharper the more differently: every round cuts elsewhere.
    """
    heads = table.take(partition.heads)
    chance = run.rng.uniform(0.2, 1.0, len(heads.attributes)) ** sharp
    weighted = tuple(
        replace(a, weight=float(a.weight * w))
        for a, w in zip(heads.attributes, chance, strict=True)
    )
    order, starts = similar_blocks(replace(heads, attributes=weighted), most)
    return [order[low:high] for low, high in itertools.pairwise(starts)]


def _refine_regions(
    table: EncodedTable,
    partition: Partition,
    run: Run,
    effort: Effort,
    end: float | None,
    number: int,
    rounds: int,
) -> tuple[Partition, bool]:
    """Refine the groups of each region together; so many rounds are to come, with this one."""
    mean = table.n_rows / partition.n_groups
    regions = _regions(
        table, run, partition, max(2, int(_room(run, REGION_ROWS) / mean)), number + 1
    )
    efforts = _shares(effort, end, len(regions), rounds, run.threads)

    def work(part: EncodedTable, groups: Partition, inner: Run) -> Partition:
        try:
            return refine_partition(part, groups, inner, efforts())
        except SearchInterrupt as interrupt:
            if not effort.keep_on_interrupt:
                raise
            return interrupt.found

    name = Message("refining, round {n}", n=number + 1)
    return _in_regions(table, partition, run, regions, work, name, effort)


def _renew_regions(
    table: EncodedTable, partition: Partition, run: Run, effort: Effort, number: int
) -> tuple[Partition, bool]:
    """Make the groups of each region anew where that costs less."""
    most = min(max(RENEWED_ROWS // run.k, RENEWED_GROUPS[0]), RENEWED_GROUPS[1])
    regions = _regions(table, run, partition, most, 2)

    def work(part: EncodedTable, groups: Partition, inner: Run) -> Partition:
        try:
            return renewed(part, groups, inner, number)
        except KeyboardInterrupt:
            if not effort.keep_on_interrupt:
                raise
            return groups

    name = Message("making groups anew, round {n}", n=number + 1)
    return _in_regions(table, partition, run, regions, work, name, effort)


def _in_regions(
    table: EncodedTable,
    partition: Partition,
    run: Run,
    regions: list[NDArray[np.int64]],
    work: Callable[[EncodedTable, Partition, Run], Partition],
    name: str,
    effort: Effort,
) -> tuple[Partition, bool]:
    """Work on the groups of each region, which share none; return whether Ctrl-C was pressed."""
    generators = run.rng.spawn(len(regions))
    members = [np.concatenate([partition.rows_of(int(g)) for g in groups]) for groups in regions]

    def work_on(region: int, tick: Callable[[int, int, str], None]) -> Partition:
        rows = members[region]
        inner = run.part(rows, rng=generators[region], threads=1, progress=tick)
        return work(table.part(rows), Partition.from_labels(partition.labels[rows]), inner)

    parts, interrupted = in_threads(
        run,
        [len(rows) for rows in members],
        work_on,
        name,
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
