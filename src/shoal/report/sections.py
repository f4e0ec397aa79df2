"""The sections of the report that are drawn: risk, groups, loss, columns, sensitive values."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from shoal.report.risk import ASSUMED_FRACTIONS, population_uniques, risk_of, rows_by_risk
from shoal.report.svg import (
    bars,
    heat_map,
    histogram,
    pairs,
    per_cent,
    stacked,
    whole_per_cent,
)
from shoal.report.words import count, one_in, who_is_covered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.facts import ColumnFacts
    from shoal.release import Release
    from shoal.report.risk import Risk
    from shoal.report.sensitive import GroupSizes, SensitiveFacts
    from shoal.table.grid import Grid

__all__ = ["columns", "groups", "loss", "risk", "sensitive", "size_bars"]

_MOST_BARS = 10
_MOST_SENSITIVE = 4
Sizes = tuple[tuple[int, int], ...]


def figure(title: str, picture: str, caption: str = "") -> str:
    """Return a card with a heading, a picture and a sentence below it."""
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f'<figure class="card"><h3>{title}</h3>{picture}{below}</figure>'


# -- risk --------------------------------------------------------------------------------


def risk(before: Sizes, after: Sizes, fraction: float | None) -> str:
    """Return how likely it is that people are found, before and after."""
    was, now = risk_of(before, fraction), risk_of(after, fraction)
    uniques = _uniques(before, after, fraction)
    sides = (("before", before), ("after", after))
    pictures = "".join(
        figure(
            f"Rows by the chance to be found, {when}",
            histogram(
                [(band, share) for band, share in rows_by_risk(sizes)],
                title=f"Share of the rows by prosecutor risk, {when}",
                texts=[_brief(share) for _, share in rows_by_risk(sizes)],
            ),
            "Per cent of the rows (above the bars) by the chance in per cent (below) that somebody "
            "who knows that a person is in the table picks the right row."
            + (" Numbers about the original are rounded." if when == "before" else ""),
        )
        for when, sizes in sides
    )
    return (
        "<p>Three kinds of curious people are usually told apart. The <b>prosecutor</b> knows that "
        "a certain person is in the table. The <b>journalist</b> does not, and looks for anybody. "
        "The <b>marketer</b> matches the whole table to a list of names.</p>"
        f'<div class="card scroll">{_attackers(was, now, fraction)}</div>'
        f'<div class="grid" style="margin-top:1rem">{pictures}</div>'
        f'<div class="card scroll" style="margin-top:1rem">{uniques}</div>'
    )


def _attackers(was: Risk, now: Risk, fraction: float | None) -> str:
    lines = (
        ("Prosecutor, person easiest to find", was.prosecutor_highest, now.prosecutor_highest),
        ("Prosecutor, average person", was.prosecutor_mean, now.prosecutor_mean),
        ("Journalist, person easiest to find", was.journalist_highest, now.journalist_highest),
        ("Marketer, share of rows matched rightly", was.marketer, now.marketer),
    )
    body = "".join(
        f'<tr><th scope="row">{what}</th><td class="number">{whole_per_cent(old)}</td>'
        f'<td class="number">{per_cent(new)}</td><td class="number">{one_in(new)}</td></tr>'
        for what, old, new in lines
    )
    note = (
        "Nobody has said which share of the population is in the table, so the journalist is "
        "taken to be as well informed as the prosecutor, which errs on the careful side."
        if fraction is None
        else f"The table is taken for a random sample of {per_cent(fraction)} of the population: "
        "a group stands for correspondingly more people."
    )
    return (
        '<table><thead><tr><th scope="col">chance to be found</th><th scope="col" class="number">'
        'before</th><th scope="col" class="number">after</th><th scope="col" class="number"></th>'
        f'</tr></thead><tbody>{body}</tbody></table><p class="note">{note}</p>'
    )


def _uniques(before: Sizes, after: Sizes, fraction: float | None) -> str:
    n_rows = max(sum(size * number for size, number in before), 1)
    fractions = ASSUMED_FRACTIONS if fraction is None else (fraction,)
    body = ""
    for share in fractions:
        cells = "".join(
            f'<td class="number">{estimate:,.0f} ({per_cent(estimate / n_rows)})</td>'
            for estimate in (population_uniques(sizes, share) for sizes in (before, after))
        )
        whole = "everybody" if share == 1 else f"{100 * share:g} % of the population"
        body += f'<tr><th scope="row">{whole}</th>{cells}</tr>'
    return (
        "<h3>People who are unique in the whole population</h3>"
        '<table><thead><tr><th scope="col">if the table holds</th><th scope="col" class="number">'
        'before</th><th scope="col" class="number">after</th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
        '<p class="note">Estimated after Zayatz (US Bureau of the Census, 1991) from how many rows '
        "share their quasi-identifiers. It takes the table for a simple random sample, and "
        "combinations to be as frequent in the population as in the table. As they are more "
        "frequent there, the estimate errs on the careful side. A table without unique rows, such "
        "as every k-anonymous release, has an estimate of 0.</p>"
    )


def _brief(share: float) -> str:
    if 0 < share < 0.01:
        return "<1"
    return f"{100 * share:.0f}"


# -- groups and loss ---------------------------------------------------------------------


def groups(found: GroupSizes, k: int) -> str:
    """Return how large the groups are."""
    picture = histogram(size_bars(found), title="Number of groups by size")
    words = (
        f"{count(found.number, 'group')}: the smallest has {found.smallest:,} rows, the one in the "
        f"middle {int(found.median):,}, the largest {found.largest:,}; promised were at "
        f"least {k:,}. Groups much larger than k lose more detail than they have to."
    )
    caption = "Number of groups (above the bars) by the rows they hold (below)."
    return f"<p>{words}</p>{figure('Groups by size', picture, caption)}"


def size_bars(found: GroupSizes) -> list[tuple[str, float]]:
    """Return one bar per size if there are few, else ranges of sizes with a long last one."""
    counts = found.size_counts
    if len(counts) <= _MOST_BARS:
        return [(f"{size:,}", float(number)) for size, number in counts]
    low, high = counts[0][0], found.size_of_share(0.95)
    width = max(1, -(-(high - low + 1) // (_MOST_BARS - 1)))
    starts = list(range(low, high + 1, width))
    sizes, many = (np.array(each) for each in zip(*counts, strict=True))
    bucket = np.minimum((sizes - low) // width, len(starts) - 1)
    numbers = np.bincount(bucket, weights=many, minlength=len(starts)).tolist()
    labels = [f"{at:,}" if width == 1 else f"{at:,}–{at + width - 1:,}" for at in starts]  # noqa: RUF001 - a range
    if found.largest >= starts[-1] + width:
        labels[-1] = f"{starts[-1]:,}+"
    return list(zip(labels, numbers, strict=True))


def loss(release: Release) -> str:
    """Return which columns pay, on the whole and in which groups."""
    ranked = sorted(release.facts.columns, key=lambda column: -column.loss)
    of_columns = bars(
        [(column.name, column.loss) for column in ranked], title="Detail lost per column"
    )
    facts = release.facts
    heat = heat_map(
        [column.name for column in facts.columns],
        facts.heat,
        title="Detail lost in each column, by groups from least to most loss, in per cent",
        ends=("groups that lost least", "most"),
    )
    n_buckets = len(facts.bucket_rows)
    return (
        '<div class="grid">'
        + figure(
            "Loss per column",
            of_columns,
            "0 % is an exact value in every row, 100 % tells nothing any more. Of numbers and "
            "dates it is the share of the range; the share of the "
            f"{who_is_covered(release)} is on their cards below.",
        )
        + figure(
            "Which columns pay in which groups",
            heat,
            f"The groups in {count(n_buckets, 'bucket')} of about equally many rows, from those "
            "that lost least (left) to those that lost most (right). Numbers are per cent of "
            "detail lost; darker is more. A column that is dark only on the right is spoilt by "
            "outliers.",
        )
        + "</div>"
    )


# -- columns -----------------------------------------------------------------------------


def columns(release: Release) -> str:
    """Return what became of each quasi-identifier."""
    legend = (
        '<div class="legend"><b>Strip:</b><span><i class="bar"></i>as it was</span>'
        '<span><i class="mid"></i>coarser</span><span><i class="pale"></i>not published</span>'
        '<b>Pairs:</b><span><i class="was"></i>before</span><span><i class="bar"></i>after</span>'
        "</div>"
    )
    rule = (
        "<p>The strip at the top of a card shows how many cells were kept, made coarser or left "
        "out. Below, two bars per label: the share of rows before (pale) and after (dark). A row "
        "that shows an interval or a set counts evenly over it.</p>"
        f'<p class="note">This page names a value only if it is part of a published cell; other '
        "values are counted under the closest label that is published. Every pair of bars stands "
        f"for at least k = {release.k:,} rows of the original or for none, shares are rounded to "
        "whole per cents, and rows that were left out are in no bar.</p>"
    )
    grids = release.schema.grids
    cards = "".join(
        _column(column, grids[column.name], who_is_covered(release))
        for column in release.facts.columns
    )
    return f'{rule}{legend}<div class="grid ragged">{cards}</div>'


def _covered(column: ColumnFacts, who: str) -> str:
    """Return which share of the people an interval covers, beside its share of the range."""
    if column.covered is None:
        return ""
    text = (
        f"An interval is {per_cent(column.loss)} of the range and covers "
        f"{per_cent(column.covered)} of the {who}, on average."
    )
    if column.stretched:
        text += (
            " <b>The range is stretched by a few values far away</b>, so the share of the "
            f"{who} says more. The scale <i>rank</i> or <i>trimmed</i> makes the search count it."
        )
    return f'<p class="note" style="margin:.5rem 0 0">{text}</p>'


def _on_grid(grid: Grid | None, kind: str) -> str:
    if not grid:
        return ""
    chosen = "chosen by default from the order of magnitude" if grid.by_default else "as asked"
    if grid.level:
        return f" Nothing below {escape(str(grid))} of its hierarchy is published, {chosen}."
    if kind == "ordinal":
        return f" {escape(str(grid))} neighbours are published together, {chosen}."
    return f" Ends are lines of a grid: {escape(str(grid))}, {chosen}."


def _column(column: ColumnFacts, grid: Grid | None, who: str) -> str:
    strip = stacked(
        (
            ("bar", "as it was", column.kept),
            ("mid", "coarser", column.generalised),
            ("pale", "not published", column.suppressed),
        ),
        title=f"Cells of {column.name} kept, made coarser, left out",
    )
    spread = "; ".join(
        f"{escape(what)}:\u00a0{per_cent(share)}" for what, share in column.spread if share > 0
    )
    picture = pairs(
        [(bar.label, bar.before, bar.after) for bar in column.bars],
        title=f"Distribution of {column.name} before and after",
    )
    return (
        f'<figure class="card"><h3>{escape(column.name)} <span class="soft">({column.kind}, '
        f"{per_cent(column.loss)} lost)</span></h3>{strip}"
        f"{_covered(column, who)}"
        f'<p class="note" style="margin:.5rem 0 .9rem">{spread}.{_on_grid(grid, column.kind)}</p>'
        f"{picture}</figure>"
    )


# -- sensitive columns -------------------------------------------------------------------


_IN_ROWS = (
    "Here rows are counted, as a reader of the release can; the promises above count each value "
    "once for a person, with ids that are not published."
)


def sensitive(found: Sequence[SensitiveFacts], n_groups: int, *, rows: bool = False) -> str:
    """Return how varied the groups are in each sensitive column.

    Args:
        found: what was counted in the published table.
        n_groups: how many groups there are.
        rows: whether promises count people, so that these numbers of rows are others.
    """
    shown, overview = list(found), ""
    if len(found) > _MOST_SENSITIVE:
        shown.sort(key=lambda each: (-each.certain_rows, -each.most_certain, -each.farthest))
        shown = shown[:_MOST_SENSITIVE]
        overview = (
            f"{_side_by_side(found)}<p>The {_MOST_SENSITIVE} columns in which groups give most "
            "away are drawn below.</p>"
        )
    return (
        "<p>Sensitive values are published as they are. What matters is whether a group gives them "
        "away: a group whose members all share one value tells it about each of them."
        + (f" {_IN_ROWS}" if rows else "")
        + "</p>"
        + overview
        + "".join(_sensitive(facts, n_groups, first=facts is shown[0]) for facts in shown)
    )


def _side_by_side(found: Sequence[SensitiveFacts]) -> str:
    """Return one line per column."""
    heads = (
        "rows whose value is known", "largest share of one value in a group",
        "fewest values in a group", "values in all", "distance to the whole, mean", "at most",
    )  # fmt: skip
    head = "".join(f'<th scope="col" class="number wrap">{each}</th>' for each in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(facts.name)}</th>'
        + "".join(
            f'<td class="number">{each}</td>'
            for each in (
                f"{facts.certain_rows:,}",
                per_cent(facts.most_certain),
                f"{facts.fewest:,}",
                f"{facts.n_values:,}",
                per_cent(facts.mean_distance),
                per_cent(facts.farthest),
            )
        )
        + "</tr>"
        for facts in found
    )
    return (
        '<div class="card scroll"><table><thead><tr><th scope="col">column</th>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _sensitive(facts: SensitiveFacts, n_groups: int, *, first: bool) -> str:
    """Return one column in words and pictures; only the first says how pictures are read."""
    certain = (
        "No group gives its value away."
        if not facts.certain_rows
        else f"<b>{count(facts.certain_rows, 'row')}</b> are in groups that all share one value: "
        "it is known of everybody in them."
    )
    if facts.missing_rows:
        certain += f" {count(facts.missing_rows, 'row')} are in groups without any value."
    words = (
        f"{certain} The least varied group has {count(facts.fewest, 'different value')} and an "
        f"effective number of {facts.least_diverse:.2f} ({facts.typical_diverse:.2f} in the group "
        f"in the middle); the largest share of one value in a group is "
        f"{per_cent(facts.most_certain)}. Groups differ from the whole table by "
        f"{per_cent(facts.mean_distance)} on average, {per_cent(facts.farthest)} at most."
    )
    distinct = [(f"{number:,}", float(times)) for number, times in facts.distinct]
    if len(distinct) > _MOST_BARS:
        rest = sum(times for _, times in distinct[_MOST_BARS - 1 :])
        distinct = [*distinct[: _MOST_BARS - 1], (f"{distinct[_MOST_BARS - 1][0]}+", rest)]
    tenths = [(f"{10 * number}", float(times)) for number, times in enumerate(facts.distances)]
    name = escape(facts.name)
    return (
        f'<h3 style="margin-top:1.4rem">{name}</h3><p>{words}</p><div class="grid three">'
        + figure(
            f"Values of {name} in the whole release",
            bars(facts.whole, title=f"Most frequent values of {facts.name}"),
            f"{count(facts.n_values, 'different value')} are published.",
        )
        + figure(
            "Different values in a group",
            histogram(distinct, title=f"Groups by number of different values of {facts.name}"),
            f"Number of groups (above the bars, {n_groups:,} in all) by different values (below)."
            if first
            else "",
        )
        + figure(
            "Distance of the groups to the whole",
            histogram(tenths, title=f"Groups by distance of {facts.name} to the whole table"),
            "Number of groups by the per cent of the group that would have to change for it to "
            "have the mix of the whole table; a bar begins with the number below it."
            if first
            else "",
        )
        + "</div>"
    )
