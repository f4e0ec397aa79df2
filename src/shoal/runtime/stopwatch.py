"""How long something took, without the time in which kernels were compiled for this machine."""

from __future__ import annotations

import time
from typing import Any

__all__ = ["Stopwatch", "compiled_seconds"]


class _Compiling:
    """Seconds that numba has spent compiling in this process; reading its cache is none of it."""

    def __init__(self) -> None:
        self._depth = 0
        self._began = 0.0
        self._total = 0.0

    # numba compiles one thing at a time, whichever thread asks for it.
    def on_start(self, event: Any) -> None:
        del event
        if not self._depth:
            self._began = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        del event
        self._depth -= 1
        if not self._depth:
            self._total += time.perf_counter() - self._began

    def seconds(self) -> float:
        running = time.perf_counter() - self._began if self._depth else 0.0
        return self._total + running


_compiling: _Compiling | None = None


def compiled_seconds() -> float:
    """Return how long this process has compiled kernels, from the first call on."""
    global _compiling  # noqa: PLW0603 - one listener per process
    if _compiling is None:
        from numba.core import event

        class Listening(_Compiling, event.Listener):
            """What numba takes."""

        _compiling = Listening()
        event.register("numba:compile", _compiling)  # type: ignore[no-untyped-call]
    return _compiling.seconds()


class Stopwatch:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._compiled = compiled_seconds()
        self._began = time.perf_counter()

    def seconds(self) -> float:
        """Return the seconds of work since the start."""
        elapsed = time.perf_counter() - self._began
        return max(0.0, elapsed - (compiled_seconds() - self._compiled))
