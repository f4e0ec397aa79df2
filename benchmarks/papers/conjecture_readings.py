"""Four ways to read a generalised cell, for the study of what a release is worth to a model.

* *mean*: a number by the middle of its interval, a category by one feature per value, each counting
  1 ÷ n for the n values covered; a cell that covers everything by the mean of the others.
* *middle*: the same, but a cell that covers everything is read like any other.
* *draw*: each row gets one of the values its cell covers, each as likely as the others.
* *set*: a number by both ends, a category by which values are covered, each counting 1.

Original rows, on which models are tested, read the same in all four: a value, or both ends equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.papers.features import Cells, Reading

READINGS = ("mean", "middle", "draw", "set")


def read(
    columns: list[Reading],
    cells: list[Cells],
    label: NDArray[np.int64],
    reading: str,
    chance: np.random.Generator,
) -> NDArray[np.float32]:
    """Return one line of features per row.

    Args:
        columns: how the columns are read.
        cells: their cells, one per group.
        label: the group of each row.
        reading: one of `READINGS`.
        chance: for draws.
    """
    parts = []
    for column, cell in zip(columns, cells, strict=True):
        if reading == "draw":
            parts.append(_drawn(column, cell, label, chance))
        else:
            parts.append(_of_groups(column, cell, reading)[label])
    return np.concatenate(parts, axis=1).astype(np.float32)


def _of_groups(column: Reading, cells: Cells, reading: str) -> NDArray[np.float64]:
    if reading == "mean":
        if column.numbers is None:
            return column.shares(cells)
        return column.midpoints(cells)[:, None]
    if column.numbers is None:
        counts = column.counts(cells)
        if reading == "set":
            return np.asarray(counts > 0, np.float64)
        return counts / (cells.high - cells.low + 1)[:, None]
    ends = np.stack((column.numbers[cells.low], column.numbers[cells.high]), axis=1)
    return ends if reading == "set" else ends.mean(axis=1, keepdims=True)


def _drawn(
    column: Reading, cells: Cells, label: NDArray[np.int64], chance: np.random.Generator
) -> NDArray[np.float64]:
    low, high = cells.low[label], cells.high[label]
    code = low + np.floor(chance.random(len(label)) * (high - low + 1)).astype(np.int64)
    if column.numbers is not None:
        return column.numbers[code][:, None]
    one_hot: NDArray[np.float64] = np.eye(len(column.labels))[column.bin_of[code]]
    return one_hot
