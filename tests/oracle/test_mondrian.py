"""Mondrian equals a plain recursion over lists of rows, group for group, privacy included."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from brute import as_groups, make_run, small_tables

from shoal.algorithms import mondrian
from shoal.algorithms.mondrian import Mondrian
from shoal.privacy import AlphaK, LDiversity, TCloseness
from shoal.schema import Kind

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


def plain_mondrian(table, k, promises, *, relaxed):
    """Return the groups of strict or relaxed partitioning as sets of rows."""

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
            parts = cut(attribute, order, relaxed=relaxed)
            if all(may_stand(part) for part in parts):
                return [group for part in parts for group in anonymize(part)]
        return [rows]

    return {frozenset(group) for group in anonymize(list(range(table.n_rows)))}


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


def cut(attribute, order, *, relaxed):
    """Return the parts of sorted rows: missing apart, children of the node, or two halves."""
    codes = [int(attribute.codes[row]) for row in order]
    if codes[-1] == attribute.size:
        edge = codes.index(attribute.size)
        return [order[:edge], order[edge:]]
    if attribute.kind is Kind.CATEGORICAL:
        return split_by_child(attribute.taxonomy, order, codes)
    middle = len(order) // 2
    if relaxed:
        return [order[:middle], order[middle:]]
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


@pytest.mark.parametrize("relaxed", [False, True], ids=["strict", "relaxed"])
@pytest.mark.parametrize("promises", PROMISES.values(), ids=PROMISES.keys())
def test_mondrian_equals_the_plain_recursion(promises, relaxed):
    cuts = 0
    for seed, table in enumerate(small_tables(77, count=40)):
        k = 2 + seed % 4
        run = make_run(table, "ncp", k, seed, privacy=tuple(promises))
        found = Mondrian(relaxed=relaxed).partition(table, run)
        expected = plain_mondrian(table, k, promises, relaxed=relaxed)
        assert as_groups(found) == expected, (seed, k)
        cuts += len(expected) - 1
    assert cuts > 40  # the comparison is about something


def test_slices_of_the_work_do_not_show_in_the_result(monkeypatch):
    for seed, table in enumerate(small_tables(78, count=10)):
        whole = Mondrian().partition(table, make_run(table, "ncp", 2, seed))
        monkeypatch.setattr(mondrian, "SLICE_ROWS", 1)
        sliced = Mondrian().partition(table, make_run(table, "ncp", 2, seed))
        monkeypatch.undo()
        assert sliced.labels.tolist() == whole.labels.tolist()
