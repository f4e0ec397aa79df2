"""Published columns that can undo a release, and signs that rows are not people, on Spark.

What can be counted is counted where the rows are. What has to be looked at as a whole (names of
people, a panel without an id, a column that follows from another) is looked for on the driver, in
the first rows that Spark gives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.session import frame_of_rows, load_functions
from shoal.profile.repeats import find_repeats, says_whose, worth_a_look
from shoal.profile.slips import find_slips
from shoal.publish.danger import NEARLY_ALL, find_related, says_nearly_unique
from shoal.publish.judgement import Doubt, OpenPoint
from shoal.publish.recode import published_names
from shoal.table.encode import encode
from shoal.table.relations import FEWEST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from shoal.engine.spark.plan import Plan
    from shoal.settings.request import Request
    from shoal.table.schema import Schema

__all__ = ["MOST_LOOKED_AT", "find_dangers", "find_signs", "first_rows", "related_columns"]

_ERROR = 0.05
"""An estimate may be so far off; what comes close is counted."""
MOST_LOOKED_AT = 100_000
"""So many rows are looked at on the driver, as many as one machine looks at for a panel."""


def first_rows(frame: Any, schema: Schema, request: Request) -> pl.DataFrame:
    """Return the first rows that Spark gives, of all columns that may tell something."""
    import polars as pl

    more = [] if says_whose(request) else worth_a_look(schema)
    names = [name for name in frame.columns if name in {*schema.used, *more}]
    own = [f"c{number}" for number in range(len(names))]
    found = pl.from_arrow(frame_of_rows(frame, names, own).limit(MOST_LOOKED_AT).toArrow())
    assert isinstance(found, pl.DataFrame)
    return found.rename(dict(zip(own, names, strict=True)))


def find_signs(some: pl.DataFrame, schema: Schema, request: Request) -> list[Doubt]:
    """Return what one machine says before a run: rows that are not people, columns that name them.

    Args:
        some: the first rows.
        schema: the roles of the columns.
        request: what is asked.
    """
    found = [] if says_whose(request) else find_repeats(some, schema, request.k)
    if some.height == MOST_LOOKED_AT:
        where = f"In the first {some.height:,} rows: "
        found = [Doubt(f"{where}{each}", _in_part(each, where)) for each in found]
    return [*found, *find_slips(some, schema.exact)]


def _in_part(doubt: Doubt, where: str) -> OpenPoint:
    return replace(doubt.point, sentence=f"{where}{doubt.point.sentence}")


def related_columns(
    some: pl.DataFrame, schema: Schema, coarser: Iterable[str], but: Iterable[str]
) -> list[Doubt]:
    """Return a sentence for each published column that goes together with a quasi-identifier.

    Args:
        some: the first rows.
        schema: what the columns are.
        coarser: quasi-identifiers that are published coarser than they are.
        but: columns about which enough was said.
    """
    if some.height < FEWEST_ROWS or not schema.exact:
        return []
    known, said = set(coarser), set(but)
    attributes = [each for each in encode(some, schema).attributes if each.name in known]
    names = [name for name in schema.exact if name not in said]
    return find_related(some, names, attributes, np.arange(some.height))


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
