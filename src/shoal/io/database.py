"""Tables in databases: what PostgreSQL, SQLite and Delta have in common.

Reading takes batches of rows and keeps them as columns, so that Python objects exist for one
batch only. Writing is one transaction: the table appears whole or not at all, and a table that is
there already is replaced inside that transaction or not touched.
"""

from __future__ import annotations

import hashlib
import importlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol, cast

from shoal.errors import DataError, OptionError, did_you_mean
from shoal.io.atomic import Transaction
from shoal.io.location import DELTA, Location, check_if_exists, parse_location

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    import polars as pl

    from shoal.io.atomic import AtomicGroup


BATCH = 20_000
"""Rows that exist as Python objects at a time."""


class _Backend(Protocol):
    def column_names(self, location: Location) -> list[str]: ...
    def read(
        self, location: Location, columns: Sequence[str] | None, *, written: bool = False
    ) -> pl.DataFrame: ...
    def check_target(self, location: Location, if_exists: str) -> None: ...
    def identity(self, location: Location) -> Hashable: ...
    def tables_read(self, location: Location) -> list[Hashable]: ...
    def stage(
        self,
        location: Location,
        frame: pl.DataFrame,
        if_exists: str,
        beside: Sequence[object] = (),
    ) -> Pending: ...


class Pending(Transaction, Protocol):
    """A table that is written but for its commit, and can be read by who wrote it."""

    def names(self) -> list[str]:
        """Return the names of its columns."""

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns as they are written."""


def column_names(url: str) -> list[str]:
    """Return the names of a table's columns without reading its rows."""
    location = parse_location(url)
    return _backend(location).column_names(location)


def read_sql(
    url: str, columns: Sequence[str] | None = None, *, written: bool = False
) -> pl.DataFrame:
    """Read a table, or only some of its columns, from a database.

    Args:
        url: of the table.
        columns: names; all unless given.
        written: whether what differs in the database must differ in the table (1 and 1.0 in
            columns that hold both), instead of getting the most useful type.

    Raises:
        DataError: the database cannot be reached, or has no such table or column.
        OptionError: the URL is none.
    """
    location = parse_location(url)
    frame = _backend(location).read(location, columns, written=written)
    if frame.height == 0:
        raise DataError("{shown!r} has no rows.", shown=location.shown)
    return frame


def _target(url: str) -> Location:
    location = parse_location(url)
    if location.query is not None:
        raise OptionError("A release is written to a table, not to a query; end with ?table=name.")
    return location


def check_target(url: str, if_exists: str) -> None:
    """Find out before the work whether a table could be written after it.

    Raises:
        DataError: the database cannot be reached, or the table exists and may not be replaced.
        OptionError: the URL is none of a table.
    """
    location = _target(url)
    _backend(location).check_target(location, check_if_exists(if_exists))


def reads_table(source: str, target: str) -> bool:
    """Tell whether one URL reads the table of another, however they are written.

    A view reads the tables behind it.
    """
    first, second = parse_location(source), parse_location(target)
    if first.scheme != second.scheme:
        return False
    theirs = _backend(second).identity(second)
    return theirs is not None and theirs in _backend(first).tables_read(first)


def stage_sql(group: AtomicGroup, frame: pl.DataFrame, url: str, if_exists: str) -> Pending:
    """Write a table in a transaction that is committed together with a group of files."""
    location = _target(url)
    check_if_exists(if_exists)
    rows = insertable(frame, location)
    pending = _backend(location).stage(location, rows, if_exists, group.transactions)
    group.enlist(pending)
    return pending


def rows_sha256(frame: pl.DataFrame) -> str:
    """Return a SHA-256 of the rows of a table, whatever their order is.

    The rows of a database have no order and no bytes of their own. So each row becomes one line
    of JSON that maps column names to the texts of the cells (null where missing), lines are
    sorted by their bytes and hashed with a line feed after each. The same table read from
    PostgreSQL and SQLite has the same hash; NaN is missing there, since SQLite holds none.
    """
    import polars as pl

    texts = []
    for column in frame.get_columns():
        dtype = column.dtype
        plain = column
        if isinstance(dtype, pl.Datetime):
            plain = column.cast(pl.Datetime("us", "UTC" if dtype.time_zone else None))
        elif dtype.is_float():
            plain = column.cast(pl.Float64).fill_nan(None)
        elif dtype == pl.Binary:
            plain = column.bin.encode("hex")
        texts.append(plain.cast(pl.String))
    lines = pl.DataFrame(texts).select(pl.struct(pl.all()).struct.json_encode().alias("line"))
    digest = hashlib.sha256()
    for batch in lines.sort("line").iter_slices(BATCH):
        digest.update(("\n".join(batch.get_column("line").to_list()) + "\n").encode())
    return digest.hexdigest()


def choose_columns(
    columns: Sequence[str] | None, present: Sequence[str], location: Location
) -> list[str]:
    """Return the columns to read, after a check that the table has them."""
    if not present:
        raise DataError("{shown!r} has no columns.", shown=location.shown)
    if columns is None:
        return list(present)
    wanted = [columns] if isinstance(columns, str) else list(columns)
    for name in wanted:
        if name not in present:
            raise DataError(
                "{shown!r} has no column {name!r}.{hint}",
                shown=location.shown,
                name=name,
                hint=did_you_mean(name, present),
            )
    return wanted


def collect_batches(
    batches: Iterator[Sequence[Sequence[Any]]], schema: dict[str, Any]
) -> pl.DataFrame:
    """Return batches of rows as one table of these types."""
    import polars as pl

    frames = [pl.DataFrame(schema=schema)]
    frames.extend(pl.DataFrame(rows, schema=schema, orient="row") for rows in batches)
    return pl.concat(frames, rechunk=True)


def insertable(frame: pl.DataFrame, location: Location) -> pl.DataFrame:
    """Return the table with plain types only, after a check that a database can hold it.

    Raises:
        DataError: a column is nested, or two names differ only in their case (SQLite).
    """
    import polars as pl

    for name, dtype in frame.schema.items():
        if dtype.is_nested() or dtype == pl.Object or isinstance(dtype, pl.Duration):
            raise DataError(
                "A database table cannot hold column {name!r} of type {dtype}; publish it in "
                "another form, or write Parquet or Arrow instead.",
                name=name,
                dtype=dtype,
            )
        if not name or "\0" in name:
            raise DataError("A database table needs a name for every column; rename the columns.")
    if location.scheme == "sqlite":
        # SQLite folds the case of ASCII letters only.
        counts = Counter(name.lower() if name.isascii() else name for name in frame.columns)
        twice = [name for name, count in counts.items() if count > 1]
        if twice:
            raise DataError(
                "SQLite does not tell columns apart whose names differ only in their case, as "
                "those called {twice!r} do; rename one of them.",
                twice=twice[0],
            )
    return frame.with_columns(
        pl.col(pl.Categorical, pl.Enum, pl.Null).cast(pl.String),
    )


def _backend(location: Location) -> _Backend:
    name = {"postgresql": "postgres", "sqlite": "sqlite", DELTA: "delta"}[location.scheme]
    return cast("_Backend", importlib.import_module(f"shoal.io.{name}"))
