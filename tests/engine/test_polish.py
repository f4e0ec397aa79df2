"""Refinement of whole tables and of regions: more effort never loses more, threads tell nothing."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import shoal
import shoal.engine.local  # which must not find a polish that a test has replaced
from shoal.algorithm.auto import Auto
from shoal.engine import refine_across_blocks as polish
from shoal.measure.base import LogForm
from shoal.search.refine import EFFORTS, hot_sweeps
from shoal.search.scan import Effort
from shoal.table.partition import Partition

QIS = ["age", "town", "job"]


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "town": rng.choice(list("abcdefgh"), n),
            "job": rng.choice(["x", "y", "z"], n, p=[0.7, 0.2, 0.1]),
        }
    )


def loss(frame, k, effort, **options):
    release = shoal.anonymize(
        frame, k, quasi_identifiers=QIS, algorithm_options={"effort": effort}, seed=3, **options
    )
    assert np.bincount(release.groups).min() >= k
    return release.scores["ncp"]


@pytest.mark.parametrize("k", [4, 40])
def test_more_effort_never_loses_more_where_the_table_is_not_cut(k):
    frame = people(900)
    fast, balanced, best = (loss(frame, k, effort) for effort in ("fast", "balanced", "best"))
    assert best <= balanced
    if k == 40:  # few groups: "balanced" goes on from what "fast" finds
        assert balanced <= fast


@pytest.mark.parametrize("k", [4, 40])
def test_best_goes_on_from_exactly_what_balanced_finds(monkeypatch, k):
    """So it never loses more: here its own steps and starts do nothing."""
    monkeypatch.setitem(EFFORTS, "best", Effort(sweeps=0))
    monkeypatch.setattr(Auto, "rivals", lambda *_: [])
    balanced, best = (
        shoal.anonymize(
            people(900, seed=4),
            k,
            quasi_identifiers=QIS,
            algorithm_options={"effort": effort},
            seed=6,
        ).groups
        for effort in ("balanced", "best")
    )
    assert np.array_equal(balanced, best)


def test_of_what_best_begins_with_elsewhere_the_cheapest_goes_on(monkeypatch):
    """In the last step; the others are done with what "balanced" found."""
    given = []
    monkeypatch.setattr(polish, "polish", lambda *a: given.append(a[1].n_groups) or a[1])
    dear, cheap = (Partition.from_labels(np.arange(900) // size) for size in (900, 1))
    for rivals, last in (([dear], None), ([dear, cheap], 900)):
        given.clear()
        monkeypatch.setattr(Auto, "rivals", lambda *_, rivals=rivals: rivals)
        loss(people(900, seed=4), 40, "best")
        assert given == [given[0], given[0], last or given[0]]


@pytest.mark.parametrize("calls", [1, 2, 7])
def test_ctrl_c_while_groups_are_made_anew_keeps_what_was_found(calls):
    frame = people(1500, seed=5)
    groups = np.arange(frame.height) // 40
    told = []

    def impatient(done, total, what):
        told.append(what)
        if what.startswith("making") and sum(w.startswith("making") for w in told) == calls:
            raise KeyboardInterrupt

    before = shoal.score(frame, groups, measures=["ncp"], quasi_identifiers=QIS)["ncp"]
    release = shoal.refine(
        frame, groups, 20, quasi_identifiers=QIS, seed=1, progress=impatient, threads=1
    )
    assert release.scores["ncp"] < before
    assert np.bincount(release.groups).min() >= 20
    last = [at for at, what in enumerate(told) if what.startswith("making")][calls - 1]
    assert not any(what.startswith(("refining", "making")) for what in told[last + 1 :])


def test_making_groups_anew_finds_what_refinement_does_not(monkeypatch):
    frame = people(1500, seed=5)
    groups = np.arange(frame.height) // 40
    found = []
    for renewals in (0, 30):
        monkeypatch.setitem(EFFORTS, "balanced", Effort(renewals=renewals))
        release = shoal.refine(frame, groups, 20, quasi_identifiers=QIS, seed=1)
        found.append(release.scores["ncp"])
    assert found[1] < found[0]


@pytest.mark.parametrize("regions", [False, True])
def test_hot_sweeps_end_below_cold_ones_and_never_above_what_was_given(monkeypatch, regions):
    if regions:
        monkeypatch.setattr(polish, "HOT_ROWS", 300)
        monkeypatch.setattr(polish, "HOT_GROUPS", (1, 100))
    frame = people(1500, seed=5)
    groups = np.arange(frame.height) // 10
    found = []
    for hot in (0, 20):
        monkeypatch.setitem(EFFORTS, "balanced", Effort(hot=(hot, hot)))
        release = shoal.refine(frame, groups, 6, quasi_identifiers=QIS, seed=1)
        again = shoal.refine(frame, release.groups, 6, quasi_identifiers=QIS, seed=2)
        assert again.scores["ncp"] <= release.scores["ncp"]
        assert np.bincount(release.groups).min() >= 6
        found.append(release.scores["ncp"])
    assert found[1] < found[0]


def test_wide_and_large_tables_and_measures_of_logarithms_have_fewer_hot_sweeps():
    def hot(columns, rows, form=0, size=0):
        run = SimpleNamespace(model=SimpleNamespace(forms=[form] * columns), all_rows=rows)
        return polish._fewer_hot(run, Effort(hot=(20, 20), logs=0.5)).hot[size]

    assert hot(8, 30_000) == 20
    logs = LogForm(np.ones((2, 1), np.int64), 0.0)
    assert [hot(8, 30_000, logs, size) for size in (0, 1)] == [20, 10]
    assert 0 < hot(8, 300_000) < 20
    assert 0 < hot(25, 30_000) < 20
    assert hot(60, 300_000) == 0


def test_large_groups_have_hot_sweeps_of_their_own_and_the_largest_none():
    found = [hot_sweeps(Effort(hot=(20, 14)), rows) for rows in (3, 25, 40, 200, 400)]
    assert found == [20, 20, 14, 14, 0]


def test_groups_that_cost_nothing_stay_as_they_are_while_sweeps_are_hot(monkeypatch):
    monkeypatch.setattr(polish, "HOT_ROWS", 200)
    monkeypatch.setattr(polish, "HOT_GROUPS", (1, 100))
    settled = pl.concat([people(1, seed=7)] * 12)
    frame = pl.concat([settled, people(900, seed=5)])
    groups = np.concatenate((np.zeros(12, int), 1 + np.arange(900) // 10))
    monkeypatch.setitem(EFFORTS, "balanced", Effort(hot=(20, 20), sweeps=0, rounds=0))
    release = shoal.refine(frame, groups, 6, quasi_identifiers=QIS, seed=1)
    assert np.unique(release.groups[:12]).size == 1
    assert np.count_nonzero(release.groups == release.groups[0]) == 12
    assert not np.array_equal(np.bincount(release.groups), np.bincount(groups))


@pytest.mark.parametrize("whole", [True, False])
def test_groups_made_anew_do_not_depend_on_threads(monkeypatch, whole):
    monkeypatch.setattr(polish, "REGION_ROWS", 300)
    if not whole:
        monkeypatch.setattr(polish, "WHOLE_ROWS", 400)
    frame = people(800, seed=2)
    groups = [
        shoal.anonymize(
            frame, 5, quasi_identifiers=QIS, refine="best", algorithm="mondrian", seed=1, threads=n
        ).groups
        for n in (1, 3)
    ]
    assert np.array_equal(*groups)


def test_promises_and_people_are_not_made_anew_without_them():
    frame = people(400).with_columns(
        ill=pl.Series(np.random.default_rng(1).choice(["flu", "none", "cough"], 400)),
        who=pl.Series(np.arange(400) // 2),
    )
    for options in (
        {"privacy": [shoal.LDiversity(2, kind="distinct")], "drop": ["who"]},
        {"person": "who"},
    ):
        release = shoal.anonymize(
            frame,
            5,
            quasi_identifiers=QIS,
            sensitive="ill",
            algorithm_options={"effort": "best"},
            seed=0,
            **options,
        )
        assert release.verification


@pytest.mark.parametrize(("part_of", "whole"), [(None, 1), (3_000, 0), (300, 1)])
def test_a_part_of_a_large_table_is_refined_in_regions_only(monkeypatch, part_of, whole):
    """A table of this size is refined as a whole, in the end; a part of a larger one is not."""
    called = []
    monkeypatch.setattr(polish, "_room", lambda run, rows: rows)
    monkeypatch.setattr(polish, "REGION_ROWS", 100)
    monkeypatch.setattr(polish, "WHOLE_ROWS", 400)
    monkeypatch.setattr(polish, "_cost", lambda *_: 1)
    monkeypatch.setattr(polish, "_refine_regions", lambda *given: (given[1], False))
    monkeypatch.setattr(
        polish, "_refine_whole", lambda *given: called.append(1) or (given[1], False)
    )
    table = SimpleNamespace(n_rows=300)
    groups = Partition(np.zeros(300, np.int32), 1)
    model = SimpleNamespace(forms=[0])
    run = SimpleNamespace(part_of=part_of, model=model, all_rows=part_of or 300, k=2)
    polish.polish(table, groups, run, Effort())
    assert len(called) == whole
