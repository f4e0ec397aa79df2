"""From the values of a column to what its grid makes of them.

Numbers and dates become the cells between two lines (`shoal.table.cells`). Ordered words become
steps: the first two, the next two, and so on. Values with a hierarchy become the nodes of a level.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shoal.errors import DataError, OptionError
from shoal.table.cells import Cells, find_cells
from shoal.table.schema import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.hierarchy import Taxonomy
    from shoal.table.encode import Attribute, Codes
    from shoal.table.grid import Grid

__all__ = ["Level", "level_of", "narrow", "on_grid", "positions_of"]


@dataclass(frozen=True, eq=False)
class Level:
    """What is published of a column that stays at a level of its hierarchy, or above it.

    All values below one node of the level have one code, that of the first of them.

    Attributes:
        of_node: what is published for every node (missing last): itself, or the node of the level
            that it lies below.
        of_leaf: the code of every leaf (missing last).
        own_logs: mean of log2 (rows that share the original value) over the rows of a code,
            missing last; measures of information subtract it.
    """

    of_node: NDArray[np.int32]
    of_leaf: NDArray[np.int32]
    own_logs: NDArray[np.float64]


def narrow(codes: NDArray[Any], size: int) -> Codes:
    """Return codes 0 … size in the narrowest unsigned type."""
    for dtype in (np.uint8, np.uint16):
        if size <= np.iinfo(dtype).max:
            return codes.astype(dtype)
    return codes.astype(np.uint32)


def on_grid(attribute: Attribute, grid: Grid) -> Attribute:
    """Return the column with the cells of its grid in place of its values.

    Raises:
        OptionError: the grid does not fit the values or the hierarchy of the column.
    """
    if attribute.taxonomy is not None:
        return _at_level(attribute, attribute.taxonomy, grid.level)
    if attribute.kind is Kind.ORDINAL:
        return _in_steps(attribute, grid)
    return _between_lines(attribute, grid)


def _between_lines(attribute: Attribute, grid: Grid) -> Attribute:
    domain = cast("pl.Series", attribute.values)
    lines = find_cells(domain, grid, attribute.name)
    size = len(lines.lower)
    rows, own_logs = _counted(attribute, np.append(lines.of_value, size))
    cells = Cells(
        upper=cast("Sequence[Any]", lines.upper),
        upper_positions=positions_of(lines.upper, attribute.name),
        n_values=np.bincount(lines.of_value, minlength=size).astype(np.int64),
        own_logs=own_logs,
        exact=lines.exact,
        closed=lines.closed,
        digits=None if grid.step is None else max(-grid.step.as_tuple().exponent, 0) + 1,  # type: ignore[operator]
    )
    return replace(
        attribute,
        codes=narrow(np.append(lines.of_value, size)[attribute.codes], size),
        size=size,
        values=cast("Sequence[Any]", lines.lower),
        positions=positions_of(lines.lower, attribute.name),
        counts=rows,
        cells=cells,
        original=attribute.codes,
        original_positions=attribute.positions,
    )


def _in_steps(attribute: Attribute, grid: Grid) -> Attribute:
    """Return a column of ordered words, so many of them in one step; the last may be shorter."""
    words = tuple(attribute.values)
    assert grid.step is not None
    width = int(grid.step)
    of_value = np.arange(len(words)) // width
    size = int(of_value[-1]) + 1
    first = np.arange(size) * width
    last = np.minimum(first + width, len(words)) - 1
    rows, own_logs = _counted(attribute, np.append(of_value, size))
    cells = Cells(
        upper=tuple(words[each] for each in last.tolist()),
        upper_positions=last.astype(np.float64),
        n_values=last - first + 1,
        own_logs=own_logs,
        exact=first == last,
        closed=True,
        digits=None,
        words=dict(zip(words, of_value.tolist(), strict=True)),
    )
    return replace(
        attribute,
        codes=narrow(np.append(of_value, size)[attribute.codes], size),
        size=size,
        values=tuple(words[each] for each in first.tolist()),
        positions=first.astype(np.float64),
        counts=rows,
        cells=cells,
        original=attribute.codes,
        original_positions=attribute.positions,
    )


def level_of(tree: Taxonomy, level: int, column: str) -> NDArray[np.int32]:
    """Return what is published for every node (missing last) at a level or above it.

    Raises:
        OptionError: the tree has no such level below its root.
    """
    top = tree.tree_height - 1
    if not 1 <= level <= top:
        known = "no level" if top < 1 else "level 1 only" if top == 1 else f"levels 1 to {top}"
        raise OptionError(
            f"The grid of column {column!r} is 'level {level}', but its hierarchy has {known} "
            "between its values and its root; choose another, leave the grid out, or drop the "
            "column."
        )
    above = tree.generalization(level)
    nodes = np.arange(tree.n_nodes, dtype=np.int32)
    below = tree.depth > tree.tree_height - level
    raised = np.where(below, above[tree.first_leaf], nodes)
    return np.append(raised, tree.n_nodes).astype(np.int32)


def _at_level(attribute: Attribute, tree: Taxonomy, level: int) -> Attribute:
    of_node = level_of(tree, level, attribute.name)
    above = of_node[: tree.n_leaves]
    of_leaf = np.append(tree.first_leaf[above], tree.n_leaves).astype(np.int32)
    rows, own_logs = _counted(attribute, of_leaf)
    return replace(
        attribute,
        codes=narrow(of_leaf[attribute.codes], tree.n_leaves),
        values=tuple(tree.labels[node] for node in above.tolist()),
        counts=rows,
        level=Level(of_node, of_leaf, own_logs),
        original=attribute.codes,
    )


def _counted(
    attribute: Attribute, code_of: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return rows of each new code, and the mean of log2 (rows that share the value) over them."""
    size = int(code_of[-1]) + 1
    rows = np.bincount(code_of, weights=attribute.counts, minlength=size)
    logs = attribute.counts * np.log2(np.maximum(attribute.counts, 1))
    own = np.bincount(code_of, weights=logs, minlength=size) / np.maximum(rows, 1)
    return rows.astype(np.int64), own


def positions_of(domain: pl.Series, name: str) -> NDArray[np.float64]:
    """Return where values lie on the number line.

    Raises:
        DataError: they are text.
    """
    import polars as pl

    if domain.dtype.is_temporal():
        return domain.to_physical().cast(pl.Float64).to_numpy()
    if not domain.dtype.is_numeric():
        raise DataError(
            f"Column {name!r} is text and cannot be read as numbers; "
            "convert it, or give it another kind (flat, categorical, set)."
        )
    if isinstance(domain.dtype, pl.Decimal):
        return np.array([float(decimal.Decimal(v)) for v in domain.to_list()])
    return domain.cast(pl.Float64).to_numpy()
