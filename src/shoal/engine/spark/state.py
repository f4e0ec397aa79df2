"""What stages of a run on Spark hand to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.engine.spark.rows import nothing_missing

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.engine.spark.plan import Parts, Plan
    from shoal.engine.spark.population_check import Whole
    from shoal.engine.spark.tally import Tallies


@dataclass(frozen=True, eq=False)
class SparkWork:
    """A table that was described.

    Attributes:
        plan: what workers are told.
        rows: all rows as codes, beside what is published as it is.
        n_rows: how many there are.
        wholes: promises about the release as a whole.
        warn: what the user should know.
        progress: what is done now.
    """

    plan: Plan
    rows: Any
    n_rows: int
    wholes: tuple[Whole, ...]
    warn: Callable[[str], None]
    progress: Callable[[int, int, str], None]

    @property
    def taking_part(self) -> Any:
        """The rows that are grouped."""
        if self.plan.request.missing != "suppress":
            return self.rows
        return self.rows.filter(nothing_missing(self.plan))


@dataclass(frozen=True, eq=False)
class SparkGroups:
    """Rows with the group of each, and what is left to do with them."""

    rows: Any
    parts: Parts


@dataclass(frozen=True, eq=False)
class SparkPublished:
    """A published table.

    Attributes:
        frame: the table, in an order of its own.
        rows: the same with groups, keys and people, as they came.
        tallies: what regions told.
        held: what of it lies on the disks of the workers.
    """

    frame: Any
    rows: Any
    tallies: Tallies
    held: tuple[Any, ...]
