"""Which columns of text hold dates and numbers as a country writes them, found from all cells.

What every cell of a column says in one way only is read so. Where two ways fit all cells, other
columns of the table decide; where they do not, the usual way is taken, which is a doubt that
people are told. No sentence shows a cell.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.io.columns import is_text, through_distinct, trim
from shoal.io.spelling import GROUPS, TEXT, DateSpelling, Found, NumberSpelling, Spelling, is_unit
from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import polars as pl

    from shoal.io.overwrite_guard import HowRead


class _Fits(NamedTuple):
    """The ways in which all cells of a column can be read.

    Attributes:
        ways: the usual one first.
        why: what tells it, if there is one only.
        doubtful: whether the first one is not certain, where nothing else decides.
    """

    ways: tuple[Spelling, ...]
    why: str
    doubtful: bool = True


_NARROW = str.maketrans("\xa0\u202f", "  ")
_CLOCK = (
    r"(?:(?P<gap>, | |T|:)(?P<clock>\d{1,2}:\d{2}(?P<s>:\d{2}(?:\.\d{1,9})?)?)"
    r"(?:(?P<a> [ap]\.?m\.?)|(?P<zone>Z|[+-]\d{2}:?\d{2}))?)?"
)
_WORD = r"[^\W\d_]{3,12}"
_DATES = tuple(
    re.compile(pattern + _CLOCK, re.IGNORECASE)
    for pattern in (
        r"(?P<first>\d{1,4})(?P<sep>[./-] ?)\d{1,2}(?P=sep)(?P<year>\d{4}|\d{1,2})",
        rf"\d\d?(?P<sep>\. ?|[ /-])(?P<month>{_WORD})\.?(?P<sep2>,? |[/-])(?P<year>\d{{2,4}})",
        rf"\d\d(?P<sep>)(?P<month>{_WORD})(?P<sep2>)(?P<year>\d{{4}}|\d{{2}})",
        rf"(?P<month>{_WORD})\.? \d{{1,2}}(?P<sep2>,? )(?P<year>\d{{4}})",
    )
)
_MONTHS = tuple(
    re.compile(pattern)
    for pattern in (
        r"\d{1,2}(?P<sep>[./-])(?P<year>\d{4})",
        r"(?P<first>\d{4})(?P<sep>[./-])\d{2}",
        rf"(?P<month>{_WORD})\.?(?P<sep>[ /-])(?P<year>\d{{4}})",
    )
)
_HOUR = "(?:[01]?[0-9]|2[0-3])"
_TIMES = (
    rf"(?i)^{_HOUR}(?::[0-5][0-9]){{1,2}}(?: ?(?:uhr|h|[ap]\.?m\.?))?$"
    rf"|^{_HOUR}(?:[.][0-5][0-9])? ?(?:uhr|h)$|^{_HOUR} ?[ap]\.?m\.?$|^{_HOUR}h[0-5][0-9]$"
)
_CLOCK_TIME = re.compile(r"\s*\d{1,2}(?:[:.h]\d\d|\s?(?:uhr|h|[ap]\.?m))", re.IGNORECASE)
_DIGIT = r"[0-9]+(?:[.,][0-9]+)?(?: ?%)?"
_BOUNDS = (
    r"(?i)^(?:[<>\x{2264}\x{2265}]=?|=[<>]|unter|\x{fc}ber|mindestens|h\x{f6}chstens|ab|bis|under"
    r"|over|below|above|at least|at most|up to|less than|more than|moins de|plus de|menos de"
    r"|m\x{e1}s de)"
    rf" ?{_DIGIT}$|^{_DIGIT} ?(?:\+|(?:or|and|und|oder|et|ou|y|o|e) \p{{L}}+)$"
)
_SCALE = 12  # different values; with fewer, those such as 3+ are steps of a scale
_NUMBER = re.compile(
    r"\(?(?P<before>[^\d\s(+\u2212-]*)\s?[+\u2212-]?\d(?:[\d.,'\u2019\u2009 ]*\d)?"
    r"[\u2212-]?\s?(?P<after>[^\d()\u2212-]*)\)?"
)
_LONG_WORD = r"\p{L}{5}"
_PLAIN = str(NumberSpelling("."))
_TOO_LONG = 15  # digits that a float holds
_YEARS = (1880, 2100)  # of numbers that are days
_FEW = 10  # whole numbers that may look like dates by chance
_DIGITS = ("yyyymmdd", "ddmmyyyy", "mmddyyyy")
_MOSTLY = 0.8  # of the different texts of a column that looks like dates
_FEWEST = 2
_SIGN = r"[-+\x{2212}]"
_LOOKED_AT = 50


def recognise(
    frame: pl.DataFrame,
    *,
    but: Collection[str] = (),
    lenient: Collection[str] = (),
    decimal: str | None = None,
    delimiter: str | None = None,
    commas: Collection[str] = (),
) -> tuple[pl.DataFrame, dict[str, Found]]:
    """Return a table in which text is dates and numbers where it can be, and what was found.

    Args:
        frame: the table; columns with a type stay as they are.
        but: columns of which somebody has said how they are read.
        lenient: columns in which two texts of one number are the same.
        decimal: the sign before decimals, where somebody has said it.
        delimiter: between the cells of the file, if it is text.
        commas: columns of numbers that had a comma before decimals.
    """
    different = {c.name: _different(c) for c in frame.get_columns() if c.name not in but}
    texts = {name: values for name, values in different.items() if values is not None}
    said = decimal or ("." if delimiter == "," else None)
    fits: dict[str, _Fits] = {}
    for name, values in texts.items():
        each = _dates(values) or _numbers(values, said, delimiter, lenient=name in lenient)
        if each is not None:
            fits[name] = each
    certain = [each.ways[0] for each in fits.values() if len(each.ways) == 1]
    if delimiter is not None:
        points = [c.name for c in frame.get_columns() if c.dtype.is_float()]
        certain += [NumberSpelling("," if name in commas else ".") for name in points]
    decided = {name: _decided(each, certain) for name, each in fits.items()}
    frame = frame.with_columns(
        _as(frame.get_column(name), way) for name, (way, _) in decided.items()
    )
    found = {
        name: _in_words(frame.get_column(name), way, fits[name], doubt=doubt)
        for name, (way, doubt) in decided.items()
    }
    for name in [each for each in texts if each not in fits]:
        values = texts[name]
        doubted = _times(values) or _bounded_numbers(values) or _mostly_dates(values)
        if doubted is not None:
            found[name] = doubted
    return frame, found


def _different(column: pl.Series) -> pl.Series | None:
    """Return the different texts of a column that begins like a date or a number."""
    import polars as pl

    if column.dtype.is_integer():
        ends = column.min(), column.max()
        may_be = isinstance(ends[0], int) and ends[0] > 19000000 and ends[1] < 21010000  # type: ignore[operator]
        numbers = column.drop_nulls().unique() if may_be else None
        return None if numbers is None or len(numbers) < _FEW else numbers.cast(pl.String).sort()
    if not is_text(column.dtype):
        return None
    place = column.is_not_null().arg_max()
    if place is None or column[place] is None:
        return None
    starts = column.slice(place, _FEW).drop_nulls().cast(pl.String).to_list()
    known = (_number, _date, _month, _CLOCK_TIME.match)
    if not any(look(each) for each in starts for look in known):
        return None
    return trim(column.unique().drop_nulls().cast(pl.String)).unique().sort()


def _date(text: str) -> re.Match[str] | None:
    plain = text.strip().translate(_NARROW)
    return next((match for each in _DATES if (match := each.fullmatch(plain))), None)


def _month(text: str) -> re.Match[str] | None:
    return next((match for each in _MONTHS if (match := each.fullmatch(text.strip()))), None)


def _number(text: str) -> re.Match[str] | None:
    match = _NUMBER.fullmatch(text.strip().translate(_NARROW))
    return match if match and is_unit(match["before"]) and is_unit(match["after"]) else None


# -- dates -----------------------------------------------------------------------------------------


def _dates(texts: pl.Series) -> _Fits | None:
    if not texts.len():
        return None
    if texts.str.contains("^[0-9]+$").all():
        if len(texts) < _FEW or not texts.str.len_bytes().eq(8).all():
            return None
        ways = tuple(way for form in _DIGITS if _are_days(way := DateSpelling(form), texts))
        return _Fits(ways[:2], Message("all its whole numbers are days")) if ways else None
    match = _date(texts[0])
    if match is None:
        return _months(texts)
    forms = _forms_of(match, texts)
    ways = tuple(way for form in forms if _reads(way := _dated(form), texts))
    return _Fits(ways[:2], _why_date(ways, forms)) if ways else None


def _months(texts: pl.Series) -> _Fits | None:
    match = _month(texts[0])
    if match is None:
        return None
    said, sep = match.groupdict(), match["sep"]
    form = f"yyyy{sep}mm" if said.get("first") else f"mm{sep}yyyy"
    if said.get("month") is not None:
        form = f"{'mmmm' if texts.str.contains(_LONG_WORD).any() else 'mmm'}{sep}yyyy"
    way = DateSpelling(form)
    if len(texts) < _FEWEST or not _are_days(way, texts) or _are_school_years(texts):
        return None
    return _Fits((way,), Message("its cells are months, each read as its first day"))


def _are_school_years(texts: pl.Series) -> bool:
    """Tell whether each text is a year and the next one: 2009-10, 2010/11."""
    parts = texts.str.extract_groups("^[0-9]{2}([0-9]{2})[./-]([0-9]{2})$").struct
    first, second = (parts.field(each).cast(int) for each in parts.fields)
    return bool(((first + 1) % 100 == second).all()) and first.null_count() == 0


def _are_days(way: DateSpelling, texts: pl.Series) -> bool:
    """Tell whether whole numbers are days on which people live."""
    days = way.read(texts)
    return (
        days is not None
        and days.null_count() == 0
        and bool(days.dt.year().is_between(*_YEARS).all())
    )


def _forms_of(match: re.Match[str], texts: pl.Series) -> list[str]:
    long = bool(texts.str.contains(_LONG_WORD).any())
    return [f"{form}{_clock(match)}" for form in _forms(match, long=long)]


def _dated(form: str) -> DateSpelling:
    return DateSpelling(form, None if "yyyy" in form else datetime.now(UTC).year - 99)


def are_mostly_values(texts: pl.Series) -> bool:
    """Tell whether nearly all of these different texts look like dates or numbers."""
    spread = texts.gather_every(max(len(texts) // _LOOKED_AT, 1))
    values = [each for each in spread if _number(each) or _date(each)]
    return len(values) >= max(_MOSTLY * len(spread), _FEWEST)


def _times(texts: pl.Series) -> Found | None:
    """Return what is said about a column of times of the day."""
    if len(texts) < _FEWEST or not texts.str.contains(_TIMES).all():
        return None
    return Found(
        TEXT,
        Message("its cells are times of the day"),
        Message(
            "Column {name!r} holds times of the day or durations, which have no order here, so all "
            "of it stays text; put the hour or the minutes in their place, as whole numbers, or "
            "say --read-as {name}=text.",
            name=texts.name,
        ),
    )


def _bounded_numbers(texts: pl.Series) -> Found | None:
    """Return what is said about a column of numbers, some of which are bounds such as ``<5``."""
    if len(texts) <= _SCALE:
        return None
    bounds = texts.str.contains(_BOUNDS)
    numbers = texts.filter(~bounds)
    if not bounds.any() or len(numbers) < _MOSTLY * len(texts):
        return None
    if not numbers.str.contains(rf"^{_SIGN}?[0-9](?:[0-9.,' ]*[0-9])?(?: ?%)?$").all():
        return None
    return Found(
        TEXT,
        Message("not all of its cells are numbers"),
        Message(
            "Column {name!r} looks like numbers, but {n_bounds:,} of its {n:,} different values "
            "are bounds (below, above or at least a number), so all of it stays text; put numbers "
            "in their place, say that they are missing with --missing-codes (missing_codes in a "
            "job), or say --read-as {name}=text.",
            name=texts.name,
            n_bounds=int(bounds.sum()),
            n=len(texts),
        ),
    )


def _mostly_dates(texts: pl.Series) -> Found | None:
    """Return what is said about a column of which most cells are dates, but not all."""
    spread = texts.gather_every(max(len(texts) // _LOOKED_AT, 1))
    matches = filter(None, (_date(each) for each in spread))
    forms = dict.fromkeys(form for match in matches for form in _forms_of(match, texts))
    if not forms:
        return None
    shapes = "|".join(_dated(form).pattern for form in forms)
    if texts.str.contains(shapes).sum() < max(_MOSTLY * len(texts), _FEWEST):
        return None
    read = {form: _dated(form).read(texts) for form in forms}
    right = {form: 0 if days is None else days.count() for form, days in read.items()}
    form = max(forms, key=right.__getitem__)
    return Found(
        TEXT,
        Message("not all of its cells are days in this form"),
        Message(
            "Column {name!r} looks like dates written as {form}, but {n_wrong:,} of its {n:,} "
            "different values are no such dates, so all of it stays text; put them right, say that "
            "they are missing with --missing-codes (missing_codes in a job), or say --read-as "
            "{name}=text.",
            name=texts.name,
            form=form,
            n_wrong=len(texts) - right[form],
            n=len(texts),
        ),
    )


def _forms(match: re.Match[str], *, long: bool) -> list[str]:
    """Return the forms that a date could have, the usual one first; months may have long names."""
    said = match.groupdict()
    year = "yyyy" if len(said["year"]) == 4 else "yy"
    if said.get("month") is not None:
        month = "mmmm" if long else "mmm"
        if "sep" not in said:
            return [f"{month} d{said['sep2']}{year}"]
        return [f"{'d' if said['sep'] else 'dd'}{said['sep']}{month}{said['sep2']}{year}"]
    sep = said["sep"]
    if len(said["first"]) == 4:
        return [f"yyyy{sep}mm{sep}dd"]
    forms = [f"dd{sep}mm{sep}{year}"]
    if sep[0] != ".":
        forms.append(f"mm{sep}dd{sep}{year}")
        if year == "yy":
            forms.append(f"yy{sep}mm{sep}dd")
    return forms


def _clock(match: re.Match[str]) -> str:
    if match["clock"] is None:
        return ""
    seconds, half = ":ss" if match["s"] else "", " am" if match["a"] else ""
    zone = "+zz" if match["zone"] else ""
    return f"{match['gap'].lower()}hh:mm{seconds}{half}{zone}"


def _reads(spelling: Spelling, texts: pl.Series) -> bool:
    values = spelling.read(texts)
    return values is not None and values.null_count() == 0


def _why_date(ways: tuple[DateSpelling, ...], forms: list[str]) -> str:
    form = ways[0].form
    if form.endswith("+zz"):
        return Message("each with its distance from UTC, of which only the clock is taken")
    if len(forms) == 1 or len(ways) > 1:
        return Message("all its cells are days in this form")
    if form == forms[0]:
        return Message("day first: a first number above 12 occurs")
    if form.startswith("mm"):
        return Message("month first: a second number above 12 occurs")
    return Message("year first: a first number above 31 occurs")


# -- numbers ---------------------------------------------------------------------------------------


def _numbers(
    texts: pl.Series, decimal: str | None, delimiter: str | None, *, lenient: bool
) -> _Fits | None:
    """Return how numbers are written.

    Args:
        texts: all different, without blanks at their ends.
        decimal: the sign before decimals, if it is known.
        delimiter: between the cells of the file.
        lenient: whether two of them may be one number.
    """
    match = _number(texts[0])
    if match is None:
        return None
    unit = match["before"], match["after"]
    digits = texts.str.count_matches("[0-9]")
    if digits.max() > _TOO_LONG:  # type: ignore[operator]
        return None
    for text in filter(None, unit):
        if not texts.str.contains(text, literal=True).all():
            return None
    signs = {s for s, each in GROUPS.items() if texts.str.contains(f"[0-9]{each}[0-9]").any()}
    ways = []
    for point, group in _signs(signs, decimal, alone=not any(unit)):
        way = NumberSpelling(point, group, *unit)
        if (point != _other(decimal) or group) and _is_exact(way, texts, lenient=lenient):
            ways.append(way)
    spaced = ways and ways[0].group not in ("", ".", ",") and not (signs & {".", ","})
    if not ways or (spaced and not any(unit) and digits.n_unique() == 1):
        return None  # digits in threes, all of one length, are a number of somebody
    if decimal is not None and ways[0].decimal == decimal:
        ways = ways[:1]
    mixed = not texts.str.contains("[.,]").all()
    if any(unit) or mixed:
        ways.reverse()  # who writes three decimals writes them always; money has none
    money = any(each not in ("", "%", "\u2030") for each in unit)
    doubtful = not money and (any(unit) or mixed or (delimiter == ";" and "." in signs))
    return _Fits(tuple(ways), _why_number(ways[0], signs), doubtful=doubtful)


def _signs(signs: set[str], decimal: str | None, *, alone: bool) -> list[tuple[str, str]]:
    """Return what could stand before decimals and between three digits, the usual one first."""
    points, gaps = signs & {".", ","}, signs - {".", ","}
    if len(gaps) > 1 or (gaps and len(points) > 1):
        return []
    if gaps:
        gap = gaps.pop()
        return [(points.pop() if points else "." if gap == "'" else ",", gap)]
    if not points:
        return [] if alone else [(decimal or "", "")]
    if len(points) == 2:
        return [(",", "."), (".", ",")]
    point = points.pop()
    both = [(point, ""), (_other(point) or "", point)]
    # Where a comma separates cells, or somebody has said so, the sign is not before decimals.
    return both[1:] if decimal == _other(point) else both


def _other(point: str | None) -> str | None:
    return {".": ",", ",": "."}.get(point or "")


def _is_exact(way: NumberSpelling, texts: pl.Series, *, lenient: bool) -> bool:
    """Tell whether texts are numbers in one way, and as many numbers as they are texts."""
    between = f"(?:{GROUPS[way.group]})?" if way.group else ""
    if texts.str.contains(f"^[^0-9]*0{between}[0-9]").any():
        return False  # a code with a zero in front
    values = way.read(texts)
    if values is None or values.null_count():
        return False
    return lenient or values.n_unique() == len(texts)


def _why_number(way: NumberSpelling, signs: set[str]) -> str:
    if len(signs) > 1:
        return Message("two signs occur in numbers, and the last is before decimals")
    if way.group and signs:
        return Message("its numbers have a sign between every three digits")
    if signs:
        return Message("its numbers have decimals")
    return Message("its numbers have a unit")


# -- deciding --------------------------------------------------------------------------------------


def _decided(fits: _Fits, certain: Collection[Spelling]) -> tuple[Spelling, bool]:
    """Return how a column is read, and whether that is in doubt.

    Args:
        fits: the ways in which all its cells can be read.
        certain: how other columns are written, for certain.
    """
    first = fits.ways[0]
    if len(fits.ways) == 1:
        return first, False
    for way in fits.ways:
        others = [other for other in fits.ways if other != way]
        if any(_alike(way, each) for each in certain) and not any(
            _alike(other, each) for other in others for each in certain
        ):
            return way, False
    return first, fits.doubtful


def _alike(one: Spelling, other: Spelling) -> bool:
    """Tell whether a country that writes the one writes the other."""
    if isinstance(one, DateSpelling) and isinstance(other, DateSpelling):
        return "d" in other.form and one.form[:3] == other.form[:3]
    numbers = isinstance(one, NumberSpelling) and isinstance(other, NumberSpelling)
    return numbers and one.decimal == other.decimal != ""  # type: ignore[union-attr]


def _as(column: pl.Series, way: Spelling) -> pl.Series:
    import polars as pl

    if column.dtype.is_integer():
        column = column.cast(pl.String)

    def read(texts: pl.Series) -> pl.Series:
        values = way.read(trim(texts))
        assert values is not None
        return values.alias(column.name)

    return through_distinct(column, read)


def _in_words(column: pl.Series, way: Spelling, fits: _Fits, *, doubt: bool) -> Found:
    """Return what is told about a column that is read in some way."""
    why, asked = fits.why, None
    if len(fits.ways) > 1:
        if way != fits.ways[0]:
            why = Message("as other columns of the table are written")
        if doubt:
            why = Message("the usual way; its cells do not tell")
            asked = Message(
                "Column {name!r} was read as {way}, and all its cells could also be {other}; say "
                "which with --read-as (read_as in a job).",
                name=column.name,
                way=str(way),
                other=str(next(each for each in fits.ways if each != way)),
            )
    if isinstance(way, DateSpelling) and way.since is not None:
        last = way.since + 99
        why = Message(
            "{why}; years of two digits are {since} to {last}", why=why, since=way.since, last=last
        )
        today = datetime.now(UTC).date()
        latest = column.max()
        if latest is not None and str(latest)[:10] > today.isoformat():
            asked = asked or Message(
                "Column {name!r} has years of two digits, which were read as {since} to {last}, "
                "and some of its days are in the future; say which years they are, as in --read-as "
                "{name}={example!r}.",
                name=column.name,
                since=way.since,
                last=last,
                example=f"{way.form} since {way.since - 1}",
            )
    return Found(str(way), why, asked)


def recognise_noted(frame: pl.DataFrame, how: HowRead, *, name: str, **said: Any) -> pl.DataFrame:
    """Return a table as `recognise` does, and remember what was found.

    Args:
        frame: the table.
        how: how it was read; told what was found.
        name: of the file.
        said: as for `recognise`.
    """
    frame, found = recognise(frame, delimiter=how.delimiter, **said)
    found = {name: each for name, each in found.items() if each.spelling != _PLAIN or each.doubt}
    if not found:
        return frame
    settled = [how.spelled[column].doubt for column in found if column in how.spelled]
    how.doubts[:] = [each for each in how.doubts if each not in settled]
    how.spelled |= found
    how.notes += notes_on(found, name=name)
    how.doubts += [each.doubt for each in found.values() if each.doubt is not None]
    return frame


def notes_on(found: Mapping[str, Found], *, name: str) -> list[str]:
    """Return what people should know about columns that were read so, in sentences."""
    alike: dict[Found, list[str]] = {}
    for column, each in found.items():
        if each.doubt is None and each.why:
            alike.setdefault(each, []).append(column)
    return [
        Message(
            "In {name} the dates or numbers of {columns} were read as {spelling}: {why}. If that "
            "is wrong, say --read-as.",
            name=name,
            columns=", ".join(map(repr, columns)),
            spelling=each.spelling,
            why=each.why,
        )
        for each, columns in alike.items()
    ]
