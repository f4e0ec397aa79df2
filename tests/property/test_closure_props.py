"""The laws of closures: what a group generalises to does not depend on how it was put together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.random_tables import MISSING, Everything, cases

from shoal.measure.base import Grouped
from shoal.measure.scores import create_measure
from shoal.table.closure import IntervalClosures, SetClosures, TreeClosures, close, domain_size
from shoal.table.partition import Partition

EVERYTHING = "everything"
# Coarser is never better under these; PMI is exempt (Goldberger–Tassa, section 5.1), KL and the
# mean entropy per group are no loss of single cells.
MONOTONE = [
    "ncp", "il", "lm", "tree", "whd", "whd-height", "suppression", "mi",
    "am", "dm", "cm", "modification-rate", "distortion-ratio",
]  # fmt: skip


def read(attribute, closures, group):
    """One closure as a value that can be compared: everything, or what it is made of."""
    if isinstance(closures, TreeClosures):
        node = int(closures.node[group])
        return EVERYTHING if node == attribute.taxonomy.root else node
    if closures.everything[group]:
        return EVERYTHING
    if isinstance(closures, IntervalClosures):
        return int(closures.low[group]), int(closures.high[group])
    assert isinstance(closures, SetClosures)
    return frozenset(closures.members[closures.indptr[group] : closures.indptr[group + 1]].tolist())


def closure_of(attribute, rows):
    """Closure of some rows, everything else being suppressed."""
    labels = np.full(len(attribute.codes), -1, np.int32)
    labels[rows] = 0
    return read(attribute, close(attribute, Partition(labels, 1)), 0)


def missing(attribute):
    """The closure of missing values alone."""
    if attribute.algebra == "tree":
        return attribute.taxonomy.n_nodes
    if attribute.algebra == "set":
        return frozenset([attribute.size])
    return attribute.size, attribute.size


def join(attribute, a, b):
    """The smallest closure over two closures."""
    if a == b:
        return a
    if EVERYTHING in (a, b) or missing(attribute) in (a, b):
        return EVERYTHING
    if attribute.algebra == "interval":
        return min(a[0], b[0]), max(a[1], b[1])
    if attribute.algebra == "set":
        return a | b
    node = attribute.taxonomy.lca(a, b)
    return EVERYTHING if node == attribute.taxonomy.root else node


def codes_under(attribute, closure):
    """The codes that a closure covers."""
    if closure == EVERYTHING:
        return set(range(domain_size(attribute)))
    if closure == missing(attribute):
        return {attribute.size}
    if attribute.algebra == "interval":
        return set(range(closure[0], closure[1] + 1))
    if attribute.algebra == "set":
        return set(closure)
    tree = attribute.taxonomy
    return set(range(tree.first_leaf[closure], tree.last_leaf[closure] + 1))


@st.composite
def cases_with_parts(draw, n_parts):
    """A table and some non-empty sets of its rows, which may overlap."""
    case = draw(cases())
    rows = st.sets(st.integers(0, case.n_rows - 1), min_size=1).map(sorted)
    return case, [draw(rows) for _ in range(n_parts)]


@given(cases())
def test_the_closures_of_all_groups_are_those_of_the_definition(case):
    for attribute, closures in zip(
        case.grouped.table.attributes, case.grouped.closures, strict=True
    ):
        sizes = closures.n_values(attribute)
        single = closures.single()
        known = [value for value in case.domain(attribute.name) if value is not MISSING]
        for row, label in enumerate(case.labels):
            expected = case.closure(attribute.name, row)
            found = read(attribute, closures, label)
            assert (found == EVERYTHING) == isinstance(expected, Everything)
            values = case.covered(attribute.name, expected)
            codes = {attribute.size if v is MISSING else known.index(v) for v in values}
            assert codes_under(attribute, found) == codes
            assert sizes[label] == len(values)
            assert single[label] == (len(values) == 1 and found != EVERYTHING)


@given(cases_with_parts(2))
def test_the_closure_of_a_union_is_the_join_of_the_closures(drawn):
    case, (a, b) = drawn
    for attribute in case.grouped.table.attributes:
        together = closure_of(attribute, sorted({*a, *b}))
        assert together == join(attribute, closure_of(attribute, a), closure_of(attribute, b))


@given(cases_with_parts(3))
def test_joining_is_associative_commutative_and_idempotent(drawn):
    case, parts = drawn
    for attribute in case.grouped.table.attributes:
        a, b, c = (closure_of(attribute, rows) for rows in parts)
        left = join(attribute, join(attribute, a, b), c)
        assert left == join(attribute, a, join(attribute, b, c))
        assert join(attribute, a, b) == join(attribute, b, a)
        assert join(attribute, a, a) == a


@given(cases_with_parts(2))
def test_a_larger_group_has_a_larger_closure_which_covers_its_values(drawn):
    case, (a, b) = drawn
    both = sorted({*a, *b})
    for attribute in case.grouped.table.attributes:
        small = codes_under(attribute, closure_of(attribute, a))
        large = codes_under(attribute, closure_of(attribute, both))
        assert small <= large
        assert set(attribute.codes[both].tolist()) <= large


@given(cases(), st.randoms())
def test_closures_do_not_depend_on_the_order_of_rows(case, random):
    rows = list(range(case.n_rows))
    random.shuffle(rows)
    shuffled = case.grouped.table.take(np.array(rows))
    partition = Partition(case.grouped.partition.labels[rows], case.grouped.partition.n_groups)
    for before, after, closures in zip(
        case.grouped.table.attributes, shuffled.attributes, case.grouped.closures, strict=True
    ):
        again = close(after, partition)
        for group in range(partition.n_groups + 1):
            assert read(after, again, group) == read(before, closures, group)


@pytest.mark.parametrize("name", MONOTONE)
@given(case=cases())
def test_merging_two_groups_never_lowers_a_monotone_measure(name, case):
    measure = create_measure(name)
    before = measure.score(case.grouped)
    merged = np.where(np.array(case.labels) == 1, 0, case.labels)
    grouped = Grouped(case.grouped.table, Partition.from_labels(merged), case.grouped.target)
    assert measure.score(grouped) >= before - 1e-9


@pytest.mark.parametrize("name", MONOTONE)
@given(case=cases())
def test_suppressing_a_group_never_lowers_a_monotone_measure(name, case):
    measure = create_measure(name)
    before = measure.score(case.grouped)
    fewer = np.where(np.array(case.labels) == 0, -1, case.labels)
    grouped = Grouped(case.grouped.table, Partition.from_labels(fewer), case.grouped.target)
    assert measure.score(grouped) >= before - 1e-9
