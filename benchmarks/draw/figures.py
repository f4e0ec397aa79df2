"""Figures of one style: an algorithm has the same colour, marker and dash everywhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

Points = Iterable[Sequence[float]]
Series = Mapping[str, Points]


class Look(NamedTuple):
    """How a series is drawn: colour, marker (hollow or not), dash, and hatch of its bars."""

    color: str
    marker: str
    dash: Any
    hatch: str
    hollow: bool = False

    def marks(self) -> dict[str, Any]:
        """Return how matplotlib draws a line of this look."""
        return {
            "color": self.color,
            "marker": self.marker,
            "linestyle": self.dash,
            "markerfacecolor": "white" if self.hollow else self.color,
            "markeredgecolor": self.color if self.hollow else "white",
            "markeredgewidth": 1.2 if self.hollow else 0.5,
        }


SOLID: Any = "-"
LOOKS = {
    "k-member": Look("#0072B2", "o", SOLID, ""),
    "k-member, classification": Look("#56B4E9", "D", (0, (5, 1.5)), "///"),
    "k-member, goldberger-tassa": Look("#56B4E9", "d", (0, (3, 1)), "\\\\\\"),
    "mondrian": Look("#D55E00", "s", (0, (4, 2)), "xxx"),
    "oka": Look("#009E73", "^", (0, (6, 1.5, 1, 1.5)), "..."),
    "kaca": Look("#117733", "P", SOLID, "ooo"),
    "incognito": Look("#AA4499", "X", (0, (1, 1)), "+++"),
    "sequential": Look("#000000", "p", SOLID, "---"),
    "agglomerative": Look("#CC79A7", "v", (0, (3, 1.5)), "|||"),
    "hilbert": Look("#E69F00", "h", (0, (1, 1.2)), "**"),
    "loukides-shao": Look("#999933", "<", (0, (5, 1, 1, 1, 1, 1)), "--//"),
    "chiu-tsai": Look("#882255", ">", (0, (2, 1)), "||.."),
    "mdav": Look("#66CCEE", "8", (0, (4, 1, 1, 1)), "oo//"),
    "v-mdav": Look("#4477AA", "H", (0, (2, 2)), "oo--"),
    "mhm": Look("#6699CC", "v", (0, (1, 2)), "||--"),
    "datafly": Look("#AA4466", "s", (0, (6, 2)), "++.."),
    "top-down-greedy": Look("#228833", "D", SOLID, "xx--"),
    "top-down-specialization": Look("#CC6677", "P", (0, (3, 3)), "oo.."),
    "r-gather": Look("#555555", "X", (0, (2, 3)), "--.."),
    "forest": Look("#225522", "^", (0, (4, 3)), "//.."),
    "systematic": Look("#997700", "h", (0, (1, 3)), "++--"),
    "tfrp": Look("#225588", ">", (0, (5, 2, 1, 2)), "xx.."),
    "auto": Look("#CC3311", "*", SOLID, "\\\\"),
}
OTHERS = (
    Look("#332288", "o", SOLID, ""),
    Look("#DDAA33", "s", (0, (4, 2)), "///"),
    Look("#44AA99", "^", (0, (1, 1.2)), "..."),
    Look("#BB5566", "D", (0, (6, 1.5, 1, 1.5)), "xxx"),
    Look("#777777", "v", (0, (2, 1)), "\\\\\\"),
    Look("#88CCEE", "P", (0, (5, 1, 1, 1, 1, 1)), "+++"),
)
"""Looks of series that are no algorithm (measures, models), in the order they appear."""
SHOWN = {
    "k-member": "k-member",
    "k-member, classification": "k-member for classification",
    "k-member, goldberger-tassa": "k-member (Goldberger, Tassa)",
    "mondrian": "Mondrian",
    "oka": "OKA",
    "kaca": "KACA",
    "incognito": "Incognito",
    "sequential": "sequential clustering",
    "agglomerative": "agglomerative",
    "hilbert": "improved Hilbert",
    "loukides-shao": "Loukides, Shao",
    "chiu-tsai": "Chiu, Tsai",
    "mdav": "MDAV",
    "v-mdav": "V-MDAV",
    "mhm": "MHM",
    "datafly": "Datafly",
    "top-down-greedy": "top-down greedy",
    "top-down-specialization": "top-down specialisation",
    "tfrp": "TFRP",
    "auto": "Shoal's auto",
}
"""Names as readers know them; a label "name, detail" keeps its detail."""
STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#333333",
    "axes.grid": True,
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10.5,
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "lines.linewidth": 1.6,
    "lines.markersize": 6,
    "savefig.dpi": 160,
    "svg.hashsalt": "shoal",  # the same figure has the same bytes
    "xtick.direction": "out",
}


@dataclass(frozen=True)
class Panel:
    """One pair of axes with lines: (x, y) or (x, y, least, most) points per algorithm or label.

    A label is a name of `LOOKS`, "name, detail" (which looks like the name), or any other text.
    """

    series: Series
    x_label: str
    y_label: str
    title: str
    log_x: bool = False
    log_y: bool = False
    zero: bool = True  # a linear y axis begins at 0
    printed: Series = field(default_factory=dict)
    """Numbers that a paper prints, per label of a series: points of its colour without a line."""


def lines(
    stem: str,
    folder: Path,
    series: Series,
    *,
    x_label: str,
    y_label: str,
    title: str,
    log_x: bool = False,
    log_y: bool = False,
    zero: bool = True,
    printed: Series | None = None,
) -> str:
    """Draw one line per series; write stem.svg; return the stem."""
    panel = Panel(
        series,
        x_label,
        y_label,
        title,
        log_x=log_x,
        log_y=log_y,
        zero=zero,
        printed=printed or {},
    )
    return panels(stem, folder, [panel], columns=1)


def panels(stem: str, folder: Path, parts: Sequence[Panel], *, columns: int = 2) -> str:
    """Draw several panels with one legend; write stem.svg; return the stem."""
    plt = _pyplot()
    rows = -(-len(parts) // columns)
    size = (5.6, 3.5) if len(parts) == 1 else (4.1 * columns, 3.0 * rows)
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(
            rows, columns, figsize=size, squeeze=False, layout="constrained"
        )
        labels = list(dict.fromkeys(label for part in parts for label in part.series))
        looks = _looks(labels)
        for axes, part in zip(grid.flat, parts, strict=False):
            _draw_lines(axes, part, looks)
        for axes in list(grid.flat)[len(parts) :]:
            axes.axis("off")
        _legend(figure, labels, looks, printed=any(part.printed for part in parts))
        return _save(figure, stem, folder)


def intervals(
    stem: str,
    folder: Path,
    parts: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]],
    groups: Sequence[str],
    *,
    x_label: str,
    y_label: str,
    columns: int,
) -> str:
    """Draw means with their intervals, side by side in groups and not joined; write stem.svg.

    Args:
        stem: name of the files.
        folder: where they go.
        parts: per panel, by its title, and per label one (mean, half width) per group.
        groups: labels below the groups.
        x_label: what the groups are.
        y_label: quantity.
        columns: panels side by side.
    """
    plt = _pyplot()
    rows = -(-len(parts) // columns)
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(
            rows, columns, figsize=(3.9 * columns, 3.3 * rows), squeeze=False, layout="constrained"
        )
        labels = list(dict.fromkeys(label for series in parts.values() for label in series))
        looks = _looks(labels)
        for axes, (title, series) in zip(grid.flat, parts.items(), strict=False):
            for i, (label, found) in enumerate(series.items()):
                look = looks[label]
                places = [g + 0.16 * (i - (len(series) - 1) / 2) for g in range(len(groups))]
                axes.errorbar(
                    places,
                    [mean for mean, _ in found],
                    [half for _, half in found],
                    color=look.color,
                    marker=look.marker,
                    markersize=4.5,
                    linestyle="none",
                    capsize=2,
                    elinewidth=1.2,
                )
            axes.axhline(0, color="#333333", linewidth=0.8)
            axes.set(title=title, ylabel=y_label, xlabel=x_label)
            axes.set_xticks(range(len(groups)), groups)
            axes.set_xlim(-0.5, len(groups) - 0.5)
            axes.grid(visible=False, axis="x")
        handles = [_handle(looks[label], joined=False) for label in labels]
        _legend_below(figure, handles, [shown(label) for label in labels])
        return _save(figure, stem, folder)


def _handle(look: Look, *, joined: bool = True) -> Any:
    """Return the mark of a look in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **look.marks() | ({} if joined else {"linestyle": "none"}))


