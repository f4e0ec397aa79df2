"""What every test shares: profiles of Hypothesis, and the time since make was called."""

import os
import time

from hypothesis import HealthCheck, settings

from shoal.kernels.callers import trust
from tests.helpers.effort import THOROUGH, share

trust("tests")  # they try single steps of a search

# Each core has a worker already. Threads of OpenMP wait for each other without giving their core
# away: beside other programs, 60 rounds of boosting on 200 rows took 45 seconds and take one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The first call of a kernel compiles it, which no deadline survives; slowness has benchmarks.
settings.register_profile(
    "shoal",
    deadline=None,
    max_examples=share(100),
    derandomize=not THOROUGH,  # luck has no part in whether `make test` passes
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("thorough", settings.get_profile("shoal"), max_examples=1000)
settings.load_profile(os.environ.get("SHOAL_HYPOTHESIS_PROFILE", "shoal"))


def pytest_terminal_summary(terminalreporter):
    """Say how long everything took so far, installing and compiling included."""
    began = os.environ.get("SHOAL_MAKE_BEGAN")
    if began:
        terminalreporter.write_sep("=", f"{time.time() - int(began):.0f} s since make was called")
