"""The scale of a column for the search: what a wide interval is said to cost.

A range is stretched by its outliers: one admission in 1987 makes a year of 2023 look narrow, and a
search that counts shares of the range gives the year away. On the scale of ranks an interval costs
the share of the people that it covers; on the trimmed one, the share of the range without the
lowest and the highest hundredth of the people. Only the search looks at scales: what is published,
and what measures say about it, is as on the plain range.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shoal.errors import DataError, OptionError
from shoal.table.schema import RANGE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.schema import Schema


_TRIMMED = 0.01
_MOST_WIDE, _LEAST_WIDE = 1e300, 1e-290
"""How wide a column of numbers may be at most, and at least if it is not one number."""


def rescaled(table: EncodedTable, schema: Schema) -> EncodedTable:
    """Return the table as the search shall see it; the codes stay as they are.

    Raises:
        OptionError: a column has a scale and no numbers or dates.
    """
    scales = {name: schema[name].scale for name in schema.quasi_identifiers}
    if all(scale == RANGE for scale in scales.values()):
        return table
    return replace(
        table, attributes=tuple(_rescaled(each, scales[each.name]) for each in table.attributes)
    )


def _rescaled(attribute: Attribute, scale: str) -> Attribute:
    import numpy as np

    if scale == RANGE:
        return attribute
    if not attribute.kind.is_measured:
        raise OptionError(
            "Column {name!r} is given the scale {scale!r} but is of kind {value!r}; scales "
            "are for numbers and dates.",
            name=attribute.name,
            scale=scale,
            value=attribute.kind.value,
        )
    position, cells = attribute.positions, attribute.cells
    assert position is not None
    counts = attribute.counts[: attribute.size].astype(np.float64)
    upper = position if cells is None else cells.upper_positions
    if scale == "rank":
        after = np.cumsum(counts)
        # A value lies in the middle of its people, so that alone it costs nothing.
        low = high = after - counts / 2
        if cells is not None:
            low, high = after - counts, np.where(cells.exact, after - counts, after)
    else:
        low, high = _trimmed(position, upper, counts)
    if cells is not None:
        cells = replace(cells, upper_positions=high)
    return replace(attribute, positions=low, cells=cells)


def _trimmed(
    position: NDArray[np.float64], upper: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return positions moved to where all but a hundredth of the people on each side begin."""
    import numpy as np

    share = np.cumsum(counts) / max(float(counts.sum()), 1.0)
    first = int(np.searchsorted(share, _TRIMMED))
    last = int(np.searchsorted(share, 1 - _TRIMMED))
    if first >= min(last, len(position) - 1):
        return position, upper
    low, high = position[first], upper[min(last, len(position) - 1)]
    return np.clip(position, low, high), np.clip(upper, low, high)


def check_width(attribute: Attribute) -> None:
    """Raise if shares of the range of a column could be beyond what floats hold."""
    ends = attribute.positions
    if ends is None or not len(ends):
        return
    upper = ends if attribute.cells is None else attribute.cells.upper_positions
    width = float(upper.max()) - float(ends.min())
    if width > _MOST_WIDE or 0 < width < _LEAST_WIDE:
        raise DataError(
            "Column {name!r} holds numbers that cannot be computed with: they lie more than "
            "{most_wide:g} or less than {least_wide:g} apart; write them in another unit, or "
            "round them.",
            name=attribute.name,
            most_wide=_MOST_WIDE,
            least_wide=_LEAST_WIDE,
        )
