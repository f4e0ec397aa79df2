"""(k,e)-anonymity: the numbers of a group are different and lie far apart."""

from __future__ import annotations

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal.errors import OptionError
from shoal.messages import Message
from shoal.options import Number
from shoal.privacy.base import (
    COLUMN,
    TOLERANCE,
    PrivacyModel,
    parameter,
    round_down,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.privacy.base import KernelRule, Reading
    from shoal.table.sensitive import Sensitive


@dataclass(frozen=True)
class KEAnonymity(PrivacyModel):
    """In every group the sensitive numbers are k different ones and span at least e.

    Guarantee: whoever knows a person's group cannot say the person's number more precisely than
    by an interval of length e, and is left with at least k different numbers. ℓ-diversity alone
    allows a group whose salaries are 50,000, 50,001 and 50,002. A missing value is no number: it
    neither counts nor widens. e is compared with a relative tolerance of 1e-9. Monotone under
    union of groups: a union has the numbers of both parts.

    Only the two ends are promised: between them most people may still have nearly one number.
    t-closeness with ``distance="ordered"`` looks at the whole distribution.

    Attributes:
        e: smallest range of the numbers of a group, in their own unit; above 0.
        k: smallest number of different numbers in a group, at least 2; not the k of the run,
            which counts people.
        column: the sensitive column, of numbers; all of them if not given.

    References:
        Zhang, Koudas, Srivastava and Yu, *Aggregate Query Answering on Anonymized Tables*
        (ICDE 2007), definition 2.
    """

    name: ClassVar[str] = "ke-anonymity"
    title: ClassVar[str] = "several sensitive numbers, far apart, in every group"
    citation: ClassVar[str] = "Zhang, Koudas, Srivastava & Yu 2007"
    at_least: ClassVar[bool] = True
    _numbers: ClassVar[NDArray[np.float64] | None] = None

    e: float = parameter(
        Number(above=0),
        help="In every group, the largest sensitive number is at least E above the smallest.",
        flag=("--ke-range", "E"),
    )
    _: KW_ONLY
    k: int = parameter(
        Number(at_least=2, whole=True, called="k of ke-anonymity"),
        default=2,
        help="How many different numbers a group has at least.",
        flag=(
            "--ke-values",
            "K",
            "How many different numbers a group has at least, with --ke-range; 2 unless given.",
        ),
    )
    column: str | None = parameter(**COLUMN)

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Cleaned: merging values leaves fewer different ones, and the ends where they are."""
        return ("cleaned",)

    @property
    def label(self) -> str:
        """The model with its numbers."""
        return Message("(k,e)-anonymity with k = {k} and e = {e:g}", k=self.k, e=self.e)

    def kernel_rule(self) -> KernelRule:
        """Return the rule that compiled searches keep; k and the numbers are its details."""
        return "RANGE", float(self.e), 0.0

    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""
        return Message(
            "In every group, there are at least {k} different sensitive numbers{of}, and the "
            "largest is at least {e:g} above the smallest.",
            k=self.k,
            of=self._of(column),
            e=self.e,
        )

    def on(self, sensitive: Sensitive) -> KEAnonymity:
        """Return the model with the numbers of this column."""
        bound = copy(self)
        object.__setattr__(bound, "_numbers", sensitive.numbers)
        return bound

    def details(self) -> NDArray[np.float64] | None:
        """Return k and the number of each value."""
        return None if self._numbers is None else np.append(float(self.k), self._numbers)

    def per_group(
        self, histograms: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the range of each group; 0 if it has fewer than k different numbers."""
        del whole
        numbers = np.arange(histograms.shape[1], dtype=np.float64)
        if self._numbers is not None:
            numbers = self._numbers
        there = (histograms > 0) & ~np.isnan(numbers)
        low = np.where(there, numbers, np.inf).min(axis=1, initial=np.inf)
        high = np.where(there, numbers, -np.inf).max(axis=1, initial=-np.inf)
        enough = there.sum(axis=1) >= self.k
        return np.where(enough, high - np.where(enough, low, 0.0), 0.0)

    def _holds(self, histograms: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self.per_group(histograms, whole) >= self.e * (1 - TOLERANCE)

    def possible(self, whole: NDArray[np.int64]) -> str:
        """Return the e that one group of all rows reaches, as part of a sentence."""
        reached = float(self.per_group(whole[np.newaxis], whole)[0])
        if reached == 0.0:
            return Message("it has fewer than {k} different numbers", k=self.k)
        return Message(
            "its numbers span {round_down}, so e can be at most that",
            round_down=round_down(reached),
        )

    def check_column(self, sensitive: Sensitive) -> None:
        """Raise an OptionError if the column does not hold numbers."""
        if sensitive.numbers is None:
            raise OptionError(
                "ke-anonymity needs numbers, and column {name!r} does not hold them; name "
                "another column with column=... (--privacy-column on the command line).",
                name=sensitive.name,
            )
