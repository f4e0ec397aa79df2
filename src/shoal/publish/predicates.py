"""The promises, written from their definitions and from nothing else.

Each takes the histogram of every group and says which groups keep the promise and what the worst
one reaches. Counts are whole numbers and are compared as such, or as fractions, with the number
that was promised. A promised number that is not whole was rounded when it became a 64-bit float,
so that comparisons with it allow `SLACK`; whole ones are compared exactly. Only the entropy needs
logarithms, and the distances a division: their errors are far below the slack.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from shoal.errors import OptionError
from shoal.publish.cells import clean, number_of

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from shoal.publish.cells import Reading


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


def predicate_of(promise: Mapping[str, Any]) -> Predicate | None:
    """Return the rule for the table of a promise (as in a job file); None if there is none."""
    rule = _RULES.get(str(promise.get("model")))
    return None if rule is None else rule(promise)


def _distance(promise: Mapping[str, Any]) -> Predicate | None:
    rules = {"equal": equal_distance, "ordered": ordered_distance}
    rule = rules.get(promise.get("distance", "equal"))  # along a hierarchy: `rule_by_value`
    return None if rule is None else lambda counted: close(rule(counted), promise["t"])


def _diversity(promise: Mapping[str, Any]) -> Predicate | None:
    l, kind = promise["l"], promise.get("kind", "frequency")
    if kind == "recursive":
        return lambda counted: recursive(counted, l, promise["c"])
    known: dict[str, Callable[[Histograms, float], Outcome]] = {
        "frequency": frequency,
        "distinct": distinct,
        "entropy": entropy,
    }
    chosen = known.get(kind)
    return None if chosen is None else lambda counted: chosen(counted, l)


_RULES: dict[str, Callable[[Mapping[str, Any]], Predicate | None]] = {
    "l-diversity": _diversity,
    "t-closeness": _distance,
    "alpha-k": lambda options: lambda counted: limited_share(counted, options["alpha"]),
    "beta-likeness": lambda options: (
        lambda counted: likeness(
            counted, options["beta"], enhanced=options.get("kind", "enhanced") == "enhanced"
        )
    ),
    "delta-disclosure": lambda options: lambda counted: disclosure(counted, options["delta"]),
}
"""The rule of each model, by its name, made from the table of a promise."""


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


# Promises that look at what sensitive values are, not only at how often they occur.
#
# Like all rules here, they are written from their definitions and share nothing with
# the search: numbers are read from the published cells, and a tree is a list of paths.

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
            "t-closeness with distance='hierarchical' needs the hierarchy of column {name!r} "
            "that was used; give it with hierarchies={{{name!r}: ...}} (--hierarchy "
            "{name}=FILE).",
            name=cells.name,
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
                "ke-anonymity needs numbers, and column {name!r} does not hold them; name "
                "another column with column=...",
                name=column.name,
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
                "The hierarchy of column {name!r} does not list all of its published values; "
                "give the one that was used.",
                name=column.name,
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


# Promises about the sizes of all groups together, written from their definitions.

_SLACK = Fraction(1, 10**9)

Judged = tuple[float, bool, "NDArray[np.bool_]"]


def judge_sizes(promise: Mapping[str, Any]) -> Callable[..., Judged]:
    """Return the rule for the table of a promise of the model ``population-risk``."""

    def judge(
        table: pl.DataFrame, groups: NDArray[np.int64], in_group: NDArray[np.int64]
    ) -> Judged:
        del table
        size, place = np.unique(in_group, return_inverse=True)
        n_groups = np.bincount(place)
        rows = np.bincount(place[groups], minlength=len(size))
        reached, kept, broken = judge_counts(promise, size, n_groups, rows)
        return reached, kept, broken[place][groups]

    return judge


def judge_counts(
    promise: Mapping[str, Any],
    size: NDArray[np.integer[Any]],
    n_groups: NDArray[np.integer[Any]],
    rows: NDArray[np.integer[Any]],
) -> Judged:
    """Return the number reached, whether that is enough, and which sizes break the promise.

    Args:
        promise: the table of a promise of the model ``population-risk``.
        size: the different sizes of groups, in people.
        n_groups: how many groups are of each.
        rows: how many rows are in them.
    """
    fraction = Fraction(promise.get("sampling_fraction") or 1)
    if promise.get("population_size"):
        # who has several rows is counted in several groups, at most once in each
        people = sum(int(f) * int(n) for f, n in zip(size, n_groups, strict=True))
        fraction = min(Fraction(people, promise["population_size"]), Fraction(1))
    limit = Fraction(promise["limit"]) * (1 + _SLACK)
    kind = promise.get("kind", "average")
    if kind == "uniques":
        from shoal.publish.uniques import estimate_uniques

        estimator = promise.get("estimator", "auto")
        share = estimate_uniques(np.repeat(size, n_groups), float(fraction), estimator)
        if share is None:
            raise OptionError(
                "The estimator {estimator!r} does not converge for the sizes of these groups; "
                "use estimator='zayatz' or 'auto'.",
                estimator=estimator,
            )
        return share, share <= limit, np.asarray(size == 1)
    if kind == "highest":
        highest = fraction / int(size.min())
        small = np.array([fraction / int(each) > limit for each in size])
        return float(highest), highest <= limit, small
    total = sum((Fraction(int(r), int(f)) for r, f in zip(rows, size, strict=True)), Fraction(0))
    mean = fraction * total / int(rows.sum())
    return float(mean), mean <= limit, np.full(len(size), mean > limit)
