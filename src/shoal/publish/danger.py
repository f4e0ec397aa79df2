"""Columns that are published as they are and had better not be.

A promise about groups is worth little if another column of the same row undoes it. Two kinds of
columns do: one in which (nearly) every row has a value of its own, which is a name by another
name; and one that follows from a quasi-identifier, or from which a quasi-identifier follows, such
as the year of birth beside the age: it tells what was generalised. Neither is forbidden, since
only people can know what others know; but nobody should find out afterwards.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.messages import Message, joined, named_of
from shoal.publish.judgement import Doubt, OpenPoint
from shoal.publish.recode import hash_cells
from shoal.table.closure import close

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.partition import Partition
    from shoal.table.schema import Schema


MOST_ROWS = 50_000
"""Larger tables are judged by as many of their rows, spread evenly."""
NEARLY_ALL = 0.9
FEWEST_ROWS = 10
"""Fewer rows tell nothing."""
_ERROR = 0.02
"""How much of the guessing a relation may leave, as a share of guessing without it."""
_CHANCE = 1e-6
_CORRELATED = 0.98

Codes = np.ndarray[Any, np.dtype[np.int64]]


def find_dangers(
    frame: pl.DataFrame, schema: Schema, table: EncodedTable, partition: Partition
) -> list[Doubt]:
    """Return a sentence for every published column that can undo the release.

    Args:
        frame: the original table, as far as it is published untouched.
        schema: the roles of its columns.
        table: its quasi-identifiers, encoded.
        partition: the groups; rows that are left out do not count.
    """
    rows = np.flatnonzero(partition.labels >= 0)
    if table.person is not None:
        rows = one_each(rows, table.person)
    if len(rows) < FEWEST_ROWS:
        return []
    coarser = [a for a in table.attributes if not close(a, partition).single()[:-1].all()]
    unique = find_unique(frame, schema.exact, rows)
    named = {doubt.point.column for doubt in unique}
    others = [name for name in schema.exact if name not in named]
    return [*unique, *find_related(frame, others, coarser, rows)]


def one_each(rows: NDArray[np.int64], person: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the first of these rows of each person.

    In all rows of a person anything that stays seems to follow from anything that nobody shares.
    """
    return rows[np.sort(np.unique(person[rows], return_index=True)[1])]


def find_related(
    frame: pl.DataFrame,
    names: Iterable[str],
    attributes: Sequence[Attribute],
    rows: NDArray[np.int64],
) -> list[Doubt]:
    """Return a sentence for each of these columns that goes together with a quasi-identifier.

    Args:
        frame: the original table.
        names: columns that are published as they are.
        attributes: quasi-identifiers that are published coarser than they are.
        rows: those that are published.
    """
    looked, found = _evenly_spread(rows), []
    for name in names:
        column = frame.get_column(name)
        codes, present = _codes(column, looked)
        related = [
            attribute.name
            for attribute in attributes
            if _related(codes[present], attribute, looked[present], column)
        ]
        if related:
            short = Message(
                "Column {name!r} is published as it is and goes together with {others}: it tells "
                "what is generalised there.",
                name=name,
                others=named_of(related, 3),
            )
            point = OpenPoint("related column", short, name)
            advice = Message("Make it a quasi-identifier, or drop it.")
            found.append(Doubt(joined(" ", [short, advice]), point))
    return found


def find_unique(
    frame: pl.DataFrame, names: Iterable[str], rows: NDArray[np.int64] | None = None
) -> list[Doubt]:
    """Return a sentence for each of these columns in which nearly every row has its own value."""
    rows = np.arange(frame.height) if rows is None else rows
    looked, found = _evenly_spread(rows), []
    for name in names:
        column = frame.get_column(name)
        codes, present = _codes(column, looked)
        if _nearly_unique(column, codes[present], rows, looked):
            found.append(says_nearly_unique(name))
    return found


def _evenly_spread(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(rows) <= MOST_ROWS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.int64)]


