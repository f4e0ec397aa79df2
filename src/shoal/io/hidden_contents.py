"""What a reader of a workbook sees beyond the values of its cells, and what is beside the table.

The package that reads sheets gives values. A reader sees them in their number formats, ``1`` and
``1.00`` or whatever words a format holds, and finds comments, further sheets and hidden rows.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
import struct
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np

from shoal.errors import DataError
from shoal.io.limits import FlatTable, first_message, messages_of
from shoal.messages import Message, named_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl


# What a Parquet or Arrow file holds beside its table, in sentences.
#
# A reader of cells does not see it, a reader of the file does: metadata under keys, an index of
# pandas, texts of a dictionary that no cell has, bits of numbers that read NaN.

_ARROW = "ARROW:schema"
"""Under this key a Parquet file has the types of its columns, which may hold metadata again."""
_TYPES = frozenset({"_PL_CATEGORICAL", "_PL_CATEGORICAL2", "_PL_ENUM_VALUES", "_PL_ENUM_VALUES2"})
"""What polars says about the type of a column."""
_SPARK = frozenset({"org.apache.spark.version", "org.apache.spark.sql.parquet.row.metadata"})
"""What Spark writes into every file."""
_MOST = 5
_SCHEMA, _DICTIONARY = 1, 2  # kinds of messages
_FOOTER_SCHEMA, _FOOTER_METADATA = 1, 4
_SCHEMA_FIELDS, _SCHEMA_METADATA = 1, 2
_FIELD_NAME, _FIELD_DICTIONARY, _FIELD_CHILDREN, _FIELD_METADATA = 0, 4, 5, 6


def beside_parquet(path: str) -> list[str]:
    """Return what a Parquet file holds beside its table."""
    import polars as pl

    try:
        keys = dict(pl.read_parquet_metadata(Path(path)))
        floats = pl.scan_parquet(Path(path), glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return []  # whoever reads the table says what is wrong
    index = _pandas_index(keys.get("pandas"))
    named = [key for key in keys if key != _ARROW and key not in _SPARK]
    try:
        schema = _schema_in(keys.get(_ARROW))
        if schema is not None:
            index = index or _pandas_index(_pairs(schema, _SCHEMA_METADATA).get("pandas"))
            named += [key for key in _metadata_of_schema(schema) if key not in named]
    except (struct.error, IndexError, ValueError, RecursionError):
        named.append(_ARROW)  # it describes no table: whatever it is, it lies beside this one
    return [*_about(named, index), *_about_nan(floats)]


def beside_arrow(path: str) -> list[str]:
    """Return what an Arrow file, or a stream of Arrow, holds beside its table."""
    import io

    import polars as pl

    data = Path(path).read_bytes()
    view = memoryview(data)
    try:
        schema, named = _schema_of_file(view)
        if schema is None:
            return []
        index = _pandas_index(_pairs(schema, _SCHEMA_METADATA).get("pandas"))
        named += [key for key in _metadata_of_schema(schema) if key not in named]
        entries = _dictionary_lengths(view)
        coded = {
            name: entries[number]
            for name, number in _dictionaries(schema)
            if number is not None and number in entries
        }
    except (struct.error, IndexError, ValueError, RecursionError):
        return []
    read = pl.read_ipc if bytes(view[:6]) == b"ARROW1" else pl.read_ipc_stream
    try:
        frame = read(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return []
    unused = [
        name
        for name, length in coded.items()
        if name in frame.columns and length > frame.get_column(name).drop_nulls().n_unique()
    ]
    said = _about(named, index)
    if unused:
        said.append(
            Message(
                "The dictionary of {names} holds texts that no cell has; every reader of the file "
                "can read them.",
                names=in_a_row(unused),
            )
        )
    return [*said, *_about_nan(frame.lazy())]


def in_a_row(names: list[str]) -> str:
    """Return some names in a sentence."""
    return named_of(names, _MOST)


def _about(named: list[str], index: list[str]) -> list[str]:
    said: list[str] = []
    if named:
        said.append(
            Message(
                "The file holds metadata beside its table, under {names}, which nobody has "
                "checked.",
                names=in_a_row(named),
            )
        )
    if index:
        said.append(
            Message("The file says that {names} is an index of pandas.", names=in_a_row(index))
        )
    return said


def _pandas_index(text: str | None) -> list[str]:
    """Return the columns that pandas makes an index of."""
    try:
        found = json.loads(text or "{}").get("index_columns", [])
    except (ValueError, AttributeError, RecursionError):
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _about_nan(table: pl.LazyFrame) -> Sequence[str]:
    """Name the columns whose cells that read NaN differ in their bits."""
    import polars as pl

    told = []
    for name, dtype in table.collect_schema().items():
        if dtype.is_float():
            cells = table.select(pl.col(name)).collect().to_series().drop_nulls().to_numpy()
            bits = cells[np.isnan(cells)].view(f"u{cells.dtype.itemsize}")
            if len(np.unique(bits)) > 1:
                told.append(name)
    if not told:
        return []
    return [
        Message(
            "In {names} cells that read NaN differ in their bits, which tells rows apart.",
            names=in_a_row(told),
        )
    ]


# -- schemas of Arrow ----------------------------------------------------------------------------


def _schema_in(text: str | None) -> FlatTable | None:
    """Return the schema that a Parquet file keeps for readers of Arrow."""
    try:
        view = memoryview(base64.b64decode(text or "", validate=True))
        kind, header, _ = first_message(view)
    except (binascii.Error, struct.error, IndexError, ValueError):
        return None
    return header if kind == _SCHEMA else None


def _schema_of_file(view: memoryview) -> tuple[FlatTable | None, list[str]]:
    """Return the schema of a file or a stream, and keys of metadata that stand outside of it."""
    if bytes(view[:6]) == b"ARROW1":
        end = len(view) - 10
        length = struct.unpack_from("<i", view, end)[0]
        footer = view[end - length : end]
        table = FlatTable(footer, struct.unpack_from("<I", footer, 0)[0])
        return table.table(_FOOTER_SCHEMA), list(_pairs(table, _FOOTER_METADATA))
    kind, header, message = first_message(view)
    return (header if kind == _SCHEMA else None), list(_pairs(message, _FOOTER_METADATA))


def _metadata_of_schema(schema: FlatTable) -> list[str]:
    """Return the keys of metadata of a table and its columns, but for those that say types."""
    found = list(_pairs(schema, _SCHEMA_METADATA))
    for entry in _fields(schema, _SCHEMA_FIELDS):
        said = _pairs(entry, _FIELD_METADATA)
        types = said.get("ARROW:extension:name", "").startswith(("arrow.", "polars."))
        found += [key for key in said if key not in _TYPES and not types]
    return list(dict.fromkeys(found))


def _fields(table: FlatTable, at: int) -> Iterator[FlatTable]:
    for entry in table.tables(at):
        yield entry
        yield from _fields(entry, _FIELD_CHILDREN)


def _dictionaries(schema: FlatTable) -> Iterator[tuple[str, int | None]]:
    """Give each column with the number of its dictionary."""
    for entry in schema.tables(_SCHEMA_FIELDS):
        coded = entry.table(_FIELD_DICTIONARY)
        yield entry.text(_FIELD_NAME), None if coded is None else coded.number("<q", 0)


def _dictionary_lengths(view: memoryview) -> dict[int, int]:
    """Return how many texts each dictionary of a file has."""
    found: dict[int, int] = {}
    for kind, header in messages_of(view):
        if kind == _DICTIONARY and header is not None:
            data, is_delta = header.table(1), header.number("<B", 2)
            length = 0 if data is None else data.number("<q", 0)
            number = header.number("<q", 0)
            found[number] = length + (found.get(number, 0) if is_delta else 0)
    return found


def _pairs(table: FlatTable, at: int) -> dict[str, Any]:
    return {each.text(0): each.text(1) for each in table.tables(at)}


UNSEEN = "\u2063"
"""Shows nothing: so often it stands behind a cell that looks otherwise than others of its value.

