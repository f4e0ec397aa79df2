"""The population of a promise: counted, put into codes once on the driver, and sent to workers.

What is kept of a population is how many people have each combination of quasi-identifiers, for
`MOST_COMBINATIONS` of them at most. A population that is a table of Spark is counted by Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.session import column, load_functions
from shoal.errors import DataError, OptionError, PromiseError, did_you_mean
from shoal.privacy import DeltaPresence, KMap, PopulationRisk
from shoal.privacy.base import TOLERANCE
from shoal.privacy.population import Population
from shoal.release_reader.population import different_people, people_title
from shoal.table.encode import EncodedTable, narrow
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.engine.spark.plan import Plan
    from shoal.privacy import PrivacyModel

__all__ = ["MOST_COMBINATIONS", "Whole", "bound_models", "check_whole", "counted_models"]

MOST_COMBINATIONS = 1_000_000
"""So many different combinations of quasi-identifiers may a population have."""


@dataclass(frozen=True, eq=False)
class Whole:
    """A promise about a release as a whole, as workers are told it.

    Attributes:
        model: the promise; its population is not in it.
        population: everybody, in the codes of the table; None if it is about sizes alone.
    """

    model: PrivacyModel
    population: Population | None


def counted_models(
    models: Sequence[PrivacyModel], quasi_identifiers: Sequence[str]
) -> tuple[PrivacyModel, ...]:
    """Return the promises about a release as a whole, with populations as counts.

    Raises:
        OptionError: there is no population, or it lacks a column.
        DataError: it has too many different combinations.
    """
    known: dict[tuple[int, str | None], Any] = {}
    found: list[PrivacyModel] = []
    for model in models:
        if isinstance(model, KMap | DeltaPresence):
            key = (id(model.population), model.counts)
            if key not in known:
                known[key] = _counted(model, quasi_identifiers)
            title = people_title(quasi_identifiers)
            found.append(replace(model, population=known[key], counts=title))
        elif isinstance(model, PopulationRisk):
            found.append(model)
    return tuple(found)


def _counted(model: KMap | DeltaPresence, quasi_identifiers: Sequence[str]) -> Any:
    from pyspark.sql import DataFrame

    given = model.population
    people = (
        _counted_by_spark(given, model.counts, quasi_identifiers)
        if isinstance(given, DataFrame)
        else different_people(model, quasi_identifiers)
    )
    if people.height > MOST_COMBINATIONS:
        raise DataError(
            f"The population has more than {MOST_COMBINATIONS:,} different combinations of "
            "quasi-identifiers, more than every worker can be given; use fewer quasi-identifiers, "
            "or coarser values in both tables."
        )
    return people


def _counted_by_spark(frame: Any, counts: str | None, names: Sequence[str]) -> Any:
    """Return the combinations of a population that is a table of Spark."""
    import polars as pl

    functions = load_functions()
    for name in (*names, *([] if counts is None else [counts])):
        if name not in frame.columns:
            what = " of counts" if name == counts else ""
            hint = did_you_mean(name, frame.columns)
            raise OptionError(f"The population has no column {name!r}{what}.{hint}")
    number = functions.lit(1).cast("long")
    if counts is not None:
        kind = frame.schema[counts].dataType.simpleString()
        whole = kind in ("tinyint", "smallint", "int", "bigint")
        own = column(counts)
        if not whole or frame.filter(own.isNull() | (own < 0)).limit(1).count():
            raise DataError(
                f"Column {counts!r} of the population must say how many people each row stands "
                "for, in whole numbers of at least 0."
            )
        number = own.cast("long")
    title = people_title(names)
    found = (
        frame.groupBy(*(column(name) for name in names))
        .agg(functions.sum(number).alias(title))
        .filter(column(title) > 0)
        .limit(MOST_COMBINATIONS + 1)
        .toArrow()
    )
    return pl.DataFrame(pl.from_arrow(found))


def bound_models(plan: Plan, models: Sequence[PrivacyModel]) -> tuple[Whole, ...]:
    """Return the promises with their populations in the codes of the table.

    Raises:
        DataError: a column of a population cannot be compared with that of the table.
    """
    empty = EncodedTable(0, plan.attributes, ())
    known: dict[int, Population] = {}
    found = []
    for model in models:
        if not isinstance(model, KMap | DeltaPresence):
            found.append(Whole(model, None))
            continue
        key = id(model.population)
        if key not in known:
            known[key] = Population.of(model.population, model.counts, empty)
        found.append(Whole(replace(model, population=None), known[key]))
    return tuple(found)


def check_whole(plan: Plan, wholes: Sequence[Whole], n_people: int) -> None:
    """Raise if not even one group of everybody keeps a promise: merging ends there.

    Raises:
        PromiseError: says what one group reaches.
    """
    if not wholes:
        return
    table = _every_value(plan)
    together = Partition(np.zeros(table.n_rows, np.int32), 1)
    for whole in wholes:
        model = whole.model
        if isinstance(model, PopulationRisk):
            reached = float(n_people == 1)
            if model.kind != "uniques":
                reached = model.fraction(n_people) / n_people
            kept = reached <= model.limit * (1 + TOLERANCE)
        else:
            assert whole.population is not None
            reached = float(whole.population.count(table, together)[0])
            kept = isinstance(model, KMap) and reached >= model.k
            if isinstance(model, DeltaPresence):
                everybody = reached >= whole.population.total
                reached = n_people / reached if reached else np.inf
                kept = reached <= model.delta_max + TOLERANCE
                if kept and model.delta_min > 0:
                    reached = reached if everybody else 0.0  # somebody is covered by no cell
                    kept = reached >= model.delta_min - TOLERANCE
        if not kept:
            raise PromiseError(
                f"The promise of {model.label} cannot be kept: one group of all rows reaches "
                f"{reached:.4g}."
            )


def _every_value(plan: Plan) -> EncodedTable:
    """Return a table in which every value of every column occurs, for what all rows cover."""
    missing = plan.request.missing == "category"
    values = [
        each.size if cells is None else len(cells) - 1
        for each, cells in zip(plan.attributes, plan.cells, strict=True)
    ]
    sizes = [
        max(size + (each.has_missing and missing), 1)
        for each, size in zip(plan.attributes, values, strict=True)
    ]
    n_rows = max(sizes)
    attributes = []
    for number, (each, size) in enumerate(zip(plan.attributes, sizes, strict=True)):
        own, original = np.arange(n_rows) % size, None
        codes = narrow(own, each.size)
        if plan.cells[number] is not None:
            original = narrow(own, values[number])
            codes = narrow(plan.cell_of(number)[own], each.size)
        attributes.append(replace(each, codes=codes, original=original))
    return EncodedTable(n_rows, tuple(attributes), ())
