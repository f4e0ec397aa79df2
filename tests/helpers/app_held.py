"""A plug-in algorithm that takes as long as a test wants: Mondrian, which waits to be let go."""

import threading
from dataclasses import dataclass

from shoal import registry
from shoal.algorithm.mondrian import Mondrian


class Hold:
    """When the algorithm has begun, and when it may go on.

    Args:
        above: tables of at most so many rows are not held.
    """

    now = None

    def __init__(self, above=0):
        self.above = above
        self.begun, self.go = threading.Event(), threading.Event()


@dataclass(frozen=True, kw_only=True)
class Held(Mondrian):
    """Mondrian that begins when it is told to."""

    name = "held"

    def partition(self, table, run):
        if table.n_rows > Hold.now.above:
            Hold.now.begun.set()
            assert Hold.now.go.wait(120)
        return super().partition(table, run)


def hold_runs(monkeypatch, above=0):
    """Add the algorithm ``held`` as the entry point of a package does; return its hold."""
    monkeypatch.setitem(registry._table("algorithms"), "held", "tests.helpers.app_held:Held")
    monkeypatch.setattr(Hold, "now", Hold(above))
    return Hold.now
