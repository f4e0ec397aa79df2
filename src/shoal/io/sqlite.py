"""Tables in SQLite, with the driver of the standard library.

SQLite stores integers, reals, texts and blobs, whatever the column was declared as. What a column
*holds* decides its type here; the declaration only adds what storage cannot say: truth values,
dates, and numbers with a fixed number of decimals. Nothing that is stored is changed: a value
that does not fit its declaration keeps the column as it is stored.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from shoal.errors import DataError, did_you_mean
from shoal.io.columns import type_columns
from shoal.io.database import BATCH, choose_columns, collect_batches
from shoal.io.overwrite_guard import note_database, note_table, refuse_input, refuse_table
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence
    from pathlib import Path

    import polars as pl

    from shoal.io.location import Location


_STORAGES = ("integer", "real", "text", "blob")
_FIXED = re.compile(r"(?:DECIMAL|NUMERIC)\w*\(\s*(\d+)\s*,\s*(\d+)\s*\)", re.IGNORECASE)
# SQLite's results have at most 2,000 columns.
_CHUNK = 400
# A number of this many digits survives being stored as a 64-bit float.
_SAFE_DIGITS = 15
_LARGEST = 2**63 - 1


def column_names(location: Location) -> list[str]:
    """Return the names of a table's columns."""
    with _reading(location) as connection:
        return list(_declared(connection, location))


def read(
    location: Location, columns: Sequence[str] | None, *, written: bool = False
) -> pl.DataFrame:
    """Read a table, or only some of its columns."""
    for table in tables_read(location):
        note_table(table)
    with _reading(location) as connection:
        # One view of the table for all queries, whoever writes to it meanwhile.
        connection.execute("BEGIN")
        if written:
            return _select_written(connection, location, columns)
        declared = _declared(connection, location)
        names = choose_columns(columns, list(declared), location)
        storages = _storages(connection, location, names)
        types = {name: _read_as(storages[name]) for name in names}
        texts = [
            f"CAST({_quoted(name)} AS TEXT)" if _is_mixed(storages[name]) else _quoted(name)
            for name in names
        ]
        rows = connection.execute(f"SELECT {', '.join(texts)} FROM {_quoted(location.table)}")
        frame = collect_batches(_batches(rows), types)
    return frame.with_columns(
        _as_declared(frame.get_column(name), declared[name].upper()) for name in names
    )


def _select_written(
    connection: sqlite3.Connection, location: Location, columns: Sequence[str] | None
) -> pl.DataFrame:
    """Read columns so that cells of different storage or value differ."""
    import polars as pl

    names = choose_columns(columns, list(_declared(connection, location)), location)
    storages = _storages(connection, location, names)
    types, texts = {}, []
    for name in names:
        cell = _quoted(name)
        if len(storages[name]) > 1:
            # quote() gives numbers all their digits; texts are told from them by their marks.
            types[name] = pl.String
            texts.append(
                f"CASE typeof({cell}) WHEN 'null' THEN NULL "
                f"WHEN 'text' THEN '\"' || {cell} || '\"' ELSE quote({cell}) END"
            )
        else:
            types[name] = _read_as(storages[name])
            texts.append(cell)
    rows = connection.execute(f"SELECT {', '.join(texts)} FROM {_quoted(location.table)}")
    return collect_batches(_batches(rows), types)


def check_target(location: Location, if_exists: str) -> None:
    """Raise unless the table could be written."""
    path = _path(location)
    refuse_input(path, Message("the database"), database=True)
    if not path.exists():
        if not path.parent.is_dir():
            raise DataError(
                "Could not write {shown!r}: the folder {parent!r} does not exist.",
                shown=location.shown,
                parent=str(path.parent),
            )
        return
    with _reading(location, reads_rows=False) as connection:
        _check_existing(connection, location, if_exists)


def identity(location: Location) -> Hashable:
    """Return what tells the table apart from all others; None if the file does not exist."""
    return _identity(location, location.table)


