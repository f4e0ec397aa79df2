"""The Adult census extract (Becker & Kohavi, 1996), embedded as a 400 kB Parquet file."""

from __future__ import annotations

from importlib import resources
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, overload

from shoal.datasets.backends import Backend, check_backend, check_choice, to_backend

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ADULT_COLUMNS", "ADULT_QUASI_IDENTIFIERS", "load_adult"]

ADULT_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "salary",
)
"""The fifteen columns, in the order of the source."""

ADULT_QUASI_IDENTIFIERS = (
    "age",
    "workclass",
    "education_num",
    "marital_status",
    "occupation",
    "race",
    "sex",
    "native_country",
)
"""The eight quasi-identifiers of Byun et al. and of Lin & Wei: age and education are numeric."""

# The rows of the source's adult.data come first; those of adult.test follow.
_TRAIN_ROWS = 32_561

Missing = Literal["drop", "keep"]
Part = Literal["train", "test"]


@overload
def load_adult(
    missing: Missing = "drop", *, part: Part | None = None, backend: Literal["polars"] = "polars"
) -> pl.DataFrame: ...
@overload
def load_adult(
    missing: Missing = "drop", *, part: Part | None = None, backend: Literal["pandas", "pyarrow"]
) -> Any: ...
def load_adult(
    missing: Missing = "drop", *, part: Part | None = None, backend: Backend = "polars"
) -> Any:
    """Return the UCI Adult table: 15 columns about 48,842 people of the 1994 US census.

    Numbers are 64-bit integers, everything else is text; `salary` is ``<=50K`` or ``>50K``. The
    rows of the source's `adult.data` come first, then those of `adult.test`. Every call returns
    the same table.

    Args:
        missing: ``"drop"`` keeps the 45,222 rows without an unknown value, the table the papers
            use; ``"keep"`` returns all 48,842 rows, with nulls in `workclass`, `occupation` and
            `native_country`.
        part: ``"train"`` for the rows of `adult.data` only (30,162 complete, 32,561 in all),
            ``"test"`` for those of `adult.test` (15,060 and 16,281), None for both.
        backend: the library of the returned table: ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

    Returns:
        A polars or pandas DataFrame, or a pyarrow Table.

    Raises:
        OptionError: an argument is none of the above, or the backend is not installed.

    Becker, B. & Kohavi, R. (1996). Adult. UCI Machine Learning Repository, CC BY 4.0,
    https://doi.org/10.24432/C5XW20.
    """
    check_choice("missing", missing, ("drop", "keep"))
    if part is not None:
        check_choice("part", part, ("train", "test"))
    check_backend(backend)

    frame = _read_embedded()
    if part == "train":
        frame = frame.head(_TRAIN_ROWS)
    elif part == "test":
        frame = frame.tail(-_TRAIN_ROWS)
    if missing == "drop":
        frame = frame.drop_nulls()
    return to_backend(frame, backend)


def _read_embedded() -> pl.DataFrame:
    """Read the file of the package, wherever it is installed (a zip file included)."""
    import polars as pl

    raw = (resources.files("shoal.datasets") / "adult.parquet").read_bytes()
    # The file holds narrow integers; users get the type that reading a CSV would give them.
    frame = pl.read_parquet(BytesIO(raw)).cast({pl.Int16: pl.Int64, pl.Int32: pl.Int64})
    return frame.select(ADULT_COLUMNS)
