"""What is kept of a release, made from the release itself or from its files."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from secrets import token_bytes
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.archive.release_file import (
    DIGEST_BYTES,
    OPTIONS,
    READING,
    Digests,
    KeptPeople,
    KeptRelease,
    ValueCounts,
    load_release,
    refuse_missing,
)
from shoal.errors import DataError, OptionError
from shoal.io.columns import decode_text
from shoal.publish.cells import columns_needed
from shoal.table.frames import to_polars
from shoal.table.person_key import KEY_BYTES, clean_ids
from shoal.table.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.release_data import ReleaseData
    from shoal.table.schema import Column


def keep(release: ReleaseData | KeptRelease) -> KeptRelease:
    """Return what is kept of a release.

    Raises:
        DataError: a published column is of a type that cannot be kept.
    """
    if isinstance(release, KeptRelease):
        return release
    if release.verification.attacker is not None:
        raise OptionError(
            "A release against attackers of limited knowledge cannot be kept for further rows or "
            "later releases, whose promise is about whole groups."
        )
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

    key = release.key or token_bytes(KEY_BYTES)
    people = keep_people(kept, frame, of_row, digests_of(release.ids, key), key)
    return replace(kept, people=replace(people, mark=release.mark, beside=release.beside))


def check_style(release: ReleaseData) -> None:
    """Raise if published cells are written in a way that cannot be kept.

    Raises:
        DataError: they are.
    """
    if release.style is not None and release.style.shuffles:
        raise DataError(
            "A release of shuffled cells cannot be kept: it has no generalised cells that further "
            "rows, or later releases, could be compared with."
        )
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
    people = replace(people, mark=new_mark(), beside=old.beside, holds=old.marks)
    return replace(both, people=people)


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
    options = {
        name: release.parameters[name]
        for name in (*OPTIONS, *READING)
        if name in release.parameters
    }
    if options.get("algorithm") == "given groups":
        options |= {"algorithm": "auto", "algorithm_options": {}, "refine": None}
    return options


def new_mark() -> str:
    """Return what tells a release from any other."""
    return os.urandom(DIGEST_BYTES).hex()


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
    codes, texts = clean_ids(ids)
    hashes: Digests = _hashed(texts, key)[codes]
    return hashes


def digest_of_nobody(key: bytes) -> Digests:
    """Return what stands for the person of rows without an id: one person, whoever that is."""
    return _hashed([()], key)


def _hashed(texts: list[tuple[str, ...]], key: bytes) -> Digests:
    data = b"".join(
        hashlib.blake2b("\0".join(each).encode(), digest_size=DIGEST_BYTES, key=key).digest()
        for each in texts
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


# Earlier releases as users give them: in memory, or as the names of their files.


def open_previous(given: Sequence[Any], written: str | None = None) -> tuple[KeptRelease, ...]:
    """Return what was kept of earlier releases.

    Args:
        given: releases, or the names of their files.
        written: the release file that is about to be written.

    Raises:
        OptionError: one is neither a release nor the name of a file, or a release of the same
            people lies beside a file and is not given.
        DataError: a file cannot be read.
    """
    if not given:
        return ()
    from shoal.publish.release_data import ReleaseData

    found = []
    for each in given:
        if isinstance(each, str | os.PathLike):
            found.append(load_release(each))
        elif isinstance(each, ReleaseData | KeptRelease):
            found.append(keep(each))
        else:
            raise OptionError(
                "previous must be releases, what shoal.load_release returns, or names of "
                "release files, not {name}.",
                name=type(each).__name__,
            )
    refuse_missing([each for each in given if isinstance(each, str | os.PathLike)], found, written)
    return tuple(found)
