"""What is kept of a release: its rules and the published cells with their counts, no row.

Everything in it is told by the published table, by the settings and by the hierarchies as they
were given. Who the people are is kept apart (`shoal.archive.membership`), and only where `person`
names them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError
from shoal.io.columns import decode_text
from shoal.publish.cells import columns_needed
from shoal.table.frames import to_polars
from shoal.table.schema import Schema

if TYPE_CHECKING:
    import os

    import polars as pl
    from numpy.typing import NDArray

    from shoal.archive.membership import Digests, KeptPeople
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
    from shoal.archive.membership import digests_of, keep_people, new_key

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
    from shoal.archive.membership import keep_people, new_mark

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
