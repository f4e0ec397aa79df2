"""Algorithms over all tables, promises and k: average ranks, loss over time, pictures as files.

A *cell* is a table, a promise and a k at which every algorithm has a mean loss: that and the mean
seconds, by algorithm. The *critical
difference* is that of Nemenyi's test at 5 % (Demšar 2006): q · √(a (a + 1) / 6 n) for a algorithms
and n cells. It takes cells as independent, which those of one table are not.
"""

from __future__ import annotations

import math
from html import escape
from statistics import fmean, geometric_mean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Cell = Mapping[str, tuple[float, float]]  # loss and seconds of each algorithm


COLOURS = ("#0b6e7f", "#b4531a", "#5b3f9e", "#2f7d32", "#a3215e", "#6b5d00", "#33518f", "#7a4a2b")
# Shapes as well as colours: the picture must be readable in grey.
_SHAPES = ("circle", "square", "triangle", "diamond")

# The studentised range at 5 % for 2 to 24 algorithms and many cells, ÷ √2.
_Q = (
    1.960, 2.344, 2.569, 2.728, 2.850, 2.948, 3.031, 3.102, 3.164, 3.219, 3.268, 3.313,
    3.354, 3.391, 3.426, 3.458, 3.489, 3.517, 3.544, 3.569, 3.593, 3.616, 3.637,
)  # fmt: skip


def average_ranks(cells: Sequence[Cell]) -> dict[str, float]:
    """Return the mean rank of each algorithm over the cells, 1 the best, the best first."""
    ranks: dict[str, list[float]] = {}
    for cell in cells:
        losses = sorted(loss for loss, _ in cell.values())
        for name, (loss, _) in cell.items():
            first = losses.index(loss)
            shared = first + (losses.count(loss) + 1) / 2  # ties share their ranks
            ranks.setdefault(name, []).append(shared)
    means = {name: fmean(found) for name, found in ranks.items()}
    return dict(sorted(means.items(), key=lambda pair: pair[1]))


