"""(α,k)-anonymity: no sensitive value dominates a group."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal.messages import Message
from shoal.options import Number
from shoal.privacy.base import (
    COLUMN,
    TOLERANCE,
    PrivacyModel,
    most_frequent,
    n_rows,
    parameter,
    round_up,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.privacy.base import KernelRule, Reading


@dataclass(frozen=True)
class AlphaK(PrivacyModel):
    """In every group, no sensitive value makes up more than a share α of the rows.

    Guarantee: together with k, (α,k)-anonymity in its simple form, for all values of the column
    alike: who knows the group guesses a sensitive value right with at most α. The k is the
    run's own. Compared with a tolerance of 1e-9. Monotone under union of groups.

    Attributes:
        alpha: largest share; above 0 and below 1.
        column: the sensitive column; all of them if not given.

    References:
        Wong, Li, Fu and Wang, *(α, k)-Anonymity: An Enhanced k-Anonymity Model for
        Privacy-Preserving Data Publishing*, §2.
    """

    name: ClassVar[str] = "alpha-k"
    title: ClassVar[str] = "a limited share of each sensitive value in every group"
    citation: ClassVar[str] = "Wong, Li, Fu & Wang 2006"
    order_free: ClassVar[bool] = True

    alpha: float = parameter(
        Number(above=0, below=1),
        help="No sensitive value has a larger share of a group.",
        flag=("--alpha", "ALPHA"),
        start=0.5,
    )
    _: KW_ONLY
    column: str | None = parameter(**COLUMN)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Cleaned: a value that others are merged into has at least the rows of each of them."""
        return ("cleaned",)

    @property
    def label(self) -> str:
        """The model with its numbers."""
        return Message("(alpha,k)-anonymity with alpha = {alpha:g}", alpha=self.alpha)

    def kernel_rule(self) -> KernelRule:
        """Return the rule that compiled searches keep."""
        return "ALPHA", self.alpha, 0.0

    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""
        return Message(
            "In every group, no sensitive value{of} makes up more than {share:g} % of the {who}.",
            of=self._of(column),
            share=100 * self.alpha,
            who=Message("rows"),
        )

    def per_group(
        self, histograms: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the share of the most frequent value of each group."""
        del whole
        return most_frequent(histograms) / n_rows(histograms)

    def _holds(self, histograms: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.bool_]:
        del whole
        limit = n_rows(histograms) * (self.alpha * (1 + TOLERANCE))
        return most_frequent(histograms) <= limit

    def possible(self, whole: NDArray[np.int64]) -> str:
        """Return the α that one group of all rows reaches, as part of a sentence."""
        share = float(self.per_group(whole[np.newaxis], whole)[0])
        return Message(
            "its most frequent value makes up {share:.4g} % of the rows, so alpha must be at "
            "least {round_up}",
            share=100 * share,
            round_up=round_up(share),
        )
