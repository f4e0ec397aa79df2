"""Where a table is, in files or in a database by URL, and texts without a URL's credentials.

``postgresql://user:password@host:5432/clinic?table=public.patients`` and
``sqlite:///folder/clinic.db?table=patients`` (four slashes for an absolute path, as in other
tools). A URL is shown to people only as ``Location.shown``: without user, password and options.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path, PurePath, PurePosixPath
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from shoal.errors import DataError, OptionError, did_you_mean
from shoal.io.formats import detect_format
from shoal.io.remote import check_address, is_remote, objects_below
from shoal.messages import Message
from shoal.runtime.sanitize import hide_credentials

IF_EXISTS = ("fail", "replace")
"""What may happen to a table that is already there."""

_SCHEMES = {"postgresql": "postgresql", "postgres": "postgresql", "sqlite": "sqlite"}
DELTA = "delta"
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://", re.IGNORECASE)
# What somebody may have meant to be a URL: a slash or colon too few, or no scheme at all.
_ALMOST = re.compile(r"(?:postgres(?:ql)?|sqlite3?)(?::|//)", re.IGNORECASE)
_NO_SCHEME = re.compile(r"[^/@:]+:[^@]*@[^@/]+(?:/.*)?")
_PARTITION = re.compile(r"(?P<name>[^=./\\]+)=(?P<value>[^/\\]*)")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_SELECT = re.compile(r"(?:SELECT|WITH|VALUES)\b", re.IGNORECASE)
_SECRET = re.compile(r"pass|pwd|sslkey", re.IGNORECASE)
_QUERY = "shoal_query"
_PART = r'(?:"(?:[^"]|"")+"|[^".]+)'
_TABLE = re.compile(rf"(?:(?P<schema>{_PART})\.)?(?P<name>{_PART})")


@dataclass(frozen=True)
class Location:
    """A table in a database.

    Attributes:
        scheme: ``postgresql``, ``sqlite`` or ``delta``.
        table: name of the table.
        schema: the schema it is in; None is where the database looks by default.
        path: the file of an SQLite database, or the folder of a table of Delta.
        options: how to connect, as libpq calls it (host, user, …). Never shown.
        query: a SELECT whose rows are the table; then the table is only what we call it.
        shown: the URL without credentials and options; of a query, only that it is one.
        typed: the URL as it can be typed again: as it was, but for a user with a password.
    """

    scheme: str
    table: str
    schema: str | None = None
    path: Path | None = None
    options: dict[str, str] = field(default_factory=dict, repr=False, hash=False)
    shown: str = ""
    query: str | None = None
    typed: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return self.shown


def is_database(name: str | PathLike[str]) -> bool:
    """Tell whether a name is a URL of a table, rather than the name of a file or an object."""
    return isinstance(name, str) and _URL.match(name) is not None and not is_remote(name)


def shown_name(name: str | PathLike[str]) -> str:
    """Return the name of a table as it may be shown: a URL without credentials, else as it is."""
    return _harmless(os.fspath(name), lambda location: location.shown)


def typed_name(name: str | PathLike[str]) -> str:
    """Return the name of a table as it can be typed again; a password is left out."""
    return _harmless(os.fspath(name), lambda location: location.typed)


def _harmless(text: str, part: Callable[[Location], str]) -> str:
    if not is_database(text):
        return text
    try:
        return part(parse_location(text))
    except OptionError:
        return hide_credentials(text)


def refuse_almost_url(name: str | PathLike[str]) -> None:
    """Make sure that the name of a file is no URL of a database with a typing error in it.

    Raises:
        OptionError: it looks like one; the message shows nothing of it, it may hold a password.
    """
    text = os.fspath(name)
    check_address(text)
    if is_database(text) or is_remote(text) or os.path.lexists(text):
        return
    if _ALMOST.match(text) or _NO_SCHEME.fullmatch(text):
        raise OptionError(
            "There is no such file, and it looks like the URL of a database that is not quite "
            "one; write postgresql://user:password@host/database?table=name or "
            "sqlite:///file.db?table=name."
        )


def check_if_exists(choice: str) -> str:
    """Return the choice after a check that it is one of ``IF_EXISTS``."""
    if choice not in IF_EXISTS:
        raise OptionError(
            "What to do if the table exists must be fail or replace, not {choice!r}.{hint}",
            choice=choice,
            hint=did_you_mean(str(choice), IF_EXISTS),
        )
    return choice


def parse_location(url: str) -> Location:
    """Read the URL of a table.

    Raises:
        OptionError: it is none; the message shows no part that may belong to a password.
    """
    match = _URL.match(url)
    if match and match["scheme"].lower().partition("+")[0] == DELTA:
        return _delta(url)
    scheme = _SCHEMES.get(match["scheme"].lower()) if match else None
    if scheme is None:
        given = f"{match['scheme']}://" if match else Message("this")
        raise OptionError(
            "Tables are read from and written to files, s3://, gs:// and abfs://, "
            "postgresql://host/database?table=name, sqlite:///file.db?table=name and "
            "delta:///folder, not {given}; https:// is read.",
            given=given,
        )
    try:
        parts = urlsplit(url)
        port = parts.port
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise _malformed(scheme) from None
    # An @, : or # that was not written as %40, %3A or %23 puts a piece of the password elsewhere.
    if "@" in parts.path + parts.query or parts.fragment:
        raise _malformed(scheme)
    given_options = dict(options)
    query = _parse_query(given_options)
    schema, table = (
        _parse_table(given_options.pop("table", ""), scheme) if query is None else (None, _QUERY)
    )
    if len(given_options) + 1 != len(options):
        raise OptionError("The URL of the database gives an option twice; keep one.")
    if scheme == "sqlite":
        found = _sqlite(parts, given_options, schema, table)
    else:
        found = _postgresql(parts, port, given_options, schema, table)
    shown = found.shown
    if query is not None:
        shown = shown.partition("?")[0] + "?query=..."  # it may name people
    return replace(found, query=query, shown=shown, typed=_without_password(parts, options))


def _delta(url: str) -> Location:
    """Read the URL of a table of Delta: ``delta:///folder``, or ``delta+s3://bucket/folder``."""
    place = url[len(DELTA) :].rstrip("/")
    if place.startswith("+"):
        place = place[1:]
        check_address(place)
        if is_remote(place) and not place.lower().startswith("https:"):
            name = PurePosixPath(place).name
            return Location(DELTA, name, options={"url": place}, shown=url, typed=url)
    parts = urlsplit(url)
    path = unquote(parts.path)[1:].rstrip("/")
    if parts.scheme != DELTA or parts.netloc or parts.query or parts.fragment or not path:
        raise OptionError(
            "The URL of a table of Delta looks like delta:///folder/table, delta:////folder/table "
            "from the root of the disk, or delta+s3://bucket/folder/table."
        )
    return Location(DELTA, Path(path).name, path=Path(path), shown=url, typed=url)


