"""Every measure equals its formula, written out by hand, on random small tables."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from tests.helpers.random_tables import EPOCH, INTERVALS, MISSING, ORDER, Everything, cases

from shoal.measure.base import Grouped
from shoal.measure.scores import create_measure, score_table
from shoal.registry import load, measures
from shoal.table.partition import Partition
from shoal.table.schema import Kind

BETA = 1.5
W = 0.3
OPTIONS = {"whd-height": {"beta": BETA}, "wmi": {"w": W}}


# -- costs of one cell --------------------------------------------------------------------


def number(name, value):
    if name == "dates":
        return (value - EPOCH).days
    return ORDER.index(value) if name == "ordinal" else value


def height(case, name, node):
    """Most steps from a leaf below the node up to it."""
    return max(path.index(node) for path in case.paths(name).values() if node in path)


def cell_range_or_climb(case, name, closure, climbed):
    """Share of the range, share of the values, or what climbing to the node costs."""
    if isinstance(closure, Everything):
        return 1.0
    if closure.values == {MISSING}:
        return 0.0
    domain = [value for value in case.domain(name) if value is not MISSING]
    if name in INTERVALS:
        places = [number(name, value) for value in closure.values]
        ends = [number(name, value) for value in domain]
        full = max(ends) - min(ends)
        return (max(places) - min(places)) / full if full else 0.0
    if name == "set":
        return (len(closure.values) - 1) / (len(domain) - 1) if len(domain) > 1 else 0.0
    return climbed(height(case, name, closure.node), height(case, name, "*"))


def cell_ncp(case, name, row):
    return cell_range_or_climb(case, name, case.closure(name, row), lambda low, top: low / top)


def cell_lm(case, name, row):
    closure = case.closure(name, row)
    if isinstance(closure, Everything):
        return 1.0
    n_values = len([value for value in case.domain(name) if value is not MISSING])
    return (len(closure.values) - 1) / (n_values - 1) if n_values > 1 else 0.0


def cell_height_weights(case, name, row):
    # A node at height i lies on level h − i of the h levels 1 (root) … h (leaves).
    def climbed(low, top):
        h = top + 1
        weight = {j: 1 / (j - 1) ** BETA for j in range(2, h + 1)}
        return sum(weight[j] for j in range(h - low + 1, h + 1)) / sum(weight.values())

    return cell_range_or_climb(case, name, case.closure(name, row), climbed)


def cell_suppressed(case, name, row):
    closure = case.closure(name, row)
    return float(isinstance(closure, Everything) or len(closure.values) > 1)


def cell_mi(case, name, row):
    column = case.columns[name]
    inside = case.covered(name, case.closure(name, row))
    return -math.log2(column.count(column[row]) / sum(value in inside for value in column))


def cell_pmi(case, name, row):
    inside = case.covered(name, case.closure(name, row))
    classes = [case.sensitive[i] for i in range(case.n_rows) if case.columns[name][i] in inside]
    return -math.log2(classes.count(case.sensitive[row]) / len(classes))


def total(case, cell, *, weights=None):
    weights = case.weights if weights is None else weights
    return sum(
        weights[name] * cell(case, name, row) for name in case.columns for row in range(case.n_rows)
    )


def mean(case, cell):
    return total(case, cell) / (case.n_rows * sum(case.weights.values()))


# -- scores of the whole table ------------------------------------------------------------


def members(case):
    groups = {}
    for row, label in enumerate(case.labels):
        if label >= 0:
            groups.setdefault(label, []).append(row)
    return list(groups.values())


def information(case, name):
    """Equation (11): I(Y; R̄(j))."""
    prior = Counter(case.sensitive)
    return (
        sum(
            -cell_pmi(case, name, row) - math.log2(prior[case.sensitive[row]] / case.n_rows)
            for row in range(case.n_rows)
        )
        / case.n_rows
    )


def table_am(case):
    return (
        sum(
            math.prod(len(case.covered(n, case.closure(n, row))) for n in case.columns)
            for row in range(case.n_rows)
        )
        / case.n_rows
    )


def table_dm(case):
    # Count, for each row, the rows that cannot be told from it.
    return sum(
        case.n_rows if label < 0 else sum(other == label for other in case.labels)
        for label in case.labels
    )


def table_cm(case):
    penalty = case.labels.count(-1)
    for rows in members(case):
        majority = Counter(case.sensitive[row] for row in rows).most_common(1)[0][0]
        penalty += sum(case.sensitive[row] != majority for row in rows)
    return penalty / case.n_rows


def induced(case):
    """The distribution of the release over the whole domain, cell by cell."""
    chance = Counter()
    for row in range(case.n_rows):
        box = [case.covered(name, case.closure(name, row)) for name in case.columns]
        size = math.prod(len(side) for side in box)
        for point in itertools.product(*box):
            chance[point] += 1 / (case.n_rows * size)
    return chance


def table_kl(case):
    original = Counter(zip(*case.columns.values(), strict=True))
    chance = induced(case)
    return sum(
        count / case.n_rows * math.log2(count / case.n_rows / chance[point])
        for point, count in original.items()
    )


def table_diversity(case):
    groups = members(case) or [range(case.n_rows)]

    def entropy(rows):
        counts = Counter(case.sensitive[row] for row in rows)
        return -sum(c / len(rows) * math.log2(c / len(rows)) for c in counts.values())

    return sum(entropy(rows) for rows in groups) / len(groups)


def table_class_size(case):
    groups = members(case) or [range(case.n_rows)]
    return sum(len(rows) for rows in groups) / len(groups)


def table_class_multiple(case):
    groups = members(case) or [range(case.n_rows)]
    return table_class_size(case) / min(len(rows) for rows in groups)


def cell_of_pair(case, name, i, j):
    """What publishing two values as one costs: their distance (Byun, Definitions 2 and 3)."""
    closure = case.join(name, [case.columns[name][row] for row in (i, j)])
    return cell_range_or_climb(case, name, closure, lambda low, top: low / top)


def table_diameters(case):
    total = case.labels.count(-1) * sum(case.weights.values())
    for rows in members(case):
        distances = [
            sum(case.weights[name] * cell_of_pair(case, name, i, j) for name in case.columns)
            for i, j in itertools.combinations_with_replacement(rows, 2)
        ]
        total += len(rows) * max(distances)
    return total


def table_l2(case):
    weighted = [case.weights[name] * information(case, name) for name in case.columns]
    return math.sqrt(sum(value**2 for value in weighted)) / sum(case.weights.values())


def table_modified(case):
    ones = dict.fromkeys(case.columns, 1.0)
    return total(case, cell_suppressed, weights=ones) / (case.n_rows * len(case.columns))


def table_sse(case):
    """Squared errors of the published means, as a share of those of the mean of all."""
    shares, weights = [], []
    for name in numbers_of(case):
        column = case.columns[name]
        known = [value for value in column if value is not MISSING]
        middle = sum(known) / len(known)
        lost = 0.0
        for value, label in zip(column, case.labels, strict=True):
            group = [v for v, g in zip(column, case.labels, strict=True) if g == label]
            published = middle
            if label >= 0 and MISSING not in group:
                published = sum(group) / len(group)
            lost += 0.0 if value is MISSING else (value - published) ** 2
        whole = sum((value - middle) ** 2 for value in known)
        shares.append(lost / whole if whole > 1e-12 else 0.0)
        weights.append(case.weights[name])
    return float(np.average(shares, weights=weights))


def numbers_of(case):
    return [name for name in case.columns if name in ("integers", "decimals")]


DEFINITIONS = {
    "sse": table_sse,
    "ncp": lambda case: mean(case, cell_ncp),
    "il": lambda case: total(case, cell_ncp),
    "lm": lambda case: mean(case, cell_lm),
    "tree": lambda case: mean(case, cell_ncp),
    "whd": lambda case: total(case, cell_ncp),
    "whd-height": lambda case: total(case, cell_height_weights),
    "suppression": lambda case: mean(case, cell_suppressed),
    "mi": lambda case: mean(case, cell_mi),
    "pmi": lambda case: mean(case, cell_pmi),
    "wmi": lambda case: W * mean(case, cell_mi) + (1 - W) * mean(case, cell_pmi),
    "pmi-l2": table_l2,
    "pmi-max": lambda case: max(information(case, name) for name in case.columns),
    "am": table_am,
    "dm": table_dm,
    "cm": table_cm,
    "kl": table_kl,
    "modification-rate": table_modified,
    "distortion-ratio": lambda case: mean(case, cell_ncp),
    "entropy-diversity": table_diversity,
    "average-class-size": table_class_size,
    "c-avg": table_class_multiple,
    "diameters": table_diameters,
}


def applies(name, table):
    """Whether a measure has anything to say: squared errors are of numbers."""
    return name != "sse" or any(a.kind is Kind.NUMERIC for a in table.attributes)


def score(name, grouped):
    return create_measure(name, OPTIONS.get(name)).score(grouped)


def test_every_built_in_measure_has_a_definition_here():
    assert set(DEFINITIONS) == set(measures())


@pytest.mark.parametrize("name", DEFINITIONS)
@given(case=cases())
def test_a_measure_equals_its_definition(name, case):
    assume(applies(name, case.grouped.table))
    assert score(name, case.grouped) == pytest.approx(DEFINITIONS[name](case), abs=1e-9)


def assert_within_bounds(grouped):
    for name in DEFINITIONS:
        if not applies(name, grouped.table):
            continue
        low, high = load("measures", name).bounds
        value = score(name, grouped)
        assert math.isfinite(value), name
        assert low is None or value >= low, name
        assert high is None or value <= high + 1e-12, name


@given(case=cases(max_rows=20))
def test_every_measure_stays_within_its_declared_bounds(case):
    assert_within_bounds(case.grouped)


@given(case=cases())
def test_the_columns_of_a_measure_add_up_to_it(case):
    table = case.grouped.table
    names = [n for n in DEFINITIONS if n != "modification-rate" and applies(n, table)]
    scores = score_table(case.grouped.table, case.grouped.partition, names)
    for name, columns in scores.by_column.items():
        weighted = sum(case.weights[column] * value for column, value in columns.items())
        is_sum = name in {"il", "whd", "whd-height"}
        expected = weighted if is_sum else weighted / sum(case.weights[c] for c in columns)
        assert scores[name] == pytest.approx(expected)


@given(case=cases())
def test_the_distribution_of_a_release_sums_to_one(case):
    assert sum(induced(case).values()) == pytest.approx(1)


@given(case=cases())
def test_publishing_every_row_alone_loses_nothing(case):
    alone = Grouped(case.grouped.table, Partition.from_labels(range(case.n_rows)), None)
    lossless = ["ncp", "il", "lm", "tree", "whd", "whd-height", "suppression", "mi", "kl"]
    for name in [*lossless, "modification-rate", "distortion-ratio", "diameters"]:
        assert score(name, alone) == pytest.approx(0, abs=1e-9), name
    assert score("am", alone) == 1
    assert score("dm", alone) == case.n_rows


@given(case=cases())
def test_publishing_nothing_is_the_worst(case):
    nothing = Grouped(case.grouped.table, Partition.from_labels(np.full(case.n_rows, -1)), None)
    for name in ["ncp", "lm", "tree", "suppression", "modification-rate", "distortion-ratio"]:
        assert score(name, nothing) == pytest.approx(1), name
    assert score("dm", nothing) == case.n_rows**2
    for name in ["mi", "am", "il", "whd", "whd-height", "diameters"]:
        assert score(name, nothing) >= score(name, case.grouped) - 1e-9, name


@given(case=cases())
def test_a_part_of_the_rows_is_scored_within_the_bounds(case):
    rows = np.arange(0, case.n_rows, 2)
    part = case.grouped.table.take(rows)
    labels = Partition.from_labels(np.array(case.labels)[rows])
    assert_within_bounds(Grouped(part, labels, part.sensitive[0]))
