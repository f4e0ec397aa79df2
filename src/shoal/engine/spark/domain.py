"""What the columns of a Spark table are, from how often each value occurs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from shoal.engine.spark.check import count_values
from shoal.engine.spark.plan import Coding
from shoal.engine.spark.session import guarded_batches, load_functions
from shoal.errors import OptionError
from shoal.measure.base import picked_columns
from shoal.measure.sse import deviation_of, is_number
from shoal.table.encode import encode_sensitive, encode_values
from shoal.table.grid import settle_grids
from shoal.table.infer import infer_kinds, notes_on_unknown
from shoal.table.schema import Kind, Role
from shoal.table.sensitive import Sensitive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.engine.spark.plan import Plan
    from shoal.measure.sse import Deviation
    from shoal.settings.request import Request
    from shoal.table.encode import Attribute, EncodedTable
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
    as_values = request.style.categories == "values" and column.kind is Kind.CATEGORICAL
    return column, replace(encode_values(values, column, rows), as_values=as_values)


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


@dataclass(frozen=True, eq=False)
class Target:
    """The column (several stand for the tuple of them), without rows.

    Attributes:
        numbers: which of the sensitive columns it is made of.
        tuples: for each column but the first, the tuples that occur up to it, sorted: the number
            of the tuple before it, times the column's size, and its code.
        searched: the column, with what it goes with in the rows that take part.
        scored: the same of all rows.
    """

    numbers: tuple[int, ...]
    tuples: tuple[NDArray[np.int64], ...]
    searched: Sensitive
    scored: Sensitive

    def codes_of(self, sensitive: Sequence[Sensitive]) -> NDArray[np.int64]:
        """Return the code of each row, from those of its sensitive columns."""
        first, *others = (sensitive[number] for number in self.numbers)
        codes: NDArray[np.int64] = first.codes.astype(np.int64)
        for known, column in zip(self.tuples, others, strict=True):
            codes = np.searchsorted(known, codes * column.size + column.codes)
        return codes

    def of(self, table: EncodedTable, *, searched: bool) -> Sensitive:
        """Return the column of some rows."""
        whole = self.searched if searched else self.scored
        return replace(whole, codes=self.codes_of(table.sensitive).astype(np.int32))


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
        classes = f"more than {MOST_CLASSES:,}" if found is None else f"{found.searched.size:,}"
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
    for column, own in zip(columns[1:], others, strict=True):
        known, codes = np.unique(codes * column.size + own, return_inverse=True)
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
    context = rows.sparkSession.sparkContext
    shared = context.broadcast((len(plan.attributes), plan.sensitive, target))

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        n_codes, sensitive, own = shared.value
        return _pairs(n_codes, sensitive, own, batches)

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