def _parse_query(options: dict[str, str]) -> str | None:
    """Take the query from the options of a URL; None if it has none."""
    if "query" not in options:
        return None
    query = options.pop("query").strip().removesuffix(";").strip()
    if "table" in options:
        raise OptionError("The URL of the database has a table and a query; keep one of them.")
    if not _SELECT.match(query) or ";" in query:
        raise OptionError(
            "The query in the URL of the database must be one SELECT without ;, as in "
            "?query=SELECT age, zip FROM patients; write special characters as percent codes "
            "(& is %26, + is %2B, # is %23, % is %25)."
        )
    return query


def _without_password(parts: SplitResult, options: list[tuple[str, str]]) -> str:
    """Return the URL as somebody can type it again, with a password that comes from elsewhere."""
    user, at, host = parts.netloc.rpartition("@")
    kept = [(name, text) for name, text in options if not _SECRET.search(name)]
    # Beside a password the user is nobody else's business, either.
    netloc = host if ":" in user else f"{user}{at}{host}"
    text = "&".join(f"{quote(name)}={quote(text, safe='*(),. ')}" for name, text in kept)
    return f"{parts.scheme}://{netloc}{parts.path}?{text}"


def _sqlite(
    parts: SplitResult, options: dict[str, str], schema: str | None, table: str
) -> Location:
    path = unquote(parts.path)[1:]
    if parts.netloc or not path:
        raise OptionError(
            "The URL of an SQLite database looks like sqlite:///folder/file.db?table=name, or "
            "sqlite:////folder/file.db?table=name from the root of the disk."
        )
    if schema is not None:
        raise OptionError(
            "SQLite has no schemas: write table={table}, or put a name that holds a dot into "
            'double quotes, as in table="a.b".',
            table=quote(table),
        )
    if options:
        raise OptionError(
            "The URL of an SQLite database takes only table=, not {options!r}.",
            options=next(iter(options)),
        )
    shown = f"sqlite:///{path}?table={_shown_table(None, table)}"
    return Location("sqlite", table, path=Path(path), shown=shown)


