"""Verifies promises about a release as a whole, from its published cells and counts by Spark.

Nothing here knows how the groups were made, nor the codes of the search: cells are opened as anyone
opens them (`shoal.release_reader`), and compared with a population as it was given. Spark counts
the rows and people of each group; the different cells of a column are opened once on the driver;
whom each group covers is found in workers, some thousand groups at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.session import column, guarded, load_functions
from shoal.errors import DataError, OptionError, PromiseError, did_you_mean
from shoal.messages import Message
from shoal.privacy.base import TOLERANCE
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.k_map import KMap
from shoal.privacy.population import Population
from shoal.privacy.population_risk import PopulationRisk
from shoal.publish.predicates import judge_counts
from shoal.publish.verify import Check, whole_check
from shoal.release_reader.classes import (
    SLACK,
    Classes,
    different_people,
    open_cells,
    people_title,
    promises_about_all,
    values_of,
)
from shoal.release_reader.columns import source_names
from shoal.table.encode import EncodedTable, narrow
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.engine.spark.plan import Plan
    from shoal.privacy import PrivacyModel
    from shoal.publish.recode import Style
    from shoal.publish.verify import WholePromise
    from shoal.release_reader.classes import People
    from shoal.release_reader.columns import OpenColumn
    from shoal.table.schema import Schema


# The population of a promise: counted, put into codes once on the driver, and sent to workers.
#
# What is kept of a population is how many people have each combination of quasi-identifiers, for
# `MOST_COMBINATIONS` of them at most. A population that is a table of Spark is counted by Spark.

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
            "The population has more than {most_combinations:,} different combinations of "
            "quasi-identifiers, more than every worker can be given; use fewer "
            "quasi-identifiers, or coarser values in both tables.",
            most_combinations=MOST_COMBINATIONS,
        )
    return people


def _counted_by_spark(frame: Any, counts: str | None, names: Sequence[str]) -> Any:
    """Return the combinations of a population that is a table of Spark."""
    import polars as pl

    functions = load_functions()
    for name in (*names, *([] if counts is None else [counts])):
        if name not in frame.columns:
            what = Message(" of counts") if name == counts else ""
            hint = did_you_mean(name, frame.columns)
            raise OptionError(
                "The population has no column {name!r}{what}.{hint}",
                name=name,
                what=what,
                hint=hint,
            )
    number = functions.lit(1).cast("long")
    if counts is not None:
        kind = frame.schema[counts].dataType.simpleString()
        whole = kind in ("tinyint", "smallint", "int", "bigint")
        own = column(counts)
        if not whole or frame.filter(own.isNull() | (own < 0)).limit(1).count():
            raise DataError(
                "Column {counts!r} of the population must say how many people each row stands "
                "for, in whole numbers of at least 0.",
                counts=counts,
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
                "The promise of {label} cannot be kept: one group of all rows reaches "
                "{reached:.4g}.",
                label=model.label,
                reached=reached,
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


MOST_CELLS = 1_000_000
"""So many different cells of a column may come to the driver to be opened."""
SHARE_GROUPS = 5_000
"""About so many groups are compared with the population at a time."""
ONE = 10**12
"""Chances are added up as whole numbers, whichever worker is first: this is 1."""
MOST = 10**6
"""More than this is not told apart from it."""


@dataclass(frozen=True, eq=False)
class AboutAll:
    """Promises about a release as a whole.

    Attributes:
        models: the promises; populations are tables of counts.
        schema: how the columns were generalised.
        style: how cells are written.
    """

    models: tuple[PrivacyModel, ...]
    schema: Schema
    style: Style


@dataclass(frozen=True, eq=False)
class _Opened:
    """What workers are told to find out whom a group covers.

    Attributes:
        columns: the quasi-identifiers, opened.
        cells: of each the different cells, as they are numbered there.
        places: of each the columns that hold it.
        people: the different combinations of the population.
        many: how many people have each.
    """

    columns: tuple[OpenColumn, ...]
    cells: tuple[pl.DataFrame, ...]
    places: tuple[tuple[str, ...], ...]
    people: People
    many: NDArray[np.float64]

    def classes(self, groups: pl.DataFrame) -> Classes:
        """Return groups, one line each, as classes of a release."""
        found = []
        for cells, names in zip(self.cells, self.places, strict=True):
            own = groups.select(names).join(
                cells, on=names, how="left", nulls_equal=True, maintain_order="left"
            )
            found.append(own.get_column("code").to_numpy().astype(np.int64))
        n = groups.height
        return Classes(self.columns, np.stack(found, axis=1), np.arange(n), np.ones(n, np.int64))


def check_all(
    frame: Any, keys: Sequence[Any], about: AboutAll, person: str | None
) -> tuple[list[Check], Any, Any]:
    """Judge promises about a release as a whole.

    Args:
        frame: the published table.
        keys: what tells groups apart.
        about: the promises.
        person: the column that tells people apart, if they are counted.

    Returns:
        What was found; a table of the groups (by a hash of their keys, ``own``) that break a
        promise, or None; and what is to be forgotten after that was read.
    """
    from pyspark import StorageLevel

    groups = _groups(frame, keys, about.schema, person).persist(StorageLevel.DISK_ONLY)
    checks, broken = [], None
    promises = promises_about_all(about.models, about.schema, about.style)
    for model, promise in zip(about.models, promises, strict=True):
        if isinstance(model, PopulationRisk):
            check, bad = _check_sizes(groups, model, promise)
        else:
            opened = _open(groups, frame.columns, about, model)
            judge: Any = _check_map if isinstance(model, KMap) else _check_presence
            check, bad = judge(groups, opened, model, promise)
        checks.append(check)
        if bad is not None:
            broken = bad if broken is None else broken.unionByName(bad)
    return checks, broken, groups


def _groups(frame: Any, keys: Sequence[Any], schema: Schema, person: str | None) -> Any:
    """Return one line for each group: its cells, rows and people."""
    functions = load_functions()
    one = functions.count(functions.lit(1))
    people = one
    if person is not None:
        people = functions.count_distinct(
            functions.coalesce(column(person), functions.lit(0).cast("long"))
        )
    columns = [name for name in frame.columns if name != person]
    names = [each for name in schema.quasi_identifiers for each in source_names(name, columns)]
    cells = [functions.first(column(name)).alias(f"c{n}") for n, name in enumerate(names)]
    counted = frame.groupBy(*keys).agg(*cells, one.alias("rows"), people.alias("people"))
    own = functions.xxhash64(*(f"k{number}" for number in range(len(keys))))
    titles = [f"c{number}" for number in range(len(names))]
    return counted.select(own.alias("own"), *titles, "rows", "people")


def _check_sizes(groups: Any, model: PopulationRisk, promise: WholePromise) -> tuple[Check, Any]:
    functions = load_functions()
    counted = groups.groupBy("people").agg(
        functions.count(functions.lit(1)).alias("n"), functions.sum("rows").alias("rows")
    )
    found = np.array(sorted(tuple(row) for row in counted.collect()), np.int64)
    size, number, rows = found.T
    reached, kept, broken = judge_counts(model.to_dict(), size, number, rows)
    bad = None
    if not kept:
        bad = groups.filter(functions.col("people").isin(size[broken].tolist())).select("own")
    return whole_check(promise, reached, kept=bool(kept)), bad


def _open(groups: Any, columns: Sequence[str], about: AboutAll, model: Any) -> _Opened:
    """Open the different cells of each column.

    Raises:
        DataError: there are too many.
    """
    import polars as pl

    opened, cells, places, number = [], [], [], 0
    for name in about.schema.quasi_identifiers:
        own = tuple(f"c{number + n}" for n in range(len(source_names(name, columns))))
        number += len(own)
        found = groups.select(*own).distinct().limit(MOST_CELLS + 1).toArrow()
        if found.num_rows > MOST_CELLS:
            raise DataError(
                "Column {name!r} has more than {most_cells:,} different published cells, more "
                "than can be compared with a population; choose a grid, or generalise more.",
                name=name,
                most_cells=MOST_CELLS,
            )
        table = pl.DataFrame(pl.from_arrow(found))
        column_of = open_cells(name, table.get_columns(), about.schema, about.style)
        opened.append(column_of)
        cells.append(table.with_columns(code=pl.Series(column_of.codes)))
        places.append(own)
    people = different_people(model, about.schema.quasi_identifiers)
    nothing = np.zeros((0, len(opened)), np.int64)
    empty = Classes(tuple(opened), nothing, nothing[:, 0], nothing[:, 0])
    return _Opened(
        tuple(opened),
        tuple(cells),
        tuple(places),
        values_of(people, empty, known=False),
        people.to_series(-1).to_numpy().astype(np.float64),
    )


def _in_shares(groups: Any, opened: Any, work: Any, schema: str) -> Any:
    """Return what a function finds in each share of the groups."""
    import polars as pl

    functions = load_functions()
    shares = functions.lit(groups.count() // SHARE_GROUPS + 1).cast("long")
    spread = groups.withColumn("share", functions.pmod("own", shares))

    def judge(rows: Any) -> Any:
        import pyarrow as pa

        given = pl.DataFrame(pl.from_arrow(rows)).sort("own")
        return pa.table(work(opened, given))

    return spread.groupBy("share").applyInArrow(guarded(judge), schema)


def _check_map(
    groups: Any, opened: _Opened, model: KMap, promise: WholePromise
) -> tuple[Check, Any]:
    def count(known: _Opened, given: pl.DataFrame) -> dict[str, Any]:
        classes = known.classes(given)
        fits = (classes.fitted(known.people, c) for c in range(given.height))
        covered = [int(known.many[each].sum()) for each in fits]
        return {"own": given.get_column("own").to_numpy(), "covered": np.array(covered, np.int64)}

    found = _in_shares(groups, opened, count, "own long, covered long").persist()
    try:
        fewest = found.selectExpr("min(covered)").head()[0]
        bad = None
        if fewest < model.k:
            bad = found.filter(f"covered < {model.k}").select("own")
    finally:
        found.unpersist()
    return whole_check(promise, float(fewest), kept=bad is None), bad


def _check_presence(
    groups: Any, opened: _Opened, model: Any, promise: WholePromise
) -> tuple[Check, Any]:
    least, most = model.delta_min - SLACK, model.delta_max + SLACK
    presence, nobody = _presence(groups, opened)
    highest, lowest = float(presence.max(initial=0.0)), float(presence.min(initial=1.0))
    too_low = lowest < least and highest <= most
    reached = lowest if too_low else highest
    if nobody:  # people whom the population does not have
        reached = float("inf")
    if not nobody and not too_low and highest <= most:
        return whole_check(promise, reached, kept=True), None

    def find(known: tuple[_Opened, NDArray[np.float64]], given: pl.DataFrame) -> dict[str, Any]:
        classes = known[0].classes(given)
        fits = (classes.fitted(known[0].people, c) for c in range(given.height))
        if nobody:
            bad = np.array([not each.any() for each in fits], np.bool_)
        else:
            bad = np.array([known[1][each].max(initial=0.0) > most for each in fits], np.bool_)
        return {"own": given.get_column("own").to_numpy()[bad | (too_low and not nobody)]}

    broken = _in_shares(groups, (opened, presence), find, "own long")
    return whole_check(promise, reached, kept=False), broken


def _presence(groups: Any, opened: _Opened) -> tuple[NDArray[np.float64], int]:
    """Return how likely each combination is in the table, and how many groups cover nobody."""

    def add(known: _Opened, given: pl.DataFrame) -> dict[str, Any]:
        classes, chance = known.classes(given), np.zeros(len(known.many))
        nobody = 0
        sizes = given.get_column("people").to_numpy()
        for c in range(given.height):
            fits = classes.fitted(known.people, c)
            covered = known.many[fits].sum()
            if covered:
                chance[fits] += sizes[c] / covered
            else:
                nobody += 1
        inside = np.flatnonzero(chance > 0)
        values = np.rint(np.minimum(chance[inside], MOST) * ONE).astype(np.int64)
        return {"i": np.append(inside, -1), "p": np.append(values, nobody)}

    added = _in_shares(groups, opened, add, "i long, p long")
    found = added.groupBy("i").agg(load_functions().sum("p").alias("p")).toArrow()
    who, chance = (found.column(name).to_numpy() for name in ("i", "p"))
    presence = np.zeros(len(opened.many))
    presence[who[who >= 0]] = chance[who >= 0] / ONE
    return presence, int(chance[who < 0].sum())
