"""Groups that new rows can be given to, long after the rows that formed them.

A new row goes to the group whose cost grows least by taking it in: what the row itself would pay
plus what it would cost the members. Of the rows that formed the groups only closures, counts and
the distinct values of each column are kept, never a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.hierarchy import canonical_label
from shoal.kernels.groups import assign_rows
from shoal.kernels.space import ClosedGroups, Columns
from shoal.measure.base import CostModel
from shoal.search.enforce import GroupState
from shoal.search.scan import Scanner
from shoal.table.encode import Attribute, EncodedTable, narrow

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from shoal.measure.base import CostMeasure
    from shoal.table.partition import Partition


_SLICE = np.int64(2048)  # rows between two looks at Ctrl-C
_NONE = np.empty(0, np.uint8)


@dataclass(frozen=True, eq=False)
class FittedGroups:
    """The groups of a finished run, and what joining them costs.

    Attributes:
        attributes: the quasi-identifiers, without the codes of any row.
        model: cost tables of the measure, without the classes of any row.
        columns: closure of each group.
        hists: rows of each group, per sensitive value if the measure looks at one.
        costs: cost of each group.
    """

    attributes: tuple[Attribute, ...]
    model: CostModel
    columns: Columns
    hists: NDArray[np.int64]
    costs: NDArray[np.int64]

    @classmethod
    def fit(cls, table: EncodedTable, partition: Partition, measure: CostMeasure) -> FittedGroups:
        """Close the groups of a partition; class-aware measures look at the first sensitive column.

        Every column gets a place for missing values: new rows may have them where the others
        have none, and a value that was never seen is treated like one.
        """
        table = replace(
            table, attributes=tuple(replace(a, has_missing=True) for a in table.attributes)
        )
        model = CostModel.bind(measure, table, table.sensitive[0] if table.sensitive else None)
        state = GroupState(Scanner.build(table, model), partition)
        return cls(
            tuple(
                replace(a, codes=_NONE, original=None, original_positions=None)
                for a in table.attributes
            ),
            _without_rows(model, 0),
            state.groups,
            state.hists,
            state.costs,
        )

    def unknown_rows(self, frame: pl.DataFrame) -> dict[str, int]:
        """Return how many rows have a value that was never seen, by column; no column without."""
        found = {}
        for attribute in self.attributes:
            if _is_nearest(attribute):
                continue
            values = _plain(frame.get_column(attribute.name))
            codes = _codes_of(attribute, frame.get_column(attribute.name))
            rows = int(
                np.count_nonzero((codes == attribute.size) & values.is_not_null().to_numpy())
            )
            if rows:
                found[attribute.name] = rows
        return found

    def assign(self, frame: pl.DataFrame) -> NDArray[np.int64]:
        """Return the group of each row of a table with the same quasi-identifiers.

        Ties go to the group with the lowest number. Measures that look at a sensitive value do
        not know that of a new row: only what it would cost the members counts then.
        """
        n_rows, n_groups = frame.height, len(self.costs)
        attributes = tuple(
            replace(a, codes=_codes_of(a, frame.get_column(a.name))) for a in self.attributes
        )
        model = _without_rows(self.model, n_rows)
        scanner = Scanner.build(EncodedTable(n_rows, attributes, ()), model)
        columns = Columns(
            *(
                np.ascontiguousarray(np.concatenate(pair, axis=1))
                for pair in zip(self.columns, scanner.rows, strict=True)
            )
        )
        weight = int(scanner.n_classes == 1)
        ones = np.full((scanner.n_classes, n_rows), weight, np.int64)
        hists = np.concatenate((self.hists, ones), axis=1)
        costs = np.concatenate((self.costs, np.zeros(n_rows, np.int64)))
        labels = np.empty(n_rows, np.int64)
        groups = ClosedGroups(columns, hists, costs, np.empty(0, np.int64))
        scratch = scanner.scratch(n_groups)
        first = np.int64(n_groups)
        for start in range(n_groups, n_groups + n_rows, int(_SLICE)):
            begin = np.int64(start)
            end = min(begin + _SLICE, first + n_rows)
            assign_rows(scanner.space, groups, first, begin, end, scratch, labels)
        return labels


def _without_rows(model: CostModel, n_rows: int) -> CostModel:
    if model.target is None:
        return model
    return replace(model, target=replace(model.target, codes=np.zeros(n_rows, np.int32)))


def _codes_of(attribute: Attribute, column: pl.Series) -> Any:
    """Return the code of each value: the nearest known number, the same text, or missing."""
    import polars as pl

    if _is_nearest(attribute):
        assert attribute.positions is not None
        assert isinstance(attribute.values, pl.Series)
        places = column.cast(attribute.values.dtype, strict=False) if _is_time(column) else column
        numbers = places.to_physical().cast(pl.Float64, strict=False).fill_null(float("nan"))
        upper = None if attribute.cells is None else attribute.cells.upper_positions
        return narrow(_nearest(attribute.positions, numbers.to_numpy(), upper), attribute.size)
    known = _codes_of_labels(attribute)
    values = _plain(column)
    distinct = values.unique()
    codes = [
        attribute.size if value is None else known.get(canonical_label(value), attribute.size)
        for value in distinct.to_list()
    ]
    found = values.replace_strict(distinct, pl.Series(codes, dtype=pl.Int64), return_dtype=pl.Int64)
    return narrow(found.to_numpy(), attribute.size)


def _is_nearest(attribute: Attribute) -> bool:
    """Return whether a value that was never seen goes by the nearest one that was."""
    import polars as pl

    return attribute.positions is not None and isinstance(attribute.values, pl.Series)


def _plain(column: pl.Series) -> pl.Series:
    return column.fill_nan(None) if column.dtype.is_float() else column


def _is_time(column: pl.Series) -> bool:
    return column.dtype.is_temporal()


def _codes_of_labels(attribute: Attribute) -> Mapping[str, int]:
    """Return the code of every label that a value may have."""
    if attribute.taxonomy is not None:
        leaves = attribute.taxonomy.leaf_labels
        codes = range(len(leaves)) if attribute.level is None else attribute.level.of_leaf.tolist()
        return dict(zip(leaves, codes, strict=False))  # missing is the last code, not a leaf
    if attribute.cells is not None and attribute.cells.words is not None:
        return attribute.cells.words
    return {canonical_label(value): code for code, value in enumerate(attribute.values)}


def _nearest(
    positions: NDArray[np.float64],
    values: NDArray[np.float64],
    upper: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:
    """Return the nearest value; on a grid, the cell of each number or the nearest one."""
    ends = positions if upper is None else upper
    right = np.clip(np.searchsorted(positions, values), 0, len(positions) - 1)
    left = np.maximum(right - 1, 0)
    far = [np.maximum(positions[at] - values, values - ends[at]).clip(0.0) for at in (left, right)]
    # A number on a line belongs to the cell that begins there.
    closer = (far[0] <= far[1]) & (positions[right] != values)
    nearest = np.where(closer, left, right)
    return np.where(np.isnan(values), len(positions), nearest).astype(np.int64)
