"""A limit on the risk of being found: on average, at most, or by being unique in the population."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from shoal.errors import OptionError
from shoal.messages import Message
from shoal.options import Number, one_of, or_none
from shoal.privacy.base import TOLERANCE, parameter, people_in_groups
from shoal.privacy.release_wide import ReleaseModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table.encode import EncodedTable
    from shoal.table.partition import Partition


Kind = Literal["average", "highest", "uniques"]
Estimator = Literal["auto", "zayatz", "pitman", "snb"]


@dataclass(frozen=True)
class PopulationRisk(ReleaseModel):
    """The risk that people are found is at most a limit.

    Guarantee, by ``kind``, where f is the size of a row's group (in people) and π the sampling
    fraction, the share of the population that is published (1 unless said):

    - ``average``: the mean of π / f over all published rows, which is π · groups / rows, is at most
      the limit: the share of right links of somebody who links everybody (the marketer);
    - ``highest``: π / f is at most the limit for every row. A group of f rows stands for about
      f / π people;
    - ``uniques``: the estimated share of published rows whose people are unique in the population
      is at most the limit. Without a group of one row nobody is unique, in the table or in the
      population, so every k of at least 2 keeps this promise with an estimate of 0. The estimators
      speak where a table has groups of one row, in verification: `shoal.publish.uniques` has them
      and says where they do not converge.

    ``average`` is no promise about single groups: each may break what all keep. It limits how many
    groups there are, so ``auto`` and refinement charge each a price that is found on the way
    (`shoal.engine.refine_across_blocks.polish_to_limit`). Merging two groups never raises it: after
    other algorithms as many of the smallest groups as are too many are merged with their cheapest
    partners.

    Attributes:
        limit: the largest risk; above 0 and at most 1.
        kind: which of the three.
        sampling_fraction: π; above 0 and at most 1.
        population_size: how many people the population has, instead of π.
        estimator: for ``uniques``: ``zayatz``, ``pitman``, ``snb``, or ``auto``.

    References:
        El Emam and Dankar, *Protecting Privacy Using k-Anonymity* (JAMIA 2008), for the risks.
        Zayatz 1991; Hoshino 2001 (Pitman); Chen and Keller-McNulty 1998 (SNB); Dankar et al. 2012
        for the choice between them.
    """

    name: ClassVar[str] = "population-risk"
    title: ClassVar[str] = "a limit on the average risk, the highest risk or uniqueness"
    citation: ClassVar[str] = "El Emam & Dankar 2008; Zayatz 1991; Hoshino 2001"
    monotone: ClassVar[bool] = False

    limit: float = parameter(
        Number(above=0, at_most=1),
        help="The largest risk.",
        kinds={
            "average": (
                "--average-risk",
                "SHARE",
                "Whoever links every row with a person is right in at most this share.",
            ),
            "highest": (
                "--highest-risk",
                "SHARE",
                "Nobody is found with a higher chance than this.",
            ),
            "uniques": (
                "--population-uniques",
                "SHARE",
                "At most this share of the rows is estimated to be unique in the population.",
            ),
        },
        start=0.1,
    )
    _: KW_ONLY
    kind: Kind = parameter(
        one_of("average", "highest", "uniques"),
        default="average",
        help="Which risk: average, highest or uniques.",
    )
    sampling_fraction: float | None = parameter(
        or_none(Number(above=0, at_most=1)),
        default=None,
        help="The share of the population that is in the table.",
    )
    population_size: int | None = parameter(
        or_none(Number(at_least=1, whole=True)),
        default=None,
        help="How many people the population has.",
        flag=("--population-size", "N", "How many people the population has, for the three risks."),
    )
    estimator: Estimator = parameter(
        one_of("auto", "zayatz", "pitman", "snb"),
        default="auto",
        help="How uniques are estimated: auto, zayatz, pitman or snb.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.population_size is not None and self.sampling_fraction is not None:
            raise OptionError(
                "sampling_fraction and population_size say the same thing; keep one of them."
            )
        unknown = self.population_size is None and self.sampling_fraction is None
        if self.kind == "uniques" and unknown:
            raise OptionError(
                "kind='uniques' needs to know how large the population is; give "
                "population_size=... or sampling_fraction=... (--population-size on the command "
                "line)."
            )
        if self.estimator != "auto" and self.kind != "uniques":
            raise OptionError(
                "estimator belongs to kind='uniques', but kind={kind!r} was given; leave it out.",
                kind=self.kind,
            )

    @property
    def label(self) -> str:
        """The model with its number."""
        what = {
            "average": Message("an average risk"),
            "highest": Message("a highest risk"),
        }.get(self.kind, Message("population uniqueness"))
        return Message("{what} of at most {limit:g}", what=what, limit=self.limit)

    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""
        del column
        limit = 100 * self.limit
        if self.kind == "average":
            return Message(
                "Whoever links every row with a person is right in at most {limit:.4g} % of the "
                "rows.",
                limit=limit,
            )
        if self.kind == "highest":
            return Message("Nobody is found with a chance of more than {limit:.4g} %.", limit=limit)
        return Message(
            "At most {limit:.4g} % of the rows are estimated to belong to people who are unique in "
            "the population.",
            limit=limit,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the table of a job file for this model."""
        table = super().to_dict()
        if self.kind != "uniques":
            del table["estimator"]
        return table

    def fraction(self, n_people: int) -> float:
        """Return the share of the population that is published.

        Args:
            n_people: the people of every group, added up. Who has rows in several groups counts
                several times: the published table does not tell, and the share errs upwards.
        """
        if self.population_size is not None:
            return min(n_people / self.population_size, 1.0)
        return 1.0 if self.sampling_fraction is None else self.sampling_fraction

    def broken(self, table: EncodedTable, partition: Partition) -> NDArray[np.bool_]:
        """Return which groups are to be merged: those that are too small, the smallest first."""
        rows, people = partition.sizes, people_in_groups(table, partition)
        fraction = self.fraction(int(people.sum()))
        if self.kind == "uniques":
            return np.asarray(people == 1)
        if self.kind == "highest":
            return np.asarray(people < fraction / self.limit * (1 - TOLERANCE))
        bad = np.zeros(partition.n_groups, np.bool_)
        allowed = self.limit * float(rows.sum()) / fraction
        surplus = float((rows / people).sum()) - allowed * (1 + TOLERANCE)
        if surplus > 0:
            bad[np.argsort(people, kind="stable")[: math.ceil(surplus)]] = True
        return bad

    def too_many(self, table: EncodedTable, partition: Partition) -> float:
        """Return how many times more groups there are than an average risk allows."""
        if self.kind != "average":
            return 0.0
        return self.reached(table, partition) / (self.limit * (1 + TOLERANCE))

    def reached(self, table: EncodedTable, partition: Partition) -> float:
        """Return the risk of these groups."""
        rows, people = partition.sizes, people_in_groups(table, partition)
        fraction = self.fraction(int(people.sum()))
        if self.kind == "uniques":
            return float((people == 1).any())
        if self.kind == "highest":
            return fraction / float(people.min())
        return fraction * float((rows / people).sum()) / float(rows.sum())
