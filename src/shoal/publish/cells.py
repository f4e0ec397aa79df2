"""Cells as a reader has them: which are equal as written, and which after cleaning.

Two cells of a quasi-identifier are equal if nothing in the table tells them apart: 0.0 and -0.0,
NaN and null, ``1`` and ``1.0`` as texts are not. Sensitive values are read twice, as written and
cleaned (see `shoal.publish.cells`), because a promise about them must hold for both readers.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, RoleError, did_you_mean
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray


# When two sensitive texts are one value to a person.
#
# ``flu``, ``Flu`` and ``flu `` are three texts and one illness. A promise of two different values
# must not be kept by a blank, so every text has a key, and texts with one key count as one value:
#
# - Unicode form NFKC, and letters in lower case (case folding);
# - characters that do not show are left out; white space at the ends goes, and any white space
#   inside is one blank; a pair of double quotation marks around the text goes;
# - numbers go by their value: ``5``, ``5.0``, ``+5.00`` and ``05`` are one. A number with an
#   exponent needs a point or a sign, because 12E4 may be a code;
# - what stands for a missing value (`MISSING`, and what the user adds) is one value, with null.
#
# `shoal.table.sensitive` says the same for the search, in code of its own; a test holds them equal.

MISSING = frozenset(
    {"", "?", "-", "--", ".", "*", "na", "n/a", "#n/a", "nan", "null", "none", "missing", "unknown"}
)
"""Cleaned texts that stand for a missing value."""

# Blank or without any shape of their own, although Unicode counts them among letters and marks:
# joiners, fillers, the empty braille cell, variation selectors.
_SHAPELESS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
_MARK = "\0"  # no cleaned text holds one, so that no text looks like the key of a number
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
    r"|[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)e[+-]?[0-9]{1,4}"
    r"|[+-]?[0-9]+e[+-][0-9]{1,4}"
)


def clean(text: str, missing: frozenset[str] = MISSING) -> str | None:
    """Return the key of a text, None if it stands for a missing value."""
    if text.isascii() and text.isprintable():
        key = text.lower()
    else:
        shown = _without_invisible(unicodedata.normalize("NFKC", text))
        key = unicodedata.normalize("NFKC", shown.casefold())
    key = " ".join(key.split())
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1].strip()
    if key in missing:
        return None
    if _NUMBER.fullmatch(key):
        return _by_value(key)
    return key


def clean_missing(texts: tuple[str, ...]) -> frozenset[str]:
    """Return `MISSING` with the user's markers, which are cleaned like any text."""
    added = (clean(text, frozenset()) for text in texts)
    return MISSING | {key for key in added if key is not None}


def number_of(text: str) -> Decimal | None:
    """Return the exact number that a text stands for, also one such as 1e16; None if none."""
    key = text.strip().lower()
    if _NUMBER.fullmatch(key) or re.fullmatch(r"-?[0-9]e[0-9]{1,3}", key):
        return Decimal(key)
    return None


def _without_invisible(text: str) -> str:
    return "".join(
        letter
        for letter in text
        if letter not in _SHAPELESS and (unicodedata.category(letter)[0] != "C" or letter.isspace())
    )


def _by_value(number: str) -> str:
    sign, digits, exponent = Decimal(number).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    if not short:
        return _MARK + "0"
    return f"{_MARK}{'-' if sign else ''}{short}e{int(exponent) + len(text) - len(short)}"


# Columns of a published table by the names that users know them by.


def columns_needed(
    columns: Sequence[str], quasi_identifiers: Iterable[str], sensitive: Iterable[str] = ()
) -> list[str]:
    """Return the columns of quasi-identifiers (each itself, or its two bounds) and of the others.

    Raises:
        RoleError: one of them does not exist.
    """
    found = []
    for name in quasi_identifiers:
        bounds = [f"{name}_low", f"{name}_high"]
        if name in columns:
            found.append(name)
        elif all(bound in columns for bound in bounds):
            found.extend(bounds)
        else:
            raise _unknown(columns, name, "quasi-identifier")
    for name in sensitive:
        if name not in columns:
            raise _unknown(columns, name, "sensitive")
        found.append(name)
    return found


