"""Checks of the options of an algorithm, each with one wording of what is wrong."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from shoal.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.algorithm.base import Algorithm

__all__ = ["check_choice", "check_flag", "check_number", "check_whole"]


def check_whole(algorithm: Algorithm, option: str, *, least: int = 1) -> None:
    """Refuse an option that is not a whole number of at least ``least``."""
    value = getattr(algorithm, option)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _wrong(algorithm, option, f"a whole number of at least {least}")


def check_number(algorithm: Algorithm, option: str, low: float, high: float = math.inf) -> None:
    """Refuse an option that is neither None nor a finite number from ``low`` to ``high``."""
    value = getattr(algorithm, option)
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not low <= value <= high:
        wanted = f"from {low:g} to {high:g}" if math.isfinite(high) else f"of at least {low:g}"
        raise _wrong(algorithm, option, f"a number {wanted}")


def check_choice(algorithm: Algorithm, option: str, known: Sequence[str]) -> None:
    """Refuse an option that is not one of some words."""
    value = getattr(algorithm, option)
    if value not in known:
        hint = did_you_mean(str(value), known)
        raise _wrong(algorithm, option, f"one of {', '.join(known)}", hint)


def check_flag(algorithm: Algorithm, option: str) -> None:
    """Refuse an option that is neither true nor false."""
    if not isinstance(getattr(algorithm, option), bool):
        raise _wrong(algorithm, option, "true or false")


def _wrong(algorithm: Algorithm, option: str, wanted: str, hint: str = "") -> OptionError:
    value = getattr(algorithm, option)
    return OptionError(f"{option} of {algorithm.name!r} must be {wanted}, got {value!r}.{hint}")
