"""How frequent sensitive values are in a group beside the whole table: β-likeness, δ-disclosure."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from shoal.messages import Message
from shoal.options import Number, one_of
from shoal.privacy.base import (
    COLUMN,
    TOLERANCE,
    PrivacyModel,
    n_rows,
    parameter,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.privacy.base import KernelRule


@dataclass(frozen=True)
class BetaLikeness(PrivacyModel):
    """Who knows a person's group believes in no sensitive value much more than before.

    Guarantee: with the share q of a value in a group and its share p in the whole published
    table, the relative gain (q - p) / p of every value is at most

    - ``basic``: β;
    - ``enhanced``: the smaller of β and -ln p, which also keeps frequent values from becoming
      certain.

    Rare values are protected as much as frequent ones, unlike with a distance between whole
    distributions. A value that becomes rarer is no gain. Compared with a tolerance of 1e-9.
    Monotone under union of groups: the share of a value in a union lies between its shares in the
    parts. One group of all rows gains nothing, so every β is possible.

    Attributes:
        beta: largest relative gain; above 0.
        kind: ``basic`` or ``enhanced``.
        column: the sensitive column; all of them if not given.

    References:
        Cao and Karras, *Publishing Microdata with a Robust Privacy Guarantee*, definitions 2 and 3.
    """

    name: ClassVar[str] = "beta-likeness"
    title: ClassVar[str] = "a limited relative gain for every sensitive value"
    citation: ClassVar[str] = "Cao & Karras 2012"

    beta: float = parameter(
        Number(above=0),
        help="No sensitive value gains more than BETA times its share in a group.",
        flag=("--beta-likeness", "BETA"),
        start=2,
    )
    _: KW_ONLY
    kind: Literal["basic", "enhanced"] = parameter(
        one_of("basic", "enhanced"),
        default="enhanced",
        help="Which form: basic or enhanced.",
        flag=("--beta-kind", "KIND"),
    )
    column: str | None = parameter(**COLUMN)

    @property
    def label(self) -> str:
        """The model with its numbers."""
        return Message("{kind} beta-likeness with beta = {beta:g}", kind=self.kind, beta=self.beta)

    def kernel_rule(self) -> KernelRule:
        """Return the rule that compiled searches keep: one of two."""
        enhanced = self.kind == "enhanced"
        return "BETA_ENHANCED" if enhanced else "BETA", float(self.beta), 0.0

    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""
        more = Message(" (less for frequent ones)") if self.kind == "enhanced" else ""
        return Message(
            "In every group, each sensitive value{of} is at most {beta:g} times as frequent "
            "as in the whole table{more}.",
            of=self._of(column),
            beta=1 + self.beta,
            more=more,
        )

    def per_group(
        self, histograms: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the largest relative gain of any value in each group.

        Infinite if a gain is above what the enhanced form allows whatever β is.
        """
        there = whole > 0
        share = whole[there] / whole.sum()
        gains = histograms[:, there] / n_rows(histograms)[:, np.newaxis] / share - 1.0
        if self.kind == "enhanced":
            gains = np.where(gains > -np.log(share) + TOLERANCE, np.inf, gains)
        largest: NDArray[np.float64] = np.maximum(gains.max(axis=1), 0.0)
        return largest


@dataclass(frozen=True)
class DeltaDisclosure(PrivacyModel):
    """Being in a group makes no sensitive value much more and none much less likely.

    Guarantee: with the share q of a value in a group and its share p in the whole published
    table, the size of ln(q / p) is below δ for every value of the table. So every value occurs in
    every group, which is a strong demand: rare values force large groups. Strict, with a tolerance
    of 1e-9 taken off: a tie does not keep the promise. Monotone under union of groups: the share
    of a value in a union lies between its shares in the parts. One group of all rows reaches 0,
    so every δ is possible.

    Attributes:
        delta: the bound; above 0. 0.7 is about twice or half as likely, 1.1 three times.
        column: the sensitive column; all of them if not given.

    References:
        Brickell and Shmatikov, *The Cost of Privacy: Destruction of Data-Mining Utility in
        Anonymized Data Publishing*, definition 1.
    """

    name: ClassVar[str] = "delta-disclosure"
    title: ClassVar[str] = "every sensitive value about as frequent in a group as in the table"
    citation: ClassVar[str] = "Brickell & Shmatikov 2008"

    delta: float = parameter(
        Number(above=0),
        help="Every sensitive value is about as frequent in a group as in the table; DELTA "
        "bounds the logarithm.",
        flag=("--delta-disclosure", "DELTA"),
    )
    _: KW_ONLY
    column: str | None = parameter(**COLUMN)

    @property
    def label(self) -> str:
        """The model with its numbers."""
        return Message("delta-disclosure with delta = {delta:g}", delta=self.delta)

    def kernel_rule(self) -> KernelRule:
        """Return the rule that compiled searches keep."""
        return "DELTA", float(self.delta), 0.0

    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""
        times = float(np.exp(self.delta))
        return Message(
            "In every group, each sensitive value{of} occurs, less than {times:.3g} times as "
            "often as in the whole table and more than one part in {times:.3g} of that.",
            of=self._of(column),
            times=times,
        )

    def per_group(
        self, histograms: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the largest size of ln(q / p) in each group; infinite if it lacks a value."""
        there = whole > 0
        shares = histograms[:, there] / n_rows(histograms)[:, np.newaxis]
        with np.errstate(divide="ignore"):
            ratios = np.abs(np.log(shares / (whole[there] / whole.sum())))
        furthest: NDArray[np.float64] = ratios.max(axis=1)
        return furthest

    def _holds(self, histograms: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self.per_group(histograms, whole) < self.delta - TOLERANCE
