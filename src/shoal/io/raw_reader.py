"""Tables as they are written: what a plain reader of each format finds, nothing inferred.

`read_table` types columns and turns markers into missing values, which makes equal what a reader
can tell apart. Here every field of a text file is its text, quoted or not; ``1``, ``1.0`` and
``"1"`` of JSON stay three cells, and so do a number, a text and a truth value of Excel and SQLite.
Where a column holds texts beside other things, its texts stand in quotation marks.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError
from shoal.io.columns import new_code_type
from shoal.io.delimited import (
    Dialect,
    Readable,
    check_utf8,
    different_names,
    judge_header_of_frame,
    parse_delimited,
)
from shoal.io.formats import check_delimiter, detect_format
from shoal.io.hidden_contents import UNSEEN, look_at_sheet
from shoal.io.limits import UNREADABLE, check_columns, check_excel, check_json_lines, own_file
from shoal.io.location import is_database, refuse_almost_url
from shoal.io.overwrite_guard import HowRead, current_watch, note_read, watched
from shoal.io.read import read_table
from shoal.io.remote import on_disk
from shoal.io.source import Source, open_source, to_utf8
from shoal.messages import Message
from shoal.runtime.threads import check_process

if TYPE_CHECKING:
    import polars as pl


_CHUNK = 1 << 22
_LAST_DAY = 2_958_466  # Excel counts days, up to the end of the year 9999
_BARE_EXPONENT = re.compile(r"-?[0-9]+[eE][0-9]+")

Pick = Callable[[list[str]], Sequence[str]]
"""Chooses the columns to read from the names of all."""

if TYPE_CHECKING:
    RawReader = Callable[[Source, str, Dialect, Pick, list[str] | None], pl.DataFrame]
    """Reads columns; the list takes what the file holds beside its table, None if it is ours."""


@dataclass(frozen=True, eq=False)
class Written:
    """What was read.

    Attributes:
        frame: the columns that were chosen.
        columns: names of all columns.
        spelled: whether text may be how the format spells numbers and dates.
        beside: sentences about what the file holds beside its table.
    """

    frame: pl.DataFrame
    columns: tuple[str, ...]
    spelled: bool
    beside: tuple[str, ...] = ()


@watched()
def read_written(
    source: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the name users know from the command line
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    pick: Pick = list,
    own: bool = False,
) -> Written:
    """Read a table as it is written in a file, a database, or standard input (``-``).

    Args:
        source: as in `read_table`.
        format: as in `read_table`.
        delimiter: as in `read_table`.
        encoding: as in `read_table`.
        header: as in `read_table`.
        pick: chooses the columns to read.
        own: whether we have just written the file ourselves: then no limit is asked how
            large it may be.

    Raises:
        DataError: the file or database cannot be read as a table with at least one row.
        OptionError: the format, the delimiter or the URL is none.
    """
    check_process()
    path = os.fspath(source)
    names: list[str] = []

    def choose(found: list[str]) -> list[str]:
        check_columns(_shown(path), found)
        names[:] = found
        return list(pick(found))

    with own_file() if own else nullcontext():
        written = Dialect(delimiter, encoding, header)
        beside: list[str] | None = None if own else []
        frame, spelled = _read(path, format, written, choose, beside)
    if frame.height == 0:
        raise DataError("{shown} has no rows.", shown=_shown(path))
    return Written(frame, tuple(names), spelled, tuple(beside or ()))


def _read(
    path: str, file_format: str | None, written: Dialect, choose: Pick, beside: list[str] | None
) -> tuple[pl.DataFrame, bool]:
    """Return the chosen columns, and whether the format spells numbers and dates.

    ``beside`` takes what the file holds beside its table; None if we have just written it.
    """
    if is_database(path):
        from shoal.io.database import column_names, read_sql

        return read_sql(path, choose(column_names(path)), written=True), True
    refuse_almost_url(path)
    found = detect_format(path, file_format)
    row = found.row
    if row.read_raw is not None:
        usual = check_delimiter(written.delimiter) or row.separator
        with open_source(path, _shown(path), found.compression) as stream:
            read: RawReader = resolve_name(row.read_raw)
            dialect = written._replace(delimiter=usual)
            return read(stream, _shown(path), dialect, choose, beside), True
    frame = None
    if row.scan_own is not None and beside is None:
        frame = resolve_name(row.scan_own)(path, choose)
    if frame is None:
        frame = read_table(path, format=file_format, columns=choose, coded=True)
    if beside is not None and row.hidden is not None:
        if path == "-":
            beside.append(
                Message(
                    "What standard input holds beside its table was not looked at; give a file."
                )
            )
        else:
            beside.extend(resolve_name(row.hidden)(str(on_disk(path))))
    return frame, False


def _shown(path: str) -> str:
    return Message("Standard input") if path == "-" else repr(path)


def read_delimited(
    stream: Source, name: str, written: Dialect, choose: Pick, beside: list[str] | None
) -> pl.DataFrame:
    """Read lines of text with a separator between cells."""
    # What we write is UTF-8, whatever a reader of others' files would make of it.
    encoding = "utf-8" if beside is None else written.encoding
    return parse_delimited(
        stream,
        name=name,
        dialect=Dialect(written.delimiter, encoding, written.header),
        missing_values=(),
        columns=choose,
        typed=False,
    )


def scan_arrow(path: str, choose: Pick) -> pl.DataFrame | None:
    """Read the columns of an Arrow file; None where only reading it whole may help."""
    import polars as pl

    try:
        table = pl.scan_ipc(Path(path), glob=False)
        table = table.select(choose(table.collect_schema().names()))
        texts = [name for name, dtype in table.collect_schema().items() if dtype == pl.String]
        # Cell by cell on the way in: the whole text is never in memory.
        codes = [pl.col(name).cast(new_code_type()) for name in texts]
        return table.with_columns(codes).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return None


# -- JSON lines --------------------------------------------------------------------------------


class _Token(str):
    """A number as it stands in the file."""

    __slots__ = ()


def read_json_lines(
    stream: Source, name: str, written: Dialect, choose: Pick, beside: list[str] | None
) -> pl.DataFrame:
    """Read an object of JSON from each line, numbers as they stand there."""
    import polars as pl

    text: Readable = stream
    if beside is not None:  # a file of somebody else
        data = to_utf8(stream.read_all(), written.encoding, name=name)
        check_utf8(data, name=name)
        check_json_lines(data, name)
        text = io.BytesIO(data)
    columns: dict[str, _Cells] = {}
    n_rows = line = 0
    for lines in _lines(text):
        # Rows of a release are often the same: each different line is parsed once.
        filled = [each for each in dict.fromkeys(lines) if each.strip()]
        objects = _objects(filled, lines, line, name)
        line += len(lines)
        places = {each: place for place, each in enumerate(filled)}
        rows = pl.Series([places[each] for each in lines if each in places], dtype=pl.UInt32)
        for each in objects:
            for key in each:
                if key not in columns:
                    columns[key] = _Cells(n_rows)
        for key, cells in columns.items():
            cells.add([each.get(key, _ABSENT) for each in objects], rows)
        n_rows += len(rows)
    if not n_rows:
        raise DataError("{name} is empty.", name=name)
    wanted = choose(list(columns))
    missing = [key for key in wanted if key not in columns]
    if missing:
        raise DataError("{name} has no column {missing!r}.", name=name, missing=missing[0])
    return pl.DataFrame([columns[key].finish(key) for key in wanted])


_ABSENT = object()


class _Cells:
    """The cells of one column, piece by piece, as codes of their texts."""

    def __init__(self, n_before: int) -> None:
        import polars as pl

        self._type = pl.Categorical(pl.Categories.random())
        self._texts: list[pl.Series] = []
        self._quoted: list[pl.Series] = []
        if n_before:
            self.add([_ABSENT], pl.zeros(n_before, pl.UInt32, eager=True))

    def add(self, values: list[Any], rows: pl.Series) -> None:
        """Take different values, and which of them each row has."""
        import polars as pl

        texts = pl.Series([_as_text(value) for value in values], dtype=pl.String)
        self._texts.append(texts.cast(self._type).gather(rows))
        quoted = [isinstance(value, str) and not isinstance(value, _Token) for value in values]
        self._quoted.append(pl.Series(quoted, dtype=pl.Boolean).gather(rows))

    def finish(self, name: str) -> pl.Series:
        import polars as pl

        return quote_texts(pl.concat(self._texts), pl.concat(self._quoted)).alias(name)


def _as_text(value: Any) -> str | None:
    if isinstance(value, _Token) and _BARE_EXPONENT.fullmatch(value):
        # A number here; as a text it may be a code. What does not show tells them apart.
        return f"{value.replace('e', 'e+').replace('E', 'E+')}{UNSEEN}"
    if isinstance(value, str):
        return value
    if value is None:
        return None
    return "" if value is _ABSENT else _nested(value)


def _nested(value: Any) -> str:
    """Return JSON with every number as it stands in the file."""
    if isinstance(value, _Token):
        return value
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(k)}:{_nested(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_nested, value))}]"
    return json.dumps(value, ensure_ascii=False)


def quote_texts(cells: pl.Series, is_text: pl.Series) -> pl.Series:
    """Put the texts of a column in quotation marks if it holds anything else beside them."""
    import polars as pl

    known = cells.is_not_null()
    if not (is_text & known).any() or not (~is_text & known).any():
        return cells
    table = pl.DataFrame({"cell": cells.cast(pl.String), "text": is_text})
    quoted = pl.format('"{}"', "cell")
    return table.select(
        pl.when(pl.col("text") & pl.col("cell").is_not_null()).then(quoted).otherwise("cell")
    ).to_series()


def _lines(stream: Readable) -> Iterator[list[bytes]]:
    rest = stream.read(3)
    rest = b"" if rest == b"\xef\xbb\xbf" else rest
    while chunk := stream.read(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _objects(
    filled: list[bytes], lines: list[bytes], before: int, name: str
) -> list[dict[str, Any]]:
    """Parse different lines that are not blank; all lines, and those before, say where."""
    objects: list[dict[str, Any]]
    try:
        objects = _parse(b"[" + b",".join(filled) + b"]")
    except (_TwiceError, ValueError, RecursionError):
        objects = []
    if len(objects) == len(filled) and all(isinstance(each, dict) for each in objects):
        return objects
    for number, line in enumerate(lines, start=before + 1):
        try:
            good = not line.strip() or isinstance(_parse(line), dict)
        except _TwiceError as twice:
            raise DataError(
                "{name}, line {number}, has {args!r} twice, and readers do not agree which of "
                "them counts; rename one.",
                name=name,
                number=number,
                args=twice.args[0],
            ) from None
        except (ValueError, RecursionError):
            good = False
        if not good:
            raise DataError(
                "{name}, line {number}, is not one JSON object per line.", name=name, number=number
            )
    return [_parse(line) for line in filled]


class _TwiceError(Exception):
    """A key that stands twice in an object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(next(key for key in keys if keys.count(key) > 1))
    return found


