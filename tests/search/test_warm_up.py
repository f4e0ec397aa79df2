"""Compiling ahead covers what runs need, and is split so that no process waits for another."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithm import warm_up as ahead
from shoal.algorithm.warm_up import MOVES, compile_missing, warm_up
from shoal.runtime.progress import COMPILING

AFTER_IT_RUNS_COMPILE_NOTHING = """
import pkgutil, sys
import numpy as np
import polars as pl
import shoal
from shoal.kernels import __path__ as PATH
from shoal.algorithm.warm_up import DEFAULT, EVERYTHING, compile_here
from shoal.kernels.callers import trust

trust(__name__)

def variants():
    modules = [sys.modules.get("shoal.kernels." + m.name) for m in pkgutil.iter_modules(PATH)]
    return {
        (value.py_func.__module__, value.py_func.__name__, variant)  # not who imported it
        for module in modules if module
        for value in vars(module).values() if hasattr(value, "py_func")
        for variant in value.signatures
    }

compile_here(EVERYTHING if len(sys.argv) > 1 else DEFAULT)
before = variants()
frame = pl.DataFrame({
    "age": [i * 7 % 61 for i in range(300)],
    "city": [str(i * i % 11) for i in range(300)],
    "sick": [str(i % 5) for i in range(300)],
})
roles = dict(quasi_identifiers=["age", "city"], sensitive=["sick"], seed=1)
if len(sys.argv) > 1:
    for algorithm in ("k-member", "oka", "r-gather", "top-down-greedy", "systematic", "mhm"):
        for measure in ("ncp", "mi"):
            shoal.anonymize(frame, 5, algorithm=algorithm, measure=measure, **roles)
    levels = {"age": {"rule": "intervals", "widths": [5, 10]}}
    for algorithm in ("datafly", "top-down-specialization"):
        shoal.anonymize(frame, 5, algorithm=algorithm, hierarchies=levels, **roles)
    numbers = frame.select("age", size=pl.col("age") * 7 % 13)
    for effort in ("fast", "best"):
        options = {"effort": effort}
        shoal.anonymize(
            numbers, 5, quasi_identifiers=numbers.columns, measure="sse", algorithm_options=options
        )
    shoal.anonymize(frame, 5, knows=1, **roles)
    people = frame.with_columns(who=pl.int_range(300))
    stays = people.select("who", ward="sick")
    shoal.anonymize_tables(
        {"people": people, "stays": pl.concat([stays, stays])},
        5,
        links={"stays.who": "people.who"},
        roles={
            "people": {"quasi_identifiers": ["age"], "drop": ["city", "sick"]},
            "stays": {"quasi_identifiers": "ward"},
        },
        knows_events=3,
        seed=1,
    )
else:
    for measure in ("ncp", "mi", "pmi"):
        shoal.anonymize(frame, 5, measure=measure, **roles)
        shoal.anonymize(frame, 5, measure=measure, block_rows=80, **roles)
    shoal.anonymize(frame, 5, privacy=[shoal.LDiversity(2)], **roles)
    shoal.anonymize(frame, 5, max_suppression=0.1, **roles)
print({entry[:2] for entry in variants() - before} or "nothing")
"""


@pytest.mark.parametrize("arguments", [(), ("everything",)], ids=["what is usual", "everything"])
def test_after_a_warm_up_a_run_compiles_nothing(arguments):
    done = subprocess.run(
        [sys.executable, "-c", AFTER_IT_RUNS_COMPILE_NOTHING, *arguments],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "nothing"


A_RUN_NAMES_ALL_THAT_IT_COMPILES = (
    AFTER_IT_RUNS_COMPILE_NOTHING.partition("compile_here(")[0]
    + """
from shoal.engine import grouping

named = set()

def compile_named(names, scanner, report):
    before = variants()
    compile_here(names)
    named.update(variants() - before)

grouping.compile_missing = compile_named
chance = np.random.default_rng(1)
most = {"a": 60, "b": 11, "c": 7}
frame = pl.DataFrame({name: chance.integers(0, most[name], 101) for name in most})
roles = {"quasi_identifiers": list(most), "algorithm": sys.argv[1]}
for kind in sys.argv[2:]:
    frame = frame.with_columns(sick=chance.integers(0, 5, 101))
    roles.update(sensitive=["sick"], privacy=[shoal.LDiversity(2, kind=kind)])