def tables_read(location: Location) -> list[Hashable]:
    """Return every table that a query on this one reads: of a view, also those behind it."""
    names = {location.table.lower()}

    def note(action: int, table: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_READ and table:
            names.add(table.lower())
        return sqlite3.SQLITE_OK

    with _reading(location) as connection:
        _declared(connection, location)  # says what is wrong if there is no such table
        connection.set_authorizer(note)
        connection.execute(f"SELECT * FROM {_quoted(location.table)} LIMIT 0")
        connection.set_authorizer(None)
    return [_identity(location, name) for name in sorted(names)]


def _identity(location: Location, table: str) -> Hashable:
    try:
        status = _path(location).stat()
    except (OSError, ValueError):  # a name that no file can have
        return None
    return (status.st_dev, status.st_ino, table.lower())


def stage(
    location: Location, frame: pl.DataFrame, if_exists: str, beside: Sequence[object] = ()
) -> _Pending:
    """Write the table in a transaction and return it, not yet committed.

    Where one of the tables ``beside`` it is of the same file, both are of one transaction.
    """
    import polars as pl

    same = [each for each in beside if isinstance(each, _Pending) and each.path == _path(location)]
    if not same:
        check_target(location, if_exists)
    refuse_table(identity(location), location.shown)
    declarations, cells = [], []
    for column in frame.get_columns():
        declaration, stored = _stored(column)
        declarations.append(f"{_quoted(column.name)} {declaration}")
        cells.append(stored)
    pending = _Pending(location, same[0] if same else None)
    try:
        with _reporting(location, Message("write")):
            pending.begin()
            _check_existing(pending.connection, location, if_exists)
            table = _quoted(location.table)
            pending.connection.execute(f"DROP TABLE IF EXISTS {table}")
            pending.connection.execute(f"CREATE TABLE {table} ({', '.join(declarations)})")
            marks = ", ".join("?" * len(cells))
            for batch in pl.DataFrame(cells).iter_slices(BATCH):
                pending.connection.executemany(
                    f"INSERT INTO {table} VALUES ({marks})", batch.rows()
                )
    except BaseException:
        pending.close()
        raise
    return pending


class _Pending:
    """A written table that waits for its commit; one of several is committed with the first."""

    connection: sqlite3.Connection

    def __init__(self, location: Location, first: _Pending | None = None) -> None:
        self._location = location
        self.path = _path(location)
        self._is_new = not self.path.exists()
        self._done = False
        self._first = first
        if first is not None:
            self.connection = first.connection
            return
        with _reporting(location, Message("write")):
            self.connection = sqlite3.connect(self.path, isolation_level=None)
            # Rows of a table that is replaced, or of one that never came to be, are wiped out
            # rather than left in free pages of the file.
            self.connection.execute("PRAGMA secure_delete = ON")

    def names(self) -> list[str]:
        """Return the names of the written columns."""
        with _reporting(self._location, Message("read")):
            return list(_declared(self.connection, self._location))

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns as they are written, from inside the transaction."""
        with _reporting(self._location, Message("read")):
            return _select_written(self.connection, self._location, columns)

    def begin(self) -> None:
        """Start the transaction; nobody else can write until it ends."""
        if self._first is None:
            self.connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Make the table last."""
        if self._first is not None:
            return
        with _reporting(self._location, Message("write")):
            self.connection.execute("COMMIT")
        self._done = True

    def close(self) -> None:
        """Undo the change unless it was committed; a file that was made for it goes."""
        if self._first is not None:
            return
        with contextlib.suppress(sqlite3.Error):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        self.connection.close()
        if self._is_new and not self._done:
            with contextlib.suppress(OSError):
                self.path.unlink()


def _path(location: Location) -> Path:
    assert location.path is not None
    return location.path


@contextlib.contextmanager
def _reading(location: Location, *, reads_rows: bool = True) -> Iterator[sqlite3.Connection]:
    path = _path(location)
    if not path.is_file():
        raise DataError("There is no file {path!r}.", path=str(path))
    if reads_rows:
        note_database(path)
    with _reporting(location, Message("read")):
        # mode=ro: reading must never make or change a file.
        url = f"file:{quote(str(path.absolute()))}?mode=ro"
        connection = sqlite3.connect(url, uri=True, isolation_level=None)
        try:
            if location.query is not None:
                _name_query(connection, location)
            yield connection
        finally:
            connection.close()


def _name_query(connection: sqlite3.Connection, location: Location) -> None:
    """Give a query the name of a table, for this connection alone and in memory.

    Raises:
        DataError: it is no query that this database can answer.
    """
    connection.execute("PRAGMA temp_store = MEMORY")
    try:
        connection.execute(f"CREATE TEMP VIEW {_quoted(location.table)} AS {location.query}")
        connection.execute(f"SELECT * FROM {_quoted(location.table)} LIMIT 0")
    except (sqlite3.OperationalError, sqlite3.ProgrammingError, sqlite3.Warning) as error:
        if getattr(error, "sqlite_errorname", "SQLITE_ERROR") not in {"SQLITE_ERROR", None}:
            raise
        # What SQLite says repeats names of the query, which whoever typed it knows.
        raise DataError(
            "SQLite does not understand the query of {shown!r}; try it with the program sqlite3.",
            shown=location.shown,
        ) from None


@contextlib.contextmanager
def _reporting(location: Location, verb: str) -> Iterator[None]:
    try:
        yield
    except UnicodeError:
        reason = Message("a text in it is not UTF-8")
    except OverflowError:
        reason = Message("a number in it does not fit into 64 bits")
    except sqlite3.Error as error:
        # Only texts that are known to hold no cell are repeated.
        code = getattr(error, "sqlite_errorname", "") or ""
        known = {
            "SQLITE_BUSY": Message("another program is using the database; try again later"),
            "SQLITE_LOCKED": Message("another program is using the database; try again later"),
            "SQLITE_NOTADB": Message("the file is not an SQLite database"),
            "SQLITE_CORRUPT": Message("the database is damaged"),
            "SQLITE_FULL": Message("the disk is full"),
            "SQLITE_READONLY": Message("the database may not be written to"),
            "SQLITE_CANTOPEN": Message("the file cannot be opened"),
            "SQLITE_TOOBIG": Message("a cell or the table is larger than SQLite allows"),
        }
        found = [text for name, text in known.items() if code.startswith(name)]
        text_error = isinstance(error, sqlite3.OperationalError) and "UTF-8" in str(error)
        code = code or type(error).__name__
        reason = found[0] if found else Message("SQLite refused ({code})", code=code)
        if text_error:
            reason = Message("a text in it is not UTF-8")
    else:
        return
    raise DataError(
        "Could not {verb} {shown!r}: {reason}.", verb=verb, shown=location.shown, reason=reason
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _declared(connection: sqlite3.Connection, location: Location) -> dict[str, str]:
    """Return the declared type of each column."""
    rows = connection.execute(f"PRAGMA table_xinfo({_quoted(location.table)})").fetchall()
    if not rows:
        names = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            )
        ]
        raise DataError(
            "There is no table {table!r} in {path!r}.{hint}",
            table=location.table,
            path=str(location.path),
            hint=did_you_mean(location.table, names),
        )
    return {row[1]: row[2] or "" for row in rows if row[6] != 1}


