"""Which texts of a file stand for a missing value: ``?``, ``NA``, ``-``, a 999 that is a code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.io.vocabulary import topics_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


# Folded to lower case, without blanks at the ends. "unknown" and "none" are answers, not gaps.
_MARKERS = frozenset(
    {
        *("?", "??", "-", "--", "---", ".", "..", "na", "n/a", "n.a.", "#n/a", "#na", "<na>"),
        *("nan", "null", "nil", "(null)", "missing", "not available", "not applicable"),
        *("k.a.", "k. a.", "keine angabe", "s/d", "s.d.", "n.d.", "n/d"),
    }
)
# What people type into a number field for "not known", widest first.
_NUMBER_CODES = (9999, 999, 99, -1, -9, -99, -999, -9999, 99999)


def find_markers(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return the texts that stand for a missing value, exactly as the table spells them.

    A number such as 999 counts only if it lies far outside the other values of every column in
    which it occurs, and occurs more than once; one list of markers serves the whole file.
    """
    import polars as pl

    found: dict[str, None] = {}
    real: set[str] = set()
    for column in frame.get_columns():
        if column.dtype != pl.String:
            continue
        values = column.drop_nulls().unique().sort().to_list()
        markers = [value for value in values if value.strip().casefold() in _MARKERS]
        if len(markers) == len(values):
            continue  # nothing else is there: no reason to think that it is a marker
        others = [value for value in values if value not in markers]
        for marker in markers:
            # NA is Namibia among two-letter codes.
            if marker.isalpha() and all(v.isalpha() and len(v) == len(marker) for v in others):
                real.add(marker)
            else:
                found[marker] = None
    texts = [text for text in found if text not in real]
    return (*texts, *_number_codes(apply_markers(frame, texts)))


def apply_markers(
    frame: pl.DataFrame,
    markers: Sequence[str],
    numeric: Sequence[str] = (),
    decimal: str | None = None,
) -> pl.DataFrame:
    """Return the table as it reads with these markers: gaps are null, freed numbers are typed."""
    import polars as pl

    from shoal.io.columns import mark_missing, type_columns

    numbers = [int(text) for text in markers if text.removeprefix("-").isdecimal()]
    columns = []
    for column in frame.get_columns():
        if column.dtype == pl.String:
            marked = mark_missing(column, markers)
            typed = type_columns(marked.to_frame(), numeric=numeric, decimal=decimal)
            columns.append(typed.to_series())
        elif column.dtype.is_integer() and numbers:
            hit = column.is_in(pl.Series(numbers, dtype=pl.Int64).implode())
            columns.append(column.set(hit, None))
        else:
            columns.append(column)
    return pl.DataFrame(columns)


def _number_codes(frame: pl.DataFrame) -> list[str]:
    import polars as pl

    codes: list[str] = []
    columns = [c for c in frame.get_columns() if c.dtype.is_integer()]
    texts = [c for c in frame.get_columns() if c.dtype == pl.String]
    for code in _NUMBER_CODES:
        holding = [c for c in columns if bool((c == code).any())]
        if any(bool((c == str(code)).any()) for c in texts):
            continue
        if holding and all(_is_code(c.drop_nulls(), code) for c in holding):
            codes.append(str(code))
    return codes


def _is_code(values: pl.Series, code: int) -> bool:
    hits = int((values == code).sum())
    others = values.filter(values != code)
    if hits < 2 or hits > len(values) / 2 or others.n_unique() < 3:
        return False
    ordered = others.sort()
    low, high = int(ordered[0]), int(ordered[-1])
    if code < 0:
        # -1 in a column that is never negative otherwise, and that holds counts or ages.
        return low >= 0 and (code < -1 or bool({"age", "family"} & {*topics_of(values.name)}))
    spread = max(high - low, 1)
    return code > high and code - high > 2 * spread and high < code / 2


def has_commas(texts: pl.DataFrame, typed: pl.DataFrame) -> bool:
    """Tell whether a column became numbers that are written with a comma."""
    import polars as pl

    return any(
        before.dtype == pl.String
        and after.dtype.is_float()
        and bool(before.str.contains(",", literal=True).any())
        for before, after in zip(texts, typed, strict=True)
    )


def loose_numbers(frame: pl.DataFrame, markers: Sequence[str], decimal: str | None) -> list[str]:
    """Return the text columns that are numbers once 1.5 and 1.50 are the same.

    Codes such as 250.10 beside 250.1 are left alone where the name speaks of a code.
    """
    codes = {"diagnosis", "treatment", "key", "postcode", "number of a person"}
    names = [name for name in frame.columns if not codes & {*topics_of(name)}]
    plain = apply_markers(frame, markers, decimal=decimal)
    loose = apply_markers(frame, markers, numeric=names, decimal=decimal)
    return [name for name in names if plain.schema[name] != loose.schema[name]]