def check_names(keys: list[str], sensitive: list[str]) -> None:
    """Raise a RoleError if a column is named twice."""
    for names in (keys, sensitive):
        for number, name in enumerate(names):
            if name in names[:number]:
                raise RoleError("Column {name!r} is named twice; name it once.", name=name)
    for name in sensitive:
        if name in keys:
            raise RoleError(
                "Column {name!r} is given two roles, quasi-identifier and sensitive; keep one.",
                name=name,
            )


def _unknown(known: Sequence[str], name: str, role: str) -> RoleError:
    some = ", ".join(map(repr, known[:20]))
    hint = did_you_mean(name, known) or Message(" It has {names}.", names=some)
    return RoleError(
        "There is no column {name!r} (given as {role}) in the table.{hint}",
        name=name,
        role=Message(role),
        hint=hint,
    )


def listed(names: str | Iterable[str], option: str) -> list[str]:
    """Return names as a list; a bare text is a list of one."""
    listed_names = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in listed_names):
        raise RoleError("{option} must be a list of column names as text.", option=option)
    return listed_names


def note_on_names(
    columns: Sequence[str], quasi_identifiers: Sequence[str], others: Sequence[str]
) -> list[str]:
    """Name columns in no promise that are called after a quasi-identifier, as age_low beside age.

    Args:
        columns: of the table.
        quasi_identifiers: as they were promised.
        others: further columns that promises are about.
    """
    looked_at = {*columns_needed(list(columns), list(quasi_identifiers)), *others}
    notes: list[str] = []
    for name in quasi_identifiers:
        stem = re.escape(name.strip().casefold())
        found = [
            each
            for each in columns
            if each not in looked_at and re.match(rf"{stem}(?:$|[\W_])", each.strip().casefold())
        ]
        if found:
            notes.append(
                Message(
                    "{map} beside {name!r} may say more about it and is in no promise; name it "
                    "with --qi, or leave it out of the release.",
                    map=", ".join(map(repr, found)),
                    name=name,
                )
            )
    return notes


_BATCH = 100_000  # distinct texts that exist as Python objects at a time
# Texts of this form are one number each, and no two of them are the same number.
_ONE_FORM = (
    r"^-?[1-9][0-9]*$",
    r"^(?:0\.0|-?[1-9][0-9]*\.0|-?(?:0|[1-9][0-9]*)\.[0-9]*[1-9])$",
)


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to read a column: the value of each row, 0 … without a gap, in order if any."""

    codes: NDArray[np.integer[Any]]
    size: int


@dataclass(frozen=True, eq=False)
class SensitiveCells:
    """A sensitive column, read in two ways; the two are one object if they do not differ.

    Attributes:
        name: of the column.
        ordered: whether the values have an order, which the codes then follow.
        written: cells are equal if they are written alike.
        cleaned: cells are equal if a person would call them so.
    """

    name: str
    ordered: bool
    written: Reading
    cleaned: Reading

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The readings that differ, the one as written first."""
        return (self.written,) if self.cleaned is self.written else (self.written, self.cleaned)


def pack_rows(columns: Sequence[pl.Series]) -> NDArray[np.int64]:
    """Return one number per row, equal for rows whose cells are all written alike."""
    packed, width = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        codes, n_codes = _codes(column)
        if width > (1 << 62) // n_codes:  # number the combinations so far anew
            packed, sizes = number_groups(packed)
            width = len(sizes)
        packed *= n_codes
        packed += codes
        width *= n_codes
    return packed


