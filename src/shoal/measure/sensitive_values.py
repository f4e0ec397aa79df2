"""Entropy diversity: how mixed the sensitive values of a group are, on average."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import Measure

if TYPE_CHECKING:
    from shoal.measure.base import Grouped


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
