"""A table of everybody, in the codes of the table that is published.

Whom a group covers is found from its closure. Verification does the same from the published
cells, by other code (`shoal.release_reader.classes`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shoal.errors import DataError, OptionError, did_you_mean, refuse_unknown
from shoal.hierarchy import canonical_label
from shoal.kernels.people import Boxes, count_covered, presence_of, worst_presence
from shoal.messages import Message
from shoal.privacy.base import people_in_groups
from shoal.table.closure import (
    IntervalClosures,
    SetClosures,
    TreeClosures,
    close,
    listed_sets,
)
from shoal.table.frames import to_polars
from shoal.table.partition import Partition

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.encode import Attribute, EncodedTable
    from shoal.table.schema import Algebra


_MISSING, _UNKNOWN, _LEAST = -1, -2, -3
"""Codes of a missing value, of one that no cell but "everything" covers, and below all codes."""
_MOST = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class Population:
    """Everybody who could be in the table.

    Attributes:
        people: code of each distinct combination (first axis) in each quasi-identifier.
        number: how many people have it.
        places: of each column on a line, where its codes lie on it; None for others.
    """

    people: NDArray[np.int32]
    number: NDArray[np.int64]
    places: tuple[NDArray[np.float64] | None, ...]

    @classmethod
    def of(cls, population: Any, counts: str | None, table: EncodedTable) -> Population:
        """Code a population table by the quasi-identifiers of the table that is published.

        Raises:
            OptionError: the population lacks a column.
            DataError: a column of it cannot be compared with that of the table.
        """
        frame = to_polars(population)
        columns, places = [], []
        for attribute in table.attributes:
            missing = Message("The population has no column {name!r}.{hint}")
            refuse_unknown([attribute.name], frame.columns, OptionError, missing)
            codes, line = _codes(frame.get_column(attribute.name), attribute)
            columns.append(codes)
            places.append(line)
        stacked = np.stack(columns, axis=1).astype(np.int32)
        people, of_row = np.unique(stacked, axis=0, return_inverse=True)
        number = np.bincount(
            of_row.reshape(-1), weights=numbers_of_people(frame, counts), minlength=len(people)
        )
        # in an order of no meaning, so that enough people are found early if there are many
        mixed = np.random.default_rng(0).permutation(np.flatnonzero(number > 0))
        return cls(
            np.ascontiguousarray(people[mixed]), number[mixed].astype(np.int64), tuple(places)
        )

    @property
    def total(self) -> int:
        """How many people there are."""
        return int(self.number.sum())

    def within(self, table: EncodedTable) -> tuple[Population, NDArray[np.int64]]:
        """Return whom one group of all rows covers, and their numbers: no part covers others."""
        together = Partition(np.zeros(table.n_rows, np.int32), 1)
        inside = np.empty(len(self.number))
        presence_of(self.boxes(table, together), self.people, np.ones(1), inside)
        which = np.flatnonzero(inside > 0)
        return Population(self.people[which], self.number[which], self.places), which

    def boxes(self, table: EncodedTable, partition: Partition) -> Boxes:
        """Return what the groups publish, in the codes of the population."""
        n_groups, n_columns = partition.n_groups, len(table.attributes)
        low = np.empty((n_groups, n_columns), np.int32)
        high = np.empty((n_groups, n_columns), np.int32)
        which = np.full(n_columns, -1, np.int32)
        sets: list[NDArray[np.bool_]] = []
        for c, (attribute, line) in enumerate(zip(table.attributes, self.places, strict=True)):
            closures = close(attribute, partition)
            ends, held = _BOXES[closures.algebra](attribute, closures, partition, line)
            if held is not None:
                which[c] = len(sets)
                sets.append(held)
            low[:, c], high[:, c] = ends
        width = max([each.shape[1] for each in sets], default=1)
        members = np.zeros((len(sets), n_groups, width), np.bool_)
        for s, each in enumerate(sets):
            members[s, :, : each.shape[1]] = each
        return Boxes(low, high, which, members)

    def count(
        self, table: EncodedTable, partition: Partition, enough: int | None = None
    ) -> NDArray[np.int64]:
        """Return how many people each group covers; counting may stop at ``enough``."""
        found = np.empty(partition.n_groups, np.int64)
        most = np.int64(np.iinfo(np.int64).max if enough is None else enough)
        count_covered(self.boxes(table, partition), self.people, self.number, most, found)
        return found

    def presence(
        self, table: EncodedTable, partition: Partition
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how likely each combination is in the table, and the worst that a group covers.

        Each group is a draw of its rows from all people that it covers; the chances to be in one
        of several groups add up.
        """
        boxes = self.boxes(table, partition)
        covered = np.empty(partition.n_groups, np.int64)
        most = np.int64(np.iinfo(np.int64).max)
        count_covered(boxes, self.people, self.number, most, covered)
        sizes = people_in_groups(table, partition).astype(np.float64)
        share = np.divide(sizes, covered, out=np.full(len(sizes), np.inf), where=covered > 0)
        presence = np.empty(len(self.number))
        worst = np.empty(partition.n_groups)
        presence_of(boxes, self.people, share, presence)
        worst_presence(boxes, self.people, presence, worst)
        return presence, np.where(covered > 0, worst, np.inf)


