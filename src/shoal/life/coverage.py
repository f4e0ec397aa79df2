"""Which published cells cover which rows, and which of them is the cheapest.

Rows are compared with groups in blocks, cheapest groups first. In every column few places matter:
those between the ends of a block's intervals, or the distinct values. For each place one bit per
group says whether the group's cell covers it; a row is covered by the groups whose bits are set in
all columns, and the first of them is the cheapest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, OptionError
from shoal.hierarchy import canonical_label
from shoal.release_reader.classes import Classes, values_of
from shoal.release_reader.columns import open_column, source_names
from shoal.table.schema import Kind

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.recode import Style
    from shoal.release_reader.columns import OpenColumn
    from shoal.table.schema import Column, Schema


_BLOCK = 4096
_ROWS = 1 << 14
_CELLS = 1 << 26
Bits = np.ndarray[Any, np.dtype[np.uint8]]
_FIRST_BIT = np.array([8 - each.bit_length() for each in range(256)], np.int64)


@dataclass(frozen=True, eq=False)
class _Lines:
    """A column of intervals: where rows lie, and from where to where each group's cell reaches."""

    places: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    open_low: NDArray[np.bool_]
    open_high: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    everything: NDArray[np.bool_]
    n_places: int = 2 * _BLOCK

    @property
    def loss(self) -> NDArray[np.float64]:
        """Width of each group's cell as a share of what all cells span."""
        ends = np.concatenate([self.low[np.isfinite(self.low)], self.high[np.isfinite(self.high)]])
        span = float(ends.max() - ends.min()) if len(ends) else 0.0
        with np.errstate(invalid="ignore"):
            share = (self.high - self.low) / (span or 1.0)
        return np.where(self.everything, 1.0, np.nan_to_num(share, posinf=1.0))

    def places_of(
        self, rows: NDArray[np.int64], groups: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the place of each row, and which groups cover which place."""
        low, high = self.low[groups], self.high[groups]
        ends = np.unique(np.concatenate([low[~np.isnan(low)], high[~np.isnan(high)]]))
        values = self.places[rows]
        left = np.searchsorted(ends, values, side="left")
        on = np.zeros(len(rows), np.bool_)
        inside = left < len(ends)
        on[inside] = ends[left[inside]] == values[inside]
        nobody = 2 * len(ends) + 1
        place = np.where(np.isnan(values), nobody, 2 * left + on)
        # An end lies on an odd place, what is between two ends on an even one.
        first = 2 * np.searchsorted(ends, low) + 1 + self.open_low[groups]
        last = 2 * np.searchsorted(ends, high) + 1 - self.open_high[groups]
        every = np.arange(nobody + 1)[:, None]
        covered = (every >= first) & (every <= last) & ~np.isnan(low) & (every < nobody)
        covered[nobody] |= self.missing[groups]
        return place, covered | self.everything[groups]


@dataclass(frozen=True, eq=False)
class _Labels:
    """A column of values: which one a row has, and which ones each distinct cell stands for."""

    codes: NDArray[np.int64]
    n_labels: int
    cell: NDArray[np.int64]
    covers: NDArray[np.bool_]

    @property
    def n_places(self) -> int:
        return self.n_labels + 1

    @property
    def loss(self) -> NDArray[np.float64]:
        """Values of the table that each group's cell covers, as a share of all."""
        count = self.covers[:, : self.n_labels].sum(axis=1)
        share: NDArray[np.float64] = np.clip((count - 1) / max(self.n_labels - 1, 1), 0.0, 1.0)
        return share[self.cell]

    def places_of(
        self, rows: NDArray[np.int64], groups: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the value of each row, and which groups cover which value."""
        return self.codes[rows], self.covers[self.cell[groups]].T


class Coverage:
    """Which groups of a release cover the rows of a table.

    Args:
        cells: the published quasi-identifiers, one row per group.
        schema: what the columns are; hierarchies are grown for the rows.
        style: how cells are written.
        frame: the rows.

    Raises:
        OptionError: the release does not show how far its groups reach.
        DataError: cells or values of a column cannot be compared.
    """

    def __init__(
        self, cells: pl.DataFrame, schema: Schema, style: Style, frame: pl.DataFrame
    ) -> None:
        if style.numeric in ("mean", "median"):
            raise OptionError(
                "The release publishes a {numeric} for each group, which does not tell whom "
                "the group covers; make it with intervals (--numeric-output interval).",
                numeric=style.numeric,
            )
        self._columns = [
            _column(schema[name], cells, style, frame) for name in schema.quasi_identifiers
        ]
        self.loss = np.array([each.loss for each in self._columns]).reshape(-1, cells.height)
        """What each column (first axis) of each group (second axis) loses, 0 to 1."""
        weights = np.array([schema[name].weight for name in schema.quasi_identifiers])
        cost = weights / weights.max() @ self.loss  # shares: no weight is too large to be rounded
        self._order = np.lexsort((np.arange(cells.height), np.round(cost, 12)))
        most = max(each.n_places for each in self._columns)
        self._block = int(np.clip(_CELLS // most // 8 * 8, 64, _BLOCK))

    def cheapest(self, rows: NDArray[np.int64], alive: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return for each of these rows the cheapest group that covers it; -1 if none does.

        Args:
            rows: which rows.
            alive: which groups count.
        """
        found = np.full(len(rows), -1, np.int64)
        order = self._order[alive[self._order]]
        left = np.arange(len(rows))
        for start in range(0, len(order), self._block):
            groups = order[start : start + self._block]
            if not len(left):
                break
            bits = []
            for column in self._columns:
                place, covered = column.places_of(rows[left], groups)
                bits.append((place, np.packbits(covered, axis=1)))
            first = np.concatenate(
                [
                    _first_bit([(place[at : at + _ROWS], table) for place, table in bits])
                    for at in range(0, len(left), _ROWS)
                ]
            )
            hit = first < len(groups)
            found[left[hit]] = groups[first[hit]]
            left = left[~hit]
        return found


def _first_bit(bits: list[tuple[NDArray[np.int64], Bits]]) -> NDArray[np.int64]:
    """Return the first group that covers each row in all columns; a large number if none does."""
    place, table = bits[0]
    both = table[place]
    for place, table in bits[1:]:
        both &= table[place]
    byte = np.argmax(both != 0, axis=1)
    value = both[np.arange(len(both)), byte]
    none = np.iinfo(np.int64).max
    return np.where(value == 0, none, 8 * byte + _FIRST_BIT[value])


def _column(column: Column, cells: pl.DataFrame, style: Style, frame: pl.DataFrame) -> Any:
    name = column.name
    if column.kind is Kind.ORDINAL and column.order is None:
        raise DataError(
            "Column {name!r} is ordinal, and nobody has said in which order; make the release "
            "with an order (--order).",
            name=name,
        )
    sources = [cells.get_column(each) for each in source_names(name, cells.columns)]
    if column.kind is Kind.CATEGORICAL:
        return _by_tree(column, sources[0], frame.get_column(name))
    assert column.kind is not None
    opened = open_column(
        name,
        sources,
        style=style,
        kind=column.kind.value,
        order=column.order,
        grid=column.grid,
        coded=(column.top, column.bottom),
    )
    if opened.line == "label":
        return _by_label(opened, frame.get_column(name))
    one = Classes((opened,), np.empty((0, 1), np.int64), np.empty(0, np.int64), np.empty(0, int))
    places = values_of(frame.select(name), one).values[0].places
    each = opened.codes
    return _Lines(
        places,
        opened.low[each],
        opened.high[each],
        opened.open_low[each],
        opened.open_high[each],
        opened.missing[each],
        opened.everything[each],
    )


def _by_tree(column: Column, cells: pl.Series, values: pl.Series) -> _Labels:
    """A cell covers a value if it is its label or that of one of its ancestors."""
    codes, labels = _codes(values)
    texts, cell = _distinct(cells)
    place = {text: number for number, text in enumerate(texts) if text is not None}
    covers = np.zeros((len(texts), len(labels) + 1), np.bool_)
    tree = column.hierarchy
    if tree is not None:
        above = {path[0]: path for path in tree.to_paths()}
        for number, label in enumerate(labels):
            for each in above.get(label, (label,)):
                if each in place:
                    covers[place[each], number] = True
        root = place.get(tree.labels[tree.root])
        if root is not None:
            covers[root] = True
    return _with_missing(texts, covers, codes, len(labels), cell)


def _by_label(opened: OpenColumn, values: pl.Series) -> _Labels:
    codes, labels = _codes(values)
    place = {label: number for number, label in enumerate(labels)}
    covers = np.zeros((len(opened.cells), len(labels) + 1), np.bool_)
    for number, members in enumerate(opened.members):
        # a value that reads like a set is itself
        own = canonical_label(opened.cells[number]) if len(members) > 1 else ""
        names = (own,) if own in place and len(members) > 1 else members
        covers[number, [place[each] for each in names if each in place]] = True
    covers[opened.everything] = True
    texts = [None if gone else "" for gone in opened.missing]
    return _with_missing(texts, covers, codes, len(labels), opened.codes)


def _with_missing(
    texts: list[str | None],
    covers: NDArray[np.bool_],
    codes: NDArray[np.int64],
    n_labels: int,
    cell: NDArray[np.int64],
) -> _Labels:
    covers[[number for number, text in enumerate(texts) if text is None], -1] = True
    return _Labels(codes, n_labels, cell, covers)


def _codes(values: pl.Series) -> tuple[NDArray[np.int64], list[str]]:
    """Return the number of each row's value, the last one for missing, and the labels."""
    import polars as pl

    if values.dtype.is_float():
        values = values.fill_nan(None)
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        values = values.cast(pl.String)
    cells, of_row = _distinct(values)
    labels: dict[str, int] = {}
    number = [
        -1 if each is None else labels.setdefault(canonical_label(each), len(labels))
        for each in cells
    ]
    codes = np.array(number, np.int64)[of_row]
    return np.where(codes < 0, len(labels), codes), list(labels)


def _distinct(cells: pl.Series) -> tuple[list[Any], NDArray[np.int64]]:
    table = cells.to_frame("cell")
    distinct = table.unique(maintain_order=True).with_row_index("code")
    joined = table.join(distinct, on="cell", how="left", nulls_equal=True, maintain_order="left")
    codes = joined.get_column("code").to_numpy().astype(np.int64)
    return distinct.get_column("cell").to_list(), codes