def says_nearly_unique(name: str) -> Doubt:
    """Return the sentence about a column in which nearly every row has a value of its own."""
    short = Message(
        "Nearly every row has a value of its own in column {name!r}, which is published as it "
        "is: who knows it about a person finds the row.",
        name=name,
    )
    advice = Message("Round or group its values, make it a quasi-identifier, or drop it.")
    return Doubt(
        joined(" ", [short, advice]),
        OpenPoint("unique column", short, name),
    )


def _codes(column: pl.Series, rows: NDArray[np.int64]) -> tuple[Codes, NDArray[np.bool_]]:
    """Return a number per row, equal for equal cells, and where there is a cell."""
    import polars as pl

    cells = column.gather(pl.Series(rows, dtype=pl.UInt32))
    present = cells.is_not_null().to_numpy()
    return renumbered(hash_cells(cells)), present


def _nearly_unique(
    column: pl.Series, codes: Codes, rows: NDArray[np.int64], looked: NDArray[np.int64]
) -> bool:
    import polars as pl

    if len(codes) < FEWEST_ROWS or len(np.unique(codes)) < NEARLY_ALL * len(codes):
        return False
    if len(looked) == len(rows):
        return True
    cells = column.gather(pl.Series(rows, dtype=pl.UInt32)).drop_nulls()
    return len(np.unique(hash_cells(cells))) >= NEARLY_ALL * len(cells)


def _related(
    codes: Codes, attribute: Attribute, rows: NDArray[np.int64], column: pl.Series
) -> bool:
    """Return whether one of the two follows from the other, as far as these rows tell."""
    import polars as pl

    known = attribute.codes[rows] != attribute.size
    if np.count_nonzero(known) < FEWEST_ROWS:
        return False
    own, other = codes[known], attribute.codes[rows][known].astype(np.int64)
    other = renumbered(other)
    if follows(own, other) or follows(other, own):
        return True
    if attribute.positions is None or not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        return False
    cells = column.gather(pl.Series(rows[known], dtype=pl.UInt32))
    first = cells.to_physical().rank("average").to_numpy()
    second = pl.Series(attribute.codes[rows][known]).rank("average").to_numpy()
    return go_together(first, second)


# Whether one column of a table follows from another, as far as its rows tell.


def renumbered(values: NDArray[Any]) -> Codes:
    """Return numbers from 0 on, equal for equal values and in their order."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)


def follows(what: Codes, of: Codes) -> bool:
    """Return whether the first value of a row can be told from the second, and not by chance.

    Rows whose second value nobody shares say nothing. Of the others, guessing the most frequent
    first value beside each second value must leave hardly any of the error of guessing blindly;
    and rows must repeat so often that agreement by chance is out of the question.

    Args:
        what: a code per row, from 0 on.
        of: a code per row of the other column, from 0 on.
    """
    shared = np.bincount(of)[of] > 1
    n_rows = int(np.count_nonzero(shared))
    if n_rows < FEWEST_ROWS:
        return False
    first, second = what[shared], renumbered(of[shared])
    frequent = np.bincount(first)
    blind = 1 - float(frequent.max()) / n_rows
    agreement = float(np.sum((frequent / n_rows) ** 2))
    repeats = n_rows - int(second.max()) - 1
    if blind <= 0 or agreement >= 1 or repeats * math.log(agreement) > math.log(_CHANCE):
        return False
    right = _most_frequent(first, second)
    return 1 - right / n_rows <= _ERROR * blind


def _most_frequent(first: Codes, second: Codes) -> int:
    """Return how many rows have the most frequent first value beside their second value."""
    width = int(first.max()) + 1
    pairs, counts = np.unique(second * width + first, return_counts=True)
    starts = np.flatnonzero(np.diff(pairs // width, prepend=-1))
    return int(np.maximum.reduceat(counts, starts).sum())


def go_together(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Return whether the ranks of two columns rise (or fall) together.

    Args:
        first: a rank per row.
        second: a rank per row of the other column.
    """
    if len(first) < 2 * FEWEST_ROWS or not (np.ptp(first) and np.ptp(second)):
        return False
    return bool(abs(np.corrcoef(first, second)[0, 1]) >= _CORRELATED)
