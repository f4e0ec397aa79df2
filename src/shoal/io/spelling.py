"""How people write dates and numbers, and how the cells of a column are read by that.

A spelling is written as an example: ``dd.mm.yyyy`` or ``d. mmmm yyyy`` for dates, ``mm/yyyy`` for
months, ``1.234,5`` or ``12,5 %`` for numbers, ``text`` for what stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import DataError, OptionError
from shoal.io.columns import mark_codes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

TEXT = "text"
"""The spelling of a column that stays as it is written."""


class Found(NamedTuple):
    """How a column is written.

    Attributes:
        spelling: as a job says it.
        why: what tells it.
        doubt: what to ask, where it is not certain.
    """

    spelling: str
    why: str
    doubt: str | None = None


# -- dates -----------------------------------------------------------------------------------------

# English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Danish and Norwegian,
# Polish; without accents.
_MONTHS = """
january jan januar janner janvier janv enero ene gennaio gen janeiro januari stycznia styczen sty
february feb februar febr fevrier fevr fev febrero febbraio fevereiro februari lutego luty lut
march mar marz maerz mrz mars marzo marco maart mrt marts marca marzec
april apr avril avr abril abr aprile kwietnia kwiecien kwi
may mai mayo maggio mag maio mei maj maja
june jun juni juin junio giugno giu junho czerwca czerwiec cze
july jul juli juillet juil julio luglio lug julho lipca lipiec lip
august aug aout agosto ago augustus augusti sierpnia sierpien sie
september sep sept septembre septiembre set settembre setembro wrzesnia wrzesien wrz
october oct oktober okt octobre octubre ottobre ott outubro out pazdziernika pazdziernik paz
november nov novembre noviembre novembro listopada listopad lis
december dec dezember dez decembre diciembre dic dicembre dezembro grudnia grudzien gru
"""
MONTHS = {
    name: number
    for number, names in enumerate(_MONTHS.strip().splitlines(), 1)
    for name in names.split()
}
"""The number of each month, by its names and their short forms."""

_TOKEN = re.compile(r"yyyy|yy|mmmm|mmm|mm|dd|hh|ss|d|m|h|am|\+zz")
_WORD = r"(\p{L}+)\.?"
_SPACES = r"[ \x{00a0}\x{202f}]"
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].*)?$"


@dataclass(frozen=True)
class DateSpelling:
    """A date with its parts in one order.

    Attributes:
        form: its parts, as ``dd.mm.yyyy hh:mm``; ``+zz`` stands for a distance from UTC, which
            leaves the clock as it is written. Without a day it is a month, read as its first day.
        since: the first of the hundred years that years of two digits are among; None if they
            end with the present one.
    """

    form: str
    since: int | None = None

    def __str__(self) -> str:
        """Return it as a job file says it."""
        return self.form if self.since is None else f"{self.form} since {self.since}"

    @property
    def parts(self) -> list[str]:
        """Its parts in their order; of two ``mm``, the one behind the hours is minutes."""
        found: list[str] = []
        for part in _TOKEN.findall(self.form):
            found.append("minute" if part in ("mm", "m") and "h" in found else part[0])
        return ["word" if p == "m" and "mmm" in self.form else p for p in found]

    @property
    def pattern(self) -> str:
        """What a cell looks like, for polars; with a group for each part."""
        made, end = "", 0
        for name, each in zip(self.parts, _TOKEN.finditer(self.form), strict=True):
            made += _between(self.form[end : each.start()])
            made += "([0-9]{4})" if each[0] == "yyyy" else _PARTS[name]
            end = each.end()
        if not re.search("[^a-z]", self.form):  # nothing between them
            made = made.replace("{1,2}", "{2}")
        return f"(?i)^{made}$"

    def read(self, texts: pl.Series) -> pl.Series | None:
        """Return texts as dates; null where one is none, None if they cannot be read at all."""
        import polars as pl

        parts = texts.str.extract_groups(self.pattern).struct
        columns = {
            name: parts.field(field).cast(pl.String)
            for name, field in zip(self.parts, parts.fields, strict=True)
        }
        frame = pl.DataFrame(columns)
        year = pl.col("y").cast(pl.Int32)
        if "yyyy" not in self.form:
            since = self.since or datetime.now(UTC).year - 99
            year = since + (year - since) % 100
        month = pl.col("m").cast(pl.Int32) if "m" in columns else _month(columns["word"])
        day = [year, month, pl.col("d").cast(pl.Int32) if "d" in columns else pl.lit(1)]
        digits = [each.cast(pl.String).str.zfill(n) for each, n in zip(day, (4, 2, 2), strict=True)]
        text = pl.concat_str(digits, separator="-")
        if "h" not in columns:
            return frame.select(text.str.to_date("%Y-%m-%d", strict=False)).to_series()
        hour = pl.col("h").cast(pl.Int32)
        if "a" in columns:
            after_noon = pl.col("a").str.to_lowercase().str.starts_with("p")
            is_hour = hour.is_between(1, 12)
            hour = pl.when(is_hour).then(hour % 12 + 12 * after_noon.cast(pl.Int32))
        second = pl.col("s") if "s" in columns else pl.lit("00")
        clock = [hour.cast(pl.String).str.zfill(2), pl.col("minute"), second]
        text = pl.concat_str(text, pl.concat_str(clock, separator=":"), separator=" ")
        return frame.select(text.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False)).to_series()

    def write(self, days: pl.Series) -> pl.Series:
        """Return dates as texts that are read as they are."""
        names = zip(self.parts, _TOKEN.finditer(self.form), strict=True)
        written, end = "", 0
        for name, each in names:
            code = {"y": "%Y" if each[0] == "yyyy" else "%y", "word": "%b"}.get(name)
            half = "am" in self.form
            code = code or _CODES.get(name) or ("%I" if half else "%H")
            written += self.form[end : each.start()] + code
            end = each.end()
        return days.dt.strftime(written)


_CODES = {"d": "%d", "m": "%m", "minute": "%M", "s": "%S", "a": "%p", "+": "Z"}
_PARTS = {
    "d": "([0-9]{1,2})",
    "m": "([0-9]{1,2})",
    "y": "([0-9]{2})",
    "word": _WORD,
    "h": "([0-9]{1,2})",
    "minute": "([0-9]{2})",
    "s": r"([0-9]{2})(?:\.[0-9]{1,9})?",
    "a": "([ap])\\.?m\\.?",
    "+": "([+-][0-9]{2}:?[0-9]{2}|z)",
}


def _between(text: str) -> str:
    """Return the pattern of what stands between two parts of a date."""
    return "".join(f"{_SPACES}+" if each == " " else re.escape(each) for each in text)


def _month(words: pl.Series) -> pl.Expr:
    """Return the numbers of months by their names, whatever their letters' case and accents."""
    import polars as pl

    known = {each: MONTHS.get(plain_word(each)) for each in words.drop_nulls().unique().to_list()}
    return pl.col("word").replace_strict(known, default=None, return_dtype=pl.Int32)


