"""The private half of a kept release: who is in which group, under a key. It stays with the holder.

Somebody who has this file can try out whether a person of whom the id is known is in it; ids
themselves are not in it. It is as confidential as the table of ids.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.hierarchy import canonical_label
from shoal.table.sensitive import person_would_say

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.archive.kept import KeptRelease


_KEY = 32
_MOST_TABLES = 1 << 20
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
        table: in which published table each row is: 0 is the first, then come further rows.
        holds: marks of the releases whose rows are in it, where further rows joined them.
    """

    key: bytes
    digests: Digests
    group: NDArray[np.int64]
    values: dict[str, NDArray[np.int64]]
    unknown: int = 0
    of: str = ""
    mark: str = ""
    beside: tuple[str, ...] = ()
    table: NDArray[np.int64] | None = None
    holds: tuple[str, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """What tells this release, and those whose rows are in it, from any other."""
        return (self.mark, *self.holds)

    @property
    def chain(self) -> str:
        """What releases of the same people have in common; it does not tell the key."""
        return hashlib.sha256(b"chain" + self.key).hexdigest()

    @property
    def n_tables(self) -> int:
        """How many published tables the rows are in."""
        return 1 if self.table is None else int(self.table.max(initial=0)) + 1

    @property
    def of_table(self) -> NDArray[np.int64]:
        """In which published table each row is."""
        return np.zeros_like(self.group) if self.table is None else self.table

    @property
    def place(self) -> NDArray[np.int64]:
        """Group of each row in its own published table: whoever has the tables tells them apart."""
        return self.of_table * (int(self.group.max(initial=0)) + 1) + self.group

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


def key_of(earlier: Sequence[KeptRelease]) -> bytes | None:
    """Return the key that earlier releases share; None if there are none."""
    return next((kept.people.key for kept in earlier if kept.people is not None), None)


def marks_of(earlier: Sequence[KeptRelease]) -> tuple[str, ...]:
    """Return what tells earlier releases apart."""
    return tuple(kept.people.mark for kept in earlier if kept.people is not None)


def digests_of(ids: pl.Series, key: bytes) -> Digests:
    """Return the keyed hash of each id; that of `digest_of_nobody` where there is none.

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
    hashes: Digests = _hashed(said, key)[codes]
    return hashes


def digest_of_nobody(key: bytes) -> Digests:
    """Return what stands for the person of rows without an id: one person, whoever that is."""
    return _hashed([()], key)


def _hashed(said: list[tuple[str, ...]], key: bytes) -> Digests:
    data = b"".join(
        hashlib.blake2b("\0".join(each).encode(), digest_size=_DIGEST, key=key).digest()
        for each in said
    )
    return np.frombuffer(data, "<u8").reshape(-1, 2).astype(np.uint64)


def number_people(digests: Digests) -> tuple[NDArray[np.int64], int]:
    """Return a number for each row's person, equal for equal hashes, and how many there are."""
    import polars as pl

    table = pl.DataFrame({"a": digests[:, 0], "b": digests[:, 1]})
    distinct = table.unique(maintain_order=True).with_row_index("number")
    joined = table.join(distinct, on=["a", "b"], how="left", maintain_order="left")
    return joined.get_column("number").to_numpy().astype(np.int64), distinct.height


def keep_people(
    kept: KeptRelease,
    frame: pl.DataFrame,
    of_row: NDArray[np.int64],
    digests: Digests,
    key: bytes,
    table: NDArray[np.int64] | None = None,
) -> KeptPeople:
    """Return who is in which group.

    Args:
        kept: the release.
        frame: its published rows.
        of_row: group of each of them.
        digests: keyed hash of the person of each of them.
        key: of the release, and of those that are made beside it.
        table: in which published table each of them is; in one unless given.
    """
    import polars as pl

    nobody = (digests == digest_of_nobody(key)).all(axis=1)
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
    return KeptPeople(
        key,
        digests[rows],
        of_row[rows],
        values,
        int(nobody.sum()),
        table=None if table is None else table[rows],
    )


def rows_of(kept: KeptRelease) -> tuple[pl.DataFrame, Digests]:
    """Return the published rows of a release whose people are known, and whose each of them is.

    Rows whose person nobody named come last.
    """
    import polars as pl

    people = kept.people
    assert people is not None
    rest = replace(
        kept,
        sizes=kept.sizes - np.bincount(people.group, minlength=kept.n_groups),
        sensitive={
            name: counts.without(people.group, people.values[name])
            for name, counts in kept.sensitive.items()
        },
    ).table()
    group = pl.Series(people.group, dtype=pl.UInt32)
    named = [column.gather(group) for column in kept.cells.get_columns()]
    for name, counts in kept.sensitive.items():
        codes = pl.Series(people.values[name], dtype=pl.UInt32)
        named.append(counts.values.gather(codes).alias(name))
    nobody = np.repeat(digest_of_nobody(people.key), rest.height, axis=0)
    return pl.concat([pl.DataFrame(named), rest]), np.concatenate([people.digests, nobody])


def people_to_json(people: KeptPeople) -> dict[str, Any]:
    """Return the private half as plain values."""
    from shoal.archive.release_file import numbers_to_json

    return {
        "of": people.of,
        "mark": people.mark,
        "beside": list(people.beside),
        "key": people.key.hex(),
        "people": base64.b64encode(people.digests.astype("<u8").tobytes()).decode("ascii"),
        "group": numbers_to_json(people.group),
        "values": {name: numbers_to_json(codes) for name, codes in people.values.items()},
        "unknown": people.unknown,
        "table": numbers_to_json(people.of_table),
        "holds": list(people.holds),
    }


def people_from_json(said: dict[str, Any], kept: KeptRelease, of: str) -> KeptPeople:
    """Return the private half that was read.

    Raises:
        Damaged: it does not belong to the release, or is not what it should be.
    """
    from shoal.archive.release_file import Damaged, numbers_from_json, numbers_to_json, take

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
    codes, unknown = take(said, "values", dict), take(said, "unknown", int)
    values = {
        name: numbers_from_json(codes, name, below=len(counts.values))
        for name, counts in kept.sensitive.items()
    }
    said = {"table": numbers_to_json(np.zeros(len(group), np.int64)), "holds": [], **said}
    table = numbers_from_json(said, "table", below=_MOST_TABLES)  # not there in version 1
    lengths = {len(digests), len(group), len(table), *(len(each) for each in values.values())}
    if lengths != {len(digests)} or len(digests) + unknown != kept.n_rows or unknown < 0:
        raise Damaged("the people in it are not those of the release")
    found = [counts.without(group, values[name]).count for name, counts in kept.sensitive.items()]
    found.append(kept.sizes - np.bincount(group, minlength=kept.n_groups))
    if any((left < 0).any() for left in found):
        raise Damaged("the people in it are not those of the release")
    beside, holds = take(said, "beside", list), take(said, "holds", list)
    if not all(isinstance(each, str) for each in (*beside, *holds)):
        raise Damaged("the earlier releases in it cannot be read")
    mark = take(said, "mark", str)
    return KeptPeople(
        key, digests, group, values, unknown, of, mark, tuple(beside), table, tuple(holds)
    )
