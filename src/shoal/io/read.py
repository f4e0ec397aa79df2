"""Tables from files: one function, every format, errors that say which file and line."""

from __future__ import annotations

import io
import json
import re
from contextlib import suppress
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, OptionError
from shoal.io.columns import (
    code_text,
    is_text,
    mark_codes,
    new_code_type,
    repeats_itself,
    through_distinct,
    type_column,
    type_columns,
    without_markers,
)
from shoal.io.delimited import (
    Columns,
    Dialect,
    Part,
    check_utf8,
    parse_delimited,
    pick_columns,
)
from shoal.io.formats import KEEP, Format, check_decimal, check_delimiter, detect_format
from shoal.io.limits import check_arrow, check_columns, check_json_lines, check_rows
from shoal.io.location import (
    Sources,
    check_same_columns,
    input_files,
    is_database,
    is_folder,
    partition_of,
    refuse_almost_url,
    shown_name,
)
from shoal.io.overwrite_guard import how_read, note_input, watched
from shoal.io.recognise import recognise_noted
from shoal.io.remote import on_disk
from shoal.io.source import Source, open_source, to_utf8
from shoal.io.spelling import read_as_asked
from shoal.messages import Message
from shoal.runtime.threads import check_process

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import polars as pl


# How many rows a file has, without reading it.

_SAMPLE = 1 << 20


def guess_rows(source: str, format: str | None = None) -> int | None:  # noqa: A002 - as in read_table
    """Return about how many rows a file has; None if that cannot be told without reading it.

    Parquet knows; text is judged by the length of its first lines (compressed text by what its
    first megabyte becomes). A stream, a database or another format is not.
    """
    found = detect_format(source, format)
    path = on_disk(source)
    if not path.is_file():
        return None
    note_input(source)
    if found.row.count is not None:
        counted: int | None = resolve_name(found.row.count)(path)
        return counted
    if not found.row.is_text:
        return None
    size = path.stat().st_size
    with path.open("rb") as file:
        sample = file.read(_SAMPLE)
    lines, n_bytes = 0, len(sample)
    if found.compression == "gz" or sample.startswith(b"\x1f\x8b"):
        lines, n_bytes = _lines_in_gzip(sample)
    elif found.compression is None:
        lines = sample.count(b"\n")
    return max(round(lines * size / n_bytes) - 1, 0) if lines else None


def count_parquet(path: Path) -> int | None:
    """Return the rows of a Parquet file; None if it cannot be read."""
    import polars as pl

    try:
        counted = pl.scan_parquet(path, glob=False).select(pl.len()).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return None  # whoever reads it says what is wrong
    return int(counted.item())


def _lines_in_gzip(sample: bytes) -> tuple[int, int]:
    """Return how many lines there are in the first bytes of a gzip file, and in how many bytes."""
    import zlib

    unpack = zlib.decompressobj(wbits=31)
    try:
        # A bomb would become a thousand times as much.
        lines = unpack.decompress(sample, 32 * _SAMPLE).count(b"\n")
    except zlib.error:
        return 0, len(sample)
    return lines, max(len(sample) - len(unpack.unconsumed_tail), 1)


_SAMPLE_ROWS = 50_000


