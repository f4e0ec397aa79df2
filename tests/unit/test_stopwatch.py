"""Compiling is no work: what is timed leaves it out."""

import time

import numba

from shoal.runtime.progress import Stopwatch


def test_time_spent_compiling_is_left_out():
    watch, began = Stopwatch(), time.perf_counter()

    @numba.njit
    def fresh(n):
        total = 0.0
        for each in range(n):
            total += each**0.5
        return total

    fresh(3)
    elapsed = time.perf_counter() - began
    assert watch.seconds() < elapsed / 2


def test_work_is_counted():
    watch = Stopwatch()
    time.sleep(0.05)
    assert watch.seconds() >= 0.05
