"""The formats of files: one row each, which reading, writing, settings and pages are made from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from shoal.errors import DataError, OptionError, did_you_mean
from shoal.messages import Message

ASK, DROP, KEEP = "ask", "drop", "keep"
"""What happens to rows that are no records (`shoal.io.extra_rows`): the file is refused, they are
left out, or they are records."""


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """What there is to know about a format; functions are named as ``module:function``.

    Attributes:
        name: as ``format=`` takes it.
        title: as messages call it.
        suffixes: of its files, the usual one first.
        write: writes a table to an open file; see `shoal.io.write.write_parquet`. None where
            tables are only read.
        read: makes a table of the bytes of a file; see `shoal.io.read.read_arrow`. None where
            text is cut into cells at a separator.
        scan: reads some columns of several files without having them whole in memory, if the
            format can, and those that their folders stand for; see `shoal.io.read.scan_parquet`.
        count: tells the rows of a file from its description, if it has one.
        read_raw: reads cells as they are written; see `shoal.io.raw_reader.read_delimited`. None
            where cells have types, so that they are read as always.
        scan_own: reads some columns of a file that we have just written, or gives None.
        hidden: says what a file holds beside its table.
        separator: what always separates cells; None where others than a comma are looked for.
        has_sheets: whether a file may hold several tables.
        is_text: whether it is lines of text, which may be compressed.
        is_nested: whether a cell may be a list, a record or bytes.
        media_type: what a browser is told.
        seconds_to_read: per row and column.
        seconds_to_write: per row and column.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    write: str | None = None
    read: str | None = None
    scan: str | None = None
    count: str | None = None
    read_raw: str | None = None
    scan_own: str | None = None
    hidden: str | None = None
    separator: str | None = None
    has_sheets: bool = False
    is_text: bool = False
    is_nested: bool = True
    media_type: str = "application/octet-stream"
    seconds_to_read: float = 5e-7
    seconds_to_write: float = 5e-7


FORMATS: dict[str, FileFormat] = {
    row.name: row
    for row in (
        FileFormat(
            name="csv",
            title="CSV",
            suffixes=(".csv", ".txt"),
            media_type="text/csv; charset=utf-8",
            write="shoal.io.write:write_delimited",
            read_raw="shoal.io.raw_reader:read_delimited",
            is_text=True,
            is_nested=False,
            seconds_to_read=1.6e-7,
            seconds_to_write=0.6e-7,
        ),
        FileFormat(
            name="tsv",
            title="TSV",
            suffixes=(".tsv", ".tab"),
            separator="\t",
            media_type="text/tab-separated-values; charset=utf-8",
            write="shoal.io.write:write_delimited",
            read_raw="shoal.io.raw_reader:read_delimited",
            is_text=True,
            is_nested=False,
            seconds_to_read=1.6e-7,
            seconds_to_write=0.6e-7,
        ),
        FileFormat(
            name="parquet",
            title="Parquet",
            suffixes=(".parquet", ".pq"),
            write="shoal.io.write:write_parquet",
            read="shoal.io.read:read_parquet",
            scan="shoal.io.read:scan_parquet",
            count="shoal.io.read:count_parquet",
            hidden="shoal.io.hidden_contents:beside_parquet",
            seconds_to_read=0.5e-7,
            seconds_to_write=1.5e-7,
        ),
        FileFormat(
            name="arrow",
            title="Arrow",
            suffixes=(".arrow", ".feather", ".ipc"),
            write="shoal.io.write:write_arrow",
            read="shoal.io.read:read_arrow",
            scan_own="shoal.io.raw_reader:scan_arrow",
            hidden="shoal.io.hidden_contents:beside_arrow",
        ),
        FileFormat(
            name="xlsx",
            title="Excel",
            suffixes=(".xlsx",),
            write="shoal.io.write:write_excel",
            read="shoal.io.sheets:read_excel",
            has_sheets=True,
            read_raw="shoal.io.raw_reader:read_excel",
            is_nested=False,
        ),
        FileFormat(
            name="jsonl",
            title="JSON lines",
            suffixes=(".jsonl", ".ndjson"),
            write="shoal.io.write:write_json_lines",
            read="shoal.io.read:read_json_lines",
            read_raw="shoal.io.raw_reader:read_json_lines",
            is_text=True,
        ),
        *(
            FileFormat(
                name=title.lower(),
                title=title,
                suffixes=suffixes,
                read="shoal.io.statistics_files:read_statistics",
                is_nested=False,
            )
            for title, suffixes in (
                ("SPSS", (".sav", ".zsav", ".por")),
                ("Stata", (".dta",)),
                ("SAS", (".sas7bdat", ".xpt")),
            )
        ),
    )
}
"""The formats by their names."""

