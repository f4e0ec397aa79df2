"""Workbooks of Excel: which sheet holds the table, and where in it the table begins and ends."""

from __future__ import annotations

import io
import logging
from datetime import time
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import DataError, OptionError, did_you_mean
from shoal.io.columns import BLANKS, trim, type_columns, without_markers
from shoal.io.delimited import Dialect, different_names, judge_header_of_frame
from shoal.io.extra_rows import ExtraRows, find_header
from shoal.io.limits import check_excel
from shoal.io.overwrite_guard import HowRead, note_read
from shoal.messages import Message

if TYPE_CHECKING:
    import polars as pl


_LOOKED_AT = 200  # rows of a sheet, to tell whether it holds a table
_BLANKS = "".join(BLANKS)


class _Found(NamedTuple):
    """Where the table is in a sheet.

    Attributes:
        texts: its rows below the names, as texts, with those that are left out.
        titles: what stands in the line of names.
        first: the place of its first row in the sheet.
        kept: the places of the rows that are read, counted from the first.
        columns: the places of the columns that are not empty, among those that are used.
    """

    texts: pl.DataFrame
    titles: list[str | None]
    first: int
    kept: list[int]
    columns: list[int]


def read_excel(data: bytes, name: str, dialect: Dialect, markers: tuple[str, ...]) -> pl.DataFrame:
    """Read a sheet of a workbook: its table, without what stands above and below."""
    import fastexcel
    import polars as pl

    check_excel(data, name)
    # It would say on the screen that an empty column has no type.
    logging.getLogger("fastexcel").setLevel(logging.ERROR)
    how = HowRead(header=dialect.header)
    note_read(name, how)
    try:
        book = fastexcel.read_excel(data)
        place = _choose_sheet(book, dialect.sheet, how, name=name)
        found = _find_table(book, place, dialect, how, name=name)
        # Every row decides the type of its column, not only the first hundred.
        frame = pl.read_excel(
            io.BytesIO(data),
            engine="calamine",
            sheet_id=place + 1,
            has_header=False,
            read_options={
                "header_row": None,
                "skip_rows": found.first,
                "n_rows": found.kept[-1] + 1,
            },
            infer_schema_length=None,
            drop_empty_rows=False,
            drop_empty_cols=False,
            raise_if_empty=False,
        )
        frame = frame.select(frame.columns[each] for each in found.columns)
        frame = _typed_anew(book, place, found, frame)
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, OSError, ValueError):
        raise DataError(
            "{name} is not a readable {kind} file; it is damaged or in another format.",
            name=name,
            kind="Excel",
        ) from None
    names = different_names(found.titles, how, name=name)
    frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
    if dialect.header:
        judge_header_of_frame(frame, how, name=name)
    texts = [each for each in frame.get_columns() if each.dtype == pl.String]
    trimmed = [trim(each) for each in texts]
    if any(after is not before for before, after in zip(texts, trimmed, strict=True)):
        how.notes.append(Message("In {name} spaces around cells were taken away.", name=name))
        frame = frame.with_columns(trimmed)
    return without_markers(frame, markers)


def _choose_sheet(book: Any, wanted: str | None, how: HowRead, *, name: str) -> int:
    """Return the place of the sheet to read: the one named, else the one with the largest table.

    Raises:
        OptionError: there is no such sheet.
    """
    titles = list(book.sheet_names)
    how.sheets = tuple(titles)
    if wanted is not None:
        if wanted in titles:
            return titles.index(wanted)
        if wanted.isascii() and wanted.isdecimal() and 1 <= int(wanted) <= len(titles):
            return int(wanted) - 1
        raise OptionError(
            "{name} has no sheet {wanted!r}; it has {titles}.{hint}",
            name=name,
            wanted=wanted,
            titles=", ".join(map(repr, titles)),
            hint=did_you_mean(wanted, titles),
        )
    if len(titles) == 1:
        return 0
    place = max(range(len(titles)), key=lambda each: (_cells_in_table(book, each), -each))
    how.sheet = titles[place]
    how.notes.append(
        Message(
            "{name} has {n_sheets} sheets; {sheet!r}, which holds the largest table, was read. "
            "For another one say --sheet.",
            name=name,
            n_sheets=len(titles),
            sheet=how.sheet,
        )
    )
    return place


