"""Tables in PostgreSQL, with psycopg 3.

Rows come through a cursor that lives on the server, in the binary form, batch by batch; they go
back with COPY. Types that a frame has no equal for (enumerations, UUIDs, JSON, …) are read as the
text that PostgreSQL gives them.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError, did_you_mean
from shoal.io.database import BATCH, choose_columns, collect_batches
from shoal.io.overwrite_guard import current_watch, note_table, refuse_table
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    import polars as pl
    import psycopg
    from psycopg.sql import Composable

    from shoal.io.location import Location


# What PostgreSQL says about itself: which tables a query reads, and why nobody gets in.

# Tables by their names, and the tables that they are parts of.
PARENTS = """
WITH RECURSIVE reads(oid) AS (
    SELECT oid FROM (SELECT to_regclass(name)::oid AS oid FROM unnest(%s::text[]) AS name) AS named
    WHERE oid IS NOT NULL
    UNION
    SELECT inhparent FROM reads JOIN pg_catalog.pg_inherits ON inhrelid = reads.oid
)
"""


def tables_in_plan(connection: psycopg.Connection[Any], rows: Composable) -> list[str]:
    """Return the names of the tables that reading these rows takes; views are seen through."""
    from psycopg import sql

    explain = sql.SQL("EXPLAIN (VERBOSE, FORMAT JSON) SELECT * FROM {}").format(rows)
    found = connection.execute(explain).fetchone()
    plans: list[Any] = list(found or ())
    names = []
    while plans:
        plan = plans.pop()
        if isinstance(plan, list):
            plans.extend(plan)
        elif isinstance(plan, dict):
            plans.extend(plan.values())
            if "Relation Name" in plan:
                name = sql.Identifier(plan.get("Schema", "public"), plan["Relation Name"])
                names.append(name.as_string(connection))
    return names


def why_not_connected(message: str) -> str:
    """Return the reason in our own words: the driver's may repeat parts of the URL."""
    known = {
        "password authentication failed": Message(
            "the server does not accept this user and password"
        ),
        "no password supplied": Message("the server asks for a password and the URL has none"),
        "no pg_hba.conf entry": Message("the server does not let this user in from here"),
        "authentication failed": Message("the server does not accept this user"),
        "Connection refused": Message("no server answers at this host and port"),
        "No such file or directory": Message("no server answers at this socket"),
        "timeout": Message("the server does not answer in time"),
        "timed out": Message("the server does not answer in time"),
        "translate host name": Message("there is no host of this name"),
        "resolve host": Message("there is no host of this name"),
        "Name or service not known": Message("there is no host of this name"),
        "getaddrinfo": Message("there is no host of this name"),
        "role ": Message("the server does not know this user"),
        "database ": Message("the server has no database of this name"),
        "SSL": Message("the server and the URL do not agree on encryption"),
    }
    for text, reason in known.items():
        if text in message:
            return reason
    return Message("the server refuses; check host, port, database, user and password")


_CONNECT_SECONDS = "15"
_READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_MOST_DIGITS = 38  # of a decimal in a frame


def column_names(location: Location) -> list[str]:
    """Return the names of a table's columns."""
    with _session(location) as connection:
        connection.execute(_READ_ONLY)
        return [column.name for column in _describe(connection, location)]


def read(
    location: Location, columns: Sequence[str] | None, *, written: bool = False
) -> pl.DataFrame:
    """Read a table, or only some of its columns."""
    if current_watch() is not None:
        for table in tables_read(location):
            note_table(table)
    with _session(location) as connection:
        # Nothing of this session can write, and all its queries see one state of the table.
        connection.execute(_READ_ONLY)
        return _select(connection, location, columns, written=written)


def _select(
    connection: psycopg.Connection[Any],
    location: Location,
    columns: Sequence[str] | None,
    *,
    written: bool,
) -> pl.DataFrame:
    from psycopg import sql

    described = {column.name: column for column in _describe(connection, location)}
    names = choose_columns(columns, list(described), location)
    wanted: list[Composable] = []
    types: dict[str, Any] = {}
    for name in names:
        dtype, as_text = _read_as(described[name].type_code)
        types[name] = dtype
        form = "{}::text" if as_text else "{}"
        wanted.append(sql.SQL(form).format(sql.Identifier(name)))
    query = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(wanted), _table(location))
    with connection.cursor(name="shoal", binary=True) as cursor:
        cursor.execute(query)
        frame = collect_batches(_batches(cursor), types)
    numbers = {n: described[n] for n in names if described[n].type_display[:7] == "numeric"}
    if written:  # as text: without a fixed scale 1.0 and 1.00 are shown as such
        return frame
    return frame.with_columns(
        _as_decimal(frame.get_column(name), column.scale, location)
        for name, column in numbers.items()
    )


