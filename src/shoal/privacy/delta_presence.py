"""δ-presence: the release does not tell who of the population is in the table."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shoal.errors import OptionError
from shoal.messages import Message
from shoal.options import Number
from shoal.privacy.base import (
    COUNTS,
    POPULATION,
    TOLERANCE,
    parameter,
)
from shoal.privacy.release_wide import PopulationModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition


@dataclass(frozen=True)
class DeltaPresence(PopulationModel):
    """How likely anybody of the population is in the table lies between two bounds.

    Guarantee: with n_G people in a group G, and N_G people of the population whom its cells cover,
    the presence of a person, Σ n_G / N_G over the groups that cover the person, is at least
    ``delta_min`` and at most ``delta_max``, for everybody in the population. Compared with a
    tolerance of 1e-9.

    Reading for locally recoded tables: in the definition of Nergiz et al. classes do not overlap,
    and the presence of everybody in a class is n_G / N_G. Here cells of groups may overlap. Each
    group is then a draw of n_G people, each equally likely, from the N_G that it covers, and a
    person is in at most one group, so that the chances add up. The sum over everybody is the
    number of published rows, as it should be. Without overlaps it is their definition. Somebody
    whom no cell covers is surely not in the table: the presence is 0, which a ``delta_min`` above 0
    forbids. Rows that are left out are not counted as present.

    **Not monotone**: a union of groups may cover people whom it did not cover, who are in other
    groups, too. So nothing follows from groups that hold, and it is enforced differently: all
    groups that cover somebody whose presence is too high (or, where one is too low, the smallest
    group) are merged with their cheapest partner, everything is judged anew, and so on. That ends
    with one group of all rows, of which presence is told before the search begins; if that does
    not hold, no release is made.

    Attributes:
        delta_max: the highest presence; above 0 and at most 1.
        delta_min: the lowest; 0 unless given.
        population: a table with the quasi-identifiers of everybody, or its file.
        counts: the column of that table which says how many people a row stands for; each row is
            a person unless given.

    References:
        Nergiz, Atzori and Clifton, *Hiding the Presence of Individuals from Shared Databases*
        (SIGMOD 2007), definition 3.
    """

    name: ClassVar[str] = "delta-presence"
    title: ClassVar[str] = "who of the population is in the table stays open"
    citation: ClassVar[str] = "Nergiz, Atzori & Clifton 2007"
    monotone: ClassVar[bool] = False

    delta_max: float = parameter(
        Number(above=0, at_most=1),
        help="How likely a person of the population is in the table at most.",
        flag=(
            "--presence-max",
            "DELTA",
            "The chance that a person of --population is in the table is at most DELTA.",
        ),
        start=0.5,
    )
    _: KW_ONLY
    delta_min: float = parameter(
        Number(at_least=0, at_most=1),
        default=0.0,
        help="How likely a person of the population is in the table at least.",
        flag=(
            "--presence-min",
            "DELTA",
            "And at least DELTA, with --presence-max; 0 unless given.",
        ),
    )
    population: Any = parameter(**POPULATION)
    counts: str | None = parameter(**COUNTS)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta_min > self.delta_max:
            raise OptionError(
                "delta_min must be a number of at least 0 and at most delta_max, but "
                "{delta_min!r} was given.",
                delta_min=self.delta_min,
            )

    @property
    def label(self) -> str:
        """The model with its numbers."""
        return Message(
            "delta-presence between {low:g} and {high:g}", low=self.delta_min, high=self.delta_max
        )

    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""
        del column
        if not self.delta_min:
            return Message(
                "The chance that a person of the population is in the table is at most "
                "{most:.4g}, for everybody.",
                most=self.delta_max,
            )
        return Message(
            "The chance that a person of the population is in the table is at least {least:.4g} "
            "and at most {most:.4g}, for everybody.",
            least=self.delta_min,
            most=self.delta_max,
        )

    def broken(self, table: EncodedTable, partition: Partition) -> NDArray[np.bool_]:
        """Return which groups are to be merged: see above."""
        presence, worst = self.bound(table).presence(table, partition)
        broken = worst > self.delta_max + TOLERANCE
        if not broken.any() and presence.min(initial=1.0) < self.delta_min - TOLERANCE:
            broken[int(np.argmin(partition.sizes))] = True
        return broken

    def reached(self, table: EncodedTable, partition: Partition) -> float:
        """Return the presence that is furthest off: the highest, or the lowest if that is so."""
        presence, worst = self.bound(table).presence(table, partition)
        highest = max(float(presence.max(initial=0.0)), float(worst.max(initial=0.0)))
        lowest = float(presence.min(initial=1.0))
        too_low = lowest < self.delta_min - TOLERANCE
        return lowest if too_low and highest <= self.delta_max + TOLERANCE else highest
