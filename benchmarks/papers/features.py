"""How generalised cells become numbers that a model or a rule miner can use.

Every cell of a release covers a range of codes: an interval covers the values between its ends, a
node of a taxonomy the leaves below it. Three readings of a cell are used:

* its *midpoint*, for a number: half the sum of the ends;
* its *shares*: the part of the covered values that lies in each bin of the column (each value of
  a category is a bin; numbers have up to ten bins), so that a cell "Married" counts one half for
  each of two kinds of marriage;
* *certain* bins: those that hold all covered values.

A cell that covers the whole column says nothing; its midpoint and shares are the means over the
cells of that column that say something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from shoal.table.closure import IntervalClosures, TreeClosures, close
from shoal.table.encode import encode
from shoal.table.infer import infer_kinds
from shoal.table.schema import build_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.partition import Partition

N_BINS = 10


@dataclass(frozen=True)
class Cells:
    """The cells of one column: lowest and highest covered code of each group, and its rows."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class Reading:
    """How one column is read, fixed by the original table.

    Attributes:
        name: the column.
        numbers: the value of each code, None for a category.
        bin_of: the bin of each code.
        labels: what each bin is called.
    """

    name: str
    numbers: NDArray[np.float64] | None
    bin_of: NDArray[np.int64]
    labels: tuple[str, ...]

    @property
    def n_values(self) -> int:
        """Number of codes."""
        return len(self.bin_of)

    def covers_all(self, cells: Cells) -> NDArray[np.bool_]:
        """Return where a cell says nothing."""
        all_of_it: NDArray[np.bool_] = (cells.low == 0) & (cells.high == self.n_values - 1)
        return all_of_it if self.n_values > 1 else np.zeros_like(all_of_it)

    def midpoints(self, cells: Cells) -> NDArray[np.float64]:
        """Return one number per group."""
        assert self.numbers is not None
        middle = (self.numbers[cells.low] + self.numbers[cells.high]) / 2
        return _fill(middle[:, None], self.covers_all(cells), cells.rows)[:, 0]

    def shares(self, cells: Cells) -> NDArray[np.float64]:
        """Return the share of each bin per group; every row sums to 1."""
        share = self.counts(cells) / (cells.high - cells.low + 1)[:, None]
        return _fill(share, self.covers_all(cells), cells.rows)

    def certain(self, cells: Cells) -> NDArray[np.float64]:
        """Return 1 where all covered values lie in the bin, else 0."""
        inside = self.counts(cells) == (cells.high - cells.low + 1)[:, None]
        return np.asarray(inside, np.float64)

    def counts(self, cells: Cells) -> NDArray[np.float64]:
        """Return how many covered codes lie in each bin."""
        one_hot = np.zeros((self.n_values + 1, len(self.labels)))
        one_hot[np.arange(self.n_values) + 1, self.bin_of] = 1
        upto = np.cumsum(one_hot, axis=0)
        counts: NDArray[np.float64] = upto[cells.high + 1] - upto[cells.low]
        return counts


def _fill(
    values: NDArray[np.float64], silent: NDArray[np.bool_], rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Put the mean over the rows of all other groups where a cell says nothing."""
    if silent.any() and not silent.all():
        spoken = rows * ~silent
        values[silent] = spoken @ values / spoken.sum()
    return values


def encoded(frame: Any, roles: dict[str, Any]) -> EncodedTable:
    """Return the original table as codes, which all releases of its parts share."""
    schema = build_schema(frame.columns, **roles)
    return encode(frame, infer_kinds(schema, nw.from_native(frame)))


def readings(frame: Any, table: EncodedTable) -> list[Reading]:
    """Return how the columns of the original table are read."""
    return [_reading(attribute, frame.get_column(attribute.name)) for attribute in table.attributes]


def _reading(attribute: Attribute, column: Any) -> Reading:
    values = list(attribute.values)
    if not column.dtype.is_numeric():
        return Reading(
            attribute.name, None, np.arange(len(values)), tuple(str(value) for value in values)
        )
    numbers = np.array([float(value) for value in values])
    cuts = np.quantile(column.to_numpy(), np.arange(1, N_BINS) / N_BINS, method="lower")
    edges = np.unique(cuts)
    bin_of = np.searchsorted(edges, numbers, side="left")
    used, bin_of = np.unique(bin_of, return_inverse=True)
    labels = tuple(
        f"{numbers[bin_of == b].min():g} to {numbers[bin_of == b].max():g}"
        for b in range(len(used))
    )
    return Reading(attribute.name, numbers, bin_of, labels)


def exact(table: EncodedTable) -> list[Cells]:
    """Return the cells of the original rows, each row a group of its own."""
    one = np.ones(table.n_rows, np.int64)
    return [
        Cells(attribute.codes.astype(np.int64), attribute.codes.astype(np.int64), one)
        for attribute in table.attributes
    ]


def released(table: EncodedTable, partition: Partition) -> list[Cells]:
    """Return the cells of a release, one per group."""
    found = []
    for attribute in table.attributes:
        closures = close(attribute, partition)
        if isinstance(closures, TreeClosures):
            assert attribute.taxonomy is not None
            node = closures.node[:-1]
            low, high = attribute.taxonomy.first_leaf[node], attribute.taxonomy.last_leaf[node]
        else:
            assert isinstance(closures, IntervalClosures)  # no setting has columns of sets
            low, high = closures.low[:-1], closures.high[:-1]
        found.append(Cells(low.astype(np.int64), high.astype(np.int64), partition.sizes))
    return found


def mixed_features(columns: list[Reading], cells: list[Cells]) -> NDArray[np.float64]:
    """Return midpoints of numbers and shares of categories, one row per group."""
    parts = [
        reading.shares(cell) if reading.numbers is None else reading.midpoints(cell)[:, None]
        for reading, cell in zip(columns, cells, strict=True)
    ]
    return np.concatenate(parts, axis=1)


def share_features(columns: list[Reading], cells: list[Cells]) -> NDArray[np.float64]:
    """Return the shares of all bins of all columns, one row per group."""
    return np.concatenate(
        [reading.shares(cell) for reading, cell in zip(columns, cells, strict=True)], axis=1
    )


def certain_features(columns: list[Reading], cells: list[Cells]) -> NDArray[np.float64]:
    """Return which bins are certain, one row per group."""
    return np.concatenate(
        [reading.certain(cell) for reading, cell in zip(columns, cells, strict=True)], axis=1
    )


def owners(columns: list[Reading]) -> NDArray[np.int64]:
    """Return the column of each bin."""
    return np.repeat(np.arange(len(columns)), [len(reading.labels) for reading in columns])