def check_target(location: Location, if_exists: str) -> None:
    """Raise unless the table could be written."""
    with _session(location) as connection:
        _check_existing(connection, location, if_exists)


# The start of the server, to the microsecond, tells servers apart without special rights.
_IDENTITY = "SELECT pg_postmaster_start_time(), current_database(), "
# A table, the tables that inherit from it (its partitions), and those behind a view.
_READS = """
WITH RECURSIVE reads(oid) AS (
    SELECT to_regclass(%s)::oid
    UNION
    SELECT found.oid FROM reads JOIN LATERAL (
        SELECT inhrelid AS oid FROM pg_catalog.pg_inherits WHERE inhparent = reads.oid
        UNION ALL
        SELECT refobjid FROM pg_catalog.pg_rewrite AS rule JOIN pg_catalog.pg_depend ON
            classid = 'pg_catalog.pg_rewrite'::regclass AND objid = rule.oid
            AND refclassid = 'pg_catalog.pg_class'::regclass
        WHERE ev_class = reads.oid
    ) AS found ON true
)
"""


def identity(location: Location) -> Hashable:
    """Return what tells the table apart from all others; None if it does not exist."""
    with _session(location) as connection:
        row = connection.execute(
            _IDENTITY + "to_regclass(%s)::oid", [_regclass(location, connection)]
        ).fetchone()
    return None if row is None or row[2] is None else tuple(row)


def tables_read(location: Location) -> list[Hashable]:
    """Return every table that a query on this one reads: also those behind a view."""
    with _session(location) as connection:
        if location.query is not None:
            connection.execute(_READ_ONLY)
            _describe(connection, location)  # says what is wrong with it
            names = tables_in_plan(connection, _table(location))
            rows = connection.execute(f"{PARENTS} {_IDENTITY} oid FROM reads", [names]).fetchall()
            return [tuple(row) for row in rows]
        rows = connection.execute(
            f"{_READS} {_IDENTITY} oid FROM reads WHERE oid IS NOT NULL",
            [_regclass(location, connection)],
        ).fetchall()
    return [tuple(row) for row in rows]


def stage(
    location: Location, frame: pl.DataFrame, if_exists: str, beside: Sequence[object] = ()
) -> _Pending:
    """Write the table in a transaction and return it, not yet committed.

    Where one of the tables ``beside`` it is of the same database, both are of one transaction.
    """
    from psycopg import sql

    if current_watch() is not None:
        refuse_table(identity(location), location.shown)
    declarations, types, cells = [], [], []
    for column in frame.get_columns():
        type_name, declaration, stored = _stored(column)
        name = sql.Identifier(column.name)
        declarations.append(sql.SQL("{} {}").format(name, sql.SQL(declaration)))
        types.append(type_name)
        cells.append(stored)
    import polars as pl

    same = [
        each for each in beside if isinstance(each, _Pending) and each.options == location.options
    ]
    pending = _Pending(location, same[0] if same else None)
    try:
        with _reporting(location, Message("write")):
            connection = pending.connection
            table = _table(location)
            _check_existing(connection, location, if_exists)
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
            connection.execute(
                sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(", ").join(declarations))
            )
            copying = sql.SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(table)
            with connection.cursor() as cursor, cursor.copy(copying) as copy:
                copy.set_types(types)
                for batch in pl.DataFrame(cells).iter_slices(BATCH):
                    for row in batch.rows():
                        copy.write_row(row)
    except BaseException:
        pending.close()
        raise
    return pending


