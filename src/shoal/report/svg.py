"""Small bar charts as inline SVG: no script, no network, readable without colour."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["bars", "histogram"]

_ROW = 26
_LABEL = 190
_WIDTH = 640
_TRACK = _WIDTH - _LABEL - 70


def bars(values: Sequence[tuple[str, float]], *, title: str) -> str:
    """Return horizontal bars for shares between 0 and 1, each with its label and per cent."""
    height = _ROW * len(values) + 4
    parts = [_open(height, title)]
    for number, (label, share) in enumerate(values):
        y = _ROW * number + 4
        width = _TRACK * min(max(share, 0.0), 1.0)
        parts.append(
            f'<text x="{_LABEL - 10}" y="{y + 14}" text-anchor="end">{escape(_short(label))}</text>'
            f'<rect class="track" x="{_LABEL}" y="{y}" width="{_TRACK}" height="18" rx="3"/>'
            f'<rect class="bar" x="{_LABEL}" y="{y}" width="{width:.1f}" height="18" rx="3"/>'
            f'<text x="{_LABEL + _TRACK + 8}" y="{y + 14}">{share:.1%}</text>'
        )
    return "".join([*parts, "</svg>"])


def histogram(counts: Sequence[tuple[str, int]], *, title: str) -> str:
    """Return upright bars for counts, each with its label below and its count above."""
    height, base = 220, 180
    highest = max((count for _, count in counts), default=0) or 1
    step = _WIDTH / max(len(counts), 1)
    parts = [_open(height, title)]
    for number, (label, count) in enumerate(counts):
        tall = (base - 30) * count / highest
        x, middle = step * number + step * 0.1, step * (number + 0.5)
        parts.append(
            f'<rect class="bar" x="{x:.1f}" y="{base - tall:.1f}" width="{step * 0.8:.1f}" '
            f'height="{tall:.1f}" rx="3"/>'
            f'<text x="{middle:.1f}" y="{base - tall - 6:.1f}" text-anchor="middle">'
            f"{count:,}</text>"
            f'<text x="{middle:.1f}" y="{base + 18}" text-anchor="middle">{escape(label)}</text>'
        )
    return "".join([*parts, "</svg>"])


def _open(height: int, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>"
    )


def _short(label: str) -> str:
    return label if len(label) <= 24 else label[:23] + "…"
