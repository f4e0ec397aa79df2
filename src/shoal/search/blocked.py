"""Rows or groups in blocks of similar ones, and what bounds are taken from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.blocks import RowBlocks, RowScratch, close_blocks, cut_rows
from shoal.kernels.group_blocks import GroupBlocks
from shoal.kernels.space import COST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.kernels.space import Columns
    from shoal.search.scan import Scanner
    from shoal.table.encode import EncodedTable


MAX_PLACES = 4096
SIZE_WEIGHT = 1000.0  # groups of different sizes are cut apart before anything else


def similar_blocks(
    table: EncodedTable, max_rows: int, *, many_values_first: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut a table into blocks of at most max_rows similar rows.

    Columns of few values are cut first, because groups rarely mix their values: few groups are
    torn. With ``many_values_first`` it is the other way round, for small blocks that bounds are
    taken from (measured: k-member is a fifth faster with these).

    Returns the row numbers in block order, and where each block starts (one entry more than
    blocks). Deterministic: depends only on the codes and their order.
    """
    codes = np.stack([a.codes.astype(np.int32) for a in table.attributes])
    places, starts = [], [0]
    for a in table.attributes:
        if a.positions is None:
            # all columns are equally wide at first, and ties go to the column of fewer values
            width = 1.0 if many_values_first else max(1.0, a.size - 1.0)
            place = np.append(np.arange(a.size) / width, a.size if many_values_first else 2.0)
        else:
            width = float(a.positions[-1] - a.positions[0]) or 1.0
            place = np.append((a.positions - a.positions[0]) / width, 2.0)
        places.append(place * a.weight)
        starts.append(starts[-1] + len(place))
    return _cut(codes, np.concatenate(places), np.array(starts, np.int64), max_rows)


def similar_groups(
    groups: Columns, sizes: NDArray[np.int64], max_groups: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut groups into blocks of at most max_groups groups of similar closures and sizes.

    Returns the numbers of the groups in block order, and where each block starts (one entry more
    than blocks).
    """
    columns: list[NDArray[np.int32]] = []
    weights: list[float] = []
    for levels in (groups.lev8, groups.lev16, groups.lev32):
        for level in levels:
            _, codes = np.unique(level, return_inverse=True)
            columns.append(codes.astype(np.int32))
            weights.append(1.0)
    for low in groups.low:
        step = int(low.max(initial=0)) // MAX_PLACES + 1
        columns.append((low // step).astype(np.int32))
        weights.append(step / max(int(low.max(initial=0)), 1))
    columns.append(np.minimum(sizes, MAX_PLACES).astype(np.int32))
    weights.append(SIZE_WEIGHT)
    n_codes = [int(codes.max()) + 1 for codes in columns]
    place = np.concatenate([w * np.arange(n) for w, n in zip(weights, n_codes, strict=True)])
    starts = np.concatenate(([0], np.cumsum(n_codes)))
    return _cut(np.stack(columns), place, starts, max_groups)


def unite_blocks(starts: NDArray[np.int64], max_groups: int) -> NDArray[np.int64]:
    """Unite neighbouring blocks that have lost most of their groups."""
    united = [0]
    for end, following in pairwise(starts[1:]):
        if following - united[-1] > max_groups and end > united[-1]:
            united.append(int(end))
    return np.array([*united, starts[-1]], np.int64)


def form_blocks(
    scanner: Scanner, numbers: NDArray[np.int64], starts: NDArray[np.int64]
) -> GroupBlocks:
    """Return blocks of groups whose bounds are yet to be computed."""
    n_blocks = len(starts) - 1
    return GroupBlocks(
        starts,
        np.repeat(np.arange(n_blocks), np.diff(starts)),
        numbers,
        np.ones(len(numbers), np.bool_),
        np.zeros(len(numbers), np.int64),
        scanner.groups(n_blocks),
        np.empty(n_blocks, np.int64),
        np.empty(n_blocks, np.int64),
        np.empty(n_blocks, np.int64),
        np.full(n_blocks, -1, np.int64),
        np.empty(n_blocks, np.int64),
    )


def _cut(
    codes: NDArray[np.int32], place: NDArray[np.float64], starts: NDArray[np.int64], max_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n = codes.shape[1]
    order = np.arange(n, dtype=np.int64)
    ends = np.empty(n + 1, np.int64)
    n_blocks = cut_rows(
        codes,
        place,
        starts,
        max_rows,
        order,
        np.empty(int(np.diff(starts).max()) + 2, np.int64),
        np.empty(n, np.int64),
        np.empty((n + 2, 2), np.int64),  # parts put aside are never more than rows
        ends,
    )
    return order, np.concatenate(([0], ends[:n_blocks])).astype(np.int64)


@dataclass(frozen=True, eq=False)
class BlockedRows:
    """Rows reordered into blocks.

    Attributes:
        blocks: the rows (a copy that a search may shrink) and closures of their blocks.
        longest: rows of the largest block.
    """

    blocks: RowBlocks
    longest: int

    @classmethod
    def cut(cls, table: EncodedTable, scanner: Scanner, max_rows: int) -> BlockedRows:
        """Cut the rows of a scanner into blocks of similar rows."""
        order, starts = similar_blocks(table, max_rows, many_values_first=True)
        rows = scanner.take(order).rows
        closures = scanner.groups(len(starts) - 1)
        close_blocks(rows, starts, scanner.query(), closures)
        sizes = np.diff(starts)
        return cls(RowBlocks(rows, order, starts, sizes.copy(), closures), int(sizes.max()))

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.blocks.alive)

    def scratch(self) -> RowScratch:
        """Return what is needed to compare a cluster with all rows."""
        return RowScratch(
            np.empty(self.longest, COST),
            np.empty(self.longest, np.int64),
            np.empty(self.n_blocks, np.int64),
            np.empty(self.n_blocks, COST),
            np.empty(self.n_blocks, np.int64),
        )
