"""Private mutual information under the two other norms over columns: ℓ2 and ℓ∞."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.measure.base import Measure
from shoal.measure.mi import information_about_target

if TYPE_CHECKING:
    from shoal.measure.base import Grouped

__all__ = ["PMIL2", "PMIMax"]


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
