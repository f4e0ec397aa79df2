"""Hilbert against the definition of the curve and the enumeration of all cuts."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest
from tests.helpers.brute import MEASURES, as_groups, make_run, row_cost, small_tables

import shoal
from shoal.algorithm.hilbert import Hilbert, order_along_curve, place_records
from shoal.errors import OptionError
from shoal.table.encode import encode
from shoal.table.schema import Column, Kind, Role, Schema


def place_on_curve(point, bits):
    """Place of a point by recursion over the cells of the curve, as one whole number.

    The cells of a level are visited in Gray code order. Inside a cell the curve is turned: for
    each axis in turn, the first axis is mirrored if the cell lies in the axis' upper half, and
    exchanged with that axis otherwise. Odd cells are passed through backwards.
    """
    if bits == 0:
        return 0
    half = 2 ** (bits - 1)
    upper = [x >= half for x in point]
    inside = [x % half for x in point]
    for axis, is_upper in enumerate(upper):
        if is_upper:
            inside[0] = half - 1 - inside[0]
        else:
            inside[0], inside[axis] = inside[axis], inside[0]
    cell, bit = 0, False
    for is_upper in upper:
        bit ^= is_upper
        cell = 2 * cell + bit
    n_inside = half ** len(point)
    rest = place_on_curve(inside, bits - 1)
    return cell * n_inside + (n_inside - 1 - rest if cell % 2 else rest)


def box(n_dimensions, bits):
    return list(product(range(2**bits), repeat=n_dimensions))


def visit(points, bits):
    """The points in the order of the kernel."""
    order = order_along_curve(np.array(points, np.uint64), bits)
    return [points[i] for i in order]


BOXES = [(1, 4), (2, 1), (2, 4), (3, 1), (3, 3), (4, 2), (5, 2), (7, 1)]


@pytest.mark.parametrize(("n_dimensions", "bits"), BOXES)
def test_the_order_is_the_recursive_definition(n_dimensions, bits):
    points = box(n_dimensions, bits)
    expected = sorted(points, key=lambda point: place_on_curve(point, bits))
    assert visit(points, bits) == expected


@pytest.mark.parametrize(("n_dimensions", "bits"), BOXES)
def test_the_curve_moves_one_step_along_one_axis_at_a_time(n_dimensions, bits):
    path = visit(box(n_dimensions, bits), bits)
    for here, there in pairwise(path):
        assert sum(abs(a - b) for a, b in zip(here, there, strict=True)) == 1


@pytest.mark.parametrize(("n_dimensions", "bits"), [(2, 4), (3, 3), (4, 2)])
def test_the_curve_visits_a_cell_completely_before_the_next(n_dimensions, bits):
    path = visit(box(n_dimensions, bits), bits)
    for width in range(1, bits):
        cells = [tuple(x >> width for x in point) for point in path]
        changes = sum(a != b for a, b in pairwise(cells))
        assert changes == len(set(cells)) - 1


@pytest.mark.parametrize(("n_dimensions", "bits"), [(60, 16), (13, 5), (64, 1), (2, 32)])
def test_places_wider_than_a_machine_word_are_in_order(n_dimensions, bits):
    rng = np.random.default_rng(n_dimensions)
    points = rng.integers(2**bits, size=(200, n_dimensions))
    points[100:, 2:] = points[:100, 2:]  # differ late on the curve only
    rows = [tuple(int(x) for x in point) for point in points]
    assert visit(rows, bits) == sorted(rows, key=lambda point: place_on_curve(point, bits))


def test_points_at_the_same_place_stay_in_row_order():
    points = np.array([[1, 1], [0, 0], [1, 1], [0, 0], [1, 1]], np.uint64)
    assert order_along_curve(points, 1).tolist() == [1, 3, 0, 2, 4]


def compositions(n, k):
    """All ways to write n as a sum of k … 2k − 1."""
    if n == 0:
        yield ()
    for last in range(k, min(2 * k - 1, n) + 1):
        for rest in compositions(n - last, k):
            yield (*rest, last)


def steps_of(place):
    """How many of the smallest gap there are between the ends."""
    if len(place) < 2:
        return 1
    return math.ceil(place[-1] / min(b - a for a, b in pairwise(place)) - 1e-6)


def reference_points(table, *, rescale, axes):
    """Points by value, one attribute after the other; bits are enough for the smallest gap."""
    columns = []
    for attribute in table.attributes:
        size = attribute.size
        if attribute.positions is None:
            place = [float(i) for i in range(size)]
        else:
            first = float(attribute.positions[0])
            place = [float(x) - first for x in attribute.positions]
            gaps = [b - a for a, b in pairwise(place)]
            if rescale:
                unit = place[-1] / (size - 1) if size > 1 else 1.0
            else:
                unit = 1.0 if all(x.is_integer() for x in place) else min(gaps)
            place = [x / unit for x in place]
        if attribute.has_missing:
            place.append(place[-1] + 1)
        columns.append(place)
    widest = max(steps_of(p) if rescale else p[-1] for p in columns)
    bits = min(math.floor(math.log2(widest)) + 1, 32) if widest >= 1 else 1
    turns = range(len(columns))
    if axes == "fewest":
        turns = sorted(turns, key=lambda j: len(columns[j]))
    points = []
    for row in range(table.n_rows):
        point = []
        for j in turns:
            place = columns[j]
            x = place[int(table.attributes[j].codes[row])]
            if rescale:
                x = x / max(place[-1], 1.0) * (2**bits - 1)
            point.append(math.floor(x + 0.5 + 1e-6))
        points.append(tuple(point))
    return points, bits


def reference_groups(table, run, *, rescale, axes):
    """Order by place on the curve, then the cheapest of all cuts; ties: smaller last groups."""
    points, bits = reference_points(table, rescale=rescale, axes=axes)

    def along(row):
        values = [int(attribute.codes[row]) for attribute in table.attributes]
        return place_on_curve(points[row], bits), values, row

    order = sorted(range(table.n_rows), key=along)
    costs = {}

    def cost(start, stop):
        if (start, stop) not in costs:
            rows = order[start:stop]
            costs[start, stop] = row_cost(table, run.scanner, run.model, rows)
        return costs[start, stop]

    def rank(sizes):
        ends = np.cumsum(sizes).tolist()
        total = sum(cost(end - size, end) for end, size in zip(ends, sizes, strict=True))
        return total, sizes[::-1]

    sizes = min(compositions(table.n_rows, run.k), key=rank)
    ends = np.cumsum(sizes).tolist()
    return {frozenset(order[end - size : end]) for end, size in zip(ends, sizes, strict=True)}


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("options", [{}, {"rescale": False}, {"axes": "given"}])
def test_groups_are_those_of_the_best_cuts_found_by_enumeration(measure, options):
    for number, table in enumerate(small_tables(seed=3, count=25, max_rows=24)):
        run = make_run(table, measure, k=2 + number % 3 if table.n_rows < 20 else 4, seed=1)
        made = Hilbert(**options)
        expected = reference_groups(table, run, rescale=made.rescale, axes=made.axes)
        assert as_groups(made.partition(table, run)) == expected


def test_the_order_of_columns_decides_only_where_the_axes_are_as_given():
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(n, size=60).tolist() for name, n in (("a", 9), ("b", 4))}
    tables = [numbers(columns), numbers(dict(reversed(columns.items())))]
    for axes, same in (("fewest", True), ("given", False)):
        made = [
            as_groups(Hilbert(axes=axes).partition(t, make_run(t, "ncp", k=3, seed=0)))
            for t in tables
        ]
        assert (made[0] == made[1]) is same


def numbers(columns):
    frame = pl.DataFrame(columns)
    schema = Schema(
        tuple(Column(name=n, role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC) for n in columns)
    )
    return encode(frame, schema)


@pytest.mark.parametrize("k", [2, 6, 10])
def test_rescaling_finds_the_clustering_of_goldberger_and_tassas_table_1(k):
    records = [(0, 0, 0, 0), (1, 1, 1, 0), (0, 0, 0, 2), (1, 1, 1, 2)]
    rows = [record for record in records for _ in range(k // 2)]
    table = numbers({f"a{j}": [row[j] for row in rows] for j in range(4)})
    run = make_run(table, "suppression", k=k, seed=0)
    r1, r2, r3, r4 = (frozenset(range(i * k // 2, (i + 1) * k // 2)) for i in range(4))
    rescaled = Hilbert().partition(table, run)
    assert as_groups(rescaled) == {r1 | r3, r2 | r4}
    original = Hilbert(rescale=False).partition(table, run)
    assert as_groups(original) == {r1 | r2, r3 | r4}


def test_every_group_holds_between_k_and_2k_minus_1_records():
    for table in small_tables(seed=8, count=10):
        for k in (2, 3, 7, table.n_rows):
            sizes = Hilbert().partition(table, make_run(table, "ncp", k=k, seed=0)).sizes
            assert k <= sizes.min() <= sizes.max() <= 2 * k - 1


SKEWED = {
    "nearly all at one end": lambda rng, n: rng.lognormal(0, 2, n),
    "one far away": lambda rng, n: np.append(rng.random(n - 1), 1e12),
    "gaps too small for the curve": lambda rng, n: rng.random(n) * 1e-14 + rng.integers(2, size=n),
}


@pytest.mark.parametrize("shape", SKEWED)
def test_one_column_of_numbers_is_grouped_as_well_as_can_be(shape):
    """Sorted by value, all cuts tried: an optimum, by another program than the kernel's."""
    for seed in range(5):
        values = SKEWED[shape](np.random.default_rng(seed), 21)
        run = make_run(numbers({"x": values.tolist()}), "ncp", k=3, seed=seed)
        found = Hilbert().partition(numbers({"x": values.tolist()}), run)
        line = sorted(values)

        def loss(sizes, line=line):
            ends = np.cumsum(sizes).tolist()
            pairs = zip(ends, sizes, strict=True)
            return sum(size * (line[end - 1] - line[end - size]) for end, size in pairs)

        least = min(map(loss, compositions(21, 3)))
        groups = [values[list(group)] for group in as_groups(found)]
        lost = sum(len(group) * np.ptp(group) for group in groups)
        assert lost == pytest.approx(least, rel=1e-6, abs=1e-6 * np.ptp(values))


