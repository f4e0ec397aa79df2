"""Small charts as inline SVG: no script, no network, readable without colour.

Lengths along a chart are per cents of its width and heights are pixels, so a chart fits a phone
and a sheet of paper without its letters shrinking.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["bars", "heat_map", "histogram", "pairs", "stacked"]

_NAMES = 30
"""Per cent of the width that the names of a heat map take."""


def bars(values: Sequence[tuple[str, float]], *, title: str) -> str:
    """Return horizontal bars for shares between 0 and 1, each below its label and per cent."""
    parts = []
    for number, (label, share) in enumerate(values):
        y = 40 * number
        parts.append(
            _label(label, y + 14, per_cent(share))
            + _bar("track", 0, 100, y + 21, 11)
            + _bar("bar", 0, 100 * _clip(share), y + 21, 11)
        )
    return _figure("".join(parts), 40 * len(values), title)


def pairs(values: Sequence[tuple[str, float, float]], *, title: str) -> str:
    """Return two bars per label, before above after, on a scale that ends at the longest."""
    longest = max((max(before, after) for _, before, after in values), default=0.0) or 1.0
    parts = []
    for number, (label, before, after) in enumerate(values):
        y = 44 * number
        text = f"{whole_per_cent(before)} → {whole_per_cent(after)}"
        parts.append(
            _label(label, y + 14, text)
            + _bar("was", 0.2, 99.6 * before / longest, y + 20, 8)
            + _bar("bar", 0.2, 99.6 * after / longest, y + 29, 8)
        )
    return _figure("".join(parts), 44 * len(values), title)


def histogram(
    counts: Sequence[tuple[str, float]], *, title: str, texts: Sequence[str] | None = None
) -> str:
    """Return upright bars, each with its label below and its count (or text) above."""
    base, highest = 150, max((count for _, count in counts), default=0) or 1
    step = 100 / max(len(counts), 1)
    parts = [f'<line class="axis" x1="0" x2="100%" y1="{base}" y2="{base}"/>']
    for number, (label, count) in enumerate(counts):
        tall = (base - 24) * count / highest
        if count:
            tall = max(tall, 1.5)
        shown = texts[number] if texts is not None else short_number(count)
        middle = f'x="{step * (number + 0.5):.2f}%" text-anchor="middle"'
        parts.append(
            _bar("bar", step * (number + 0.08), step * 0.84, base - tall, tall)
            + f'<text {middle} y="{base - tall - 6:.1f}">{escape(shown)}</text>'
            + f'<text {middle} y="{base + 17}" class="soft">{escape(label)}</text>'
        )
    return _figure("".join(parts), base + 26, title)


def stacked(shares: Sequence[tuple[str, str, float]], *, title: str) -> str:
    """Return one bar of parts (class, what, share) that add up to 1."""
    x, parts = 0.0, []
    for look, what, share in shares:
        width = 100 * _clip(share)
        if width > 0:
            parts.append(
                f"<g><title>{escape(what)}: {per_cent(share)}</title>"
                f"{_bar(look, x, width, 1, 18)}</g>"
            )
        x += width
    return _figure("".join(parts), 20, title)


def heat_map(
    names: Sequence[str], rows: Sequence[Sequence[float]], *, title: str, ends: tuple[str, str]
) -> str:
    """Return a table of shades, one row per name, with the per cent in each cell."""
    n_cells = max((len(row) for row in rows), default=0)
    step = (100 - _NAMES) / max(n_cells, 1)
    parts = [
        (
            f'<text x="{_NAMES}%" y="12" class="soft">{escape(ends[0])}</text>'
            f'<text x="100%" y="12" class="soft" text-anchor="end">{escape(ends[1])}</text>'
        )
    ]
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        y = 20 + 26 * number
        # A picture of its own cuts off a name that is too long for its place.
        parts.append(
            f'<svg x="0" y="{y}" width="{_NAMES - 1}%" height="24"><title>{escape(name)}</title>'
            f'<text x="0" y="16">{escape(_short(name, 28))}</text></svg>'
        )
        for cell, share in enumerate(row):
            x = _NAMES + step * cell
            shade = round(_clip(share) ** 0.6 * 9)
            ink = "light" if shade >= 5 else "dark"
            parts.append(
                f'<rect class="h{shade}" x="{x:.2f}%" y="{y}" width="{step - 0.4:.2f}%" '
                f'height="24"/><text class="{ink}" x="{x + step / 2 - 0.2:.2f}%" y="{y + 16}" '
                f'text-anchor="middle">{100 * share:.0f}</text>'
            )
    return _figure("".join(parts), 24 + 26 * len(names), title)


def per_cent(share: float) -> str:
    """Return a share in per cent, short."""
    if 0 < share < 0.001:
        return "<\u202f0.1\u00a0%"
    return f"{100 * share:.{0 if share in (0.0, 1.0) else 1}f}\u00a0%"


def whole_per_cent(share: float) -> str:
    """Return a share in whole per cents; it was rounded to them."""
    return "<\u202f1\u00a0%" if 0 < share < 0.01 else f"{100 * share:.0f}\u00a0%"


def short_number(count: float) -> str:
    """Return a count that fits above a bar."""
    for limit, unit in ((1e6, "M"), (1e4, "k")):
        if count >= limit:
            return f"{count / (1e6 if unit == 'M' else 1e3):.3g}{unit}"
    return f"{count:,.0f}"


def _figure(inside: str, height: float, title: str) -> str:
    return (
        f'<svg width="100%" height="{height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{inside}</svg>"
    )


def _bar(look: str, x: float, width: float, y: float, height: float) -> str:
    return (
        f'<rect class="{look}" x="{x:.2f}%" y="{y:.1f}" width="{max(width, 0):.2f}%" '
        f'height="{height:.1f}" rx="2"/>'
    )


def _label(label: str, y: float, value: str) -> str:
    return (
        f'<svg x="0" y="{y - 13:.0f}" width="72%" height="18"><text x="0" y="13">'
        f"{escape(_short(label, 48))}</text></svg>"
        f'<text x="100%" y="{y:.0f}" text-anchor="end" class="number">{escape(value)}</text>'
    )


def _short(label: str, most: int) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _clip(share: float) -> float:
    return min(max(share, 0.0), 1.0)