Coded = tuple["NDArray[np.int64]", "NDArray[np.float64] | None"]


def _codes(cells: pl.Series, attribute: Attribute) -> Coded:
    """Return the code of each person in a column, and where codes lie on its line."""
    if attribute.algebra == "interval" and not isinstance(attribute.values, tuple):
        return _on_line(cells, cast("pl.Series", attribute.values), attribute.name)
    distinct = cells.unique().to_list()
    if attribute.taxonomy is not None:
        leaves = attribute.taxonomy.leaf_labels
        code = {label: n for n, label in enumerate(leaves)}
    else:
        words = None if attribute.cells is None else attribute.cells.words
        code = {canonical_label(v): n for n, v in enumerate(words or attribute.values)}
    table = {
        value: _MISSING if _is_missing(value) else code.get(canonical_label(value), _UNKNOWN)
        for value in distinct
    }
    codes = np.array([table[value] for value in cells.to_list()], np.int64)
    line = np.arange(len(code), dtype=np.float64) if attribute.algebra == "interval" else None
    return codes, line


def _is_missing(value: object) -> bool:
    return value is None or value != value  # noqa: PLR0124 - NaN is missing


def _on_line(cells: pl.Series, domain: pl.Series, name: str) -> Coded:
    import polars as pl

    if domain.dtype.is_numeric() != cells.dtype.is_numeric():
        raise DataError(
            "Column {name!r} of the population is of another type than that of the table, "
            "{dtype} and not {dtype2}; convert it first.",
            name=name,
            dtype=cells.dtype,
            dtype2=domain.dtype,
        )
    try:
        same = cells if domain.dtype.is_numeric() else cells.cast(domain.dtype)
    except pl.exceptions.PolarsError:
        raise DataError(
            "Column {name!r} of the population cannot be read as {dtype}; convert it first.",
            name=name,
            dtype=domain.dtype,
        ) from None
    places = _places(same)
    known = ~np.isnan(places)
    line, rank = np.unique(places[known], return_inverse=True)
    codes = np.full(len(cells), _MISSING, np.int64)
    codes[known] = rank
    return codes, line


def _places(column: pl.Series) -> NDArray[np.float64]:
    import polars as pl

    if column.dtype.is_temporal():
        column = column.to_physical()
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)


Ends = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


Box = tuple[Ends, "NDArray[np.bool_] | None"]
"""The ends of what each group publishes, and which values between them, if not all."""


def _tree_box(attribute: Attribute, closures: TreeClosures, partition: Partition, _: object) -> Box:
    tree, nodes = attribute.taxonomy, closures.node[:-1]
    assert tree is not None
    low = np.append(tree.first_leaf.astype(np.int64), _MISSING)
    high = np.append(tree.last_leaf.astype(np.int64), _MISSING)
    low[tree.root], high[tree.root] = _LEAST, _MOST
    if attribute.listing is None:
        return (low[nodes], high[nodes]), None
    members, node = _values(attribute, partition)
    # values cover neither a missing one nor one that the tree does not have
    low_end, high_end = low[nodes], high[nodes]
    root = (low_end == _LEAST) & ~node
    ends = np.where(root, 0, low_end), np.where(root, attribute.size - 1, high_end)
    return ends, members


