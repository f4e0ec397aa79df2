"""What every test shares: one Hypothesis profile, so that runs are short and reports are useful."""

import os

from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, which no deadline survives; slowness has benchmarks.
settings.register_profile(
    "shoal", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("thorough", settings.get_profile("shoal"), max_examples=1000)
settings.load_profile(os.environ.get("SHOAL_HYPOTHESIS_PROFILE", "shoal"))
