"""How much random tests try: a share in `make test`, all of it in `make test-all`."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("SHOAL_HYPOTHESIS_PROFILE") == "thorough"


def share(count: int, least: int = 10) -> int:
    """Return a fifth of so many, but at least a few; all where tests are to be thorough."""
    return count if THOROUGH else max(count // 5, min(count, least))
