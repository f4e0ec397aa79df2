"""What the columns of a Spark table are, from how often each value occurs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from shoal.engine.spark.check import count_values
from shoal.engine.spark.plan import Coding
from shoal.measure.sse import deviation_of, is_number
from shoal.table.encode import encode_sensitive, encode_values
from shoal.table.grid import settle_grids
from shoal.table.growing import notes_on_unknown
from shoal.table.infer import infer_kinds
from shoal.table.schema import Kind, Role

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from shoal.measure.sse import Deviation
    from shoal.settings.request import Request
    from shoal.table.encode import Attribute, Sensitive
    from shoal.table.schema import Column, Schema

__all__ = ["Domains", "find_domains"]

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
