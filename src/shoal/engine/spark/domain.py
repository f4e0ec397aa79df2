"""The columns of a Spark table, from how often each value occurs, and its rows as their codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from shoal.engine.spark.block import assign_blocks, encode_batches
from shoal.engine.spark.check import count_values
from shoal.engine.spark.plan import Coding, Columns, Target, whole_column
from shoal.engine.spark.session import column, full_domain, guarded_batches, load_functions
from shoal.errors import OptionError
from shoal.measure.base import picked_columns
from shoal.measure.sse import deviation_of, is_number
from shoal.messages import Message
from shoal.publish.recode import is_wide, with_listings
from shoal.table.encode import EncodedTable, encode_sensitive, encode_values
from shoal.table.infer import infer_kinds, notes_on_unknown, settle_grids
from shoal.table.schema import Kind, Role
from shoal.table.sensitive import Sensitive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.engine.spark.plan import Plan, Rule
    from shoal.measure.sse import Deviation
    from shoal.publish.recode import Style
    from shoal.settings.request import Request
    from shoal.table.encode import Attribute
    from shoal.table.schema import Column, Schema

WEIGHED_ROWS = 1_000_000
"""Values are repeated in proportion to their rows, up to so many, to find a grid for them."""


@dataclass(frozen=True, eq=False)
class Domains:
    """The columns of a table, without its rows.

    Attributes:
        schema: kinds and grids are known.
        attributes: the quasi-identifiers.
        sensitive: the sensitive columns.
        codings: code of each value of the quasi-identifiers, before a grid.
        sensitive_codings: the same of the sensitive columns.
        cells: the cell of every value (missing last) of columns on a grid, else None.
        deviations: how far numbers lie from their mean; None for other columns.
    """

    schema: Schema
    attributes: tuple[Attribute, ...]
    sensitive: tuple[Sensitive, ...]
    codings: tuple[Coding, ...]
    sensitive_codings: tuple[Coding, ...]
    cells: tuple[NDArray[np.int32] | None, ...]
    deviations: tuple[Deviation | None, ...]


def find_domains(
    frame: Any, schema: Schema, request: Request, warn: Callable[[str], None]
) -> Domains:
    """Count the values of every quasi-identifier and sensitive column.

    Args:
        frame: the table of Spark.
        schema: roles of its columns.
        request: what is asked.
        warn: what the user should know.

    Raises:
        DataError: a column cannot be used, or has too many values.
        OptionError: a kind or a grid does not fit its column.
    """
    columns: dict[str, Column] = {}
    attributes, codings, cells, deviations = [], [], [], []
    for name in schema.quasi_identifiers:
        values, rows = count_values(frame, name)
        column, attribute = _attribute(schema, name, values, rows, request, warn)
        columns[name] = column
        codes = attribute.as_they_were.astype(np.int32)
        codings.append(Coding(name, values, codes, apart=False))
        cells.append(_cells(attribute))
        deviations.append(_deviation(attribute, codes, rows))
        empty = np.empty(0, attribute.codes.dtype)
        original = None if attribute.original is None else attribute.original[:0]
        attributes.append(replace(attribute, codes=empty, original=original))
    sensitive, sensitive_codings = [], []
    for name in schema.sensitive:
        values, rows = count_values(frame, name)
        if values.dtype.is_float():
            values = values + 0.0
        found = encode_sensitive(values, schema[name].hierarchy)
        counts = np.bincount(found.codes, weights=rows, minlength=found.size).astype(np.int64)
        sensitive_codings.append(Coding(name, values, found.codes, apart=True))
        sensitive.append(replace(found, codes=np.empty(0, np.int32), counts=counts))
    known = tuple(columns.get(each.name, each) for each in schema.columns)
    return Domains(
        replace(schema, columns=known),
        tuple(attributes),
        tuple(sensitive),
        tuple(codings),
        tuple(sensitive_codings),
        tuple(cells),
        tuple(deviations),
    )


def _attribute(
    schema: Schema,
    name: str,
    values: pl.Series,
    rows: NDArray[np.int64],
    request: Request,
    warn: Callable[[str], None],
) -> tuple[Column, Attribute]:
    """Return a column, with its kind and grid, and its values."""
    alone = replace(schema, columns=(schema[name],))
    assert alone.columns[0].role is Role.QUASI_IDENTIFIER
    known = infer_kinds(alone, nw.from_native(values.to_frame()), request.unknown_values)
    for note in notes_on_unknown(alone, known):
        warn(note)
    weighed = _weighed(values, rows).to_frame()
    settled = settle_grids(known, weighed, by_default=request.default_grid)
    column = settled.columns[0]
    attribute = encode_values(values, column, rows)
    # of a flat column people are counted, whom a count of its values does not tell apart
    if column.kind is Kind.FLAT and (schema.person is not None or full_domain(request)):
        return column, attribute
    table = EncodedTable(0, (attribute,), ())
    return column, with_listings(table, request.style, int(request.k)).attributes[0]


def _deviation(
    attribute: Attribute, codes: NDArray[np.int32], rows: NDArray[np.int64]
) -> Deviation | None:
    """Return how far numbers lie from their mean; values come in any order, and are sorted."""
    if not is_number(attribute):
        return None
    order = np.argsort(codes, kind="stable")
    return deviation_of(attribute, codes[order], rows[order])


def _weighed(values: pl.Series, rows: NDArray[np.int64]) -> pl.Series:
    """Return every value as often as rows have it, or less often in proportion."""
    import polars as pl

    total = int(rows.sum())
    times = rows if total <= WEIGHED_ROWS else np.maximum(rows * WEIGHED_ROWS // total, 1)
    order = values.arg_sort().to_numpy()
    return values.gather(pl.Series(np.repeat(order, times[order]), dtype=pl.UInt32))


def _cells(attribute: Attribute) -> NDArray[np.int32] | None:
    """Return the cell of every value of a column on a grid, missing last."""
    if attribute.original is None:
        return None
    if attribute.level is not None:
        return attribute.level.of_leaf
    if attribute.cells is not None and attribute.cells.words is not None:
        # an order may have words, and whole steps, that no row has
        return np.append(list(attribute.cells.words.values()), attribute.size).astype(np.int32)
    assert attribute.original_positions is not None
    found = np.full(len(attribute.original_positions) + 1, attribute.size, np.int32)
    found[attribute.original] = attribute.codes
    found[-1] = attribute.size
    return found


# The sensitive column that measures look at, and how often its values go with all others.
#
# Such measures cost what a closure of a column says about the sensitive value of a row, by how
# often the two occur together in the whole table. Spark counts that once, and every block and
# region is given the counts: so a closure costs the same wherever it is.

MOST_PAIRS = 5_000_000
"""Counts of a value beside a sensitive value; every worker is given as many of all columns."""
MOST_CLASSES = 1_000
"""Different sensitive values; a worker counts them in every group at once."""


def find_target(plan: Plan, rows: Any, taking_part: Any, *, needed: str | None) -> Target | None:
    """Count what the sensitive column that measures look at goes with.

    Args:
        plan: what is asked; its columns are known.
        rows: all rows as codes.
        taking_part: those that are grouped.
        needed: the measure that cannot do without; None if it is only to be scored.

    Returns:
        The column; None if there is none, or if it is not needed and has too many values.

    Raises:
        OptionError: the options name another column, or it is needed and has too many values.
    """
    if not plan.sensitive:
        return None
    chosen = picked_columns(plan.sensitive, plan.request.measure_options)
    numbers = tuple(plan.sensitive.index(each) for each in chosen)
    found = _joined(plan, rows, numbers)
    values = sum(each.size + 1 for each in plan.attributes)
    name = ", ".join(repr(each.name) for each in chosen)
    if found is None or found.searched.size * values > MOST_PAIRS:
        if needed is None:
            return None
        classes = Message("more than {n:,}", n=MOST_CLASSES)
        if found is not None:
            classes = Message("{n:,}", n=found.searched.size)
        raise OptionError(
            "Measure {needed!r} counts on Spark how often each value goes with each of "
            "{name}, at most {most_classes:,} sensitive values and {most_pairs:,} pairs; here "
            "are {classes} sensitive values and {values:,} others: give values in fewer "
            "steps, look at another column (measure_options), or use the engine of one "
            "machine.",
            needed=needed,
            name=name,
            most_classes=MOST_CLASSES,
            most_pairs=MOST_PAIRS,
            classes=classes,
            values=values,
        )
    all_rows = _joint(plan, rows, found)
    search = all_rows if taking_part is rows else _joint(plan, taking_part, found)
    return replace(
        found,
        searched=replace(found.searched, joint=search),
        scored=replace(found.scored, joint=all_rows),
    )


def _joined(plan: Plan, rows: Any, numbers: tuple[int, ...]) -> Target | None:
    """Return the column without what it goes with; None if it has too many values."""
    columns = [plan.sensitive[number] for number in numbers]
    if len(columns) == 1:
        one = replace(columns[0], codes=np.empty(0, np.int32), people=None, of=None)
        return Target(numbers, (), one, one) if one.size <= MOST_CLASSES else None
    names = [f"s{number}" for number in numbers]
    counted = rows.groupBy(*names).count().limit(MOST_CLASSES + 1).toArrow()
    if counted.num_rows > MOST_CLASSES:
        return None
    codes, *others = (counted.column(name).to_numpy().astype(np.int64) for name in names)
    tuples = []
    for other, own in zip(columns[1:], others, strict=True):
        known, codes = np.unique(codes * other.size + own, return_inverse=True)
        tuples.append(known)
    number = counted.column("count").to_numpy()
    one = Sensitive(
        name=", ".join(column.name for column in columns),
        codes=np.empty(0, np.int32),
        size=len(codes),
        ordered=False,
        counts=np.bincount(codes, weights=number, minlength=len(codes)).astype(np.int64),
    )
    return Target(numbers, tuple(tuples), one, one)


def _joint(plan: Plan, rows: Any, target: Target) -> dict[str, NDArray[np.int64]]:
    """Return of each quasi-identifier the rows with each value (missing last) and class.

    These rows are held on disks, column by column, and Spark counts two of them at a time; no row
    goes to Python.
    """
    functions = load_functions()
    names = [f"s{number}" for number in target.numbers]
    counted = [
        rows.groupBy(functions.col(own).alias("q"), *names)
        .agg(functions.count(functions.lit(1)).alias("n"))
        .withColumn("c", functions.lit(number))
        for number, own in enumerate(plan.columns.codes)
    ]
    found = reduce(lambda one, other: one.unionByName(other), counted).toArrow()
    which, value, number = (found.column(name).to_numpy() for name in ("c", "q", "n"))
    sensitive = list(plan.sensitive)
    for place, name in zip(target.numbers, names, strict=True):
        sensitive[place] = replace(sensitive[place], codes=found.column(name).to_numpy())
    classes, joint = target.codes_of(sensitive), {}
    for at, attribute in enumerate(plan.attributes):
        own = which == at
        counts = np.zeros((attribute.size + 1, target.searched.size), np.int64)
        counts[value[own], classes[own]] = number[own]
        joint[attribute.name] = counts
    return joint


def count_joint(
    plan: Plan, rows: Any, target: Target, sizes: Sequence[int]
) -> list[NDArray[np.int64]]:
    """Return of each column of codes the rows with each code and class, in one pass over the rows.

    Args:
        plan: names of the columns.
        rows: codes of quasi-identifiers (or numbers in their place) and sensitive columns.
        target: the classes.
        sizes: how many codes each column has.
    """
    functions = load_functions()
    names = [*plan.columns.codes, *plan.columns.sensitive]
    n_codes, sensitive = len(plan.attributes), plan.sensitive

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        return _pairs(n_codes, sensitive, target, batches)

    pairs = rows.select(*names).mapInArrow(guarded_batches(count), "c int, p long, n long")
    summed = pairs.groupBy("c", "p").agg(functions.sum("n").alias("n")).toArrow()
    which, place, number = (summed.column(name).to_numpy() for name in ("c", "p", "n"))
    width = target.searched.size
    found = []
    for at, size in enumerate(sizes):
        own = which == at
        counts = np.zeros(size * width, np.int64)
        counts[place[own]] = number[own]
        found.append(counts.reshape(-1, width))
    return found


def _pairs(
    n_codes: int,
    sensitive: Sequence[Sensitive],
    target: Target,
    batches: Iterator[Any],
) -> Iterator[Any]:
    """In a worker: count the pairs of some rows."""
    import pyarrow as pa

    for batch in batches:
        if not batch.num_rows:
            continue
        own = [
            replace(each, codes=batch.column(f"s{number}").to_numpy())
            for number, each in enumerate(sensitive)
        ]
        classes = target.codes_of(own)
        parts: list[NDArray[np.int64]] = []
        for number in range(n_codes):
            codes = batch.column(f"q{number}").to_numpy().astype(np.int64)
            place, often = np.unique(codes * target.searched.size + classes, return_counts=True)
            parts.append(np.stack([np.full(len(place), number), place, often]))
        which, place, often = np.concatenate(parts, axis=1)
        yield pa.RecordBatch.from_arrays(
            [pa.array(which, pa.int32()), pa.array(place), pa.array(often)], names=["c", "p", "n"]
        )


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
    work = guarded_batches(lambda batches: encode_batches(plan, batches))
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
    n_codes = len(names.codes)
    added = [types.StructField(name, types.LongType()) for name in ("b", "pieces")]
    work = guarded_batches(lambda given: assign_blocks(rule, n_codes, given))
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