def critical_difference(n_algorithms: int, n_cells: int) -> float | None:
    """Return how far apart two mean ranks must be; None for more algorithms than are tabulated.

    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    if not 2 <= n_algorithms < 2 + len(_Q) or n_cells < 2:
        return None
    return _Q[n_algorithms - 2] * math.sqrt(n_algorithms * (n_algorithms + 1) / (6 * n_cells))


def overall(cells: Sequence[Cell]) -> dict[str, tuple[float, float]]:
    """Return per algorithm the mean of loss ÷ least loss of a cell, and the mean seconds of a run.

    Cells whose least loss is 0 are left out; means are geometric.
    """
    ratios: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    for cell in cells:
        least = min(loss for loss, _ in cell.values())
        for name, (loss, seconds) in cell.items() if least > 0 else ():
            ratios.setdefault(name, []).append(loss / least)
            times.setdefault(name, []).append(max(seconds, 1e-3))
    return {name: (geometric_mean(ratios[name]), geometric_mean(times[name])) for name in ratios}


def explain_ranks(cells: Sequence[Cell]) -> str:
    """Return the average ranks in words."""
    ranks = average_ranks(cells)
    listed = ", ".join(f"{escape(name)} {rank:.2f}" for name, rank in ranks.items())
    apart = critical_difference(len(ranks), len(cells))
    words = f"Average ranks over {len(cells)} cells (table, promise, k): {listed}."
    if apart is None:
        return words
    return (
        f"{words} Two differ at 5 % (Nemenyi) if they are more than {apart:.2f} apart, that is, if "
        "their bars do not meet; that takes the cells as independent, which those of one table "
        "are not."
    )


# -- pictures -------------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 420, 70, 170, 30, 56


def draw_mark(x: float, y: float, number: int, colour: str, title: str) -> str:
    """Return the mark of a series, its shape by number."""
    shape = _SHAPES[number % len(_SHAPES)]
    tooltip = f"<title>{escape(title)}</title>" if title else ""
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}">{tooltip}</circle>'
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "triangle": ((0, -5.5), (5, 4), (-5, 4)),
        "diamond": ((0, -6), (5.5, 0), (0, 6), (-5.5, 0)),
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{colour}">{tooltip}</polygon>'


def pareto_svg(cells: Sequence[Cell], measure: str) -> str:
    """Return loss over time with a line through what nothing beats in both; empty if it is one."""
    points = overall(cells)
    if len(points) < 2:
        return ""
    worst = max(ratio for ratio, _ in points.values())
    times = [math.log10(seconds) for _, seconds in points.values()]
    low, high = math.floor(min(times)), max(math.ceil(max(times)), math.floor(min(times)) + 1)

    def x(seconds: float) -> float:
        return _LEFT + (math.log10(seconds) - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    def y(ratio: float) -> float:
        share = (ratio - 1) / ((worst - 1) or 1.0)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    label = f"Loss ({measure}) over time"
    parts = [_head(label, _HEIGHT)]
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
            + _text(at, _HEIGHT - _BOTTOM + 20, f"{10.0**power:g}", "middle", soft=True)
        )
    for step in range(5):
        ratio = 1 + (worst - 1) * step / 4
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(ratio):.1f}" '
            f'y2="{y(ratio):.1f}"/>'
            + _text(_LEFT - 8, y(ratio) + 4, f"{ratio:.2f}", "end", soft=True)
        )
    front = _front(points)
    line = " ".join(f"{x(seconds):.1f},{y(ratio):.1f}" for ratio, seconds in front)
    parts.append(f'<polyline class="frontier" points="{line}"/>')
    places = []
    for number, (name, (ratio, seconds)) in enumerate(points.items()):
        tooltip = f"{name}: {ratio:.3f} times the least loss, {seconds:.3g} s"
        mark = draw_mark(x(seconds), y(ratio), number, COLOURS[number % len(COLOURS)], tooltip)
        parts.append(f'<g class="series">{mark}</g>')
        places.append((y(ratio), x(seconds), name))
    last = -math.inf
    for at, across, name in sorted(places):
        last = max(at + 4, last + 15)  # names are moved apart
        parts.append(_text(across + 9, last, name))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(_text(middle, _HEIGHT - _BOTTOM + 42, "seconds of a run", "middle"))
    parts.append(_text(_LEFT - 58, 14, f"{measure} ÷ least {measure}"))
    return "".join([*parts, "</svg>"])


def _front(points: Mapping[str, tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other beats in both, the quickest first."""
    front: list[tuple[float, float]] = []
    for ratio, seconds in sorted(points.values(), key=lambda each: (each[1], each[0])):
        if not front or ratio < front[-1][0]:
            front.append((ratio, seconds))
    return front


def ranks_svg(cells: Sequence[Cell], measure: str) -> str:
    """Return average ranks, each with half a critical difference to both sides; empty if few."""
    ranks = average_ranks(cells)
    apart = critical_difference(len(ranks), len(cells))
    if apart is None:
        return ""
    height = 60 + 24 * len(ranks)
    low, high = 1 - apart / 2, len(ranks) + apart / 2

    def x(rank: float) -> float:
        return 190 + (rank - low) / (high - low) * (_WIDTH - 190 - 30)

    parts = [_head(f"Average ranks ({measure}), 1 is best", height)]
    parts += [
        f'<line class="grid" x1="{x(rank):.1f}" x2="{x(rank):.1f}" y1="20" y2="{height - 36}"/>'
        + _text(x(rank), height - 20, str(rank), "middle", soft=True)
        for rank in range(1, len(ranks) + 1)
    ]
    numbers = {name: number for number, name in enumerate(cells[0])}
    for line, (name, rank) in enumerate(ranks.items()):
        at, colour = 32 + 24 * line, COLOURS[numbers[name] % len(COLOURS)]
        parts.append(
            f'<g class="series"><line x1="{x(rank - apart / 2):.1f}" '
            f'x2="{x(rank + apart / 2):.1f}" y1="{at}" y2="{at}" stroke="{colour}" '
            'stroke-width="2"/>'
            f"{draw_mark(x(rank), at, numbers[name], colour, f'{name}: {rank:.2f}')}</g>"
            + _text(180, at + 4, name, "end")
        )
    caption = f"average rank over {len(cells)} cells; bars: critical difference {apart:.2f}"
    parts.append(_text((190 + _WIDTH) / 2, height - 3, caption, "middle"))
    return "".join([*parts, "</svg>"])


def _head(label: str, height: int) -> str:
    name = escape(label)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{name}"><title>{name}</title>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start", *, soft: bool = False) -> str:
    kind = ' class="soft"' if soft else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
