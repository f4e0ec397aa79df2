"""Checks promises against attackers who know some of the quasi-identifiers, by counting.

Whoever knows the values of some columns of a person finds the published rows whose cells fit them.
The promise is that each of these rows looks, in these columns, like at least k rows: the projection
of the published table on each combination of columns that may be known is k-anonymous, and keeps
the promises about sensitive values. That more rows may fit, whose cells are wider, is not counted:
somebody who weighs them would think of the narrow ones first. Nothing here is shared with the
search (`shoal.search.limited`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from shoal.errors import OptionError
from shoal.messages import Message, plural

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Limited:
    """What an attacker may know of the quasi-identifiers.

    Attributes:
        knows: at most so many of them, whichever these are; None if only some are meant.
        chosen: combinations that may be known.
    """

    knows: int | None = None
    chosen: tuple[tuple[str, ...], ...] = ()

    def __bool__(self) -> bool:
        return self.knows is not None or bool(self.chosen)

    def known(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the combinations to be counted.

        Raises:
            OptionError: a chosen one has a column that is no quasi-identifier.
        """
        found = dict.fromkeys(self.chosen)
        for name in (each for one in found for each in one):
            if name not in names:
                raise OptionError(
                    "A combination names column {name!r}, which is no quasi-identifier.", name=name
                )
        if self.knows is not None:
            found |= dict.fromkeys(combinations(names, min(self.knows, len(names))))
        return list(found)

    def who(self, n_columns: int) -> Message:
        """Return the attacker in words."""
        chosen = plural(
            "a chosen combination of columns",
            "one of {n:,} chosen combinations of columns",
            len(self.chosen),
        )
        if self.knows is None:
            return Message("somebody who knows {chosen}", chosen=chosen)
        who = plural(
            "somebody who knows at most {knows:,} of this {n:,} column",
            "somebody who knows at most {knows:,} of these {n:,} columns",
            n_columns,
            knows=self.knows,
        )
        if not self.chosen:
            return who
        return Message("{who}, or {chosen}", who=who, chosen=chosen)


def limited_of(knows: int | None, chosen: Iterable[Iterable[str]] = ()) -> Limited:
    """Return what an attacker may know, as it is said in options."""
    return Limited(knows, tuple(tuple(dict.fromkeys(each)) for each in chosen))