Cells that differ in it are written differently, and cleaning takes it away: what a reader tells
apart is told apart, and no sensitive value becomes two by the way it is shown.
"""
_PLAIN_PARTS = re.compile(
    r"\[Content_Types\]\.xml|_rels/\.rels|docProps/(?:app|core)\.xml|xl/workbook\.xml"
    r"|xl/_rels/workbook\.xml\.rels|xl/(?:styles|sharedStrings|calcChain)\.xml"
    r"|xl/theme/theme[0-9]+\.xml|xl/tables/table[0-9]+\.xml|.*/"
)
_PLAIN_ELEMENTS = {
    *("sheetPr", "dimension", "sheetViews", "sheetFormatPr", "cols", "sheetData", "pageMargins"),
    *("pageSetup", "printOptions", "tableParts", "autoFilter", "ignoredErrors", "sheetCalcPr"),
}
_PLAIN_WORDS = {"fileVersion", "workbookPr", "bookViews", "sheets", "calcPr"}
_PROPERTIES = {
    *("creator", "lastModifiedBy", "title", "subject", "description", "keywords", "category"),
    *("Company", "Manager"),
}
_KINDS = {
    Message(
        "sheets that are not checked"
    ): r"xl/(?:worksheets|chartsheets|dialogsheets|macrosheets)",
    Message("comments"): r"xl/(?:comments|threadedComments|persons)",
    Message("drawings or pictures"): r"xl/(?:drawings|media|charts)",
    Message("macros"): r"xl/vbaProject",
    Message("links to other files"): r"xl/externalLinks",
    Message("pivot tables with their rows"): r"xl/pivot",
    Message("custom properties"): r"docProps/custom|customXml",
}
_TEXT, _GENERAL = "@", "General"
_DIGITS = re.compile(r"0(?:\.(0+))?")


class _Look(NamedTuple):
    """How a cell looks: its exact value, and what its number format makes of it."""

    value: str
    shown: str


@dataclass(eq=False)
class Sheet:
    """What the first sheet of a workbook shows, and what is beside its table.

    Attributes:
        looks: how each cell with a value looks, by row and column of the sheet.
        styles: of each such cell the number of its fonts, colours and lines.
        beside: sentences about what is beside the table.
    """

    looks: dict[tuple[int, int], _Look] = field(default_factory=dict)
    styles: dict[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)

    def tell_apart(self, cells: pl.Series, place: int, *, header: bool, name: str) -> pl.Series:
        """Return the texts of a column with `UNSEEN` behind those that look otherwise than others.

        Args:
            cells: the values, as text.
            place: number of the column in the table.
            header: whether names stand above it.
            name: of the file.

        Raises:
            DataError: cells look different and cannot be matched with their values.
        """
        import polars as pl

        first, left = min(row for row, _ in self.looks), min(column for _, column in self.looks)
        last = max(row for row, _ in self.looks)
        below = first + int(header)
        texts = cells.to_list()
        looks = [
            look if text or look != _Look("", "") else None  # an empty text looks like nothing
            for text, look in (
                (text, self.looks.get((below + n, left + place))) for n, text in enumerate(texts)
            )
        ]
        by_text: dict[str, Counter[_Look]] = {}
        for text, look in zip(texts, looks, strict=True):
            if look is not None:
                by_text.setdefault(text or "", Counter())[look] += 1
        if all(len(each) < 2 for each in by_text.values()) and "" not in by_text:
            return cells
        if below + len(cells) - 1 != last:
            raise DataError(
                "{name} shows equal values of a column in different ways, and its rows cannot "
                "be matched with them; save it as CSV, or remove the formats.",
                name=name,
            )
        number = {
            (text, look): n
            for text, found in by_text.items()
            # the most frequent look is the plain one; none is, of a cell without a value
            for n, (look, _) in enumerate(found.most_common(), start=int(text == ""))
        }
        marked = [
            text if look is None else (text or "") + UNSEEN * number[text or "", look]
            for text, look in zip(texts, looks, strict=True)
        ]
        return pl.Series(cells.name, marked, dtype=pl.String)

    def note_styles(self, names: list[str], *, header: bool) -> None:
        """Name the columns in which cells differ by fonts, colours or lines."""
        if not self.looks:
            return
        first, left = min(row for row, _ in self.looks), min(column for _, column in self.looks)
        found: dict[int, set[tuple[str, ...]]] = {}
        for (row, column), style in self.styles.items():
            if row >= first + int(header):
                found.setdefault(column - left, set()).add(style)
        told = [names[each] for each in sorted(found) if len(found[each]) > 1 and each < len(names)]
        if told:
            self.beside.append(
                Message(
                    "In {names} cells differ by font, colour or lines, by which a reader can tell "
                    "rows apart.",
                    names=in_a_row(told),
                )
            )


def look_at_sheet(data: bytes) -> Sheet:
    """Return what a workbook shows and holds beyond the values of its first sheet.

    Raises:
        ValueError: it cannot be read; as do errors of archives.
    """
    sheet = Sheet()
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        first = _first_sheet(book, sheet)
        links = "/_rels/".join(first.rsplit("/", 1)) + ".rels"
        plain = [each for each in book.namelist() if _PLAIN_PARTS.fullmatch(each)]
        others = sorted({*book.namelist()} - {first, links, *plain})
        for what, form in _KINDS.items():
            if any(re.match(form, each) for each in others):
                sheet.beside.append(Message("The workbook holds {what}.", what=what))
        rest = [each for each in others if not any(re.match(f, each) for f in _KINDS.values())]
        if rest:
            sheet.beside.append(
                Message("The workbook holds parts beside its table: {names}.", names=in_a_row(rest))
            )
        if book.comment:
            sheet.beside.append(Message("The archive of the workbook holds a comment."))
        formats, styles = _formats(book)
        used = _read_cells(_parse(book, first), sheet, formats, styles)
        _name_texts(book, sheet, used)
        _name_properties(book, sheet)
    return sheet


def _parse(book: zipfile.ZipFile, part: str) -> ET.Element:
    text = book.read(part)
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise ValueError(part)
    try:
        return ET.fromstring(text)  # noqa: S314 - no entities, and its size is limited
    except ET.ParseError:
        raise ValueError(part) from None


def _full(root: ET.Element) -> list[ET.Element]:
    """Return the elements that say something."""
    return [each for each in root if len(each) or each.attrib or (each.text or "").strip()]


def _bare(tag: Any) -> str:
    return str(tag).rpartition("}")[2]


def _first_sheet(book: zipfile.ZipFile, sheet: Sheet) -> str:
    """Return the part of the first sheet; name further ones and what the workbook says."""
    root = _parse(book, "xl/workbook.xml")
    found = [each for each in root.iter() if _bare(each.tag) == "sheet"]
    words = [_bare(each.tag) for each in _full(root) if _bare(each.tag) not in _PLAIN_WORDS]
    if words:
        sheet.beside.append(
            Message("The workbook says more than its table: {names}.", names=in_a_row(words))
        )
    link = next(value for key, value in found[0].items() if _bare(key) == "id")
    links = _parse(book, "xl/_rels/workbook.xml.rels")
    target = next(str(each.get("Target")) for each in links if each.get("Id") == link)
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _formats(book: zipfile.ZipFile) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the number format of each style of cells, and how else it looks."""
    if "xl/styles.xml" not in book.namelist():
        return [], []
    root = _parse(book, "xl/styles.xml")
    codes = {"0": _GENERAL, "1": "0", "2": "0.00", "49": _TEXT}
    formats, styles = [], []
    for part in root:
        if _bare(part.tag) == "numFmts":
            codes |= {each.get("numFmtId", ""): each.get("formatCode", "") for each in part}
    for part in root:
        if _bare(part.tag) == "cellXfs":
            for each in part:
                number = each.get("numFmtId", "0")
                formats.append(codes.get(number, f"built-in format {number}"))
                said = (each.get(key, "0") for key in ("fontId", "fillId", "borderId"))
                inner = sorted(str(sorted(e.items())) for e in each if _bare(e.tag) == "alignment")
                styles.append((*said, *inner))
    return formats, styles


