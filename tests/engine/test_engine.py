"""The block engine: every row once, the same for any number of threads, and it stops when told."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithm import base
from shoal.algorithm.base import Algorithm
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult
from shoal.engine import blocks as parts
from shoal.errors import OptionError

STOPPABLE = ["auto", "k-member", "sequential", "agglomerative", "kaca", "oka", "mondrian"]


def adult(n_rows):
    return load_adult().select([*ADULT_QUASI_IDENTIFIERS, "salary"]).head(n_rows)


def anonymize(frame, k=5, **options):
    names = [name for name in frame.columns if name != "salary"]
    sensitive = ["salary"] if "salary" in frame.columns else []
    options = {"seed": 3, **options}
    return shoal.anonymize(frame, k, quasi_identifiers=names, sensitive=sensitive, **options)


@pytest.mark.parametrize("algorithm", ["k-member", "mondrian", "auto"])
@pytest.mark.parametrize("block_rows", [20, 100, 333, 1499])
def test_every_row_is_in_exactly_one_group_whatever_the_size_of_blocks(algorithm, block_rows):
    frame = adult(1500)
    release = anonymize(frame, algorithm=algorithm, block_rows=block_rows)
    sizes = np.bincount(release.groups)
    assert release.groups.min() == 0
    assert sizes.sum() == len(release.groups) == 1500
    assert sizes.min() >= 5
    assert len(sizes) == release.n_groups
    published = release.frame["salary"].value_counts().sort("salary")
    assert published.equals(frame["salary"].value_counts().sort("salary"))


def test_a_table_no_larger_than_a_block_is_clustered_as_a_whole():
    whole = anonymize(adult(800), algorithm="k-member", shuffle=False)
    for block_rows in (800, 10_000):
        one = anonymize(adult(800), algorithm="k-member", shuffle=False, block_rows=block_rows)
        assert one.groups.tolist() == whole.groups.tolist()
    cut = anonymize(adult(800), algorithm="k-member", shuffle=False, block_rows=799)
    assert cut.groups.tolist() != whole.groups.tolist()


def test_large_tables_are_cut_by_themselves_unless_the_algorithm_grows_slowly(monkeypatch):
    monkeypatch.setattr(Algorithm, "whole_rows", 500)
    monkeypatch.setattr(base, "BLOCK_ROWS", 100)
    for algorithm, in_blocks in (("k-member", True), ("mondrian", False)):
        told = []
        anonymize(adult(600), algorithm=algorithm, progress=lambda *step, to=told: to.append(step))
        assert ("clustering blocks" in {what for _, _, what in told}) == in_blocks


@pytest.mark.parametrize("algorithm", ["auto", "sequential"])
def test_threads_do_not_change_the_result_of_blocks(algorithm):
    frame = adult(3000)
    first, *others = [
        anonymize(frame, algorithm=algorithm, block_rows=500, threads=threads)
        for threads in (1, 2, 3, 2)
    ]
    for other in others:
        assert other.groups.tolist() == first.groups.tolist()
        assert other.frame.equals(first.frame)


@pytest.mark.parametrize("algorithm", ["auto", "k-member", "sequential", "kaca", "mondrian"])
def test_one_value_in_almost_every_row_does_no_harm(algorithm):
    rng = np.random.default_rng(8)
    rare = rng.random((3, 4000)) < 0.01
    frame = pl.DataFrame(
        {
            "number": np.where(rare[0], rng.integers(0, 1000, 4000), 7),
            "word": np.where(rare[1], rng.choice(["a", "b", "c"], 4000), "z"),
            "constant": ["same"] * 4000,
            "other": np.where(rare[2], rng.integers(0, 50, 4000), 3),
        }
    )
    release = anonymize(frame, algorithm=algorithm, block_rows=300)
    assert np.bincount(release.groups).min() >= 5
    assert release.verification.holds
    # at most 3 % of the rows differ from the others, so at most these can cost anything
    assert release.scores["ncp"] < 0.03


def test_rows_that_are_all_the_same_are_cut_and_lose_nothing():
    frame = pl.DataFrame({"a": [1] * 900, "b": ["x"] * 900})
    release = anonymize(frame, algorithm="k-member", block_rows=100)
    assert release.scores["ncp"] == 0


def test_blocks_that_cannot_keep_a_promise_alone_are_joined():
    frame = adult(2000).sort("salary")  # most similar rows share their sensitive value
    frame = frame.with_columns(age=pl.when(pl.col("salary") == "<=50K").then(20).otherwise(80))
    assert frame["salary"].n_unique() == 2
    release = anonymize(
        frame,
        algorithm="k-member",
        block_rows=50,
        privacy=[shoal.LDiversity(2, kind="distinct")],
    )
    assert release.verification.holds
    assert release.n_groups > 20


@pytest.mark.parametrize("block_rows", [0, -5, 1.5, True, "many"])
def test_a_size_of_blocks_that_makes_no_sense_is_refused(block_rows):
    with pytest.raises(OptionError, match="block_rows"):
        anonymize(adult(100), block_rows=block_rows)


def test_an_error_in_one_block_reaches_the_caller_and_ends_the_others(monkeypatch):
    seen = []

    def fail(table, algorithm, run):
        seen.append(table.n_rows)
        if len(seen) == 1:
            raise MemoryError("of this block")
        for _ in range(3000):  # works on until it is told to stop
            run.progress(0, 1, "waiting")
            time.sleep(0.01)

    monkeypatch.setattr(parts, "run_algorithm", fail)
    with pytest.raises(MemoryError, match="of this block"):
        anonymize(adult(4000), algorithm="k-member", block_rows=100, threads=2)
    assert len(seen) < 10


@pytest.mark.parametrize("algorithm", STOPPABLE)
def test_ctrl_c_stops_every_worker(algorithm):
    frame = adult(24_000)
    anonymize(frame.head(1200), algorithm=algorithm, block_rows=300)  # compiles
    before = set(threading.enumerate())
    raised_at = None
    began = None

    def stop(done, total, what):
        nonlocal began, raised_at
        if what == "clustering blocks":
            began = began or time.monotonic()
            # in the midst of a block of 12,000 rows, unless the algorithm is done by then
            if time.monotonic() - began > 0.2 or done:
                raised_at = raised_at or time.monotonic()
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anonymize(frame, k=10, algorithm=algorithm, block_rows=12_000, threads=2, progress=stop)
    assert time.monotonic() - raised_at < 60  # a busy machine; not a measurement
    assert set(threading.enumerate()) <= before


SCRIPT = """
import signal
import sys
import shoal
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult

# a shell that runs tests in the background lets its children ignore Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)

def tell(done, total, what):
    if what == "clustering blocks":
        print("working", flush=True)

frame = load_adult().select(ADULT_QUASI_IDENTIFIERS)
for rows in (1200, None):
    options = {} if rows else {"progress": tell}
    shoal.anonymize(
        frame.head(rows) if rows else frame, 10, quasi_identifiers=ADULT_QUASI_IDENTIFIERS,
        algorithm="sequential", block_rows=300 if rows else 12_000, threads=2, seed=1, **options,
    )
print("finished", flush=True)
"""


def test_an_interrupt_from_the_terminal_ends_the_process():
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "working\n"
    child.send_signal(signal.SIGINT)
    told, complaint = child.communicate(timeout=60)
    assert "finished" not in told
    assert complaint.rstrip().endswith("KeyboardInterrupt")
    assert child.returncode in (-signal.SIGINT, 130)
