"""Rows on their way through Spark: as codes, in blocks, counted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.block import assign_blocks, encode_batches
from shoal.engine.spark.plan import Columns, whole_column
from shoal.engine.spark.session import column, guarded_batches, load_functions
from shoal.publish.recode import is_wide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.engine.spark.plan import Plan, Rule
    from shoal.publish.recode import Style
    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.schema import Schema


def columns_of(
    schema: Schema, attributes: Sequence[Attribute], key: Sequence[str], *, tuples: bool
) -> Columns:
    """Return names of our own for the columns of a table."""
    kept = [name for name in schema.published if name not in schema.quasi_identifiers]
    return Columns(
        raw=tuple(f"a{number}" for number in range(len(attributes))),
        kept=tuple(f"x{number}" for number in range(len(kept))),
        keys=tuple(f"y{number}" for number in range(len(key))),
        codes=tuple(f"q{number}" for number in range(len(attributes))),
        original=tuple(f"o{n}" for n, each in enumerate(attributes) if each.original is not None),
        sensitive=tuple(f"s{number}" for number in range(len(schema.sensitive))),
        person=schema.person is not None,
        tuples=tuples,
    )


def style_of(attribute: Attribute, style: Style) -> Style:
    """Return how a column is written: one form of intervals for all of it, in every region."""
    if attribute.algebra == "interval" and is_wide(attribute, style):
        return replace(style, interval_format=style.wide_interval_format)
    return style


def unused(name: str, names: Sequence[str]) -> str:
    """Return a name that none of these is, whatever the case of its letters."""
    taken = {each.lower() for each in names}
    while name in taken:
        name += "_"
    return name


def encoded(frame: Any, plan: Plan, key: Sequence[str]) -> Any:
    """Return all rows as codes, beside what is published as it is and the holder's keys."""
    from pyspark.sql import types

    functions, names, schema = load_functions(), plan.columns, plan.schema
    kept = [name for name in schema.published if name not in schema.quasi_identifiers]
    pairs = [
        *zip(schema.quasi_identifiers, names.raw, strict=True),
        *zip(key, names.keys, strict=True),
    ]
    cells = [column(name).alias(title) for name, title in pairs]
    drawn = None  # where a pseudonym will be: the id itself goes no further than the worker
    for name, title in zip(kept, names.kept, strict=True):
        if name == schema.person:
            drawn = title
            continue
        floating = isinstance(frame.schema[name].dataType, types.FloatType | types.DoubleType)
        plain = column(name) + functions.lit(0).cast(frame.schema[name].dataType)
        # of a sensitive value 0.0 and -0.0 are one; Spark counts them as one, too
        cells.append(
            (plain if floating and name in schema.sensitive else column(name)).alias(title)
        )
    if names.person:
        cells.append(column(str(schema.person)).alias("rp"))
    source = frame.select(*cells)
    long, whole = types.LongType(), types.IntegerType()
    fields = [
        types.StructField(n, types.StringType() if n == drawn else source.schema[n].dataType)
        for n in (*names.kept, *names.keys)
    ]
    order = [
        name
        for number, own in enumerate(names.codes)
        for name in ([f"o{number}"] if f"o{number}" in names.original else []) + [own]
    ]
    fields += [types.StructField(name, whole) for name in (*order, *names.sensitive)]
    if names.person:
        fields.append(types.StructField("wt", types.StringType()))
    shared = frame.sparkSession.sparkContext.broadcast(plan)
    work = guarded_batches(lambda batches: encode_batches(shared.value, batches))
    rows = source.mapInArrow(work, types.StructType(fields))
    hashed = [
        (functions.xxhash64(*own) if own else functions.lit(0)).cast(long).alias(title)
        # pseudonyms are others in every run: what is made of the rows does not depend on them
        for own, title in (([n for n in names.kept if n != drawn], "h"), (names.keys, "z"))
    ]
    if names.person:  # nobody knows whose the rows without an id are: one person
        hashed.append(functions.xxhash64(functions.coalesce("wt", functions.lit(""))).alias("w"))
    if names.tuples:
        hashed.append(functions.xxhash64(*names.coded).alias("t"))
    made = {"w", "t", "h", "z"}
    return rows.select(*(n for n in names.carried if n not in made), *hashed).select(*names.carried)


def nothing_missing(plan: Plan) -> Any:
    """Return the condition that no quasi-identifier of a row is missing."""
    functions = load_functions()
    found = functions.lit(True)
    for attribute, name in zip(plan.attributes, plan.columns.codes, strict=True):
        found = found & (functions.col(name) != attribute.size)
    return found


