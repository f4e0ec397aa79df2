"""Compiling before kernels are needed, in as many processes as there are cores.

Numba compiles in one thread, so the work is split over processes: each runs one part of the search
after the other on a table of a few rows, the dearest first. Everything lands in one cache, where a
run finds it (`shoal.kernels.cache`). When a run has seen its table, the engine has what is still
missing compiled (`compile_missing`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.algorithm.base import create_algorithm
from shoal.measure.base import CostModel
from shoal.measure.scores import create_cost_measure
from shoal.runtime.progress import COMPILING, COMPILING_ANEW, no_progress
from shoal.search.enforce import enforce
from shoal.search.lattice import cell_partition
from shoal.search.refine import EFFORTS, Search
from shoal.search.scan import Run, Scanner
from shoal.table.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shoal.runtime.progress import Report
    from shoal.table.encode import EncodedTable


_SECONDS = {
    "relocate": 6,
    "grow": 5,
    "agglomerative": 5,
    "rebuild": 5,
    "slices": 5,
    "dissolve": 2,
    "enforce": 2,
    "suppress": 2,
    "cells": 1,
}
"""About what takes longer or less to compile than other tasks do: three seconds."""

MOVES = ("relocate", "slices", "dissolve", "rebuild")
"""What refinement does."""
DEFAULT = (
    *MOVES,
    "cells",
    "kaca",
    "agglomerative",
    "sequential",
    "mondrian",
    "k-member",
    "enforce",
    "grow",
    "suppress",
)
"""What runs and comparisons need that name no algorithm, whatever measure and privacy models."""

EVERYTHING = (
    *DEFAULT,
    "oka",
    "loukides-shao",
    "chiu-tsai",
    "hilbert",
    "incognito",
    "mdav",
    "v-mdav",
    "mhm",
    "r-gather",
    "means",
    "bound",
    "limited",
    "events",
)
"""What every algorithm needs, the lower bound, attackers of limited knowledge, several tables."""


def compile_missing(names: Sequence[str], scanner: Scanner, report: Report) -> None:
    """Compile what a run needs and no earlier one has left behind, and report how far that is.

    Args:
        names: tasks, see `compile_ahead`.
        scanner: rows and costs of the run.
        report: told of it.
    """
    if scanner.points is None:  # a measure of means has one small kernel of its own
        compile_ahead(names, report)


def compile_ahead(names: Sequence[str], report: Report) -> None:
    """Compile in all processes what tasks need and no earlier run has left behind.

    Where it cannot be done ahead, each kernel is compiled when it is first called.

    Args:
        names: tasks; others (algorithms of plug-ins) are passed over.
        report: told of it.
    """
    from shoal.kernels.cache import NUMBA, TEMPORARY

    if NUMBA.DISABLE_JIT:
        return  # numba is told to compile nothing at all
    tasks = [name for name in dict.fromkeys(names) if name in EVERYTHING]
    if not _missing(tasks):
        return
    report(0, 0, COMPILING_ANEW if TEMPORARY else COMPILING)
    if not TEMPORARY:
        with contextlib.suppress(RuntimeError, OSError):
            warm_up(tasks, report=report)


def warm_up(
    tasks: Sequence[str], processes: int | None = None, report: Report = no_progress
) -> Path:
    """Compile kernels in several processes; return the folder where they are kept.

    Raises:
        RuntimeError: a process failed; the message is the last line that it wrote.
    """
    from shoal.kernels.cache import FOLDER, PROCESSOR, one_at_a_time

    assert FOLDER is not None  # whoever asks has a place to keep them
    path = os.pathsep.join(filter(None, sys.path))
    same = {"NUMBA_CPU_NAME": PROCESSOR[0], "NUMBA_CPU_FEATURES": PROCESSOR[1]}
    with one_at_a_time():  # another process may compile the same
        missing = sorted(_missing(tasks), key=lambda task: -_SECONDS.get(task, 3))
        waiting = deque(missing)
        started = [
            subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-m", __name__],
                env={**os.environ, **same, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(min(processes or os.cpu_count() or 1, len(missing)))
        ]
        working = {process: _hand(waiting, process) for process in started}
        try:
            while any(process.poll() is None for process in working):
                report(len(missing) - len(_missing(missing)), len(missing), COMPILING)
                for process, task in [*working.items()]:
                    if not _missing([task]) and waiting:
                        working[process] = _hand(waiting, process)
                    elif not _missing([task]):
                        del working[process]
                time.sleep(0.05)
            errors = [process.communicate()[1] for process in started]
        except BaseException:
            for process in started:
                process.kill()
                process.communicate()  # none is left behind
            raise
    for process, text in zip(started, errors, strict=True):
        if process.returncode:
            raise RuntimeError((text.strip() or "the process was ended").splitlines()[-1])
    return FOLDER


def _hand(waiting: deque[str], process: subprocess.Popen[str]) -> str:
    """Have a process compile the next task, and return that."""
    task = waiting.popleft()
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it failed; its end tells
        print(task, file=process.stdin, flush=True)
    return task


def _note(task: str) -> Path:
    """Return the file that says that all kernels of a task are in the cache."""
    from shoal.kernels.cache import FOLDER

    return (FOLDER or Path()) / "ahead" / task


def _missing(tasks: Sequence[str]) -> list[str]:
    return [task for task in tasks if not _note(task).exists()]


def compile_here(tasks: Iterable[str]) -> None:
    """Compile in this process, by running each task on a few rows."""
    table = _few_rows()
    for name in tasks:
        _run_task(table, name)
        done = _note(name)
        done.parent.mkdir(exist_ok=True)
        done.touch()


def _run_task(table: EncodedTable, name: str) -> None:
    from shoal.privacy.l_diversity import LDiversity
    from shoal.search.bound import bound_table
    from shoal.search.grow import grow_partition
    from shoal.search.limited import cells_for
    from shoal.search.suppress import find_outliers

    run = _run(table, "ncp")
    if name in MOVES:
        sixes = Partition.from_labels(np.arange(table.n_rows) // 6)
        Search(table, sixes, run, EFFORTS["fast"]).move(name, 0)
    elif name == "means":
        _refine_means()
    elif name == "bound":
        bound_table(table, run.k, run.model.measure)
    elif name == "limited":
        cells_for(table, run, [(0, 1)])
    elif name == "events":
        _split_events(table)
    elif name == "cells":
        cell_partition(table, run)
    elif name == "enforce":
        pairs = Partition.from_labels(np.arange(table.n_rows) // 2)
        enforce(table, pairs, run.scanner, run.k, (), run.progress)
    elif name == "grow":
        diverse = (LDiversity(1.5, kind="entropy"),)
        grow_partition(table, replace(run, k=5, privacy=diverse), free=5)
    elif name == "suppress":
        find_outliers(run.scanner, Partition(np.zeros(table.n_rows, np.int32), 1), 1)
    else:
        create_algorithm(name).partition(table, run)


def _split_events(table: EncodedTable) -> None:
    """Give types to the rows of a table that hangs from people, two for each."""
    from shoal.search.events import EventTable, find_types

    people = np.arange(table.n_rows) // 2
    find_types(
        [EventTable(table, people, -1)],
        np.zeros(table.n_rows // 2, np.int64),
        k=3,
        m=2,
        rng=np.random.default_rng(0),
        threads=1,
        progress=no_progress,
    )


def _refine_means() -> None:
    """Refine by means; costs are of one type there."""
    import polars as pl

    from shoal.search.refine_means import MeansSearch
    from shoal.table.encode import encode
    from shoal.table.schema import Column, Kind, Role, Schema

    column = Column(name="x", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC)
    table = encode(pl.DataFrame({"x": [i * i % 17 for i in range(48)]}), Schema((column,)))
    run = _run(table, "sse")
    sixes = Partition.from_labels(np.arange(48) // 6)
    effort = EFFORTS["balanced"]
    MeansSearch(table, sixes, run, effort).sweep(0)


def _few_rows() -> EncodedTable:
    import narwhals as nw
    import polars as pl

    from shoal.hierarchy import Taxonomy
    from shoal.table.encode import encode
    from shoal.table.infer import infer_kinds
    from shoal.table.schema import build_schema

    n = 50  # not a multiple of k: some kernels are for the rows left over
    frame = pl.DataFrame(
        {
            "size": [str(i * i % 17) for i in range(n)],
            "shape": ["abcd"[i % 4] for i in range(n)],
            "seen": ["xy"[i % 2] for i in range(n)],
        }
    )
    trees = {
        "size": Taxonomy.from_paths([(str(value), "*") for value in range(17)]),
        "shape": Taxonomy.from_paths([(letter, "*") for letter in "abcd"]),
    }
    schema = build_schema(
        frame.columns,
        quasi_identifiers=["size", "shape"],
        sensitive=["seen"],
        hierarchies=trees,
    )
    return encode(frame, infer_kinds(schema, nw.from_native(frame)))


def _run(table: EncodedTable, measure: str) -> Run:
    found = create_cost_measure(measure)
    model = CostModel.bind(found, table)
    return Run(3, model, Scanner.build(table, model), np.random.default_rng(0))


if __name__ == "__main__":
    from shoal.kernels.callers import trust

    trust(__name__)
    gc.disable()  # measured: a tenth of the time, and the process ends soon
    compile_here(line.rstrip() for line in sys.stdin)
