"""k-map: behind every published row there may be k people of the population."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.messages import Message
from shoal.options import Number
from shoal.privacy.base import COUNTS, POPULATION, parameter
from shoal.privacy.release_wide import PopulationModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition


@dataclass(frozen=True)
class KMap(PopulationModel):
    """Every published row fits at least k people of the population.

    Guarantee: whoever has the population table and takes all people whom the cells of a published
    row cover is left with at least k of them. It is about an attacker who does not know who is in
    the table; against one who does, the k of the run counts. Where the table is a sample of the
    population, a k-map of the run's k holds by itself, so it pays to ask for more, with a smaller
    k for the run.

    Reading for locally recoded tables: a person fits a row if each of its cells covers the
    person's value, by itself. Cells of different groups may overlap, so that a person may fit
    several groups and counts in each. A cell without a value (missing) fits people without one; a
    suppressed cell fits everybody. A value of the population that the table does not have fits an
    interval around it, the node of a given hierarchy above it, and suppressed cells, but no set.

    Monotone under union of groups: cells grow, so they fit more people. Whether the people of the
    table are in the population is not checked; who is not, is not counted.

    Attributes:
        k: how many people; a whole number of at least 2.
        population: a table with the quasi-identifiers of everybody, or its file.
        counts: the column of that table which says how many people a row stands for; each row is
            a person unless given.

    References:
        Sweeney, *Computational Disclosure Control: A Primer on Data Privacy Protection* (PhD
        thesis, MIT 2001), §4.3; and *k-Anonymity: a model for protecting privacy*, 2002.
    """

    name: ClassVar[str] = "k-map"
    title: ClassVar[str] = "every published row fits k people of the population"
    citation: ClassVar[str] = "Sweeney 2001"
    at_least: ClassVar[bool] = True

    k: int = parameter(
        Number(at_least=2, whole=True, called="k of k-map"),
        help="Every published row fits at least K people of the population.",
        flag=("--k-map", "K", "Every published row fits at least K people of --population."),
        start=5,
    )
    _: KW_ONLY
    population: Any = parameter(**POPULATION)
    counts: str | None = parameter(**COUNTS)

    @property
    def label(self) -> str:
        """The model with its number."""
        return Message("k-map with k = {k}", k=self.k)

    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""
        del column
        return Message(
            "Every published row fits at least {k:,} people of the population.", k=self.k
        )

    def broken(self, table: EncodedTable, partition: Partition) -> NDArray[np.bool_]:
        """Return which groups fit fewer than k people."""
        broken: NDArray[np.bool_] = (
            self.bound(table).count(table, partition, enough=self.k) < self.k
        )
        return broken

    def reached(self, table: EncodedTable, partition: Partition) -> float:
        """Return how many people the group fits that fits fewest."""
        return float(self.bound(table).count(table, partition).min())
