"""Sentences of the rooms below in the language of a page.

The rooms below speak English. What they say about a run again and again (advice, promises that were
checked, the time left) is a finite set of sentences with values in them: each is a text of the
message files with holes. A sentence that fits one of them is told in the language of the page;
any other, such as an error, is quoted in English and marked as that.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from shoal.messages.language import Language


def _(text: str) -> str:
    """Mark a text for the message files."""
    return text


UNITS = (_("day"), _("month"), _("quarter"), _("year"))

SENTENCES = (
    # what is changed, the beginning of a sentence of advice
    _("Dropping %(column)s"),
    _("Allowing 1 %% of the rows to be left out as outliers"),
    _("Allowing 1 %% more of the rows to be left out as outliers"),
    _("k = %(n1)s instead of %(n2)s"),
    _("Publishing %(column)s no finer than level %(n)s of its hierarchy"),
    _("Publishing %(column)s in steps of %(x)s"),
    _("Publishing %(column)s in steps of %(n)s neighbouring values"),
    _("Publishing %(column)s by %(unit)s"),
    _("A hierarchy for %(column)s (%(n)s values, put together by its first characters)"),
    _("A hierarchy for %(column)s (%(n)s values, put together by frequency)"),
    _("Promising %(n)s different values of %(column)s in every group"),
    _("Promising %(n)s different values of each sensitive column in every group"),
    _(
        "Promising that %(column)s is spread in every group as in the table, up to a distance of "
        "%(x)s"
    ),
    _(
        "Promising that each sensitive column is spread in every group as in the table, up to a "
        "distance of %(x)s"
    ),
    # what it does
    _("%(doing)s makes it worse: it costs %(x)s points more."),
    _("%(doing)s would not help: it gives back %(x)s points."),
    _("%(doing)s gives back %(x)s points of detail."),
    _(
        "%(doing)s gives back %(x)s points of detail, but raises the highest risk from %(share1)s "
        "to %(share2)s."
    ),
    _(
        "%(doing)s gives back %(x1)s points of detail in the other columns and costs %(x2)s points "
        "in %(column)s itself."
    ),
    _(
        "%(doing)s gives back %(x)s points of detail in the other columns and costs nothing in "
        "%(column)s itself."
    ),
    _("%(doing)s is not possible here: no grouping keeps it."),
    _("%(doing)s would cost next to nothing."),
    _("%(doing)s would cost %(x)s points of detail."),
    # what stands out
    _(
        "A few values far away stretch the range of %(column)s: its intervals are %(share1)s of "
        "the range but cover %(share2)s of the people."
    ),
    _(
        "A few values far away stretch the range of %(column)s: its intervals are %(share1)s of "
        "the range but cover %(share2)s of the rows."
    ),
    _(
        "%(advice)s With the scale 'rank' they would cover %(share)s, and cost %(x)s points in the "
        "other columns."
    ),
    _(
        "%(advice)s With the scale 'rank' they would cover %(share)s, and cost nothing in the "
        "other columns."
    ),
    _(
        "The loss counts levels, and the hierarchy of %(column)s has many values below each: its "
        "cells stand for %(share1)s of the values on average. With the measure 'lm', which counts "
        "values, they would stand for %(share2)s."
    ),
    _(
        "%(column)s is nearly all lost (%(share)s): what is left of it tells next to nothing. "
        "%(advice)s"
    ),
    _("Nothing that was tried brings it back."),
    _("%(columns)s follow from one another: each tells what the others tell. %(advice)s"),
    _("One of them is enough, though dropping another gives little back here."),
    _("No change is free. If %(column)s can be spared: %(advice)s"),
    _("Nothing that was tried makes a difference, and little is lost: leave it as it is."),
    _(
        "Nothing that was tried makes a difference: what is lost is the price of this k for so "
        "many quasi-identifiers."
    ),
    # promises that were checked
    _(
        "Holds: every row shares its quasi-identifiers with at least 1 other; the smallest group "
        "has %(n)s rows."
    ),
    _(
        "Holds: every row shares its quasi-identifiers with at least %(n1)s others; the smallest "
        "group has %(n2)s rows."
    ),
    _("Holds: every group holds at least %(n)s different people."),
    _(
        "Holds: every interval of %(column)s ends on lines of its grid (%(x)s), not on values of "
        "the table."
    ),
    _(
        "Holds: every interval of %(column)s ends on lines of its grid (%(unit)s), not on values "
        "of the table."
    ),
    _("Holds: every cell of %(column)s is a label at level %(n)s of its hierarchy or above."),
    _("Holds: every cell of %(column)s is made of whole steps of %(n)s of its order."),
    _("Holds: every person shares all groups, over %(n)s releases, with at least 1 other."),
    _("Holds: every person shares all groups, over %(n1)s releases, with at least %(n2)s others."),
    _(
        "Holds: whoever has all %(n1)s releases is left with at least %(n2)s values of %(column)s "
        "for everybody."
    ),
    _("Holds: %(promise)s, over %(n)s releases together."),
    _("Holds: %(promise)s; promised %(x1)s, measured %(x2)s."),
    _("Holds: %(promise)s; each value counted once for a person."),
    _("in every group, no sensitive value of %(column)s makes up more than %(x)s %% of the rows"),
    _("in every group, no sensitive value of %(column)s makes up more than %(x)s %% of the people"),
    _("in every group, no sensitive value of %(column)s makes up more than 1/%(x)s of the rows"),
    _("in every group, no sensitive value of %(column)s makes up more than 1/%(x)s of the people"),
    _("in every group, there are at least %(x)s different sensitive values of %(column)s"),
    _(
        "in every group, the sensitive values of %(column)s are as uncertain as %(x)s equally "
        "frequent ones"
    ),
    _(
        "in every group, the most frequent sensitive value of %(column)s has fewer rows than "
        "%(x1)s times all values from the number %(x2)s in frequency on"
    ),
    _(
        "in every group, the most frequent sensitive value of %(column)s has fewer people than "
        "%(x1)s times all values from the number %(x2)s in frequency on"
    ),
    _(
        "in every group, the sensitive values of %(column)s are distributed as in the whole table, "
        "up to a share of %(x)s that would have to be moved"
    ),
    _(
        "in every group, the sensitive values of %(column)s are distributed as in the whole table, "
        "up to a share of %(x)s that would have to be moved in the order of the values"
    ),
    _(
        "in every group, the sensitive values of %(column)s are distributed as in the whole table, "
        "up to a share of %(x)s that would have to be moved along the branches of their hierarchy"
    ),
    _(
        "in every group, each sensitive value of %(column)s is at most %(x)s times as frequent as "
        "in the whole table"
    ),
    _(
        "in every group, each sensitive value of %(column)s is at most %(x)s times as frequent as "
        "in the whole table (less for frequent ones)"
    ),
    _(
        "in every group, each sensitive value of %(column)s occurs, less than %(x1)s times as "
        "often as in the whole table and more than one part in %(x2)s of that"
    ),
    _(
        "in every group, there are at least %(n)s different sensitive numbers of %(column)s, and "
        "the largest is at least %(x)s above the smallest"
    ),
    _("every published row fits at least %(n)s people of the population"),
    _("the chance that a person of the population is in the table is at most %(x)s, for everybody"),
    _(
        "the chance that a person of the population is in the table is at least %(x1)s and at most "
        "%(x2)s, for everybody"
    ),
    _("whoever links every row with a person is right in at most %(x)s %% of the rows"),
    _("nobody is found with a chance of more than %(x)s %%"),
    _(
        "at most %(x)s %% of the rows are estimated to belong to people who are unique in the "
        "population"
    ),
    # the judgement
    _("Every promise holds, and nothing else was found open."),
    _("%(point)s 1 more point is open."),
    _("%(point)s %(n)s more points are open."),
    _(
        "The value of %(column)s of %(n1)s of %(n2)s people is known without finding them: "
        "everybody in their groups has the same."
    ),
    _(
        "The value of %(column)s of %(n1)s of %(n2)s rows is known without finding them: "
        "everybody in their groups has the same."
    ),
    _("Columns that are published as they are (%(list)s) single out %(many)s."),
    _("Columns that are published as they are (%(list)s and %(n)s more) single out %(many)s."),
    _("Column %(column)s, which is published as it is, singles out %(many)s."),
    _("%(n1)s of %(n2)s people"),
    _("%(n1)s of %(n2)s rows"),
    _("%(share)s or more of the rows"),
    _(
        "%(sign)s: people seem to have several rows, so a group of %(n1)s rows may be fewer than "
        "%(n2)s people."
    ),
    _("Column %(column)s has %(n1)s different values in %(n2)s rows"),
    _("%(n1)s of %(n2)s rows are there more than once"),
    _("%(column)s runs on from row to row where %(list)s stay the same, as in a panel"),
    _(
        "%(column)s runs on from row to row where %(list)s and %(n)s more stay the same, as in a "
        "panel"
    ),
    _("Column %(column)s seems to name people and is published as it is."),
    _(
        "Nearly every row has a value of its own in column %(column)s, which is published as it "
        "is: who knows it about a person finds the row."
    ),
    _(
        "Column %(column)s is published as it is and goes together with %(list)s: it tells what is "
        "generalised there."
    ),
    _(
        "Column %(column)s is published as it is and goes together with %(list)s and %(n)s more: "
        "it tells what is generalised there."
    ),
    _(
        "Pseudonyms are published: k holds for each row alone, and fewer people than k may fit all "
        "rows of a person."
    ),
    _("A promise of a release that is out is given up: %(label)s."),
    _(
        "Fewer than %(n)s people of an earlier group are missing now, and its others are not: "
        "their earlier rows can be found."
    ),
    _(
        "Fewer than %(n1)s people of an earlier group are missing now, and its others are not: "
        "whoever has both releases and knows who is missing finds their earlier rows among fewer "
        "than %(n2)s."
    ),
    # how long it takes
    _("%(rate)s rows/s"),
    _("%(rate)s rows/s, %(clock)s left"),
)

_AND = _("%(columns)s and %(column)s")
_NAME = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_HOLES = {
    "column": _NAME,
    "columns": rf"{_NAME}(?:, {_NAME})* and {_NAME}",
    "list": rf"{_NAME}(?:, {_NAME})*",
    "label": r".+",
    "n": r"\d[\d,]*",
    "x": r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|inf",
    "share": r"\d[\d,]*(?:\.\d+)?%",
    "unit": "|".join(UNITS),
    "rate": r"\d+(?:\.\d+)?(?: [Mk])?",
    "clock": r"\d+(?::\d\d)+",
}
"""What stands in a hole, by its name without digits; in any other, a sentence of its own."""


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((text, _pattern(text)) for text in SENTENCES)


def _pattern(text: str) -> re.Pattern[str]:
    parts = re.split(r"%\((\w+)\)s", text)
    for place, part in enumerate(parts):
        if place % 2:
            inside = _HOLES.get(part.rstrip("0123456789"), ".+?")
            parts[place] = f"(?P<{part}>{inside})"
        else:
            parts[place] = re.escape(part.replace("%%", "%"))
    return re.compile("".join(parts), re.DOTALL)


def retell(words: Language, text: str) -> str | None:
    """Return a sentence of the rooms below in the language of a page; None if it has none."""
    if words.language == "en":
        return text
    for known, pattern in _patterns():
        found = pattern.fullmatch(text)
        if found is None:
            continue
        filled = {hole: _filled(words, hole, value) for hole, value in found.groupdict().items()}
        if None not in filled.values():
            return words(known) % filled
    return None


def _filled(words: Language, hole: str, value: str) -> str | None:
    kind = hole.rstrip("0123456789")
    if kind in ("column", "list", "label", "clock"):
        return value
    if kind == "columns":
        first, _, last = value.rpartition(" and ")
        return words(_AND) % {"columns": first, "column": last}
    if kind == "unit":
        return words(value)
    if kind == "rate":
        number, _, unit = value.partition(" ")
        return f"{_number(words, number)} {unit}".rstrip()
    if kind == "share":
        return words("{n}%").replace("{n}", _number(words, value[:-1]))
    return _number(words, value) if kind in ("n", "x") else retell(words, value)


def _number(words: Language, text: str) -> str:
    if "e" in text or text == "inf":
        return text
    return words.number(float(text.replace(",", "")), len(text.partition(".")[2]))


def say(words: Language, text: str) -> Markup:
    """Return a sentence of the rooms below for a page, with its language."""
    told = retell(words, text)
    language = "en" if told is None else words.language
    return Markup('<span lang="{}">{}</span>').format(language, text if told is None else told)


def quote(words: Language, text: str) -> Markup:
    """Return an error or a note of the rooms below for a page.

    What has no translation is introduced in the language of the page and marked as English, so
    that a screen reader reads it as that.
    """
    told = retell(words, text)
    if told is not None:
        return escape(told)
    return Markup('{} <q lang="en">{}</q>').format(lead_in(words), text)


def lead_in(words: Language) -> str:
    """Return what introduces an English sentence; nothing on an English page."""
    return "" if words.language == "en" else words("Shoal says in English:")
