"""Which sensitive values the search may count as different: those that a person would.

The definition is that of `shoal.publish.cleaning`: NFKC, case folded, without characters that do
not show, white space collapsed, no quotation marks around, numbers by value, everything that
says "missing" as one value. Verification must not trust the search, so this is code of its own,
on the distinct values of a column; a test holds the two equal.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Merging", "TextMerging", "person_would_say"]

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
                said = person_would_say(text)
                codes.append(places.setdefault(said, len(places)))
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
