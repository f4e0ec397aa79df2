"""Refinement of any valid partition of any small table: costs fall, sums stay true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share
from tests.helpers.random_tables import cases

from shoal.algorithm.auto import Auto
from shoal.measure.base import CostModel
from shoal.measure.scores import create_measure
from shoal.privacy.l_diversity import LDiversity
from shoal.runtime.progress import no_progress
from shoal.search.enforce import GroupState, enforce, violations
from shoal.search.refine import EFFORTS, Search, refine_partition
from shoal.search.scan import Run, Scanner
from shoal.table.partition import Partition

MEASURES = ("ncp", "lm", "mi", "suppression", "pmi")
QUICK = settings(max_examples=share(25), deadline=None)


def bind(table, name):
    target = table.sensitive[0]
    model = CostModel.bind(create_measure(name), table, target)
    return model, Scanner.build(table, model)


def cost_of(scanner, partition):
    return int(GroupState(scanner, partition).costs.sum())


def start_of(case, scanner, k):
    """Return the case's groups made valid; its suppressed rows stay so, if k others are left."""
    labels = np.array(case.labels)
    if (labels >= 0).sum() < k:
        labels = np.zeros(len(labels), np.int64)
    kept = np.flatnonzero(labels >= 0)
    table = case.grouped.table.take(kept)
    given = Partition.from_labels(labels[kept])
    return kept, enforce(table, given, scanner.take(kept), k, (), no_progress)


@pytest.mark.parametrize("effort", sorted(EFFORTS))
@QUICK
@given(cases(max_rows=24), st.sampled_from(MEASURES), st.integers(2, 4), st.integers(0, 9))
def test_costs_never_rise_and_groups_keep_k_and_suppressed_rows(effort, case, name, k, seed):
    table = case.grouped.table
    if table.n_rows < k:
        return
    model, scanner = bind(table, name)
    kept, inner = start_of(case, scanner, k)
    labels = np.full(table.n_rows, -1, np.int32)
    labels[kept] = inner.labels
    start = Partition(labels, inner.n_groups)
    found = [
        refine_partition(
            table, start, Run(k, model, scanner, np.random.default_rng(seed)), EFFORTS[effort]
        )
        for _ in range(2)
    ]
    assert np.array_equal(found[0].labels, found[1].labels)
    assert np.array_equal(found[0].labels < 0, start.labels < 0)
    assert found[0].sizes.min() >= k
    rows = scanner.take(kept)
    after = Partition(found[0].labels[kept], found[0].n_groups)
    assert cost_of(rows, after) <= cost_of(rows, inner)


@QUICK
@given(cases(max_rows=24), st.sampled_from(MEASURES), st.integers(2, 4))
def test_costs_and_closures_kept_during_a_search_equal_those_computed_anew(case, name, k):
    table = case.grouped.table
    if table.n_rows < k:
        return
    model, scanner = bind(table, name)
    kept, inner = start_of(case, scanner, k)
    if inner.n_groups < 2:
        return
    rows = scanner.take(kept)
    run = Run(k, model.take(kept), rows, np.random.default_rng(1))
    search = Search(table.take(kept), inner, run, EFFORTS["balanced"])
    search.run()
    after = search.found()  # what it returns is what was given, where hot sweeps ended dearer
    state = GroupState(rows, after)
    groups = search.groups
    used = np.flatnonzero(groups.size > 0)
    first = [int(np.flatnonzero(groups.label == g)[0]) for g in used]
    renamed = after.labels[first]
    assert np.array_equal(groups.costs[used], state.costs[renamed])
    assert np.array_equal(groups.size[used], after.sizes[renamed])
    assert np.array_equal(groups.hists[:, used], state.hists[:, renamed])
    assert groups.costs.sum() == state.costs.sum()
    pillars = np.flatnonzero(groups.pillar)
    spanned = GroupState(rows.take(pillars), Partition(after.labels[pillars], after.n_groups))
    for ours, anew, by_pillars in zip(groups.columns, state.groups, spanned.groups, strict=True):
        assert np.array_equal(ours[:, used], anew[:, renamed])
        assert np.array_equal(by_pillars, anew)


@QUICK
@given(cases(max_rows=24), st.integers(2, 4))
def test_diversity_holds_after_refinement_if_it_held_before(case, k):
    table = case.grouped.table
    model = LDiversity(2)
    counts = table.sensitive[0].cleaned.counts  # a missing value and "none" read alike
    if table.n_rows < k or 2 * counts.max() > table.n_rows:
        return  # not even one group of all rows is diverse
    bound, scanner = bind(table, "ncp")
    labels = np.maximum(np.array(case.labels), 0)
    start = enforce(table, Partition.from_labels(labels), scanner, k, (model,), no_progress)
    run = Run(k, bound, scanner, np.random.default_rng(0), (model,))
    found = refine_partition(table, start, run, EFFORTS["balanced"])
    assert not violations(table, found, k, (model,)).any()
    assert cost_of(scanner, found) <= cost_of(scanner, start)


@QUICK
@given(cases(max_rows=24), st.sampled_from(MEASURES), st.sampled_from(sorted(EFFORTS)))
def test_auto_costs_no_more_than_its_start(case, name, effort):
    table = case.grouped.table
    if table.n_rows < 3:
        return
    model, scanner = bind(table, name)
    runs = [Run(k=3, model=model, scanner=scanner, rng=np.random.default_rng(5)) for _ in range(2)]
    auto = Auto(effort=effort)
    start, found = auto._start(table, runs[0]), auto.partition(table, runs[1])
    assert cost_of(scanner, found) <= cost_of(scanner, start)
