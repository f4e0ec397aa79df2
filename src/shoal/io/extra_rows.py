"""Rows of a file that are no records: titles above the table, totals, notes, repeated headers.

Offices print tables: a title stands above the names, a line of sums below the rows, the header
stands on every page, and a note says where the numbers are from. Such a row would be published as
a person. What is looked at are filled cells and a few words, never what a cell means.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.errors import DataError
from shoal.io.columns import BLANKS
from shoal.io.formats import ASK, KEEP
from shoal.io.vocabulary import NOTE_WORDS, TOTAL_WORDS
from shoal.messages import Message, plural

if TYPE_CHECKING:
    import polars as pl

    from shoal.io.overwrite_guard import HowRead

TOTAL, NOTE, HEADER = "total", "note", "header"

_MOST_SHOWN = 5
_MOST_SHARE = 0.1  # of the rows: what is more frequent is a value of the column
_MOST_CANDIDATES = 10_000
_SHORTEST = 4  # letters of a word that is nobody's name
_HEADER_WITHIN = 50

_TOTALS, _NOTES = (
    "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    for words in (TOTAL_WORDS, NOTE_WORDS)
)
# A word that stands alone, at most with a sign or a number after it; and one that others follow.
_ONLY_TOTAL = re.compile(rf"(?:{_TOTALS})\s*[:=]?\s*[-+]?[\d.,' \xa0]*", re.IGNORECASE)
_STARTS_TOTAL = re.compile(rf"(?:{_TOTALS})\b", re.IGNORECASE)
_STARTS_NOTE = re.compile(rf"[*†‡§]|[¹²³]|(?:{_NOTES})(?:\s*:|\s+\S)|n\s*=\s*\d", re.IGNORECASE)
_CANDIDATE = rf"(?i)^(?:(?:{_TOTALS}|{_NOTES})\b|[*†‡§¹²³]|n\s*=\s*\d)"
_NUMBER = re.compile(r"[-+(]?[\d][\d.,:/\-+TZ %'\xa0)]*|[-.?]+")
_BLANKS = "".join(BLANKS)


def find_header(rows: Sequence[Sequence[str | None]]) -> int:
    """Return which of the first rows of a table holds the names of its columns.

    That is the first one of which more than half of the columns are filled, unless it holds
    numbers; then it is the first one that is not empty.

    >>> find_header([["Patients 2024", None, None], [None] * 3, ["id", "age", "sex"], ["1"] * 3])
    2
    >>> find_header([["id", "age"], ["1", "2"]])
    0
    """
    filled = [sum(map(bool, row)) for row in rows[:_HEADER_WITHIN]]
    width = max(filled, default=0)
    first = next((place for place, count in enumerate(filled) if count), 0)
    found = next((place for place, count in enumerate(filled) if 2 * count > width), first)
    # What stands above names stands in few cells; above two names it stands in one, at the left.
    cells = [cell for cell in rows[found] if cell] if rows else []
    if any(_NUMBER.fullmatch(cell) for cell in cells):
        return first
    if found > first and width == 2 and not rows[first][0]:
        return first
    return found


def starts_like_note(text: str) -> bool:
    """Tell whether a line begins as a note or a line of totals does."""
    text = text.lstrip(_BLANKS + '"')
    return bool(_STARTS_NOTE.match(text) or _STARTS_TOTAL.match(text))


class ExtraRows:
    """Looks at the rows of a file, piece by piece, for those that are no records.

    Attributes:
        found: numbers of such rows in the file, by what they are.
    """

    def __init__(self, choice: str, titles: Sequence[str | None]) -> None:
        self._choice = choice
        self._titles = [(each or "").strip(_BLANKS) for each in titles]
        self._n_rows = self._n_totals = 0
        self._filled: Counter[str] = Counter()
        self.found: dict[str, list[int]] = {}

    @property
    def is_looking(self) -> bool:
        """Whether there is anything to look for."""
        return self._choice != KEEP

    def add(self, kind: str, number: int) -> None:
        """Remember a row."""
        self.found.setdefault(kind, []).append(number)

    def look(self, texts: pl.DataFrame, *, last: bool) -> dict[int, str]:
        """Return what is no record among the next rows: its place, and what it is.

        Args:
            texts: all columns of these rows, as they stand in the file.
            last: whether the file ends with them.
        """
        import polars as pl

        cells = texts.select(
            pl.when(pl.col(name) != "").then(pl.col(name)) for name in texts.columns
        )
        self._n_rows += cells.height
        for column in cells.get_columns():
            self._filled[column.name] += column.len() - column.null_count()
        first = pl.coalesce(pl.all())
        possible = first.str.contains(_CANDIDATE)
        if cells.width > 1:
            few = pl.sum_horizontal(pl.all().is_not_null()) == 1
            possible |= few & first.str.contains(r"\p{L}")
        if any(self._titles):
            possible |= first == next(filter(None, self._titles))
        places = cells.select(possible.fill_null(value=False).arg_true()).to_series().to_list()
        if len(places) > max(_MOST_CANDIDATES, cells.height // 2):
            return {}  # values of a column, not rows beside the table
        usual = [2 * self._filled[name] > self._n_rows for name in cells.columns]
        kinds: dict[int, str] = {}
        end = cells.height - 1 if last else cells.height
        shapes: set[str] | None = None
        rows = {
            place: [(cell or "").strip(_BLANKS) for cell in cells.row(place)] for place in places
        }
        for row in rows.values():
            self._n_totals += bool(_ONLY_TOTAL.fullmatch(next(filter(None, row), "")))
        for place, row in reversed(rows.items()):
            kind = self._kind_of(row, usual, is_last=place == end)
            if kind == NOTE and shapes is None and any(map(str.isdigit, "".join(row))):
                shapes = _shapes(cells.get_column(cells.columns[0]), places)
            # The number of a person of whom nothing else is known is no note.
            if kind == NOTE and not _STARTS_NOTE.match("".join(row)) and shapes is not None:
                kind = None if _shape(row[0]) in shapes else kind
            if kind is not None:
                kinds[place] = kind
                end -= place == end
        return dict(sorted(kinds.items()))

    def _kind_of(self, row: list[str], usual: Sequence[bool], *, is_last: bool) -> str | None:
        """Return what a row is; None if it may be a record."""
        if any(self._titles) and row == self._titles:
            return HEADER
        filled = [place for place, cell in enumerate(row) if cell] or [0]
        text = row[filled[0]]
        others = [place for place, each in enumerate(usual) if each and place != filled[0]]
        gaps = sum(not row[place] for place in others)
        mostly = gaps >= 1 and 2 * gaps >= len(others)
        if _ONLY_TOTAL.fullmatch(text):
            rare = self._n_totals <= _MOST_SHARE * self._n_rows
            is_only = is_last and self._n_totals == 1
            if mostly or is_only or (rare and (gaps or len(text) > _SHORTEST)):
                return TOTAL
        if _STARTS_TOTAL.match(text) and mostly and (len(filled) > 1 or gaps > 1):
            return TOTAL
        alone = len(filled) == 1 and row[0] != "" and gaps > 1 and not _NUMBER.fullmatch(text)
        is_note = alone or (_STARTS_NOTE.match(text) and (mostly or not others))
        return NOTE if is_note else None

    def finish(self, how: HowRead, *, name: str) -> None:
        """Say what was found, or refuse the file if nobody has said what is to happen.

        Raises:
            DataError: there are such rows, and nobody has said what is to happen to them.
        """
        if not self.found or not self.is_looking:
            return
        how.extra_rows = {kind: list(numbers) for kind, numbers in sorted(self.found.items())}
        where = self.where()
        if self._choice == ASK:
            raise DataError(
                "{name} has rows that look like {where}, which are no records: leave them out "
                "with --extra-rows drop (extra_rows = 'drop' under [input]), or say --extra-rows "
                "keep if each of them is a person.",
                name=name,
                where=where,
            )
        how.notes.append(
            Message(
                "In {name} rows were left out that look like {where}; if each of them is a person, "
                "say --extra-rows keep.",
                name=name,
                where=where,
            )
        )

    def where(self) -> Message:
        """Return what was found and where, without a cell."""
        parts = []
        for kind in (TOTAL, NOTE, HEADER):
            n, rows = len(self.found.get(kind, ())), _numbers(self.found.get(kind, ()))
            if kind == TOTAL:
                what = plural("a total (row {rows})", "totals (rows {rows})", n, rows=rows)
            elif kind == NOTE:
                what = plural("a note (row {rows})", "notes (rows {rows})", n, rows=rows)
            else:
                what = plural(
                    "a repeated header (row {rows})", "repeated headers (rows {rows})", n, rows=rows
                )
            parts += [what] if n else []
        found = parts[0]
        for each in parts[1:]:
            found = Message("{first} and {second}", first=found, second=each)
        return found


def _numbers(rows: Sequence[int]) -> str:
    shown = ", ".join(f"{row:,}" for row in sorted(rows)[:_MOST_SHOWN])
    return shown if len(rows) <= _MOST_SHOWN else f"{shown}, …"


def _shape(text: str) -> str:
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d", "9", text))


def _shapes(column: pl.Series, but: Sequence[int]) -> set[str]:
    """Return how the cells of a column look, other rows than these."""
    import polars as pl

    kept = pl.Series([True]).new_from_index(0, len(column))
    kept[list(but)] = False
    texts = column.filter(kept).drop_nulls().str.strip_chars(_BLANKS)
    plain = texts.str.replace_all(r"\d", "9").str.replace_all(r"[^\W\d_]+", "a")
    return set(plain.unique().to_list())
