"""An algorithm outside Shoal: sort the rows by their codes, cut the order into groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import Algorithm
from shoal.errors import OptionError
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from shoal.search.scan import Run
    from shoal.table.encode import EncodedTable


@dataclass(frozen=True, kw_only=True)
class Neighbours(Algorithm):
    """Rows that follow each other in the order of their codes form groups of k.

    Args:
        backwards: sort by the last column first.
    """

    name = "neighbours"
    title = "rows side by side in sorted order"
    citation = "an example"

    backwards: bool = False

    def __post_init__(self) -> None:
        """Check the options."""
        if not isinstance(self.backwards, bool):
            raise OptionError(
                f"backwards of 'neighbours' must be true or false, got {self.backwards!r}."
            )

    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table."""
        codes = [attribute.codes for attribute in table.attributes]
        order = np.lexsort(codes if self.backwards else codes[::-1])
        n_groups = table.n_rows // run.k
        labels = np.empty(table.n_rows, np.int32)
        labels[order] = np.minimum(np.arange(table.n_rows) // run.k, n_groups - 1)
        return Partition(labels, n_groups)
