"""What a reader of a workbook sees beyond the values of its cells, and what is beside the table.

The package that reads sheets gives values. A reader sees them in their number formats, ``1`` and
``1.00`` or whatever words a format holds, and finds comments, further sheets and hidden rows.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

from shoal.errors import DataError
from shoal.io.beside import in_a_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

__all__ = ["UNSEEN", "Sheet", "look_at_sheet"]

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
    "sheets that are not checked": r"xl/(?:worksheets|chartsheets|dialogsheets|macrosheets)",
    "comments": r"xl/(?:comments|threadedComments|persons)",
    "drawings or pictures": r"xl/(?:drawings|media|charts)",
    "macros": r"xl/vbaProject",
    "links to other files": r"xl/externalLinks",
    "pivot tables with their rows": r"xl/pivot",
    "custom properties": r"docProps/custom|customXml",
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
                f"{name} shows equal values of a column in different ways, and its rows cannot be "
                "matched with them; save it as CSV, or remove the formats."
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
                f"In {in_a_row(told)} cells differ by font, colour or lines, by which a reader can "
                "tell rows apart."
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
        _name_parts(sheet, sorted({*book.namelist()} - {first, links, *plain}))
        if book.comment:
            sheet.beside.append("The archive of the workbook holds a comment.")
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


def _name_parts(sheet: Sheet, others: list[str]) -> None:
    for kind, form in _KINDS.items():
        if any(re.match(form, each) for each in others):
            sheet.beside.append(f"The workbook holds {kind}.")
    rest = [each for each in others if not any(re.match(f, each) for f in _KINDS.values())]
    if rest:
        sheet.beside.append(f"The workbook holds parts beside its table: {in_a_row(rest)}.")


def _first_sheet(book: zipfile.ZipFile, sheet: Sheet) -> str:
    """Return the part of the first sheet; name further ones and what the workbook says."""
    root = _parse(book, "xl/workbook.xml")
    found = [each for each in root.iter() if _bare(each.tag) == "sheet"]
    words = [_bare(each.tag) for each in _full(root) if _bare(each.tag) not in _PLAIN_WORDS]
    if words:
        sheet.beside.append(f"The workbook says more than its table: {in_a_row(words)}.")
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
    _name_elements(root, sheet)
    return used


def _value(cell: ET.Element) -> str | None:
    for inner in cell:
        if _bare(inner.tag) == "v":
            return inner.text or ""
        if _bare(inner.tag) == "is":
            return "".join(inner.itertext())
    return None


def _name_elements(root: ET.Element, sheet: Sheet) -> None:
    """Name what a sheet holds beside its cells and their values."""
    hidden = [each for each in root.iter() if each.get("hidden") in {"1", "true"}]
    if hidden:
        sheet.beside.append("The sheet has hidden rows or columns.")
    if any(_bare(each.tag) == "f" for _, cell in _cells(root) for each in cell):
        sheet.beside.append("The sheet holds formulas behind its values.")
    more = [_bare(each.tag) for each in _full(root) if _bare(each.tag) not in _PLAIN_ELEMENTS]
    if more:
        sheet.beside.append(f"The sheet says more than its cells: {in_a_row(more)}.")


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
        sheet.beside.append(f"The workbook holds {unused:,} texts that no cell of the table has.")
    if any(_bare(part.tag) in {"r", "rPh"} for each in texts for part in each):
        sheet.beside.append("Parts of texts have fonts or readings of their own.")


def _name_properties(book: zipfile.ZipFile, sheet: Sheet) -> None:
    told = [
        _bare(each.tag)
        for part in ("docProps/core.xml", "docProps/app.xml")
        if part in book.namelist()
        for each in _parse(book, part)
        if _bare(each.tag) in _PROPERTIES and (each.text or "").strip()
    ]
    if told:
        sheet.beside.append(f"The workbook has properties: {in_a_row(told)}.")
