"""What the published table tells about its sensitive columns, group by group.

Sensitive values are published as they are, so everything here is counted in the published table
alone; nothing of a suppressed row can appear.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.hierarchy import canonical_label

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Groups", "SensitiveFacts", "read_published_groups", "sensitive_facts"]

MOST_VALUES = 10
_MISSING, _SEVERAL = -1, -2


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that a reader of the published table can tell apart."""

    of_row: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @property
    def size_counts(self) -> tuple[tuple[int, int], ...]:
        """How many groups there are of each size."""
        sizes, numbers = np.unique(self.sizes, return_counts=True)
        return tuple(zip(sizes.tolist(), numbers.tolist(), strict=True))


@dataclass(frozen=True)
class SensitiveFacts:
    """How one sensitive column is spread over the groups.

    Attributes:
        name: the column.
        n_values: different values in the published table.
        whole: most frequent values with their share, and the others as one.
        distinct: (different values in a group, number of groups), fewest first.
        fewest: the fewest different values in a group.
        least_diverse: the smallest effective number of values in a group: 2 to the entropy.
        typical_diverse: its median over the groups.
        most_certain: the largest share that one value has in a group.
        certain_rows: rows in groups in which everybody has the same value, as a person reads it
            (`shoal.publish.cleaning`). That a value is missing for all is not counted.
        missing_rows: rows in groups in which everybody's value is missing.
        distances: groups by their distance to the whole table, in tenths from 0 to 1.
        farthest: the largest distance (share of a group that would have to change).
        mean_distance: its mean over the rows.
    """

    name: str
    n_values: int
    whole: tuple[tuple[str, float], ...]
    distinct: tuple[tuple[int, int], ...]
    fewest: int
    least_diverse: float
    typical_diverse: float
    most_certain: float
    certain_rows: int
    missing_rows: int
    distances: tuple[int, ...]
    farthest: float
    mean_distance: float


def read_published_groups(frame: pl.DataFrame, quasi_identifiers: tuple[str, ...]) -> Groups:
    """Return the groups of rows with equal published quasi-identifiers."""
    import polars as pl

    columns = [
        column
        for name in quasi_identifiers
        for column in ([name] if name in frame.columns else [f"{name}_low", f"{name}_high"])
    ]
    keys = [f"q{number}" for number in range(len(columns))]  # a column may have any name
    cells = frame.select(pl.col(old).alias(new) for old, new in zip(columns, keys, strict=True))
    # In the order of the rows, which is one of what is published: the same page every time.
    grouped = cells.with_row_index("row").group_by(keys, maintain_order=True)
    found = grouped.agg("row").get_column("row")
    sizes = found.list.len().to_numpy().astype(np.int64)
    of_row = np.empty(frame.height, dtype=np.int64)
    if frame.height:
        of_row[found.explode().to_numpy()] = np.repeat(np.arange(len(sizes)), sizes)
    return Groups(of_row, sizes)


def sensitive_facts(series: pl.Series, groups: Groups) -> SensitiveFacts:
    """Count one sensitive column over the groups; one sort of the rows."""
    cells = series.fill_nan(None) if series.dtype.is_float() else series
    seen = cells.to_frame("value").group_by("value", maintain_order=True).len("count")
    counts = seen.sort("count", descending=True, maintain_order=True)
    values = counts.get_column("value")
    numbered = values.to_frame("value").with_row_index("code")
    codes = (
        cells.to_frame("value")
        .join(numbered, on="value", how="left", nulls_equal=True, maintain_order="left")
        .get_column("code")
        .to_numpy()
        .astype(np.int64)
    )
    n_groups, n_values = len(groups.sizes), len(values)
    pairs, rows = np.unique(groups.of_row * n_values + codes, return_counts=True)
    group, code = np.divmod(pairs, n_values)
    in_whole = counts.get_column("count").to_numpy() / len(series)
    share = rows / groups.sizes[group]
    distinct = np.bincount(group, minlength=n_groups)
    entropy = np.bincount(group, weights=-share * np.log2(share), minlength=n_groups)
    largest = np.zeros(n_groups)
    np.maximum.at(largest, group, share)
    # ½ Σ |p − q|, where the values that a group does not hold add what is left of q.
    differs = np.bincount(group, weights=np.abs(share - in_whole[code]), minlength=n_groups)
    absent = 1.0 - np.bincount(group, weights=in_whole[code], minlength=n_groups)
    distance = np.clip((differs + absent) / 2, 0.0, 1.0)
    diverse = 2.0**entropy
    shared = _shared_value(_as_person_reads(values)[code], group, n_groups)
    number, groups_of = np.unique(distinct, return_counts=True)
    tenths = np.bincount(np.minimum((distance * 10).astype(np.int64), 9), minlength=10)
    return SensitiveFacts(
        name=series.name,
        n_values=n_values,
        whole=_whole(values.head(MOST_VALUES + 1).to_list(), in_whole),
        distinct=tuple(zip(number.tolist(), groups_of.tolist(), strict=True)),
        fewest=int(distinct.min()),
        least_diverse=float(diverse.min()),
        typical_diverse=float(np.median(diverse)),
        most_certain=float(largest.max()),
        certain_rows=int(groups.sizes[shared >= 0].sum()),
        missing_rows=int(groups.sizes[shared == _MISSING].sum()),
        distances=tuple(tenths.tolist()),
        farthest=float(distance.max()),
        mean_distance=float(np.sum(distance * groups.sizes)) / len(series),
    )


def _as_person_reads(values: pl.Series) -> NDArray[np.int64]:
    """Return a number for each distinct value: the same for spellings of one, `_MISSING`."""
    import polars as pl

    from shoal.publish.cleaning import clean

    numbers = np.arange(len(values))
    if values.dtype == pl.String or isinstance(values.dtype, pl.Categorical | pl.Enum):
        seen: dict[str, int] = {}
        for place, text in enumerate(values.cast(pl.String).to_list()):
            key = None if text is None else clean(text)
            numbers[place] = _MISSING if key is None else seen.setdefault(key, place)
    numbers[values.is_null().to_numpy()] = _MISSING
    return numbers


def _shared_value(
    read: NDArray[np.int64], group: NDArray[np.int64], n_groups: int
) -> NDArray[np.int64]:
    """Return the one value of each group's rows; `_SEVERAL` where there are several."""
    low = np.full(n_groups, np.iinfo(np.int64).max)
    high = np.full(n_groups, _SEVERAL)
    np.minimum.at(low, group, read)
    np.maximum.at(high, group, read)
    return np.where(low == high, low, _SEVERAL)


def _whole(values: list[Any], shares: NDArray[np.float64]) -> tuple[tuple[str, float], ...]:
    shown = [
        ("missing" if value is None else canonical_label(value), float(share))
        for value, share in zip(values, shares, strict=False)
    ]
    if len(shares) <= MOST_VALUES:
        return tuple(shown)
    kept = shown[: MOST_VALUES - 1]
    rest = len(shares) - len(kept)
    other = (f"{rest:,} other values", float(shares[len(kept) :].sum()))
    return (*kept, other)
