"""Is the first line of a file a line of names? If it may be data, no message shows it."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from shoal.inputs import current_watch

if TYPE_CHECKING:
    import polars as pl

__all__ = ["judge_header", "judge_header_of_frame"]

_ROWS = 200
_NUMBER = re.compile(r"[-+]?[\d][\d.,:/\-+TZ %]*")
_PLAIN = re.compile(r"[a-z_][a-z0-9_.]{0,40}|[A-Za-z]{1,8}[_ .-]?\d{1,4}")
_LONGEST = 60


def judge_header(names: Sequence[str], sample: bytes, delimiter: str) -> None:
    """Remember the names of a CSV as doubtful unless they look like names.

    Args:
        names: the fields of the first line.
        sample: the first bytes after it.
        delimiter: between fields.
    """
    if current_watch() is None:
        return
    text = io.StringIO(sample.decode("utf-8", errors="replace"), newline="")
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):  # whoever reads the rows says what is wrong
        rows.extend(islice(csv.reader(text, delimiter=delimiter), _ROWS))
    _judge(names, rows)


def judge_header_of_frame(frame: pl.DataFrame) -> None:
    """Remember the names of a sheet as doubtful unless they look like names."""
    import polars as pl

    if current_watch() is not None:
        rows = frame.head(_ROWS).select(pl.all().cast(pl.String, strict=False)).rows()
        _judge(frame.columns, rows)


def _judge(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
    watch = current_watch()
    if watch is not None and not _are_names(names, rows):
        watch.doubtful |= {name: place for place, name in enumerate(names, start=1)}


def _are_names(names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> bool:
    """Tell whether texts look like the names of columns; in doubt they do not."""
    if any(_NUMBER.fullmatch(name) or "@" in name or len(name) > _LONGEST for name in names):
        return False
    # A name does not turn up again among the cells below it, as a value does.
    for row in rows:
        if any(cell and cell == name for cell, name in zip(row, names, strict=False)):
            return False
    if all(_PLAIN.fullmatch(name) for name in names):
        return True
    from shoal.profile.names import topics_of

    return any(topics_of(name) for name in names)
