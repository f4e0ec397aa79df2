"""The order of the rows of a release: a function of the published rows and of nothing else.

Rows stand in the order of a hash of what they publish. It looks shuffled, so a reader may take the
first rows as a sample; and there is nothing behind it that could be undone: neither the order of
the input nor the seed nor the groups of the run have a part in it. Rows that publish the same stand
side by side and cannot be told apart. Whoever publishes the same rows gets the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["RowHash", "hash_cells"]

_SEEDS = (0x5348_4F41_4C21, 0x2166_7269_656E)
Hashes = np.ndarray[Any, np.dtype[np.uint64]]
_ODD = np.uint64(0x9E37_79B9_7F4A_7C15)


class RowHash:
    """Two hashes of 64 bits for every row, column by column."""

    def __init__(self, n_rows: int) -> None:
        self._hashes = [np.zeros(n_rows, np.uint64) for _ in _SEEDS]

    def add(self, cells: pl.Series, rows: NDArray[np.integer[Any]] | None = None) -> None:
        """Take the next column.

        Args:
            cells: its cells.
            rows: which of the cells each row has; its own unless given.
        """
        for seed, total in zip(_SEEDS, self._hashes, strict=True):
            own = hash_cells(cells, seed)
            _mix(total)
            np.add(total, own if rows is None else own[rows], out=total)

    def different(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return one row for each of the different things that rows show, and how many do."""
        import polars as pl

        first, second = self._hashes
        rows = pl.DataFrame({"a": first, "b": second}).with_row_index("row")
        same = rows.group_by("a", "b").agg(pl.col("row").first(), pl.len().alias("rows"))
        one, count = (same.get_column(name).to_numpy() for name in ("row", "rows"))
        return one.astype(np.int64), count.astype(np.int64)

    def singled_out(self, people: NDArray[np.integer[Any]] | None = None) -> int:
        """Return how many rows show what no other row shows, or no row of another person."""
        import polars as pl

        if people is None:
            return int(np.count_nonzero(self.different()[1] == 1))
        first, second = self._hashes
        rows = pl.DataFrame({"a": first, "b": second, "who": people}).group_by("a", "b")
        found = rows.agg(pl.col("who").n_unique(), pl.len().alias("rows"))
        return int(found.filter(pl.col("who") == 1).get_column("rows").sum())

    def order(self) -> NDArray[np.int64]:
        """Return the rows in the order of their hashes."""
        import polars as pl

        first, second = self._hashes
        _mix(first)
        _mix(second)
        order = pl.Series(first).arg_sort().to_numpy()
        ahead, behind = order[:-1], order[1:]
        # Different rows with the same hash are as good as impossible; the other one tells them
        # apart, so that not even then the order of the input is left.
        if np.any((first[ahead] == first[behind]) & (second[ahead] != second[behind])):
            order = np.lexsort((second, first))
        return order.astype(np.int64, copy=False)


def _mix(total: NDArray[np.uint64]) -> None:
    """Spread every bit over the others, so that columns do not cancel each other out."""
    total *= _ODD
    total ^= total >> np.uint64(29)
    total *= _ODD
    total ^= total >> np.uint64(32)


def hash_cells(cells: pl.Series, seed: int = _SEEDS[0]) -> NDArray[np.uint64]:
    """Return a hash of every cell that depends on what it shows alone."""
    import polars as pl

    dtype = cells.dtype
    if isinstance(dtype, pl.Categorical | pl.Enum):
        # Codes are numbered as the input had them: the texts count.
        codes = cells.to_physical()
        known = cells.unique().drop_nulls()
        texts = known.cast(pl.String).hash(seed).to_numpy()
        table = np.zeros(int(codes.max() or 0) + 2, np.uint64)  # type: ignore[arg-type]  # a code
        table[known.to_physical().to_numpy()] = texts
        looked_up: Hashes = table[codes.cast(pl.UInt32).fill_null(len(table) - 1).to_numpy()]
        return looked_up
    if dtype.is_nested() or dtype in {pl.Object, pl.Null}:
        return pl.Series(_shown(cells.to_list()), dtype=pl.String).hash(seed).to_numpy()
    if dtype.is_float():
        # All that read NaN are one, and not the same as missing.
        not_numbers = cells.is_nan().fill_null(False).to_numpy()
        hashes: Hashes = cells.fill_nan(None).hash(seed).to_numpy() + not_numbers
        return hashes
    return cells.to_physical().hash(seed).to_numpy()


def _shown(cells: Iterable[object]) -> list[str]:
    return [repr(cell) for cell in cells]
