"""Draws small charts as inline SVG: no script, no network, readable without colour.

Lengths along a chart are per cents of its width and heights are pixels, so a chart fits a phone
and a sheet of paper without its letters shrinking. Labels are messages, which are translated, or
cells, which are not; titles come translated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from shoal.messages import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.messages.language import Language
    from shoal.publish.aggregates import Bar
    from shoal.publish.reader_view import GroupSizes

_MOST_BARS = 10
_NAMES = 30
"""Per cent of the width that the names of a heat map take."""


def bars(words: Language, values: Sequence[tuple[str, float]], *, title: str) -> Markup:
    """Draw horizontal bars for shares between 0 and 1, each below its label and per cent."""
    parts = []
    for y, (label, share) in zip(range(0, 40 * len(values), 40), values, strict=True):
        parts += [
            _label(words, label, y + 14, per_cent(share)),
            _bar("track", 0, 100, y + 21, 11),
            _bar("bar", 0, 100 * _clip(share), y + 21, 11),
        ]
    return _figure(parts, 40 * len(values), title)


def pairs(words: Language, values: Sequence[Bar], *, title: str) -> Markup:
    """Draw two bars per label, before above after, on a scale that ends at the longest."""
    longest = max((max(each.before, each.after) for each in values), default=0.0) or 1.0
    parts = []
    for y, each in zip(range(0, 44 * len(values), 44), values, strict=True):
        before, after = whole_per_cent(each.before), whole_per_cent(each.after)
        text = Message("{before} → {after}", before=before, after=after)
        parts += [
            _label(words, each.label, y + 14, text),
            _bar("was", 0.2, 99.6 * each.before / longest, y + 20, 8),
            _bar("bar", 0.2, 99.6 * each.after / longest, y + 29, 8),
        ]
    return _figure(parts, 44 * len(values), title)


def histogram(
    words: Language,
    counts: Sequence[tuple[str, float]],
    *,
    title: str,
    texts: Sequence[str] | None = None,
) -> Markup:
    """Draw upright bars, each with its label below and its count (or text) above."""
    base, highest = 150, max((count for _, count in counts), default=0) or 1
    step = 100 / max(len(counts), 1)
    above = Markup('<text x="{:.2f}%" text-anchor="middle" y="{:.1f}">{}</text>')
    below = Markup('<text x="{:.2f}%" text-anchor="middle" y="{}" class="soft">{}</text>')
    parts = [Markup('<line class="axis" x1="0" x2="100%" y1="{0}" y2="{0}"/>').format(base)]
    for number, (label, count) in enumerate(counts):
        tall = max((base - 24) * count / highest, 1.5 if count else 0)
        shown = short_number(count) if texts is None else texts[number]
        middle = step * (number + 0.5)
        parts += [
            _bar("bar", step * (number + 0.08), step * 0.84, base - tall, tall),
            above.format(middle, base - tall - 6, words.translate(shown)),
            below.format(middle, base + 17, words.translate(label)),
        ]
    return _figure(parts, base + 26, title)


def stacked(words: Language, shares: Sequence[tuple[str, str, float]], *, title: str) -> Markup:
    """Draw one bar of parts (class, what, share) that add up to 1."""
    x, parts = 0.0, []
    for look, what, share in shares:
        width = 100 * _clip(share)
        if width > 0:
            part = Markup("<g><title>{}: {}</title>{}</g>")
            text = words.translate(per_cent(share))
            parts.append(part.format(what, text, _bar(look, x, width, 1, 18)))
        x += width
    return _figure(parts, 20, title)


def heat_map(
    names: Sequence[str], rows: Sequence[Sequence[float]], *, title: str, ends: tuple[str, str]
) -> Markup:
    """Draw a table of shades, one row per name, with the per cent in each cell."""
    step = (100 - _NAMES) / (max((len(row) for row in rows), default=0) or 1)
    parts = [
        Markup(
            '<text x="{}%" y="12" class="soft">{}</text>'
            '<text x="100%" y="12" class="soft" text-anchor="end">{}</text>'
        ).format(_NAMES, *ends)
    ]
    # A picture of its own cuts off a name that is too long for its place.
    head = Markup(
        '<svg x="0" y="{}" width="{}%" height="24"><title>{}</title>'
        '<text x="0" y="16">{}</text></svg>'
    )
    cell = Markup(
        '<rect class="h{}" x="{:.2f}%" y="{}" width="{:.2f}%" height="24"/>'
        '<text class="{}" x="{:.2f}%" y="{}" text-anchor="middle">{:.0f}</text>'
    )
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        y = 20 + 26 * number
        parts.append(head.format(y, _NAMES - 1, name, _short(name, 28)))
        for place, share in enumerate(row):
            x = _NAMES + step * place
            shade = round(_clip(share) ** 0.6 * 9)
            ink = "light" if shade >= 5 else "dark"
            middle = x + step / 2 - 0.2
            parts.append(cell.format(shade, x, y, step - 0.4, ink, middle, y + 16, 100 * share))
    return _figure(parts, 24 + 26 * len(names), title)


def size_bars(groups: GroupSizes) -> list[tuple[str, float]]:
    """Return a bar for each size if there are few, else ranges of sizes with a long last one."""
    counts = groups.size_counts
    if len(counts) <= _MOST_BARS:
        return [(Message("{size:,}", size=size), number) for size, number in counts]
    low, high = groups.smallest, groups.size_of_share(0.95)
    width = max(1, -(-(high - low + 1) // (_MOST_BARS - 1)))
    starts = range(low, high + 1, width)
    numbers = [0.0] * len(starts)
    for size, number in counts:
        numbers[min((size - low) // width, len(starts) - 1)] += number
    labels = [
        Message("{low:,}", low=at)
        if width == 1
        else Message("{low:,}–{high:,}", low=at, high=at + width - 1)  # noqa: RUF001 - a range
        for at in starts
    ]
    if groups.largest >= starts[-1] + width:
        labels[-1] = Message("{low:,}+", low=starts[-1])
    return list(zip(labels, numbers, strict=True))


def first_bars(counts: Sequence[tuple[int, int]]) -> list[tuple[str, float]]:
    """Return a bar for each number; the last one takes the rest if there are many."""
    last = _MOST_BARS - 1
    if len(counts) <= _MOST_BARS:
        return [(Message("{n:,}", n=number), times) for number, times in counts]
    rest = sum(times for _, times in counts[last:])
    return [*first_bars(counts[:last]), (Message("{n:,}+", n=counts[last][0]), rest)]


def per_cent(share: float) -> Message:
    """Write a share in per cent, short."""
    if 0 < share < 0.001:
        return Message("<\u202f{n:.1f}\u00a0%", n=0.1)
    if share in (0.0, 1.0):
        return Message("{n:.0f}\u00a0%", n=100 * share)
    return Message("{n:.1f}\u00a0%", n=100 * share)


def whole_per_cent(share: float) -> str:
    """Write a share in whole per cents; it was rounded to them."""
    return "<\u202f1\u00a0%" if 0 < share < 0.01 else f"{100 * share:.0f}\u00a0%"


def brief_per_cent(share: float) -> str:
    """Write a share in whole per cents, without the sign, so that it fits above a bar."""
    return "<1" if 0 < share < 0.01 else f"{100 * share:.0f}"


def short_number(count: float) -> Message:
    """Write a count so that it fits above a bar."""
    for limit, size, unit in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if count >= limit:
            return Message("{n:.3g}{unit}", n=count / size, unit=unit)
    return Message("{n:,.0f}", n=count)


def _figure(parts: Sequence[Markup], height: float, title: str) -> Markup:
    return Markup(
        '<svg width="100%" height="{:.0f}" role="img" aria-label="{}"><title>{}</title>{}</svg>'
    ).format(height, title, title, Markup("").join(parts))


def _bar(look: str, x: float, width: float, y: float, height: float) -> Markup:
    return Markup(
        '<rect class="{}" x="{:.2f}%" y="{:.1f}" width="{:.2f}%" height="{:.1f}" rx="2"/>'
    ).format(look, x, y, max(width, 0), height)


def _label(words: Language, label: str, y: float, value: str) -> Markup:
    return Markup(
        '<svg x="0" y="{:.0f}" width="72%" height="18"><text x="0" y="13">{}</text></svg>'
        '<text x="100%" y="{:.0f}" text-anchor="end" class="number">{}</text>'
    ).format(y - 13, _short(words.translate(label), 48), y, words.translate(value))


def _short(label: str, most: int) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _clip(share: float) -> float:
    return min(max(share, 0.0), 1.0)
