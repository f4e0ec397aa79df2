"""One sensitive column as codes, and how many people have each value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.table.cleaning import Merging

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from shoal.hierarchy import Taxonomy

__all__ = ["Sensitive", "split_as_written"]


@dataclass(frozen=True, eq=False)
class Sensitive:
    """One encoded sensitive column; a missing value is a value of its own (the last code).

    Codes are those of the values as written: NaN and null are two, and so are 0.0 and -0.0.

    Attributes:
        name: column name.
        codes: code of each row.
        size: number of codes.
        ordered: whether the values have an order, which the codes then follow.
        counts: rows of the whole table with each code.
        merging: which of the values are one after cleaning; None if all differ.
        people: person of each row; None if every row is a person of its own.
        of: the column that this one is a part of, where promises that compare with the whole
            table are to be judged against that; None if these are all rows.
        numbers: of a column of numbers: the number of each code, NaN for a missing one.
        taxonomy: of a column with a hierarchy: its tree.
        leaves: of a column with a hierarchy: leaf of each code, -1 for a missing one.
        joint: rows with each code of a quasi-identifier (missing last) and each code of this
            column, by the quasi-identifier's name, where these are others than the rows at hand.
    """

    name: str
    codes: NDArray[np.int32]
    size: int
    ordered: bool
    counts: NDArray[np.int64]
    merging: Merging | None = None
    people: NDArray[np.int32] | None = None
    of: Sensitive | None = None
    numbers: NDArray[np.float64] | None = None
    taxonomy: Taxonomy | None = None
    leaves: NDArray[np.int64] | None = None
    joint: Mapping[str, NDArray[np.int64]] | None = None

    @cached_property
    def histogram(self) -> NDArray[np.int64]:
        """How many people have each code; a person who has it in several rows counts once."""
        codes: NDArray[Any] = self.codes
        if self.people is not None:
            codes = np.unique(self.people.astype(np.int64) * self.size + codes) % self.size
        return np.bincount(codes, minlength=self.size).astype(np.int64)

    @property
    def whole(self) -> NDArray[np.int64]:
        """The histogram that groups are compared with: that of all rows."""
        return self.histogram if self.of is None else self.of.histogram

    @cached_property
    def cleaned(self) -> Sensitive:
        """The column after cleaning (see `table.cleaning`); itself if that changes nothing."""
        merged = None if self.merging is None else self.merging.merged
        if merged is None:
            return self
        size = int(merged.max(initial=-1)) + 1
        counts = np.bincount(merged, weights=self.counts, minlength=size).astype(np.int64)
        of = None if self.of is None else self.of.cleaned
        # values that are one after cleaning are where the first of them is
        first = np.unique(merged, return_index=True)[1]
        return Sensitive(
            self.name,
            merged[self.codes],
            size,
            self.ordered,
            counts,
            None,
            self.people,
            of,
            None if self.numbers is None else self.numbers[first],
            self.taxonomy,
            None if self.leaves is None else self.leaves[first],
        )


def split_as_written(
    series: pl.Series, codes: NDArray[np.int32], size: int
) -> tuple[NDArray[np.int32], int, Merging | None]:
    """Give -0.0 beside 0.0, and NaN beside null, codes of their own.

    Returns:
        The codes, the number of those that are not null, and what belongs together.
    """
    merged = np.arange(size + 1, dtype=np.int32)
    values = series.fill_null(1.0).to_numpy()
    minus = (values == 0) & np.signbit(values)
    if minus.any() and not minus[values == 0].all():
        zero = codes[minus][0]
        codes = codes + ((codes >= zero) & ~minus)
        merged, size = np.insert(merged, zero, zero), size + 1
    nan = np.isnan(values)
    if nan.any():
        # Until here NaN has the code of null, which moves on if it occurs.
        if series.null_count():
            codes = codes + series.is_null().to_numpy()
            merged = np.append(merged, merged[-1])
        size += 1
    else:
        merged = merged[: size + (series.null_count() > 0)]
    same = len(merged) == int(merged.max(initial=-1)) + 1
    return codes.astype(np.int32), size, None if same else Merging(merged)
