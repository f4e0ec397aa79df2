"""Histograms of a sensitive column per group, in blocks that fit into memory.

A column with many values times many groups would be a table of billions of cells. Models whose
verdict depends on the counts alone get histograms without the zeros; others get full ones, a
block of groups at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from shoal.privacy.base import PrivacyModel


_BLOCK_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a model says about one column: which groups keep the promise, and the worst number."""

    holds: NDArray[np.bool_]
    measured: float


def judge(
    model: PrivacyModel,
    groups: NDArray[np.integer[Any]],
    n_groups: int,
    codes: NDArray[np.integer[Any]],
    n_codes: int,
    *,
    people: NDArray[np.integer[Any]] | None = None,
    whole: NDArray[np.int64] | None = None,
    times: NDArray[np.int64] | None = None,
) -> Verdict:
    """Return what a model says about the groups of a published table.

    Where a person has several rows, a value counts once for each person of a group.

    Args:
        model: the promise.
        groups: group of each published row, 0 … n_groups-1.
        n_groups: number of groups.
        codes: code of each row's sensitive value, in the order of the values.
        n_codes: number of codes.
        people: person of each row; None if every row is a person of its own.
        whole: histogram to compare with; that of these rows unless given.
        times: how many rows each of these stands for, one unless given; people are counted as
            they are.

    Cost: one sort of the rows (two where people count), and one pass over the histograms.
    """
    pairs, count = _count(groups.astype(np.int64) * n_codes + codes, people, times)
    if whole is None:
        whole = _whole(codes, n_codes, people, times)
    return judge_pairs(model, n_groups, pairs, count, whole)


def judge_pairs(
    model: PrivacyModel,
    n_groups: int,
    pairs: NDArray[np.int64],
    count: NDArray[np.int64],
    whole: NDArray[np.int64],
) -> Verdict:
    """Return what a model says about groups that were counted.

    Args:
        model: the promise.
        n_groups: number of groups.
        pairs: group times number of codes, plus code; rising, those that occur.
        count: how many rows (or people) have each.
        whole: histogram to compare with.
    """
    n_codes = len(whole)
    group, code = np.divmod(pairs, n_codes)
    distinct = np.bincount(group, minlength=n_groups)
    starts = np.cumsum(distinct) - distinct
    if model.order_free:
        # Groups with equally many values side by side: blocks without padding to speak of.
        code = np.arange(len(pairs)) - starts[group]
        turn = np.argsort(distinct, kind="stable")
        widths = np.maximum(distinct[turn], 1)
    else:
        turn = np.arange(n_groups)
        widths = np.full(n_groups, n_codes)
    holds = np.empty(n_groups, dtype=np.bool_)
    worst = [model.measured(np.zeros((0, 1), dtype=np.int64), whole)]
    for first, last in _blocks(widths):
        members = turn[first:last]
        width = int(widths[last - 1])
        at = np.repeat(starts[members], distinct[members]) + _within(distinct[members])
        histograms = np.zeros((last - first, width), dtype=np.int64)
        histograms[np.repeat(np.arange(last - first), distinct[members]), code[at]] = count[at]
        holds[members] = model.holds(histograms, whole)
        worst.append(model.measured(histograms, whole))
    return Verdict(holds, min(worst) if model.at_least else max(worst))


def _count(
    pair: NDArray[np.int64],
    people: NDArray[np.integer[Any]] | None,
    times: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of group and value that occur, and how many people have each."""
    if people is None and times is None:
        return np.unique(pair, return_counts=True)
    pairs, place = np.unique(pair, return_inverse=True)
    if people is None:
        return pairs, np.bincount(place, times, len(pairs)).astype(np.int64)
    several = int(people.max(initial=0)) + 1
    once = np.unique(place.astype(np.int64) * several + people) // several
    return pairs, np.bincount(once, minlength=len(pairs))


def _whole(
    codes: NDArray[np.integer[Any]],
    n_codes: int,
    people: NDArray[np.integer[Any]] | None,
    times: NDArray[np.int64] | None,
) -> NDArray[np.int64]:
    if people is not None:
        codes, times = np.unique(people.astype(np.int64) * n_codes + codes) % n_codes, None
    return np.bincount(codes, times, minlength=n_codes).astype(np.int64)


def _within(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, …, length-1 for each length, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def _blocks(widths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of groups whose histograms, as wide as the last, fit into a block."""
    first, n_groups = 0, len(widths)
    while first < n_groups:
        # Widths ascend, so a block holds no more groups than of the first one's width, and the
        # cells of the groups first … last grow with last.
        ahead = widths[first : first + max(1, _BLOCK_CELLS // int(widths[first]))]
        cells = np.arange(1, len(ahead) + 1) * ahead
        last = first + max(1, int(np.searchsorted(cells, _BLOCK_CELLS, side="right")))
        yield first, last
        first = last
