"""How time grows with rows, where a table is clustered as a whole and where it is cut."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from benchmarks.draw.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterator

GROWING = ("kaca", "agglomerative", "auto")
WHOLE_ROWS = (10_000, 20_000, 40_000, 80_000)


def growth(runs: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the table of losses and seconds over rows, and the powers with which time grows."""
    cells: dict[tuple[str, str], dict[int, Any]] = {}
    for key, run in runs.items():
        first, *where = key.split(" | ")
        if first == "whole" and "loss" in run:
            name, cut, n = where
            cells.setdefault((name, cut), {})[int(n)] = run
    if not cells:
        return
    sizes = sorted(set().union(*cells.values()))
    yield "\n## Whole tables and blocks: the synthetic census, 8 columns, k = 10\n"
    yield (
        "Loss (NCP) and, in brackets, CPU seconds of the whole call. The last columns are the "
        "power of the rows with which the seconds grow, over all sizes and in the last step. "
        "Agglomerative clustering passes over clusters by the bounds that KACA uses, and by these "
        "about half of them still have to be looked at. It and KACA are cut into blocks from "
        "100,000 rows on, so that their rows say the same twice here; `auto` is cut from 12,000.\n"
    )
    rows = []
    for (name, cut), found in cells.items():
        shown = [
            f"{found[n]['loss']:.4f} ({found[n]['seconds']:.1f})" if n in found else ""
            for n in sizes
        ]
        ends = (sizes[0], sizes[-1]), tuple(sizes[-2:])
        rows.append([name, cut, *shown, *(_power(found, *pair) for pair in ends)])
    heads = ["power over all", "in the last step"]
    yield from table(["algorithm", "table", *(f"{n:,}" for n in sizes), *heads], rows)
    yield (
        "\nTried for blocks instead of agglomerative clustering of all their rows, by hand: parts "
        "of a block of 600 to 6,000 similar rows, each clustered by itself and all refined "
        "together. On Adult it saves nothing and loses up to 1.4 % more; with 60 columns it saves "
        "up to 30 % of the time and loses up to 1.6 % more (parts cut by columns), or up to 45 % "
        "and 2.8 % (parts cut between the two rows farthest from each other)."
    )


def _power(found: dict[int, Any], first: int, last: int) -> str:
    if first == last or first not in found or last not in found:
        return ""
    rise = found[last]["seconds"] / found[first]["seconds"]
    return f"{math.log(rise) / math.log(last / first):.2f}"
