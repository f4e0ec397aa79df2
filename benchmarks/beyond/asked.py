"""What is asked of `auto`: k from 2 to 1,000, and promises on a sensitive column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import shoal
from benchmarks.common import eight
from benchmarks.draw.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterator

EFFORTS = ("fast", "balanced", "best")
OTHER_SEEDS = (1, 2)
EVERY_K = (2, 5, 10, 25, 50, 100, 250, 500, 1000)
ARX = {5: 0.0497, 10: 0.0748, 50: 0.1507, 100: 0.1927, 500: 0.3148, 1000: 0.3835}
"""Local recoding of ARX at its best: binary hierarchies of numbers, many small steps."""

WHOSE, PEOPLE = "whose", "k people, two rows each"
PROMISES = {
    "distinct l = 3": shoal.LDiversity(3, kind="distinct"),
    "entropy l = 4": shoal.LDiversity(4, kind="entropy"),
    "recursive (3, 3)": shoal.LDiversity(3, kind="recursive", c=3.0),
    "frequency l = 3": shoal.LDiversity(3),
    "t-closeness 0.2": shoal.TCloseness(0.2),
    "t-closeness 0.4": shoal.TCloseness(0.4),
    "(alpha,k) 0.3": shoal.AlphaK(0.3),
    "t-closeness 0.1, by order": shoal.TCloseness(0.1, distance="ordered"),
    "frequency l = 2, two columns": shoal.LDiversity(2),
    PEOPLE: None,
    f"{PEOPLE}, frequency l = 3": shoal.LDiversity(3),
}
ORDERED = "hours_per_week"
ARX_PROMISES = {"t-closeness 0.2": 0.3886, "t-closeness 0.4": 0.138}
"""The same settings of ARX under promises on the occupation."""


def promised_frame(frame: Any, name: str) -> Any:
    """Return the table; where people are counted, two rows in turn belong to one person."""
    if PEOPLE not in name:
        return frame
    rng = np.random.default_rng(0)
    return frame.with_columns(pl.Series(WHOSE, rng.permutation(frame.height) // 2))


def promised_roles(frame: Any, name: str) -> dict[str, Any]:
    """Return roles in which the column of a promise is sensitive, and seven or eight are not."""
    column = ORDERED if "order" in name else "occupation"
    roles = eight(frame)
    names = [c for c in roles["quasi_identifiers"] if c != column]
    sensitive = [column, "relationship"] if "two columns" in name else [column]
    return {
        "quasi_identifiers": names,
        "sensitive": sensitive,
        "drop": [c for c in frame.columns if c not in (*names, *sensitive, WHOSE)],
        **({"person": WHOSE} if PEOPLE in name else {}),
    }


def tables_of(runs: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the two tables of the page, as far as they were run."""
    yield from _table(runs, "every k", [str(k) for k in EVERY_K], "k", _beside_arx)
    yield from _table(runs, "promises", list(PROMISES), "promise (k = 10)", _beside_arx)


def _beside_arx(row: str, found: dict[str, Any]) -> list[str]:
    seeds = [cell["loss"] for name, cell in found.items() if name == "balanced" or "seed" in name]
    spread = f"{min(seeds):.4f} to {max(seeds):.4f}" if seeds else ""
    arx = ARX.get(int(row)) if row.isdigit() else ARX_PROMISES.get(row)
    if arx is None:
        return [spread, "", "", ""]
    against = [
        f"{found[effort]['loss'] / arx - 1:+.1%}" if effort in found else ""
        for effort in ("balanced", "best")
    ]
    return [spread, f"{arx:.4f}", *against]


def _table(
    runs: dict[str, dict[str, Any]], part: str, rows: list[str], head: str, beside: Any
) -> Iterator[str]:
    names = (*EFFORTS, *(f"seed {seed}" for seed in OTHER_SEEDS))
    cells = {row: {e: runs.get(f"{part} | {row} | {e}", {}) for e in names} for row in rows}
    if not any("loss" in cell for found in cells.values() for cell in found.values()):
        return
    heads = [
        f"balanced, {1 + len(OTHER_SEEDS)} seeds",
        "ARX",
        "balanced against ARX",
        "best against ARX",
    ]
    yield f"\n## 30,162 rows of adult.data: {part}\n"
    yield "Loss (NCP) and, in brackets, seconds.\n"
    lines = []
    for row, found in cells.items():
        known = {effort: cell for effort, cell in found.items() if "loss" in cell}
        shown = [
            f"{known[e]['loss']:.4f} ({known[e]['seconds']:.1f})" if e in known else ""
            for e in EFFORTS
        ]
        lines.append([row, *shown, *beside(row, known)])
    yield from table([head, *EFFORTS, *heads], lines)
