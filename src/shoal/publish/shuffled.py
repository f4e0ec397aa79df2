"""Exact values, shuffled within groups: the margins of a group are exact, the links hidden.

Each quasi-identifier is permuted by itself within every group, and a column says which group a row
is in (Xiao and Tao 2006 publish groups that way, as anatomy; Li et al. 2012 permute columns, as
slicing). Sensitive and insensitive columns of a row stay together. Who is in the table is not
hidden, and rare values show: this is not k-anonymity, and nothing here calls it so.

The permutations are drawn from hashes of what the groups hold, and groups are numbered by them: no
row order, no seed and no number of the run is in what is published.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import RoleError
from shoal.io.columns import fresh_column
from shoal.messages import Message
from shoal.publish.judgement import Doubt, OpenPoint
from shoal.publish.recode import RowHash, coded_text, hash_cells, mix, with_coded
from shoal.table.schema import Column, Kind, Role, Schema

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.partition import Partition

GROUP = "group"
"""The published column that says which group a row is in."""
Hashes = np.ndarray[Any, np.dtype[np.uint64]]


def schema_of_shuffled(schema: Schema) -> Schema:
    """Return what the columns of the published table are: only its groups are told apart.

    Raises:
        RoleError: a published column has the name of that of the groups.
    """
    if GROUP in schema.published:
        raise RoleError(
            "The groups of a shuffled release are published as {name!r}, but there is already a "
            "column of that name; rename it.",
            name=GROUP,
        )
    columns = [
        replace(each, role=Role.INSENSITIVE, shuffled=True)
        if each.role is Role.QUASI_IDENTIFIER
        else each
        for each in schema.columns
    ]
    own = Column(name=GROUP, role=Role.QUASI_IDENTIFIER, kind=Kind.FLAT)
    return replace(schema, columns=(own, *columns))


def shuffle_within_groups(
    frame: pl.DataFrame, schema: Schema, partition: Partition, *, shuffle: bool = True
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return the published table, and whose row each one's sensitive and insensitive cells are.

    Args:
        frame: the original table.
        schema: the roles of its columns.
        partition: the groups.
        shuffle: whether the order of the rows is one of the published rows alone; otherwise
            sensitive and insensitive cells keep the order of the input.

    Cost: a few sorts of the rows per column. Deterministic.
    """
    import polars as pl

    frame = with_coded(frame, schema) if schema.is_coded else frame
    kept = np.flatnonzero(partition.labels >= 0)
    group = partition.labels[kept].astype(np.int64)
    numbers = pl.Series(kept, dtype=pl.UInt32)
    columns, hashes = {}, {}
    for place, name in enumerate(schema.quasi_identifiers):
        column = frame.get_column(name).gather(numbers)
        if schema[name].is_coded:
            column = coded_text(column, schema[name])
        columns[name], hashes[name] = column, hash_cells(column, place + 1)
    others = RowHash(len(kept))
    exact = [name for name in schema.published if name not in columns]
    for name in exact:
        others.add(frame.get_column(name).gather(numbers))
    held = np.zeros(partition.n_groups, np.uint64)
    for own in (*hashes.values(), others.first):
        _add(held, group, own)
    rows = _turn(others.first, group, held, 0)
    published = {
        name: columns[name].gather(pl.Series(_turn(own, group, held, place + 1), dtype=pl.UInt32))
        for place, (name, own) in enumerate(hashes.items())
    }
    rank = np.empty(partition.n_groups, np.int64)
    rank[np.argsort(held, kind="stable")] = np.arange(1, partition.n_groups + 1)
    of_row = kept[rows]
    for name in exact:
        published[name] = frame.get_column(name).gather(pl.Series(of_row, dtype=pl.UInt32))
    made = pl.DataFrame(
        [pl.Series(GROUP, rank[group[rows]]), *(published[n].alias(n) for n in schema.published)]
    )
    order = np.argsort(of_row)
    if shuffle:
        row_hash = RowHash(made.height)
        for column in made.get_columns():
            row_hash.add(column)
        order = row_hash.order()
    made = made[order]
    return pl.DataFrame([fresh_column(each) for each in made.get_columns()]), of_row[order]


def _add(held: Hashes, group: NDArray[np.int64], cells: Hashes) -> None:
    """Add what the cells of a column are to what their groups hold, in whatever order they come."""
    own = cells.copy()
    mix(own)
    np.add.at(held, group, own)
    mix(held)


def _turn(cells: Hashes, group: NDArray[np.int64], held: Hashes, column: int) -> NDArray[np.int64]:
    """Return the rows in the order of their groups, permuted within each by what it holds.

    Equal cells are told apart by a count, so that they do not stay side by side.
    """
    order = np.lexsort((cells, group))
    sorted_cells, sorted_group = cells[order], group[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (sorted_cells[1:] != sorted_cells[:-1]) | (sorted_group[1:] != sorted_group[:-1])
    first = np.flatnonzero(new)
    count = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    key = sorted_cells + count.astype(np.uint64)
    mix(key)
    key += held[sorted_group] + np.uint64(column)
    mix(key)
    return order[np.lexsort((key, sorted_group))]


NOT_K_ANONYMOUS = OpenPoint(
    "shuffled cells",
    Message(
        "The release is not k-anonymous: exact values are published, shuffled within groups. Who "
        "is in the table is not hidden, and rare values show."
    ),
)
"""What is open of every shuffled release."""


def doubt_of_shuffled(k: int) -> Doubt:
    """Return what a user must know who publishes shuffled cells."""
    return Doubt(
        Message(
            "{short} What is hidden is which cells of a group of at least {k:,} rows belong "
            "together.",
            short=NOT_K_ANONYMOUS.sentence,
            k=k,
        ),
        NOT_K_ANONYMOUS,
    )
