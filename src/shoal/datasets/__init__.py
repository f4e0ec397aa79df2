"""Tables to try Shoal on: the Adult census extract and a synthetic census of any size.

Everything here works offline from files inside the package. Importing this room is cheap: the
work, and the import of polars, happens when a function is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.datasets.adult import (
        ADULT_COLUMNS,
        ADULT_QUASI_IDENTIFIERS,
        adult_hierarchies,
        load_adult,
    )
    from shoal.datasets.census import make_census

__all__ = [
    "ADULT_COLUMNS",
    "ADULT_QUASI_IDENTIFIERS",
    "adult_hierarchies",
    "load_adult",
    "make_census",
]

_HOMES = {
    "ADULT_COLUMNS": "adult",
    "ADULT_QUASI_IDENTIFIERS": "adult",
    "adult_hierarchies": "adult",
    "load_adult": "adult",
    "make_census": "census",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
