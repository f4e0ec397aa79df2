"""A start from cells: rows that look alike under one generalisation of all columns.

Generalisations are taken in the order of what they cost. Under each, cells of at least k of the
rows that are left become groups; so frequent combinations keep their exact values, and the rest
waits for a coarser one (the idea of ARX's local recoding, Prasser et al. 2020, with every
generalisation of a small lattice instead of a few chosen ones).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shoal.kernels.lattice import CellScratch, set_cells_aside
from shoal.table.closure import close
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shoal.measure.base import CostModel, Form
    from shoal.search.scan import Run
    from shoal.table.encode import Attribute, EncodedTable


MOST_VECTORS = 4096
"""Generalisations that are tried: levels are left out, or shared, where there would be more."""
REGULAR = 4
"""A column has regular steps if so many times its values, with them, would span it."""
SLICE_WORK = 20_000_000


@dataclass(frozen=True)
class _Level:
    """One way to generalise some columns: a mark of each row, and what it costs per row."""

    marks: NDArray[np.uint64]
    cost: float


@dataclass(frozen=True, eq=False)
class Lattice:
    """The levels of all columns, and the generalisations to try.

    Attributes:
        marks: per level, a number of each row; rows with equal numbers look alike.
        vectors: the level of each column, or bundle of columns, one generalisation per row, in
            the order of their costs.
    """

    marks: NDArray[np.uint64]
    vectors: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        table: EncodedTable,
        model: CostModel,
        weights: NDArray[np.float64] | None = None,
        most: int = MOST_VECTORS,
    ) -> Lattice:
        """Return the lattice of a table: its levels, thinned until there are few enough.

        ``weights`` multiply what the columns cost.
        """
        factors = model.weights if weights is None else model.weights * weights
        columns = [
            _levels(attribute, number, form, float(factor))
            for number, (attribute, form, factor) in enumerate(
                zip(table.attributes, model.forms, factors, strict=True)
            )
        ]
        columns = _thin(columns, most)
        sizes = [len(levels) for levels in columns]
        first = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        chosen = np.indices(sizes).reshape(len(sizes), -1)
        costs = np.zeros(chosen.shape[1])
        for levels, numbers in zip(columns, chosen, strict=True):
            costs += np.array([level.cost for level in levels])[numbers]
        vectors = (chosen + first[:, None]).T[np.argsort(costs, kind="stable")]
        marks = np.stack([level.marks for levels in columns for level in levels])
        return cls(marks, np.ascontiguousarray(vectors, np.int32))


def cell_partition(table: EncodedTable, run: Run, *, jitter: float = 0.0) -> Partition:
    """Return groups of at least k rows that are cells of a lattice, and one of what is left.

    Rows that are fewer than k in the end join the last group, which is the coarsest. Promises are
    not looked at. With ``jitter`` the weights of the columns are changed by chance, by about this
    share: the order of the generalisations is another, and so are the cells. Deterministic given
    the generator; one pass over the rows that are left per generalisation.
    """
    weights = np.exp(jitter * run.rng.standard_normal(len(table.attributes))) if jitter else None
    label, n_groups = cell_labels(Lattice.of(table, run.model, weights), run)
    if not n_groups:
        return Partition(np.zeros(table.n_rows, np.int32), 1)
    label[label < 0] = n_groups - 1
    return Partition.from_labels(label)


def cell_labels(lattice: Lattice, run: Run) -> tuple[NDArray[np.int64], int]:
    """Return the cell of every row, −1 if it is in none, and how many cells there are."""
    n = lattice.marks.shape[1]
    places = 1 << (2 * n).bit_length()
    start = lattice.vectors[0].astype(np.int64)
    scratch = CellScratch(
        np.arange(n),
        lattice.marks[start].sum(axis=0, dtype=np.uint64),
        np.empty(n, np.int64),
        np.empty(places, np.uint64),
        np.zeros(places, np.int64),
        start,
    )
    label, left, groups = np.full(n, -1, np.int64), n, 0
    at = 0
    while at < len(lattice.vectors) and left >= run.k:
        run.progress(n - left, n, "looking for cells")
        step = max(1, SLICE_WORK // max(left, 1))
        left, groups = set_cells_aside(
            lattice.marks, lattice.vectors[at : at + step], run.k, left, groups, label, scratch
        )
        at += step
    return label, groups


def _levels(attribute: Attribute, number: int, form: Form, weight: float) -> list[_Level]:
    """Return the levels of a column that cost more and more, from exact values to everything."""
    codes = _level_codes(attribute)
    found: list[_Level] = []
    for level, each in enumerate(codes):
        cells = Partition.from_labels(each[attribute.codes])
        costs = form.cost(close(attribute, cells))
        # of one class, if any: measures that look at more have no cells
        cost = weight * float(np.average(costs[:-1].ravel(), weights=cells.sizes))
        if found and cost <= found[-1].cost:
            found.pop()  # as cheap, and coarser: nothing is lost with the finer one
        marks = _mixed(each.astype(np.uint64) + np.uint64(((number << 8) + level) << 32))
        found.append(_Level(marks[attribute.codes], cost))
    return found


def _level_codes(attribute: Attribute) -> list[NDArray[np.int64]]:
    """Return what each value (missing last) becomes at each level: from itself to one for all."""
    size = attribute.size
    exact = np.arange(size + 1)
    everything = np.zeros(size + 1, np.int64)
    inner: list[NDArray[np.int64]] = []
    if attribute.taxonomy is not None:
        nodes = attribute.taxonomy.n_nodes
        inner = [np.append(level, nodes) for level in attribute.taxonomy.levels()[-2:0:-1]]
    elif attribute.positions is not None and size > 2:
        place = attribute.positions - attribute.positions[0]
        step = float(np.diff(place).min())
        if place[-1] > REGULAR * size * step:
            step = float(place[-1]) / size
        width = 2 * step
        while width < place[-1]:
            inner.append(np.append((place // width).astype(np.int64), size))
            width *= 2
    return [exact, *inner, everything]


def _thin(columns: list[list[_Level]], most: int) -> list[list[_Level]]:
    """Leave levels out until there are few enough generalisations, then bundle columns.

    Of the column with most levels every other one between its ends goes; of three the finest one:
    closures are as small as their rows allow in any case. Columns that cost about the same share
    their levels in the end: both exact, or both given up.
    """
    columns = [list(levels) for levels in columns]
    while np.prod([float(len(levels)) for levels in columns]) > most:
        longest = max(range(len(columns)), key=lambda j: len(columns[j]))
        levels = columns[longest]
        if len(levels) > 3:
            columns[longest] = [*levels[:-1:2], levels[-1]]
        elif len(levels) == 3:
            columns[longest] = levels[1:]
        else:
            columns.sort(key=lambda pair: pair[-1].cost - pair[0].cost)
            first, second = columns[:2]
            columns[:2] = [
                [
                    _Level(a.marks + b.marks, a.cost + b.cost)
                    for a, b in ((first[0], second[0]), (first[-1], second[-1]))
                ]
            ]
    return columns


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number of 64 bits that looks like chance for each value (SplitMix64)."""
    with np.errstate(over="ignore"):
        mixed = values + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))