def bars(
    stem: str,
    folder: Path,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    y_label: str,
    title: str,
    x_label: str = "",
    log_y: bool = False,
    lowest: float | None = None,
) -> str:
    """Draw groups of bars, one bar per series; write stem.svg; return the stem.

    Args:
        stem: name of the files.
        folder: where they go.
        groups: labels below the groups.
        series: per algorithm or label one height per group; nan leaves a gap.
        y_label: quantity and unit.
        title: above the axes.
        x_label: what the groups are.
        log_y: logarithmic heights.
        lowest: where the y axis begins, 0 if not given.
    """
    plt = _pyplot()
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            figsize=(max(5.6, 0.9 + 0.9 * len(groups)), 3.5), layout="constrained"
        )
        labels = list(series)
        looks = _looks(labels)
        width = 0.82 / len(labels)
        for i, label in enumerate(labels):
            look = looks[label]
            places = [g + (i - (len(labels) - 1) / 2) * width for g in range(len(groups))]
            axes.bar(
                places,
                series[label],
                width * 0.94,
                color=look.color,
                hatch=look.hatch,
                edgecolor="white",
                linewidth=0.4,
                label=shown(label),
            )
        axes.set(title=title, ylabel=y_label, xlabel=x_label)
        axes.set_xticks(range(len(groups)), groups)
        axes.grid(visible=False, axis="x")
        if log_y:
            axes.set_yscale("log")
        if lowest is not None:
            axes.set_ylim(bottom=lowest)
        handles, names = axes.get_legend_handles_labels()
        _legend_below(figure, handles, names)
        return _save(figure, stem, folder)


