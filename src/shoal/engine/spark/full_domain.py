"""Full-domain generalisation on Spark: combinations are counted, levels chosen, rows raised.

The search of `shoal.algorithm.incognito` looks at different combinations of values and how many
rows have each. Spark counts them, by partial sums, so that one combination which most rows share is
as little work as any. The counts come to the driver, `MOST_LINES` of them at most, and the same
search as on one machine chooses a level for every column. That goes out as a small rule, and rows
are raised where they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.algorithm.incognito import LatticeSearch, LevelLattice
from shoal.engine.spark.block import run_of
from shoal.engine.spark.domain import count_joint, whole_table
from shoal.engine.spark.regions import finished_types
from shoal.engine.spark.session import guarded_batches, load_functions, needs_target
from shoal.engine.spark.tally import MOST_CLOSURES, Tallies, measures_of, shown_groups
from shoal.errors import DataError
from shoal.measure.base import picked_columns
from shoal.messages import Message
from shoal.publish.recode import published_cells, published_names
from shoal.table.closure import TreeClosures
from shoal.table.encode import EncodedTable, narrow
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from shoal.engine.spark.plan import Plan
    from shoal.measure.base import CostMeasure
    from shoal.table.encode import Attribute


# What a full-domain release tells: the same sums as regions tell, from counts on the driver.
#
# How mixed the sensitive values of each group are is counted by Spark. Its sums are of whole
# numbers, so that they do not depend on who was first.

BITS = 32
"""Logarithms are added as whole numbers with so many bits behind the point."""


def told_by_levels(plan: Plan, chosen: Chosen, rows: Any, finished: Any) -> Tallies:
    """Return the sums of a full-domain release.

    Args:
        plan: what was asked.
        chosen: groups, and what they publish.
        rows: all rows as codes.
        finished: the published rows, with groups.

    Raises:
        DataError: the table is not the one that was counted.
    """
    counted = finished.selectExpr("count(*)", "count_if(g >= 0)").head()
    n_rows, n_published = int(counted[0]), int(counted[1])
    if n_published != int(chosen.sizes.sum()):
        raise DataError(
            "The table had {n:,} rows to publish at first and {n_published:,} in the end; "
            "give a table that stays the same while it is read (write it down first).",
            n=int(chosen.sizes.sum()),
            n_published=n_published,
        )
    joint = None
    if plan.target is not None:
        placed = placed_codes(plan, rows, chosen.levels)
        sizes = [width + 1 for width in chosen.levels.widths]
        joint = count_joint(plan, placed, plan.target, sizes)
    measures = measures_of(plan).items()
    shown = np.arange(0, len(chosen.sizes), max(1, -(-len(chosen.sizes) // shown_groups(1))))
    told: dict[str, Any] = {
        "region": 0,
        "rows": n_published,
        "left out": n_rows - n_published,
        "groups": len(chosen.sizes),
        # whole numbers of any length, as Python has them
        "squares": sum(int(size) ** 2 for size in chosen.sizes),
        "costs": {name: _costs(plan, chosen, each, joint) for name, each in measures},
        "seen": [chosen.sizes[shown].tolist()],
        **_mixed(plan, finished),
    }
    counts: list[tuple[int, str, int]] = []
    for number, attribute in enumerate(plan.attributes):
        nodes, often = _nodes(chosen, number)
        order = np.lexsort((nodes, -often))[:MOST_CLOSURES]
        counts += [(number, str(nodes[at]), int(often[at])) for at in order.tolist()]
        gone = attribute.counts - chosen.published[number]
        counts += [(-1 - number, str(code), int(gone[code])) for code in np.flatnonzero(gone)]
        closures = _closed(attribute, chosen.nodes[shown, number])
        told["seen"].append(closures.published_loss(attribute, len(shown)).tolist())
    return Tallies(plan, [json.dumps(told)], counts)


def _nodes(chosen: Chosen, number: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the nodes that a column publishes, and how many rows publish each."""
    nodes, place = np.unique(chosen.nodes[:, number], return_inverse=True)
    return nodes, np.bincount(place, chosen.sizes, len(nodes)).astype(np.int64)


def _closed(attribute: Attribute, nodes: NDArray[np.int32]) -> TreeClosures:
    taxonomy = attribute.taxonomy
    assert taxonomy is not None
    every = np.append(nodes, taxonomy.root).astype(np.int32)
    return TreeClosures(every, taxonomy.n_leaves, taxonomy.n_nodes)


