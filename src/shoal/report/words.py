"""The report in plain words: what was promised, whether it holds, what remains, what was lost."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from shoal.publish.judgement import AMBER, GREEN, RED
from shoal.report.svg import per_cent, whole_per_cent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.release import Release
    from shoal.report.risk import Risk
    from shoal.report.sensitive import SensitiveFacts

__all__ = ["card", "count", "in_plain_words", "one_in", "verdict", "who_is_covered"]

_MOST_NAMES = 4
_MARKS = {GREEN: "✓", AMBER: "!", RED: "✗"}


def verdict(release: Release) -> str:
    """Return the first thing a reader sees: the judgement, what is open, and how it was checked."""
    judged, found = release.judgement, release.verification
    broken = [check.sentence for check in found.checks if not check.holds]
    first = 0 if broken else 1  # the gravest is the headline
    said = [*broken, *(point.sentence for point in judged.open[first:])]
    items = "".join(f"<li>{escape(text)}</li>" for text in said)
    hold = "The promises themselves hold. " if judged == AMBER else ""
    return (
        f'<div class="verdict {judged}"><span class="mark" aria-hidden="true">{_MARKS[judged]}'
        f"</span><div><strong>{escape(judged.sentence)}</strong>"
        + (f"<ul>{items}</ul>" if said else "")
        + f"<p>{hold}{escape(found.how())}</p></div></div>"
    )


def who_is_covered(release: Release) -> str:
    """Return whom the share that an interval covers counts, as far as the published table tells.

    Whose the rows are is not published; a share of people would tell more than the release does.
    """
    return "people" if not release.counts_people else "rows"


def in_plain_words(
    release: Release, before: Risk, after: Risk, sensitive: Sequence[SensitiveFacts]
) -> str:
    """Return the four questions of a data officer with their answers."""
    cards = (
        card("What was promised", _promised(release)),
        card("Does it hold?", *map(escape, _kept(release))),
        card("What risk remains?", _remains(release, before, after, sensitive)),
        card("What was lost?", _lost(release)),
    )
    return f'<div class="grid">{"".join(cards)}</div>{_numbers(release, before, after)}'


def card(title: str, *paragraphs: str) -> str:
    """Return a card of paragraphs that are HTML already."""
    inside = "".join(f"<p>{text}</p>" for text in paragraphs)
    return f'<section class="card"><h3>{title}</h3>{inside}</section>'


def _promised(release: Release) -> str:
    names = release.schema.quasi_identifiers
    shown = ", ".join(f"<b>{escape(name)}</b>" for name in names[:8])
    if len(names) > 8:
        shown += f" and {len(names) - 8} more columns"
    text = f"Nobody stands out from fewer than {release.k:,}: in {shown}, " + (
        f"every row looks exactly like at least {count(release.k - 1, 'other row')}."
        if not release.counts_people
        else f"every published combination belongs to at least {release.k:,} different people."
    )
    further = [check.name for check in release.verification.checks[1:]]
    if further:
        text += f" Also promised: {escape('; '.join(further[:_MOST_NAMES]))}"
        text += f" and {len(further) - _MOST_NAMES} more." if len(further) > _MOST_NAMES else "."
    return text


def _kept(release: Release) -> tuple[str, ...]:
    """Return one sentence per promise, or the first one and a summary where there are many."""
    found = release.verification
    if not found.holds or len(found.checks) <= _MOST_NAMES + 1:
        return found.sentences()
    others = count(len(found.checks) - 1, "other promise")
    return found.checks[0].sentence, f"Each of the {others} holds as well; they are listed below."


def _remains(
    release: Release, before: Risk, after: Risk, sensitive: Sequence[SensitiveFacts]
) -> str:
    chance = f"a chance of at most <b>{one_in(after.prosecutor_highest)}</b>"
    if not release.counts_people:
        condition = {
            "declared": ", as every row was declared to be a different person",
            "assumed": ", if every row is a different person",
        }
        chance = (
            f"{chance}, and of {per_cent(after.prosecutor_mean)} on average"
            f"{condition[release.whose]}"
            if release.whose in condition
            else "a chance that has not been established: people seem to have several rows"
        )
    text = (
        "Somebody who knows all these columns of a person in the table picks that person with "
        f"{chance}. In the original the chance was about "
        f"{whole_per_cent(before.prosecutor_mean)} on average, and about "
        f"{whole_per_cent(before.uniques / max(before.rows, 1))} of the rows were like no "
        "other, so that they could be found with certainty."
    )
    worst = sorted(
        (facts for facts in sensitive if facts.certain_rows), key=lambda each: -each.certain_rows
    )
    for facts in worst[:_MOST_NAMES]:
        text += (
            f" {count(facts.certain_rows, 'row')} are in groups that all share one value of "
            f"<b>{escape(facts.name)}</b>, which is thereby known without finding the row."
        )
    if len(worst) > _MOST_NAMES:
        more = count(len(worst) - _MOST_NAMES, "more sensitive column")
        text += f" The same happens, to fewer rows, in {more}; the table below has each."
    return text


def _lost(release: Release) -> str:
    columns = release.facts.columns
    kept = sum(column.kept for column in columns) / max(len(columns), 1)
    worst = max(columns, key=lambda column: column.loss)
    rows = "No row was left out."
    if release.n_suppressed:
        share = per_cent(release.n_suppressed / release.n_rows)
        rows = f"{count(release.n_suppressed, 'row')} ({share}) were left out."
    loss = release.public_scores["ncp"]
    whole = (
        "Means and medians do not show how far a group reaches, so the loss is not stated. "
        if math.isnan(loss)
        else f"<b>{per_cent(loss)}</b> of the detail in the quasi-identifiers. "
    )
    return (
        f"{whole}{per_cent(kept)} of their published cells are exactly as they were. The column "
        f"that pays most is <b>{escape(worst.name)}</b> ({per_cent(worst.loss)}). {rows} All "
        "other published columns are unchanged."
    )


def _numbers(release: Release, before: Risk, after: Risk) -> str:
    facts: tuple[tuple[str, str], ...] = (
        (f"{release.n_published:,}", f"rows published of {release.n_rows:,}"),
        (f"{after.classes:,}", f"groups; about {before.classes:,} different combinations before"),
        (
            f"{release.verification.smallest_group:,}",
            f"rows in the smallest group (k = {release.k:,})",
        )
        if not release.counts_people
        else (f"{release.k:,}", "different people at least in every group (k)"),
        (_highest(release, after), "highest chance to find a person"),
        (f"about {before.uniques:,} → {after.uniques:,}", "rows that are like no other"),
    )
    loss = release.public_scores["ncp"]
    if not math.isnan(loss):
        facts = (*facts, (per_cent(loss), "of the detail lost (ncp)"))
    cells = "".join(f"<div><b>{value}</b><span>{what}</span></div>" for value, what in facts)
    return f'<div class="facts">{cells}</div>'


def _highest(release: Release, after: Risk) -> str:
    doubtful = not release.counts_people and release.whose == "doubtful"
    return "not known" if doubtful else per_cent(after.prosecutor_highest)


def one_in(chance: float) -> str:
    """Return a chance as people say it."""
    if chance >= 1:
        return "1 in 1 (certain)"
    if chance <= 0:
        return "none"
    return f"1 in {1 / chance:,.0f}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