def _read_cells(
    root: ET.Element, sheet: Sheet, formats: list[str], styles: list[tuple[str, ...]]
) -> set[str]:
    """Take in how cells look; return the numbers of the shared texts that they have."""
    used: set[str] = set()
    for place, cell in _cells(root):
        kind, style = cell.get("t", "n"), int(cell.get("s", "0"))
        value = _value(cell)
        if value is None:
            continue
        if kind == "s":
            used.add(value)
        sheet.looks[place] = _look(kind, value, formats[style] if formats else _GENERAL)
        sheet.styles[place] = styles[style] if styles else ()
    # Name what a sheet holds beside its cells and their values.
    hidden = [each for each in root.iter() if each.get("hidden") in {"1", "true"}]
    if hidden:
        sheet.beside.append(Message("The sheet has hidden rows or columns."))
    if any(_bare(each.tag) == "f" for _, cell in _cells(root) for each in cell):
        sheet.beside.append(Message("The sheet holds formulas behind its values."))
    more = [_bare(each.tag) for each in _full(root) if _bare(each.tag) not in _PLAIN_ELEMENTS]
    if more:
        sheet.beside.append(
            Message("The sheet says more than its cells: {names}.", names=in_a_row(more))
        )
    return used


def _value(cell: ET.Element) -> str | None:
    for inner in cell:
        if _bare(inner.tag) == "v":
            return inner.text or ""
        if _bare(inner.tag) == "is":
            return "".join(inner.itertext())
    return None