def plain_word(word: str) -> str:
    """Return a word in small letters without accents."""
    spelled = unicodedata.normalize("NFKD", word.casefold().replace("ł", "l"))
    return "".join(each for each in spelled if not unicodedata.combining(each))


# -- numbers ---------------------------------------------------------------------------------------

_WORDS = ("EUR", "USD", "CHF", "GBP", "SEK", "NOK", "DKK", "PLN", "CZK", "kr", "zł", "Kč", "Fr")
_MINUS = "\u2212"
_SIGN = r"[-+\x{2212}]"
_MINUSES = r"[-\x{2212}]"
GROUPS = {" ": r"[ \x{00a0}\x{202f}\x{2009}]", "'": r"['\x{2019}]", ".": r"\.", ",": ","}
"""What stands between groups of three digits, and its pattern for polars."""
_USUAL = {".": ",", ",": ".", " ": ",", "'": "."}
"""The decimal sign beside a sign between groups, where none occurs."""
_EXAMPLES = (
    re.compile(r"[0-9]{1,3}(?P<group>[ .,'])[0-9]{3}(?P<decimal>(?!(?P=group))[.,])[0-9]+"),
    re.compile(r"[0-9]{1,3}(?P<group>[.,])[0-9]{3}(?:(?P=group)[0-9]{3})+"),
    re.compile(r"[0-9]{1,3}(?P<group>[ '])[0-9]{3}"),
    re.compile(r"[0-9]+(?P<decimal>[.,])(?:[0-9]{1,2}|[0-9]{4,})"),
    re.compile(r"[0-9]{4,}(?P<decimal>[.,])[0-9]+"),
    re.compile(r"[0-9]+"),
)


