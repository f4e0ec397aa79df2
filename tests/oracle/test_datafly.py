"""Datafly equals a plain version over lists of texts."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from tests.helpers.brute import make_run
from tests.helpers.effort import share
from tests.helpers.tree_tables import PATHS, SICK, generalise, tree_tables

import shoal
from shoal.algorithm.datafly import Datafly
from shoal.privacy.l_diversity import LDiversity


def plain_datafly(frame, names, k, allowed, distinct=1):
    """Return the published tuple of every row, None where it is left out."""
    levels = dict.fromkeys(names, 0)
    rows = frame.to_dicts()
    while True:
        cells = [tuple(generalise(n, row[n], levels[n]) for n in names) for row in rows]
        sick = {cell: set() for cell in cells}
        for cell, row in zip(cells, rows, strict=True):
            sick[cell].add(row["sick"])
        counts = Counter(cells)
        bad = {c for c in counts if counts[c] < k or len(sick[c]) < distinct}
        if sum(counts[cell] for cell in bad) <= allowed:
            return [None if cell in bad else cell for cell in cells]
        different = {n: len({generalise(n, row[n], levels[n]) for row in rows}) for n in names}
        can = [n for n in names if levels[n] < max(map(len, PATHS[n])) - 1]
        raised = max(can, key=lambda n: different[n])  # the first of several
        levels[raised] += 1


def published(table, partition):
    """Return the published tuple of every row, None where it is left out."""
    cells = []
    for label in partition.labels.tolist():
        if label < 0:
            cells.append(None)
            continue
        cell = []
        for a in table.attributes:
            node = int(partition.recoded[a.name][label])
            cell.append(None if node == a.taxonomy.n_nodes else str(a.taxonomy.labels[node]))
        cells.append(tuple(cell))
    return cells


@pytest.mark.parametrize("distinct", [1, 2])
def test_datafly_publishes_what_the_plain_version_does(distinct):
    left_out = raised = 0
    for seed, (frame, table) in enumerate(tree_tables(seed=31, count=share(60))):
        k = 2 + seed % 4
        names = [a.name for a in table.attributes]
        privacy = () if distinct == 1 else (LDiversity(2, kind="distinct"),)
        if frame["sick"].n_unique() < distinct:
            continue
        for most in (None, 0, 1):
            run = make_run(table, "ncp", k, seed, max_suppressed=most, privacy=privacy)
            found = published(table, Datafly().partition(table, run))
            allowed = min(k, frame.height - 1) if most is None else min(k, most)
            assert found == plain_datafly(frame, names, k, allowed, distinct), (seed, most)
            left_out += found.count(None)
            raised += len(set(found)) > 2
    assert left_out > share(20, least=1)
    assert raised > share(20, least=1)


def test_at_most_k_rows_are_left_out_and_a_warning_says_so():
    ages = [30, 31, 32, 33] * 5 + [95]
    trees = {"age": shoal.interval_hierarchy(ages, widths=(2, 4, 40))}
    frame = pl.DataFrame({"age": ages, "sick": [SICK[0]] * len(ages)})
    with pytest.warns(shoal.errors.ShoalWarning, match="leaves out 1 of 21 rows"):
        release = shoal.anonymize(
            frame, 3, quasi_identifiers="age", sensitive="sick", hierarchies=trees,
            algorithm="datafly", seed=1,
        )  # fmt: skip
    assert release.n_suppressed == 1
    assert release.frame["age"].n_unique() == 4
    kept = shoal.anonymize(
        frame, 3, quasi_identifiers="age", sensitive="sick", hierarchies=trees,
        algorithm="datafly", seed=1, max_suppression=0.01,
    )  # fmt: skip
    assert kept.n_suppressed == 0
