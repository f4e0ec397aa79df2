"""Scores of finished groups: their sizes, and how mixed their sensitive values are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from shoal.errors import OptionError
from shoal.measure.base import Measure
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from shoal.measure.base import Grouped


# DM, the discernibility metric: how many rows each row is hidden among.

Classes = Literal["formed", "published"]


class Discernibility(Measure):
    """Π_DM = Σ_C |C|² + (suppressed rows) · n.

    By default groups count as they were formed: two groups that happen to publish the same cells
    stay two. With ``classes="published"`` C are the sets of rows that a reader cannot tell apart,
    which is the metric by its words ("the number of records indistinguishable from it"); algorithms
    whose groups often publish the same cells then cost more. Between n (every row alone) and n²
    (one group, or nothing published).
    """

    name = "dm"
    title = "discernibility: sum of squared group sizes"
    citation = "Bayardo & Agrawal 2005; Goldberger & Tassa 2010, section 3"

    options: ClassVar[tuple[str, ...]] = ("classes",)

    def __init__(self, classes: Classes = "formed") -> None:
        """Choose what is counted: groups as "formed", or rows with equal "published" cells."""
        if classes not in get_args(Classes):
            known = ", ".join(get_args(Classes))
            raise OptionError(
                "classes of 'dm' must be one of {known}, got {classes!r}.",
                known=known,
                classes=classes,
            )
        self.classes: Classes = classes

    def score(self, grouped: Grouped) -> float:
        """Return the sum over rows of the number of rows each is indistinguishable from."""
        sizes = grouped.partition.sizes
        if self.classes == "published" and len(sizes):
            keys = [key for c in grouped.closures for key in c.cells(len(sizes))]
            same = Partition.of_equal_rows(keys).labels
            sizes = np.bincount(same, weights=sizes).astype(np.int64)
        return float(np.sum(sizes**2) + grouped.partition.n_suppressed * grouped.table.n_rows)


# The average size of a group.


class AverageClassSize(Measure):
    """(published rows) ÷ (groups).

    `c-avg` is this number divided by k. The best possible value is k. Groups count as they were
    formed. If nothing is published at all, the rows count as one group.
    """

    name = "average-class-size"
    title = "mean number of rows in a group"
    citation = "LeFevre et al. 2006, C_avg without its division by k"
    bounds = (1.0, None)

    def score(self, grouped: Grouped) -> float:
        """Return the mean group size."""
        partition = grouped.partition
        if partition.n_groups == 0:
            return float(partition.n_rows)
        return (partition.n_rows - partition.n_suppressed) / partition.n_groups


class NormalisedClassSize(Measure):
    """C_avg = (published rows) ÷ (groups) ÷ k.

    1 is the best there can be: groups of k. A score knows the groups and not what they were made
    for: without the option ``k`` it is the size of the smallest group, which is the k they keep.
    """

    name = "c-avg"
    title = "mean number of rows in a group, as a multiple of k"
    citation = "LeFevre et al. 2006, section 5.1"
    options: ClassVar[tuple[str, ...]] = ("k",)

    def __init__(self, k: int | None = None) -> None:
        """Choose the k that groups are compared with."""
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
            raise OptionError("k of 'c-avg' must be a whole number above 0, got {k!r}.", k=k)
        self.k = k

    def score(self, grouped: Grouped) -> float:
        """Return the mean group size as a multiple of k."""
        partition = grouped.partition
        smallest = int(partition.sizes.min()) if partition.n_groups else partition.n_rows
        return AverageClassSize().score(grouped) / (self.k or smallest)


class Ambiguity(Measure):
    """Π_AM = (1 ÷ n) Σ_i Π_j |R̄_i(j)| (Goldberger–Tassa, eq. 4).

    |R̄_i(j)| counts values of the domain as LM does: distinct values of a numeric column, leaves
    of a tree, with missing as one more where it occurs. A suppressed row stands for the whole
    domain. Weights play no part. The result is a float and, with many columns, a huge one.
    """

    name = "am"
    title = "records of the domain that a published record could be"
    citation = "Nergiz & Clifton 2007; Goldberger & Tassa 2010, equation (4)"
    bounds = (1.0, None)

    def score(self, grouped: Grouped) -> float:
        """Return the mean number of combinations per row."""
        box = np.ones(len(grouped.sizes))
        with np.errstate(over="ignore"):  # beyond the largest float, infinity is the right answer
            for attribute, closures in zip(grouped.table.attributes, grouped.closures, strict=True):
                box *= closures.n_values(attribute)
            used = grouped.sizes > 0  # no suppressed row, no charge: 0 · infinity is no number
            return float(np.sum(grouped.sizes[used] * box[used]) / grouped.table.n_rows)


# -- Entropy diversity: how mixed the sensitive values of a group are, on average ------------------

# CM, the classification metric: how often a group hides the class of a row.


class Classification(Measure):
    """Π_CM = (1 ÷ n) Σ_i penalty(i).

    The penalty of a row is 1 if it is suppressed or if its sensitive value is not the most
    frequent one of its group, else 0. Which of several most frequent values is taken makes no
    difference to the sum. A missing sensitive value is a class of its own.
    """

    name = "cm"
    title = "share of rows whose class differs from their group's majority"
    citation = "Iyengar 2002; Byun et al. 2007, section 3; Goldberger & Tassa 2010, section 3"
    bounds = (0.0, 1.0)
    needs_sensitive = True

    def score(self, grouped: Grouped) -> float:
        """Return the mean penalty."""
        majority = grouped.histogram[:-1].max(axis=1)  # the last row holds suppressed rows
        return 1.0 - float(np.sum(majority)) / grouped.table.n_rows


class EntropyDiversity(Measure):
    """(1 ÷ groups) Σ_C H(Y | C) in bits, with H(Y | C) = −Σ_y (h_y ÷ |C|) log2 (h_y ÷ |C|).

    The plain mean over groups, each counting once whatever its size, as the paper averages the
    diversities of its clusters (Table 3). Suppressed rows belong to no group; if nothing is
    published at all, the rows count as one group. Low values mean that the release says a lot
    about the sensitive column, which is good for learning from it and bad for privacy: we report
    it as a measure of usefulness, and ℓ-diversity guards the other side.
    """

    name = "entropy-diversity"
    title = "mean entropy of the sensitive values in a group, bits"
    citation = "Goldberger & Tassa 2010, section 8.4 and Table 3"
    needs_sensitive = True

    def score(self, grouped: Grouped) -> float:
        """Return the mean entropy over groups."""
        groups = grouped.histogram[:-1] if grouped.partition.n_groups else grouped.histogram
        share = groups / groups.sum(axis=1, keepdims=True)
        logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
        # Adding 0 turns the −0 of a group with one value into 0.
        return float(np.mean(-np.sum(share * logs, axis=1))) + 0.0