def _line_box(
    attribute: Attribute, closures: IntervalClosures, _: object, line: NDArray[np.float64]
) -> Box:
    cells = attribute.cells
    if isinstance(attribute.values, tuple):  # an order that was given
        assert attribute.positions is not None
        below = attribute.positions
        above = below if cells is None else cells.upper_positions
    else:
        below = _places(cast("pl.Series", attribute.values))
        above = below if cells is None else _places(cast("pl.Series", cells.upper))
    if attribute.open_below:  # an end that stands for all beyond it
        below = np.append(-np.inf, below[1:])
    if attribute.open_above:
        above = np.append(above[:-1], np.inf)
    low, high = closures.low[:-1].astype(np.int64), closures.high[:-1].astype(np.int64)
    missing, everything = low == attribute.size, closures.everything[:-1]
    low, high = np.where(missing, 0, low), np.where(missing, 0, high)
    # cells of a grid that are not whole end just before their upper line
    side = "right"
    if cells is not None and not cells.closed:
        side = "left"
    first = np.searchsorted(line, below[low], side="left")
    if cells is not None:
        after = np.searchsorted(line, below[low], side="right")
        first = np.where(cells.begins_after[low], after, first)
    last = np.searchsorted(line, above[high], side=cast("Any", side)) - 1
    if side == "left" and cells is not None:  # but for those that are one exact value
        exact = np.searchsorted(line, above[high], side="right") - 1
        last = np.where(cells.exact[high], exact, last)
    first, last = np.where(missing, _MISSING, first), np.where(missing, _MISSING, last)
    return (np.where(everything, _LEAST, first), np.where(everything, _MOST, last)), None


def _set_box(attribute: Attribute, closures: SetClosures, partition: Partition, _: object) -> Box:
    """Return the ends of each set, and its members between them."""
    everything = closures.everything[:-1]
    first = closures.indptr[:-2]
    lowest = closures.members[first].astype(np.int64)
    missing = lowest == attribute.size
    low = np.where(everything, _LEAST, np.where(missing, _MISSING, 0))
    high = np.where(everything, _MOST, np.where(missing, _MISSING, attribute.size - 1))
    held = np.zeros((partition.n_groups, attribute.size + 1), np.bool_)
    group = np.repeat(np.arange(partition.n_groups), np.diff(closures.indptr)[:-1])
    held[group, closures.members[: len(group)]] = True
    held[everything] = True
    return (low, high), held


_BOXES: dict[Algebra, Callable[..., Box]] = {
    "interval": _line_box,
    "tree": _tree_box,
    "set": _set_box,
}


def _values(
    attribute: Attribute, partition: Partition
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the values that groups publish, and which publish a node with all that it covers."""
    held, node = listed_sets(attribute, partition)
    members = np.zeros((partition.n_groups, attribute.size + 1), np.bool_)
    group = np.repeat(np.arange(partition.n_groups), np.diff(held.indptr)[:-1])
    members[group, held.members] = True
    members[node] = True
    return members, node


def numbers_of_people(frame: pl.DataFrame, counts: str | None) -> NDArray[np.int64]:
    """Return how many people each row of a population table stands for.

    Raises:
        OptionError: there is no such column.
        DataError: it does not hold whole numbers of at least 0.
    """
    if counts is None:
        return np.ones(frame.height, np.int64)
    if counts not in frame.columns:
        raise OptionError(
            "The population has no column {counts!r} of counts.{hint}",
            counts=counts,
            hint=did_you_mean(counts, frame.columns),
        )
    column = frame.get_column(counts)
    if not column.dtype.is_integer() or column.null_count() or bool((column < 0).any()):
        raise DataError(
            "Column {counts!r} of the population must say how many people each row stands "
            "for, in whole numbers of at least 0.",
            counts=counts,
        )
    return column.to_numpy().astype(np.int64)
