"""Notes CPU seconds and gain of every stage and move of one release, without changing it."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.engine import refine_across_blocks as polish
from shoal.engine.local import LocalEngine
from shoal.search.enforce import GroupState
from shoal.search.refine import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STAGES = {
    "_anneal_costly": "hot sweeps",
    "_refine_regions": "regions",
    "_refine_whole": "whole table",
    "_renew_regions": "renewals",
}
OPENS = "_rebuild"  # opens groups, or takes some apart
MOVES = {"_relocate": "relocate", "_slice": "slices", "_dissolve": "dissolve"}


class Trace:
    """What was noted: stages in their order, and the sums of the moves within each.

    Attributes:
        stages: name, CPU seconds of all threads, and cost afterwards.
        moves: by stage and move: CPU seconds and what the cost fell by.
    """

    def __init__(self) -> None:
        self.stages: list[tuple[str, float, int]] = []
        self.moves: dict[str, list[float]] = {}
        self._lock = threading.Lock()
        self._stage = "start"

    def stage(self, name: str, function: Callable[..., Any], cost: Callable[..., int]) -> Any:
        """Return the function of a stage, noted; those inside another are part of it."""

        def noted(*given: Any, **named: Any) -> Any:
            if self._stage != "start":
                return function(*given, **named)
            self._stage = name
            began = time.process_time()
            try:
                found = function(*given, **named)
            finally:
                self._stage = "start"
            seconds = time.process_time() - began
            self.stages.append((name, seconds, cost(found, *given)))
            return found

        return noted

    def move(self, name: str | None, function: Callable[..., Any]) -> Any:
        """Return a method of `Search` that makes moves, noted."""

        def noted(search: Search, *given: Any, **named: Any) -> None:
            heat = "hot " if search.scratch.annealing.temperature[0] else ""
            what = name or ("rebuild" if named["apart"] else "open")
            before, began = int(search.groups.costs.sum()), time.thread_time()
            function(search, *given, **named)
            took, gain = time.thread_time() - began, before - int(search.groups.costs.sum())
            with self._lock:
                sums = self.moves.setdefault(f"{self._stage}: {heat}{what}", [0.0, 0.0])
                sums[0] += took
                sums[1] += gain

        return noted


def cost_of(run: Any, groups: Any) -> int:
    """Return what groups cost the search."""
    return int(GroupState(run.scanner, groups).costs.sum())


@contextmanager
def tracing() -> Iterator[Trace]:
    """Note what releases do while this is open."""
    trace = Trace()
    before: list[tuple[Any, str, Any]] = []

    def patch(owner: Any, name: str, wrapped: Any) -> None:
        before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, wrapped)

    def after_stage(found: Any, _table: Any, _given: Any, run: Any, *_: Any) -> int:
        return cost_of(run, found[0])

    for name, called in STAGES.items():
        patch(polish, name, trace.stage(called, getattr(polish, name), after_stage))
    for name, called in MOVES.items():
        patch(Search, name, trace.move(called, getattr(Search, name)))
    patch(Search, OPENS, trace.move(None, getattr(Search, OPENS)))
    plain = LocalEngine.cluster

    def cluster(engine: Any, work: Any, parts: Any) -> Any:
        began = time.process_time()
        found = plain(engine, work, parts)
        trace.stages.append(("start", time.process_time() - began, cost_of(work.run, found)))
        return found

    patch(LocalEngine, "cluster", cluster)
    try:
        yield trace
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)
