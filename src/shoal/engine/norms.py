"""Groups for measures that are no sum over columns: formed anew with weights that follow them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from shoal.measure.base import Grouped
from shoal.search.scan import Scanner

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.engine.local import LocalWork
    from shoal.table.partition import Partition

__all__ = ["follow_measure"]

Work = TypeVar("Work", bound="LocalWork")


def follow_measure(
    work: Work, groups: Partition, regroup: Callable[[Work], Partition]
) -> Partition:
    """Return the best of these groups and of those that the measure's rounds lead to.

    Args:
        work: the table and what is asked.
        groups: its groups with the weights of the columns.
        regroup: forms groups of a work, whose weights may differ.
    """
    run, measure = work.run, work.run.model.measure
    if not measure.rounds:
        return groups
    best, most, last = groups, float("-inf"), groups
    for number in range(measure.rounds + 1):
        worth, weights = measure.follow(Grouped(work.table, last, run.model.target), number)
        if worth > most:
            best, most = last, worth
        if weights is None or number == measure.rounds:
            break
        model = replace(run.model, weights=weights)
        scanner = Scanner.build(work.table, model)
        last = regroup(replace(work, run=replace(run, model=model, scanner=scanner)))
    return best
