"""How a published table lies on Spark: its types, its order, its files.

A row's place depends on what it publishes and on nothing else: which file it is in is a hash of its
published cells, and so is its place in there. So files and order tell nothing that the rows do not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engine.spark.session import column, load_functions
from shoal.publish.recode import published_cells, published_names
from shoal.table.encode import narrow
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.engine.spark.plan import Plan

__all__ = ["FILE_ROWS", "Output", "laid_out", "output_types"]

FILE_ROWS = 1_000_000
"""About so many rows are in a file."""


@dataclass(frozen=True, eq=False)
class Output:
    """A published column: its name, its type on Spark, and in Arrow (None: as it came)."""

    name: str
    kind: Any
    arrow: Any


def output_types(plan: Plan, schema: Any) -> list[Output]:
    """Return the published columns with their types.

    Args:
        plan: what is published.
        schema: types of the rows on their way.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_type

    attributes = {each.name: number for number, each in enumerate(plan.attributes)}
    result, kept = [], 0
    alone = Partition(np.zeros(1, np.int32), 1)
    for name, titles in published_names(plan.schema, plan.request.style).items():
        if name not in attributes:
            result.append(Output(name, schema[f"x{kept}"].dataType, None))
            kept += 1
            continue
        number = attributes[name]
        attribute = plan.attributes[number]
        first = np.zeros(1, np.int64)
        one = replace(
            attribute,
            codes=narrow(first, attribute.size),
            original=None if attribute.original is None else first.astype(np.uint32),
        )
        cells = published_cells(one, alone, plan.styles[number])
        for title, each in zip(titles, cells, strict=True):
            arrow = each.to_arrow().type
            if pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
                arrow = pa.string()
            if pa.types.is_struct(arrow):
                arrow = pa.struct([(f.name, _plain_text(f.type)) for f in arrow])
            kind = from_arrow_type(arrow, prefer_timestamp_ntz=True)
            result.append(Output(title, kind, arrow))
    return result


def _plain_text(kind: Any) -> Any:
    import pyarrow as pa

    text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if text else kind


def laid_out(rows: Any, titles: Sequence[str], n_rows: int) -> Any:
    """Return the published rows under their names, in an order of their cells alone."""
    functions = load_functions()
    own = [f"f{number}" for number in range(len(titles))]
    files = max(1, -(-n_rows // FILE_ROWS))
    published = rows.filter("g >= 0").select(*own)
    spread = published.repartition(files, *own)
    placed = functions.xxhash64(functions.lit(1), *own)
    ordered = spread.sortWithinPartitions(placed, *own)
    return ordered.select(*(column(f).alias(t) for f, t in zip(own, titles, strict=True)))
