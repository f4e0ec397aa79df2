"""Who may call kernels: this package, and whoever comes through a door.

A kernel looks up whatever number it is given: a wrong code or size makes it read or write beyond an
array, and the interpreter ends without a word. Kernels do not check, and neither do the functions
of `search/` and `algorithm/` that hand them their arrays; what is above makes arrays that fit. So a
call that begins outside of the package has to come through a door: a function that looks at what it
is given. Anything else gets a sentence.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

ROOMS = ("shoal.kernels.", "shoal.search.", "shoal.algorithm.")
"""Where arrays are handed on as they are."""

_TRUSTED = {"shoal"}
_DOORS: set[CodeType] = set()


def door(function: Function) -> Function:
    """Let calls from anywhere come in through this function, which looks at what it is given."""
    _DOORS.add(cast("FunctionType", function).__code__)
    return function


def trust(*packages: str) -> None:
    """Let the modules of these packages call what is no door.

    For tests and benchmarks, and for experiments with a search: they vouch for what they pass.
    """
    _TRUSTED.update(packages)


def check_caller(what: str) -> None:
    """Refuse a call that begins outside of the package and comes through no door.

    Raises:
        TypeError: it does.
    """
    frame, entry = inspect.currentframe(), None
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(ROOMS):
        entry = frame.f_code
        frame = frame.f_back
    package = "" if frame is None else str(frame.f_globals.get("__name__")).partition(".")[0]
    if package not in _TRUSTED and entry not in _DOORS:
        raise TypeError(
            f"{what} trusts what it is given and is for Shoal's own modules; from Python, "
            "`Algorithm.partition` makes groups and `Scanner.costs_with` scans rows"
        )