def _costs(
    plan: Plan, chosen: Chosen, measure: CostMeasure, joint: Sequence[NDArray[np.int64]] | None
) -> list[list[float]]:
    """Return of each column the cost of published rows less its constant, and of a lost cell.

    ``joint`` says of each column how many rows publish each of its nodes (left out: last) and have
    each sensitive value. What a lost cell costs depends on the row then, so that it is added here.
    """
    whole, result = EncodedTable(0, plan.attributes, ()), []
    for number, attribute in enumerate(plan.attributes):
        nodes, rows = _nodes(chosen, number)
        closures = _closed(attribute, nodes)
        if measure.needs_sensitive:
            assert plan.target is not None
            assert joint is not None
            cost = measure.form(attribute, plan.target.scored, whole).cost(closures)
            total, lost = float(np.sum(joint[number] * cost)), 0.0
        else:
            cost = measure.form(attribute, None, whole).cost(closures)
            total, lost = float(np.sum(rows * cost[:-1])), float(cost[-1])
        result.append([total - _constant(measure, attribute), lost])
    return result


def _constant(measure: CostMeasure, attribute: Attribute) -> float:
    """Return the constant of all rows, which is a sum over rows, from how many have each code.

    Rows are taken by powers of two: every code whose number of rows has a bit is one row then.
    """
    total, counts = 0.0, attribute.counts
    for bit in range(int(counts.max(initial=0)).bit_length()):
        codes = np.flatnonzero(counts >> bit & 1)
        once = replace(attribute, codes=narrow(codes, attribute.size), original=None)
        total += float(1 << bit) * measure.constant_of_part(once)
    return total


def _mixed(plan: Plan, finished: Any) -> dict[str, Any]:
    """Return in how many rows groups have their most frequent sensitive value, and entropies."""
    target = picked_columns(plan.sensitive, plan.request.measure_options)
    if not target:
        return {}
    functions = load_functions()
    names = list(published_names(plan.schema, plan.request.style))  # one column each, of trees
    own = [f"f{names.index(column.name)}" for column in target]
    one = functions.lit(float(1 << BITS))
    exact = "decimal(38,0)"
    n = functions.col("n").cast("double")
    groups = (
        finished.filter("g >= 0")
        .groupBy("g", *own)
        .agg(functions.count(functions.lit(1)).alias("n"))
        .withColumn("logs", functions.round(n * functions.log2(n) * one).cast(exact))
        .groupBy("g")
        .agg(
            functions.max("n").alias("most"),
            functions.sum("n").alias("n"),
            functions.sum("logs").alias("logs"),
        )
    )
    entropy = functions.log2(n) * one - functions.col("logs").cast("double") / n
    found = (
        groups.withColumn("entropy", functions.round(entropy).cast(exact))
        .agg(functions.sum("most").alias("most"), functions.sum("entropy").alias("entropy"))
        .head()
    )
    return {"majority": int(found["most"]), "entropy": int(found["entropy"]) / (1 << BITS)}


MOST_LINES = 2_000_000
"""So many different combinations, with what promises look at, may come to the driver."""


