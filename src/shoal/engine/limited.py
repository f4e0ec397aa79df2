"""Cells against attackers who know some of the quasi-identifiers, in place of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.algorithm.warm_up import compile_missing
from shoal.engine.grouping import form_groups
from shoal.errors import OptionError
from shoal.measure.base import Grouped
from shoal.search.limited import cells_for, known_combinations

if TYPE_CHECKING:
    from shoal.engine.grouping import LocalWork
    from shoal.table.partition import Partition


def cells_against(work: LocalWork) -> Partition:
    """Return the rows that publish the same cells as groups; each combination keeps k.

    Groups of k that are alike in all columns keep every combination, too. They are published where
    they lose less, so that who is promised less never loses more.

    Raises:
        OptionError: there are too many combinations, or the measure cannot be followed.
    """
    request, run = work.request, work.run
    measure = run.model.measure
    if measure.needs_sensitive or measure.of_means or measure.rounds:
        raise OptionError(
            "Measure {name!r} looks at groups as a whole, which a release against attackers of "
            "limited knowledge has none of; choose one of single cells, such as 'ncp' or 'lm'.",
            name=measure.name,
        )
    compile_missing(("limited",), run.scanner, run.progress)
    names = [attribute.name for attribute in work.table.attributes]
    known = known_combinations(names, request.knows, request.combinations)
    found = [cells_for(work.table, run, known), form_groups(work)]
    return min(found, key=lambda each: measure.score(Grouped(work.table, each)))