def _cells_in_table(book: Any, place: int) -> int:
    """Return about how many cells the table of a sheet has, those of a hidden sheet counting 0."""
    import polars as pl

    sheet = book.load_sheet(place, header_row=None, n_rows=_LOOKED_AT, dtypes="string")
    texts = sheet.to_polars()
    if sheet.visible != "visible" or not texts.width or not texts.height:
        return 0
    filled = texts.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
    # A line of text fills one cell, a row of a table more, unless it has one column.
    wide = filled if texts.width == 1 else filled.filter(filled > 1)
    share: float = sheet.total_height / texts.height
    return round(int(wide.sum()) * share)


def _find_table(book: Any, place: int, dialect: Dialect, how: HowRead, *, name: str) -> _Found:
    """Return where the table is in a sheet, and which of its rows are read.

    Raises:
        DataError: it is empty, or has rows that are no records and nobody has said what is to
            happen to them.
    """
    import polars as pl

    # Rows count from the first of the sheet, so that messages name those that Excel shows.
    texts: pl.DataFrame = book.load_sheet(
        place, header_row=None, skip_rows=0, dtypes="string"
    ).to_polars()
    texts = texts.with_columns(pl.all().str.strip_chars(_BLANKS))
    texts = texts.with_columns(pl.when(pl.all() != "").then(pl.all()))
    rows = texts.head(_LOOKED_AT).rows()
    header = find_header(rows)
    if not any(any(row) for row in rows):
        raise DataError("{name} is empty.", name=name)
    if not dialect.header:
        header = next(place for place, row in enumerate(rows) if any(row)) - 1
    elif any(any(row) for row in rows[:header]):
        how.notes.append(
            Message(
                "In {name} the names of the columns are in row {line}.", name=name, line=header + 1
            )
        )
    below = texts.slice(header + 1)
    titles = list(rows[header]) if dialect.header else [None] * texts.width
    columns = [
        each
        for each, column in enumerate(below.get_columns())
        if titles[each] or column.null_count() < below.height
    ]
    titles = [titles[each] for each in columns]
    below = below.select(below.columns[each] for each in columns)
    filled = below.select(pl.any_horizontal(pl.all().is_not_null()).arg_true()).to_series()
    kept = filled.to_list()
    extra = ExtraRows(dialect.extra_rows, titles)
    if extra.is_looking:
        out = extra.look(below[kept], last=True)
        for row, kind in out.items():
            extra.add(kind, header + 2 + kept[row])
        extra.finish(how, name=name)
        kept = [each for row, each in enumerate(kept) if row not in out]
    if not kept:
        raise DataError("{name} has no rows.", name=name)
    return _Found(below, titles, header + 1, kept, columns)


def _typed_anew(book: Any, place: int, found: _Found, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that are kept; a column that was text only because of others gets its type.

    A cell that holds a number or a date is one, and a cell that holds a text stays one.
    """
    import polars as pl

    kept = frame[found.kept]
    left = set(range(found.kept[-1] + 1)) - set(found.kept)
    if not left:
        return kept
    out = found.texts[sorted(left)]
    mixed = [
        number
        for number, column in enumerate(kept.get_columns())
        if column.dtype == pl.String
        and out.to_series(number).null_count() < out.height
        and column.null_count() < column.len()
    ]
    if not mixed:
        return kept
    load = {"header_row": None, "skip_rows": found.first, "n_rows": frame.height}
    truths, dates = (
        book.load_sheet(place, dtypes=kind, **load).to_polars()[found.kept]
        for kind in ("boolean", "datetime")
    )
    columns = []
    for number in mixed:
        column, at = kept.to_series(number), found.columns[number]
        is_number, is_date = truths.to_series(at).is_not_null(), dates.to_series(at).is_not_null()
        if (column.is_not_null() & ~is_number & ~is_date).any():
            continue
        typed = column
        if (is_date & ~is_number).any():
            typed = dates.to_series(at)
            if (typed.drop_nulls().dt.time() == time(0)).all():
                typed = typed.dt.date()
        columns.append(typed.alias(column.name))
    freed = pl.DataFrame(columns)
    return kept.with_columns(type_columns(freed).get_columns()) if columns else kept
