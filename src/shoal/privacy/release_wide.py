"""Promises about a release as a whole, not about the sensitive values of each group.

They look at what groups publish and how large they are. The search does not ask them while it
moves rows: it keeps k and the promises about sensitive values, and at the end groups are merged
until these hold as well (`shoal.search.enforce`).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.errors import OptionError, PromiseError
from shoal.privacy.base import PrivacyModel
from shoal.table.frames import to_polars
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.privacy.base import About
    from shoal.privacy.population import Population
    from shoal.table.encode import EncodedTable
    from shoal.table.sensitive import Sensitive


class ReleaseModel(PrivacyModel):
    """A promise about all groups together, judged without a sensitive column."""

    about: ClassVar[About] = "whole"
    column = None

    def columns(self, table: EncodedTable) -> tuple[Sensitive, ...]:
        """Return no column: the promise is about none."""
        del table
        return ()

    def per_group(
        self, histograms: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return nothing of interest: no histogram tells what this promise is about."""
        del whole
        return np.full(len(histograms), self.promised)

    def holds(self, histograms: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return true for all: sensitive values do not break this promise."""
        del whole
        return np.ones(len(histograms), np.bool_)

    @abstractmethod
    def reached(self, table: EncodedTable, partition: Partition) -> float:
        """Return the number that the groups reach."""

    def check_release(self, table: EncodedTable) -> None:
        """Raise if not even one group of all rows keeps the promise: merging ends there.

        Raises:
            PromiseError: says what one group reaches.
        """
        together = Partition(np.zeros(table.n_rows, np.int32), 1)
        if self.broken(table, together).any():
            raise PromiseError(
                "The promise of {label} cannot be kept: one group of all rows reaches "
                "{reached:.4g}.",
                label=self.label,
                reached=self.reached(table, together),
            )


class PopulationModel(ReleaseModel):
    """A promise about whom of a population the published cells cover."""

    about: ClassVar[About] = "people"

    population: Any
    counts: str | None
    _bound: ClassVar[tuple[tuple[int, ...], Population] | None] = None

    def people(self) -> Any:
        """Return the population table.

        Raises:
            OptionError: there is none, or it is still a file.
        """
        if self.population is None or isinstance(self.population, str):
            raise OptionError(
                "The privacy model {name!r} needs a table of the population; give it with "
                "population=... (--population FILE on the command line).",
                name=self.name,
            )
        return to_polars(self.population)

    def bound(self, table: EncodedTable) -> Population:
        """Return the population in the codes of a table; kept for as long as codes are the same."""
        from shoal.privacy.population import Population

        key = tuple(id(attribute.values) for attribute in table.attributes)
        if self._bound is None or self._bound[0] != key:
            found = Population.of(self.people(), self.counts, table)
            object.__setattr__(self, "_bound", (key, found))
        assert self._bound is not None
        return self._bound[1]