@watched()
def read_table(  # noqa: PLR0913 - one argument per option
    source: Sources,
    *,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    delimiter: str | None = None,
    missing_values: Sequence[str] = ("",),
    columns: Columns = None,
    numeric: Collection[str] = (),
    read_as: Mapping[str, str] | None = None,
    coded: bool = False,
    encoding: str | None = None,
    header: bool = True,
    decimal: str | None = None,
    guess: bool = False,
    sheet: str | None = None,
    extra_rows: str = KEEP,
    missing_codes: Mapping[str, Sequence[str]] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> pl.DataFrame:
    """Read a table from a file, a database, or standard input when the source is ``-``.

    Args:
        source: the file; its suffix says the format (CSV, TSV, JSON lines, each also with
            ``.gz`` or ``.zst``; Parquet, Arrow, Excel). Or a table of a database:
            ``postgresql://user:password@host:5432/clinic?table=public.patients`` or
            ``sqlite:///clinic.db?table=patients``. A folder, a pattern such as ``2026/*.csv`` or a
            list stands for several files with the same columns, which are read as one table.
        format: the format when the suffix does not say it.
        delimiter: of a CSV; found among comma, semicolon, tab and pipe when not given.
        missing_values: texts that stand for a missing value; the empty one is a value of its own
            where cells have types (Parquet, Arrow, databases).
        columns: the columns to keep, or a function that picks them from all names before any
            row is read; all unless given. No others leave a database.
        numeric: columns of a CSV in which 1.5 and 1.50 are the same number; in other columns
            texts that differ stay different.
        read_as: how dates or numbers are written in columns of text, as ``dd.mm.yyyy``,
            ``1.234,5`` or ``text`` for what stays as it is.
        coded: whether text columns stay codes, which take less memory (see `shoal.io.columns`).
        encoding: of a text file; found when not given: UTF-8, UTF-16 and what Western European
            programs write.
        header: whether the first line of a CSV or a sheet holds the names of its columns;
            otherwise they are called ``column_1``, ``column_2`` and so on.
        decimal: ``","`` if numbers of a CSV are written as 1,5, ``"."`` if they never are; found
            when not given, where the cells are not separated by commas.
        guess: whether dates and numbers as countries write them are looked for in columns of text
            of which ``read_as`` says nothing.
        sheet: of a workbook, by its name or number; the one with the largest table when not given.
        extra_rows: what happens to rows of a text file or a sheet that look like totals, notes or
            repeated headers: ``"keep"``, ``"drop"``, or ``"ask"``, which refuses such a file.
        missing_codes: what means a missing value in single columns, as ``{"age": ["-9"]}``.
        progress: a function of (rows read, rows in all or 0, what), called now and then.

    Raises:
        DataError: the file or database cannot be read as a table with at least one row.
        OptionError: the format, the delimiter or the URL is none.
    """
    check_process()
    said = {"missing_codes": missing_codes or {}, "read_as": read_as or {}}
    markers = (missing_values,) if isinstance(missing_values, str) else tuple(missing_values)
    texts = tuple(each for each in markers if each)  # where cells have types, "" is a value
    path, *others = input_files(source, format)
    given = [source] if isinstance(source, (str, PathLike)) else list(source)
    tables = [Path(each) for each in given if is_folder(each)]
    if is_database(path):
        from shoal.io.database import column_names, read_sql

        chosen = columns(column_names(path)) if callable(columns) else columns
        names = [chosen] if isinstance(chosen, str) else chosen
        rows = without_markers(read_sql(path, None if names is None else list(names)), texts)
        shown = called(shown_name(path))
        return _as_said(rows, shown, said, numeric=numeric, decimal=decimal, guess=guess)
    refuse_almost_url(path)
    found = _one_format([path, *others], format)
    dialect = Dialect(
        check_delimiter(delimiter) or found.row.separator,
        encoding,
        header,
        check_decimal(decimal),
        read_as,
        guess,
        sheet,
        extra_rows,
        missing_codes or {},
    )
    name = called(path)
    if sheet is not None and not found.row.has_sheets:
        raise OptionError("{name} has no sheets; leave out {sheet!r}.", name=name, sheet=sheet)
    with open_source(path, name, found.compression) as stream:
        if found.row.read is None:
            return parse_delimited(
                stream,
                name=name,
                dialect=dialect,
                missing_values=markers,
                columns=columns,
                numeric=numeric,
                coded=coded,
                more=[_part(each, format) for each in others],
                progress=_rows_read(None if others else stream, progress),
            )
        frame: pl.DataFrame
        if found.row.scan is not None and path != "-" and stream.size:
            frame = resolve_name(found.row.scan)(
                [path, *others], columns, coded=coded, tables=tables
            )
            frame = without_markers(frame, texts)
        else:
            data = stream.read_all()
            if not data:
                raise DataError("{name} is empty.", name=name)
            frame = resolve_name(found.row.read)(data, name, dialect, markers)
            check_columns(name, frame.columns)
            frame = mark_codes(frame.rename(_named(frame.columns)), missing_codes or {})
            for each in others:
                further = read_table(
                    each,
                    format=format,
                    missing_values=markers,
                    encoding=encoding,
                    header=header,
                    sheet=sheet,
                    extra_rows=extra_rows,
                    missing_codes=missing_codes,
                )
                frame = _joined(name, frame, called(each), further)
            frame = frame.select(pick_columns(frame.columns, columns, name=name))
        frame = _as_said(frame, name, said, numeric=numeric, decimal=decimal, guess=guess)
    if frame.height == 0 or frame.width == 0:
        raise DataError("{name} has no rows.", name=name)
    if coded:
        import polars as pl

        frame = frame.with_columns(
            code_text(each)
            for each in frame.get_columns()
            if each.dtype == pl.String and repeats_itself(each)
        )
    return frame


def _as_said(
    frame: pl.DataFrame,
    name: str,
    said: Mapping[str, Mapping[str, Any]],
    *,
    numeric: Collection[str],
    decimal: str | None,
    guess: bool,
) -> pl.DataFrame:
    """Return a table whose cells had types, with its texts read as a text file's would be.

    Args:
        frame: the table.
        name: for messages.
        said: what is said of single columns.
        numeric: columns in which 1.5 and 1.50 are the same number.
        decimal: the sign before decimals, if it is said.
        guess: whether texts of which nothing is said are looked at.
    """
    frame = read_as_asked(frame, said)
    if not guess:
        return frame

    def typed(column: pl.Series) -> pl.Series:
        lenient = column.name in numeric
        return through_distinct(column, lambda texts: type_column(texts, lenient=lenient))

    spelled = said["read_as"]
    texts = [c for c in frame.get_columns() if is_text(c.dtype) and c.name not in spelled]
    frame = recognise_noted(
        frame.with_columns(map(typed, texts)),
        how_read(name),
        name=name,
        but=spelled,
        lenient=numeric,
        decimal=decimal,
    )
    return mark_codes(frame, said["missing_codes"])


def called(path: str) -> str:
    """Return what messages call a file; the values that its folders are named by are cells."""
    if path == "-":
        return Message("Standard input")
    parts = re.split(r"([/\\])", path)
    for name in partition_of(path):
        parts = [f"{name}=…" if each.startswith(f"{name}=") else each for each in parts]
    return repr("".join(parts))


def _one_format(paths: list[str], format_name: str | None) -> Format:
    """Return the format of files that are read as one table.

    Raises:
        DataError: they have different ones.
    """
    found = detect_format(paths[0], format_name)
    for each in paths[1:]:
        if detect_format(each, format_name).name != found.name:
            raise DataError(
                "{each!r} is in another format than {paths!r}; several files are read as one "
                "table only if they are in the same.",
                each=each,
                paths=paths[0],
            )
    return found


def _part(path: str, format_name: str | None) -> Part:
    compression = detect_format(path, format_name).compression
    return Part(called(path), lambda: open_source(path, called(path), compression))


def _joined(first: str, frame: pl.DataFrame, other: str, further: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of two tables that have the same columns.

    Raises:
        DataError: they have not, or a column is of another kind.
    """
    import polars as pl

    check_same_columns(first, frame.columns, other, further.columns)
    _check_same_types(first, frame.schema, other, further.schema)
    return pl.concat([frame, further.select(frame.columns)], how="vertical_relaxed")


def _check_same_types(first: str, types: pl.Schema, other: str, found: pl.Schema) -> None:
    for name, dtype in types.items():
        same = dtype == found[name] or (dtype.is_numeric() and found[name].is_numeric())
        if not same and not {str(dtype), str(found[name])} & {"Null"}:
            raise DataError(
                "Column {name!r} is {found} in {other} and {dtype} in {first}; make them the "
                "same first.",
                name=name,
                found=found[name],
                other=other,
                dtype=dtype,
                first=first,
            )


def _rows_read(
    stream: Source | None, progress: Callable[[int, int, str], None] | None
) -> Callable[[int], None] | None:
    """Return a function of the rows read so far, which guesses how many there will be."""
    if progress is None:
        return None

    def report(n_rows: int) -> None:
        share = 0.0 if stream is None else stream.share()
        progress(n_rows, max(n_rows, int(n_rows / share)) if share else 0, "reading")

    return report


def scan_parquet(
    paths: list[str], columns: Columns, *, coded: bool, tables: Collection[Path] = ()
) -> pl.DataFrame:
    """Read columns of Parquet files that are one table, never the whole of their text at once.

    Args:
        paths: the files.
        columns: those that are wanted.
        coded: whether text may be codes.
        tables: folders that are tables: those in them that are named by values are columns.
    """
    import polars as pl

    scans: list[pl.LazyFrame] = []
    first, n_rows = called(paths[0]), 0
    schema = pl.Schema()
    for path in paths:
        note_input(path)
        table, rows = _scan_parquet(path)
        found = table.collect_schema()
        if scans:
            check_same_columns(first, schema.names(), called(path), found.names())
            _check_same_types(first, schema, called(path), found)
        else:
            schema = found
        n_rows += rows
        scans.append(table)
    parts = _partitions(paths, tables, schema.names())
    for place in range(len(scans) if parts.width else 0):
        said = parts.row(place, named=True)
        literals = (pl.lit(said[name], kind).alias(name) for name, kind in parts.schema.items())
        scans[place] = scans[place].with_columns(literals)
    schema = pl.Schema({**schema, **parts.schema})
    wanted = pick_columns(schema.names(), columns, name=first)
    check_rows(first, n_rows, {each: schema[each] for each in wanted})
    table = pl.concat([each.select(wanted) for each in scans], how="vertical_relaxed")
    try:
        if coded:
            start = table.head(_SAMPLE_ROWS).collect()
            texts = [c.name for c in start if c.dtype == pl.String and repeats_itself(c)]
            # Cell by cell on the way in: the whole text is never in memory.
            table = table.with_columns(pl.col(each).cast(new_code_type()) for each in texts)
        return table.collect(engine="streaming")
    except _unreadable():
        raise _damaged(first, "Parquet") from None


def _partitions(paths: list[str], tables: Collection[Path], names: list[str]) -> pl.DataFrame:
    """Return the columns that the folders of files stand for, a row for each file, typed.

    Those that the files have themselves are left out.

    Raises:
        DataError: files stand in folders of other columns.
    """
    import polars as pl

    found = [
        next((partition_of(path, each) for each in tables if each in Path(path).parents), {})
        for path in paths
    ]
    columns = list(found[0])
    if any(list(each) != columns for each in found):
        raise DataError(
            "The folders of {name} do not stand for the same columns everywhere; a table has the "
            "same columns in every folder.",
            name=called(str(next(iter(tables)))),
        )
    wanted = {name: pl.String for name in columns if name not in names}
    rows = [[each[name] for name in wanted] for each in found]
    return type_columns(pl.DataFrame(rows, schema=wanted, orient="row"))


def _scan_parquet(path: str) -> tuple[pl.LazyFrame, int]:
    """Return a file that is not read yet, with names for all columns, and its number of rows."""
    import polars as pl

    try:
        table = pl.scan_parquet(on_disk(path), glob=False)
        names = table.collect_schema().names()
        n_rows = int(table.select(pl.len()).collect().item())
    except FileNotFoundError:
        raise DataError("There is no file {path!r}.", path=path) from None
    except _unreadable():
        raise _damaged(called(path), "Parquet") from None
    check_columns(called(path), names)
    return table.rename(_named(names)), n_rows


def _named(names: Sequence[str]) -> dict[str, str]:
    """Return the names of columns by what the file calls them; one without a name gets one."""
    taken = set(names)
    named = {}
    for number, each in enumerate(names, start=1):
        own = each.strip("\ufeff") or f"column_{number}"
        named[each] = each if own in taken else own
        taken.add(named[each])
    return named


# Readers of the bytes of a file: its name for messages, how it is written, and the texts that
# stand for a missing value.


def read_parquet(data: bytes, name: str, _: Dialect, markers: tuple[str, ...]) -> pl.DataFrame:
    """Read a Parquet file that came as a stream."""
    import polars as pl

    try:
        table = pl.scan_parquet(io.BytesIO(data))
        n_rows = int(table.select(pl.len()).collect().item())
        check_rows(name, n_rows, table.collect_schema())
        return without_markers(pl.read_parquet(io.BytesIO(data)), [m for m in markers if m])
    except _unreadable():
        raise _damaged(name, "Parquet") from None


def read_arrow(data: bytes, name: str, _: Dialect, markers: tuple[str, ...]) -> pl.DataFrame:
    """Read an Arrow file, which may also hold the stream form."""
    import polars as pl

    check_arrow(data, name)
    for reader in (pl.read_ipc, pl.read_ipc_stream):
        with suppress(*_unreadable()):
            return without_markers(reader(io.BytesIO(data)), [m for m in markers if m])
    raise _damaged(name, "Arrow")


def _unreadable() -> tuple[type[BaseException], ...]:
    """Return what polars raises for a damaged file."""
    import polars as pl

    return (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


def _damaged(name: str, title: str) -> DataError:
    return DataError(
        "{name} is not a readable {kind} file; it is damaged or in another format.",
        name=name,
        kind=title,
    )


def read_json_lines(
    data: bytes, name: str, dialect: Dialect, markers: tuple[str, ...]
) -> pl.DataFrame:
    """Read lines of which each is an object of JSON."""
    import polars as pl

    data = to_utf8(data, dialect.encoding, name=name)
    check_utf8(data, name=name)
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise DataError("{name} is empty.", name=name)
    check_json_lines(data, name)
    try:
        frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        raise DataError(
            "{name}{bad_json_line} is not one JSON object per line.",
            name=name,
            bad_json_line=_bad_json_line(data),
        ) from None
    frame = frame.rename(_named(frame.columns))
    # JSON has no dates: ISO texts are what a date was written as.
    return type_columns(without_markers(frame, markers), numbers=False)


def _bad_json_line(data: bytes) -> str:
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            good = not line.strip() or isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            good = False
        if not good:
            return Message(", line {number},", number=number)
    return ""
