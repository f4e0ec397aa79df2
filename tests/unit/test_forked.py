"""Several processes: a forked one gets a clear sentence, a fresh one works, threads keep apart."""

import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import polars as pl

import shoal

FORKING = """
import multiprocessing, sys
import polars as pl
import shoal

def release(k):
    frame = pl.DataFrame({"age": list(range(40)), "ill": ["a", "b"] * 20})
    roles = {"quasi_identifiers": "age", "sensitive": "ill", "algorithm": "mondrian", "seed": 1}
    return shoal.anonymize(frame, k, **roles).n_groups

def child(queue):
    try:
        queue.put(str(release(2)))
    except shoal.OptionError as error:
        queue.put(str(error))

if sys.argv[1] == "after":
    release(2)
fork = multiprocessing.get_context("fork")
queue = fork.SimpleQueue()
process = fork.Process(target=child, args=(queue,))
process.start()
print(queue.get())
process.join()
"""


def fork_and_say(when):
    done = subprocess.run(
        [sys.executable, "-c", FORKING, when],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout.strip()


def test_a_process_forked_after_use_is_told_to_start_afresh():
    assert "get_context('spawn')" in fork_and_say("after")


def test_a_process_forked_before_use_works():
    assert int(fork_and_say("before")) >= 2


def groups_of(seed):
    frame = pl.DataFrame({"age": list(range(40)), "ill": ["a", "b"] * 20})
    release = shoal.anonymize(
        frame, 3, quasi_identifiers="age", sensitive="ill", algorithm="k-member", seed=seed
    )
    return release.groups.tolist()


def test_processes_started_afresh_give_the_releases_of_this_one():
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        assert list(pool.map(groups_of, [1, 2])) == [groups_of(1), groups_of(2)]


def warnings_of(number):
    rng = np.random.default_rng(number)
    unique = number % 2 == 0
    frame = pl.DataFrame(
        {
            "age": rng.integers(0, 90, 60),
            f"column {number}": rng.permutation(60) if unique else rng.integers(0, 3, 60),
        }
    )
    release = shoal.anonymize(
        frame,
        4,
        quasi_identifiers="age",
        insensitive=f"column {number}",
        algorithm="mondrian",
        seed=number,
    )
    return list(release.warnings)


def test_every_run_in_threads_keeps_its_own_warnings():
    with ThreadPoolExecutor(6) as pool:
        for number, found in enumerate(pool.map(warnings_of, range(48))):
            assert len(found) == (number % 2 == 0)
            assert all(f"'column {number}'" in sentence for sentence in found)
