"""ℓ-diversity in four kinds: no group gives its sensitive values away."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from shoal.errors import OptionError
from shoal.messages import Message
from shoal.options import Number, one_of, or_none
from shoal.privacy.base import (
    COLUMN,
    TOLERANCE,
    PrivacyModel,
    most_frequent,
    n_rows,
    parameter,
    round_down,
    round_up,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.privacy.base import KernelRule, Reading


Kind = Literal["frequency", "distinct", "entropy", "recursive"]
_MOST_ROWS = 1 << 31  # of a table; a larger factor changes nothing and could overflow


@dataclass(frozen=True)
class LDiversity(PrivacyModel):
    """Every group has diverse sensitive values, so that being in it does not reveal one.

    Guarantee, with n rows in a group, r_1 ≥ … ≥ r_m of them per value, and p_i = r_i / n:

    - ``frequency``: p_1 ≤ 1/ℓ; who knows the group guesses right with at most 1/ℓ.
    - ``distinct``: m ≥ ℓ different values.
    - ``entropy``: −Σ p_i log p_i ≥ log ℓ; as diverse as ℓ equally frequent values.
    - ``recursive``, (c,ℓ): r_1 < c · (r_ℓ + … + r_m); after ruling out ℓ−2 values the most
      frequent one still does not dominate.

    A missing sensitive value counts as a value. All kinds are monotone under union of groups.

    Attributes:
        l: how diverse; a number above 1, whole for ``distinct`` and ``recursive``.
        kind: which of the four.
        c: the constant of ``recursive``, above 0.
        column: the sensitive column; all of them if not given.

    References:
        Machanavajjhala et al., *l-Diversity: Privacy Beyond k-Anonymity* (distinct, entropy,
        recursive); Goldberger and Tassa, *Efficient Anonymizations with Enhanced Utility*, §7
        (frequency, after Wong et al. and Xiao and Tao).
    """

    name: ClassVar[str] = "l-diversity"
    title: ClassVar[str] = "diverse sensitive values in every group"
    citation: ClassVar[str] = "Machanavajjhala et al. 2007; Goldberger & Tassa §7 (frequency)"
    at_least: ClassVar[bool] = True
    order_free: ClassVar[bool] = True

    l: float = parameter(
        Number(above=1),
        help="How many sensitive values every group holds at least.",
        flag=(
            "--l-diversity",
            "L",
            "Every group holds L sensitive values; --l-kind says how they count.",
        ),
        start=2,
    )
    _: KW_ONLY
    kind: Kind = parameter(
        one_of("frequency", "distinct", "entropy", "recursive"),
        default="frequency",
        help="How they count: frequency, distinct, entropy or recursive.",
        flag=("--l-kind", "KIND"),
        start="distinct",
    )
    c: float | None = parameter(
        or_none(Number(above=0)),
        default=None,
        help="The c of recursive (c,l)-diversity.",
        flag=("--l-c", "C"),
    )
    column: str | None = parameter(**COLUMN)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind in ("distinct", "recursive") and not isinstance(self.l, int):
            raise OptionError(
                "l must be a whole number for kind={kind!r}, but {l!r} was given.",
                kind=self.kind,
                l=self.l,
            )
        if self.kind == "recursive" and self.c is None:
            raise OptionError(
                "c must be a number above 0 for kind='recursive', but none was given."
            )
        if self.kind != "recursive" and self.c is not None:
            raise OptionError(
                "c belongs to kind='recursive', but kind={kind!r} was given; leave c out.",
                kind=self.kind,
            )

    @property
    def readings(self) -> tuple[Reading, ...]:
        """Cleaned: merging values never makes a group more diverse, of whichever kind.

        - frequency: the merged value has at least the rows of each part, so p_1 cannot fall.
        - distinct: merging cannot raise the number of different values.
        - entropy: with p = a + b, −p log p ≤ −a log a − b log b, because log p is at least log a
          and log b.
        - recursive: r_1 cannot fall, and neither can the sum of the ℓ − 1 largest counts, since
          the values that the largest ones are merged into are ℓ − 1 at most. So the rest,
          r_ℓ + … + r_m, cannot rise.
        """
        return ("cleaned",)

    @property
    def label(self) -> str:
        """The model with its numbers."""
        c = "" if self.c is None else Message(" and c = {c:g}", c=self.c)
        return Message("{kind} l-diversity with l = {l:g}{c}", kind=self.kind, l=self.l, c=c)

    def kernel_rule(self) -> KernelRule:
        """Return the rule that compiled searches keep: one of four."""
        return self.kind.upper(), float(self.l), float(self.c or 0.0)

    def describe(self, column: str | None = None) -> str:
        """Return the promise as a sentence in plain words."""
        if self.kind == "frequency":
            return Message(
                "In every group, no sensitive value{of} makes up more than 1/{l:g} of the {who}.",
                of=self._of(column),
                l=self.l,
                who=Message("rows"),
            )
        if self.kind == "distinct":
            return Message(
                "In every group, there are at least {l:g} different sensitive values{of}.",
                of=self._of(column),
                l=self.l,
            )
        if self.kind == "entropy":
            return Message(
                "In every group, the sensitive values{of} are as uncertain as {l:g} equally "
                "frequent ones.",
                of=self._of(column),
                l=self.l,
            )
        return Message(
            "In every group, the most frequent sensitive value{of} has fewer {who} than {c:g} "
            "times all values from the number {l:g} in frequency on.",
            of=self._of(column),
            who=Message("rows"),
            c=self.c,
            l=self.l,
        )

    def per_group(
        self, histograms: NDArray[np.int64], whole: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the ℓ of each group; for ``recursive`` the largest ℓ its c allows, or 0."""
        del whole
        if self.kind == "distinct":
            return _count(histograms > 0)
        if self.kind == "frequency":
            return n_rows(histograms) / most_frequent(histograms)
        if self.kind == "entropy":
            return np.exp(_entropy(histograms))
        # The tails shrink with ℓ, so the ℓ that hold are 1, 2, … up to the largest.
        return _count(self._dominated(histograms))

    def _holds(self, histograms: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.bool_]:
        if self.kind == "frequency":
            most, rows = most_frequent(histograms), n_rows(histograms)
            if isinstance(self.l, int):
                # l may be too large for the array's integers, and then nothing reaches it.
                return most <= rows // min(self.l, np.iinfo(np.int64).max)
            return most * self.l <= rows * (1 + TOLERANCE)
        if self.kind == "entropy":
            return _entropy(histograms) >= math.log(self.l) - TOLERANCE
        return self.per_group(histograms, whole) >= self.l

    def _dominated(self, histograms: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether r_1 < c · (r_ℓ + … + r_m), for ℓ = 1 … m along the second axis."""
        ascending = np.sort(histograms, axis=1)
        most = ascending[:, -1:]
        tails = np.cumsum(ascending, axis=1)[:, ::-1]
        assert self.c is not None
        if isinstance(self.c, int):
            return most < tails * min(self.c, _MOST_ROWS)
        # Strict: equality up to rounding does not keep the promise.
        return most * (1 + TOLERANCE) < tails * self.c

    def possible(self, whole: NDArray[np.int64]) -> str:
        """Return the ℓ (or c) that one group of all rows reaches, as part of a sentence."""
        best = float(self.per_group(whole[np.newaxis], whole)[0])
        if self.kind == "frequency":
            share = 100 * int(whole.max()) / int(whole.sum())
            most = round_down(best)
            return Message(
                "its most frequent value makes up {share:.4g} % of the rows, so l can be at "
                "most {most}",
                share=share,
                most=most,
            )
        if self.kind == "distinct":
            return Message(
                "it has {best:g} different values, so l can be at most {best:g}", best=best
            )
        if self.kind == "entropy":
            return Message(
                "its values are no more diverse than l = {round_down}", round_down=round_down(best)
            )
        tail = int(np.sort(whole)[::-1][int(min(self.l, whole.shape[0] + 1)) - 1 :].sum())
        if tail == 0:
            return Message(
                "it has only {count_nonzero} different values, fewer than l",
                count_nonzero=np.count_nonzero(whole),
            )
        return Message(
            "with l = {l:g}, c must be above {round_up}",
            l=self.l,
            round_up=round_up(int(whole.max()) / tail),
        )


def _entropy(histograms: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entropy of each group in nats: log n − (Σ r log r) / n."""
    rows = n_rows(histograms)
    weighted: NDArray[np.float64] = (histograms * np.log(np.maximum(histograms, 1))).sum(axis=1)
    return np.log(rows) - weighted / rows


def _count(where: NDArray[np.bool_]) -> NDArray[np.float64]:
    counted: NDArray[np.float64] = where.sum(axis=1, dtype=np.float64)
    return counted
