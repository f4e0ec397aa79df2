"""Entropy diversity: how mixed the sensitive values of a group are, on average."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import Measure

if TYPE_CHECKING:
    from shoal.measure.base import Grouped

__all__ = ["EntropyDiversity"]


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
