"""Cells against attackers who know some of the quasi-identifiers, in place of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import OptionError
from shoal.search.limited import cells_for, known_combinations

if TYPE_CHECKING:
    from shoal.engine.grouping import LocalWork
    from shoal.table.partition import Partition


def cells_against(work: LocalWork) -> Partition:
    """Return the rows that publish the same cells as groups; each combination keeps k.

    Raises:
        OptionError: there are too many combinations, or the measure cannot be followed.
    """
    request, measure = work.request, work.run.model.measure
    if measure.needs_sensitive or measure.of_means or measure.rounds:
        raise OptionError(
            "Measure {name!r} looks at groups as a whole, which a release against attackers of "
            "limited knowledge has none of; choose one of single cells, such as 'ncp' or 'lm'.",
            name=measure.name,
        )
    names = [attribute.name for attribute in work.table.attributes]
    known = known_combinations(names, request.knows, request.combinations)
    return cells_for(work.table, work.run, known)
