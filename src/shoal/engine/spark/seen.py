"""What a reader sees in a published table of Spark: for the report, and to be kept.

Spark counts groups and the sensitive values in each; workers make facts of some thousand groups at
a time, as the report of one machine makes them of all, and the driver puts these together.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.check import SHARE_GROUPS, count_values
from shoal.engine.spark.errors import guarded
from shoal.engine.spark.session import column, load_functions
from shoal.errors import DataError
from shoal.facts.reader_view import (
    GroupSizes,
    ReaderView,
    SensitiveFacts,
    merged_facts,
    part_of_facts,
    read_by_people,
)
from shoal.publish.cells import number_groups, pack_rows
from shoal.publish.named import columns_needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from shoal.engine.spark.finish import Named
    from shoal.table.schema import Schema

__all__ = ["MOST_KEPT", "classes_of", "seen_on_spark", "singled_out"]

MOST_KEPT = 1_000_000
"""So many groups may be kept in a file: their cells have to fit the driver."""
DIGITS = 3
"""Entropies of groups come to the driver with so many digits: some thousand different ones."""


def seen_on_spark(frame: Any, schema: Schema, people: Named | None) -> ReaderView:
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
            f"The release has more than {most:,} different published cells, which is more than a "
            "file for further rows holds; keep a part of it, or generalise more."
        )
    return pl.DataFrame(pl.from_arrow(found))
