"""What was lost, told from the published cells alone.

The scores of a run (`Release.scores`) compare the release with the original, rows that were left
out included: an exact score over the range of all ages tells the age of the outlier that was left
out, and one over frequencies of the original tells values that were generalised away. They belong
to the holder of the data. What is handed on (certificate, report) has the losses of this file
instead: functions of the cells that a reader sees, of the hierarchies and of how many rows were
left out. Whoever has the release could compute them, so they tell nothing new.

The range of a column is what its published intervals span, the values of a set column are those
of its published sets. A column of means or medians does not show how far its groups reach, so its
loss is not stated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.measure.scores import Scores
from shoal.table.closure import IntervalClosures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shoal.publish.recode import Style
    from shoal.table.closure import Closures
    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.partition import Partition


_DIGITS = 6
_POINT = 1e-12
_FAR = 0.1

Floats = np.ndarray[Any, np.dtype[np.float64]]


def covered_shares(attribute: Attribute, closures: Closures, rows: Floats) -> Floats | None:
    """Return which share of the people each group's interval covers, from published cells alone.

    Every published row counts evenly over its own interval. A cell that is one value, or missing,
    hides nothing (0); one that tells nothing covers all (1). None if the column has no intervals
    of numbers or dates.
    """
    if not attribute.kind.is_measured:
        return None
    assert isinstance(closures, IntervalClosures)
    n_groups = len(rows)
    assert attribute.positions is not None
    everything = closures.everything[:n_groups]
    start, stop, shown = closures.published_ends(attribute, n_groups)
    # Whole numbers and days fill the gap to the next one, as cells that hold their ends do.
    whole = bool(np.all(attribute.positions == np.floor(attribute.positions)))
    if whole if attribute.cells is None else attribute.cells.closed:
        stop = stop + 1.0
    share = np.where(everything, 1.0, 0.0)
    wanted = shown & ~closures.single()[:n_groups]
    if wanted.any():
        order = np.lexsort((rows[shown], stop[shown], start[shown]))
        pieces = (start[shown][order], stop[shown][order], rows[shown][order])
        inside = _mass_between(*pieces, start[wanted], stop[wanted])
        share[wanted] = np.clip(inside / max(ordered_sum(rows[shown]), 1.0), 0.0, 1.0)
    return share


def _mass_between(start: Floats, stop: Floats, rows: Floats, low: Floats, high: Floats) -> Floats:
    """Return the rows between two ends if those of a piece are spread evenly over it."""
    zero = float(start.min())
    # a piece that is as narrow as rounding is a point: its slope would drown all others
    wide = stop - start > _POINT * (float(stop.max()) - zero)

    def below(x: Floats) -> Floats:
        total = np.zeros(len(x))
        slope = rows[wide] / (stop[wide] - start[wide])
        for ends, sign in ((start[wide], 1.0), (stop[wide], -1.0)):
            order = np.argsort(ends, kind="stable")
            at = np.searchsorted(ends[order], x, side="right")
            slopes = np.append(0.0, np.cumsum(slope[order]))[at]
            moments = np.append(0.0, np.cumsum((slope * (ends - zero))[order]))[at]
            total += sign * (slopes * (x - zero) - moments)
        return total

    points = np.append(0.0, np.cumsum(rows[~wide]))
    at = start[~wide]  # sorted, as all pieces are
    on = points[np.searchsorted(at, high, side="right")] - points[np.searchsorted(at, low)]
    between: Floats = below(high) - below(low) + on
    return between


def is_stretched(loss: float, covered: float | None) -> bool:
    """Return whether a column loses far more for its people than its range says."""
    return covered is not None and covered >= 3 * loss and covered - loss >= _FAR


def ordered_sum(numbers: Floats) -> float:
    """Return a sum that does not depend on the order of the numbers, not even in its last bit.

    How a run has numbered its groups must not be told by a rounding.
    """
    return float(np.sum(np.sort(numbers)))


def public_scores(
    table: EncodedTable, closures: Sequence[Closures], partition: Partition, style: Style
) -> Scores:
    """Return ncp and suppression, with their columns, from the published cells alone.

    ``by_column["covered"]`` tells of columns of numbers and dates which share of the people a
    published interval covers on average: ncp is a share of the range, which outliers stretch.

    Rows that were left out count as fully generalised, as in every measure. NaN stands for what
    the published cells do not tell.
    """
    sizes = [partition.sizes] * len(table.attributes)
    return scores_of_columns(table, closures, sizes, partition.n_suppressed, style)


def scores_of_columns(
    table: EncodedTable,
    closures: Sequence[Closures],
    sizes: Sequence[NDArray[np.int64]],
    n_suppressed: int,
    style: Style,
) -> Scores:
    """Return the same where closures of each column come with numbers of rows of their own.

    Args:
        table: its rows are not looked at.
        closures: what is published in each column ("everything" last).
        sizes: how many rows publish each of them.
        n_suppressed: rows that were left out.
        style: how cells are written.
    """
    hidden = style.numeric in ("mean", "median")
    names = [attribute.name for attribute in table.attributes]
    by_column: dict[str, dict[str, float]] = {"ncp": {}, "suppression": {}, "covered": {}}
    for number, (attribute, closed) in enumerate(zip(table.attributes, closures, strict=True)):
        stated = not (hidden and attribute.kind.has_mean)
        rows, n_closures = sizes[number].astype(np.float64), len(sizes[number])
        n_rows = int(sizes[number].sum()) + n_suppressed
        losses = {
            "ncp": closed.published_loss(attribute, n_closures),
            "suppression": np.where(closed.single(), 0.0, 1.0)[:n_closures],
        }
        covered = covered_shares(attribute, closed, rows)
        if covered is not None:
            losses["covered"] = covered
        for measure, loss in losses.items():
            total = ordered_sum(loss * rows) + n_suppressed
            by_column[measure][attribute.name] = (
                round(total / max(n_rows, 1), _DIGITS) if stated else np.nan
            )
    weights = table.weights
    values = {
        measure: round(float(np.average([columns[n] for n in names], weights=weights)), _DIGITS)
        for measure, columns in by_column.items()
        if measure != "covered"
    }
    return Scores(values, by_column)
