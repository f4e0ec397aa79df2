"""t-closeness: every group's sensitive values are distributed as in the whole table."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from shoal.errors import OptionError
from shoal.privacy.base import PrivacyModel, as_number, check_choice, check_column_name, n_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.privacy.base import Reading
    from shoal.table.encode import Sensitive

__all__ = ["TCloseness"]


@dataclass(frozen=True)
class TCloseness(PrivacyModel):
    """Being in a group tells little more about a sensitive value than being in the table.

    Guarantee: the earth mover's distance between the distribution p of a group and the
    distribution q of the whole published table is at most t, where moving from value i to
    value j of m costs

    - ``equal``: 1, so the distance is ½ Σ |p_i − q_i|;
    - ``ordered``: |i − j| / (m − 1), so it is 1/(m−1) · Σ_i |Σ_{j ≤ i} (p_j − q_j)|.

    Only values that occur in the published table count towards m; a missing value is one of
    them, ranked last. Compared with a tolerance of 1e-9. Monotone under union of groups, since
    both distances are convex and the whole stays the same. One group of all rows has distance
    0, so every t is possible.

    Attributes:
        t: largest distance; at least 0 and below 1.
        distance: which of the two; ``ordered`` needs numbers, dates or ordered categories.
        column: the sensitive column; all of them if not given.

    References:
        Li, Li and Venkatasubramanian, *t-Closeness: Privacy Beyond k-Anonymity and
        l-Diversity*, §4.
    """

    name: ClassVar[str] = "t-closeness"
    title: ClassVar[str] = "sensitive values in every group distributed as in the whole table"
    citation: ClassVar[str] = "Li, Li & Venkatasubramanian 2007"

    t: float
    _: KW_ONLY
    distance: Literal["equal", "ordered"] = "equal"
    column: str | None = None

    def __post_init__(self) -> None:
        check_choice("distance", self.distance, ("equal", "ordered"))
        number = as_number(self.t)
        if number is None or not 0 <= number < 1:
            raise OptionError(
                f"t must be a number of at least 0 and below 1, but {self.t!r} was given."
            )
        object.__setattr__(self, "t", float(number))
        check_column_name(self.column)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """As written for ``equal``: |Σ (p − q)| over merged values is at most Σ |p − q|.

        For ``ordered`` merging takes away steps, and the distance is divided by their number:
        it may rise or fall, so both readings count.
        """
        return ("written",) if self.distance == "equal" else ("written", "cleaned")

    @property
    def promised(self) -> float:
        """The t that is promised."""
        return self.t

    @property
    def label(self) -> str:
        """The model with its numbers."""
        return f"t-closeness with t = {self.t:g} ({self.distance} distance)"

    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""
        column = column or self.column
        of = "" if column is None else f" of {column!r}"
        by = "" if self.distance == "equal" else " in the order of the values"
        return (
            f"In every group, the sensitive values{of} are distributed as in the whole table, "
            f"up to a share of {self.t:g} that would have to be moved{by}."
        )

    def per_group(
        self, histograms: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the distance of each group from the whole."""
        present = whole > 0
        q = whole[present] / whole.sum()
        difference = histograms[:, present] / n_rows(histograms)[:, np.newaxis] - q
        if self.distance == "equal":
            steps = 2
        else:
            difference = np.cumsum(difference, axis=1)[:, :-1]
            steps = max(q.shape[0] - 1, 1)
        moved: NDArray[np.float64] = np.abs(difference).sum(axis=1)
        return moved / steps

    def check_column(self, sensitive: Sensitive) -> None:
        """Raise an OptionError if the distance needs an order that the column does not have."""
        if self.distance == "ordered" and not sensitive.ordered:
            raise OptionError(
                "t-closeness with distance='ordered' needs numbers, dates or ordered categories, "
                f"and column {sensitive.name!r} holds none of them; use distance='equal', or name "
                "another column with column=..."
            )