def _storages(
    connection: sqlite3.Connection, location: Location, names: Sequence[str]
) -> dict[str, frozenset[str]]:
    """Return which storage classes occur in each column, in one pass over the table."""
    found: dict[str, frozenset[str]] = {}
    for start in range(0, len(names), _CHUNK):
        part = names[start : start + _CHUNK]
        asked = ", ".join(
            f"max(typeof({_quoted(name)}) = '{storage}')" for name in part for storage in _STORAGES
        )
        row = connection.execute(f"SELECT {asked} FROM {_quoted(location.table)}").fetchone()
        for place, name in enumerate(part):
            flags = row[place * len(_STORAGES) : (place + 1) * len(_STORAGES)]
            found[name] = frozenset(s for s, flag in zip(_STORAGES, flags, strict=True) if flag)
    return found


def _is_mixed(storages: frozenset[str]) -> bool:
    """Tell whether a column holds texts beside numbers, which makes all of it text."""
    return len(storages) > 1 and not storages <= {"integer", "real"}


def _read_as(storages: frozenset[str]) -> Any:
    import polars as pl

    if _is_mixed(storages) or not storages:
        return pl.String
    if storages == {"integer"}:
        return pl.Int64
    if storages <= {"integer", "real"}:
        return pl.Float64
    return pl.Binary if storages == {"blob"} else pl.String