def _cells(root: ET.Element) -> Iterator[tuple[tuple[int, int], ET.Element]]:
    """Give each cell with its row and column, counted from 1."""
    row = 0
    for line in root.iter():
        if _bare(line.tag) != "row":
            continue
        row = int(line.get("r", row + 1))
        column = 0
        for cell in line:
            if _bare(cell.tag) != "c":
                continue
            letters = re.match(r"[A-Za-z]+", cell.get("r", ""))
            column += 1
            if letters is not None:
                column = 0
                for letter in letters[0].upper():
                    column = column * 26 + ord(letter) - 64
            yield (row, column), cell


def _look(kind: str, value: str, code: str) -> _Look:
    if kind == "n":
        number = float(value or "nan")
        shown = code
        digits = _DIGITS.fullmatch(code)
        if code in (_GENERAL, _TEXT):
            shown = f"{number:.15g}"
        elif digits is not None:
            shown = f"{number:.{len(digits[1] or '')}f}"
        return _Look(repr(number), shown)
    if kind == "e":
        return _Look(value, "")
    # a format shows texts as they are, unless it has a place for them and words around it
    around = _TEXT in code and code != _TEXT and kind in {"s", "str", "inlineStr"}
    return _Look("", code if around else "")


def _name_texts(book: zipfile.ZipFile, sheet: Sheet, used: set[str]) -> None:
    """Name texts that the workbook holds and no cell of the table has, and formats inside texts."""
    if "xl/sharedStrings.xml" not in book.namelist():
        return
    texts = [each for each in _parse(book, "xl/sharedStrings.xml") if _bare(each.tag) == "si"]
    unused = len(texts) - len({int(each) for each in used if each.isdecimal()})
    if unused > 0:
        sheet.beside.append(
            Message("The workbook holds {n:,} texts that no cell of the table has.", n=unused)
        )
    if any(_bare(part.tag) in {"r", "rPh"} for each in texts for part in each):
        sheet.beside.append(Message("Parts of texts have fonts or readings of their own."))


def _name_properties(book: zipfile.ZipFile, sheet: Sheet) -> None:
    told = [
        _bare(each.tag)
        for part in ("docProps/core.xml", "docProps/app.xml")
        if part in book.namelist()
        for each in _parse(book, part)
        if _bare(each.tag) in _PROPERTIES and (each.text or "").strip()
    ]
    if told:
        sheet.beside.append(Message("The workbook has properties: {names}.", names=in_a_row(told)))
