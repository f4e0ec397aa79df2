"""`Partition`: which group every row belongs to, and the invariants that always hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray


SUPPRESSED = -1
"""Label of a row that is not published at all."""

SLICE = 1 << 20


@dataclass(frozen=True, eq=False)
class Partition:
    """Group label of every row: 0 … n_groups-1 without gaps, or `SUPPRESSED`.

    Use `Partition.from_labels` for labels that may have gaps. Kernels read the first row of every
    group, so an empty group would be read from beyond the end of the rows: it is refused here.

    Attributes:
        labels: group of every row.
        n_groups: number of groups.
        recoded: by name of a column, what each group publishes in it where that is coarser than
            what the group's own values need: the node of a tree, or (low, high, everything) of an
            interval, or (everything, code) of a set. For full-domain recoding, and against
            attackers of limited knowledge.

    Raises:
        ValueError: a group has no rows, or a label is no group.
    """

    labels: NDArray[np.int32]
    n_groups: int
    recoded: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check that every label is a group and every group has rows."""
        outside = self.n_rows > 0 and not (
            self.labels.min() >= SUPPRESSED and self.labels.max() < self.n_groups
        )
        if outside:
            raise ValueError(f"a label lies outside {SUPPRESSED} … {self.n_groups - 1}")
        empty = np.count_nonzero(self.sizes == 0)
        if empty:
            raise ValueError(f"{empty} of {self.n_groups} groups have no rows")

    @classmethod
    def from_labels(cls, labels: ArrayLike) -> Partition:
        """Renumber arbitrary integer labels to 0 … n_groups-1; negative ones mean suppressed."""
        array = np.asarray(labels)
        if array.ndim != 1:
            raise ValueError(f"labels must be one-dimensional, got {array.ndim} dimensions")
        kept = array >= 0
        names, renumbered = np.unique(array[kept], return_inverse=True)
        result = np.full(array.shape[0], SUPPRESSED, dtype=np.int32)
        result[kept] = renumbered
        return cls(result, len(names))

    @classmethod
    def of_equal_rows(cls, columns: Sequence[NDArray[np.integer[Any]]]) -> Partition:
        """Group the rows that are equal in every column: one group per distinct tuple.

        Groups are numbered in the order of their tuples, the last column counting most.
        """
        order = np.lexsort(columns)
        new = np.zeros(len(order), np.bool_)
        new[:1] = True
        for column in columns:
            ranked = column[order]
            new[1:] |= ranked[1:] != ranked[:-1]
        labels = np.empty(len(order), np.int32)
        labels[order] = np.cumsum(new) - 1
        found = cls(labels, int(np.count_nonzero(new)))
        found.__dict__["order"] = order  # no need to sort again: equal rows are in row order
        return found

    @property
    def n_rows(self) -> int:
        """Number of rows of the table, suppressed ones included."""
        return int(self.labels.shape[0])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each group."""
        counts = np.zeros(self.n_groups + 1, np.int64)
        part = max(SLICE, self.n_groups)  # in parts: counting widens every label to eight bytes
        for start in range(0, self.n_rows, part):
            labels = self.labels[start : start + part]
            counts += np.bincount(labels + 1, minlength=self.n_groups + 1)
        return counts[1:]

    @cached_property
    def n_suppressed(self) -> int:
        """Number of rows that are not published."""
        return int(np.count_nonzero(self.labels < 0))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Rows sorted by group (suppressed rows left out), in row order inside a group."""
        rows = np.argsort(self.labels, kind="stable")
        return rows[self.n_suppressed :]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each group begins in `order`; one entry more than groups."""
        return np.concatenate(([0], np.cumsum(self.sizes))).astype(np.int64)

    @cached_property
    def heads(self) -> NDArray[np.int64]:
        """First row of each group."""
        return self.order[self.starts[:-1]]

    def rows_of(self, group: int) -> NDArray[np.int64]:
        """Row numbers of one group, ascending."""
        return self.order[self.starts[group] : self.starts[group + 1]]
