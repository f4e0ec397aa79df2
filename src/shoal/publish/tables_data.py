"""What is known about a release of several tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shoal.measure.scores import Scores
    from shoal.publish.release_data import ReleaseData
    from shoal.publish.verify_tables import TablesVerification, TableTerms

OneT = TypeVar("OneT", bound="ReleaseData[Any]")


@dataclass(frozen=True, eq=False)
class TablesData(Generic[OneT]):
    """Several published tables that hang together, verified.

    Attributes:
        releases: the release of each table, by its name, and of each column of sets of codes as
            ``table.column``, with one row for each code.
        verification: what the tables keep together, found again from the published tables alone.
        terms: what that was told of the tables, the one about people first.
        warnings: what the user should know.
    """

    releases: Mapping[str, OneT]
    verification: TablesVerification
    terms: tuple[TableTerms, ...]
    warnings: tuple[str, ...]

    @property
    def k(self) -> int:
        """How many people an attacker is left with."""
        return self.verification.k

    @property
    def knows_events(self) -> int:
        """How many events the attacker knows."""
        return self.verification.knows_events

    @property
    def frames(self) -> dict[str, Any]:
        """The published tables, of the type that came in."""
        return {each.name: self.releases[each.name].frame for each in self.terms}

    @property
    def scores(self) -> dict[str, Scores]:
        """What was lost, by table; rows that are left out count as lost."""
        return {name: each.scores for name, each in self.releases.items()}

    @property
    def left_out(self) -> dict[str, int]:
        """How many rows of each table are not published."""
        return {name: each.n_suppressed for name, each in self.releases.items()}

    @property
    def attacker(self) -> Message:
        """Against whom the release protects, in one sentence."""
        return attacker_of(self.terms[0].name, self.knows_events, self.k)


def attacker_of(main: str, knows_events: int, k: int) -> Message:
    """Return against whom a release of several tables protects, in one sentence."""
    return Message(
        "Whoever knows somebody's quasi-identifiers in table {main!r} and at most {m} of the "
        "person's events finds at least {k:,} people.",
        main=main,
        m=knows_events,
        k=k,
    )
