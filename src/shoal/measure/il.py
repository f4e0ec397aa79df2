"""Total-IL, the information loss of Byun et al., summed over all cells."""

from __future__ import annotations

from shoal.measure.ncp import NCP

__all__ = ["TotalIL"]


class TotalIL(NCP):
    """Total-IL = Σ_e |e| · (Σ_i (max_i − min_i) ÷ |N_i| + Σ_j H(Λ(∪C_j)) ÷ H(T_j))."""

    name = "il"
    title = "total information loss (Total-IL)"
    citation = "Byun et al. 2007, Definitions 5 and 6"
    bounds = (0.0, None)
    per_cell = False