def shown(label: str) -> str:
    """Return the text of a label as readers know it."""
    if label in SHOWN:
        return SHOWN[label]
    known = max((n for n in SHOWN if label.startswith(f"{n}, ")), key=len, default="")
    return SHOWN.get(known, known) + label[len(known) :]


def picture(stem: str, text: str) -> str:
    """Return the Markdown of a figure, as papers.md beside the folder needs it."""
    return f"![{text}](papers/{stem}.svg)"


_PRINTED: dict[str, Any] = {
    "linestyle": "none",
    "marker": "x",
    "markersize": 8,
    "markeredgewidth": 1.8,
}


def _looks(labels: Sequence[str]) -> dict[str, Look]:
    looks: dict[str, Look] = {}
    n_others = 0
    taken: dict[str, int] = {}
    dashes = (SOLID, (0, (4, 2)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)))
    for label in labels:
        name = label.partition(", ")[0]
        if label in LOOKS:
            looks[label] = LOOKS[label]
        elif name in LOOKS:
            # details of one algorithm share its colour and differ by dash and hollow markers
            number = taken[name] = taken.get(name, -1) + 1
            looks[label] = LOOKS[name]._replace(
                dash=dashes[number % len(dashes)], hollow=number % 2 == 0
            )
        else:
            looks[label] = OTHERS[n_others % len(OTHERS)]
            n_others += 1
    return looks


def _draw_lines(axes: Any, part: Panel, looks: Mapping[str, Look]) -> None:
    for label, points in part.series.items():
        xs, ys, *ends = zip(*points, strict=True)
        axes.plot(xs, ys, clip_on=False, zorder=3, **looks[label].marks())
        if ends:
            axes.vlines(xs, *ends, color=looks[label].color, linewidth=1, zorder=3)
    for label, points in part.printed.items():
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, clip_on=False, zorder=4, **_PRINTED | {"color": looks[label].color})
    axes.set(title=part.title, xlabel=part.x_label, ylabel=part.y_label)
    _scale(axes, part)