def _parse(data: bytes) -> Any:
    return json.loads(
        data,
        object_pairs_hook=_once,
        parse_int=_Token,
        parse_float=_Token,
        parse_constant=_Token,
    )


# -- Excel -------------------------------------------------------------------------------------


def read_excel(
    stream: Source, name: str, written: Dialect, choose: Pick, beside: list[str] | None
) -> pl.DataFrame:
    """Read the first sheet of a workbook, every cell as a text."""
    import fastexcel
    import polars as pl

    data, header = stream.read_all(), written.header
    if not data:
        raise DataError("{name} is empty.", name=name)
    if beside is not None:
        check_excel(data, name)
    try:
        book = fastexcel.read_excel(data)
        start = 0 if header else None
        sheet = partial(book.load_sheet, 0, header_row=start)
        how = HowRead(header=header)
        note_read(name, how)
        given = book.load_sheet(0, header_row=None, n_rows=1, dtypes="string").to_polars()
        width = sheet(dtypes="string").width
        titles = given.row(0) if header and given.width == width else [None] * width
        shown = different_names(titles, how, name=name)
        if header and current_watch() is not None:
            first = sheet(dtypes="string", n_rows=200).to_polars()
            first = first.rename(dict(zip(first.columns, shown, strict=True)))
            judge_header_of_frame(first, how, name=name)
        wanted = [shown.index(each) for each in choose(shown)]
        # A number, a truth value, a date and a text differ in what they can be turned into.
        texts, truths = (
            sheet(dtypes=kind, use_columns=wanted).to_polars() for kind in ("string", "boolean")
        )
        days = [place for place, each in zip(wanted, texts, strict=True) if _may_be_days(each)]
        dates = pl.DataFrame()
        if days:
            dates = sheet(dtypes="datetime", use_columns=days).to_polars()
        seen = None if beside is None else look_at_sheet(data)
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, *UNREADABLE):
        raise DataError(
            "{name} is not a readable Excel file; it is damaged or in another format.", name=name
        ) from None
    columns = []
    for place, column in zip(wanted, texts.get_columns(), strict=True):
        neither = truths.get_column(column.name).is_null()
        if place in days:
            neither &= dates.get_column(column.name).is_null()
        if seen is not None:
            column = seen.tell_apart(column, place, header=header, name=name)  # noqa: PLW2901
        columns.append(quote_texts(column, neither).alias(shown[place]))
    if seen is not None and beside is not None:
        seen.note_styles(shown, header=header)
        beside.extend(seen.beside)
    return pl.DataFrame(columns)


def _may_be_days(texts: pl.Series) -> bool:
    """Return whether no number of a column is beyond the calendar: the package panics at those."""
    import polars as pl

    numbers = texts.cast(pl.Float64, strict=False)
    return not bool((numbers.abs() > _LAST_DAY).any())
