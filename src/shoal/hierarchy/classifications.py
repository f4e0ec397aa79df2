"""Hierarchies of codes that everybody uses: ICD-10, ATC, NUTS, countries and postcodes.

What is above a code follows from the code itself and from tables in ``codes/``, whose sources are
named there, never from which other values a column has. No message shows a value.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from shoal.errors import HierarchyError, OptionError, did_you_mean
from shoal.hierarchy.builders import grow
from shoal.hierarchy.taxonomy import Taxonomy, canonical_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Above = tuple[str, ...]
"""Labels above a code, from near to far, without the root."""

LANGUAGES = ("en", "de")
_ROOT = "*"


@cache
def _table(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a table of ``codes/``."""
    text = files("shoal.hierarchy").joinpath("codes", f"{name}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines(), delimiter=";"))


# ICD-10: category, block and chapter.

_ICD = re.compile(r"([A-Z][0-9][0-9A-Z])(?:\.?(?:[0-9A-Z]{1,4}|[0-9]?-))?[+*!#†]?")
_IN_BLOCK_OF = {
    "C4A": "C43",
    "C7A": "C76",
    "C7B": "C76",
    "D3A": "D10",
    "I1A": "I10",
    "J4A": "J40",
    "M1A": "M05",
    "O9A": "O94",
    "Z3A": "Z30",
}
"""Categories of the United States that end in a letter, and one of the block that they are in."""


@cache
def _ranges(level: str) -> tuple[tuple[str, ...], tuple[dict[str, str], ...]]:
    rows = tuple(row for row in _table("icd10") if row["level"] == level)
    return tuple(row["codes"][:3] for row in rows), rows


def _titled(category: str, level: str, language: str) -> str | None:
    """Return the range and the title of the block or chapter of a category, if it is in one."""
    starts, rows = _ranges(level)
    place = bisect_right(starts, category) - 1
    if place < 0 or category > rows[place]["codes"][4:]:
        return None
    first, _, last = rows[place]["codes"].partition("-")
    return f"{first if first == last else rows[place]['codes']} {rows[place][language]}"


def above_icd10(label: str, language: str = "en") -> Above | None:
    """Return category, block and chapter of a code of ICD-10; None if it is none.

    Points and capital letters are not needed. The signs of the German modification (``+``, ``*``,
    ``!``) and letters for how sure a diagnosis is are left out.

    >>> above_icd10("e11.90")[:2]
    ('E11.0-E11.9', 'E10-E14 Diabetes mellitus')
    """
    found = _ICD.fullmatch("".join(label.upper().split()))
    if found is None:
        return None
    category = _IN_BLOCK_OF.get(found[1], found[1])
    block, chapter = (_titled(category, level, language) for level in ("block", "chapter"))
    if block is None or chapter is None:
        return None
    return f"{found[1]}.0-{found[1]}.9", block, chapter


# ATC: from the substance to the anatomical main group.

_ATC = re.compile(r"[A-Z](?:[0-9]{2}(?:[A-Z](?:[A-Z](?:[0-9]{2})?)?)?)?")


def above_atc(label: str, language: str = "en") -> Above | None:
    """Return the levels above a code of ATC; None if it is none.

    >>> above_atc("A10BA02")
    ('A10BA*', 'A10B*', 'A10*', 'A Alimentary tract and metabolism')
    """
    code = "".join(label.upper().split())
    titles = {row["codes"]: row[language] for row in _table("atc")}
    if not _ATC.fullmatch(code) or code[0] not in titles:
        return None
    levels = [f"{code[:n]}*" for n in (5, 4, 3) if len(code) >= n]
    return *levels, f"{code[0]} {titles[code[0]]}"


# NUTS: from the small region to the country.

_NUTS = re.compile(r"([A-Z]{2})[0-9A-Z]{0,3}")
_NUTS_COUNTRIES = frozenset(
    re.findall(
        "..",
        "ALATBABEBGCHCYCZDEDKEEELESFIFRGEHRHUIEISITLILTLULVMDMEMKMTNLNOPLPTRORSSESISKTRUAUKXK",
    )
)
_ISO = {"EL": "GR", "UK": "GB"}


def above_nuts(label: str, language: str = "en") -> Above | None:
    """Return the regions above a code of NUTS; None if it is none.

    >>> above_nuts("DE21H")
    ('DE21*', 'DE2*', 'DE Germany')
    """
    code = "".join(label.upper().split())
    found = _NUTS.fullmatch(code)
    if found is None or found[1] not in _NUTS_COUNTRIES:
        return None
    name = _country(_ISO.get(found[1], found[1]))
    assert name is not None
    levels = [f"{code[:n]}*" for n in (4, 3) if len(code) >= n]
    return *levels, f"{found[1]} {name[language]}"


# Countries: by their codes of two or three letters or by name, to parts of the world.


@cache
def _countries() -> dict[str, dict[str, str]]:
    return {
        _plain(name): row
        for row in _table("countries")
        for name in (row["alpha2"], row["alpha3"], row["en"], row["de"], *row["also"].split("|"))
        if name
    }


def _plain(name: str) -> str:
    """Return a name without case, accents, points and spaces."""
    import unicodedata

    text = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[^a-z0-9]", "", "".join(c for c in text if not unicodedata.combining(c)))


def _country(name: str) -> dict[str, str] | None:
    return _countries().get(_plain(name))


def above_country(label: str, language: str = "en") -> Above | None:
    """Return the part of the world and the continent of a country; None if it is none.

    >>> above_country("Deutschland"), above_country("US")
    (('Western Europe', 'Europe'), ('Northern America', 'Americas'))
    """
    found = _country(label)
    if found is None:
        return None
    return tuple(dict.fromkeys((found[f"part_{language}"], found[f"continent_{language}"])))


# Postcodes: how many first characters name an area depends on the country.

_FIVE, _FOUR = r"[0-9]{5}", r"[0-9]{4}"
_POSTCODES: dict[str, tuple[str, tuple[int, ...]]] = {
    "AT": (_FOUR, (3, 2, 1)),
    "AU": (_FOUR, (2, 1)),
    "BE": (_FOUR, (2, 1)),
    "BG": (_FOUR, (2, 1)),
    "BR": (r"[0-9]{8}", (5, 3, 1)),
    "CA": (r"(?:[A-Z][0-9]){3}", (3, 1)),
    "CH": (_FOUR, (3, 2, 1)),
    "CN": (r"[0-9]{6}", (4, 2)),
    "CZ": (_FIVE, (3, 1)),
    "DE": (_FIVE, (3, 2, 1)),
    "DK": (_FOUR, (2, 1)),
    "EE": (_FIVE, (2, 1)),
    "ES": (_FIVE, (3, 2)),
    "FI": (_FIVE, (3, 2, 1)),
    "FR": (_FIVE, (3, 2)),
    "GB": (r"[A-Z]{1,2}[0-9][0-9A-Z]?(?:[0-9][A-Z]{2})?", ()),
    "GR": (_FIVE, (3, 2)),
    "HR": (_FIVE, (2, 1)),
    "HU": (_FOUR, (2, 1)),
    "IE": (r"[A-Z][0-9][0-9W](?:[0-9A-Z]{4})?", (3, 1)),
    "IN": (r"[0-9]{6}", (3, 2, 1)),
    "IT": (_FIVE, (3, 2, 1)),
    "JP": (r"[0-9]{7}", (3, 2, 1)),
    "KR": (_FIVE, (3, 2)),
    "LI": (_FOUR, (3, 2)),
    "LT": (_FIVE, (2, 1)),
    "LU": (_FOUR, (2, 1)),
    "MX": (_FIVE, (3, 2)),
    "NL": (r"[0-9]{4}(?:[A-Z]{2})?", (4, 2, 1)),
    "NO": (_FOUR, (2, 1)),
    "NZ": (_FOUR, (2, 1)),
    "PL": (_FIVE, (3, 2, 1)),
    "PT": (r"[0-9]{4}(?:[0-9]{3})?", (4, 2, 1)),
    "RO": (r"[0-9]{6}", (2, 1)),
    "SE": (_FIVE, (3, 2, 1)),
    "SI": (_FOUR, (2, 1)),
    "SK": (_FIVE, (3, 1)),
    "TR": (_FIVE, (3, 2)),
    "US": (r"[0-9]{5}(?:[0-9]{4})?", (5, 3, 1)),
    "ZA": (_FOUR, (2, 1)),
}
_LOST = {"US": 2}
"""Zeros at the front that a column of numbers may have lost, if more than one."""


def above_postcode(label: str, country: str) -> Above | None:
    """Return the areas above a postcode of a country; None if it is none.

    >>> above_postcode("01067", "DE"), above_postcode("SW1A 1AA", "GB")
    (('010*', '01*', '0*'), ('SW1A*', 'SW*'))
    """
    pattern, keep = _POSTCODES[country]
    code = re.sub(r"[\s-]", "", label.upper())
    if pattern.startswith("[0-9]"):
        code = re.sub(r"^[A-Z]{1,3}(?=[0-9])", "", code)
        length = int(pattern[6])
        code = code.zfill(length) if length - _LOST.get(country, 1) <= len(code) else code
    if not re.fullmatch(pattern, code):
        return None
    if country == "GB":
        outward = code[:-3] if re.search(r"[0-9][A-Z]{2}$", code) and len(code) > 4 else code
        area = re.match(r"[A-Z]+", outward)
        assert area is not None
        return f"{outward}*", f"{area[0]}*"
    return tuple(f"{code[:n]}*" for n in keep)


# What rules of hierarchies are made of.

_READERS: dict[str, Callable[[str, str], Above | None]] = {
    "icd10": above_icd10,
    "atc": above_atc,
    "nuts": above_nuts,
    "country": above_country,
    "postcode": above_postcode,
}


def check_options(name: str, options: Mapping[str, Any]) -> str:
    """Return the language or the country that the codes of a rule are read by.

    Raises:
        OptionError: it is not known.
    """
    is_post = name == "postcode"
    option, known = ("country", tuple(_POSTCODES)) if is_post else ("language", LANGUAGES)
    given = options.get(option)
    value = given.upper() if isinstance(given, str) and name == "postcode" else given
    if value not in known:
        raise OptionError(
            "The rule {name!r} needs {option} as one of {known}, not {given!r}.{hint}",
            name=name,
            option=option,
            known=", ".join(known),
            given=given,
            hint=did_you_mean(str(value), known),
        )
    return str(value)


def share_known(name: str, labels: Iterable[str], **options: str) -> float:
    """Return how many of some different values are codes of a rule, as a share; 0 for none."""
    how = check_options(name, {"language": "en"} | options)
    read = [_READERS[name](label, how) is not None for label in labels]
    return sum(read) / len(read) if read else 0.0


def classified(
    name: str, values: Iterable[object], options: Mapping[str, Any], unknown_values: str
) -> Taxonomy:
    """Return the tree over codes.

    Args:
        name: of the rule.
        values: of the column.
        options: of the rule.
        unknown_values: ``root`` puts values that are no codes directly below the root.

    Raises:
        HierarchyError: some values are no codes; they are counted, not shown.
        OptionError: an option is out of range.
    """
    how = check_options(name, options)
    labels = list(dict.fromkeys(map(canonical_label, values)))
    above = {label: _READERS[name](label, how) for label in labels}
    unknown = sum(each is None for each in above.values())
    if unknown and unknown_values != "root":
        raise HierarchyError(
            "{unknown:,} of {n:,} different values are no codes of the rule {name!r}; correct "
            "them, make them missing, or keep them beside all groups with unknown_values='root' "
            "(--unknown-values root).",
            unknown=unknown,
            n=len(labels),
            name=name,
        )
    paths = [[label, *(each or ()), _ROOT] for label, each in above.items()]
    # from the root down, so that what is together stands together
    return grow(sorted(paths, key=lambda path: (path[:0:-1], path[0])))
