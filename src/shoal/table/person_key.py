"""What is computed from the id of a person under a key: pseudonyms, and how far dates are moved.

Ids that one would call the same (white space, letter case, forms of a number) are one person, in
every file and of every type: ``"007"``, ``7`` and ``" 7.0"`` are. Without the key nobody can
compute what belongs to an id, and what is computed for one use tells nothing about another.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

KEY_BYTES = 32
"""Bytes of a key, which `secrets` draws: chance of the operating system, not of the seed."""
_PSEUDONYM_BYTES = 16
"""Bytes of a pseudonym: no two of many billion people get the same."""


def key_of_people(secret: bytes) -> bytes:
    """Return the key of people that the key in a holder's file stands for."""
    return hmac.digest(secret, b"shoal people", "sha256")


def clean_ids(ids: pl.Series) -> tuple[NDArray[np.int64], list[tuple[str, ...]]]:
    """Return the number of each row's id, and what a person would call each; () is no id.

    Two numbers may stand for one person, whose ids are spelled in two ways.
    """
    import polars as pl

    from shoal.hierarchy import canonical_label  # loads numba
    from shoal.table.sensitive import person_would_say

    if isinstance(ids.dtype, pl.Categorical | pl.Enum):
        ids = ids.cast(pl.String)
    table = ids.to_frame("id")
    distinct = table.unique().with_row_index("code")
    codes = (
        table.join(distinct, on="id", how="left", nulls_equal=True, maintain_order="left")
        .get_column("code")
        .to_numpy()
    )
    texts = [
        () if value is None else person_would_say(canonical_label(value))
        for value in distinct.get_column("id").to_list()
    ]
    return codes, texts


def keyed_hashes(texts: list[tuple[str, ...]], key: bytes, use: str) -> list[bytes | None]:
    """Return the HMAC-SHA-256 of each id for one use; None where there is no id."""
    return [
        hmac.digest(key, "\0".join((use, *each)).encode(), "sha256") if each else None
        for each in texts
    ]


def keyed_pseudonyms(ids: pl.Series, key: bytes, use: str = "pseudonym") -> pl.Series:
    """Return the pseudonym of each row's person; none where there is no id.

    Under one key a person has the same in every table, on one machine and on many. What is no
    person (a stay) has a use of its own.
    """
    import polars as pl

    codes, texts = clean_ids(ids)
    drawn = [
        None if each is None else each[:_PSEUDONYM_BYTES].hex()
        for each in keyed_hashes(texts, key, use)
    ]
    made = pl.Series(ids.name, drawn, dtype=pl.String)
    return made.gather(pl.Series(codes, dtype=pl.UInt32))
