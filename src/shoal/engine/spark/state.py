"""What stages of a run on Spark hand to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.engine.spark.rows import nothing_missing

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from shoal.engine.spark.finish import Named
    from shoal.engine.spark.plan import Parts, Plan
    from shoal.engine.spark.population_check import AboutAll, Whole
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
        first_rows: a few rows on the driver, to look for what no promise covers.
        about_all: promises about the release as a whole, as verification takes them.
    """

    plan: Plan
    rows: Any
    n_rows: int
    wholes: tuple[Whole, ...]
    warn: Callable[[str], None]
    progress: Callable[[int, int, str], None]
    first_rows: pl.DataFrame
    about_all: AboutAll | None

    @property
    def taking_part(self) -> Any:
        """The rows that are grouped."""
        if self.plan.request.missing != "suppress":
            return self.rows
        return self.rows.filter(nothing_missing(self.plan))


@dataclass(frozen=True, eq=False)
class ClusteredRows:
    """Rows with the group that their block gave them, and where groups meet others."""

    rows: Any
    parts: Parts


@dataclass(frozen=True, eq=False)
class SparkGroups:
    """Rows with the group of each and, since all of its rows were there, its published cells.

    Attributes:
        rows: published cells, groups, keys and people, of those that are left out, too.
        keys: columns by which their holder finds rows again.
        tallies: what regions told.
        held: what of it lies on the disks of the workers.
    """

    rows: Any
    keys: tuple[str, ...]
    tallies: Tallies
    held: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class SparkPublished:
    """A published table.

    Attributes:
        frame: the table, in an order of its own.
        people: the same rows as they came, with a column that tells people apart where they are
            counted.
    """

    frame: Any
    people: Named
