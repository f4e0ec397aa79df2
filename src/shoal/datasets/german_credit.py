"""The German Credit table (Hofmann, 1994), embedded as a 20 kB Parquet file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.datasets.adult import embedded, taxonomies

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shoal.datasets.adult import Backend
    from shoal.hierarchy import Taxonomy

GERMAN_CREDIT_QUASI_IDENTIFIERS = (
    "age",
    "status_and_sex",
    "employed_since",
    "residence_years",
    "property",
    "housing",
    "job",
    "foreign_worker",
)
"""Eight of the 21 columns: what somebody else may know of a customer of a bank."""

_TREES: dict[str, object] = {
    "status_and_sex": {
        "male": ["male divorced or separated", "male single", "male married or widowed"],
        "female": ["female divorced, separated or married"],
    },
    "employed_since": {
        "below 4 years": ["unemployed", "below 1 year", "1 to 4 years"],
        "4 years and more": ["4 to 7 years", "7 years and more"],
    },
    "property": {
        "has property": ["real estate", "building savings or life insurance", "car or other"],
        "unknown": ["unknown or none"],
    },
    "housing": ["rent", "own", "for free"],
    "job": {
        "unskilled work": ["unemployed or unskilled non-resident", "unskilled resident"],
        "skilled work": ["skilled employee or official", "management or self-employed"],
    },
    "foreign_worker": ["yes", "no"],
}


def german_credit_hierarchies(columns: Iterable[str] | None = None) -> dict[str, Taxonomy]:
    """Return a taxonomy for each of the six quasi-identifiers that are words.

    Args:
        columns: the columns wanted, in the order of the result; None for all six.

    Raises:
        OptionError: a column has no taxonomy here.
    """
    return taxonomies(_TREES, columns, of="German Credit")


def load_german_credit(*, backend: Backend = "polars") -> Any:
    """Return the Statlog German Credit table: 21 columns about 1,000 borrowers of a bank.

    The codes of the source are the words that its documentation gives them; `credit_risk` is
    ``good`` or ``bad``. Nothing is missing.

    Args:
        backend: the library of the returned table: ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

    Raises:
        OptionError: there is no such backend, or it is not installed.

    Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository, CC BY 4.0,
    https://doi.org/10.24432/C5NC77.
    """
    return embedded("german_credit", "keep", backend)
