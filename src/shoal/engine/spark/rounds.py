"""Groups for measures that are no sum over columns: all blocks anew with weights that follow.

What `shoal.engine.norms` does on one machine: a round is a run of all blocks and regions, and what
it is worth follows from the sums that the regions told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from shoal.measure.base import CostMeasure
from shoal.measure.scores import create_measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.engine.spark.plan import Plan
    from shoal.engine.spark.tally import Tallies

__all__ = ["best_round"]


class _Told(Protocol):
    @property
    def tallies(self) -> Tallies: ...


Round = TypeVar("Round", bound=_Told)


def best_round(
    plan: Plan, first: Round, anew: Callable[[Plan], Round], drop: Callable[[Round], None]
) -> Round:
    """Return the best of these groups and of those that the measure's rounds lead to.

    Args:
        plan: what workers are told.
        first: groups with the weights of the columns.
        anew: forms groups by a plan, whose weights may differ.
        drop: gives up groups that are not the best.
    """
    name = plan.request.measure
    measure = create_measure(name, plan.request.measure_options)
    assert isinstance(measure, CostMeasure)
    if not measure.rounds:
        return first
    assert plan.target is not None
    own = np.array([each.weight for each in plan.attributes])
    best, most, last = first, float("-inf"), first
    for number in range(measure.rounds + 1):
        lost = list(last.tallies.scores().by_column[name].values())
        worth, weights = measure.follow_columns(lost, plan.target.scored, own, number)
        if worth > most:
            if last is not best:
                drop(best)
            best, most = last, worth
        else:
            drop(last)
        if weights is None or number == measure.rounds:
            break
        last = anew(replace(plan, weights=weights))
    return best
