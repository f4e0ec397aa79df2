"""Tables in which a person has several rows, cut so that every algorithm counts people.

An algorithm counts rows. So it is given layers: a layer holds at most one row of each person, and
there k rows are k people, as in the papers. Rows of one person with the same quasi-identifiers
stay together, one of them stands for all. Layers too thin to be grouped well are not grouped:
their rows go to the finished groups where they cost least. What the seams between the layers cost
is won back by refinement, which counts people itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.groups import assign_rows
from shoal.kernels.space import ClosedGroups, Columns
from shoal.search.enforce import GroupState
from shoal.search.scan import take_columns
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


THIN = 4
"""Layers of fewer than so many times k rows are not grouped by themselves."""
_SLICE = 2048  # rows between two looks at Ctrl-C


@dataclass(frozen=True, eq=False)
class Layers:
    """Rows that are grouped together, and those that follow.

    Attributes:
        rows: the rows of each layer; no person occurs twice in one.
        rest: rows of layers that are too thin.
        followers: rows that are like another row of the same person.
        leaders: that other row, for each of the followers.
    """

    rows: tuple[NDArray[np.int64], ...]
    rest: NDArray[np.int64]
    followers: NDArray[np.int64]
    leaders: NDArray[np.int64]


def cut_layers(table: EncodedTable, k: int) -> Layers:
    """Cut a table into layers, the first one of which holds a row of everybody."""
    assert table.person is not None
    same = Partition.of_equal_rows([*(a.codes for a in table.attributes), table.person])
    heads = same.heads
    leads = np.zeros(table.n_rows, np.bool_)
    leads[heads] = True
    followers = np.flatnonzero(~leads)
    # groups are numbered by person first, so the rows of a person stand side by side
    person = table.person[heads]
    new = np.append(True, person[1:] != person[:-1])
    start = np.maximum.accumulate(np.where(new, np.arange(len(heads)), 0))
    depth = np.arange(len(heads)) - start
    order = np.argsort(depth, kind="stable")
    sizes = np.bincount(depth)
    n_layers = max(1, int(np.count_nonzero(sizes >= THIN * k)))
    ends = np.cumsum(sizes)[:n_layers]
    # in the order of the table, which is random and not that of the people
    pieces = [np.sort(heads[piece]) for piece in np.split(order, ends)]
    return Layers(tuple(pieces[:-1]), pieces[-1], followers, heads[same.labels[followers]])


def place_rest(run: Run, layers: Layers, partition: Partition) -> Partition:
    """Give the rows that no layer holds to groups of the others."""
    labels = partition.labels.copy()
    if not partition.n_groups:
        return partition
    labels[layers.rest] = cheapest_groups(run, partition, layers.rest)
    labels[layers.followers] = labels[layers.leaders]
    # whose leader is left out stays: only so many rows may be left out
    left = layers.followers[labels[layers.followers] == SUPPRESSED]
    labels[left] = cheapest_groups(run, partition, left)
    return Partition(labels, partition.n_groups)


def cheapest_groups(run: Run, partition: Partition, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the group that each of these rows is cheapest to join."""
    labels = np.empty(len(rows), np.int64)
    if not len(rows):
        return labels
    state = GroupState(run.scanner, partition)
    n_groups = partition.n_groups
    columns = Columns(
        *(
            np.ascontiguousarray(np.concatenate(pair, axis=1))
            for pair in zip(state.groups, take_columns(run.scanner.rows, rows), strict=True)
        )
    )
    own = np.zeros((run.scanner.n_classes, len(rows)), np.int64)
    own[run.scanner.classes[rows], np.arange(len(rows))] = 1
    groups = ClosedGroups(
        columns,
        np.concatenate((state.hists, own), axis=1),
        np.concatenate((state.costs, np.zeros(len(rows), np.int64))),
        np.empty(0, np.int64),
    )
    scratch, first, last = run.scanner.scratch(n_groups), np.int64(n_groups), n_groups + len(rows)
    for begin in range(n_groups, last, _SLICE):
        run.progress(begin - n_groups, len(rows), "placing further rows of people")
        end = np.int64(min(begin + _SLICE, last))
        assign_rows(run.scanner.space, groups, first, np.int64(begin), end, scratch, labels)
    return labels
