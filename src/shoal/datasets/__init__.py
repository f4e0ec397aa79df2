"""Tables to try Shoal on: Adult, Census-Income, German Credit, and people of any number, made up.

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
    from shoal.datasets.census_income import (
        CENSUS_INCOME_QUASI_IDENTIFIERS,
        census_income_hierarchies,
        load_census_income,
    )
    from shoal.datasets.german_credit import (
        GERMAN_CREDIT_QUASI_IDENTIFIERS,
        german_credit_hierarchies,
        load_german_credit,
    )
    from shoal.datasets.hospital import (
        HOSPITAL_LINKS,
        HOSPITAL_ROLES,
        hospital_hierarchies,
        make_hospital,
    )

__all__ = [
    "ADULT_COLUMNS",
    "ADULT_QUASI_IDENTIFIERS",
    "CENSUS_INCOME_QUASI_IDENTIFIERS",
    "GERMAN_CREDIT_QUASI_IDENTIFIERS",
    "HOSPITAL_LINKS",
    "HOSPITAL_ROLES",
    "adult_hierarchies",
    "census_income_hierarchies",
    "german_credit_hierarchies",
    "hospital_hierarchies",
    "load_adult",
    "load_census_income",
    "load_german_credit",
    "make_census",
    "make_hospital",
]

_HOMES = {
    "ADULT_COLUMNS": "adult",
    "ADULT_QUASI_IDENTIFIERS": "adult",
    "adult_hierarchies": "adult",
    "load_adult": "adult",
    "make_census": "census",
    "CENSUS_INCOME_QUASI_IDENTIFIERS": "census_income",
    "census_income_hierarchies": "census_income",
    "load_census_income": "census_income",
    "GERMAN_CREDIT_QUASI_IDENTIFIERS": "german_credit",
    "german_credit_hierarchies": "german_credit",
    "load_german_credit": "german_credit",
    "HOSPITAL_LINKS": "hospital",
    "HOSPITAL_ROLES": "hospital",
    "hospital_hierarchies": "hospital",
    "make_hospital": "hospital",
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
