"""Whose rows are published: known to the run, which counts people, and to nobody else."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shoal.messages import Message
from shoal.publish.judgement import Doubt, OpenPoint

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.schema import Schema


_DIGITS = 12
"""Digits of a pseudonym, in base 16."""
_KEYED_BYTES = 16
"""Bytes of one that is computed: no two of many billion people get the same."""


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


def draw_pseudonyms(ids: pl.Series, person: NDArray[np.int32] | None) -> pl.Series:
    """Return a random text for the person of each row; no id where there was none.

    They come from the randomness of the operating system, not from the seed: whoever knows
    seed and input must not be able to draw them again.
    """
    import polars as pl

    codes = np.arange(len(ids)) if person is None else person
    n_people = int(codes.max(initial=-1)) + 1
    known: dict[str, None] = {}
    while len(known) < n_people:
        missing = n_people - len(known)
        text = os.urandom(_DIGITS // 2 * missing).hex()
        known |= dict.fromkeys(text[at : at + _DIGITS] for at in range(0, len(text), _DIGITS))
    names = pl.Series(list(known), dtype=pl.String)
    drawn = names.gather(pl.Series(codes, dtype=pl.UInt32))
    nobody = ids.is_null() | (ids.is_nan() if ids.dtype.is_float() else False)
    return (
        pl.DataFrame({"drawn": drawn, "nobody": nobody})
        .select(pl.when("nobody").then(None).otherwise("drawn").alias(ids.name))
        .to_series()
    )


def keyed_pseudonyms(people: pl.Series, key: bytes) -> pl.Series:
    """Return a text for the person of each row; none where nobody knows whose it is.

    Machines that each see some of the rows of a person find the same one, and without the key
    nobody does. The key is drawn for one run and kept by nobody.

    Args:
        people: what tells people apart, null where nothing does.
        key: random bytes.
    """
    import polars as pl

    different = people.unique().drop_nulls()
    drawn = [
        hashlib.blake2b(each.encode(), key=key, digest_size=_KEYED_BYTES).hexdigest()
        for each in different.to_list()
    ]
    known = pl.DataFrame({"who": different, "drawn": pl.Series(drawn, dtype=pl.String)})
    given = pl.DataFrame({"who": people})
    return given.join(known, on="who", how="left", maintain_order="left").get_column("drawn")


def stands_as_made(made: pl.DataFrame, read: pl.DataFrame) -> bool:
    """Return whether a table that was read back stands in the order in which it was made.

    Rows of one group that were made are then rows of one group that was read. Cells may be of
    other types in a file; but if rows had changed places, groups would be torn.
    """
    from shoal.publish.cells import number_groups, pack_rows

    before, after = (number_groups(pack_rows(frame.get_columns()))[0] for frame in (made, read))
    n_after = int(after.max(initial=0)) + 1
    return len(np.unique(before * n_after + after)) == len(np.unique(before))
