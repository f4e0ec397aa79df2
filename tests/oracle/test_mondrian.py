"""Mondrian equals a plain recursion over lists of rows, group for group, privacy included."""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import reduce

import numpy as np
import polars as pl
import pytest
from tests.helpers.brute import as_groups, make_run, small_tables
from tests.helpers.effort import share

import shoal
from shoal.algorithm import mondrian
from shoal.algorithm.mondrian import Mondrian
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult
from shoal.errors import OptionError
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.table.schema import Kind

PROMISES = {
    "k": [],
    "frequency": [LDiversity(1.5)],
    "distinct": [LDiversity(2, kind="distinct")],
    "entropy": [LDiversity(1.8, kind="entropy")],
    "recursive": [LDiversity(2, kind="recursive", c=1.5)],
    "equal": [TCloseness(0.3)],
    "alpha": [AlphaK(0.7)],
    "two": [LDiversity(2, kind="distinct"), TCloseness(0.4)],
}


def plain_mondrian(table, k, promises, *, where="nearest"):
    """Return the groups of partitioning at the nearest boundary, the middle or "≤ median"."""

    def may_stand(rows):
        return len(rows) >= k and all(
            holds(model, table, column, rows) for model in promises for column in table.sensitive
        )

    def anonymize(rows):
        order = rows
        # sorted is stable: columns of the same width keep their order
        for attribute in sorted(table.attributes, key=lambda a: -width(a, rows)):
            if width(attribute, rows) == 0:
                break
            # each attempt sorts the rows again, on top of the attempts before
            order = sorted(order, key=lambda row: int(attribute.codes[row]))
            parts = cut(attribute, order, where)
            if all(may_stand(part) for part in parts):
                return [group for part in parts for group in anonymize(part)]
        return [rows]

    return {frozenset(group) for group in anonymize(list(range(table.n_rows)))}


def cheapest_mondrian(table, k, promises):
    """Return the groups if always the allowed cut is made after which the parts lose least."""

    def may_stand(rows):
        return len(rows) >= k and all(
            holds(model, table, column, rows) for model in promises for column in table.sensitive
        )

    def lost(rows):
        return len(rows) * sum(loss(attribute, rows) for attribute in table.attributes)

    def anonymize(rows):
        best, least = None, np.inf
        for attribute in table.attributes:
            for parts in offers(attribute, rows):
                total = sum(map(lost, parts))
                if total < least - 1e-9 and all(map(may_stand, parts)):
                    best, least = parts, total
        if best is None:
            return [rows]
        return [group for part in best for group in anonymize(part)]

    return {frozenset(group) for group in anonymize(list(range(table.n_rows)))}


def loss(attribute, rows):
    if attribute.kind is Kind.FLAT:
        return float(len({int(attribute.codes[row]) for row in rows}) > 1)
    return min(width(attribute, rows), 1.0)


def offers(attribute, rows):
    """Yield the cuts of an attribute: splits into frequent and rare values if it is flat."""
    order = sorted(rows, key=lambda row: int(attribute.codes[row]))
    counts = Counter(int(attribute.codes[row]) for row in order)
    if len(counts) == 1:
        return
    if attribute.kind is not Kind.FLAT or attribute.size in counts:
        yield cut(attribute, order, "nearest")
        return
    frequent = sorted(counts, key=lambda code: (-counts[code], code))
    for i in range(1, len(frequent)):
        first = [row for row in order if attribute.codes[row] in frequent[:i]]
        yield [first, [row for row in order if attribute.codes[row] not in frequent[:i]]]


def holds(model, table, column, rows):
    histogram = np.bincount(column.codes[rows], minlength=column.size)
    whole = np.bincount(column.codes, minlength=column.size)
    return bool(model.holds(histogram[np.newaxis], whole)[0])


def width(attribute, rows):
    """Share of the domain that the rows span; missing lies twice as far away as the end."""
    codes = sorted({int(attribute.codes[row]) for row in rows})
    if len(codes) == 1:
        return 0.0
    known = [code for code in codes if code < attribute.size]
    taxonomy = attribute.taxonomy
    if attribute.kind is Kind.CATEGORICAL and len(known) == len(codes):
        node = reduce(taxonomy.lca, codes)
        return (taxonomy.leaf_count[node] - 1) / (taxonomy.n_leaves - 1)
    if attribute.positions is None:
        place = [code / max(attribute.size - 1, 1) for code in known]
    else:
        first, last = attribute.positions[0], attribute.positions[-1]
        place = [(attribute.positions[code] - first) / ((last - first) or 1.0) for code in known]
    return (2.0 if len(known) < len(codes) else place[-1]) - place[0]


