"""MI, PMI and their mixture: what a release tells about the public and the private data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from shoal.errors import OptionError
from shoal.measure.base import CostMeasure, Grouped, LogForm, Measure, TreeForm, log_cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.measure.base import Form
    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.sensitive import Sensitive


Norm = Literal["l1", "l2", "max"]
ROUNDS = 3
SLIGHT = 1e-3
"""Weight of a column that hardly counts, as a share of the largest: it decides between ties."""


def _mass(attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> NDArray[np.int64]:
    """Return rows per code (missing last), then rows per code and sensitive value.

    Both are of the rows at hand where a sensitive column is looked at: a share of them can be no
    more than the whole, also in a table made with `EncodedTable.take`. They are of a larger table
    where the sensitive column brings the counts of that.
    """
    del table
    if target is None:
        return attribute.counts[:, None]
    joint: NDArray[np.int64]
    if target.joint is not None:
        joint = target.joint[attribute.name]
    else:
        pairs = attribute.codes.astype(np.int64) * target.size + target.codes
        counted = np.bincount(pairs, minlength=(attribute.size + 1) * target.size)
        joint = counted.reshape(-1, target.size).astype(np.int64)
    return np.concatenate((joint.sum(axis=1, keepdims=True), joint), axis=1)


def log_form(
    attribute: Attribute, target: Sensitive | None, table: EncodedTable, beta: float
) -> Form:
    """Return T[c, y] = log2 mass(c) − beta · log2 mass_y(c)."""
    mass = _mass(attribute, target, table)
    taxonomy = attribute.taxonomy
    if taxonomy is None:
        return LogForm(mass, beta)
    zero = np.zeros((1, mass.shape[1]), dtype=np.int64)
    prefix = np.concatenate((zero, np.cumsum(mass[:-1], axis=0)))
    node = prefix[taxonomy.last_leaf + 1] - prefix[taxonomy.first_leaf]
    node[taxonomy.root] = mass.sum(axis=0)
    return TreeForm(log_cost(np.concatenate((node, mass[-1:])), beta))


def _own_logs(attribute: Attribute, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return log2 (rows that share the value) by code; on a grid its mean over a cell."""
    if attribute.own_logs is not None:
        return attribute.own_logs
    logs: NDArray[np.float64] = np.log2(np.maximum(counts, 1))
    return logs


class MI(CostMeasure):
    """Π_MI = −(1 ÷ nr) Σ_i Σ_j log2 Pr(X_j = R_i(j) | X_j ∈ R̄_i(j)) (Goldberger–Tassa, eq. 10).

    As a cost: T = log2 (rows whose value lies in the closure); Σ log2 (rows of the value itself)
    is the same for every grouping and is subtracted in the score.
    """

    name = "mi"
    title = "mutual information lost about the quasi-identifiers, bits per cell"
    citation = "Goldberger & Tassa 2010, equation (10)"

    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return the cost table of one attribute."""
        del target
        return log_form(attribute, None, table, 0.0)

    def constant(self, attribute: Attribute) -> float:
        """Return Σ over rows of log2 (rows that share the value)."""
        rows = np.bincount(attribute.codes, minlength=attribute.size + 1)
        return float(np.sum(rows * _own_logs(attribute, attribute.counts)))


class PMI(CostMeasure):
    """Π_PMI = −(1 ÷ nr) Σ_i Σ_j log2 Pr(Y = S_i | X_j ∈ R̄_i(j)) (Goldberger–Tassa, eq. 14).

    Not monotone under local recoding: a coarser release may be better (section 5.1).

    A search can also aim at the norms of eq. 15 and 16 (the measures ``pmi-l2`` and ``pmi-max``),
    which are no sums over columns. Both are convex, so a line that touches the norm at the present
    groups lies below it: what gains along the line gains at least as much in the norm. Groups are
    formed with all columns alike, then up to three times anew: for ``l2`` with each column weighted
    by what the last groups tell about Y in it, for ``max`` with nearly all weight on one column,
    the best one first. The groups that tell most in the norm are kept. The score is Π_PMI whatever
    the norm is.

    Args:
        norm: "l1" as in eq. 12, "l2" or "max".
    """

    name = "pmi"
    title = "mutual information lost about the sensitive column, bits per cell"
    citation = "Goldberger & Tassa 2010, equation (14)"
    needs_sensitive = True
    by_counts = True
    options: ClassVar[tuple[str, ...]] = ("norm",)

    def __init__(self, norm: Norm = "l1") -> None:
        """Set the norm over columns that a search aims at."""
        if norm not in get_args(Norm):
            known = ", ".join(get_args(Norm))
            raise OptionError(
                "norm of 'pmi' must be one of {known}, got {norm!r}.", known=known, norm=norm
            )
        self.norm: Norm = norm

    @property
    def rounds(self) -> int:
        """How often groups are formed anew."""
        return 0 if self.norm == "l1" else ROUNDS

    def follow(self, grouped: Grouped, number: int) -> tuple[float, NDArray[np.float64] | None]:
        """Return the norm of what the groups tell about Y, and weights for the next round."""
        lost = list(PMI().by_column(grouped).values())
        return self.follow_columns(lost, grouped.require_target(), grouped.table.weights, number)

    def follow_columns(
        self,
        lost: Sequence[float],
        target: Sensitive,
        weights: NDArray[np.float64],
        number: int,
    ) -> tuple[float, NDArray[np.float64] | None]:
        """Return the same from Π_PMI of each column."""
        information = _entropy(target) - np.array(lost)
        if self.norm == "max":
            best_first = np.argsort(-information, kind="stable")
            follow = np.full(len(information), SLIGHT)
            follow[best_first[min(number, len(information) - 1)]] = 1.0
            return float(information.max()), follow * len(information) / follow.sum()
        worth = float(np.linalg.norm(weights * information) / weights.sum())
        follow = weights**2 * np.maximum(information, 0.0)
        if not follow.max() > 0:
            return worth, None
        follow = np.maximum(follow, SLIGHT * follow.max())
        return worth, follow * len(information) / follow.sum()

    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return the cost table of one attribute."""
        return log_form(attribute, target, table, 1.0)


