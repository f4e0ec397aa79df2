"""The private half of a kept release: who is in which group, under a key. It stays with the holder.

Somebody who has this file can try out whether a person of whom the id is known is in it; ids
themselves are not in it. It is as confidential as the table of ids.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.cleaning import person_would_say
from shoal.hierarchy import canonical_label
from shoal.life.codec import Damaged, numbers_from_json, numbers_to_json, take

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.life.kept import KeptRelease

__all__ = [
    "KeptPeople",
    "digests_of",
    "keep_people",
    "new_key",
    "new_mark",
    "people_from_json",
    "people_to_json",
]

_KEY = 32
_DIGEST = 16
Digests = np.ndarray[Any, np.dtype[np.uint64]]
"""Two halves of 64 bits of the hash of each row's person."""


@dataclass(frozen=True, eq=False)
class KeptPeople:
    """Who the people of a release are; private.

    Attributes:
        key: a secret of this file.
        digests: keyed hash of each published row's person, in the order of the hashes.
        group: group of each of these rows.
        values: which value of each sensitive column.
        unknown: rows whose person nobody named.
        of: hash of the release file that they belong to.
        mark: random, tells this release from any other, also one with the same content.
        beside: marks of the earlier releases that it was made beside.
    """

    key: bytes
    digests: Digests
    group: NDArray[np.int64]
    values: dict[str, NDArray[np.int64]]
    unknown: int = 0
    of: str = ""
    mark: str = ""
    beside: tuple[str, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether every person has one row, and is known."""
        return self.unknown == 0 and len(np.unique(self.digests, axis=0)) == len(self.digests)

    def __repr__(self) -> str:
        """Return one line; not the key."""
        return f"<KeptPeople of {len(self.digests)} rows>"


def new_key() -> bytes:
    """Return a key, from the randomness of the operating system and not from the seed."""
    return os.urandom(_KEY)


def new_mark() -> str:
    """Return what tells a release from any other."""
    return os.urandom(_DIGEST).hex()


def digests_of(ids: pl.Series, key: bytes) -> tuple[Digests, NDArray[np.bool_]]:
    """Return the keyed hash of each id, and which rows have none.

    Ids that one would call the same (white space, letter case, forms of a number) are one person.
    """
    import polars as pl

    if isinstance(ids.dtype, pl.Categorical | pl.Enum):
        ids = ids.cast(pl.String)
    table = ids.to_frame("id")
    distinct = table.unique().with_row_index("code")
    codes = (
        table.join(distinct, on="id", how="left", nulls_equal=True, maintain_order="left")
        .get_column("code")
        .to_numpy()
    )
    said = [
        () if value is None else person_would_say(canonical_label(value))
        for value in distinct.get_column("id").to_list()
    ]
    data = b"".join(
        hashlib.blake2b("\0".join(each).encode(), digest_size=_DIGEST, key=key).digest()
        for each in said
    )
    hashes = np.frombuffer(data, "<u8").reshape(-1, 2)
    nobody = np.array([not each for each in said], np.bool_)
    return hashes[codes], nobody[codes]


def keep_people(
    kept: KeptRelease,
    frame: pl.DataFrame,
    of_row: NDArray[np.int64],
    ids: pl.Series,
    key: bytes | None,
) -> KeptPeople:
    """Return who is in which group, under a key of its own.

    Args:
        kept: the release.
        frame: its published rows.
        of_row: group of each of them.
        ids: whose each of them is.
        key: of the release, and of those that are made beside it; a new one unless given.
    """
    import polars as pl

    key = key or new_key()
    digests, nobody = digests_of(ids, key)
    # in the order of hashes that nobody can guess: that of the rows is gone
    known = np.flatnonzero(~nobody)
    rows = known[np.lexsort((digests[known, 1], digests[known, 0]))]
    values = {}
    for name, counts in kept.sensitive.items():
        column = frame.get_column(name)
        if isinstance(column.dtype, pl.Categorical | pl.Enum):
            column = column.cast(pl.String)
        codes = counts.values.to_frame("value").with_row_index("code")
        joined = column.to_frame("value").join(
            codes, on="value", how="left", nulls_equal=True, maintain_order="left"
        )
        values[name] = joined.get_column("code").to_numpy().astype(np.int64)[rows]
    return KeptPeople(key, digests[rows], of_row[rows], values, int(nobody.sum()))


def people_to_json(people: KeptPeople) -> dict[str, Any]:
    """Return the private half as plain values."""
    return {
        "of": people.of,
        "mark": people.mark,
        "beside": list(people.beside),
        "key": people.key.hex(),
        "people": base64.b64encode(people.digests.astype("<u8").tobytes()).decode("ascii"),
        "group": numbers_to_json(people.group),
        "values": {name: numbers_to_json(codes) for name, codes in people.values.items()},
        "unknown": people.unknown,
    }


def people_from_json(said: dict[str, Any], kept: KeptRelease, of: str) -> KeptPeople:
    """Return the private half that was read.

    Raises:
        Damaged: it does not belong to the release, or is not what it should be.
    """
    if take(said, "of", str) != of:
        raise Damaged("it belongs to another release file")
    try:
        key = bytes.fromhex(take(said, "key", str))
        data = base64.b64decode(take(said, "people", str), validate=True)
    except (ValueError, binascii.Error):
        raise Damaged("the people in it cannot be read") from None
    if len(key) != _KEY or len(data) % _DIGEST:
        raise Damaged("the people in it cannot be read")
    digests = np.frombuffer(data, "<u8").reshape(-1, 2).astype(np.uint64)
    group = numbers_from_json(said, "group", below=kept.n_groups)
    table, unknown = take(said, "values", dict), take(said, "unknown", int)
    values = {
        name: numbers_from_json(table, name, below=len(counts.values))
        for name, counts in kept.sensitive.items()
    }
    lengths = {len(digests), len(group), *(len(each) for each in values.values())}
    if lengths != {len(digests)} or len(digests) + unknown != kept.n_rows or unknown < 0:
        raise Damaged("the people in it are not those of the release")
    beside = take(said, "beside", list)
    if not all(isinstance(each, str) for each in beside):
        raise Damaged("the earlier releases in it cannot be read")
    mark = take(said, "mark", str)
    return KeptPeople(key, digests, group, values, unknown, of, mark, tuple(beside))
