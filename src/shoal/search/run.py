"""What one search is given beside the table: k, costs, chance, promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shoal.runtime.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from shoal.measure.base import CostModel
    from shoal.privacy import PrivacyModel
    from shoal.search.scan import Scanner
    from shoal.table.partition import Partition


def no_warning(sentence: str) -> None:
    """Say nothing."""
    del sentence


@dataclass(frozen=True, eq=False)
class Run:
    """One run: the parameters that every algorithm gets besides the table.

    Attributes:
        k: smallest allowed group.
        model: the measure to minimise, bound to the whole table.
        scanner: rows and costs as integers, in the table's order.
        rng: the run's own generator; the only source of chance.
        privacy: models that hold beyond k-anonymity (algorithms that know how respect them while
            clustering; `enforce` does it afterwards for all others).
        threads: how many threads may be used; never changes the result.
        progress: called between slices of work with (done, total, what); Ctrl-C works there.
        max_suppressed: how many rows an algorithm that leaves rows out on its own may suppress
            (None: as many as it does as published).
        warn: takes a sentence that the user should read; it becomes part of this run's release,
            whichever thread says it.
        part_of: where the rows are a part of a larger table, how many rows that has: effort is
            chosen by the size of the whole.
    """

    k: int
    model: CostModel
    scanner: Scanner
    rng: np.random.Generator
    privacy: tuple[PrivacyModel, ...] = ()
    threads: int = 1
    progress: Callable[[int, int, str], None] = no_progress
    max_suppressed: int | None = None
    warn: Callable[[str], None] = no_warning
    part_of: int | None = None

    @property
    def all_rows(self) -> int:
        """Rows of the whole table."""
        return self.scanner.n_rows if self.part_of is None else self.part_of


# What a search says when Ctrl-C ends it.


class SearchInterrupt(KeyboardInterrupt):
    """Ctrl-C ended a search; who does not mind goes on with what it found.

    Attributes:
        found: the best partition so far, as valid as the one that was given.
    """

    def __init__(self, found: Partition) -> None:
        super().__init__()
        self.found = found