@dataclass(frozen=True, eq=False)
class Levels:
    """What every value is raised to, and which combinations of that are published.

    Attributes:
        places: of each column, the place of every code (missing last) among the nodes that it
            publishes; −1 if what it is raised to is not published.
        widths: how many nodes each column publishes.
        known: of each column, the numbers of published beginnings up to there: number of the
            beginning before it times width, plus place. They rise, and their places are numbers.
        cells: what each column publishes for each of its nodes.
    """

    places: tuple[NDArray[np.int32], ...]
    widths: tuple[int, ...]
    known: tuple[NDArray[np.int64], ...]
    cells: tuple[Any, ...]

    def groups_of(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Return the group of each row, −1 if it is left out."""
        number = np.zeros(len(codes[0]), np.int64)
        for own, place, width, known in zip(
            codes, self.places, self.widths, self.known, strict=True
        ):
            here = place[own]
            key = number * width + here  # in the 64 bits of the number
            at = np.minimum(np.searchsorted(known, key), len(known) - 1)
            fits = (number >= 0) & (here >= 0) & (known[at] == key)
            number = np.where(fits, at, -1)
        return number


@dataclass(frozen=True, eq=False)
class Chosen:
    """What the search has chosen.

    Attributes:
        levels: what workers are told.
        nodes: of each group (first axis) and column, the taxonomy node that it publishes.
        sizes: rows of each group.
        published: of each column, how many published rows have each code (missing last).
    """

    levels: Levels
    nodes: NDArray[np.int32]
    sizes: NDArray[np.int64]
    published: tuple[NDArray[np.int64], ...]


def choose_levels(plan: Plan, rows: Any, progress: Callable[[int, int, str], None]) -> Chosen:
    """Return the levels with the least loss that keep all promises.

    Args:
        plan: what is known about the table.
        rows: those that take part, as codes.
        progress: told how far the search is.

    Raises:
        AlgorithmError: a column has no levels.
        DataError: there are too many combinations.
    """
    progress(0, 0, "counting combinations")
    table, times = count_lines(plan, rows)
    # costs that depend on sensitive values are looked up line by line, others by column alone
    known = table if needs_target(plan.request) else whole_table(plan)
    _, run = run_of(plan, known, np.random.default_rng(0), seamed=False)
    allowed = int(plan.request.max_suppression * plan.n_rows)
    run = replace(run, max_suppressed=allowed or None, progress=progress)
    lattice = LevelLattice(table, times)
    search = LatticeSearch(lattice, table, run)
    node = search.best()
    groups = search.publish(node)
    raised = [lattice.levels(j, level) for j, level in enumerate(node)]
    nodes = np.stack([groups.recoded[each.name] for each in plan.attributes], axis=1)
    levels, order = _rule(plan, raised, nodes)
    kept = groups.labels >= 0
    sizes = np.bincount(groups.labels[kept], times[kept], groups.n_groups).astype(np.int64)
    published = tuple(
        np.bincount(each.codes[kept], times[kept], each.size + 1).astype(np.int64)
        for each in table.attributes
    )
    return Chosen(levels, nodes[order], sizes[order], published)


def count_lines(plan: Plan, rows: Any) -> tuple[EncodedTable, NDArray[np.int64]]:
    """Return the different combinations of what the search looks at, and the rows of each.

    That is quasi-identifiers, and sensitive columns if something is promised about them or if the
    measure looks at them. Where people are counted, a combination has a line for every person;
    where no sensitive value is looked at it is enough to know k people of each, and further ones
    stand for no row.

    Raises:
        DataError: there are too many.
    """
    functions, names = load_functions(), plan.columns
    private = _private(plan)
    by, found = [*names.codes, *private], []
    number = functions.count(functions.lit(1)).alias("n")
    if not names.person:
        found.append(rows.groupBy(*by).agg(number))
    elif private:
        found.append(rows.groupBy(*by, "w").agg(number))
    else:
        found += [rows.groupBy(*by).agg(number, functions.min("w").alias("w")), _people(plan, rows)]
    columns = [*by, *(["w"] if names.person else []), "n"]
    parts = [each.select(*columns).limit(MOST_LINES + 1).toArrow() for each in found]
    n_lines = sum(part.num_rows for part in parts)
    if n_lines > MOST_LINES:
        what = Message("different combinations of quasi-identifiers")
        if private:
            what = Message("different combinations of quasi-identifiers and sensitive values")
        if names.person:
            what = Message("{what}, each with its people,", what=what)
        raise DataError(
            "Algorithm 'incognito' needs all {what} on the driver of Spark, and there are "
            "more than the {most_lines:,} that it takes; use fewer quasi-identifiers, a grid "
            "such as 'level 1' for columns of many values, or another algorithm.",
            what=what,
            most_lines=MOST_LINES,
        )
    lines = {
        name: np.concatenate([part.column(name).to_numpy() for part in parts]) for name in columns
    }
    codes = {name: lines[name] for name in by}
    nothing = np.zeros(n_lines, np.int32)
    for name in (*names.sensitive, *names.original):
        codes.setdefault(name, nothing)
    table = plan.table(codes, lines.get("w"), searched=True)
    return table, lines["n"].astype(np.int64)


def _private(plan: Plan) -> list[str]:
    """Return the sensitive columns that promises or the measure look at."""
    table = whole_table(plan)
    about = {column.name for model in plan.request.privacy for column in model.columns(table)}
    if needs_target(plan.request) and plan.target is not None:
        about |= {plan.sensitive[number].name for number in plan.target.numbers}
    pairs = zip(plan.sensitive, plan.columns.sensitive, strict=True)
    return [name for column, name in pairs if column.name in about]


def _people(plan: Plan, rows: Any) -> Any:
    """Return of each combination its people but the first, up to k with that one.

    Who has k people of one combination has enough of them, whoever the others are; and of one that
    has fewer all are known.
    """
    from pyspark.sql import Window

    functions, codes = load_functions(), plan.columns.codes
    order = Window.partitionBy(*codes).orderBy("w")
    people = rows.select(*codes, "w").distinct()
    placed = people.withColumn("place", functions.row_number().over(order))
    # a limit that Spark applies before it moves rows: no worker gets all people of a combination
    few = placed.filter(functions.col("place") <= int(plan.request.k))
    return few.filter("place > 1").withColumn("n", functions.lit(0).cast("long"))


def _rule(
    plan: Plan, raised: Sequence[NDArray[np.int32]], nodes: NDArray[np.int32]
) -> tuple[Levels, NDArray[np.int64]]:
    """Return what workers are told, and the groups in the order of their numbers there."""
    places, widths, known, cells = [], [], [], []
    number = np.zeros(len(nodes), np.int64)
    for j, attribute in enumerate(plan.attributes):
        own, place = np.unique(nodes[:, j], return_inverse=True)
        of_code = np.append(raised[j][: attribute.size], raised[j][-1])
        at = np.minimum(np.searchsorted(own, of_code), len(own) - 1)
        at = np.where(own[at] == of_code, at, -1)
        if plan.request.missing == "suppress":
            at[-1] = -1
        places.append(at.astype(np.int32))
        widths.append(len(own))
        beginnings, number = np.unique(number * len(own) + place, return_inverse=True)
        known.append(beginnings)
        first = np.zeros(len(own), np.int64)
        shown = replace(
            attribute,
            codes=narrow(first, attribute.size),
            original=None if attribute.original is None else first.astype(np.uint32),
        )
        alone = Partition(np.arange(len(own), dtype=np.int32), len(own), {attribute.name: own})
        cells += published_cells(shown, alone, plan.styles[j])
    levels = Levels(tuple(places), tuple(widths), tuple(known), tuple(cells))
    return levels, np.argsort(number)


def placed_codes(plan: Plan, rows: Any, levels: Levels) -> Any:
    """Return rows with places of published nodes instead of codes; those left out come last."""
    from pyspark.sql import types

    names = plan.columns
    chosen = rows.select(*names.codes, *names.sensitive)
    n_codes, kept = len(names.codes), names.sensitive

    def place(batches: Iterator[Any]) -> Iterator[Any]:
        return _place_batches(levels, n_codes, kept, batches)

    fields = [types.StructField(name, types.IntegerType()) for name in chosen.columns]
    return chosen.mapInArrow(guarded_batches(place), types.StructType(fields))


def _place_batches(
    levels: Levels, n_codes: int, kept: Sequence[str], batches: Iterator[Any]
) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches:
        if not batch.num_rows:
            continue
        codes = [batch.column(f"q{number}").to_numpy() for number in range(n_codes)]
        gone = levels.groups_of(codes) < 0
        pairs = zip(codes, levels.places, levels.widths, strict=True)
        places = [np.where(gone, width, place[own]) for own, place, width in pairs]
        parts = [pa.array(each, pa.int32()) for each in places]
        yield pa.RecordBatch.from_arrays(
            [*parts, *(batch.column(name) for name in kept)],
            names=[*(f"q{number}" for number in range(n_codes)), *kept],
        )


def raised_rows(plan: Plan, rows: Any, levels: Levels) -> Any:
    """Return all rows as they are published, with groups, keys and people."""
    fields, types = finished_types(plan, rows.schema)

    def raised(batches: Iterator[Any]) -> Iterator[Any]:
        return _raise_batches(plan, levels, types, batches)

    return rows.mapInArrow(guarded_batches(raised), fields)


def _raise_batches(
    plan: Plan, levels: Levels, types: Sequence[tuple[str, Any]], batches: Iterator[Any]
) -> Iterator[Any]:
    import pyarrow as pa

    names = plan.columns
    own = dict(zip(plan.schema.quasi_identifiers, range(len(names.codes)), strict=True))
    published = published_names(plan.schema, plan.request.style)
    cells = [each.to_arrow() for each in levels.cells]
    for batch in batches:
        if not batch.num_rows:
            continue
        codes = [batch.column(name).to_numpy() for name in names.codes]
        groups = levels.groups_of(codes)
        gone = groups < 0  # nothing of these rows goes on but the keys of their holder
        here = pa.array(np.arange(len(groups)), pa.int64(), mask=gone)
        parts, kept = [], 0
        for name in published:
            if name in own:
                place = levels.places[own[name]][codes[own[name]]]
                parts.append(cells[own[name]].take(pa.array(place, pa.int64(), mask=gone)))
            else:
                parts.append(batch.column(f"x{kept}").take(here))
                kept += 1
        for number, (_, wanted) in enumerate(types):
            if wanted is not None and parts[number].type != wanted:
                parts[number] = parts[number].cast(wanted)
        parts += [batch.column(name) for name in names.keys]
        parts += [batch.column(name).take(here) for name in names.beside]
        titles = [*(name for name, _ in types), *names.keys, *names.beside, "g"]
        yield pa.RecordBatch.from_arrays([*parts, pa.array(groups, pa.int64())], names=titles)