def _batches(rows: sqlite3.Cursor) -> Iterator[list[tuple[Any, ...]]]:
    while batch := rows.fetchmany(BATCH):
        yield batch


def _as_declared(column: pl.Series, declared: str) -> pl.Series:
    """Return the column in its declared type where nothing is lost by it."""
    import polars as pl

    if column.dtype == pl.Int64 and "BOOL" in declared:
        fits = column.len() == column.null_count() or bool(column.drop_nulls().is_in([0, 1]).all())
        return column.cast(pl.Boolean) if fits else column
    if declared.startswith(("DATE", "TIMESTAMP")):
        if column.dtype == pl.String and column.null_count() < column.len():
            return type_columns(column.to_frame(), numbers=False).to_series()
        return column
    fixed = _FIXED.search(declared)
    if fixed is not None and 0 < int(fixed[1]) <= 38 and int(fixed[2]) <= int(fixed[1]):
        exact = column.cast(pl.Decimal(int(fixed[1]), int(fixed[2])), strict=False)
        back = exact.cast(column.dtype)
        if exact.null_count() == column.null_count() and bool((back == column).all()):
            return exact
    return column


def _stored(column: pl.Series) -> tuple[str, pl.Series]:
    """Return how a column is declared, and its cells as SQLite stores them."""
    import polars as pl

    dtype = column.dtype
    if dtype.is_integer():
        largest = column.max()
        if isinstance(largest, int) and largest > _LARGEST:
            raise DataError(
                "SQLite cannot hold column {name!r}: its numbers do not fit into 64 bits.",
                name=column.name,
            )
        return "INTEGER", column.cast(pl.Int64)
    if isinstance(dtype, pl.Decimal):
        digits, scale = _digits(column), dtype.scale
        # With the affinity of text, long numbers are not rounded to 64-bit floats.
        name = "DECIMAL" if digits <= _SAFE_DIGITS else "DECIMAL_TEXT"
        return f"{name}({max(digits, scale, 1)},{scale})", column.cast(pl.String)
    if isinstance(dtype, pl.Datetime):
        utc = column if dtype.time_zone is None else column.dt.convert_time_zone("UTC")
        zone = "" if dtype.time_zone is None else "Z"
        return "TIMESTAMP", utc.dt.strftime(f"%Y-%m-%dT%H:%M:%S%.f{zone}")
    plain: dict[Any, tuple[str, Any]] = {
        pl.Boolean: ("BOOLEAN", pl.Int64),
        pl.Float32: ("REAL", pl.Float64),
        pl.Float64: ("REAL", pl.Float64),
        pl.Date: ("DATE", pl.String),
        pl.Binary: ("BLOB", pl.Binary),
    }
    for kind, (declaration, stored) in plain.items():
        if dtype == kind:
            return declaration, column.cast(stored)
    return "TEXT", column.cast(pl.String)


def _digits(column: pl.Series) -> int:
    """Return how many digits the longest number of a decimal column has."""
    import polars as pl

    text = column.cast(pl.String).drop_nulls().str.replace_all(r"[-.]", "")
    longest = text.str.strip_chars_start("0").str.len_chars().max()
    return int(longest) if isinstance(longest, int) else 0


def _check_existing(connection: sqlite3.Connection, location: Location, if_exists: str) -> None:
    row = connection.execute(
        "SELECT type FROM sqlite_master WHERE name = ? COLLATE NOCASE", (location.table,)
    ).fetchone()
    if row is None:
        return
    if row[0] != "table":
        raise DataError(
            "Could not write {shown!r}: a {row} of that name exists; choose another name.",
            shown=location.shown,
            row=row[0],
        )
    if if_exists == "fail":
        raise DataError(
            "{shown!r} exists; choose another table, or replace it with --if-exists replace "
            "(if_exists='replace').",
            shown=location.shown,
        )