def _postgresql(
    parts: SplitResult, port: int | None, options: dict[str, str], schema: str | None, table: str
) -> Location:
    database = unquote(parts.path[1:])
    if "/" in parts.path[1:]:
        raise _malformed("postgresql")
    # As it was written: it may be the folder of a socket, and `hostname` is in lower case.
    written = parts.netloc.rpartition("@")[2]
    start = written.lower().find(parts.hostname or "")
    host = unquote(written[start : start + len(parts.hostname or "")])
    found = {
        "host": host,
        "port": "" if port is None else str(port),
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "dbname": database,
    }
    connection = {**options, **{name: value for name, value in found.items() if value}}
    place = f"[{host}]" if ":" in host else host
    where = place + (f":{port}" if port is not None else "")
    shown = f"postgresql://{where}/{database}?table={_shown_table(schema, table)}"
    return Location("postgresql", table, schema, options=connection, shown=shown)


def _parse_table(text: str, scheme: str) -> tuple[str | None, str]:
    if not text:
        example = ":///file.db" if scheme == "sqlite" else "://host/database"
        raise OptionError(
            "The URL of the database does not name a table; end it with ?table=name, as in "
            "{scheme}{example}?table=patients.",
            scheme=scheme,
            example=example,
        )
    match = _TABLE.fullmatch(text)
    if match is None:
        raise OptionError(
            "The table in the URL of the database must be written as name or schema.name; put a "
            'name that holds a dot or a quote into double quotes, as in table="a.b".'
        )
    schema, name = (_unquote_name(match[part]) for part in ("schema", "name"))
    assert name is not None
    return schema, name


def _unquote_name(text: str | None) -> str | None:
    if text is None or not text.startswith('"'):
        return text
    return text[1:-1].replace('""', '"')


def _shown_table(schema: str | None, table: str) -> str:
    names = [name for name in (schema, table) if name is not None]
    return ".".join(
        f'"{name.replace(chr(34), chr(34) * 2)}"' if "." in name or '"' in name else name
        for name in names
    )


def _malformed(scheme: str) -> OptionError:
    return OptionError(
        "The {scheme}:// URL cannot be read; write special characters of its user, password "
        "and names as percent codes (@ is %40, : is %3A, / is %2F, # is %23, ? is %3F).",
        scheme=scheme,
    )


# -- One table in several files: a list, a folder, or a pattern such as ``2026/*.csv`` -------------

