"""One sensitive column as codes, and how many people have each value."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from shoal.hierarchy import Taxonomy


# Which sensitive values the search may count as different: those that a person would.
#
# The definition is that of `shoal.publish.cells`: NFKC, case folded, without characters that do
# not show, white space collapsed, no quotation marks around, numbers by value, everything that
# says "missing" as one value. Verification must not trust the search, so this is code of its own,
# on the distinct values of a column; a test holds the two equal.

_SAYS_MISSING = re.compile(r"(?:na|n/a|#n/a|nan|null|none|missing|unknown|--?|[?.*]|)")
_SHAPELESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0f"
    "\U000e0100-\U000e01ef]"
)
_WHITE = re.compile(r"\s+")
# sign, digits before and behind the point, exponent
_NUMBER = re.compile(r"([+-]?)([0-9]*)(\.?)([0-9]*)(?:e([+-]?)([0-9]{1,4}))?")
_STEP = 1 << 16  # distinct texts that exist as Python objects at a time


def person_would_say(text: str) -> tuple[str, ...]:
    """Return what two texts have in common if a person calls them equal; () for missing."""
    plain = unicodedata.normalize("NFKC", text)
    if not plain.isprintable():
        plain = "".join(each for each in plain if each.isprintable() or each.isspace())
    plain = unicodedata.normalize("NFKC", _SHAPELESS.sub("", plain).casefold())
    plain = _WHITE.sub(" ", plain).strip(" ")
    if plain.startswith('"') and plain.endswith('"') and len(plain) >= 2:
        plain = plain[1:-1].strip(" ")
    if _SAYS_MISSING.fullmatch(plain):
        return ()
    return _value_of(plain) or (plain,)


def _value_of(text: str) -> tuple[str, str, str] | None:
    """Return sign, digits and place of the point of a number; None if the text is none."""
    found = _NUMBER.fullmatch(text)
    if found is None or not (found[2] or found[4]):
        return None
    if found[6] is not None and not (found[3] or found[5]):
        return None  # 12e4 may be a code
    digits = found[2] + found[4]
    point = len(found[2]) + int(f"{found[5] or ''}{found[6] or 0}")
    leading = len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    if not digits:
        return ("", "", "")
    return ("-" if found[1] == "-" else "", digits, str(point - leading))


class Merging:
    """Which values of a column, given as codes in their order, are one value after cleaning.

    Attributes:
        merged: the value after cleaning of each code, in the same order; None if all differ.
    """

    def __init__(self, merged: NDArray[np.int32] | None) -> None:
        self._merged = merged

    @property
    def merged(self) -> NDArray[np.int32] | None:
        """The value after cleaning of each code."""
        return self._merged


class TextMerging(Merging):
    """The same for text; worked out when somebody asks, by distinct text.

    Args:
        texts: the text of each code.
        has_missing: whether one more code follows, for null.
    """

    def __init__(self, texts: pl.Series, *, has_missing: bool) -> None:
        super().__init__(None)
        self._texts = texts
        self._has_missing = has_missing

    @cached_property
    def merged(self) -> NDArray[np.int32] | None:
        """The value after cleaning of each code, numbered by where it comes first."""
        places: dict[tuple[str, ...], int] = {}
        codes: list[int] = []
        for start in range(0, len(self._texts), _STEP):
            for text in self._texts.slice(start, _STEP).to_list():
                words = person_would_say(text)
                codes.append(places.setdefault(words, len(places)))
        missing = places.get((), len(places))
        codes.extend([missing] * self._has_missing)
        n_values = max(codes, default=-1) + 1
        if n_values == len(codes):
            return None
        merged = np.array(codes, dtype=np.int32)
        # Missing values come last, whichever text says so.
        merged[merged > missing] -= 1
        merged[np.array(codes) == missing] = n_values - 1
        return merged


@dataclass(frozen=True, eq=False)
class Sensitive:
    """One encoded sensitive column; a missing value is a value of its own (the last code).

    Codes are those of the values as written: NaN and null are two, and so are 0.0 and -0.0.

    Attributes:
        name: column name.
        codes: code of each row.
        size: number of codes.
        ordered: whether the values have an order, which the codes then follow.
        counts: rows of the whole table with each code.
        merging: which of the values are one after cleaning; None if all differ.
        people: person of each row; None if every row is a person of its own.
        of: the column that this one is a part of, where promises that compare with the whole
            table are to be judged against that; None if these are all rows.
        numbers: of a column of numbers: the number of each code, NaN for a missing one.
        taxonomy: of a column with a hierarchy: its tree.
        leaves: of a column with a hierarchy: leaf of each code, -1 for a missing one.
        joint: rows with each code of a quasi-identifier (missing last) and each code of this
            column, by the quasi-identifier's name, where these are others than the rows at hand.
    """

    name: str
    codes: NDArray[np.int32]
    size: int
    ordered: bool
    counts: NDArray[np.int64]
    merging: Merging | None = None
    people: NDArray[np.int32] | None = None
    of: Sensitive | None = None
    numbers: NDArray[np.float64] | None = None
    taxonomy: Taxonomy | None = None
    leaves: NDArray[np.int64] | None = None
    joint: Mapping[str, NDArray[np.int64]] | None = None

    @cached_property
    def histogram(self) -> NDArray[np.int64]:
        """How many people have each code; a person who has it in several rows counts once."""
        codes: NDArray[Any] = self.codes
        if self.people is not None:
            codes = np.unique(self.people.astype(np.int64) * self.size + codes) % self.size
        return np.bincount(codes, minlength=self.size).astype(np.int64)

    @property
    def whole(self) -> NDArray[np.int64]:
        """The histogram that groups are compared with: that of all rows."""
        return self.histogram if self.of is None else self.of.histogram

    @cached_property
    def cleaned(self) -> Sensitive:
        """The column after cleaning (see `table.cleaning`); itself if that changes nothing."""
        merged = None if self.merging is None else self.merging.merged
        if merged is None:
            return self
        size = int(merged.max(initial=-1)) + 1
        counts = np.bincount(merged, weights=self.counts, minlength=size).astype(np.int64)
        of = None if self.of is None else self.of.cleaned
        # values that are one after cleaning are where the first of them is
        first = np.unique(merged, return_index=True)[1]
        return Sensitive(
            self.name,
            merged[self.codes],
            size,
            self.ordered,
            counts,
            None,
            self.people,
            of,
            None if self.numbers is None else self.numbers[first],
            self.taxonomy,
            None if self.leaves is None else self.leaves[first],
        )


def split_as_written(
    series: pl.Series, codes: NDArray[np.int32], size: int
) -> tuple[NDArray[np.int32], int, Merging | None]:
    """Give -0.0 beside 0.0, and NaN beside null, codes of their own.

    Returns:
        The codes, the number of those that are not null, and what belongs together.
    """
    merged = np.arange(size + 1, dtype=np.int32)
    values = series.fill_null(1.0).to_numpy()
    minus = (values == 0) & np.signbit(values)
    if minus.any() and not minus[values == 0].all():
        zero = codes[minus][0]
        codes = codes + ((codes >= zero) & ~minus)
        merged, size = np.insert(merged, zero, zero), size + 1
    nan = np.isnan(values)
    if nan.any():
        # Until here NaN has the code of null, which moves on if it occurs.
        if series.null_count():
            codes = codes + series.is_null().to_numpy()
            merged = np.append(merged, merged[-1])
        size += 1
    else:
        merged = merged[: size + (series.null_count() > 0)]
    same = len(merged) == int(merged.max(initial=-1)) + 1
    return codes.astype(np.int32), size, None if same else Merging(merged)
