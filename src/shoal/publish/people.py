"""Whose rows are published: known to the run, which counts people, and to nobody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.messages import Message
from shoal.publish.judgement import Doubt, OpenPoint

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.schema import Schema


class PublishedTable(NamedTuple):
    """A published table, and whose its rows are where people are counted.

    Attributes:
        frame: the table.
        people: number of each row's person.
        ids: id of each row's person, as the input has it; private.
    """

    frame: pl.DataFrame
    people: NDArray[np.int64] | None
    ids: pl.Series | None = None


def doubt_of_pseudonyms() -> Doubt:
    """Return what a user must know who publishes whose rows belong together."""
    short = Message(
        "Pseudonyms are published: k holds for each row alone, and fewer people than k may fit all "
        "rows of a person."
    )
    return Doubt(
        Message(
            "Pseudonyms are published: whoever reads the release can put the rows of one person "
            "together. k holds for the combination of each row alone; the few people who fit all "
            "rows of a person may be fewer than k."
        ),
        OpenPoint("pseudonyms", short),
    )


def doubt_of_kept_pseudonyms() -> Doubt:
    """Return what a user must know whose pseudonyms are the same in several files."""
    sentence = Message(
        "The pseudonyms are the same in every file that is made with this key: rows of one person "
        "can be put together across these files, and k holds in none of them for what they tell "
        "together."
    )
    return Doubt(sentence, OpenPoint("kept pseudonyms", sentence))


def doubts_of_pseudonyms(*, kept: bool) -> list[Doubt]:
    """Return what a user must know who publishes pseudonyms.

    Args:
        kept: whether they are made with a key that the holder keeps.
    """
    return [doubt_of_pseudonyms(), *([doubt_of_kept_pseudonyms()] if kept else [])]


def number_people(
    schema: Schema, person: NDArray[np.int32] | None, rows: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return a number for the person of each published row; None if rows are what counts.

    Args:
        schema: what the columns are.
        person: code of each input row's person; None if every row is one of its own.
        rows: the input row of each published row.
    """
    if schema.person is None:
        return None
    if person is None:
        return np.arange(len(rows), dtype=np.int64)
    # numbered as the published rows have them: neither the ids nor their order are left
    _, first, number = np.unique(person[rows], return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[number]


def stands_as_made(made: pl.DataFrame, read: pl.DataFrame) -> bool:
    """Return whether a table that was read back stands in the order in which it was made.

    Rows of one group that were made are then rows of one group that was read. Cells may be of
    other types in a file; but if rows had changed places, groups would be torn.
    """
    from shoal.publish.cells import number_groups, pack_rows

    before, after = (number_groups(pack_rows(frame.get_columns()))[0] for frame in (made, read))
    n_after = int(after.max(initial=0)) + 1
    return len(np.unique(before * n_after + after)) == len(np.unique(before))
