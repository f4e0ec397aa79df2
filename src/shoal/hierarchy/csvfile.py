"""Hierarchy files: one line ``leaf;level 1;…;root`` per leaf, as ARX writes them."""

from __future__ import annotations

import csv
import io
import os
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from shoal.errors import HierarchyError, OptionError
from shoal.io.encodings import to_utf8
from shoal.io.limits import read_side_file
from shoal.io.overwrite_guard import refuse_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["read_rows", "write_rows"]

_DELIMITERS = (";", "\t", ",")
_SNIFFED_LINES = 200

Row = tuple[int, list[str]]


def read_rows(
    source: str | PathLike[str] | TextIO, delimiter: str | None, *, header: bool | None
) -> tuple[str, list[Row]]:
    """Return how to call the source in messages, and its rows with their line numbers."""
    subject, text = _read_text(source)
    if delimiter is None:
        delimiter = _sniff(text)
    rows = _parse(subject, text, _one_character(delimiter))
    if not rows:
        msg = f"{subject} is empty: write one line 'leaf;level 1;…;*' per value."
        raise HierarchyError(msg)
    width = len(rows[0][1])
    for line, cells in rows:
        if len(cells) != width:
            msg = (
                f"{subject} has {_cells(len(cells))} in line {line} but {_cells(width)} in "
                f"line {rows[0][0]} (delimiter {delimiter!r}): give every line the same number."
            )
            raise HierarchyError(msg)
    if header if header is not None else _has_header(rows):
        rows = rows[1:]
        if not rows:
            msg = f"{subject} holds a header and no leaf: write one line per value below it."
            raise HierarchyError(msg)
    return subject, rows


def write_rows(
    rows: Iterable[Sequence[str]], target: str | PathLike[str] | TextIO, delimiter: str
) -> None:
    """Write the rows; a file appears whole or not at all."""
    _one_character(delimiter)
    special = (delimiter, '"', "\r", "\n", "\ufeff")

    def cell(text: str) -> str:
        if any(mark in text for mark in special):
            return '"' + text.replace('"', '""') + '"'
        return text

    text = "".join(delimiter.join(map(cell, row)) + "\n" for row in rows)
    if not isinstance(target, (str, PathLike)):
        target.write(text)
        return
    path = Path(target)
    refuse_input(path, "the hierarchy file")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(text.encode())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        msg = f"The hierarchy file {str(path)!r} cannot be written: {error.strerror}."
        raise HierarchyError(msg) from error


def _read_text(source: str | PathLike[str] | TextIO) -> tuple[str, str]:
    if not isinstance(source, (str, PathLike)):
        return "The hierarchy", source.read().removeprefix("\ufeff")
    path = Path(source)
    subject = f"The hierarchy file {str(path)!r}"
    try:
        data = read_side_file(path, "the hierarchy file")
    except OSError as error:
        msg = f"{subject} cannot be read: {error.strerror}."
        raise HierarchyError(msg) from error
    try:
        data = to_utf8(data, None, name=subject, table=False)
        return subject, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        msg = f"{subject} is not UTF-8 text (line {line}): save it as UTF-8."
        raise HierarchyError(msg) from error


def _parse(subject: str, text: str, delimiter: str) -> list[Row]:
    # newline="" hands line ends inside quotes to the reader unchanged.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        msg = f"{subject} cannot be parsed (line {reader.line_num}): {error}."
        raise HierarchyError(msg) from error


def _sniff(text: str) -> str:
    """Choose the first delimiter that cuts the opening lines into equally many cells, > 1."""
    widest, best = ";", 0
    for delimiter in _DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            widths = [len(cells) for cells in islice(reader, _SNIFFED_LINES) if cells]
        except csv.Error:
            continue
        if widths and min(widths) == max(widths) > 1:
            return delimiter
        if max(widths, default=0) > max(best, 1):
            widest, best = delimiter, max(widths)
    return widest


def _has_header(rows: list[Row]) -> bool:
    titles, body = rows[0][1], rows[1:]
    roots = {cells[-1] for _, cells in body}
    if len(roots) != 1 or titles[-1] in roots:
        return False
    # A first line that shares a label with the others is a leaf with a wrong root instead.
    return not any(title in cells for title in set(titles) for _, cells in body)


def _one_character(delimiter: str) -> str:
    if len(delimiter) != 1 or delimiter in '"\r\n':
        msg = f"delimiter must be one character such as ';', but {delimiter!r} was given."
        raise OptionError(msg)
    return delimiter


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
