"""Published columns that can undo a release, looked for where the rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.engine.spark.session import load_functions
from shoal.publish.danger import NEARLY_ALL, says_nearly_unique
from shoal.publish.recode import published_names
from shoal.table.relations import FEWEST_ROWS

if TYPE_CHECKING:
    from shoal.engine.spark.plan import Plan
    from shoal.publish.judgement import Doubt

__all__ = ["find_dangers"]

_ERROR = 0.05
"""An estimate may be so far off; what comes close is counted."""


def find_dangers(plan: Plan, rows: Any) -> list[Doubt]:
    """Return a sentence for every published column in which nearly every row has its own value.

    Args:
        plan: what is published.
        rows: the published rows and those that are left out.
    """
    functions = load_functions()
    names = [
        name
        for name, titles in published_names(plan.schema, plan.request.style).items()
        for _ in titles
    ]
    untouched = {*plan.schema.sensitive, *plan.schema.insensitive}
    places = {name: f"f{number}" for number, name in enumerate(names) if name in untouched}
    if not places:
        return []
    kept = rows.filter("g >= 0")
    told = kept.agg(
        *(functions.count(own).alias(f"n{own}") for own in places.values()),
        *(functions.approx_count_distinct(own, _ERROR).alias(f"d{own}") for own in places.values()),
    ).head()
    found = []
    for name, own in places.items():
        filled = told[f"n{own}"]
        if filled < FEWEST_ROWS or told[f"d{own}"] < (NEARLY_ALL - 3 * _ERROR) * filled:
            continue
        different = kept.agg(functions.count_distinct(own)).head()[0]
        if different >= NEARLY_ALL * filled:
            found.append(says_nearly_unique(name))
    return found
