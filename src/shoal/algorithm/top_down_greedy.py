"""Top-down greedy partitioning (Xu, Wang, Pei, Wang, Shi, Fu: KDD 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm, check_whole
from shoal.kernels.k_member import join_leftovers
from shoal.search.enforce import GroupState
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Run, Scanner
    from shoal.table.encode import EncodedTable

    Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class TopDownGreedy(Algorithm):
    """Halve sets of rows around two rows far from each other; then mend groups below k.

    A set of more than k rows is parted in two. The seeds: from a row by chance to the row whose
    pair with it costs most, from that one to the row farthest from it, and so on, ``rounds`` times.
    Every other row, in random order, joins the part whose total cost rises least. Parts of at most
    k rows are groups. Groups below k are mended one after the other, in the order they were formed:
    either the group takes the rows it needs from a group that can spare them, the rows that are
    cheapest to add, or it is united with the group that this costs least; whichever raises the
    total cost less. "Costs" are those of the chosen measure; the paper's is NCP.

    What the paper leaves open. The rows that a group takes come from the group of the one row that
    is cheapest to add. Rows that are alike are not torn apart: they would be put together again.

    Guarantee: every group has at least k records.
    Cost: O(n log n) comparisons where parts are of similar size, O(n²) at worst; mending, O(n) per
    group below k.
    Determinism: given the seed; ties go to the first part, the lowest row, the oldest group.

    Args:
        rounds: how often the farthest row is looked for.
    """

    name = "top-down-greedy"
    title = "sets of rows parted around two that are far apart"
    citation = "Xu, Wang, Pei, Wang, Shi, Fu 2006"

    rounds: int = 3

    def __post_init__(self) -> None:
        """Check the options."""
        check_whole(self, "rounds")

    def compiles(self, run: Run) -> tuple[str, ...]:
        """Return the tasks of `shoal.algorithm.warm_up` that compile what it calls."""
        del run
        return ("k-member", "enforce", "r-gather")

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        groups: list[Rows] = []
        waiting = [np.arange(table.n_rows)]
        done = 0
        while waiting:
            rows = waiting.pop()
            parts = [] if len(rows) <= run.k else self._partition_in_two(rows, run)
            if parts:
                waiting += parts[::-1]  # the first part goes on first
            else:
                groups.append(rows)
                done += len(rows)
                run.progress(done, table.n_rows, "partitioning")
        return adjust_groups(groups, run)

    def _partition_in_two(self, rows: Rows, run: Run) -> list[Rows]:
        """Return the parts of these rows, none if they are all alike."""
        part = run.scanner.take(rows)
        if not _cost(part):
            return []
        seed, other = int(run.rng.integers(len(rows))), -1
        for _ in range(self.rounds):
            seed, other = _farthest(part, seed), seed
        seeds = [other, seed]
        groups = part.groups(2)
        for target, source in zip(groups, part.rows, strict=True):
            target[...] = source[:, seeds]
        hists = np.zeros((part.n_classes, 2), np.int64)
        hists[part.classes[seeds], np.arange(2)] = 1
        left = run.rng.permutation(np.delete(np.arange(len(rows)), seeds))
        joined = np.empty(len(left), np.int64)
        join_leftovers(part.records, left, groups, hists, part.scratch(2), joined)
        label = np.zeros(len(rows), np.int64)
        label[seed], label[left] = 1, joined
        return [rows[label == 0], rows[label == 1]]


def _farthest(part: Scanner, row: int) -> int:
    """Return the row whose pair with a row costs most, never that row itself."""
    costs = part.costs_with([row])
    costs[row] = -1
    return int(np.argmax(costs))


def _cost(part: Scanner) -> int:
    """Return the total cost of one group of all rows."""
    return int(GroupState(part, Partition(np.zeros(part.n_rows, np.int32), 1)).costs[0])


def adjust_groups(formed: list[Rows], run: Run) -> Partition:
    """Mend groups below k: each takes rows from another group, or is united with one."""
    label = np.empty(run.scanner.n_rows, np.int32)
    for number, rows in enumerate(formed):
        label[rows] = number
    state = GroupState(run.scanner, Partition(label, len(formed)))
    members: list[Rows] = list(formed)
    small = [number for number, rows in enumerate(members) if len(rows) < run.k]
    for count, g in enumerate(small):
        if not 0 < len(members[g]) < run.k:
            continue  # it has taken in another group since
        run.progress(count, len(small), "mending small groups")
        h = state.nearest(g)
        united = np.concatenate((members[g], members[h]))
        rise = _cost(run.scanner.take(united)) - int(state.costs[g] + state.costs[h])
        giver, taken = _spare_rows(label, members, g, run)
        if giver >= 0:
            whole = np.concatenate((members[g], taken))
            rest = np.setdiff1d(members[giver], taken)
            parts = _cost(run.scanner.take(whole)) + _cost(run.scanner.take(rest))
            if parts - int(state.costs[g] + state.costs[giver]) < rise:
                _replace(state, (g, giver), (whole, rest), members, label)
                continue
        state.merge(h, g)
        members[h], members[g] = united, united[:0]
        label[united] = h
        if len(united) < run.k:
            small.append(h)
    return Partition.from_labels(label)


def _spare_rows(
    label: NDArray[np.int32], members: list[Rows], g: int, run: Run
) -> tuple[int, Rows]:
    """Return the group of the cheapest row to add to g that can spare enough, and its rows.

    −1 if no group has that many rows more than k.
    """
    needed = run.k - len(members[g])
    sizes = np.array([len(rows) for rows in members])
    costs = run.scanner.costs_with(members[g].tolist())
    can = np.flatnonzero(sizes[label] >= run.k + needed)
    if not len(can):
        return -1, can
    giver = int(label[can[np.argmin(costs[can])]])
    rows = np.sort(members[giver])
    return giver, rows[np.argsort(costs[rows], kind="stable")[:needed]]


def _replace(
    state: GroupState,
    numbers: tuple[int, int],
    rows: tuple[Rows, Rows],
    members: list[Rows],
    label: NDArray[np.int32],
) -> None:
    """Give two groups other rows."""
    both = np.concatenate(rows)
    labels = np.repeat(np.arange(2, dtype=np.int32), [len(part) for part in rows])
    fresh = GroupState(state.scanner.take(both), Partition(labels, 2)).closed
    for place, number in enumerate(numbers):
        for target, source in zip(state.groups, fresh.columns, strict=True):
            target[:, number] = source[:, place]
        state.hists[:, number] = fresh.hists[:, place]
        state.closed.costs[number] = fresh.costs[place]
        state.closed.sizes[number] = fresh.sizes[place]
        members[number] = rows[place]
        label[rows[place]] = number
