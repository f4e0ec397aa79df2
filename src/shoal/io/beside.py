"""What a Parquet or Arrow file holds beside its table, in sentences.

A reader of cells does not see it, a reader of the file does: metadata under keys, an index of
pandas, texts of a dictionary that no cell has, bits of numbers that read NaN.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.io.claims import FlatTable, first_message, messages_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

__all__ = ["beside_arrow", "beside_parquet", "in_a_row"]

_ARROW = "ARROW:schema"
"""Under this key a Parquet file has the types of its columns, which may hold metadata again."""
_TYPES = frozenset({"_PL_CATEGORICAL", "_PL_CATEGORICAL2", "_PL_ENUM_VALUES", "_PL_ENUM_VALUES2"})
"""What polars says about the type of a column."""
_SPARK = frozenset({"org.apache.spark.version", "org.apache.spark.sql.parquet.row.metadata"})
"""What Spark writes into every file."""
_MOST = 5
_SCHEMA, _DICTIONARY = 1, 2  # kinds of messages
_FOOTER_SCHEMA, _FOOTER_METADATA = 1, 4
_SCHEMA_FIELDS, _SCHEMA_METADATA = 1, 2
_FIELD_NAME, _FIELD_DICTIONARY, _FIELD_CHILDREN, _FIELD_METADATA = 0, 4, 5, 6


def beside_parquet(path: str) -> list[str]:
    """Return what a Parquet file holds beside its table."""
    import polars as pl

    try:
        keys = dict(pl.read_parquet_metadata(Path(path)))
        floats = pl.scan_parquet(Path(path), glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return []  # whoever reads the table says what is wrong
    index = _pandas_index(keys.get("pandas"))
    named = [key for key in keys if key != _ARROW and key not in _SPARK]
    try:
        schema = _schema_in(keys.get(_ARROW))
        if schema is not None:
            index = index or _pandas_index(_pairs(schema, _SCHEMA_METADATA).get("pandas"))
            named += [key for key in _metadata_of_schema(schema) if key not in named]
    except (struct.error, IndexError, ValueError, RecursionError):
        named.append(_ARROW)  # it describes no table: whatever it is, it lies beside this one
    return [*_about(named, index), *_about_nan(floats)]


def beside_arrow(data: bytes) -> list[str]:
    """Return what an Arrow file, or a stream of Arrow, holds beside its table."""
    import io

    import polars as pl

    view = memoryview(data)
    try:
        schema, named = _schema_of_file(view)
        if schema is None:
            return []
        index = _pandas_index(_pairs(schema, _SCHEMA_METADATA).get("pandas"))
        named += [key for key in _metadata_of_schema(schema) if key not in named]
        entries = _dictionary_lengths(view)
        coded = {
            name: entries[number]
            for name, number in _dictionaries(schema)
            if number is not None and number in entries
        }
    except (struct.error, IndexError, ValueError, RecursionError):
        return []
    read = pl.read_ipc if bytes(view[:6]) == b"ARROW1" else pl.read_ipc_stream
    try:
        frame = read(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return []
    unused = [
        name
        for name, length in coded.items()
        if name in frame.columns and length > frame.get_column(name).drop_nulls().n_unique()
    ]
    said = _about(named, index)
    if unused:
        said.append(
            f"The dictionary of {in_a_row(unused)} holds texts that no cell has; every reader of "
            "the file can read them."
        )
    return [*said, *_about_nan(frame.lazy())]


def in_a_row(names: list[str]) -> str:
    """Return some names in a sentence."""
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    return ", ".join(repr(each) for each in names[:_MOST]) + more


def _about(named: list[str], index: list[str]) -> list[str]:
    said = []
    if named:
        said.append(
            f"The file holds metadata beside its table, under {in_a_row(named)}, which nobody has "
            "checked."
        )
    if index:
        said.append(f"The file says that {in_a_row(index)} is an index of pandas.")
    return said


def _pandas_index(text: str | None) -> list[str]:
    """Return the columns that pandas makes an index of."""
    try:
        found = json.loads(text or "{}").get("index_columns", [])
    except (ValueError, AttributeError, RecursionError):
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _about_nan(table: pl.LazyFrame) -> list[str]:
    """Name the columns whose cells that read NaN differ in their bits."""
    import polars as pl

    told = []
    for name, dtype in table.collect_schema().items():
        if dtype.is_float():
            cells = table.select(pl.col(name)).collect().to_series().drop_nulls().to_numpy()
            bits = cells[np.isnan(cells)].view(f"u{cells.dtype.itemsize}")
            if len(np.unique(bits)) > 1:
                told.append(name)
    if not told:
        return []
    columns = in_a_row(told)
    return [f"In {columns} cells that read NaN differ in their bits, which tells rows apart."]


# -- schemas of Arrow ----------------------------------------------------------------------------


def _schema_in(text: str | None) -> FlatTable | None:
    """Return the schema that a Parquet file keeps for readers of Arrow."""
    try:
        view = memoryview(base64.b64decode(text or "", validate=True))
        kind, header, _ = first_message(view)
    except (binascii.Error, struct.error, IndexError, ValueError):
        return None
    return header if kind == _SCHEMA else None


def _schema_of_file(view: memoryview) -> tuple[FlatTable | None, list[str]]:
    """Return the schema of a file or a stream, and keys of metadata that stand outside of it."""
    if bytes(view[:6]) == b"ARROW1":
        end = len(view) - 10
        length = struct.unpack_from("<i", view, end)[0]
        footer = view[end - length : end]
        table = FlatTable(footer, struct.unpack_from("<I", footer, 0)[0])
        return table.table(_FOOTER_SCHEMA), list(_pairs(table, _FOOTER_METADATA))
    kind, header, message = first_message(view)
    return (header if kind == _SCHEMA else None), list(_pairs(message, _FOOTER_METADATA))


def _metadata_of_schema(schema: FlatTable) -> list[str]:
    """Return the keys of metadata of a table and its columns, but for those that say types."""
    found = list(_pairs(schema, _SCHEMA_METADATA))
    for field in _fields(schema, _SCHEMA_FIELDS):
        said = _pairs(field, _FIELD_METADATA)
        types = said.get("ARROW:extension:name", "").startswith(("arrow.", "polars."))
        found += [key for key in said if key not in _TYPES and not types]
    return list(dict.fromkeys(found))


def _fields(table: FlatTable, at: int) -> Iterator[FlatTable]:
    for field in table.tables(at):
        yield field
        yield from _fields(field, _FIELD_CHILDREN)


def _dictionaries(schema: FlatTable) -> Iterator[tuple[str, int | None]]:
    """Give each column with the number of its dictionary."""
    for field in schema.tables(_SCHEMA_FIELDS):
        coded = field.table(_FIELD_DICTIONARY)
        yield field.text(_FIELD_NAME), None if coded is None else coded.number("<q", 0)


def _dictionary_lengths(view: memoryview) -> dict[int, int]:
    """Return how many texts each dictionary of a file has."""
    found: dict[int, int] = {}
    for kind, header in messages_of(view):
        if kind == _DICTIONARY and header is not None:
            data, is_delta = header.table(1), header.number("<B", 2)
            length = 0 if data is None else data.number("<q", 0)
            number = header.number("<q", 0)
            found[number] = length + (found.get(number, 0) if is_delta else 0)
    return found


def _pairs(table: FlatTable, at: int) -> dict[str, Any]:
    return {each.text(0): each.text(1) for each in table.tables(at)}
