"""When two sensitive texts are one value to a person.

``flu``, ``Flu`` and ``flu `` are three texts and one illness. A promise of two different values
must not be kept by a blank, so every text has a key, and texts with one key count as one value:

- Unicode form NFKC, and letters in lower case (case folding);
- characters that do not show are left out; white space at the ends goes, and any white space
  inside is one blank; a pair of double quotation marks around the text goes;
- numbers go by their value: ``5``, ``5.0``, ``+5.00`` and ``05`` are one. A number with an
  exponent needs a point or a sign, because 12E4 may be a code;
- what stands for a missing value (`MISSING`, and what the user adds) is one value, with null.

`shoal.table.cleaning` says the same for the search, in code of its own; a test holds them equal.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

__all__ = ["MISSING", "clean", "clean_missing", "number_of"]

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
