"""What anybody can work out about the hidden numbers of a published table of counts.

A table of counts has a line for every combination of values and for every total. Each number that
is shown is an equation, or a pair of bounds where numbers are rounded; whatever was counted is a
whole number that is not negative. The smallest and the largest number that a hidden line can stand
for are then two linear programmes (programmes in whole numbers from three columns on, where not
every corner of the region is whole). HiGHS solves them exactly, so nobody can work out more from
the table alone.

This module sees the published table only. `shoal.study.tabulate` hides numbers by it, and what was
written is verified with it before it appears.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Place = tuple[int, ...]
HIDDEN = -1
"""Stands for a number that is not shown."""
_WHOLE = 1e-6  # how far from a whole number the solver may say one


@dataclass(frozen=True)
class RoundingRule:
    """How numbers are published.

    Attributes:
        minimum: a number from 1 to below this is not shown.
        base: numbers are rounded to multiples of it; 1 if they are exact.
    """

    minimum: int
    base: int = 1

    def shown(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return numbers as they are shown: the nearest multiple, a half upwards."""
        return self.base * ((2 * counts + self.base) // (2 * self.base))

    def range_of(self, shown: int) -> tuple[float, float]:
        """Return the least and the largest count that a published number can stand for.

        A hidden number is at least 1, because 0 is never hidden; a shown one is 0 or at least the
        minimum.
        """
        if shown == HIDDEN:
            return 1.0, math.inf
        most = (2 * shown + self.base - 1) // 2
        if most < self.minimum:
            return 0.0, 0.0
        least = max(-((self.base - 2 * shown) // 2), self.minimum) if shown else 0
        return float(least), float(most)


class CountBounds:
    """All counts that a published table leaves possible.

    Args:
        shown: the numbers, an axis for each column, its total last; `HIDDEN` where none is shown.
        rule: how they were published.
    """

    def __init__(self, shown: NDArray[np.int64], rule: RoundingRule) -> None:
        highspy = _solver()
        self._minimum = rule.minimum
        self._sizes = tuple(size - 1 for size in shown.shape)
        self._directions = (highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize)
        self._status = highspy.HighsModelStatus
        self._highspy = highspy
        self._model = _silent(highspy)
        self._in_whole_numbers: Any = None
        ranges = {place: rule.range_of(int(shown[place])) for place in np.ndindex(*self._sizes)}
        self._known = np.zeros(self._sizes)
        self._variables: dict[Place, int] = {}
        for place, (least, most) in ranges.items():
            if least == most:
                self._known[place] = least
            else:
                self._variables[place] = len(self._variables)
        self._least_seen = np.full(shown.shape, np.inf)
        self._most_seen = np.full(shown.shape, -np.inf)
        n_open = len(self._variables)
        if not n_open:
            return
        ends = np.array([ranges[place] for place in self._variables])
        self._model.addVars(n_open, ends[:, 0].copy(), ends[:, 1].copy())
        parts: dict[Place, list[int]] = {}
        for place, number in self._variables.items():
            for total in product(*zip(place, self._sizes, strict=True)):
                if total != place:
                    parts.setdefault(total, []).append(number)
        known = with_totals(self._known)
        for total, numbers in parts.items():
            least, most = (end - known[total] for end in rule.range_of(int(shown[total])))
            self._model.addRow(
                least, most, len(numbers), np.array(numbers, np.int32), np.ones(len(numbers))
            )

    def of(self, place: Place) -> tuple[float, float]:
        """Return the smallest and the largest number that a hidden line can stand for.

        Raises:
            DataError: the table contradicts itself: no counts at all fit to it.
        """
        own = [
            range(n) if at == n else range(at, at + 1)
            for at, n in zip(place, self._sizes, strict=True)
        ]
        inside = [self._variables[each] for each in product(*own) if each in self._variables]
        if not inside:
            return (float(with_totals(self._known)[place]),) * 2
        least, most = (self._solve(direction, inside) for direction in self._directions)
        known = with_totals(self._known)[place]
        return least + known, most + known

    def leaves_enough(self, place: Place) -> bool:
        """Return whether a hidden line can stand for as many numbers as the minimum says.

        Every solution is a table that could have been counted, so two that are far enough apart
        answer the question for all lines at once.
        """
        if self._most_seen[place] - self._least_seen[place] + 1 >= self._minimum:
            return True
        least, most = self.of(place)
        return most - least + 1 >= self._minimum

    def _solve(self, direction: Any, inside: list[int]) -> float:
        """Return the least or the largest sum of some variables."""
        found = self._solve_with(self._model, direction, inside)
        if found is None:
            return math.inf
        if np.abs(found - np.rint(found)).max() > _WHOLE:
            found = self._solve_with(self._whole_model(), direction, inside)
            assert found is not None  # it is bounded where the wider one is
        table = self._known.copy()
        table[tuple(np.array(list(self._variables)).T)] = np.rint(found)
        table = with_totals(table)
        self._least_seen = np.minimum(self._least_seen, table)
        self._most_seen = np.maximum(self._most_seen, table)
        return float(np.rint(found[inside]).sum())

    def _solve_with(
        self, model: Any, direction: Any, inside: list[int]
    ) -> NDArray[np.float64] | None:
        """Return the variables where the sum of some is least or largest; None if it is endless."""
        places = np.array(inside, np.int32)
        model.changeColsCost(len(places), places, np.ones(len(places)))
        model.changeObjectiveSense(direction)
        model.run()
        status = model.getModelStatus()
        found = np.array(model.getSolution().col_value)
        model.changeColsCost(len(places), places, np.zeros(len(places)))
        unbounded = (self._status.kUnbounded, self._status.kUnboundedOrInfeasible)
        if direction == self._directions[1] and status in unbounded:
            return None  # the other direction was solved before, so there are solutions
        if status != self._status.kOptimal:
            raise DataError("The numbers of the table contradict each other.")
        return found

    def _whole_model(self) -> Any:
        if self._in_whole_numbers is None:
            model = self._in_whole_numbers = _silent(self._highspy)
            model.passModel(self._model.getLp())
            n_open = len(self._variables)
            kinds = np.full(n_open, self._highspy.HighsVarType.kInteger)
            model.changeColsIntegrality(n_open, np.arange(n_open, dtype=np.int32), kinds)
        return self._in_whole_numbers


def _silent(highspy: Any) -> Any:
    """Return an empty model of the solver, which prints nothing and uses one thread."""
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    return model


def with_totals(counts: NDArray[Any]) -> NDArray[Any]:
    """Return counts with the total of each axis as its last place."""
    for axis in range(counts.ndim):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    return counts


def too_narrow(shown: NDArray[np.int64], rule: RoundingRule) -> list[Place]:
    """Return the hidden lines that can stand for fewer numbers than the minimum says."""
    bounds = CountBounds(shown, rule)
    hidden = [tuple(int(at) for at in place) for place in np.argwhere(shown == HIDDEN)]
    return [place for place in hidden if not bounds.leaves_enough(place)]


def _solver() -> Any:
    try:
        import highspy
    except ImportError:
        raise OptionError(
            "Tables of counts need a solver that is not installed: "
            "pip install 'shoal-anonymity[tabulate]'."
        ) from None
    return highspy