def _scale(axes: Any, part: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    xs = sorted({point[0] for points in part.series.values() for point in points})
    readable = FuncFormatter(lambda value, _: f"{value:,.10g}")
    if part.log_x:
        axes.set_xscale("log")
        axes.set_xticks(xs, minor=False)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.minorticks_off()
    elif len(xs) <= 12 and all(b - a == xs[1] - xs[0] for a, b in pairwise(xs)):
        axes.set_xticks(xs)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(readable)
    if part.log_y:
        axes.set_yscale("log")
        drawn = (*part.series.values(), *part.printed.values())
        ys = [point[1] for points in drawn for point in points]
        few = max(ys) < 200 * min(ys)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=12))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif part.zero:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(readable)


def _legend(
    figure: Any, labels: Sequence[str], looks: Mapping[str, Look], *, printed: bool
) -> None:
    from matplotlib.lines import Line2D

    handles = [_handle(looks[label]) for label in labels]
    names = [shown(label) for label in labels]
    if printed:
        handles.append(Line2D([], [], **_PRINTED | {"color": "#333333"}))
        names.append("as printed in the paper")
    _legend_below(figure, handles, names)


def _legend_below(figure: Any, handles: Sequence[Any], names: Sequence[str]) -> None:
    room, columns = figure.get_figwidth(), len(names)
    while columns > 1 and _legend_width(names, columns) > room:
        columns -= 1
    rows = -(-len(names) // columns)
    figure.set_figheight(figure.get_figheight() + 0.1 + 0.18 * rows)
    figure.legend(handles, names, loc="outside lower center", ncols=columns)


def _legend_width(names: Sequence[str], columns: int) -> float:
    """Return about how many inches a legend needs, filled column by column."""
    whole, rest = divmod(len(names), columns)
    ends = [i * whole + min(i, rest) for i in range(columns + 1)]
    longest = [max(map(len, names[a:b])) for a, b in pairwise(ends)]
    return sum(0.85 + 0.068 * length for length in longest)


def _save(figure: Any, stem: str, folder: Path) -> str:
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{stem}.svg", metadata={"Date": None})
    plt.close(figure)
    return stem


def _pyplot() -> Any:
    os.environ.setdefault("MPLBACKEND", "Agg")
    from matplotlib import pyplot as plt

    return plt


def heat(
    stem: str,
    folder: Path,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    title: str,
    x_label: str,
) -> str:
    """Draw a table of numbers, darker where they are higher; write stem.svg.

    Args:
        stem: name of the files.
        folder: where they go.
        rows: labels at the left.
        columns: labels below.
        values: a number of at least 1 per row and column, coloured by its logarithm; nan is blank.
        title: above the table.
        x_label: what the columns are.
    """
    import numpy as np

    plt = _pyplot()
    numbers = np.array(values, float)
    logs = np.log2(numbers)
    with plt.rc_context({**STYLE, "axes.grid": False}):
        figure, axes = plt.subplots(
            figsize=(max(5.6, 2.4 + 0.72 * len(columns)), 1.3 + 0.32 * len(rows)),
            layout="constrained",
        )
        top = max(float(np.nanmax(logs)), 1.0)
        axes.imshow(logs, cmap="Blues", vmin=0, vmax=top, aspect="auto")
        for i, j in np.argwhere(np.isfinite(numbers)):
            dark = logs[i, j] > 0.55 * top
            bold = "bold" if numbers[i, j] <= 1 else "normal"
            axes.text(
                j,
                i,
                f"{numbers[i, j]:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else "black",
                fontweight=bold,
            )
        axes.set_xticks(range(len(columns)), columns, rotation=30, ha="right")
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set(title=title, xlabel=x_label)
        return _save(figure, stem, folder)
