"""The promises, written from their definitions and from nothing else.

Each takes the histogram of every group and says which groups keep the promise and what the worst
one reaches. Counts are whole numbers and are compared as such, or as fractions, with the number
that was promised. A promised number that is not whole was rounded when it became a 64-bit float,
so that comparisons with it allow `SLACK`; whole ones are compared exactly. Only the entropy needs
logarithms, and the distances a division: their errors are far below the slack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "SLACK",
    "Histograms",
    "Outcome",
    "Predicate",
    "close",
    "count_people",
    "count_values",
    "predicate_of",
]

SLACK = 1e-9
"""What a comparison with a promised number that is not whole allows."""


@dataclass(frozen=True, eq=False)
class Histograms:
    """How many rows of each group have each value; only pairs that occur, by group, then value.

    Where a person may have several rows, these are people: a value counts once for a person.

    Attributes:
        group: group of each pair, 0 …; every group occurs.
        value: value of each pair, 0 … in the order of the values.
        count: rows of each pair, at least 1.
        starts: where each group begins among the pairs.
        whole: rows of the whole table with each value, at least 1.
    """

    group: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]
    starts: NDArray[np.int64]
    whole: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each group."""
        return np.add.reduceat(self.count, self.starts)

    @property
    def most(self) -> NDArray[np.int64]:
        """Rows with the most frequent value of each group."""
        return np.maximum.reduceat(self.count, self.starts)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Which groups keep a promise, and the worst number that any of them reaches."""

    holds: NDArray[np.bool_]
    worst: float


Predicate = Callable[[Histograms], Outcome]


def count_values(
    groups: NDArray[np.int64],
    values: NDArray[np.integer[Any]],
    n_values: int,
    people: NDArray[np.int64] | None = None,
) -> Histograms:
    """Count the values of every group; groups, values and people are numbered without a gap."""
    import polars as pl

    here = values
    if people is not None:
        rows = pl.DataFrame({"group": groups, "value": values, "person": people})
        once = rows.unique(["group", "value", "person"])
        groups, here = (once.get_column(name).to_numpy() for name in ("group", "value"))
        values = rows.unique(["value", "person"]).get_column("value").to_numpy()
    packed = pl.DataFrame({"pair": groups * n_values + here})
    counted = packed.group_by("pair").len("rows").sort("pair")
    pairs, count = (counted.get_column(name).to_numpy() for name in ("pair", "rows"))
    group, value = np.divmod(pairs, n_values)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    whole = np.bincount(values, minlength=n_values)
    return Histograms(group, value, count.astype(np.int64), first, whole.astype(np.int64))


def count_people(groups: NDArray[np.int64], people: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many different people each group has."""
    import polars as pl

    pairs = pl.DataFrame({"group": groups, "person": people}).unique()
    counted = pairs.group_by("group").len("people").sort("group")
    return counted.get_column("people").to_numpy().astype(np.int64)


def predicate_of(promise: Mapping[str, Any]) -> Predicate | None:  # noqa: PLR0911 - one per model
    """Return the rule for the table of a promise (as in a job file); None if there is none."""
    name = promise.get("model")
    if name == "alpha-k":
        return lambda counted: limited_share(counted, promise["alpha"])
    if name == "t-closeness" and promise.get("distance") != "hierarchical":
        by_order = promise.get("distance", "equal") == "ordered"
        rule = ordered_distance if by_order else equal_distance
        return lambda counted: close(rule(counted), promise["t"])
    if name == "beta-likeness":
        enhanced = promise.get("kind", "enhanced") == "enhanced"
        return lambda counted: likeness(counted, promise["beta"], enhanced=enhanced)
    if name == "delta-disclosure":
        return lambda counted: disclosure(counted, promise["delta"])
    if name == "l-diversity":
        l = promise["l"]
        kind = promise.get("kind", "frequency")
        if kind == "recursive":
            return lambda counted: recursive(counted, l, promise["c"])
        known: dict[str, Callable[[Histograms, float], Outcome]] = {
            "frequency": frequency,
            "distinct": distinct,
            "entropy": entropy,
        }
        chosen = known.get(kind)
        return None if chosen is None else lambda counted: chosen(counted, l)
    return None


def limited_share(counted: Histograms, alpha: float) -> Outcome:
    """No value has more than a share alpha of the rows of a group."""
    most, sizes = counted.most, counted.sizes
    limit = Fraction(alpha) * (1 + Fraction(SLACK))
    holds = _for_pairs(most, sizes, lambda top, size: top <= limit * size)
    return Outcome(holds, float((most / sizes).max()))


def frequency(counted: Histograms, l: float) -> Outcome:
    """No value has more than one l-th of the rows of a group."""
    most, sizes = counted.most, counted.sizes
    factor, slack = Fraction(l), Fraction(0 if isinstance(l, int) else SLACK)
    holds = _for_pairs(most, sizes, lambda top, size: top * factor <= size * (1 + slack))
    return Outcome(holds, float((sizes / most).min()))


def distinct(counted: Histograms, l: float) -> Outcome:
    """A group has at least l different values."""
    different = np.diff(counted.starts, append=len(counted.group))
    return Outcome(different >= l, float(different.min()))