@dataclass(frozen=True)
class NumberSpelling:
    """A number with its signs.

    Attributes:
        decimal: what stands before its decimals; empty if it is whole.
        group: what may stand between groups of three digits; empty if nothing does.
        before: a unit that may stand in front of it.
        after: a unit that may stand behind it.
    """

    decimal: str = ""
    group: str = ""
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        """Return it as a job file says it: an example."""
        number = f"1{self.group}234{self.decimal}5" if self.decimal else "12"
        return " ".join(filter(None, (self.before, number, self.after)))

    @property
    def pattern(self) -> str:
        """What a cell looks like, for polars."""
        digits = "[0-9]+"
        if self.group:
            digits = f"(?:[0-9]{{1,3}}(?:{GROUPS[self.group]}[0-9]{{3}})+|[0-9]+)"
        decimals = f"(?:{re.escape(self.decimal)}[0-9]+)?" if self.decimal else ""
        before, after = (
            f"(?:{re.escape(each)})?[ \\x{{00a0}}\\x{{202f}}]*" if each else ""
            for each in (self.before, self.after)
        )
        if self.after:
            after = f"[ \\x{{00a0}}\\x{{202f}}]*(?:{re.escape(self.after)})?"
        return rf"^(\(?)({_SIGN}?){before}({_SIGN}?{digits}{decimals})({_MINUSES}?){after}(\)?)$"

    def read(self, texts: pl.Series) -> pl.Series | None:
        """Return texts as numbers; null where one is none, None if they cannot be read at all."""
        import polars as pl

        parts = texts.str.extract_groups(self.pattern).struct
        opened, sign, number, behind, closed = (parts.field(each) for each in parts.fields)
        if self.group:
            number = number.str.replace_all(GROUPS[self.group], "")
        number = number.str.replace_all("[+]", "").str.replace_all(_MINUS, "-", literal=True)
        if self.decimal == ",":
            number = number.str.replace(",", ".", literal=True)
        whole = not bool(number.str.contains(".", literal=True).any())
        values = number.cast(pl.Int64 if whole else pl.Float64, strict=False)
        # Bookkeeping writes a number below zero in brackets, or with the minus behind it.
        below = (sign.is_in(["-", _MINUS]), behind != "", opened != "")
        once = (sign != "").cast(int) + below[1].cast(int) + number.str.starts_with("-") <= 1
        fits = (opened == "") == (closed == "")
        frame = pl.DataFrame({"value": values, "minus": below[0] | below[1] | below[2]})
        signed = pl.when("minus").then(-pl.col("value")).otherwise("value")
        return frame.select(signed.alias(texts.name)).to_series().set(~(once & fits), None)

    def write(self, numbers: pl.Series) -> pl.Series:
        """Return numbers as texts that are read as they are."""
        import polars as pl

        texts = numbers.cast(pl.String)
        return texts.str.replace(".", ",", literal=True) if self.decimal == "," else texts


Spelling = DateSpelling | NumberSpelling


def parse_spelling(text: str) -> Spelling | None:
    """Return the spelling that an example shows; None for text that stays as it is.

    Raises:
        OptionError: it is none.

    >>> parse_spelling("1.234,5 €")
    NumberSpelling(decimal=',', group='.', before='', after='€')
    >>> str(parse_spelling("DD.MM.YY since 1930"))
    'dd.mm.yy since 1930'
    """
    plain = " ".join(text.split()).replace("\u2019", "'") if isinstance(text, str) else ""
    if plain.casefold() == TEXT:
        return None
    found = _date(plain.casefold()) or _number(plain)
    if found is None:
        raise OptionError(
            "{text!r} is no way to write dates or numbers; give an example such as dd.mm.yyyy, "
            "mm/dd/yy, d. mmmm yyyy, mm/yyyy, 1.234,5 or 12 %, with decimals where a sign stands "
            "between three digits, or the word text.",
            text=text,
        )
    return found


def _date(text: str) -> DateSpelling | None:
    form, since, year = text.partition(" since ")
    found = DateSpelling(form)
    if not re.fullmatch(r"(?:yyyy|yy|m{1,4}|dd?|hh?|ss|am|\+zz|[ .,:/t-])+", form):
        return None
    parts = [each.replace("word", "m") for each in found.parts]
    day, clock = parts[:3], parts[3:]
    known: tuple[list[str], ...] = ([], ["h", "minute"], ["h", "minute", "s"])
    known += tuple([*each, end] for each in known[1:] for end in "a+")
    two_digits = "yyyy" not in form
    is_month = sorted(parts) == ["m", "y"] and not two_digits
    if not is_month and (sorted(day) != ["d", "m", "y"] or clock not in known):
        return None
    if since and not (two_digits and re.fullmatch("[0-9]{4}", year)):
        return None
    return DateSpelling(form, int(year) if since else None)