for seed in range(2):  # each has a last small cluster at one of them
    shoal.anonymize(frame, 4, seed=seed, **roles)
print({entry[:2] for entry in variants() - named} or "nothing")
"""
)


@pytest.mark.parametrize(
    "asked",
    [
        ("auto",),
        ("auto", "distinct"),
        ("auto", "entropy"),
        ("agglomerative",),
        ("sequential",),
        ("top-down-greedy",),
        ("r-gather",),
        ("forest",),
        ("systematic",),
        ("tfrp",),
    ],
    ids=" ".join,
)
def test_a_run_names_all_that_it_compiles(asked):
    done = subprocess.run(
        [sys.executable, "-c", A_RUN_NAMES_ALL_THAT_IT_COMPILES, *asked],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "nothing"


def test_a_process_that_fails_is_told():
    with pytest.raises(RuntimeError, match="no-such-algorithm"):
        warm_up(["no-such-algorithm"], 1)


COMPILES = """
import sys
import polars as pl
import shoal
from shoal.runtime.progress import compiled_seconds

compiled_seconds()
told = []
frame = pl.DataFrame({
    "age": [i * 7 % 61 for i in range(300)],
    "city": [str(i * i % 11) for i in range(300)],
    "sick": [str(i % 5) for i in range(300)],
})
shoal.anonymize(
    frame, 5, quasi_identifiers=["age", "city"], sensitive=["sick"], seed=1,
    algorithm=sys.argv[1], progress=lambda *what: told.append(what),
)
shares = [(done, total) for done, total, what in told if what == "compiling"]
assert shares == sorted(shares), shares
print(len(shares) > 0, compiled_seconds() > 0)
"""


def test_a_first_release_compiles_ahead_tells_how_far_it_is_and_the_next_has_nothing_to_tell(
    tmp_path,
):
    for compiles in (True, False):
        done = subprocess.run(
            [sys.executable, "-c", COMPILES, "mondrian"],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            check=False,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        # in processes of its own: here everything is read from the cache
        assert done.stdout.split() == [str(compiles), "False"]


COMPARES = """
import polars as pl
import shoal
from shoal.algorithm import warm_up as ahead

asked, first = [], ahead.warm_up
ahead.warm_up = lambda tasks, **more: (asked.append(list(tasks)), first(tasks, **more))
frame = pl.DataFrame({"age": [i * 7 % 61 for i in range(60)]})
shoal.compare(frame, quasi_identifiers=["age"], k=[2, 5], algorithms=["k-member", "mondrian"])
print(asked)
"""


def test_a_comparison_has_all_its_algorithms_compiled_together(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", COMPARES],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[['k-member', 'mondrian']]"


def test_an_explanation_has_all_that_its_changes_need_compiled_before_it_tries_them(monkeypatch):
    asked, stages = {"measuring": set(), "trying changes": set()}, ["measuring"]

    def told(done, total, what):
        if what in asked:
            stages.append(what)

    monkeypatch.setattr(ahead, "_missing", list)
    monkeypatch.setattr(ahead, "warm_up", lambda tasks, report: asked[stages[-1]].update(tasks))
    chance = np.random.default_rng(1)
    names = {"age": 60, "city": 11}
    frame = pl.DataFrame({name: chance.integers(0, most, 300) for name, most in names.items()})
    frame = frame.with_columns(sick=pl.Series(chance.integers(0, 5, 300)))
    shoal.explain(
        frame, k=5, quasi_identifiers=list(names), sensitive=["sick"], workers=1, progress=told
    )
    assert {"grow", "sequential", "kaca"} <= asked["trying changes"] <= asked["measuring"]


def test_what_is_unknown_is_not_compiled_ahead(monkeypatch):
    asked, told = [], []
    monkeypatch.setattr(ahead, "_missing", list)
    monkeypatch.setattr(ahead, "warm_up", lambda tasks, report: asked.append(list(tasks)))
    table = ahead._few_rows()
    scanner = ahead._run(table, "ncp").scanner
    compile_missing(("a plug-in", *MOVES), scanner, lambda *what: told.append(what))
    assert asked == [list(MOVES)]
    assert told == [(0, 0, COMPILING)]
