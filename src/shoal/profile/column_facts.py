"""What the name and the values of a column say, before anything is guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from shoal.io.vocabulary import Topic, hints_of, words_of
from shoal.messages import Message, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


# -- What the values of a column look like: e-mails, codes, dates, scales, free text ---------------
#
# Every test looks at whole columns of distinct values and returns a verdict; no value leaves.

_MOST = 0.9
"""Share of the values that must fit a pattern: real columns hold some dirt."""

# Ordered so that the strictest comes first. What each names is unique to a person or a device.
_PERSONAL = {
    Message("an e-mail address"): r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$",
    Message("a web address"): r"^(?:https?://|www\.)\S+$",
    Message("a UUID"): r"^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
    Message("an IP address"): r"^(?:[0-9]{1,3}\.){3}[0-9]{1,3}$",
    Message("an IBAN"): r"^[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?$",
    Message("a social security number"): r"^[0-9]{3}-[0-9]{2}-[0-9]{4}$",
    Message("a card number"): r"^(?:[0-9]{4}[ -]){3}[0-9]{4}$",
    Message(
        "a phone number"
    ): r"^(?:\+|00)[0-9][0-9 ()/.-]{6,18}$|^\(?0[0-9]{1,5}\)?[ /-][0-9 /-]{4,12}$"
    r"|^\(?[0-9]{3}\)?[ .-][0-9]{3}[ .-][0-9]{4}$",
}
_ATC = r"^[A-DG-HJL-NP-SV][0-9]{2}[A-Z]{2}[0-9]{2}$"
_COUNTRY = re.compile("countr|nation|staat|land|pays|pais|citizen|iso")
_MOST_COUNTRIES = 300
_ICD = r"^[A-TV-Z][0-9][0-9AB](?:\.?[0-9A-TV-Z]{1,4})?[+*!]?$"
_CODE = r"^[A-Za-z]{0,3}[ -]?[0-9]{2,}[A-Za-z0-9 .-]*$"
_BAND = re.compile(r"\D*?(-?\d+(?:[.,]\d+)*)(?:\D.*)?")

_DATE_FORMATS = (
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y.%m.%d",
    "%d.%m.%y",
    "%m/%d/%y",
    "%d/%m/%y",
)
_MOMENT_FORMATS = tuple(
    f"{day}{between}{time}"
    for day in ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
    for between in (" ", "T")
    for time in ("%H:%M:%S", "%H:%M")
)

# Scales from low to high. A column fits if all its values are on one scale.
_SCALES: tuple[tuple[str, ...], ...] = (
    (
        "strongly disagree",
        "disagree",
        "somewhat disagree",
        "neither agree nor disagree|neutral|undecided|neither",
        "somewhat agree",
        "agree",
        "strongly agree",
    ),
    ("completely disagree", "disagree", "neutral", "agree", "completely agree"),
    (
        "very dissatisfied",
        "dissatisfied",
        "neither satisfied nor dissatisfied|neutral",
        "satisfied",
        "very satisfied",
    ),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("never", "rarely|seldom", "sometimes|occasionally", "often|frequently", "always"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("very bad", "bad", "average|ok", "good", "very good"),
    ("not at all", "slightly|a little", "moderately|somewhat", "very|very much", "extremely"),
    ("very low", "low", "medium|moderate|normal", "high", "very high"),
    ("none", "mild", "moderate", "severe", "critical"),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("small", "medium", "large"),
    (
        "none|no formal education",
        "primary|primary school|elementary",
        "lower secondary",
        "secondary|secondary school|high school",
        "upper secondary",
        "vocational",
        "some college",
        "tertiary|college",
        "bachelor|bachelors|bachelor's degree",
        "master|masters|master's degree",
        "doctorate|phd",
    ),
    (
        "stimme gar nicht zu|trifft gar nicht zu",
        "stimme nicht zu|trifft eher nicht zu",
        "teils teils|teils/teils|neutral|weder noch",
        "stimme zu|trifft eher zu",
        "stimme voll zu|trifft voll zu",
    ),
    (
        "pas du tout d'accord",
        "pas d'accord",
        "neutre|ni d'accord ni pas d'accord",
        "d'accord",
        "tout a fait d'accord|tout à fait d'accord",
    ),
    (
        "totalmente en desacuerdo",
        "en desacuerdo",
        "neutral|ni de acuerdo ni en desacuerdo",
        "de acuerdo",
        "totalmente de acuerdo",
    ),
)

# The first steps of scales that say what somebody has, not what somebody thinks.
_NO_OPINIONS = frozenset({"very low", "xs", "small", "none|no formal education"})


def personal_pattern(values: pl.Series) -> str | None:
    """Return what kind of personal number or address the texts are, or None."""
    for what, pattern in _PERSONAL.items():
        if share(values, pattern) >= _MOST:
            return what
    return None


def looks_like_icd(values: pl.Series) -> bool:
    """Return whether the texts are ICD-10 codes; a letter and two digits alone are not enough."""
    if share(values, _ICD) < _MOST:
        return False
    return len(values) >= 3 and (share(values, r"\.") > 0.2 or share(values, r"^.{3}$") == 1)


def varied_icd(values: pl.Series) -> bool:
    """Return whether codes are ICD codes whatever their column is called.

    Rooms, cells and files are A91 and A143, too. Diagnoses come from several chapters, and some of
    them are written with a point.
    """
    chapters = values.str.slice(0, 1).n_unique()
    return chapters >= 4 and share(values, r"\.") > 0.2


def looks_like_code(values: pl.Series) -> bool:
    """Return whether the texts are codes whose first characters say the most."""
    if share(values, _CODE) < _MOST:
        return False
    return bool((values.str.len_chars() <= 12).all())


def is_free_text(values: pl.Series) -> bool:
    """Return whether the texts are sentences: several words, mostly different."""
    words = values.str.count_matches(r"\S+").mean()
    length = values.str.len_chars().mean()
    assert isinstance(words, float)
    assert isinstance(length, float)
    return words >= 5 or (words >= 3 and length >= 40)


def date_format(values: pl.Series) -> str | None:
    """Return the one format that reads every text as a date, or None.

    01/02/2024 may be read in two ways; the day comes first unless that fails.
    """
    if share(values, r"^[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{2,4}(?:[ T][0-9:]{4,8})?$") < 1:
        return None
    if share(values, ":") == 1:
        forms = (
            f for f in _MOMENT_FORMATS if not _misread(values.str.to_datetime(f, strict=False))
        )
        return next(forms, None)
    for form in _DATE_FORMATS:
        if not _misread(values.str.to_date(form, strict=False)):
            return form
    return None


def _misread(parsed: pl.Series) -> bool:
    # %Y also takes the year 24 for one of antiquity.
    return parsed.null_count() > 0 or not bool((parsed.dt.year() >= 1000).all())


def scale_order(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return the values from low to high if all of them are steps of one known scale.

    >>> scale_order(["Often", "Never", "Sometimes"])
    ('Never', 'Sometimes', 'Often')
    """
    found = _on_scale(values)
    return None if found is None else found[1]