Sources = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A file, a folder, a pattern, a URL; or several of them."""


def input_files(source: Sources, format: str | None = None) -> list[str]:  # noqa: A002 - the option's name
    """Return the files that a source stands for, in the order of their names.

    A URL and ``-`` stand for themselves, and so does a file that does not exist, which whoever
    opens it says.

    Raises:
        DataError: a folder holds no table, or no file fits a pattern.
        OptionError: a stream or a database is given beside something else.
    """
    given = [source] if isinstance(source, (str, PathLike)) else list(source)
    names = [os.fspath(each) for each in given]
    if len(names) > 1 and any(name == "-" or is_database(name) for name in names):
        raise OptionError("Several inputs must be files; a stream or a database stands alone.")
    files = [file for name in names for file in _files_of(name, format)]
    return list(dict.fromkeys(files))


def _files_of(name: str, file_format: str | None) -> list[str]:
    if name == "-" or is_database(name):
        return [name]
    if is_remote(name):
        return _objects_of(name, file_format)
    path = Path(name) if "\0" not in name else None
    if path is not None and path.is_dir():
        _refuse_lake(path)
        tables = [each for each in sorted(path.iterdir()) if _is_table(each, file_format)]
        tables += [file for part in _parts_of(path) for file in _tables_below(part, file_format)]
        if not tables:
            raise DataError("There is no table in the folder {name!r}; name a file.", name=name)
        return [str(each) for each in tables]
    if path is not None and not path.exists() and glob.has_magic(name):
        refuse_almost_url(name)
        found = glob.glob(name, recursive=True)  # noqa: PTH207 - the pattern may be absolute
        matches = [each for each in sorted(found) if Path(each).is_file()]
        if not matches:
            raise DataError("No file fits {name!r}.", name=name)
        return matches
    return [name]


def is_folder(name: str | PathLike[str]) -> bool:
    """Tell whether a source is a folder; of objects, one that ends with a slash."""
    text = os.fspath(name)
    return text.endswith("/") if is_remote(text) else Path(name).is_dir()


def _objects_of(url: str, file_format: str | None) -> list[str]:
    """Return the objects that a URL stands for: one, a folder's, or those that fit a pattern."""
    check_address(url)
    if glob.has_magic(url):
        folder = re.split(r"[*[]", url)[0].rpartition("/")[0]
        found = [each for each in objects_below(folder) if PurePosixPath(each).match(url)]
        if not found:
            raise DataError("No object fits {name!r}.", name=url)
        return sorted(found)
    if not url.endswith("/"):
        return [url]
    below = [PurePosixPath(each.removeprefix(url)) for each in objects_below(url)]
    if any(each.parts[0] == "_delta_log" for each in below):
        raise _lake(url, "Delta")
    tables = [each for each in below if all(map(_PARTITION.fullmatch, each.parts[:-1]))]
    tables = [each for each in tables if _is_named_as_table(each, file_format)]
    if not tables:
        raise DataError("There is no table in the folder {name!r}; name a file.", name=url)
    if any(len(each.parts) > 1 for each in tables):
        _check_parts(tables, file_format)
    # as on a disk: what lies in a folder comes before what lies in the folders in it
    tables.sort(key=lambda each: [*((1, part) for part in each.parts[:-1]), (0, each.name)])
    return [f"{url}{each}" for each in tables]


def _refuse_lake(folder: Path) -> None:
    """Refuse the folder of a table of Delta or Iceberg: its files hold rows that were deleted, too.

    Raises:
        DataError: it is one.
    """
    signs = {"Delta": folder / "_delta_log", "Iceberg": folder / "metadata" / "version-hint.text"}
    written = [kind for kind, sign in signs.items() if sign.exists()]
    written += ["Iceberg"] if any(folder.glob("metadata/*.metadata.json")) else []
    if written:
        raise _lake(str(folder), written[0])


def _lake(folder: str, kind: str) -> DataError:
    return DataError(
        "{folder!r} is a table of {kind}, whose files may hold rows that were deleted; {instead}.",
        folder=folder,
        kind=kind,
        instead=Message("name it as a table, as in delta:///folder")
        if kind == "Delta"
        else Message(
            "write its present version to Parquet, or hand it over as a frame (shoal.anonymize)"
        ),
    )


def _parts_of(folder: Path) -> list[Path]:
    """Return the folders in a folder that are parts of a table, as in ``year=2024``."""
    inside = sorted(folder.iterdir())
    return [each for each in inside if _PARTITION.fullmatch(each.name) and each.is_dir()]


