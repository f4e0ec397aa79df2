"""What a region tells about itself, and what the sums of all regions say: scores and facts.

A tally is text of a kilobyte: sums of rows and costs, and some groups for a picture. Sums are added
in the order of the regions, so that they do not depend on who was first. How many rows publish each
closure of a column is added up by Spark, and of each column at most `MOST_CLOSURES` come to the
driver.

What can undo a release, and signs that rows are not people, is counted where the rows are, if it
can be counted. What has to be looked at as a whole (names of people, a panel without an id, a
column that follows from another) is looked for on the driver, in the first rows that Spark gives.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shoal.engine.spark.check import SHARE_GROUPS, count_values
from shoal.engine.spark.session import column, frame_of_rows, guarded, load_functions
from shoal.errors import DataError
from shoal.measure.base import CostMeasure, Grouped, pick_target
from shoal.measure.scores import Scores, create_cost_measure
from shoal.measure.sse import error_of
from shoal.profile.repeated_people import find_signs, says_whose, worth_a_look
from shoal.publish.aggregates import Facts, GroupedColumn, column_facts, heat_of, publishes_centres
from shoal.publish.cells import columns_needed, number_groups, pack_rows
from shoal.publish.danger import FEWEST_ROWS, NEARLY_ALL, find_related, one_each, says_nearly_unique
from shoal.publish.judgement import Doubt, OpenPoint
from shoal.publish.loss import scores_of_columns
from shoal.publish.reader_view import (
    GroupSizes,
    ReaderView,
    SensitiveFacts,
    merged_facts,
    part_of_facts,
    read_by_people,
)
from shoal.publish.recode import published_names
from shoal.table.closure import (
    CLOSURES,
    IntervalClosures,
    group_centres,
    shown,
    shown_algebra,
)
from shoal.table.encode import EncodedTable, encode
from shoal.table.partition import SUPPRESSED, Partition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.engine.spark.plan import Named, Plan
    from shoal.settings.request import Request
    from shoal.table.encode import Attribute
    from shoal.table.schema import Schema
    from shoal.table.sensitive import Sensitive

_MEANS = "sse"
_COSTS = ("ncp", "lm", "suppression", "mi")
MOST_CLOSURES = 100_000
"""Of each column the most frequent closures, so many, come to the driver for the report."""
_AT_ONCE = 4_000_000
"""Costs of a group and a sensitive value that are computed at the same time."""
_HEAT_GROUPS = 20_000
"""So many groups are looked at for the picture of where the loss is."""


def tally(
    plan: Plan, region: int, table: EncodedTable, partition: Partition, left_out: EncodedTable
) -> tuple[str, str]:
    """Return what a region tells: its published rows in groups, and rows that are left out.

    Returns:
        Sums, and counts that Spark adds up: of closures of each column, and (numbered from −1
        down) of values of rows that are left out.
    """
    target = _target(plan, table)
    grouped = Grouped(table, partition, target)
    told: dict[str, Any] = {
        "region": region,
        "rows": partition.n_rows,
        "left out": left_out.n_rows,
        "groups": partition.n_groups,
        "squares": int(np.sum(partition.sizes**2)),
        "costs": {name: _costs(plan, name, grouped, left_out) for name in _measures(plan)},
    }
    counts: list[dict[str, Any]] = []
    for number, attribute in enumerate(left_out.attributes):
        gone = np.unique(attribute.codes, return_counts=True)
        counts += [
            {"c": -1 - number, "s": str(code), "n": int(rows)}
            for code, rows in zip(*gone, strict=True)
        ]
    if target is not None and partition.n_groups:
        histogram = grouped.histogram[:-1]
        told["majority"] = int(histogram.max(axis=1).sum())
        told["entropy"] = _entropies(histogram)
    errors = _errors(plan, table, partition, left_out)
    if errors is not None:
        told["errors"] = errors
    step = max(1, -(-partition.n_groups // max(plan.shown, 1)))
    chosen = np.arange(0, partition.n_groups, step)
    told["seen"] = [partition.sizes[chosen].tolist()]
    for number, attribute in enumerate(table.attributes):
        closures = shown(attribute, partition)
        shapes, place = closures.shapes(partition.n_groups)
        rows = np.bincount(place, weights=partition.sizes, minlength=len(shapes))
        counts += [
            {"c": number, "s": json.dumps(shape), "n": int(n)}
            for shape, n in zip(shapes, rows, strict=True)
        ]
        if _has_centres(plan, number):
            assert isinstance(closures, IntervalClosures)
            counts += _centres(plan, number, attribute, closures, partition)
        loss = closures.published_loss(plan.attributes[number], partition.n_groups)
        told["seen"].append(loss[chosen].tolist())
    return json.dumps(told), json.dumps(counts)


def _entropies(histogram: NDArray[np.int64]) -> float:
    """Return the sum of the entropies of groups, some of them at a time."""
    step, parts = max(1, _AT_ONCE // histogram.shape[1]), []
    for at in range(0, len(histogram), step):
        own = histogram[at : at + step]
        share = own / own.sum(axis=1, keepdims=True)
        logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
        parts.append(float(-np.sum(share * logs)))
    return math.fsum(parts)


def _has_centres(plan: Plan, number: int) -> bool:
    return publishes_centres(plan.attributes[number], plan.request.style)


def _centres(
    plan: Plan,
    number: int,
    attribute: Attribute,
    closures: IntervalClosures,
    partition: Partition,
) -> list[dict[str, Any]]:
    """Return the means or medians that a column publishes, and how many rows have each."""
    how: Literal["mean", "median"] = "mean" if plan.request.style.numeric == "mean" else "median"
    centre = group_centres(attribute, closures, partition, how)
    shown = ~np.isnan(centre)
    values, place = np.unique(centre[shown], return_inverse=True)
    rows = np.bincount(place, weights=partition.sizes[shown], minlength=len(values))
    name = len(plan.attributes) + number
    return [
        {"c": name, "s": json.dumps(value), "n": int(n)}
        for value, n in zip(values.tolist(), rows, strict=True)
    ]


def told_by_regions(finished: Any) -> tuple[list[str], list[tuple[int, str, int]]]:
    """Return what all regions told: sums of each, and counts that Spark has added up."""
    from pyspark.sql import Window

    functions = load_functions()
    told = finished.filter("told is not null").select("told").toArrow().column(0).to_pylist()
    kind = "array<struct<c:int,s:string,n:bigint>>"
    each = functions.explode(functions.from_json("counts", kind)).alias("each")
    counted = (
        finished.filter("counts is not null")
        .select(each)
        .groupBy(functions.col("each.c").alias("c"), functions.col("each.s").alias("s"))
        .agg(functions.sum("each.n").alias("n"))
    )
    order = Window.partitionBy("c").orderBy(functions.desc("n"), "s")
    place = functions.row_number().over(order)
    most = counted.withColumn("place", place).filter(f"c < 0 or place <= {MOST_CLOSURES}")
    rows = most.select("c", "s", "n").toArrow()
    return told, list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def _target(plan: Plan, table: EncodedTable) -> Sensitive | None:
    """Return the sensitive column that measures look at."""
    if plan.target is not None:
        return plan.target.of(table, searched=False)
    return pick_target(table, plan.request.measure_options)


def _measures(plan: Plan) -> list[str]:
    of_target = ("pmi",) if plan.target is not None else ()
    found = dict.fromkeys((plan.request.measure, *_COSTS, *of_target))
    found.pop(_MEANS, None)
    return list(found)


def _errors(
    plan: Plan, table: EncodedTable, partition: Partition, left_out: EncodedTable
) -> list[float] | None:
    """Return the squared error of each column of numbers, where it is asked for."""
    if not _of_means(plan):
        return None
    nobody = Partition(np.full(left_out.n_rows, SUPPRESSED, np.int32), 0)
    return [
        error_of(attribute, partition, whole) + error_of(gone, nobody, whole)
        for attribute, gone, whole in zip(
            table.attributes, left_out.attributes, plan.deviations, strict=True
        )
        if whole is not None
    ]


def _of_means(plan: Plan) -> bool:
    """Return whether the squared error of means is scored, as on one machine."""
    asked = plan.request.measure == _MEANS or plan.request.style.numeric == "mean"
    return asked and any(whole is not None for whole in plan.deviations)


def measures_of(plan: Plan) -> dict[str, CostMeasure]:
    """Return the measures that are sums over rows: the one that was asked for, and the usual."""
    return {name: _measure(plan, name) for name in _measures(plan)}


def _costs(plan: Plan, name: str, grouped: Grouped, left_out: EncodedTable) -> list[list[float]]:
    """Return of each column the cost of published rows less its constant, and of a lost cell."""
    measure = _measure(plan, name)
    target = lost = None
    if measure.needs_sensitive:
        target, lost = grouped.require_target(), _target(plan, left_out)
    result = []
    for attribute, closures, gone in zip(
        grouped.table.attributes, grouped.closures, left_out.attributes, strict=True
    ):
        form = measure.form(attribute, target, grouped.table)
        constant = measure.constant_of_part(attribute) + measure.constant_of_part(gone)
        if lost is None:
            cost = form.cost(closures)
            total = float(np.sum(grouped.partition.sizes * cost[:-1]))
            result.append([total - constant, float(cost[-1])])
            continue
        # what a lost cell costs depends on the row, so that it is added here; it comes last
        gone_rows = np.bincount(lost.codes, minlength=lost.size)
        rows = np.concatenate((grouped.histogram[:-1], gone_rows[None, :]))
        step = max(1, _AT_ONCE // lost.size)
        total = math.fsum(
            float(np.sum(rows[at : at + step] * form.cost(closures.part(at, at + step))))
            for at in range(0, len(rows), step)
        )
        result.append([total - constant, 0.0])
    return result


def _measure(plan: Plan, name: str) -> CostMeasure:
    asked = name == plan.request.measure
    return create_cost_measure(name, plan.request.measure_options if asked else None)


class Tallies:
    """What all regions told, in the order of their numbers."""

    def __init__(
        self, plan: Plan, told: Sequence[str], counts: Sequence[tuple[int, str, int]]
    ) -> None:
        self.plan = plan
        self.told = sorted((json.loads(each) for each in told), key=lambda each: each["region"])
        self.counts: dict[int, dict[Any, int]] = {}
        for number, shape, rows in counts:
            read = json.loads(shape)
            key = tuple(read) if isinstance(read, list) else read
            self.counts.setdefault(number, {})[key] = rows
        self.n_published = self._sum("rows")
        self.n_suppressed = self._sum("left out")
        self.n_rows = self.n_published + self.n_suppressed
        self.n_groups = self._sum("groups")

    def _sum(self, what: str) -> int:
        return sum(each.get(what, 0) for each in self.told)

    def scores(self) -> Scores:
        """Return what was lost, of all rows."""
        attributes = self.plan.attributes
        weights = np.array([a.weight for a in attributes])
        values: dict[str, float] = {}
        by_column: dict[str, dict[str, float]] = {}
        for name in _measures(self.plan):
            measure = _measure(self.plan, name)
            columns = {}
            for number, attribute in enumerate(attributes):
                parts = [each["costs"][name][number] for each in self.told]
                lost = parts[0][1] * self.n_suppressed
                total = max(math.fsum(part[0] for part in parts) + lost, 0.0)
                columns[attribute.name] = total / self.n_rows if measure.per_cell else total
            total = float(np.sum(weights * np.array(list(columns.values()))))
            values[name] = total / float(weights.sum()) if measure.per_cell else total
            by_column[name] = columns
        values["dm"] = float(self._sum("squares") + self.n_suppressed * self.n_rows)
        values["average-class-size"] = self.n_published / max(self.n_groups, 1)
        if self.plan.sensitive:
            values["cm"] = 1.0 - self._sum("majority") / self.n_rows
            entropy = math.fsum(each.get("entropy", 0.0) for each in self.told)
            values["entropy-diversity"] = entropy / max(self.n_groups, 1) + 0.0
        if _of_means(self.plan):
            columns = self._error_shares()
            numbers = [a.weight for a in attributes if a.name in columns]
            error = float(np.average(list(columns.values()), weights=numbers))
            first = self.plan.request.measure == _MEANS
            values = {_MEANS: error, **values} if first else {**values, _MEANS: error}
            by_column[_MEANS] = columns
        return Scores(values, by_column)

    def _error_shares(self) -> dict[str, float]:
        """Return the squared error of each column of numbers, as a share of the total."""
        pairs = zip(self.plan.attributes, self.plan.deviations, strict=True)
        numbers = [(a.name, whole) for a, whole in pairs if whole is not None]
        return {
            name: whole.share(math.fsum(each["errors"][place] for each in self.told))
            for place, (name, whole) in enumerate(numbers)
        }

    def facts(self, tuple_sizes: tuple[tuple[int, int], ...]) -> Facts:
        """Return aggregates for the report."""
        plan, request = self.plan, self.plan.request
        table = EncodedTable(0, plan.attributes, ())
        columns, closures, sizes = [], [], []
        for number, attribute in enumerate(plan.attributes):
            known = self.counts.get(number, {})
            order = sorted(known)
            closed = CLOSURES[shown_algebra(attribute)].of_shapes(attribute, order)
            counts = np.array([known[shape] for shape in order], np.int64)
            loss = closed.published_loss(attribute, len(order))
            before = attribute.counts.copy()
            for code, gone in self.counts.get(-1 - number, {}).items():
                before[code] -= gone
            centres, style = self._centres(number), plan.styles[number]
            column = GroupedColumn(
                attribute, closed, counts, before, centres, int(request.k), style
            )
            columns.append(column_facts(column, loss))
            closures.append(closed)
            sizes.append(counts)
        heat, rows = self._heat()
        scores = scores_of_columns(table, closures, sizes, self.n_suppressed, request.style)
        return Facts(tuple(columns), tuple_sizes, heat, rows, scores)

    def _centres(self, number: int) -> pl.DataFrame | None:
        """Return the means or medians that a column publishes; None if it publishes none."""
        import polars as pl

        if not _has_centres(self.plan, number):
            return None
        known = self.counts.get(len(self.plan.attributes) + number, {})
        values = pl.Series("value", list(known), dtype=pl.Float64)
        return pl.DataFrame([values, pl.Series("count", list(known.values()), dtype=pl.Int64)])

    def _heat(self) -> tuple[tuple[tuple[float, ...], ...], tuple[int, ...]]:
        """Return where the loss is, from the groups that were shown; all of them if few."""
        sizes: list[int] = []
        found: list[list[float]] = [[] for _ in self.plan.attributes]
        for each in self.told:
            sizes += each["seen"][0]
            for number, losses in enumerate(found):
                losses.extend(each["seen"][number + 1])
        weights = np.array([a.weight for a in self.plan.attributes])
        counts = np.array(sizes, np.int64)
        heat, rows = heat_of(np.array(found).reshape(len(found), -1), counts, weights)
        share = self.n_published / max(int(counts.sum()), 1)
        return heat, tuple(round(each * share) for each in rows)


def shown_groups(n_regions: int) -> int:
    """Return how many groups a region shows."""
    return max(1, _HEAT_GROUPS // max(n_regions, 1))


# What a reader sees in a published table of Spark: for the report, and to be kept.
#
# Spark counts groups and the sensitive values in each; workers make facts of some thousand groups
# at a time, as the report of one machine makes them of all, and the driver puts these together.

MOST_KEPT = 1_000_000
"""So many groups may be kept in a file: their cells have to fit the driver."""
DIGITS = 3
"""Entropies of groups come to the driver with so many digits: some thousand different ones."""


def view_on_spark(frame: Any, schema: Schema, people: Named | None) -> ReaderView:
    """Return how large the groups are and what they tell about sensitive columns.

    Args:
        frame: the published table.
        schema: the roles of its columns.
        people: the published rows with their people, where people are counted.
    """
    functions = load_functions()
    names = columns_needed(frame.columns, list(schema.quasi_identifiers))
    keys = [column(name).alias(f"k{number}") for number, name in enumerate(names)]
    number = functions.count(functions.lit(1))
    sizes = frame.groupBy(*keys).agg(number.alias("size")).groupBy("size").count().collect()
    found = GroupSizes(tuple(sorted((row["size"], row["count"]) for row in sizes)))
    facts = [_facts(frame, keys, name, found.number) for name in schema.sensitive]
    return ReaderView(found, tuple(facts), singled_out(frame, schema.exact, people))


def singled_out(frame: Any, names: Sequence[str], people: Named | None) -> int:
    """Return how many rows some columns single out: no other row, or person, has their cells."""
    if not names:
        return 0
    functions = load_functions()
    rows, whose = (frame, None) if people is None else (people.frame, people.person)
    cells = [column(name).alias(f"c{number}") for number, name in enumerate(names)]
    who = functions.monotonically_increasing_id() if whose is None else column(whose)
    counted = rows.select(*cells, who.alias("w")).groupBy(*(f"c{n}" for n in range(len(names))))
    number = functions.count(functions.lit(1)).alias("n")
    found = counted.agg(number, functions.min("w").alias("a"), functions.max("w").alias("b"))
    return int(found.filter("a = b").agg(functions.sum("n")).head()[0] or 0)


def _facts(frame: Any, keys: list[Any], name: str, n_groups: int) -> SensitiveFacts:
    """Return what the groups tell about one column."""
    import polars as pl

    functions = load_functions()
    cells = _plain(frame, name)
    n_keys = len(keys)
    one = frame.select(*keys, cells.alias("v"))
    values, rows = count_values(one, "v", name)
    order = pl.DataFrame({"v": values, "n": rows}).sort("n", "v", descending=[True, False])
    values = order.get_column("v").alias(name)
    in_whole = order.get_column("n").to_numpy() / int(rows.sum())
    read = read_by_people(values)
    shares = functions.lit(n_groups // SHARE_GROUPS + 1).cast("long")
    own = [f"k{number}" for number in range(n_keys)]
    counted = one.groupBy(*own, "v").agg(functions.count(functions.lit(1)).alias("n"))
    spread = counted.withColumn("share", functions.pmod(functions.xxhash64(*own), shares))

    def work(given: Any) -> Any:
        import pyarrow as pa

        return pa.table({"told": [json.dumps(_part(given, n_keys, values, in_whole, read))]})

    told = spread.groupBy("share").applyInArrow(guarded(work), "told string").toArrow()
    parts = [json.loads(each) for each in sorted(told.column(0).to_pylist())]
    return merged_facts(name, values, in_whole, parts)


def _plain(frame: Any, name: str) -> Any:
    """Return a column in which what is no number is missing."""
    from pyspark.sql import types

    functions, cells = load_functions(), column(name)
    if isinstance(frame.schema[name].dataType, types.FloatType | types.DoubleType):
        return functions.when(~functions.isnan(cells), cells)
    return cells


def _part(given: Any, n_keys: int, values: pl.Series, in_whole: Any, read: Any) -> dict[str, Any]:
    """In a worker: what some of the groups tell."""
    import polars as pl

    table = pl.DataFrame(pl.from_arrow(given))
    packed = pack_rows([table.get_column(f"k{number}") for number in range(n_keys)])
    known = values.alias("v").to_frame().with_row_index("code")
    cells = table.select(pl.col("v").cast(values.dtype), "n")
    codes = cells.join(known, on="v", how="left", nulls_equal=True, maintain_order="left")
    group = number_groups(packed)[0].astype(np.int64)
    code = codes.get_column("code").to_numpy().astype(np.int64)
    rows = codes.get_column("n").to_numpy().astype(np.int64)
    turn = np.lexsort((code, group))
    sizes = np.bincount(group, weights=rows).astype(np.int64)
    return part_of_facts(group[turn], code[turn], rows[turn], sizes, in_whole, read, DIGITS)


def classes_of(frame: Any, names: Sequence[str], value: str | None = None) -> pl.DataFrame:
    """Return the different cells of some columns (and of a sensitive one), with their rows.

    Raises:
        DataError: there are too many to be kept in a file.
    """
    import polars as pl

    functions = load_functions()
    looked_at = [*names, *([] if value is None else [value])]
    titles = [f"c{number}" for number in range(len(looked_at))]
    cells = [column(name).alias(title) for name, title in zip(looked_at, titles, strict=True)]
    number = functions.count(functions.lit(1))
    most = MOST_KEPT if value is None else 10 * MOST_KEPT
    found = frame.select(*cells).groupBy(*titles).agg(number.alias("n")).limit(most + 1).toArrow()
    if found.num_rows > most:
        raise DataError(
            "The release has more than {most:,} different published cells, which is more than "
            "a file for further rows holds; keep a part of it, or generalise more.",
            most=most,
        )
    return pl.DataFrame(pl.from_arrow(found))


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


def signs_of_first_rows(some: pl.DataFrame, schema: Schema, request: Request) -> list[Doubt]:
    """Return what one machine says of a whole table; of a part, how far was looked.

    Args:
        some: the first rows.
        schema: the roles of the columns.
        request: what is asked.
    """
    found = find_signs(some, schema, request)
    if some.height < MOST_LOOKED_AT:
        return found
    where = f"In the first {some.height:,} rows: "
    return [
        Doubt(f"{where}{each}", _in_part(each, where))
        if each.point.what == "several rows"
        else each
        for each in found
    ]


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
    table = encode(some, schema)
    attributes = [each for each in table.attributes if each.name in known]
    names = [name for name in schema.exact if name not in said]
    rows = np.arange(some.height)
    rows = rows if table.person is None else one_each(rows, table.person)
    return find_related(some, names, attributes, rows)


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
