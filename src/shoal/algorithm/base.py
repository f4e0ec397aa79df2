"""What an algorithm is, and what it is given to work with."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shoal import registry
from shoal.errors import OptionError, did_you_mean
from shoal.progress import no_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from shoal.measure.base import CostModel
    from shoal.privacy import PrivacyModel
    from shoal.search.refine import Effort
    from shoal.search.scan import Scanner
    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition

__all__ = ["BLOCK_ROWS", "Algorithm", "Run", "create_algorithm", "no_warning"]

BLOCK_ROWS = 8_000
"""Rows of a block: large enough for good groups, small enough for quadratic algorithms."""

Progress = "Callable[[int, int, str], None]"


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


class Algorithm(ABC):
    """A way to group rows. Subclasses are frozen dataclasses whose fields are their options.

    Class attributes:
        name: what users type.
        title: one line for lists.
        citation: the paper.
        may_suppress: whether it may leave rows out on its own.
        works_in_blocks: whether a large table may be cut into blocks of similar rows.
        counts_people: whether it looks at `EncodedTable.person` and forms groups of at least k
            people by itself. Others are given at most one row of each person at a time.
        whole_rows: larger tables are cut into blocks unless the user says otherwise; infinite for
            algorithms that grow with little more than the number of rows.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    citation: ClassVar[str]
    may_suppress: ClassVar[bool] = False
    works_in_blocks: ClassVar[bool] = True
    counts_people: ClassVar[bool] = False
    whole_rows: ClassVar[float] = 100_000

    @property
    def suppresses(self) -> bool:
        """Whether it may leave rows out on its own, with the options it was given."""
        return self.may_suppress

    @property
    def seams(self) -> tuple[Effort, ...]:
        """How groups are refined across blocks; empty for the engine's own way."""
        return ()

    @property
    def afterwards(self) -> tuple[Effort, ...]:
        """How groups are refined in the end where the table was not cut: not at all."""
        return ()

    def rivals(self, table: EncodedTable, run: Run) -> list[Partition]:
        """Return other groups of a table that was not cut, if they may turn out cheaper.

        They are looked at before the last step of `afterwards`, and the cheapest go on.
        """
        del table, run
        return []

    def block_sizes(self, run: Run) -> tuple[float, int]:
        """Return above how many rows a table is cut into blocks, and the rows of a block."""
        del run
        return self.whole_rows, BLOCK_ROWS

    @property
    def for_blocks(self) -> Algorithm:
        """What runs on a block of a large table."""
        return self

    def compiles(self, run: Run) -> tuple[str, ...]:
        """Return the tasks of `shoal.search.warm_up` that compile what it calls."""
        del run
        return (self.name,)

    @abstractmethod
    def partition(self, table: EncodedTable, run: Run) -> Partition:
        """Group the rows of a table; every group has at least ``run.k`` rows.

        The table has at least k rows, in an order that is already random.
        """


def create_algorithm(name: str, options: Mapping[str, Any] | None = None) -> Algorithm:
    """Build an algorithm from its name and options.

    Raises:
        OptionError: no such algorithm or option, or an option out of range.
    """
    algorithm = registry.load("algorithms", name)
    known = [field.name for field in dataclasses.fields(algorithm)]
    for option in options or {}:
        if option not in known:
            hint = did_you_mean(str(option), known)
            allowed = ", ".join(known) if known else "none"
            raise OptionError(
                f"Algorithm {name!r} has no option {option!r}.{hint} Its options: {allowed}."
            )
    created: Algorithm = algorithm(**dict(options or {}))
    return created