def _tables_below(part: Path, file_format: str | None) -> list[Path]:
    """Return the tables in a part, and in the parts that it has.

    Raises:
        DataError: they are no Parquet, which alone is read with the columns of its folders.
    """
    found = [each for each in sorted(part.iterdir()) if _is_table(each, file_format)]
    _check_parts(found, file_format)
    return [
        *found,
        *(file for each in _parts_of(part) for file in _tables_below(each, file_format)),
    ]


def _check_parts(tables: Sequence[PurePath], file_format: str | None) -> None:
    if any(detect_format(str(each), file_format).row.scan is None for each in tables):
        raise DataError(
            "Folders that are named by the values of a column are read if their files are Parquet; "
            "write them as Parquet, or name the files one by one."
        )


def partition_of(
    path: str | PathLike[str], table: str | PathLike[str] | None = None
) -> dict[str, str | None]:
    """Return the columns that the folders of a file stand for, with its values as they are written.

    Args:
        path: the file.
        table: the folder of the table; folders above it stand for nothing.

    >>> partition_of("visits/country=DE/year=2024/part-0.parquet")
    {'country': 'DE', 'year': '2024'}
    """
    found: dict[str, str | None] = {}
    for folder in Path(path).parents:
        said = _PARTITION.fullmatch(folder.name)
        if said is None or folder == (None if table is None else Path(table)):
            break
        value = unquote(said["value"])
        found[unquote(said["name"])] = None if value == _NO_VALUE else value
    return dict(reversed(found.items()))


def _is_table(path: Path, file_format: str | None) -> bool:
    return path.is_file() and _is_named_as_table(path, file_format)


def _is_named_as_table(path: PurePath, file_format: str | None) -> bool:
    if path.name.startswith((".", "_")):
        return False
    try:
        detect_format(str(path), file_format)
    except DataError:
        return False
    return True


def refuse_among(source: Sources, output: str, what: str) -> None:
    """Make sure that an output would not be an input of the next run.

    Raises:
        OptionError: it would stand in a folder that is read, or fit a pattern.
    """
    given = [source] if isinstance(source, (str, PathLike)) else list(source)
    for name in [os.fspath(each) for each in given]:
        if name == "-" or is_database(name) or is_remote(name) != is_remote(output):
            continue
        if is_remote(name):
            if _objects_among(name, output):
                raise _among(what, output, name)
            continue
        if Path(name).is_file():
            continue
        folder = Path(output).absolute().parent
        while _PARTITION.fullmatch(folder.name):
            folder = folder.parent
        inside = Path(name).is_dir() and folder.is_dir() and folder.samefile(name)
        if inside or (glob.has_magic(name) and Path(output).absolute().match(str(Path(name)))):
            raise _among(what, output, name)


def _objects_among(source: str, output: str) -> bool:
    if glob.has_magic(source):
        return PurePosixPath(output).match(source)
    folders = output.removeprefix(source).split("/")[:-1]
    inside = source.endswith("/") and output.startswith(source)
    return inside and all(map(_PARTITION.fullmatch, folders))


def _among(what: str, output: str, name: str) -> OptionError:
    return OptionError(
        "{what:capital} {output!r} would be among the inputs {name!r} of the next run; "
        "write it to another folder.",
        what=what,
        output=output,
        name=name,
    )


def check_same_columns(first: str, names: Sequence[str], other: str, found: Sequence[str]) -> None:
    """Make sure that two files have the same columns, in whichever order.

    Raises:
        DataError: they have not; names are shown, since those of a first line that may be data
            are hidden by whoever shows messages.
    """
    missing = [each for each in names if each not in found]
    extra = [each for each in found if each not in names]
    if missing:
        raise DataError(
            "{other} has no column {missing!r}, which {first} has; several files are read as "
            "one table only if they have the same columns.",
            other=other,
            missing=missing[0],
            first=first,
        )
    if extra:
        raise DataError(
            "{other} has a column {extra!r}, which {first} has not; several files are read as "
            "one table only if they have the same columns.",
            other=other,
            extra=extra[0],
            first=first,
        )
