"""How much random tests try: a share in `make test`, all of it in `make test-all`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

THOROUGH = os.environ.get("SHOAL_HYPOTHESIS_PROFILE") == "thorough"


def share(count: int, least: int = 10) -> int:
    """Return a fifth of so many, but at least a few; all where tests are to be thorough."""
    return count if THOROUGH else max(count // 5, min(count, least))


def further(values: Iterable[Any], is_first: Callable[[Any], bool]) -> list[Any]:
    """Return parameters of a test; those that do not come first are left to `make test-all`."""
    return [
        pytest.param(value, marks=() if is_first(value) else pytest.mark.long) for value in values
    ]
