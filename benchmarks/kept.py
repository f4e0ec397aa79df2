"""Results of single runs, written down at once, so that a stopped benchmark goes on."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from benchmarks.common import load_json, machine, save_json

Run = dict[str, Any]
Jobs = Mapping[str, tuple[Callable[..., Run], tuple[Any, ...]]]

PROCESSES = int(os.environ.get("SHOAL_BENCH_PROCESSES", "2"))


class Keep:
    """The runs of one module in one file; call it with a key and what makes the run.

    The file states machine and versions, the commits its runs were made at and how busy the
    machine was when a session of runs began. Seeds belong to the runs: a module says them in its
    keys or its results. ``made`` has the commit of each run, where that is known: a run that is
    stored is not made again when the code changes, so a page can say of what each one is.
    ``cpu`` has the CPU seconds that making it took, compiling and reading included.
    """

    def __init__(self, path: Path, *, quick: bool, fresh: bool = False) -> None:
        self.path = path
        self.content: dict[str, Any] = {"quick": quick, "commits": [], "loads": [], "runs": {}}
        before = None if fresh else load_json(path)
        if before is not None and before["quick"] == quick:
            self.content = before
        self.content.setdefault("made", {})
        self.content.setdefault("cpu", {})
        self.content["machine"] = {**machine(), "model": _model()}
        self._began = False
        self._asked: set[str] = set()

    def __call__(self, key: str, make: Callable[[], Run]) -> Run:
        """Return the stored result of a key, or make it and write it down."""
        self._asked.add(key)
        if key not in self.content["runs"]:
            self._begin()
            self._add(key, *_costed(make, ()))
        return self.content["runs"][key]

    def many(self, jobs: Jobs, *, processes: int = PROCESSES) -> dict[str, Run]:
        """Return the results of many keys, made in processes side by side.

        Only for runs whose times are not shown: they share the cores. A job is a function of a
        module, with its arguments, since processes receive both by name.
        """
        self._asked.update(jobs)
        missing = {key: job for key, job in jobs.items() if key not in self.content["runs"]}
        if missing:
            self._begin()
            # a forked process would inherit the locks of polars' threads
            spawn = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(processes, mp_context=spawn) as pool:
                futures = {pool.submit(_costed, *job): key for key, job in missing.items()}
                for future in as_completed(futures):
                    self._add(futures[future], *future.result())
        return {key: self.content["runs"][key] for key in jobs}

    def finish(self, results: dict[str, Any]) -> None:
        """Write what the module made of its runs; runs that it no longer asks for are dropped."""
        self.content["results"] = results
        for what in ("runs", "made", "cpu"):
            kept = {k: v for k, v in self.content[what].items() if k in self._asked}
            self.content[what] = kept
        save_json(self.path, self.content)

    def _begin(self) -> None:
        if self._began:
            return
        self._began = True
        self.content.pop("again", None)  # compared other runs
        self.content["loads"].append(round(os.getloadavg()[0], 2))
        commit = self.content["machine"]["commit"]
        if commit not in self.content["commits"]:
            self.content["commits"].append(commit)

    def _add(self, key: str, run: Run, cpu: float) -> None:
        # as it will be read again: keys are texts, tuples are lists
        self.content["runs"][key] = json.loads(json.dumps(run))
        self.content["made"][key] = self.content["machine"]["commit"]
        self.content["cpu"][key] = round(cpu, 3)
        save_json(self.path, self.content)
        print(f"  {self.path.name.partition('.')[0]}: {key}", flush=True)


def _costed(make: Callable[..., Run], given: tuple[Any, ...]) -> tuple[Run, float]:
    """Return a run and the CPU seconds of this process and its children that it took."""
    before = _cpu_seconds()
    return make(*given), _cpu_seconds() - before


def _cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _model() -> str:
    """Return what the processor calls itself, as far as the system says."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.exists() else []
    found = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.processor() or platform.machine())


def stored(path: Path) -> dict[str, Any] | None:
    """Return the finished content of a module's file, None if there is none."""
    content: dict[str, Any] | None = load_json(path)
    return content if content and "results" in content else None