def test_missing_values_lie_beyond_all_others():
    frame = pl.DataFrame({"age": [30, None, 60, 31]})
    schema = Schema((Column(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),))
    points, _ = place_records(encode(frame, schema), rescale=True)
    assert np.argmax(points[:, 0]) == 1
    assert len(np.unique(points)) > 2


def test_sixty_columns_and_extreme_numbers_are_placed():
    rng = np.random.default_rng(0)
    columns = {f"c{j}": rng.integers(9, size=30).tolist() for j in range(58)}
    columns |= {"tiny": [float(i) * 1e-300 for i in range(30)]}
    columns |= {"huge": [1e300 if i else 1e-3 for i in range(30)]}
    table = numbers(columns)
    for rescale in (True, False):
        run = make_run(table, "ncp", k=5, seed=0)
        sizes = Hilbert(rescale=rescale).partition(table, run).sizes
        assert sizes.sum() == 30
        assert sizes.min() >= 5


def test_the_release_does_not_depend_on_the_number_of_threads():
    frame = pl.DataFrame({"a": [i % 7 for i in range(60)], "b": [i % 5 for i in range(60)]})
    groups = [
        shoal.anonymize(
            frame, 4, quasi_identifiers=["a", "b"], algorithm="hilbert", seed=5, threads=threads
        ).groups.tolist()
        for threads in (1, 4)
    ]
    assert groups[0] == groups[1]


def test_rescale_must_be_true_or_false():
    with pytest.raises(OptionError, match="rescale of 'hilbert' must be true or false, got 1"):
        Hilbert(rescale=1)