WRITTEN: tuple[str, ...] = tuple(row.name for row in FORMATS.values() if row.write is not None)
"""Names of those that tables are written in."""

ENDINGS: dict[str, str] = {end: row.name for row in FORMATS.values() for end in row.suffixes}
"""The format that each ending of a name stands for."""
COMPRESSIONS = {".gz": "gz", ".zst": "zst"}
"""How text may be compressed, by the ending that says so."""


@dataclass(frozen=True)
class Format:
    """How a file is written.

    Attributes:
        name: one of ``FORMATS``.
        compression: ``"gz"``, ``"zst"`` or None; text formats only.
    """

    name: str
    compression: str | None = None

    @property
    def row(self) -> FileFormat:
        """What there is to know about the format."""
        return FORMATS[self.name]


def named_like_a_table(path: str) -> bool:
    """Return whether a name ends as those of tables do; ``.txt`` may be any text."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    return any(each in ENDINGS and each != ".txt" for each in suffixes[-2:])


def detect_format(path: str, format: str | None = None) -> Format:  # noqa: A002 - the option's name
    """Return the format of a file: the one given, else the one its suffix says.

    ``-`` (a standard stream) is CSV unless a format is given, which may carry a compression
    as in ``csv.gz``.

    Raises:
        OptionError: the format given is unknown.
        DataError: the suffix is unknown and no format is given.
    """
    if format is not None:
        name, _, given = format.lower().lstrip(".").partition(".")
        named = Format(ENDINGS.get(f".{name}", name), given or None)
        if named.name not in FORMATS or not _fits(named):
            raise OptionError(
                "The format must be one of {formats} ({texts} also with .gz or "
                ".zst), not {format!r}.{hint}",
                formats=", ".join(FORMATS),
                texts=", ".join(row.name for row in FORMATS.values() if row.is_text),
                format=format,
                hint=did_you_mean(name, FORMATS),
            )
        if named.compression is None and named.row.is_text:
            suffix = PurePath(path).suffix.lower()
            return Format(named.name, COMPRESSIONS.get(suffix))
        return named
    if path == "-":
        return Format("csv")
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    compression = COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression is not None:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    found = Format(ENDINGS.get(suffix, ""), compression)
    if found.name and _fits(found):
        return found
    what = Message("The name {path!r}", path=path)
    if suffix:
        ending = suffix + PurePath(path).suffix if found.name else suffix
        what = Message("The ending {ending!r} of {path!r}", ending=ending, path=path)
    raise DataError(
        "{what} does not say which format it is in; use one of {suffixes} (text formats also "
        "with .gz or .zst), or give the format.{hint}",
        what=what,
        suffixes=" ".join(ENDINGS),
        hint=did_you_mean(suffix, ENDINGS),
    )


def format_to_write(path: str, format: str | None = None) -> Format:  # noqa: A002 - the option's name
    """Return the format that a file is written in; see `detect_format`.

    Raises:
        OptionError: tables are only read from files of this format.
    """
    found = detect_format(path, format)
    if found.row.write is None:
        raise OptionError(
            "Files of {title} are read, not written; write one of {formats}.",
            title=found.row.title,
            formats=", ".join(WRITTEN),
        )
    return found


def check_delimiter(delimiter: str | None) -> str | None:
    """Return the delimiter, after a check that it is one character that can separate fields."""
    if delimiter is None:
        return None
    named = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
    single = named.get(delimiter, delimiter)
    if len(single) != 1 or not single.isascii() or single in '"\r\n\0':
        raise OptionError(
            "The delimiter must be one ASCII character such as ',' ';' 'tab' or '|', not "
            "{delimiter!r}.",
            delimiter=delimiter,
        )
    return single


def check_decimal(decimal: str | None) -> str | None:
    """Return what stands before decimals, after a check that it is a point or a comma."""
    if decimal not in (None, ",", "."):
        raise OptionError("The decimal sign must be ',' or '.', not {decimal!r}.", decimal=decimal)
    return decimal


def _fits(format_: Format) -> bool:
    return format_.compression is None or (
        format_.row.is_text and format_.compression in COMPRESSIONS.values()
    )
