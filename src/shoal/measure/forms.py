"""Forms of a cost table T[closure]: how one attribute charges for what it generalises to.

Every cost measure is a choice of form per attribute. `cost` evaluates a form exactly (floats) on
the closures of a partition; `shoal.search.scan` turns the same forms into integers for the kernels.
A form has either one cost per closure or, for measures that look at the sensitive attribute, one
per closure and sensitive value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.table.closure import IntervalClosures, SetClosures, TreeClosures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table.closure import Closures

__all__ = ["CountForm", "Form", "IndicatorForm", "LinearForm", "LogForm", "TreeForm"]

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class TreeForm:
    """One cost per taxonomy node, "all missing" last; costs never fall towards the root."""

    node: Floats

    def cost(self, closures: Closures) -> Floats:
        """Return the cost of each closure."""
        assert isinstance(closures, TreeClosures)
        return self.node[closures.node]


@dataclass(frozen=True, eq=False)
class LinearForm:
    """position[high] − position[low] for an interval; ``full`` for everything.

    On a grid, ``upper`` is where each cell ends: upper[high] − position[low].
    """

    position: Floats
    full: float
    upper: Floats | None = None

    def cost(self, closures: Closures) -> Floats:
        """Return the cost of each closure."""
        assert isinstance(closures, IntervalClosures)
        place = np.append(self.position, 0.0)
        upper = place if self.upper is None else np.append(self.upper, 0.0)
        spread = upper[closures.high] - place[closures.low]
        return np.where(closures.everything, self.full, spread)


@dataclass(frozen=True, eq=False)
class IndicatorForm:
    """0 for a single value, ``full`` otherwise.

    On a grid, ``wide`` tells the cells (missing last) that are more than one value.
    """

    full: float
    wide: NDArray[np.bool_] | None = None

    def cost(self, closures: Closures) -> Floats:
        """Return the cost of each closure."""
        return np.where(closures.single(), 0.0, self.full)


@dataclass(frozen=True, eq=False)
class CountForm:
    """(values − 1) · unit for a set, ``full`` for everything."""

    unit: float
    full: float

    def cost(self, closures: Closures) -> Floats:
        """Return the cost of each closure."""
        assert isinstance(closures, SetClosures)
        spread = (np.diff(closures.indptr) - 1) * self.unit
        return np.where(closures.everything, self.full, spread)


@dataclass(frozen=True, eq=False)
class LogForm:
    """log2 mass(closure) − beta · log2 mass_y(closure), for intervals and sets.

    ``mass`` has one row per code (missing last) and, after the total in column 0, one column per
    sensitive value when ``beta`` > 0.
    """

    mass: NDArray[np.int64]
    beta: float

    def cost(self, closures: Closures) -> Floats:
        """Return the cost of each closure (and sensitive value)."""
        total = self.mass.sum(axis=0)
        covered: NDArray[np.int64]
        if isinstance(closures, IntervalClosures):
            zero = np.zeros((1, self.mass.shape[1]), dtype=np.int64)
            prefix = np.concatenate((zero, np.cumsum(self.mass, axis=0)))
            covered = prefix[closures.high + 1] - prefix[closures.low]
        else:
            assert isinstance(closures, SetClosures)
            covered = np.zeros((len(closures.everything), self.mass.shape[1]), dtype=np.int64)
            owner = np.repeat(np.arange(len(closures.everything)), np.diff(closures.indptr))
            np.add.at(covered, owner, self.mass[closures.members])
        return log_cost(np.where(closures.everything[:, None], total, covered), self.beta)


Form = TreeForm | LinearForm | IndicatorForm | CountForm | LogForm


def log_cost(mass: NDArray[np.int64], beta: float) -> Floats:
    """Return log2 of column 0, less beta times log2 of each other column if there are any.

    A sensitive value that does not occur in a closure is never charged there: its cost is 0.
    """
    logs = np.log2(np.maximum(mass, 1).astype(np.float64))
    if mass.shape[1] == 1:
        return logs[:, 0]
    cost: Floats = np.where(mass[:, 1:] > 0, logs[:, :1] - beta * logs[:, 1:], 0.0)
    return cost
