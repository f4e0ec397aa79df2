"""The first line of a file: is it one of names, and do they differ? No message shows data."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from itertools import islice
from typing import TYPE_CHECKING

from shoal.io.overwrite_guard import HowRead, current_watch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

__all__ = ["different_names", "judge_header", "judge_header_of_frame"]

_ROWS = 200
_NUMBER = re.compile(r"[-+]?[\d][\d.,:/\-+TZ %]*")
_PLAIN = re.compile(r"[a-z_][a-z0-9_.]{0,40}|[A-Za-z]{1,8}[_ .-]?\d{1,4}")
_LONGEST = 60
_BLANKS = " \t\xa0\r\n"


def different_names(names: Sequence[str | None], how: HowRead, *, name: str) -> list[str]:
    """Return names for columns: none is empty, none has blanks around it, no two are the same.

    A column without a name is called by its place, so that it can be given a role (usually drop);
    one with the name of a column before it gets a number.

    Args:
        names: as they stand in the file.
        how: told about names that changed.
        name: of the file.
    """
    # The mark that some programs put before a text cannot be seen and is no part of a name.
    bare = [(each or "").strip("\ufeff").strip(_BLANKS) for each in names]
    bare = [each or f"column_{place}" for place, each in enumerate(bare, start=1)]
    taken = set(bare)
    first: dict[str, int] = {}
    found: list[str] = []
    for place, each in enumerate(bare, start=1):
        own = each
        if each in first:
            number = 2
            while (own := f"{each}_{number}") in taken:
                number += 1
            taken.add(own)
            how.twins.setdefault(each, []).append(own)
            how.notes.append(
                f"{name} has more than one column of the same name (columns {first[each]} and "
                f"{place}); _{number} was added to the name of column {place}."
            )
        else:
            first[each] = place
        found.append(own)
    return found


def judge_header(
    names: Sequence[str], sample: bytes, delimiter: str, how: HowRead, *, name: str
) -> None:
    """Remember the names of a CSV as doubtful unless they look like names.

    Args:
        names: the fields of the first line.
        sample: the first bytes after it.
        delimiter: between fields.
        how: told if the first line looks like data.
        name: of the file.
    """
    if current_watch() is None:
        return
    text = io.StringIO(sample.decode("utf-8", errors="replace"), newline="")
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # whoever reads the rows says what is wrong
        rows.extend(islice(csv.reader(text, delimiter=delimiter), _ROWS))
    _judge(names, rows, how, name=name)


def judge_header_of_frame(frame: pl.DataFrame, how: HowRead, *, name: str) -> None:
    """Remember the names of a sheet as doubtful unless they look like names."""
    import polars as pl

    if current_watch() is not None:
        rows = frame.head(_ROWS).select(pl.all().cast(pl.String, strict=False)).rows()
        _judge(frame.columns, rows, how, name=name)


def _judge(
    names: Sequence[str], rows: Sequence[Sequence[str | None]], how: HowRead, *, name: str
) -> None:
    watch = current_watch()
    data = _are_data(names, rows)
    if watch is not None and (data or not _are_names(names)):
        watch.doubtful |= {name: place for place, name in enumerate(names, start=1)}
    if data:
        how.notes.append(
            f"The first line of {name} looks like data rather than column names; if it is data, "
            "say --no-header."
        )


def _are_data(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> bool:
    """Tell whether texts look like cells."""
    if any(_NUMBER.fullmatch(name) or "@" in name for name in names):
        return True
    # A name does not turn up again among the cells below it, as a value does.
    return any(
        bool(cell) and cell == name for row in rows for cell, name in zip(row, names, strict=False)
    )


def _are_names(names: Sequence[str]) -> bool:
    """Tell whether texts look like the names of columns; in doubt they do not."""
    if any(len(name) > _LONGEST for name in names):
        return False
    if all(_PLAIN.fullmatch(name) for name in names):
        return True
    from shoal.io.column_names import topics_of

    return any(topics_of(name) for name in names)
