"""Original and release in the same terms: how much of each row lies in each part of a column.

A column is cut into parts: numbers and dates at the original's quantiles, labels by value. A row
of the original lies in one part; a published cell is spread over the values that it stands for,
each as likely as the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.release_reader.columns import open_column, source_names

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.release_reader.classes import Values
    from shoal.release_reader.columns import OpenColumn

__all__ = ["View", "exact_column", "view_of"]

_PARTS = 20
_LABELS = 50


@dataclass(frozen=True, eq=False)
class View:
    """One column of both tables.

    Attributes:
        name: the column.
        line: whether its values lie on a line.
        before: part of each row of the original.
        within: share of each distinct published cell (first axis) in each part (second axis).
        codes: distinct cell of each published row.
        middles: of a line: place of each row of the original; NaN if missing.
        published: of a line: middle of each published row's cell.
        half: of a line: half the width of each distinct cell.
        n_parts: how many parts there are.
    """

    name: str
    line: bool
    before: NDArray[np.int64]
    within: NDArray[np.float64]
    codes: NDArray[np.int64]
    middles: NDArray[np.float64]
    published: NDArray[np.float64]
    half: NDArray[np.float64]
    n_parts: int

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how the original and the release are spread over the parts."""
        before: NDArray[Any] = np.bincount(self.before, minlength=self.n_parts)
        cells: NDArray[Any] = np.bincount(self.codes, minlength=len(self.within))
        after = cells @ self.within
        return before / max(before.sum(), 1), after / max(after.sum(), 1e-12)


def view_of(column: OpenColumn, values: Values) -> View:
    """Return the view of a column from its cells and the original's values."""
    return _on_line(column, values) if column.line != "label" else _labels(column, values)


def exact_column(name: str, published: pl.DataFrame) -> OpenColumn:
    """Return a column that was published as it is."""
    cells = [published.get_column(each) for each in source_names(name, published.columns)]
    numbers = cells[0].dtype.is_numeric() or cells[0].dtype.is_temporal()
    return open_column(name, cells, kind=None if numbers else "flat")


def _on_line(column: OpenColumn, values: Values) -> View:
    places = values.places
    known = places[~np.isnan(places)]
    ends = np.linspace(0, 1, _PARTS + 1)[1:-1]
    cuts: NDArray[Any] = np.empty(0)
    if len(known):  # cuts are values of the table, so that whole numbers are cut at whole ones
        cuts = np.unique(np.quantile(known, ends, method="inverted_cdf"))
    n_parts = len(cuts) + 2  # the last part is what is missing
    before = np.where(np.isnan(places), n_parts - 1, np.searchsorted(cuts, places, side="left"))
    low, high = _ends(column, known)
    within = np.zeros((len(column.cells), n_parts))
    # a whole number n covers (n - 1, n]: so do parts, which hold their upper cut
    start = low - 1 if column.whole else low
    width = high - start
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    for part in range(n_parts - 1):
        inside = np.minimum(high, edges[part + 1]) - np.maximum(start, edges[part])
        with np.errstate(divide="ignore", invalid="ignore"):
            within[:, part] = np.where(width > 0, np.clip(inside, 0, None) / width, 0.0)
    point = ~(width > 0)
    within[point] = 0.0
    rows = np.flatnonzero(point)
    within[rows, np.searchsorted(cuts, low[rows], side="left")] = 1.0
    within[column.missing] = 0.0
    within[column.missing, n_parts - 1] = 1.0
    middle = (low + high) / 2
    middle[column.missing] = np.nan
    return View(
        column.name,
        True,
        before.astype(np.int64),
        within,
        column.codes,
        places,
        middle[column.codes],
        (high - low) / 2,
        n_parts,
    )


def _ends(
    column: OpenColumn, known: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of all cells; what stands for anything has those of the column."""
    low, high = column.low.copy(), column.high.copy()
    finite = np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])
    if not len(finite):
        finite = known if len(known) else np.zeros(1)
    low[~np.isfinite(low)] = finite.min()
    high[~np.isfinite(high)] = finite.max()
    return low, np.maximum(high, low)


def _labels(column: OpenColumn, values: Values) -> View:
    assert values.covered is not None
    counts: NDArray[Any] = np.bincount(values.codes[values.codes >= 0], minlength=1)
    kept = np.argsort(-counts, kind="stable")[: _LABELS - 1]
    n_parts = len(kept) + 2  # then all others, and what is missing
    part_of = np.full(len(counts) + 1, len(kept))
    part_of[kept] = np.arange(len(kept))
    part_of[-1] = n_parts - 1
    before = part_of[values.codes]
    within = np.zeros((len(column.cells), n_parts))
    covers = values.covered
    known = covers.label < len(counts)
    np.add.at(within, (covers.cell[known], part_of[covers.label[known]]), 1.0)
    within[column.everything] = np.bincount(part_of[:-1], minlength=n_parts)
    total = within.sum(axis=1, keepdims=True)
    within = np.divide(within, total, out=np.zeros_like(within), where=total > 0)
    within[column.missing, n_parts - 1] = 1.0
    nothing = np.full(len(before), np.nan)
    return View(
        column.name,
        False,
        before.astype(np.int64),
        within,
        column.codes,
        nothing,
        np.full(len(column.codes), np.nan),
        np.zeros(len(column.cells)),
        n_parts,
    )
