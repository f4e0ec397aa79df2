"""Published columns that can undo a release, and signs that rows are not people, on Spark.

What can be counted is counted where the rows are. What has to be looked at as a whole (names of
people, a panel without an id, a column that follows from another) is looked for on the driver, in
the first rows that Spark gives.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.check import SHARE_GROUPS, count_values
from shoal.engine.spark.session import column, frame_of_rows, guarded, load_functions
from shoal.errors import DataError
from shoal.profile.repeated_people import find_signs, says_whose, worth_a_look
from shoal.publish.cells import columns_needed, number_groups, pack_rows
from shoal.publish.danger import NEARLY_ALL, find_related, says_nearly_unique
from shoal.publish.judgement import Doubt, OpenPoint
from shoal.publish.reader_view import (
    GroupSizes,
    ReaderView,
    SensitiveFacts,
    merged_facts,
    part_of_facts,
    read_by_people,
)
from shoal.publish.recode import published_names
from shoal.table.encode import encode
from shoal.table.relations import FEWEST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from shoal.engine.spark.plan import Plan
    from shoal.engine.spark.regions import Named
    from shoal.settings.request import Request
    from shoal.table.schema import Schema


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
