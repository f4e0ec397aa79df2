"""Refinement keeps its promises from any start, through `anonymize` and `shoal.refine`."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engine import refine_across_blocks as polish
from shoal.errors import DataError, OptionError

QIS = ["age", "city", "born", "likes"]
KINDS = {"likes": "set"}
ROLES = {"quasi_identifiers": QIS, "sensitive": "sick", "kinds": KINDS}
EFFORTS = ("fast", "balanced", "best")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    n = 240
    table = pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], n),
            "born": [
                dt.date(2000, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 90, n)
            ],
            "likes": rng.choice(["tea", "milk", "mate"], n),
            "sick": rng.choice(["flu", "none", "cough"], n),
        }
    )
    missing = pl.Series(rng.random(n) < 0.1)
    return table.with_columns(
        age=pl.when(missing).then(None).otherwise(pl.col("age")),
        likes=pl.when(missing.shuffle(1)).then(None).otherwise(pl.col("likes")),
    )


@pytest.fixture(scope="module")
def poor(frame):
    """Valid groups at k = 6 that have nothing to do with the rows."""
    return np.random.default_rng(1).permutation(frame.height) // 6


@pytest.mark.parametrize("measure", ["ncp", "mi", "suppression", "pmi", "wmi"])
def test_the_loss_of_random_groups_falls_and_k_holds(frame, poor, measure):
    before = shoal.score(frame, poor, measures=[measure], **ROLES)[measure]
    release = shoal.refine(frame, poor, 6, measure=measure, seed=1, **ROLES)
    if measure == "suppression":  # random groups may be a plateau: every cell is suppressed
        assert release.scores[measure] <= before
    else:
        assert release.scores[measure] < before
    assert np.bincount(release.groups).min() >= 6
    assert release.verification


def test_more_effort_never_starts_from_less(frame, poor):
    loss = [
        shoal.refine(frame, poor, 6, effort=effort, seed=1, **ROLES).scores["ncp"]
        for effort in EFFORTS
    ]
    assert loss[2] <= loss[0]


def test_the_same_seed_gives_the_same_groups(frame, poor):
    one, two = (shoal.refine(frame, poor, 6, seed=3, **ROLES) for _ in range(2))
    assert np.array_equal(one.groups, two.groups)
    assert one.frame.equals(two.frame)


def test_suppressed_rows_stay_suppressed(frame, poor):
    some = np.where(poor < 5, -1, poor)
    release = shoal.refine(frame, some, 6, seed=1, **ROLES)
    assert np.array_equal(release.groups < 0, some < 0)
    assert release.n_suppressed == 30


def test_groups_that_break_a_promise_are_merged_and_told(frame):
    tiny = np.arange(frame.height) // 2
    release = shoal.refine(frame, tiny, 6, seed=1, **ROLES)
    assert np.bincount(release.groups).min() >= 6
    assert "120 of the 120 given groups break a promise" in release.warnings[0]


@pytest.mark.parametrize(
    "model", [shoal.LDiversity(2), shoal.TCloseness(0.4), shoal.AlphaK(0.7)], ids=lambda m: m.name
)
def test_privacy_models_hold_after_refinement(frame, poor, model):
    release = shoal.refine(frame, poor, 6, privacy=[model], seed=1, **ROLES)
    assert release.verification
    assert shoal.verify(release.frame, 6, quasi_identifiers=QIS, sensitive="sick", privacy=[model])


@pytest.mark.parametrize("algorithm", ["k-member", "mondrian", "sequential", "kaca"])
def test_refining_an_algorithm_never_raises_its_loss(frame, algorithm):
    plain = shoal.anonymize(frame, 6, algorithm=algorithm, seed=2, **ROLES)
    better = shoal.anonymize(frame, 6, algorithm=algorithm, refine="balanced", seed=2, **ROLES)
    assert better.scores["ncp"] <= plain.scores["ncp"] + 1e-12


def test_wrong_groups_and_efforts_are_refused(frame, poor):
    with pytest.raises(OptionError, match="one whole number per row"):
        shoal.refine(frame, poor[:-1], 6, **ROLES)
    with pytest.raises(OptionError, match="must be one of"):
        shoal.refine(frame, poor, 6, effort="bset", **ROLES)
    with pytest.raises(DataError, match="nothing to publish"):
        shoal.refine(frame, np.full(frame.height, -1), 6, **ROLES)


class Impatient:
    """A progress function that presses Ctrl-C the n-th time it is told of the search."""

    def __init__(self, n):
        self.left = n

    def __call__(self, done, total, what):
        if what.startswith("refining"):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


@pytest.mark.parametrize("calls", [1, 2, 4])
def test_ctrl_c_ends_the_search_and_the_best_so_far_is_published(frame, poor, calls):
    before = shoal.score(frame, poor, measures=["ncp"], **ROLES)["ncp"]
    impatient = Impatient(calls)
    release = shoal.refine(frame, poor, 6, seed=1, progress=impatient, **ROLES)
    assert impatient.left == 0
    assert np.bincount(release.groups).min() >= 6
    assert release.scores["ncp"] <= before
    patient = shoal.refine(frame, poor, 6, seed=1, **ROLES)
    assert patient.scores["ncp"] < release.scores["ncp"]


@pytest.mark.parametrize("calls", [1, 3])
def test_ctrl_c_keeps_what_the_regions_of_a_large_table_have_found(monkeypatch, calls):
    monkeypatch.setattr(polish, "REGION_ROWS", 300)
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"a": rng.integers(0, 90, 3000), "b": rng.integers(0, 9, 3000)})
    given = rng.permutation(3000) // 5
    roles = {"quasi_identifiers": ["a", "b"]}
    before = shoal.score(table, given, measures=["ncp"], **roles)["ncp"]
    release = shoal.refine(table, given, 5, seed=1, progress=Impatient(calls), **roles)
    assert np.bincount(release.groups).min() >= 5
    assert release.scores["ncp"] <= before
    assert release.verification


def test_regions_give_the_same_groups_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(polish, "REGION_ROWS", 300)
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"a": rng.integers(0, 90, 3000), "b": rng.integers(0, 9, 3000)})
    given = rng.permutation(3000) // 5
    found = [
        shoal.refine(table, given, 5, seed=1, threads=threads, quasi_identifiers=["a", "b"])
        for threads in (1, 2, 3)
    ]
    assert all(np.array_equal(found[0].groups, other.groups) for other in found[1:])


def test_more_sweeps_and_more_seconds_lose_no_more(frame, poor):
    loss = [
        shoal.refine(frame, poor, 6, seed=1, sweeps=sweeps, **ROLES).scores["ncp"]
        for sweeps in (1, 2, 6)
    ]
    assert loss[0] > loss[1] >= loss[2]
    timed = shoal.refine(frame, poor, 6, seed=1, seconds=1.5, **ROLES)
    assert timed.scores["ncp"] <= loss[1]


@pytest.mark.parametrize("options", [{"sweeps": 0}, {"seconds": 0}, {"seconds": "long"}])
def test_budgets_that_make_no_sense_are_refused(frame, poor, options):
    with pytest.raises(OptionError, match=next(iter(options))):
        shoal.refine(frame, poor, 6, **options, **ROLES)


def test_best_never_loses_more_than_balanced(frame):
    for block_rows in (None, 60):
        fair, best = (
            shoal.anonymize(
                frame, 6, seed=2, block_rows=block_rows,
                algorithm_options={"effort": effort}, **ROLES,
            ).scores["ncp"]
            for effort in ("balanced", "best")
        )  # fmt: skip
        assert best <= fair