def _number(text: str) -> NumberSpelling | None:
    match = re.fullmatch(
        r"(?P<before>[^0-9]*?) ?(?P<number>[0-9].*?[0-9]|[0-9]) ?(?P<after>[^0-9]*)", text
    )
    if match is None or not all(is_unit(match[each]) for each in ("before", "after")):
        return None
    for example in _EXAMPLES:
        if signs := example.fullmatch(match["number"]):
            group = signs.groupdict().get("group", "")
            decimal = signs.groupdict().get("decimal") or _USUAL.get(group, "")
            return NumberSpelling(decimal, group, match["before"], match["after"])
    return None


def is_unit(text: str) -> bool:
    """Return whether a text is a unit that may stand beside a number; nothing is one, too."""
    symbol = len(text) == 1 and (text in "%‰" or unicodedata.category(text) == "Sc")
    return not text or symbol or text.removesuffix(".") in _WORDS


def check_spelling(column: str, value: object) -> str:
    """Return how a column is written as a job says it, after a look at it.

    Raises:
        OptionError: it is no way to write dates or numbers.
    """
    try:
        found = parse_spelling(value)  # type: ignore[arg-type]  # whatever a user wrote
    except OptionError as error:
        raise OptionError("Column {column!r}: {error}", column=column, error=error) from None
    return TEXT if found is None else str(found)


# -- applying ------------------------------------------------------------------------------------


def read_spelled(frame: pl.DataFrame, spellings: Mapping[str, str]) -> pl.DataFrame:
    """Return a table with the columns of text read as it is said; those with a type stay.

    Args:
        frame: the table.
        spellings: how columns are written, by their names; others stay.

    Raises:
        DataError: cells of a column are written in another way.
    """
    return frame.with_columns(
        _read(frame.get_column(name), spelling)
        for name, spelling in spellings.items()
        if name in frame.columns
    )


def read_as_asked(frame: pl.DataFrame, details: Mapping[str, Any]) -> pl.DataFrame:
    """Return a table with codes of missing values and texts read as it is said.

    Args:
        frame: the table.
        details: what is said of single columns.
    """
    codes, spellings = details.get("missing_codes") or {}, details.get("read_as") or {}
    spelled = read_spelled(mark_codes(frame, codes), spellings)
    # Only now is it known that 99.999,00 is the code 99999.
    return mark_codes(spelled, {name: each for name, each in codes.items() if name in spellings})


def as_written(frame: pl.DataFrame, spellings: Mapping[str, str]) -> pl.DataFrame:
    """Return a table with its dates and numbers as texts, which `read_spelled` takes back."""
    changed = []
    for name, spelling in spellings.items():
        column = frame.get_column(name) if name in frame.columns else None
        asked = parse_spelling(spelling)
        if column is None or asked is None:
            continue
        dated = isinstance(asked, DateSpelling)
        if column.dtype.is_temporal() if dated else column.dtype.is_numeric():
            changed.append(asked.write(column))
    return frame.with_columns(changed)


def _read(column: pl.Series, spelling: str) -> pl.Series:
    import polars as pl

    from shoal.io.columns import is_text, through_distinct, trim

    asked = parse_spelling(spelling)
    if asked is None:
        return column if is_text(column.dtype) else column.cast(pl.String)
    if column.dtype.is_integer() and isinstance(asked, DateSpelling):
        column = column.cast(pl.String)  # yyyymmdd
    if not is_text(column.dtype):
        return column
    return through_distinct(column, lambda texts: _values(trim(texts), asked).alias(column.name))


def _values(texts: pl.Series, spelling: Spelling) -> pl.Series:
    from shoal.io.columns import type_column

    if isinstance(spelling, DateSpelling):
        plain = type_column(texts, numbers=False)
        if plain.dtype.is_temporal():
            return plain  # ISO, which has one reading only
    values = spelling.read(texts)
    wrong = texts.is_not_null() if values is None else texts.is_not_null() & values.is_null()
    if values is None or bool(wrong.any()):
        n_wrong = texts.filter(wrong).n_unique()
        raise DataError(
            "Column {name!r} is read as {spelling!r}, and {n_wrong:,} of its {n:,} different "
            "values are not written so; say how they are written with read_as (--read-as), 'text' "
            "if they stay as they are.",
            name=texts.name,
            spelling=str(spelling),
            n_wrong=n_wrong,
            n=texts.drop_nulls().n_unique(),
        )
    return values