def whole_table(plan: Plan) -> EncodedTable:
    """Return the table without its rows, for what is asked about its columns."""
    names = (*plan.columns.coded, *plan.columns.sensitive)
    codes = {name: np.zeros(0, np.int32) for name in names}
    nobody = np.zeros(0, np.int64) if plan.columns.person else None
    return plan.table(codes, nobody, searched=True)


def with_counts(plan: Plan, rows: Any) -> Plan:
    """Return the plan with how many of these rows (or people) have each sensitive value."""
    wholes = []
    for number, each in enumerate(plan.sensitive):
        own = f"s{number}"
        merged = None if each.merging is None else each.merging.merged
        cleaned = None
        if plan.columns.person and merged is not None:
            # a person who has a value in two spellings counts once for it after cleaning
            size = int(merged.max(initial=-1)) + 1
            cleaned = _counts(plan, _with_merged(rows, own, merged), "merged", size)
        wholes.append(whole_column(each, _counts(plan, rows, own, each.size), cleaned))
    return replace(plan, sensitive=tuple(wholes))


def _with_merged(rows: Any, code: str, merged: NDArray[np.integer[Any]]) -> Any:
    """Return people and codes after cleaning."""
    import pyarrow as pa

    known = pa.table({code: np.arange(len(merged), dtype=np.int32), "merged": merged})
    table = rows.sparkSession.createDataFrame(known)
    return rows.select(code, "w").distinct().join(load_functions().broadcast(table), code)


def _counts(plan: Plan, rows: Any, code: str, size: int) -> NDArray[np.int64]:
    """Return how many rows (or people) have each code."""
    functions = load_functions()
    how = functions.count_distinct("w") if plan.columns.person else functions.count("*")
    counted = rows.groupBy(code).agg(how.alias("n")).toArrow()
    counts = np.zeros(size, np.int64)
    counts[counted.column(0).to_numpy()] = counted.column(1).to_numpy()
    return counts


def tuple_sizes(plan: Plan, rows: Any, by: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return how many rows (or people) share all quasi-identifiers, and how often that is so.

    Args:
        plan: whether people are counted.
        rows: those that are published.
        by: what tells tuples apart.
    """
    functions = load_functions()
    number = functions.count(functions.lit(1))
    if plan.columns.person:
        number = functions.count_distinct("w")
    found = rows.groupBy(*by).agg(number.alias("n")).groupBy("n").count()
    return tuple(sorted((row["n"], row["count"]) for row in found.collect()))


def placed_rows(plan: Plan, rows: Any, rule: Rule) -> Any:
    """Return rows with their block; where one tuple is dealt to several, equal rows as one."""
    from pyspark.sql import types

    functions, names = load_functions(), plan.columns
    if rule.n_blocks == 1:
        return rows.withColumn("b", functions.lit(0).cast("long"))
    shared = rows.sparkSession.sparkContext.broadcast(rule)
    n_codes = len(names.codes)
    added = [types.StructField(name, types.LongType()) for name in ("b", "pieces")]
    work = guarded_batches(lambda given: assign_blocks(shared.value, n_codes, given))
    placed = rows.mapInArrow(work, types.StructType([*rows.schema.fields, *added]))
    if not (rule.pieces > 1).any():
        return placed.drop("pieces")
    if names.person:  # all rows of a person stay together
        dealt = functions.expr(f"b + pmod(xxhash64(w, {plan.seed % (1 << 31)}), pieces)")
        return placed.withColumn("b", dealt).drop("pieces")
    single = (
        placed.filter("pieces = 1").drop("pieces").withColumn("m", functions.lit(1).cast("long"))
    )
    carried = list(names.carried)
    # equal rows are dealt evenly, beginning anywhere: rows that occur once are spread by their hash
    start = functions.pmod(functions.xxhash64("h", "z", *names.sensitive), functions.col("pieces"))
    alike = (
        placed.filter("pieces > 1")
        .groupBy(*carried, "b", "pieces")
        .agg(functions.count(functions.lit(1)).alias("all"))
        .withColumn("start", start)
        .withColumn("piece", functions.explode(functions.expr("sequence(0L, pieces - 1)")))
        .withColumn(
            "m",
            functions.expr(
                "(all * (piece + 1) + start) div pieces - (all * piece + start) div pieces"
            ),
        )
        .filter("m > 0")
        .select(*carried, functions.expr("b + piece").alias("b"), "m")
    )
    return single.select(*carried, "b", "m").unionByName(alike)
