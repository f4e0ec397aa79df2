"""Refinement of whole tables and of regions: more effort never loses more, threads tell nothing."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engine import polish
from shoal.search.refine import EFFORTS, Effort
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
        monkeypatch.setattr(polish, "HOT_GROUPS", 1)
    frame = people(1500, seed=5)
    groups = np.arange(frame.height) // 10
    found = []
    for hot in (0, 20):
        monkeypatch.setitem(EFFORTS, "balanced", Effort(hot=hot))
        release = shoal.refine(frame, groups, 6, quasi_identifiers=QIS, seed=1)
        again = shoal.refine(frame, release.groups, 6, quasi_identifiers=QIS, seed=2)
        assert again.scores["ncp"] <= release.scores["ncp"]
        assert np.bincount(release.groups).min() >= 6
        found.append(release.scores["ncp"])
    assert found[1] < found[0]


def test_wide_and_large_tables_have_fewer_hot_sweeps():
    def hot(columns, rows):
        run = SimpleNamespace(model=SimpleNamespace(forms=[0] * columns), all_rows=rows)
        return polish._hot_sweeps(run, 20)

    assert hot(8, 30_000) == 20
    assert 0 < hot(8, 300_000) < 20
    assert 0 < hot(25, 30_000) < 20
    assert hot(60, 300_000) == 0


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