def entropy(counted: Histograms, l: float) -> Outcome:
    """The entropy of a group, Σ p log(1/p), is at least log l."""
    share = counted.count / counted.sizes[counted.group]
    bits = np.add.reduceat(-share * np.log(share), counted.starts)
    return Outcome(bits >= math.log(l) - SLACK, float(np.exp(bits.min())))


def recursive(counted: Histograms, l: int, c: float) -> Outcome:
    """The most frequent value has fewer rows than c times those from the l-th value on.

    The number reached is the largest l that holds with this c. Strict, so that slack is taken
    off and not added: a tie does not keep the promise.
    """
    order = np.lexsort((-counted.count, counted.group))
    falling = counted.count[order]
    before = np.cumsum(falling) - falling
    # rows of the group from this value on: all of the group but those before it
    tails = counted.sizes[counted.group] - (before - before[counted.starts][counted.group])
    most = counted.most
    factor, slack = Fraction(c), Fraction(0 if isinstance(c, int) else SLACK)
    fits = _for_pairs(
        most[counted.group], tails, lambda top, tail: top * (1 + slack) < factor * tail
    )
    reached = np.add.reduceat(fits.astype(np.int64), counted.starts)
    return Outcome(reached >= l, float(reached.min()))


def equal_distance(counted: Histograms) -> NDArray[np.float64]:
    """Return ½ Σ |p − q| of each group, p its shares and q those of the whole table."""
    sizes, n_rows = counted.sizes, int(counted.whole.sum())
    size = sizes[counted.group]
    expected = counted.whole[counted.value] * size
    # Σ |count · N − whole · n| over all values. Values that the group lacks bring whole · n;
    # those sum to N · n without the values that it has.
    had = np.add.reduceat(np.abs(counted.count * n_rows - expected) - expected, counted.starts)
    return cast("NDArray[np.float64]", (had + n_rows * sizes) / (2.0 * n_rows * sizes))


def ordered_distance(counted: Histograms) -> NDArray[np.float64]:
    """Return Σ |P − Q| / (m − 1) of each group; P and Q are cumulated shares up to each value."""
    n_values, n_rows = len(counted.whole), int(counted.whole.sum())
    sizes = counted.sizes
    size = sizes[counted.group]
    cumulated = np.cumsum(counted.whole)  # Q · N
    sums = np.concatenate([[0], np.cumsum(cumulated)])  # of Q · N over the values before
    # P is 0 up to the first value of a group, and constant between two of its values.
    upto = np.cumsum(counted.count)
    upto = upto - (upto - counted.count)[counted.starts][counted.group]
    following = np.append(counted.value[1:], n_values)
    following[np.append(counted.starts[1:], len(counted.group)) - 1] = n_values
    last = np.minimum(following, n_values - 1)
    first = np.minimum(counted.value, last)
    # Q grows: it is at most P up to a turning point, and above it from there on.
    turn = np.clip(np.searchsorted(cumulated, upto * n_rows // size, side="right"), first, last)
    level = upto / size
    below = level * (turn - first) - (sums[turn] - sums[first]) / n_rows
    above = (sums[last] - sums[turn]) / n_rows - level * (last - turn)
    before = sums[counted.value[counted.starts]] / n_rows
    moved = before + np.add.reduceat(below + above, counted.starts)
    return moved / max(n_values - 1, 1)


def _frequencies(counted: Histograms) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return of each pair the share of its value in the whole table, and how many times that."""
    n_rows = int(counted.whole.sum())
    whole, size = counted.whole[counted.value], counted.sizes[counted.group]
    return whole / n_rows, counted.count * n_rows / (whole * size)


def likeness(counted: Histograms, beta: float, *, enhanced: bool) -> Outcome:
    """No value gains more than beta times its share; enhanced: nor more than -ln of its share.

    A value that a group lacks has lost, and gains nothing. A gain that no beta allows is infinite.
    """
    share, times = _frequencies(counted)
    gain = times - 1.0
    if enhanced:
        gain = np.where(gain > -np.log(share) + SLACK, np.inf, gain)
    largest = np.maximum.reduceat(gain, counted.starts)
    return Outcome(largest <= beta + SLACK, max(float(largest.max()), 0.0))


def disclosure(counted: Histograms, delta: float) -> Outcome:
    """The logarithm of how many times a value's share changes is below delta; for all values.

    Strict: a tie does not keep the promise. A value that a group lacks is infinitely far off.
    """
    _, times = _frequencies(counted)
    furthest = np.maximum.reduceat(np.abs(np.log(times)), counted.starts)
    different = np.diff(counted.starts, append=len(counted.group))
    furthest = np.where(different < np.count_nonzero(counted.whole), np.inf, furthest)
    return Outcome(furthest < delta - SLACK, float(furthest.max()))


def close(distance: NDArray[np.float64], t: float) -> Outcome:
    """A group is no further than t from the whole table."""
    return Outcome(distance <= t + SLACK, float(distance.max()))


def _for_pairs(
    one: NDArray[np.int64], other: NDArray[np.int64], rule: Callable[[int, int], bool]
) -> NDArray[np.bool_]:
    """Apply a rule on two whole numbers, exactly, once for each pair that occurs."""
    base = int(other.max()) + 1
    pairs, place = np.unique(one * base + other, return_inverse=True)
    kept = [rule(*divmod(pair, base)) for pair in pairs.tolist()]
    return np.array(kept, dtype=np.bool_)[place]
