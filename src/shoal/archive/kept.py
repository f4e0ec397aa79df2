"""What is kept of a release: its rules, its published cells, and under a key its people.

The public half (`KeptRelease`) has no row: everything in it is told by the published table, by the
settings and by the hierarchies as they were given. Who is in which group is kept apart, in the
private half (`KeptPeople`), and only where `person` names them. It stays with the holder: somebody
who has that file can try out whether a person of whom the id is known is in it; ids themselves are
not in it. It is as confidential as the table of ids.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError
from shoal.hierarchy import canonical_label
from shoal.io.columns import decode_text
from shoal.publish.cells import columns_needed
from shoal.table.frames import to_polars
from shoal.table.schema import Schema
from shoal.table.sensitive import person_would_say

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.privacy import PrivacyModel
    from shoal.publish.recode import Style
    from shoal.publish.release_data import ReleaseData
    from shoal.table.schema import Column

OPTIONS = (
    "rows_are_people",
    "unknown_values",
    "default_grid",
    "missing",
    "algorithm",
    "algorithm_options",
    "measure",
    "measure_options",
    "block_rows",
    "refine",
    "shuffle",
    "strict",
)
"""Options of a run that further rows are treated by; those about columns are in the schema."""


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How often each group publishes each value of a sensitive column.

    Attributes:
        values: the distinct values as published; null is one of them.
        group: group of each count.
        value: which of the values.
        count: in how many rows.
        order: texts from low to high, where the type of the column had an order.
    """

    values: pl.Series
    group: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]
    order: tuple[str, ...] | None = None

    def without(self, group: NDArray[np.int64], value: NDArray[np.int64]) -> ValueCounts:
        """Return the counts without rows of these groups and values; negative where too many."""
        n_values = max(len(self.values), 1)
        pairs = np.concatenate([self.group * n_values + self.value, group * n_values + value])
        found, which = np.unique(pairs, return_inverse=True)
        left = np.zeros(len(found), np.int64)
        np.add.at(left, which, np.concatenate([self.count, np.full(len(group), -1, np.int64)]))
        return replace(self, group=found // n_values, value=found % n_values, count=left)


@dataclass(frozen=True, eq=False)
class KeptRelease:
    """A release as it is kept: what further rows need, and no row of the input.

    Attributes:
        k: the promised size of the smallest group.
        privacy: what was promised beyond k.
        schema: roles and kinds of the columns; hierarchies as they were given, or as rules.
        style: how generalised cells are written.
        options: how rows were grouped; never the seed.
        cells: the published cells of each group: the quasi-identifiers, one row per group.
        sizes: published rows of each group.
        sensitive: counts of the published values, by column.
        people: who they are, under a key; private, None where nobody is named.
    """

    k: int
    privacy: tuple[PrivacyModel, ...]
    schema: Schema
    style: Style
    options: dict[str, Any]
    cells: pl.DataFrame
    sizes: NDArray[np.int64]
    sensitive: dict[str, ValueCounts]
    people: KeptPeople | None = None

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.sizes)

    @property
    def n_rows(self) -> int:
        """Number of published rows."""
        return int(self.sizes.sum())

    def table(self) -> pl.DataFrame:
        """Return quasi-identifiers and sensitive columns as published, group by group.

        Which values of two sensitive columns stand in one row is not kept, so they do not belong
        together here.
        """
        import polars as pl

        rows = pl.Series(np.repeat(np.arange(self.n_groups), self.sizes), dtype=pl.UInt32)
        columns = [self.cells.get_column(name).gather(rows) for name in self.cells.columns]
        for name, counts in self.sensitive.items():
            order = np.argsort(counts.group, kind="stable")
            which = np.repeat(counts.value[order], counts.count[order])
            columns.append(counts.values.gather(pl.Series(which, dtype=pl.UInt32)).alias(name))
        return pl.DataFrame(columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file; see `shoal.Release.save`."""
        from shoal.archive.release_file import write_kept

        write_kept(self, path)

    def __repr__(self) -> str:
        """Return one line without any cell."""
        whose = "" if self.people is None else ", with people"
        return f"<KeptRelease k={self.k}: {self.n_rows} rows in {self.n_groups} groups{whose}>"


def keep(release: ReleaseData | KeptRelease) -> KeptRelease:
    """Return what is kept of a release.

    Raises:
        DataError: a published column is of a type that cannot be kept.
    """
    if isinstance(release, KeptRelease):
        return release
    check_style(release)
    frame = decode_text(to_polars(release.frame))
    if frame.height == 0:
        raise DataError("The release has no rows; there is nothing to keep.")
    keys = columns_needed(frame.columns, release.schema.quasi_identifiers)
    cells, of_row, sizes = number_classes(frame.select(keys))
    counts = {name: _count(frame.get_column(name), of_row) for name in release.schema.sensitive}
    kept = keep_cells(release, cells, sizes, counts)
    if release.ids is None:
        return kept

    key = release.key or new_key()
    people = keep_people(kept, frame, of_row, digests_of(release.ids, key), key)
    return _belonging(kept, replace(people, mark=release.mark, beside=release.beside))


def _belonging(kept: KeptRelease, people: KeptPeople) -> KeptRelease:
    from shoal.archive.release_file import digest_of, to_bytes

    return replace(kept, people=replace(people, of=digest_of(to_bytes(kept))))


def check_style(release: ReleaseData) -> None:
    """Raise if published cells are written in a way that cannot be kept.

    Raises:
        DataError: they are.
    """
    if release.style is not None and release.style.numeric == "struct":
        raise DataError(
            "A release with intervals as structs cannot be kept; publish them as intervals or "
            "bounds (--numeric-output)."
        )


def keep_cells(
    release: ReleaseData,
    cells: pl.DataFrame,
    sizes: NDArray[np.int64],
    sensitive: dict[str, ValueCounts],
) -> KeptRelease:
    """Return what is kept of a release, from its published cells and their counts."""
    from shoal.publish.recode import Style

    return KeptRelease(
        k=release.k,
        privacy=release.privacy,
        schema=_without_values(release),
        style=release.style or Style(),
        options=_options(release),
        cells=cells,
        sizes=sizes,
        sensitive=sensitive,
    )


def with_further(
    kept: KeptRelease, frame: pl.DataFrame, digests: Digests | None, n_old: int
) -> KeptRelease:
    """Return what is kept of a release and further rows together.

    Args:
        kept: the release.
        frame: its published rows, then the further ones.
        digests: keyed hash of the person of each row; None where nobody is named.
        n_old: how many rows are those of the release, as `rows_of` returns them.
    """
    cells, of_row, sizes = number_classes(frame.select(kept.cells.columns))
    sensitive = {
        name: replace(_count(frame.get_column(name), of_row), order=counts.order)
        for name, counts in kept.sensitive.items()
    }
    both = replace(kept, cells=cells, sizes=sizes, sensitive=sensitive, people=None)
    old = kept.people
    if old is None or digests is None:
        return both
    table = np.zeros(frame.height, np.int64)
    if old.table is not None:
        table[: len(old.table)] = old.table
    table[n_old:] = table.max(initial=0) + 1
    people = keep_people(both, frame, of_row, digests, old.key, table)
    return _belonging(both, replace(people, mark=new_mark(), beside=old.beside, holds=old.marks))


def number_classes(
    keys: pl.DataFrame,
) -> tuple[pl.DataFrame, NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows in an order of their own, which one each row is, and how many are.

    The order is one of the cells alone: neither the rows' order nor the run's groups are in it.
    """
    table = keys.rename({name: f"cell{place}" for place, name in enumerate(keys.columns)})
    names = table.columns
    distinct = table.group_by(names).len("rows").sort(names, nulls_last=True)
    numbered = distinct.select(names).with_row_index("class")
    joined = table.join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")
    return (
        distinct.select(names).rename(dict(zip(names, keys.columns, strict=True))),
        joined.get_column("class").to_numpy().astype(np.int64),
        distinct.get_column("rows").to_numpy().astype(np.int64),
    )


def _count(column: pl.Series, of_row: NDArray[np.int64]) -> ValueCounts:
    import polars as pl

    order = None
    if isinstance(column.dtype, pl.Enum):
        used = set(column.drop_nulls().unique().cast(pl.String).to_list())
        order = tuple(each for each in column.dtype.categories.to_list() if each in used)
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    values, codes, _ = number_classes(column.to_frame("value"))
    counted = (
        pl.DataFrame({"group": of_row, "value": codes})
        .group_by("group", "value")
        .len("count")
        .sort("group", "value")
    )
    group, value, count = (
        counted.get_column(name).to_numpy().astype(np.int64) for name in ("group", "value", "count")
    )
    return ValueCounts(values.to_series().alias(column.name), group, value, count, order)


def _without_values(release: ReleaseData) -> Schema:
    """Return the schema without anything that grew from the rows."""
    asked = release.asked

    def plain(column: Column) -> Column:
        if column.rule is not None:
            return replace(column, hierarchy=None)
        if column.hierarchy is None or asked is None:
            return column
        return replace(column, hierarchy=asked[column.name].hierarchy)

    columns = tuple(plain(column) for column in release.schema.columns)
    return Schema(columns, pseudonyms=release.schema.pseudonyms)


def _options(release: ReleaseData) -> dict[str, Any]:
    said = {name: release.parameters[name] for name in OPTIONS if name in release.parameters}
    if said.get("algorithm") == "given groups":
        said |= {"algorithm": "auto", "algorithm_options": {}, "refine": None}
    return said


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
