"""What two tables of one release have to do with each other: options, types, sensitive values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, OptionError
from shoal.table.encode import EncodedTable, encode_sensitive

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.life.kept import KeptRelease
    from shoal.settings.request import Request
    from shoal.table.schema import Schema

__all__ = ["request_of_kept", "sensitive_only", "stacked"]


def request_of_kept(kept: KeptRelease, columns: list[str], **more: Any) -> Request:
    """Return the request by which rows were grouped, for a table with these columns.

    Columns that are removed anyway may be missing.

    Raises:
        OptionError: an option cannot be used.
    """
    from shoal.settings.request import request_of

    schema = kept.schema
    if schema.pseudonyms:
        raise OptionError(
            "The release publishes pseudonyms, which further rows would not fit; make a new "
            "release of all rows instead."
        )
    for model in kept.privacy:
        # what they look at, a population or a tree of values, is not kept
        if not model.looks_at_values or getattr(model, "distance", "") == "hierarchical":
            raise OptionError(
                f"The release promises {model.label}, which cannot be kept for further rows; make "
                "a new release of all rows instead."
            )
    keys = [schema[name] for name in schema.quasi_identifiers]
    trees: dict[str, Any] = {c.name: c.rule or c.hierarchy for c in keys}
    return request_of(
        {
            **kept.options,
            "k": kept.k,
            "privacy": kept.privacy,
            "quasi_identifiers": schema.quasi_identifiers,
            "sensitive": schema.sensitive,
            "insensitive": schema.insensitive,
            "identifiers": [name for name in schema.identifiers if name in columns],
            "drop": [name for name in schema.dropped if name in columns],
            "person": schema.person,
            "hierarchies": {name: tree for name, tree in trees.items() if tree is not None},
            "kinds": {c.name: c.kind for c in keys if c.kind is not None},
            "orders": {c.name: c.order for c in keys if c.order is not None},
            "weights": {c.name: c.weight for c in keys},
            "grid": {c.name: c.grid for c in keys if c.grid is not None},
            "scale": {c.name: c.scale for c in keys if c.scale != "range"},
            "style": kept.style,
            **more,
        }
    )


def sensitive_only(table: pl.DataFrame, schema: Schema, person: NDArray[np.int64]) -> EncodedTable:
    """Return the sensitive columns of a published table, encoded, with whose its rows are."""
    codes = np.unique(person, return_inverse=True)[1].astype(np.int32)
    several = int(np.bincount(codes).max(initial=0)) > 1
    people = codes if several and schema.person is not None else None
    columns = tuple(
        replace(encode_sensitive(table.get_column(name)), people=people)
        for name in schema.sensitive
    )
    return EncodedTable(table.height, (), columns, people)


def stacked(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Return two published tables as one.

    Raises:
        DataError: a column is of different types in them.
    """
    import polars as pl

    from shoal.coded import decode_text

    tables = []
    for each in (first, second):
        levels = [n for n, t in each.schema.items() if isinstance(t, pl.Categorical | pl.Enum)]
        tables.append(decode_text(each).with_columns(pl.col(levels).cast(pl.String)))
    for name in first.columns:
        types = [each.schema[name] for each in tables]
        if pl.Null not in types and len({each.is_numeric() for each in types}) > 1:
            raise DataError(
                f"Column {name!r} is of type {types[0]} in the release and {types[1]} in the new "
                "table; read both alike, for example with --kind or --missing-values."
            )
    try:
        return pl.concat(tables, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        raise DataError(
            "The columns of the new table are of other types than those of the release; read both "
            "alike, for example with --kind or --missing-values."
        ) from None