def cut(attribute, order, where):
    """Return the parts of sorted rows: missing apart, children of the node, or two halves."""
    codes = [int(attribute.codes[row]) for row in order]
    if codes[-1] == attribute.size:
        edge = codes.index(attribute.size)
        return [order[:edge], order[edge:]]
    if attribute.kind is Kind.CATEGORICAL:
        return split_by_child(attribute.taxonomy, order, codes)
    middle = len(order) // 2
    if where == "middle":
        return [order[:middle], order[middle:]]
    if where == "median":
        median = sorted(codes)[(len(codes) - 1) // 2]
        return [
            [row for row, code in zip(order, codes, strict=True) if code <= median],
            [row for row, code in zip(order, codes, strict=True) if code > median],
        ]
    edges = [i for i in range(1, len(order)) if codes[i] != codes[i - 1]]
    # of two boundaries equally near to the middle, the upper one
    up = min((i for i in edges if i >= middle), default=len(order))
    down = max((i for i in edges if i <= middle), default=0)
    edge = up if len(order) - up >= down else down
    return [order[:edge], order[edge:]]


def split_by_child(taxonomy, order, codes):
    node = reduce(taxonomy.lca, codes)
    parts = {}
    for row, code in zip(order, codes, strict=True):
        child = code
        while taxonomy.parent[child] != node:
            child = int(taxonomy.parent[child])
        parts.setdefault(child, []).append(row)
    return list(parts.values())


def frequent_first(table):
    """The same table, the values of flat columns coded from frequent to rare."""
    attributes = []
    for attribute in table.attributes:
        if attribute.kind is Kind.FLAT:
            counts = Counter(attribute.codes.tolist())
            known = sorted(range(attribute.size), key=lambda code: (-counts[code], code))
            rank = {code: place for place, code in enumerate(known)}
            rank[attribute.size] = attribute.size
            codes = np.array([rank[code] for code in attribute.codes.tolist()])
            attribute = dataclasses.replace(attribute, codes=codes)  # noqa: PLW2901
        attributes.append(attribute)
    return dataclasses.replace(table, attributes=tuple(attributes))


@pytest.mark.parametrize("value_order", ["frequency", "code"])
@pytest.mark.parametrize(
    ("options", "where"),
    [({}, "nearest"), ({"relaxed": True}, "middle"), ({"cuts": "median"}, "median")],
    ids=["strict", "relaxed", "published"],
)
@pytest.mark.parametrize("promises", PROMISES.values(), ids=PROMISES.keys())
def test_mondrian_equals_the_plain_recursion(promises, options, where, value_order):
    cuts = 0
    for seed, table in enumerate(small_tables(77, count=40)):
        k = 2 + seed % 4
        run = make_run(table, "ncp", k, seed, privacy=tuple(promises))
        found = Mondrian(value_order=value_order, **options).partition(table, run)
        ordered = frequent_first(table) if value_order == "frequency" else table
        expected = plain_mondrian(ordered, k, promises, where=where)
        assert as_groups(found) == expected, (seed, k)
        cuts += len(expected) - 1
    assert cuts > share(40, least=1)  # the comparison is about something


@pytest.mark.parametrize("promises", PROMISES.values(), ids=PROMISES.keys())
def test_the_cheapest_cuts_equal_those_of_the_plain_recursion(promises):
    differing = 0
    for seed, table in enumerate(small_tables(79, count=40)):
        k = 2 + seed % 4
        run = make_run(table, "ncp", k, seed, privacy=tuple(promises))
        found = as_groups(Mondrian(cuts="cheapest", value_order="code").partition(table, run))
        assert found == cheapest_mondrian(table, k, promises), (seed, k)
        differing += found != as_groups(Mondrian().partition(table, run))
    assert differing >= share(6, least=1)  # the option is about something


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cuts": "cheap"}, "cuts of 'mondrian'.*Did you mean 'cheapest'"),
        ({"cuts": "cheapest", "relaxed": True}, "relaxed of 'mondrian' works with cuts='widest'"),
        ({"cuts": "median", "relaxed": True}, "relaxed of 'mondrian' works with cuts='widest'"),
        ({"value_order": "frequent"}, "value_order of 'mondrian'.*Did you mean 'frequency'"),
        ({"relaxed": 1}, "relaxed of 'mondrian' must be true or false"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        Mondrian(**options)


def test_the_published_cut_takes_all_rows_up_to_the_median_and_ours_the_nearest_boundary():
    ages = [1, 1, 1, 2, 2, 2, 2, 2, 3, 3]  # the median is 2: "≤ 2" are eight rows, "≤ 1" three
    frame = pl.DataFrame({"age": ages})
    found = {
        cuts: shoal.anonymize(
            frame, 2, quasi_identifiers="age", algorithm="mondrian",
            algorithm_options={"cuts": cuts}, seed=0, shuffle=False,
        )
        for cuts in ("widest", "median")
    }  # fmt: skip
    sizes = {
        cuts: sorted(Counter(release.groups.tolist()).values()) for cuts, release in found.items()
    }
    assert sizes == {"widest": [2, 3, 5], "median": [2, 8]}


def test_on_adult_the_order_of_values_and_the_choice_of_cuts_pay():
    adult = load_adult(part="train").select(ADULT_QUASI_IDENTIFIERS)
    by_code, as_it_is, cheapest = (
        shoal.anonymize(
            adult, 10, quasi_identifiers=ADULT_QUASI_IDENTIFIERS, algorithm="mondrian",
            algorithm_options=options, seed=1,
        ).scores["ncp"]
        for options in ({"value_order": "code"}, {}, {"cuts": "cheapest"})
    )  # fmt: skip
    assert cheapest < 0.1 < as_it_is < 0.175 < by_code  # 0.175: the best Mondrian elsewhere


def test_slices_of_the_work_do_not_show_in_the_result(monkeypatch):
    for seed, table in enumerate(small_tables(78, count=10)):
        whole = Mondrian().partition(table, make_run(table, "ncp", 2, seed))
        monkeypatch.setattr(mondrian, "SLICE_ROWS", 1)
        sliced = Mondrian().partition(table, make_run(table, "ncp", 2, seed))
        monkeypatch.undo()
        assert sliced.labels.tolist() == whole.labels.tolist()
