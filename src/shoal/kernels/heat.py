"""Annealing: moves that make groups dearer, by how much is left to chance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.kernels.jit import helper

__all__ = ["slack"]


@helper
def slack(heat: Any) -> int:
    """Return by how much the next move may raise the cost (Metropolis: exponentially drawn)."""
    mean = heat.mean[0]
    if mean <= 0.0:
        return np.int64(0)
    state = heat.chance[0]
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    heat.chance[0] = state
    drawn = (np.float64(state >> np.uint64(11)) + 0.5) / 9007199254740992.0
    return np.int64(-mean * math.log(drawn))
