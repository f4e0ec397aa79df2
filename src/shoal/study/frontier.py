"""What a comparison found: its outcomes, the privacy–utility frontier, its knee, and the page.

The *frontier* is the smallest loss that any algorithm reaches at each k. Its *knee* is the point
furthest from the chord between the frontier's ends, with log k and loss each scaled to 0 … 1: of
the points below the chord if there are any (up to the knee more privacy is cheap, beyond it
every step costs more), otherwise of those above it (beyond it more privacy gets cheaper).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from shoal.errors import DataError, OptionError
from shoal.study.ranking import COLOURS, draw_mark, explain_ranks, pareto_svg, ranks_svg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    import polars as pl


COUNT_ERROR = "count-error"
"""The score that says how far random counts are off."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One run.

    Attributes:
        key: digest of the table, the roles and all options of the run.
        algorithm: its name, with its options where it has any.
        k: of the run.
        measure: what was minimised.
        loss: value of that measure; None if there is no release.
        scores: the usual measures.
        n_groups: number of groups.
        n_suppressed: rows left out.
        smallest_group: rows of the smallest group of the published table.
        seconds: how long it took.
        error: why there is no release.
        seed: of the run; None for the mean of several.
        interval: half the width of the 95 % interval of a mean loss (Student's t); None for one
            run.
        table: its name, empty where there is but one.
        promise: what is promised beyond k, as it was asked for; empty where that is the same for
            all runs.
    """

    key: str
    algorithm: str
    k: int
    measure: str
    loss: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    n_groups: int | None = None
    n_suppressed: int | None = None
    smallest_group: int | None = None
    seconds: float = 0.0
    error: str | None = None
    seed: int | None = None
    interval: float | None = None
    table: str = ""
    promise: str = ""

    @property
    def part(self) -> str:
        """What it can be compared with: the table and the promise."""
        return ", ".join(filter(None, (self.table, self.promise)))


@dataclass(frozen=True, eq=False)
class Comparison:
    """All runs, by table, promise, measure, algorithm, k and seed in the order asked for."""

    outcomes: tuple[Outcome, ...]
    rows: Mapping[str, int]
    n_resumed: int = 0

    @property
    def n_rows(self) -> int:
        """Rows of all tables."""
        return sum(self.rows.values())

    @cached_property
    def parts(self) -> Mapping[str, Comparison]:
        """A comparison for each table and promise, by what it is called.

        Losses of different tables or promises say nothing about each other, so frontiers, knees
        and the smallest loss at each k are those of a part.
        """
        found: dict[str, list[Outcome]] = {}
        for each in self.outcomes:
            found.setdefault(each.part, []).append(each)
        return {
            part: Comparison(tuple(runs), {runs[0].table: self.rows.get(runs[0].table, 0)})
            for part, runs in found.items()
        }

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that were minimised."""
        return tuple(dict.fromkeys(outcome.measure for outcome in self.outcomes))

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms."""
        return tuple(dict.fromkeys(outcome.algorithm for outcome in self.outcomes))

    @cached_property
    def means(self) -> tuple[Outcome, ...]:
        """The mean over seeds with its interval, for each algorithm, k, measure and part.

        Where a run of one seed failed there is no mean.
        """
        cells: dict[tuple[str, str, str, int], list[Outcome]] = {}
        for each in self.outcomes:
            cells.setdefault((each.part, each.measure, each.algorithm, each.k), []).append(each)
        return tuple(map(_mean, cells.values()))

    def frontier(self, measure: str | None = None) -> tuple[Outcome, ...]:
        """Return the smallest mean loss at each k, k ascending; of one table and promise.

        Raises:
            OptionError: there are several; take one of the ``parts``.
        """
        if len(self.parts) > 1:
            raise OptionError(
                "Losses of several tables or promises are not compared; take one of the parts: "
                "{parts}.",
                parts=", ".join(self.parts),
            )
        name = self.measures[0] if measure is None else measure
        best: dict[int, Outcome] = {}
        for outcome in self.means:
            if outcome.measure != name or outcome.loss is None:
                continue
            holder = best.get(outcome.k)
            if holder is None or holder.loss is None or outcome.loss < holder.loss:
                best[outcome.k] = outcome
        return tuple(best[k] for k in sorted(best))

    def knee(self, measure: str | None = None) -> Outcome | None:
        """Return the knee of the frontier, as the module defines it; None if there is none."""
        frontier = self.frontier(measure)
        place = find_knee([o.k for o in frontier], [float(o.loss or 0.0) for o in frontier])
        return None if place is None else frontier[place]

    def to_polars(self) -> pl.DataFrame:
        """Return one row per run."""
        import polars as pl

        names = sorted({name for outcome in self.outcomes for name in outcome.scores})
        rows = [
            {
                **({"table": o.table} if any(self.rows) else {}),
                **({"promise": o.promise} if any(each.promise for each in self.outcomes) else {}),
                "algorithm": o.algorithm,
                "k": o.k,
                "measure": o.measure,
                "seed": o.seed,
                "loss": o.loss,
                "n_groups": o.n_groups,
                "n_suppressed": o.n_suppressed,
                "smallest_group": o.smallest_group,
                "seconds": o.seconds,
                "error": o.error,
                **{name: o.scores.get(name) for name in names},
            }
            for o in self.outcomes
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_latex(self, measure: str | None = None) -> str:
        """Return a table for a paper: algorithms by k, mean loss ± half its interval.

        The smallest loss at each k is bold. Tables and promises stand below each other. It needs
        the package booktabs.
        """
        name = self.measures[0] if measure is None else measure
        sizes = sorted({each.k for each in self.outcomes})
        lines = [
            rf"\begin{{tabular}}{{l{'r' * len(sizes)}}}",
            r"\toprule",
            " & ".join(["algorithm", *(f"$k = {k}$" for k in sizes)]) + r" \\",
        ]
        for title, part in self.parts.items():
            lines.append(r"\midrule")
            if len(self.parts) > 1:
                escaped = _LATEX.sub(r"\\\g<0>", title)
                lines.append(rf"\multicolumn{{{1 + len(sizes)}}}{{l}}{{\emph{{{escaped}}}}} \\")
            lines += _latex_rows(part, name, sizes)
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])

    def report(self, path: str | PathLike[str]) -> None:
        """Write a self-contained HTML page with the frontier as a picture and a table."""
        from shoal.io.atomic import atomic_write_text

        atomic_write_text(path, render_comparison(self))

    def figures(self, folder: str | PathLike[str]) -> list[str]:
        """Write the pictures of the page as SVG files; return their names.

        For each measure: the frontier of every part, loss over time, and average ranks.
        """
        return _write_figures(self, folder)

    def cells(self, measure: str) -> list[dict[str, tuple[float, float]]]:
        """Return mean loss and seconds of each algorithm, for each part and k that all have."""
        found: dict[tuple[str, int], dict[str, tuple[float, float]]] = {}
        for each in self.means:
            if each.measure == measure and each.loss is not None:
                cell = found.setdefault((each.part, each.k), {})
                cell[each.algorithm] = each.loss, each.seconds
        return [cell for cell in found.values() if len(cell) == len(self.algorithms)]

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Comparison of {len(self.outcomes)} runs on {self.n_rows:,} rows>"

    def _repr_html_(self) -> str:
        from shoal.runtime.notebook import Page

        return Page(render_comparison(self))._repr_html_()


def _latex_rows(part: Comparison, measure: str, sizes: Sequence[int]) -> Iterator[str]:
    """Yield a line of a table for each algorithm."""
    cells = {(o.algorithm, o.k): o for o in part.means if o.measure == measure}
    best = {(o.algorithm, o.k) for o in part.frontier(measure)}
    for algorithm in part.algorithms:
        row = [_LATEX.sub(r"\\\g<0>", algorithm)]
        for k in sizes:
            each = cells[algorithm, k]
            text = "--" if each.loss is None else f"{each.loss:.4f}"
            if (algorithm, k) in best:
                text = rf"\mathbf{{{text}}}"
            row.append(text if each.loss is None else f"${text}{_give_or_take(each)}$")
        yield " & ".join(row) + r" \\"


_LATEX = re.compile(r"[_&%#$]")

# Student's t at 97.5 % for 1 to 30 degrees of freedom; beyond that it is 2 to a fortieth.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def _mean(runs: Sequence[Outcome]) -> Outcome:
    """Return the mean of runs that differ in their seeds only."""
    first = runs[0]
    if len(runs) == 1:
        return first
    failed = next((each for each in runs if each.loss is None), None)
    if failed is not None:
        return replace(failed, seed=None)
    losses = [float(each.loss or 0.0) for each in runs]
    t = _T[min(len(runs) - 1, len(_T)) - 1]
    names = set(first.scores).intersection(*(each.scores for each in runs))
    return replace(
        first,
        seed=None,
        loss=fmean(losses),
        interval=t * stdev(losses) / math.sqrt(len(runs)),
        scores={name: fmean(each.scores[name] for each in runs) for name in sorted(names)},
        n_groups=round(fmean(each.n_groups or 0 for each in runs)),
        n_suppressed=round(fmean(each.n_suppressed or 0 for each in runs)),
        smallest_group=min(each.smallest_group or 0 for each in runs),
        seconds=fmean(each.seconds for each in runs),
    )


def _give_or_take(outcome: Outcome) -> str:
    return "" if outcome.interval is None else rf" \pm {outcome.interval:.4f}"


def find_knee(sizes: Sequence[int], losses: Sequence[float]) -> int | None:
    """Return the place of the knee of a curve (see the module), or None.

    >>> find_knee([2, 4, 8, 16, 32], [0.10, 0.11, 0.12, 0.30, 0.50])
    2
    >>> find_knee([2, 4, 8], [0.1, 0.2, 0.3]) is None
    True
    """
    below = distances(sizes, losses)
    inner = below[1:-1]
    if not inner:
        return None
    best = max(inner)
    if best < 1e-6:
        best = min(inner)
    return None if abs(best) < 1e-6 else 1 + inner.index(best)


def distances(sizes: Sequence[int], losses: Sequence[float]) -> list[float]:
    """Return how far each point lies below the chord, on the scaled axes; empty if there is none.

    On these axes the chord is the diagonal, and (share of log k) − (share of loss) is the
    distance from it, times a constant.
    """
    if len(sizes) < 3:
        return []
    x = [math.log(size) for size in sizes]
    width, height = x[-1] - x[0], losses[-1] - losses[0]
    if not width > 0 or not abs(height) > 0:
        return []
    return [
        (xi - x[0]) / width - (loss - losses[0]) / height
        for xi, loss in zip(x, losses, strict=True)
    ]


# -- the page ------------------------------------------------------------------------------------

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 150, 24, 56
_DASHES = ("", "7 4", "2 4", "10 4 2 4", "4 2", "12 3", "1 3", "6 2 1 2")
_FAINT = 0.05
STYLE = """
:root { color-scheme: light dark; --ink: #14212b; --soft: #52626d; --paper: #f5f8f9; --card: #fff;
  --line: #d8e1e5; --knee: #c2410c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5ecef; --soft: #9db0ba; --paper: #10181d;
  --card: #182329; --line: #2b3a42; --knee: #ff9d66; } svg .series { filter: brightness(1.7); } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.25rem 1.25rem 4rem; max-width: 62rem; background: var(--paper);
  color: var(--ink); font: 16px/1.55 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.75rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.25rem 0 .6rem; }
p { max-width: 46rem; } .note, footer { color: var(--soft); font-size: .9rem; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 12px;
  padding: 1rem; overflow-x: auto; }
figure > svg { width: 100%; min-width: 34rem; height: auto; display: block; }
.legend { display: none; flex-wrap: wrap; gap: .3rem 1rem; margin: 0 0 .5rem; }
.legend svg { width: 12px; height: 12px; }
@media (max-width: 40rem) { .legend { display: flex; } }
svg text { fill: var(--ink); font-size: 13px; } svg text.soft { fill: var(--soft); }
svg .grid { stroke: var(--line); } svg .axis { stroke: var(--soft); }
svg .frontier { fill: none; stroke: var(--ink); stroke-width: 9; opacity: .12;
  stroke-linejoin: round; stroke-linecap: round; }
svg .knee { fill: none; stroke: var(--knee); stroke-width: 2.5; }
svg text.knee-label { fill: var(--knee); stroke: none; font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; background: var(--card); font-size: .93rem; }
th, td { text-align: left; padding: .4rem .7rem; border-bottom: 1px solid var(--line); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.best td { font-weight: 600; }
@media print { :root { --paper: #fff; } body { padding: 0; } figure { break-inside: avoid; } }
"""


def render_comparison(comparison: Comparison) -> str:
    """Return the page; it holds names, counts and scores, and no cell."""
    about = (
        f'<p class="note">{len(comparison.outcomes):,} runs on {comparison.n_rows:,} rows'
        f"{f' of {len(comparison.rows)} tables' if len(comparison.rows) > 1 else ''}: "
        f"{escape(', '.join(comparison.algorithms))}. A larger k protects more and loses more; "
        "the grey band is the frontier, the smallest loss that any algorithm reaches.</p>"
    )
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<title>Privacy and utility compared</title>",
        f"<style>{STYLE}</style></head><body>",
        "<h1>Privacy and utility compared</h1>",
        about,
    ]
    for measure in comparison.measures:
        parts += [_section(part, measure, name) for name, part in comparison.parts.items()]
        parts.append(_overall(comparison, measure))
    parts.append(
        "<footer><p>The knee is the point of the frontier furthest from the straight line between "
        "its ends, with log k and loss each scaled to 0 … 1. It is a place to start from, not a "
        "reason: who may see the release decides which k is needed.</p></footer></body></html>\n"
    )
    return "\n".join(parts)


def _section(comparison: Comparison, measure: str, part: str) -> str:
    from shoal import registry

    title = registry.load("measures", measure).title
    name = f"{escape(part)} – " if part else ""  # noqa: RUF001 - a dash, for people
    return (
        f"<section><h2>{name}Minimising {escape(measure)}: {escape(title)}</h2>\n"
        f"<figure>{_short_legend(comparison)}{frontier_svg(comparison, measure)}</figure>\n"
        f"<p>{_words(comparison, measure)}</p>\n{_use(comparison, measure)}"
        f"{_table(comparison, measure)}</section>"
    )


def _overall(comparison: Comparison, measure: str) -> str:
    """Return loss over time and average ranks, where there are algorithms to choose from."""
    words = (
        "Loss over time, over all runs: nothing that the line joins is both slower and worse than "
        "another. Runs that share the cores take longer."
    )
    cells = comparison.cells(measure)
    pictures = (
        (pareto_svg(cells, measure), words),
        (ranks_svg(cells, measure), explain_ranks(cells)),
    )
    found = [f"<figure>{drawn}</figure>\n<p>{said}</p>\n" for drawn, said in pictures if drawn]
    head = f"<h2>All of {escape(measure)}</h2>"
    return f"<section>{head}\n{''.join(found)}</section>" if found else ""


def _use(comparison: Comparison, measure: str) -> str:
    """Return the error of random counts over k, where releases were asked for them."""
    outcomes = tuple(replace(o, loss=o.scores.get(COUNT_ERROR)) for o in comparison.means)
    if all(each.loss is None for each in outcomes):
        return ""
    picture = frontier_svg(replace(comparison, outcomes=outcomes), measure, "error of counts")
    return (
        f"<figure>{picture}</figure>\n<p>How far an analyst's counts are off: the median relative "
        "error of random questions about 1 to 4 columns.</p>\n"
    )


def _words(comparison: Comparison, measure: str) -> str:
    frontier = comparison.frontier(measure)
    if not frontier:
        return "No run kept its promise."
    first, last = frontier[0], frontier[-1]
    words = (
        f"From k = {first.k} to k = {last.k} the smallest loss goes from {_shown(first.loss)} "
        f"({escape(first.algorithm)}) to {_shown(last.loss)} ({escape(last.algorithm)})."
    )
    knee = comparison.knee(measure)
    if knee is None:
        return f"{words} It has no knee."
    words = f"{words} Its knee is at k = {knee.k}, with a loss of {_shown(knee.loss)}."

    away = distances([o.k for o in frontier], [float(o.loss or 0.0) for o in frontier])
    if max(map(abs, away)) < _FAINT:
        return f"{words} The frontier is almost straight, so the knee says little."
    if max(away) < 1e-6:
        return f"{words} Up to it privacy is dear, beyond it each step costs less."
    return f"{words} Up to it privacy is cheap, beyond it each step costs more."


def frontier_svg(comparison: Comparison, measure: str, what: str = "loss") -> str:
    """Return loss over k (logarithmic), a line per algorithm, frontier and knee marked."""
    done = [o for o in comparison.means if o.measure == measure and o.loss is not None]
    named = f"{what} ({measure})" if what == "loss" else what
    label = escape(f"{named.capitalize()} over k, by algorithm")
    head = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">'
    if not done:
        return f'{head}<text x="20" y="40">No run kept its promise.</text></svg>'
    sizes = sorted({o.k for o in done})
    top = _round_up(max(o.loss or 0.0 for o in done))
    axes = _Axes(sizes[0], sizes[-1], top)
    parts = [head, f"<title>{label}</title>", axes.draw(sizes, named)]
    frontier = comparison.frontier(measure)
    if len(frontier) > 1:
        parts.append(f'<polyline class="frontier" points="{axes.points(frontier)}"/>')
    ends: list[tuple[float, int, str]] = []
    for number, algorithm in enumerate(comparison.algorithms):
        runs = sorted((o for o in done if o.algorithm == algorithm), key=lambda o: o.k)
        if runs:
            parts.append(_series(axes, runs, number))
            ends.append((axes.y(runs[-1].loss or 0.0), number, algorithm))
    parts.append(_legend(ends))
    knee = comparison.knee(measure)
    if knee is not None and knee.loss is not None:
        x, y = axes.x(knee.k), axes.y(knee.loss)
        parts.append(
            f'<circle class="knee" cx="{x:.1f}" cy="{y:.1f}" r="11"/>'
            f'<text class="knee-label" x="{x:.1f}" y="{min(y + 30, _HEIGHT - _BOTTOM - 6):.1f}" '
            f'text-anchor="middle">knee: k = {knee.k}</text>'
        )
    return "".join([*parts, "</svg>"])


class _Axes:
    """Where a k and a loss lie on the picture."""

    def __init__(self, low: int, high: int, top: float) -> None:
        self.low, self.high, self.top = math.log(low), math.log(max(high, low + 1)), top or 1.0

    def x(self, k: int) -> float:
        share = (math.log(k) - self.low) / (self.high - self.low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, loss: float) -> float:
        return _HEIGHT - _BOTTOM - loss / self.top * (_HEIGHT - _TOP - _BOTTOM)

    def points(self, runs: Sequence[Outcome]) -> str:
        return " ".join(f"{self.x(o.k):.1f},{self.y(o.loss or 0.0):.1f}" for o in runs)

    def draw(self, sizes: Sequence[int], named: str) -> str:
        base, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        parts = []
        for step in range(6):
            loss = self.top * step / 5
            y = self.y(loss)
            parts.append(
                f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
                f'<text class="soft" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
                f"{_shown(loss)}</text>"
            )
        last = -math.inf
        for k in sizes:
            x = self.x(k)
            if x - last < 26:  # numbers would run into each other
                continue
            last = x
            parts.append(
                f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 5}"/>'
                f'<text class="soft" x="{x:.1f}" y="{base + 20}" text-anchor="middle">{k}</text>'
            )
        middle = (_LEFT + right) / 2
        parts.append(
            f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{base}" y2="{base}"/>'
            f'<text x="{middle:.1f}" y="{base + 42}" text-anchor="middle">'
            "k (more privacy →)</text>"
            f'<text x="{_LEFT - 58}" y="14">{escape(named)}</text>'
        )
        return "".join(parts)


def _series(axes: _Axes, runs: Sequence[Outcome], number: int) -> str:
    colour = COLOURS[number % len(COLOURS)]
    dash = _DASHES[number % len(_DASHES)]
    line = (
        f'<polyline points="{axes.points(runs)}" fill="none" stroke="{colour}" stroke-width="2"'
        + (f' stroke-dasharray="{dash}"' if dash else "")
        + "/>"
    )
    marks = "".join(
        draw_mark(axes.x(o.k), axes.y(o.loss or 0.0), number, colour, _hover(o)) for o in runs
    )
    return f'<g class="series">{line}{marks}</g>'


def _hover(outcome: Outcome) -> str:
    return f"{outcome.algorithm}, k = {outcome.k}: {_shown(outcome.loss)} ({outcome.seconds:.1f} s)"


def _legend(ends: list[tuple[float, int, str]]) -> str:
    """Name each line at its end, moved apart where lines end close together."""
    parts, last = [], -math.inf
    for y, number, algorithm in sorted(ends):
        at = max(y, last + 18, _TOP)
        last = at
        x = _WIDTH - _RIGHT + 14
        colour = COLOURS[number % len(COLOURS)]
        mark = draw_mark(x, at, number, colour, "")
        parts.append(
            f'<g class="series">{mark}</g><text x="{x + 12}" y="{at + 4:.1f}">'
            f"{escape(algorithm)}</text>"
        )
    return "".join(parts)


def _short_legend(comparison: Comparison) -> str:
    """Name the lines above the picture, for screens that cut off its right side."""
    names = "".join(
        f'<span><svg viewBox="-7 -7 14 14" aria-hidden="true"><g class="series">'
        f"{draw_mark(0, 0, number, COLOURS[number % len(COLOURS)], '')}</g></svg> "
        f"{escape(algorithm)}</span>"
        for number, algorithm in enumerate(comparison.algorithms)
    )
    return f'<p class="legend">{names}</p>'


def _table(comparison: Comparison, measure: str) -> str:
    best = {o.key for o in comparison.frontier(measure)}
    rows = []
    for o in comparison.means:
        if o.measure != measure:
            continue
        spread = "" if o.interval is None else f" ± {_shown(o.interval)}"
        cells = (
            f'<td>{escape(o.algorithm)}</td><td class="number">{o.k}</td>'
            f'<td class="number">{_shown(o.loss)}{spread}</td>'
            f'<td class="number">{_shown(o.n_groups)}</td>'
            f'<td class="number">{_shown(o.n_suppressed)}</td>'
            f'<td class="number">{o.seconds:.2f}</td><td>{escape(o.error or "")}</td>'
        )
        rows.append(f"<tr{' class=best' if o.key in best else ''}>{cells}</tr>")
    head = "".join(
        f'<th class="{"number" if number else ""}">{name}</th>'
        for name, number in (
            ("algorithm", False), ("k", True), ("loss", True), ("groups", True),
            ("rows left out", True), ("seconds", True), ("", False),
        )
    )  # fmt: skip
    return (
        f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>\n'
        '<p class="note">Bold: on the frontier.</p>'
    )


def _shown(value: float | None) -> str:
    if value is None:
        return "–"  # noqa: RUF001 - a dash in a table, for people
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _round_up(value: float) -> float:
    """Return the next number of the form 1, 2, 2.5 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        step * power for step in (1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10) if step * power >= value
    )


# -- pictures as files -----------------------------------------------------------------------------


def _write_figures(comparison: Comparison, folder: str | PathLike[str]) -> list[str]:
    """Write all pictures as files that stand alone; return their names."""
    from shoal.io.atomic import atomic_write_text

    place = make_folder(folder)
    names: list[str] = []
    for measure in comparison.measures:
        pictures = {
            f"frontier-{part}-{measure}" if part else f"frontier-{measure}": frontier_svg(
                found, measure
            )
            for part, found in comparison.parts.items()
        }
        cells = comparison.cells(measure)
        pictures[f"time-{measure}"] = pareto_svg(cells, measure)
        pictures[f"ranks-{measure}"] = ranks_svg(cells, measure)
        for name, picture in pictures.items():
            if picture:
                names.append(re.sub(r"[^\w.=-]+", "_", name) + ".svg")
                atomic_write_text(place / names[-1], _alone(picture))
    return names


def _alone(picture: str) -> str:
    """Return a picture of the page as a file: with the colours of a light page, on white."""
    light = STYLE.replace("color-scheme: light dark", "color-scheme: light")
    dark = light[light.index("@media (prefers-color-scheme: dark)") : light.index("* { box-sizing")]
    head = '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" '
    style = f"><style>{light.replace(dark, '')}</style>"
    return f"{picture.replace('<svg ', head, 1).replace('>', style, 1)}\n"


def make_folder(path: str | PathLike[str]) -> Path:
    """Return a folder for files, made where it is missing."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            "{path!r} cannot be written: {strerror}.", path=str(path), strerror=error.strerror
        ) from None
    return folder
