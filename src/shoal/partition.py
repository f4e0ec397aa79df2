"""`Partition`: which group every row belongs to, and the invariants that always hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["SUPPRESSED", "Partition"]

SUPPRESSED = -1
"""Label of a row that is not published at all."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Group label of every row: 0 … n_groups-1 without gaps, or `SUPPRESSED`.

    Use `Partition.from_labels` for labels that may have gaps.

    Attributes:
        labels: group of every row.
        n_groups: number of groups.
        recoded: for full-domain recoding, the taxonomy node that each group publishes in a column
            (by name) where it is coarser than what the group's own values need.
    """

    labels: NDArray[np.int32]
    n_groups: int
    recoded: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)

    @classmethod
    def from_labels(cls, labels: ArrayLike) -> Partition:
        """Renumber arbitrary integer labels to 0 … n_groups-1; negative ones mean suppressed."""
        given = np.asarray(labels)
        if given.ndim != 1:
            raise ValueError(f"labels must be one-dimensional, got {given.ndim} dimensions")
        kept = given >= 0
        names, renumbered = np.unique(given[kept], return_inverse=True)
        result = np.full(given.shape[0], SUPPRESSED, dtype=np.int32)
        result[kept] = renumbered
        return cls(result, len(names))

    @classmethod
    def from_groups(cls, groups: Sequence[ArrayLike], n_rows: int) -> Partition:
        """Build a partition from the row numbers of each group; rows in none are suppressed."""
        labels = np.full(n_rows, SUPPRESSED, dtype=np.int32)
        for label, rows in enumerate(groups):
            labels[np.asarray(rows, dtype=np.int64)] = label
        return cls(labels, len(groups))

    @property
    def n_rows(self) -> int:
        """Number of rows of the table, suppressed ones included."""
        return int(self.labels.shape[0])

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each group."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_groups).astype(np.int64)

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

    def rows_of(self, group: int) -> NDArray[np.int64]:
        """Row numbers of one group, ascending."""
        return self.order[self.starts[group] : self.starts[group + 1]]