class WeightedMI(CostMeasure):
    """w · Π_MI + (1 − w) · Π_PMI (Goldberger–Tassa, section 8.4)."""

    name = "wmi"
    title = "w · mi + (1 - w) · pmi"
    citation = "Goldberger & Tassa 2010, section 8.4"
    needs_sensitive = True
    by_counts = True
    options: ClassVar[tuple[str, ...]] = ("w",)

    def __init__(self, w: float = 0.5) -> None:
        """Set the weight of MI, between 0 (PMI alone) and 1 (MI alone)."""
        if isinstance(w, bool) or not isinstance(w, int | float) or not math.isfinite(w):
            raise OptionError("w of 'wmi' must be a number between 0 and 1, got {w!r}.", w=w)
        if not 0 <= w <= 1:
            raise OptionError("w of 'wmi' must lie between 0 and 1, got {w}.", w=w)
        self.w = float(w)

    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return the cost table: log2 mass − (1 − w) · log2 mass_y, both parts in one table."""
        return log_form(attribute, target, table, 1.0 - self.w)

    def constant(self, attribute: Attribute) -> float:
        """Return the constant of the MI part, of the rows at hand as in the table."""
        rows = np.bincount(attribute.codes, minlength=attribute.size + 1)
        return self.w * float(np.sum(rows * _own_logs(attribute, rows)))

    def constant_of_part(self, attribute: Attribute) -> float:
        """Return the constant of the MI part, by the counts of the whole table."""
        return self.w * MI().constant(attribute)


def information_about_target(grouped: Grouped) -> dict[str, float]:
    """Return I(Y; R(j)) of each column in bits (Goldberger–Tassa, eq. 11)."""
    entropy = _entropy(grouped.require_target())
    loss = PMI().by_column(grouped)
    return {name: entropy - value for name, value in loss.items()}


def _entropy(target: Sensitive) -> float:
    """Return H(Y) in bits."""
    counts = target.counts[target.counts > 0].astype(np.float64)
    return -float(np.sum(counts * np.log2(counts / counts.sum()))) / float(counts.sum())


# Private mutual information under the two other norms over columns: ℓ2 and ℓ∞.


class PMIL2(Measure):
    """U = (1 ÷ r) · (Σ_j I(Y; R̄(j))²)^½ in bits (Goldberger–Tassa, eq. 16).

    I(Y; R̄(j)) = (1 ÷ n) Σ_i log2 Pr(Y = S_i | X_j ∈ R̄_i(j)) ÷ Pr(Y = S_i) is eq. 11. With weights,
    (Σ_j (w_j · I_j)²)^½ ÷ Σ_j w_j, which is eq. 16 when they are all 1.
    """

    name = "pmi-l2"
    title = "information about the sensitive column, l2 norm over the columns, bits"
    citation = "Goldberger & Tassa 2010, equation (16)"
    direction = "higher"
    needs_sensitive = True

    def score(self, grouped: Grouped) -> float:
        """Return the utility; higher is better."""
        information = np.array(list(information_about_target(grouped).values()))
        weights = grouped.table.weights
        return float(np.linalg.norm(weights * information) / weights.sum())


class PMIMax(Measure):
    """U = max_j I(Y; R̄(j)) in bits (Goldberger–Tassa, eq. 15); weights play no part.

    May be negative: under local recoding a generalised column can point away from the truth.
    """

    name = "pmi-max"
    title = "information about the sensitive column in the best column, bits"
    citation = "Goldberger & Tassa 2010, equation (15)"
    direction = "higher"
    bounds = (None, None)
    needs_sensitive = True

    def score(self, grouped: Grouped) -> float:
        """Return the utility; higher is better."""
        return max(information_about_target(grouped).values())
