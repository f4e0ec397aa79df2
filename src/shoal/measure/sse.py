"""SSE, the squared error of group means, as microaggregation counts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shoal.errors import OptionError
from shoal.measure.base import CostMeasure
from shoal.measure.loss import range_share
from shoal.table.closure import IntervalClosures, cell_middles, close, group_centres

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.measure.base import Form, Grouped
    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.partition import Partition
    from shoal.table.sensitive import Sensitive


def is_number(attribute: Attribute) -> bool:
    """Return whether a column is published as means where means are asked for."""
    return attribute.kind.has_mean


class SquaredError(CostMeasure):
    """Squared error of the means that a release publishes, as a share of the total.

    Per column SSE ÷ SST with SSE = Σᵢ (xᵢ − published mean)² and SST = Σᵢ (xᵢ − mean of all)²; the
    score is the mean over the numeric columns, which is SSE ÷ SST of standardised columns
    (Domingo-Ferrer and Mateo-Sanz 2002). 0 is the original, 1 the mean of all in every cell. The
    published mean is that of ``style={"numeric": "mean"}``, rounding on a grid included. Where
    nothing is published, because a row is left out or a value of its group is missing, the mean
    of all stands in. A missing value itself, and a column of one value, lose nothing.

    Only numbers have means: other columns do not count, and cannot be minimised. Algorithms that
    join closures see the width of intervals; refinement sees the squared error itself.
    """

    name = "sse"
    title = "squared error of group means, as a share of the total (numeric columns)"
    citation = "Domingo-Ferrer, Mateo-Sanz 2002"
    bounds: ClassVar[tuple[float | None, float | None]] = (0.0, None)
    of_means = True

    def form(self, attribute: Attribute, target: Sensitive | None, table: EncodedTable) -> Form:
        """Return how far apart the values of a group are, for algorithms that join closures."""
        del target, table
        if not is_number(attribute):
            raise OptionError(
                "Measure 'sse' is of the means of numbers, and column {name!r} has none (its "
                "kind is {value!r}); minimise another measure, such as 'ncp', and ask for "
                "'sse' as a score.",
                name=attribute.name,
                value=attribute.kind.value,
            )
        return range_share(attribute)

    def score(self, grouped: Grouped) -> float:
        """Return the weighted mean over the numeric columns."""
        columns = self.by_column(grouped)
        weights = [a.weight for a in grouped.table.attributes if a.name in columns]
        return float(np.average(list(columns.values()), weights=weights))

    def by_column(self, grouped: Grouped) -> dict[str, float]:
        """Return the share of each numeric column."""
        numbers = [a for a in grouped.table.attributes if is_number(a)]
        if not numbers:
            raise OptionError(
                "Measure 'sse' is of the means of numbers, and no quasi-identifier is numeric; "
                "choose another measure, such as 'ncp'."
            )
        return {a.name: _error_share(a, grouped.partition) for a in numbers}


def _error_share(attribute: Attribute, partition: Partition) -> float:
    codes = attribute.as_they_were
    whole = deviation_of(attribute, codes, np.ones(len(codes), np.int64))
    return whole.share(error_of(attribute, partition, whole))


@dataclass(frozen=True)
class Deviation:
    """How far the numbers of a column lie from their mean.

    Attributes:
        unit: what numbers are divided by: squares of the largest ones would be infinite.
        middle: their mean, in units.
        total: SST, in squared units; 0 if all are alike, or missing.
    """

    unit: float
    middle: float
    total: float

    def share(self, error: float) -> float:
        """Return an error as a share of the total."""
        return error / self.total if self.total > 0.0 else 0.0


def deviation_of(
    attribute: Attribute, codes: NDArray[np.integer], rows: NDArray[np.int64]
) -> Deviation:
    """Return how far numbers lie from their mean.

    Args:
        attribute: the column.
        codes: some of its values, as they were before a grid.
        rows: how many rows have each.
    """
    positions = _positions(attribute)
    known = codes < len(positions)
    value, number = positions[codes[known]], rows[known]
    if not number.sum():
        return Deviation(1.0, 0.0, 0.0)
    middles = cell_middles(attribute)
    unit = max(float(np.abs(value).max()), float(np.abs(middles).max(initial=0.0))) or 1.0
    alike = value.min() == value.max()
    value = value / unit
    middle = float(np.sum(value * number) / number.sum())
    total = 0.0 if alike else float(np.sum((value - middle) ** 2 * number))
    return Deviation(unit, middle, total)


def error_of(attribute: Attribute, partition: Partition, whole: Deviation) -> float:
    """Return SSE of the rows at hand, in squared units of the whole column."""
    positions, codes = _positions(attribute), attribute.as_they_were
    known = codes < len(positions)
    value = positions[codes[known]] / whole.unit
    centres = np.array([np.nan])  # of rows that are left out
    if partition.n_groups:
        closures = close(attribute, partition)
        assert isinstance(closures, IntervalClosures)
        centres = np.append(group_centres(attribute, closures, partition), np.nan)
    cell = centres[partition.labels[known]] / whole.unit
    error = (value - np.where(np.isnan(cell), whole.middle, cell)) ** 2
    return float(np.sum(error))


def _positions(attribute: Attribute) -> NDArray[np.float64]:
    """Return where the values lie as they were before a grid."""
    found = attribute.original_positions
    if found is None:
        found = attribute.positions
    assert found is not None
    return found
