"""Hierarchies that need a look at the data: rules grow, and unknown values get a place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import narwhals as nw

    from shoal.table.schema import Column, Schema

__all__ = ["UNKNOWN", "grow_hierarchies", "notes_on_unknown"]

UNKNOWN = ("error", "root")
"""What may happen to a value that a hierarchy does not list."""


def grow_hierarchies(
    schema: Schema, frame: nw.DataFrame[Any], unknown_values: str = "error"
) -> Schema:
    """Return the schema with a tree for every rule.

    Args:
        schema: what the columns are.
        frame: the table.
        unknown_values: ``root`` puts values that a hierarchy does not list directly below its
            root, so that they are published exactly, or not at all; ``error`` leaves the
            complaint to whoever encodes the table.

    Raises:
        HierarchyError: the values of a column do not fit its rule.
    """
    columns = tuple(_grown(column, frame, unknown_values) for column in schema.columns)
    return replace(schema, columns=columns)


def _grown(column: Column, frame: nw.DataFrame[Any], unknown_values: str) -> Column:
    from shoal.hierarchy import canonical_label  # loads numpy
    from shoal.hierarchy.builders import grow

    if column.rule is None and (column.hierarchy is None or unknown_values != "root"):
        return column
    cells = frame[column.name]
    values = cells.unique().drop_nulls().to_list()
    if column.rule is not None:
        if not values:  # whoever encodes the column says so
            return column
        decimals = cells.dtype.is_float() or cells.dtype.is_decimal()
        return replace(column, hierarchy=column.rule.build(values, decimals=decimals))
    tree = column.hierarchy
    assert tree is not None
    known = set(tree.leaf_labels)
    unknown = sorted({canonical_label(value) for value in values} - known)
    if not unknown:
        return column
    root = tree.labels[-1]
    paths = [list(path) for path in tree.to_paths()]
    return replace(column, hierarchy=grow([*paths, *([label, root] for label in unknown)]))


def notes_on_unknown(before: Schema, after: Schema) -> list[str]:
    """Return a sentence for every column whose hierarchy got values that it did not list.

    How many they are is not said: some may be of rows that are not published.
    """
    return [
        f"Column {new.name!r} has values that its hierarchy does not list; they were put directly "
        "below its root (unknown_values = 'root')."
        for old, new in zip(before.columns, after.columns, strict=True)
        if old.hierarchy is not None and old.hierarchy is not new.hierarchy
    ]
