"""Counts what a reader of the published table sees: its groups and their sensitive values.

Sensitive values are published as they are, so everything here is counted in the published table
alone; nothing of a suppressed row can appear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.hierarchy import canonical_label
from shoal.messages import Message
from shoal.publish.cells import MISSING, clean
from shoal.publish.recode import RowHash

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shoal.table.schema import Schema


MOST_VALUES = 10
_MISSING, _SEVERAL = -1, -2


@dataclass(frozen=True)
class GroupSizes:
    """How large the groups are that a reader of the published table can tell apart.

    Attributes:
        size_counts: how many groups there are of each size, smallest first.
    """

    size_counts: tuple[tuple[int, int], ...]

    @property
    def number(self) -> int:
        """How many groups there are."""
        return sum(number for _, number in self.size_counts)

    @property
    def smallest(self) -> int:
        """Rows of the smallest one."""
        return self.size_counts[0][0]

    @property
    def largest(self) -> int:
        """Rows of the largest one."""
        return self.size_counts[-1][0]

    @property
    def median(self) -> float:
        """Rows of the one in the middle; half way between two where there is none."""
        number = self.number
        return (self._at((number - 1) // 2) + self._at(number // 2)) / 2

    def size_of_share(self, share: float) -> int:
        """Return the size that such a share of the groups does not exceed."""
        return self._at(int(np.ceil(share * (self.number - 1))))

    def _at(self, place: int) -> int:
        """Return the size of the group at a place, from the smallest."""
        sizes, numbers = zip(*self.size_counts, strict=True)
        return int(sizes[int(np.searchsorted(np.cumsum(numbers), place, side="right"))])


@dataclass(frozen=True, eq=False)
class PublishedGroups:
    """The groups of a table in memory: which one each row is in."""

    of_row: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @property
    def by_size(self) -> GroupSizes:
        """How many groups there are of each size."""
        sizes, numbers = np.unique(self.sizes, return_counts=True)
        return GroupSizes(tuple(zip(sizes.tolist(), numbers.tolist(), strict=True)))


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
            (`shoal.publish.cells`). That a value is missing for all is not counted.
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


@dataclass(frozen=True)
class ReaderView:
    """What a reader of a published table sees.

    Attributes:
        groups: how large they are.
        sensitive: what they tell about each sensitive column.
        alone: rows that the columns which are published as they are single out together; where
            people are counted, rows of a person whom nobody else's rows are like.
    """

    groups: GroupSizes
    sensitive: tuple[SensitiveFacts, ...]
    alone: int


def view_in_table(
    frame: pl.DataFrame, schema: Schema, people: NDArray[np.int64] | None = None
) -> ReaderView:
    """Return what a reader of a table in memory sees.

    Args:
        frame: the published table.
        schema: the roles of its columns.
        people: number of each row's person, where people are counted.
    """
    found = read_published_groups(frame, tuple(schema.quasi_identifiers))
    facts = tuple(sensitive_facts(frame.get_column(name), found) for name in schema.sensitive)
    rows = RowHash(frame.height)
    for name in schema.exact:
        rows.add(frame.get_column(name))
    return ReaderView(found.by_size, facts, rows.singled_out(people) if schema.exact else 0)


def read_published_groups(
    frame: pl.DataFrame, quasi_identifiers: tuple[str, ...]
) -> PublishedGroups:
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
    return PublishedGroups(of_row, sizes)


def sensitive_facts(
    series: pl.Series, groups: PublishedGroups, missing: frozenset[str] = MISSING
) -> SensitiveFacts:
    """Count one sensitive column over the groups; one sort of the rows.

    Args:
        series: the column.
        groups: the groups.
        missing: cleaned texts that stand for a missing value.
    """
    cells = series.fill_nan(None) if series.dtype.is_float() else series
    counted = cells.to_frame("value").group_by("value", maintain_order=True).len("count")
    counts = counted.sort("count", descending=True, maintain_order=True)
    values = counts.get_column("value")
    numbered = values.to_frame("value").with_row_index("code")
    codes = (
        cells.to_frame("value")
        .join(numbered, on="value", how="left", nulls_equal=True, maintain_order="left")
        .get_column("code")
        .to_numpy()
        .astype(np.int64)
    )
    n_values = len(values)
    pairs, rows = np.unique(groups.of_row * n_values + codes, return_counts=True)
    group, code = np.divmod(pairs, n_values)
    in_whole = counts.get_column("count").to_numpy() / len(series)
    read = read_by_people(values, missing)
    part = part_of_facts(group, code, rows, groups.sizes, in_whole, read)
    return merged_facts(series.name, values, in_whole, [part])


def part_of_facts(
    group: NDArray[np.int64],
    code: NDArray[np.int64],
    rows: NDArray[np.int64],
    sizes: NDArray[np.int64],
    in_whole: NDArray[np.float64],
    read: NDArray[np.int64],
    digits: int | None = None,
) -> dict[str, Any]:
    """Return what some of the groups tell, as numbers that can be put together.

    Args:
        group: group of each pair of group and value that occurs, 0 …, sorted.
        code: value of each pair.
        rows: how often it occurs.
        sizes: rows of each group.
        in_whole: share of each value in the whole table.
        read: what a person reads in each value (`read_by_people`).
        digits: entropies are rounded to so many, where there are too many groups to keep all.
    """
    n_groups = len(sizes)
    share = rows / sizes[group]
    distinct = np.bincount(group, minlength=n_groups)
    entropy = np.bincount(group, weights=-share * np.log2(share), minlength=n_groups)
    largest = np.zeros(n_groups)
    np.maximum.at(largest, group, share)
    # ½ Σ |p − q|, where the values that a group does not hold add what is left of q.
    differs = np.bincount(group, weights=np.abs(share - in_whole[code]), minlength=n_groups)
    absent = 1.0 - np.bincount(group, weights=in_whole[code], minlength=n_groups)
    distance = np.clip((differs + absent) / 2, 0.0, 1.0)
    shared = _only_values(read[code], group, n_groups)
    if digits is not None:
        entropy = np.round(entropy, digits)
    tenths = np.bincount(np.minimum((distance * 10).astype(np.int64), 9), minlength=10)
    return {
        "rows": int(sizes.sum()),
        "distinct": [each.tolist() for each in np.unique(distinct, return_counts=True)],
        "entropies": [each.tolist() for each in np.unique(entropy, return_counts=True)],
        "most certain": float(largest.max()),
        "certain rows": int(sizes[shared >= 0].sum()),
        "missing rows": int(sizes[shared == _MISSING].sum()),
        "tenths": tenths.tolist(),
        "farthest": float(distance.max()),
        "distances": float(np.sum(distance * sizes)),
    }


def merged_facts(
    name: str,
    values: pl.Series,
    in_whole: NDArray[np.float64],
    parts: Sequence[dict[str, Any]],
) -> SensitiveFacts:
    """Return the facts of a column from those of parts of the groups.

    Args:
        name: the column.
        values: its different values, most frequent first.
        in_whole: share of each.
        parts: what `part_of_facts` returned.
    """
    distinct = _added(part["distinct"] for part in parts)
    entropies = _added(part["entropies"] for part in parts)
    ends = np.cumsum([number for _, number in entropies])
    middle = [(int(ends[-1]) - 1) // 2, int(ends[-1]) // 2]
    places = np.searchsorted(ends, middle, side="right").tolist()
    return SensitiveFacts(
        name=name,
        n_values=len(values),
        whole=_shares_of_values(values.head(MOST_VALUES + 1).to_list(), in_whole),
        distinct=tuple((int(value), number) for value, number in distinct),
        fewest=int(distinct[0][0]),
        least_diverse=float(2.0 ** entropies[0][0]),
        typical_diverse=float(np.mean([2.0 ** entropies[place][0] for place in places])),
        most_certain=max(part["most certain"] for part in parts),
        certain_rows=sum(part["certain rows"] for part in parts),
        missing_rows=sum(part["missing rows"] for part in parts),
        distances=tuple(np.sum([part["tenths"] for part in parts], axis=0).tolist()),
        farthest=max(part["farthest"] for part in parts),
        mean_distance=math.fsum(part["distances"] for part in parts)
        / sum(part["rows"] for part in parts),
    )


def _added(parts: Iterable[Sequence[Sequence[float]]]) -> list[tuple[float, int]]:
    """Return how often each number occurs in all parts, smallest first."""
    total: dict[float, int] = {}
    for values, numbers in parts:
        for value, number in zip(values, numbers, strict=True):
            total[value] = total.get(value, 0) + int(number)
    return sorted(total.items())


def read_by_people(values: pl.Series, missing: frozenset[str] = MISSING) -> NDArray[np.int64]:
    """Return a number for each distinct value: the same for spellings of one, `_MISSING`."""
    import polars as pl

    numbers = np.arange(len(values))
    if values.dtype == pl.String or isinstance(values.dtype, pl.Categorical | pl.Enum):
        first_places: dict[str, int] = {}
        for place, text in enumerate(values.cast(pl.String).to_list()):
            key = None if text is None else clean(text, missing)
            numbers[place] = _MISSING if key is None else first_places.setdefault(key, place)
    numbers[values.is_null().to_numpy()] = _MISSING
    return numbers


def _only_values(
    read: NDArray[np.int64], group: NDArray[np.int64], n_groups: int
) -> NDArray[np.int64]:
    """Return the one value of each group's rows; `_SEVERAL` where there are several."""
    low = np.full(n_groups, np.iinfo(np.int64).max)
    high = np.full(n_groups, _SEVERAL)
    np.minimum.at(low, group, read)
    np.maximum.at(high, group, read)
    return np.where(low == high, low, _SEVERAL)


def _shares_of_values(
    values: list[Any], shares: NDArray[np.float64]
) -> tuple[tuple[str, float], ...]:
    shown = [
        (Message("missing") if value is None else canonical_label(value), float(share))
        for value, share in zip(values, shares, strict=False)
    ]
    if len(shares) <= MOST_VALUES:
        return tuple(shown)
    kept = shown[: MOST_VALUES - 1]
    rest = len(shares) - len(kept)
    other = (Message("{n:,} other values", n=rest), float(shares[len(kept) :].sum()))
    return (*kept, other)