class _Pending:
    """A written table that waits for its commit; one of several is committed with the first."""

    connection: psycopg.Connection[Any]

    def __init__(self, location: Location, first: _Pending | None = None) -> None:
        self._location, self._first = location, first
        self.options = location.options
        self.connection = _connect(location) if first is None else first.connection

    def names(self) -> list[str]:
        """Return the names of the written columns."""
        with _reporting(self._location, Message("read")):
            return [column.name for column in _describe(self.connection, self._location)]

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return columns as they are written, from inside the transaction."""
        with _reporting(self._location, Message("read")):
            return _select(self.connection, self._location, columns, written=True)

    def commit(self) -> None:
        """Make the table last."""
        if self._first is not None:
            return
        with _reporting(self._location, Message("write")):
            self.connection.commit()

    def close(self) -> None:
        """Leave the database, which undoes what was not committed."""
        if self._first is None:
            self.connection.close()


def _connect(location: Location) -> psycopg.Connection[Any]:
    try:
        import psycopg
    except ImportError:
        raise DataError(
            "PostgreSQL needs the package psycopg: pip install 'shoal-anonymity[postgres]'."
        ) from None
    options: dict[str, Any] = {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "shoal",
        **location.options,
    }
    try:
        return psycopg.connect(**options)
    except psycopg.ProgrammingError:
        raise OptionError(
            "The URL of {shown!r} holds an option that PostgreSQL does not know; see its "
            "documentation on connection parameters.",
            shown=location.shown,
        ) from None
    except psycopg.Error as error:
        reason = why_not_connected(str(error))
    except (ValueError, UnicodeError):
        reason = Message("the URL holds a value that is not allowed")
    raise DataError(
        "Could not connect to {shown!r}: {reason}.", shown=location.shown, reason=reason
    )


@contextlib.contextmanager
def _session(location: Location) -> Iterator[psycopg.Connection[Any]]:
    """Open a connection for reading; whatever happens in it is rolled back."""
    connection = _connect(location)
    try:
        with _reporting(location, Message("read")):
            yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def _reporting(location: Location, verb: str) -> Iterator[None]:
    """Turn the errors of the driver, which may show cells, into sentences."""
    import psycopg
    from psycopg import errors

    known: tuple[tuple[type[Exception], str], ...] = (
        (errors.InsufficientPrivilege, Message("this user may not do that")),
        (
            errors.InvalidSchemaName,
            Message("there is no schema {schema!r}", schema=location.schema),
        ),
        (
            errors.DependentObjectsStillExist,
            Message("a view or another table depends on the one there"),
        ),
        (errors.ReadOnlySqlTransaction, Message("the database is read-only")),
        (errors.DuplicateTable, Message("another program has just made a table of that name")),
        (errors.UniqueViolation, Message("another program has just made a table of that name")),
        (
            errors.DuplicateColumn,
            Message("two columns have the same name; PostgreSQL cuts after 63 bytes"),
        ),
        (errors.TooManyColumns, Message("PostgreSQL does not take that many columns")),
        (errors.ProgramLimitExceeded, Message("a row is larger than PostgreSQL allows")),
        (errors.DiskFull, Message("the disk of the server is full")),
        (errors.UntranslatableCharacter, Message("the database cannot hold a character in it")),
        (
            psycopg.DataError,
            Message("a cell cannot be converted (a NUL in a text, or a date out of range)"),
        ),
        (psycopg.OperationalError, Message("the connection was lost")),
    )
    try:
        yield
    except psycopg.Error as error:
        found = (text for kind, text in known if isinstance(error, kind))
        code = error.sqlstate or type(error).__name__
        reason = next(found, Message("PostgreSQL refused ({code})", code=code))
    except (OverflowError, UnicodeError):
        reason = Message(
            "a cell cannot be converted (a text that is not UTF-8, or a date out of range)"
        )
    else:
        return
    raise DataError(
        "Could not {verb} {shown!r}: {reason}.", verb=verb, shown=location.shown, reason=reason
    )


def _table(location: Location) -> Composable:
    from psycopg import sql

    if location.query is not None:
        query = sql.SQL(location.query)
        # The line end: the query may end with a comment.
        return sql.SQL("({}\n) AS {}").format(query, sql.Identifier(location.table))
    names = (location.table,) if location.schema is None else (location.schema, location.table)
    return sql.Identifier(*names)


def _regclass(location: Location, connection: psycopg.Connection[Any]) -> str:
    return _table(location).as_string(connection)


def _describe(connection: psycopg.Connection[Any], location: Location) -> list[psycopg.Column]:
    from psycopg import ProgrammingError, errors, sql

    try:
        with connection.transaction():
            cursor = connection.execute(
                sql.SQL("SELECT * FROM {} LIMIT 0").format(_table(location))
            )
    except ProgrammingError as error:
        if location.query is not None:
            # What PostgreSQL says may repeat values of the query.
            raise DataError(
                "PostgreSQL does not accept the query of {shown!r} ({sqlstate}); try it with "
                "the program psql.",
                shown=location.shown,
                sqlstate=error.sqlstate,
            ) from None
        if not isinstance(error, (errors.UndefinedTable, errors.InvalidSchemaName)):
            raise
        rows = connection.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        )
        raise DataError(
            "There is no table {table!r} in {shown!r}.{hint}",
            table=location.table,
            shown=location.shown,
            hint=did_you_mean(location.table, [name for (name,) in rows]),
        ) from None
    return list(cursor.description or ())


def _read_as(oid: int) -> tuple[Any, bool]:
    """Return the type of a column in the frame, and whether it is fetched as text."""
    import polars as pl

    plain: dict[str, Any] = {
        "int2": pl.Int16,
        "int4": pl.Int32,
        "int8": pl.Int64,
        "float4": pl.Float32,
        "float8": pl.Float64,
        "bool": pl.Boolean,
        "text": pl.String,
        "varchar": pl.String,
        "date": pl.Date,
        "time": pl.Time,
        "timestamp": pl.Datetime("us"),
        "timestamptz": pl.Datetime("us", "UTC"),
        "bytea": pl.Binary,
    }
    import psycopg

    info = psycopg.adapters.types.get(oid)
    name = "" if info is None else info.name
    # An array has the name of its elements, and its own number.
    if info is not None and name in plain and info.oid == oid:
        return plain[name], False
    return pl.String, True


def _batches(cursor: psycopg.ServerCursor[Any]) -> Iterator[list[tuple[Any, ...]]]:
    while batch := cursor.fetchmany(BATCH):
        yield batch


def _as_decimal(column: pl.Series, scale: int | None, location: Location) -> pl.Series:
    """Return the texts of a numeric column as decimals with as many places as they need."""
    import polars as pl

    whole, places = (
        column.str.replace_all("-", "", literal=True).str.extract(pattern).str.len_chars().max()
        for pattern in (r"^(\d+)", r"\.(\d+)$")
    )
    needed = places if isinstance(places, int) else 0
    scale = needed if scale is None else max(scale, needed)
    digits = max((whole if isinstance(whole, int) else 1) + scale, 1)
    numbers = column.cast(pl.Decimal(min(digits, _MOST_DIGITS), scale), strict=False)
    if digits > _MOST_DIGITS or numbers.null_count() > column.null_count():
        raise DataError(
            "Column {name!r} of {shown!r} holds NaN, infinity or numbers of more than "
            "{most_digits} digits; read it through a view that casts it to double precision.",
            name=column.name,
            shown=location.shown,
            most_digits=_MOST_DIGITS,
        )
    return numbers


def _stored(column: pl.Series) -> tuple[str, str, pl.Series]:
    """Return the type of a column for COPY and for CREATE TABLE, and its cells."""
    import polars as pl

    dtype = column.dtype
    for kind, name in _plain_types().items():
        if dtype == kind:
            return name, name, column
    if dtype.is_integer():  # larger than PostgreSQL's own
        return "numeric", "numeric(39, 0)", column
    if isinstance(dtype, pl.Decimal):
        return "numeric", f"numeric({dtype.precision or _MOST_DIGITS}, {dtype.scale})", column
    if not isinstance(dtype, pl.Datetime):
        return "text", "text", column.cast(pl.String)
    if dtype.time_unit == "ns" and bool((column.cast(pl.Int64) % 1000 != 0).any()):
        raise DataError(
            "PostgreSQL keeps microseconds, and column {name!r} holds nanoseconds; round it first.",
            name=column.name,
        )
    if dtype.time_zone is None:
        return "timestamp", "timestamp", column
    return "timestamptz", "timestamptz", column.dt.convert_time_zone("UTC")


def _plain_types() -> dict[Any, str]:
    """Return the smallest type of PostgreSQL that holds each type of a frame."""
    import polars as pl

    return {
        pl.Int8: "int2",
        pl.UInt8: "int2",
        pl.Int16: "int2",
        pl.UInt16: "int4",
        pl.Int32: "int4",
        pl.UInt32: "int8",
        pl.Int64: "int8",
        pl.Float32: "float4",
        pl.Float64: "float8",
        pl.Boolean: "bool",
        pl.Date: "date",
        pl.Time: "time",
        pl.Binary: "bytea",
    }


def _check_existing(
    connection: psycopg.Connection[Any], location: Location, if_exists: str
) -> None:
    row = connection.execute(
        "SELECT relkind FROM pg_catalog.pg_class WHERE oid = to_regclass(%s)",
        [_regclass(location, connection)],
    ).fetchone()
    if row is None:
        return
    kind = row[0].decode() if isinstance(row[0], bytes) else str(row[0])
    if kind not in {"r", "p"}:
        raise DataError(
            "Could not write {shown!r}: it exists and is no table; choose another name.",
            shown=location.shown,
        )
    if if_exists == "fail":
        raise DataError(
            "{shown!r} exists; choose another table, or replace it with --if-exists replace "
            "(if_exists='replace').",
            shown=location.shown,
        )