def is_opinion(values: Sequence[str]) -> bool:
    """Return whether the values are steps of a scale on which people answer.

    >>> is_opinion(["Often", "Never", "Sometimes"]), is_opinion(["Primary", "Master", "PhD"])
    (True, False)
    """
    found = _on_scale(values)
    return found is not None and found[0][0] not in _NO_OPINIONS


def _on_scale(values: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the scale and the values in its order."""
    if not 3 <= len(values) <= 12:
        return None
    folded = {" ".join(value.casefold().split()): value for value in values}
    if len(folded) < len(values):
        return None
    for scale in _SCALES:
        place = {word: step for step, words in enumerate(scale) for word in words.split("|")}
        if all(word in place for word in folded):
            steps = [place[word] for word in folded]
            if len(set(steps)) == len(steps):
                ordered = sorted(folded, key=place.__getitem__)
                return scale, tuple(folded[word] for word in ordered)
    return None


def band_order(values: Sequence[str]) -> tuple[str, ...] | None:
    """Return bands such as ``18-24``, ``25-34``, ``65+`` from low to high, or None.

    >>> band_order(["65+", "<18", "18-24", "25-64"])
    ('<18', '18-24', '25-64', '65+')
    """
    if not 3 <= len(values) <= 40:
        return None
    keys: list[tuple[float, int, str]] = []
    bands = 0
    for value in values:
        match = _BAND.fullmatch(value.strip()) if len(value) <= 100 else None
        if match is None or match[1].count(".") > 1:
            return None
        number = float(match[1].replace(",", ""))
        below = bool(re.match(r"\s*(<|under|below|unter|up to|bis|moins)", value, re.IGNORECASE))
        bands += below or bool(
            re.search(r"\d\s*(-|\u2013|to|bis|à|a)\s*[^\d]{0,2}\d|\d\s*\+|>", value)
        )
        bands += bool(re.search(r"(over|above|more|older|über|plus)", value, re.IGNORECASE))
        keys.append((number, 0 if below else 1, value))
    if bands < len(values) * 0.8 or len({key[:2] for key in keys}) < len(keys):
        return None
    return tuple(value for _, _, value in sorted(keys))


def share(values: pl.Series, pattern: str) -> float:
    """Return the share of the texts in which a pattern is found."""
    if len(values) == 0:
        return 0.0
    return float(values.str.contains(pattern).mean() or 0.0)  # type: ignore[arg-type]  # of booleans


NEARLY_ALL = 0.9
"""Share of values of their own from which a column works like a name."""


_SCHOOL = re.compile(r"(?:(?:n|no|num|yrs?|years?)(?:_of)?_?)?school(?:ing)?(?:_?(?:yrs?|years?))?")
_FEWEST_GRADES, _MOST_YEARS = 6, 25


@dataclass(frozen=True)
class Facts:
    """What the name and the values of a column say; nothing here is a cell that leaves."""

    column: pl.Series
    topics: tuple[Topic, ...] = field(default=())

    @cached_property
    def filled(self) -> pl.Series:
        """The values that are not missing."""
        return self.column.drop_nulls()

    @cached_property
    def distinct(self) -> pl.Series:
        """The distinct values, sorted."""
        return self.filled.unique().sort()

    @property
    def n_filled(self) -> int:
        """How many rows have a value."""
        return len(self.filled)

    @property
    def n_values(self) -> int:
        """How many different values there are."""
        return len(self.distinct)

    @cached_property
    def alone(self) -> int:
        """How many rows have a value that no other row has."""
        if self.column.dtype.is_nested():
            return 0
        return int(self.filled.is_unique().sum())

    @cached_property
    def n_runs(self) -> int:
        """How often the value changes from one row to the next."""
        return int(self.filled.rle_id()[-1]) + 1 if self.n_filled else 0

    @property
    def nearly_unique(self) -> bool:
        """Whether (nearly) every row has a value of its own."""
        return self.n_values > max(10, NEARLY_ALL * self.n_filled)

    @cached_property
    def is_text(self) -> bool:
        """Whether the column holds text."""
        import polars as pl

        dtype = self.column.dtype
        return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)

    @cached_property
    def is_number(self) -> bool:
        """Whether the column holds numbers."""
        return self.column.dtype.is_numeric()

    @cached_property
    def texts(self) -> pl.Series:
        """The distinct values as text; empty if the column holds something else."""
        import polars as pl

        return self.distinct.cast(pl.String) if self.is_text else pl.Series([], dtype=pl.String)

    @cached_property
    def date_form(self) -> str | None:
        """The form of dates that are written as text."""
        return date_format(self.texts) if self.is_text else None

    @cached_property
    def is_date(self) -> bool:
        """Whether the values are days or points in time."""
        import polars as pl

        return self.column.dtype in (pl.Date, pl.Datetime) or self.date_form is not None

    @cached_property
    def is_flag(self) -> bool:
        """Whether there are two values at most: yes and no."""
        return self.n_values <= 2

    @cached_property
    def scale(self) -> tuple[str, ...] | None:
        """The steps of a known scale, or bands, from low to high."""
        if not self.is_text:
            return None
        texts = self.texts.to_list()
        return scale_order(texts) or band_order(texts)

    @cached_property
    def is_icd(self) -> bool:
        """Whether the values are ICD codes, and the name does not speak against it."""
        if not self.is_text or not looks_like_icd(self.texts):
            return False
        return self.about("diagnosis") is not None or varied_icd(self.texts)

    @cached_property
    def is_count(self) -> bool:
        """Whether whole numbers count something: the fewest are the most frequent."""
        if not self.column.dtype.is_integer() or self.is_flag or self.distinct[0] not in (0, 1):
            return False
        counts = self.filled.value_counts(sort=True)
        most, times = counts.row(0)
        return bool(most == self.distinct[0] and times >= 2 * self.n_filled / self.n_values)

    @cached_property
    def is_schooling(self) -> bool:
        """Whether what a name calls a school are years that were spent there."""
        named = _SCHOOL.fullmatch(words_of(self.column.name)) is not None
        if not named or not self.is_number or self.n_values < _FEWEST_GRADES:
            return False
        low, middle, high = (self.quantile(share) for share in (0, 0.5, 1))
        return low >= 0 and high <= _MOST_YEARS and middle >= high / 3

    @property
    def is_atc(self) -> bool:
        """Whether the values are codes of drugs: letter, two digits, two letters, two digits."""
        return self.is_text and len(self.texts) > 0 and share(self.texts, _ATC) >= _MOST

    @property
    def is_country(self) -> bool:
        """Whether the values are countries: by name, or as codes in a column that is about them.

        Codes of states such as CA, DE and IN are codes of countries, too.
        """
        if not self.is_text or not 3 <= self.n_values <= _MOST_COUNTRIES:
            return False
        from shoal.hierarchy.classifications import share_known

        named = share(self.texts, r"^.{4,}$") > 0.5
        if not named and not _COUNTRY.search(words_of(self.column.name)):
            return False
        return share_known("country", self.texts.to_list()) == 1

    @property
    def is_small_code(self) -> bool:
        """Whether the values are a few whole numbers, as for answers and categories."""
        return self.column.dtype.is_integer() and self.n_values <= 12

    @property
    def sentence(self) -> str:
        """How many values there are, for comments."""
        missing = len(self.column) - len(self.filled)
        shown = plural(
            "{n:,} distinct value in {rows:,} rows",
            "{n:,} distinct values in {rows:,} rows",
            self.n_values,
            rows=self.n_filled,
        )
        return Message("{values}, {n:,} missing", values=shown, n=missing) if missing else shown

    def about(self, *topics: Topic) -> Topic | None:
        """Return the first of these topics that the name speaks of."""
        return next((topic for topic in topics if topic in self.topics), None)

    def quantile(self, share: float) -> float:
        """Return a quantile of a column of numbers."""
        found = self.filled.quantile(share)
        return float(found) if found is not None else float("nan")


_SEXES = frozenset(
    (
        *("m", "f", "w", "d", "x", "h", "v", "k", "male", "female", "man", "woman"),
        *("männlich", "weiblich", "divers", "mann", "frau", "homme", "femme", "hombre"),
        *("mujer", "uomo", "donna", "maschio", "femmina", "masculino", "femenino"),
        *("feminino", "vrouw", "mannelijk", "vrouwelijk", "mężczyzna", "kobieta"),
        *("kvinna", "kvinde", "kvinne", "mand", "mann"),
    )
)
_OLDEST = 115


def topics_of_values(column: pl.Series) -> tuple[Topic, ...]:
    """Return what a column without a name is about, as far as its values show it.

    That of a file without a line of names is called by its place, as ``column_3``.
    """
    import polars as pl

    if not re.fullmatch(r"column_\d+", column.name):
        return ()
    values = column.drop_nulls().unique()
    if column.dtype == pl.String:
        texts = {each.casefold() for each in values.head(len(_SEXES)).to_list()}
        return ("sex",) if 2 <= len(texts) <= 4 and texts <= _SEXES else ()
    # Somebody else is as old; who is numbered has a number of his own.
    if column.dtype.is_integer() and 30 <= len(values) < 0.9 * len(column):
        low, high = int(values.min()), int(values.max())  # type: ignore[arg-type]  # whole numbers
        return ("age",) if 0 <= low <= 40 and 60 <= high <= _OLDEST else ()
    return ()


def facts_of(column: pl.Series) -> Facts:
    """Return the facts about one column."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    facts = Facts(column, hints_of(column.name) or topics_of_values(column))
    if facts.is_schooling:
        others = [topic for topic in facts.topics if topic not in ("place", "date")]
        return Facts(column, (*others, "education"))
    return facts
