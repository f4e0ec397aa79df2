"""Promises that look at what sensitive values are, not only at how often they occur.

As in `shoal.publish.predicates`, they are written from their definitions and share nothing with
the search: numbers are read from the published cells, and a tree is a list of paths.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import OptionError
from shoal.publish.cleaning import clean, number_of
from shoal.publish.predicates import SLACK, Histograms, Outcome, close

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.cells import Reading
    from shoal.publish.predicates import Predicate

__all__ = [
    "looks_at_values",
    "numbers_of",
    "rule_by_value",
    "tree_distance",
    "ways_up",
    "wide",
]

Paths = Sequence[Sequence[str]]
"""A tree: for each leaf its label, that of its parent, and so on up to the root."""


def looks_at_values(table: Mapping[str, Any]) -> bool:
    """Return whether a promise looks at what the values are, not only at how often they occur."""
    return table.get("model") == "ke-anonymity" or table.get("distance") == "hierarchical"


def rule_by_value(
    asked: Mapping[str, Any],
    trees: Mapping[str, Paths],
    cells: pl.Series,
    reading: Reading,
    missing: frozenset[str],
) -> Predicate:
    """Return the rule of a promise that looks at what the values are.

    Args:
        asked: the promise, as in a job file.
        trees: hierarchies of the sensitive columns.
        cells: the published values of a column, or the different ones.
        reading: how they are read.
        missing: texts that stand for a missing value.

    Raises:
        OptionError: a value is no number, or the hierarchy is missing.
    """
    if asked.get("model") == "ke-anonymity":
        numbers = numbers_of(cells, reading, missing)
        return lambda counted: wide(counted, numbers, asked.get("k", 2), asked["e"])
    paths = trees.get(cells.name)
    if paths is None:
        raise OptionError(
            "t-closeness with distance='hierarchical' needs the hierarchy of column "
            f"{cells.name!r} that was used; give it with hierarchies={{{cells.name!r}: ...}} "
            f"(--hierarchy {cells.name}=FILE)."
        )
    ways = ways_up(cells, reading, paths, missing)
    return lambda counted: close(tree_distance(counted, ways), asked["t"])


def wide(counted: Histograms, numbers: NDArray[np.float64], k: int, e: float) -> Outcome:
    """A group has at least k different numbers, the largest at least e above the smallest.

    Args:
        counted: how many rows of each group have each value.
        numbers: the number of each value; NaN for a missing one.
        k: how many different ones.
        e: how far apart.
    """
    here = numbers[counted.value]
    gone = np.isnan(here)
    low = np.minimum.reduceat(np.where(gone, np.inf, here), counted.starts)
    high = np.maximum.reduceat(np.where(gone, -np.inf, here), counted.starts)
    order = np.lexsort((here, counted.group))
    fresh = np.ones(len(order), np.bool_)  # two values may be one number in another spelling
    fresh[1:] = (np.diff(here[order]) != 0) | (np.diff(counted.group[order]) != 0)
    different = np.add.reduceat((fresh & ~gone[order]).astype(np.int64), counted.starts)
    enough = different >= k
    span = np.where(enough, high - np.where(enough, low, 0.0), 0.0)
    return Outcome(span >= e * (1 - SLACK), float(span.min()))


def numbers_of(column: pl.Series, reading: Reading, missing: frozenset[str]) -> NDArray[np.float64]:
    """Return the number of each value of a column, NaN for a missing one.

    Raises:
        OptionError: a value is no number.
    """
    numbers = np.full(reading.size, np.nan)
    for code, cell in enumerate(_one_of_each(column, reading)):
        if cell is None or (isinstance(cell, str) and clean(cell, missing) is None):
            continue
        number = number_of(cell) if isinstance(cell, str) else cell
        if number is None or isinstance(number, bool) or not hasattr(number, "__float__"):
            raise OptionError(
                f"ke-anonymity needs numbers, and column {column.name!r} does not hold them; "
                "name another column with column=..."
            )
        numbers[code] = float(number)
    return numbers


def tree_distance(counted: Histograms, ways: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    """Return the earth mover's distance of each group from the whole along a tree.

    Two values are as far apart as their lowest common ancestor is high, as a share of the height of
    the tree. Half of that lies on the way up from either, so mass is moved along branches: the
    distance is the sum over nodes of the length of the branch above times the mass that crosses.

    Args:
        counted: how many rows of each group have each value.
        ways: of each value, the nodes on its way up and the length of the branch above each.
    """
    number: dict[str, int] = {}
    lengths: list[float] = []
    for way in ways:
        for label, above in way.items():
            if label not in number:
                number[label] = len(number)
                lengths.append(above)
    length = np.array(lengths)
    steps = [np.array([number[label] for label in way], np.int64) for way in ways]
    n_nodes, n_rows = len(number), int(counted.whole.sum())
    expected = np.zeros(n_nodes)
    for value, nodes in enumerate(steps):
        expected[nodes] += counted.whole[value] / n_rows
    # every pair of group and value, once for each node on the value's way
    many = np.array([len(nodes) for nodes in steps])[counted.value]
    pair = np.repeat(np.arange(len(counted.value)), many)
    node = np.concatenate([steps[value] for value in counted.value.tolist()])
    share = (counted.count / counted.sizes[counted.group])[pair]
    crossed, place = np.unique(counted.group[pair] * n_nodes + node, return_inverse=True)
    mass = np.bincount(place, weights=share, minlength=len(crossed))
    group, at = np.divmod(crossed, n_nodes)
    # nodes that no row of a group lies below miss all of what is expected there
    had = length[at] * (np.abs(mass - expected[at]) - expected[at])
    moved = np.bincount(group, weights=had, minlength=len(counted.starts)).astype(np.float64)
    return moved + float(length @ expected)


def ways_up(
    column: pl.Series, reading: Reading, paths: Paths, missing: frozenset[str]
) -> list[dict[str, float]]:
    """Return of each value the nodes on its way up the tree, with the branch above each.

    A missing value lies directly below the root. Labels of leaves and inner nodes may be equal in
    different trees, but not in one.

    Raises:
        OptionError: the hierarchy lacks a published value.
    """
    # a label that is repeated fills a line up and is one node
    paths = [[label for label, _ in itertools.groupby(path)] for path in paths]
    height: dict[str, int] = {}
    for path in paths:
        for above, label in enumerate(path):
            height[label] = max(height.get(label, 0), above)
    root = paths[0][-1]
    top = max(height[root], 1)
    way_of: dict[str, dict[str, float]] = {
        path[0]: {
            node: (height[parent] - height[node]) / (2 * top)
            for node, parent in itertools.pairwise(path)
        }
        for path in paths
    }
    ways = []
    for cell in _one_of_each(column, reading):
        known = next((way_of[label] for label in _labels(cell) if label in way_of), None)
        if known is not None:
            ways.append(known)
        elif (
            cell is None
            or (isinstance(cell, str) and clean(cell, missing) is None)
            or (isinstance(cell, float) and np.isnan(cell))
        ):
            ways.append({f"{root} without a value": 0.5})
        else:
            raise OptionError(
                f"The hierarchy of column {column.name!r} does not list all of its published "
                "values; give the one that was used."
            )
    return ways


def _labels(cell: object) -> list[str]:
    """Return the texts that a hierarchy may call a published value by."""
    if cell is None:
        return []
    if isinstance(cell, bool):
        return [str(cell).lower()]
    number = number_of(cell) if isinstance(cell, str) else cell
    texts = [str(cell)]
    if isinstance(number, float | Decimal) and number == number // 1:  # not if it is NaN
        texts.append(str(int(number)))
    if isinstance(number, Decimal):
        texts.append(format(number.normalize(), "f"))
    return texts


def _one_of_each(column: pl.Series, reading: Reading) -> list[Any]:
    """Return a cell of each value."""
    row = np.empty(reading.size, np.uint32)
    # written backwards, so that it is the first row that stays
    row[reading.codes[::-1]] = np.arange(len(column), dtype=np.uint32)[::-1]
    return column.gather(row).to_list()