def number_groups(packed: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the group of each row, 0 …, ordered by number, and the size of each group."""
    import polars as pl

    groups = pl.Series(packed).rank("dense").to_numpy().astype(np.int64) - 1
    return groups, np.bincount(groups).astype(np.int64, copy=False)


def read_cells(
    column: pl.Series,
    *,
    missing: frozenset[str],
    order: Sequence[str] | None = None,
    find_order: bool = False,
) -> SensitiveCells:
    """Read a column in both ways.

    Args:
        column: the cells.
        missing: cleaned texts that stand for a missing value.
        order: the values of a text column from low to high, where a file does not say it.
        find_order: whether text may have the order of the numbers or dates that it spells.
    """
    import polars as pl

    reading = _read(column)
    dtype = column.dtype
    if dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum):
        if order is None and isinstance(dtype, pl.Enum):
            order = dtype.categories.to_list()
        return _read_text(column, reading, missing, order, find_order=find_order)
    ordered = dtype.is_numeric() or dtype.is_temporal()
    if dtype.is_float():
        return SensitiveCells(column.name, ordered, reading, _cleaned_floats(column, reading))
    return SensitiveCells(column.name, ordered, reading, reading)


def _read(column: pl.Series) -> Reading:
    """Number the cells without a gap, in the order of their codes."""
    codes, bound = _codes(column)
    present = np.bincount(codes, minlength=bound) > 0
    places = np.cumsum(present, dtype=np.int64) - 1
    narrow = places.astype(np.int32) if bound < (1 << 31) else places
    return Reading(narrow[codes], int(present.sum()))


def _codes(column: pl.Series) -> tuple[NDArray[np.integer[Any]], int]:
    """Return a number per cell, equal for cells written alike, and a bound; null is the last.

    The numbers follow the order of the values where the type has one.
    """
    import polars as pl

    dtype = column.dtype
    if isinstance(dtype, pl.Object):
        raise DataError(
            "Column {name!r} holds values of mixed types; convert it to one type (text, "
            "numbers or dates) first.",
            name=column.name,
        )
    if dtype == pl.String:
        column = column.cast(pl.Categorical(pl.Categories.random()))
    if isinstance(column.dtype, pl.Categorical | pl.Enum) or dtype == pl.Boolean:
        codes = column.to_physical().cast(pl.UInt32)
    elif dtype == pl.Null:
        return np.zeros(len(column), np.int64), 1
    elif dtype.is_nested() or dtype == pl.Binary:
        exact = column.cast(_exact_type(dtype)).to_frame("cell").with_row_index("row")
        numbered = exact.group_by("cell").agg("row").select("row").with_row_index("code")
        codes = numbered.explode("row").sort("row").get_column("code")
    else:
        codes = (_float_order(column) if dtype.is_float() else column).rank("dense")
    known = codes.drop_nulls().to_numpy()
    bound = int(known.max()) + 2 if known.size else 1
    return codes.fill_null(bound - 1).to_numpy(), bound


def _float_order(column: pl.Series) -> pl.Series:
    """Return whole numbers in the order of these floats: -0.0 before 0.0, NaN after all."""
    import polars as pl

    values = column.cast(pl.Float64).fill_null(0.0).to_numpy()
    bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
    # Of negative numbers a larger size means a smaller number: turn their bits around.
    ranked = np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits)
    return pl.Series(column.name, ranked).set(column.is_null(), None)


def _exact_type(dtype: Any) -> Any:
    """Return the type with text in place of floats, which tells -0.0 from 0.0 and NaN from all."""
    import polars as pl

    if dtype.is_float():
        return pl.String()
    if isinstance(dtype, pl.List):
        return pl.List(_exact_type(dtype.inner))
    if isinstance(dtype, pl.Array):
        return pl.Array(_exact_type(dtype.inner), dtype.size)
    if isinstance(dtype, pl.Struct):
        return pl.Struct({each.name: _exact_type(each.dtype) for each in dtype.fields})
    return dtype


def _cleaned_floats(column: pl.Series, written: Reading) -> Reading:
    """Return the reading in which -0.0 is 0.0 and NaN is null."""
    import polars as pl

    plain = column.fill_nan(None)
    values = plain.fill_null(0.0).to_numpy() + 0.0
    as_number = pl.Series(column.name, values).set(plain.is_null(), None)
    cleaned = _read(as_number)
    return written if cleaned.size == written.size else cleaned


def _read_text(
    column: pl.Series,
    written: Reading,
    missing: frozenset[str],
    order: Sequence[str] | None,
    *,
    find_order: bool,
) -> SensitiveCells:
    import polars as pl

    # One row of each value: all that follows costs by distinct values, not by rows.
    row_of = np.empty(written.size, dtype=np.uint32)
    row_of[written.codes] = np.arange(len(column), dtype=np.uint32)
    texts = column.gather(row_of).cast(pl.String)
    keys = _keys(texts, missing)
    places = None
    if order is not None:
        places = _places_in(texts, {text: place for place, text in enumerate(order)})
    elif find_order:
        places = _places_by_value(texts, keys)
    ordered = places is not None
    values = pl.DataFrame(
        {"place": places or [0] * len(texts), "key": keys, "text": texts}
    ).with_row_index("code")
    # What is nothing at all comes last, and after cleaning so does all that says missing.
    nothing = pl.col("text").fill_null("") == ""
    as_one = values.group_by("key").agg(pl.col("place").min())
    as_one = as_one.sort(pl.col("key").is_null(), "place", "key").with_row_index("cleaned")
    values = values.sort("place", nothing, "text", nulls_last=True).with_row_index("written")
    values = values.join(as_one.select("key", "cleaned"), on="key", nulls_equal=True).sort("code")
    of_written = values.get_column("written").to_numpy().astype(np.int32)
    of_cleaned = values.get_column("cleaned").to_numpy().astype(np.int32)
    as_written = Reading(of_written[written.codes], written.size)
    size = as_one.height
    as_cleaned = as_written if size == written.size else Reading(of_cleaned[written.codes], size)
    return SensitiveCells(column.name, ordered, as_written, as_cleaned)


def _keys(texts: pl.Series, missing: frozenset[str]) -> pl.Series:
    """Return the key of each text, null for a missing value."""
    import polars as pl

    if any(bool(texts.drop_nulls().str.contains(form).all()) for form in _ONE_FORM):
        return texts
    parts = [
        pl.Series(
            [None if text is None else clean(text, missing) for text in part.to_series().to_list()],
            dtype=pl.String,
        )
        for part in texts.to_frame().iter_slices(_BATCH)
    ]
    return pl.concat(parts)


def _places_in(texts: pl.Series, order: Mapping[str, int]) -> list[int] | None:
    places = [len(order) if text is None else order.get(text) for text in texts.to_list()]
    return None if None in places else places  # type: ignore[return-value]  # that is the test


def _places_by_value(texts: pl.Series, keys: pl.Series) -> list[int] | None:
    """Return where each text stands among the numbers or dates that all of them spell."""
    known = [text for text, key in zip(texts, keys, strict=True) if key is not None]
    for kind in (number_of, _date_of, _datetime_of, _time_of):
        values = [kind(text) for text in known]
        if values and None not in values:
            break
    else:
        return None
    try:
        rank = {value: place for place, value in enumerate(sorted(set(values)))}  # type: ignore[type-var]
    except TypeError:  # times with and without a zone
        return None
    place_of = {text: rank[value] for text, value in zip(known, values, strict=True)}
    return [place_of.get(text, len(rank)) for text in texts]


def _date_of(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == len("2000-01-01") else None
    except ValueError:
        return None


def _datetime_of(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if len(text) > len("2000-01-01") else None
    except ValueError:
        return None


def _time_of(text: str) -> time | None:
    try:
        return time.fromisoformat(text) if ":" in text else None
    except ValueError:
        return None
