"""The Adult census extract (Becker & Kohavi, 1996), embedded as a 400 kB Parquet file."""

from __future__ import annotations

from importlib import resources
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from shoal.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from shoal.hierarchy import Taxonomy


# The dataframe library a dataset is returned in.

Backend: TypeAlias = Literal["polars", "pandas", "pyarrow"]

# polars reaches pandas through pyarrow, so a pandas table needs both.
_NEEDS: dict[str, tuple[str, ...]] = {
    "polars": ("polars",),
    "pandas": ("pandas", "pyarrow"),
    "pyarrow": ("pyarrow",),
}


def check_choice(option: str, given: object, allowed: tuple[str, ...]) -> None:
    """Raise an OptionError unless `given` is one of the allowed names."""
    if isinstance(given, str) and given in allowed:
        return
    names = ", ".join(repr(name) for name in allowed)
    hint = did_you_mean(given, allowed) if isinstance(given, str) else ""
    raise OptionError(
        "{option} must be one of {names}, but {given!r} was given.{hint}",
        option=option,
        names=names,
        given=given,
        hint=hint,
    )


def check_backend(backend: object) -> None:
    """Raise an OptionError unless `backend` is known and its packages are installed."""
    check_choice("backend", backend, tuple(_NEEDS))
    absent = [package for package in _NEEDS[str(backend)] if find_spec(package) is None]
    if absent:
        raise OptionError(
            "backend={backend!r} needs {absent}, which cannot be imported: run 'pip install "
            "{absent2}' or choose another backend.",
            backend=backend,
            absent=" and ".join(absent),
            absent2=" ".join(absent),
        )


def to_backend(frame: pl.DataFrame, backend: str) -> Any:
    """Return a polars frame as the chosen library's table."""
    if backend == "pandas":
        return frame.to_pandas()
    if backend == "pyarrow":
        # Oldest compatible layout: large_string instead of string views, which few tools read.
        import polars as pl

        return frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    return frame


# Taxonomies for Adult with the heights of Li, Wong, Fu and Pei (2006), Table 2.
#
# The paper gives the heights and the age ranges; the inner nodes are our own. Every leaf is at the
# depth of its tree's height, so a level of the tree is a complete recoding of the column, as
# full-domain algorithms need it. Labels of inner nodes differ from the values.

_WORKCLASS = {
    "Paid": {
        "Private sector": ["Private"],
        "Self-employed": ["Self-emp-inc", "Self-emp-not-inc"],
        "Government": ["Federal-gov", "Local-gov", "State-gov"],
    },
    "Unpaid": {
        "Unwaged": ["Without-pay", "Never-worked"],
    },
}

_EDUCATION = {
    "Up to high school": {
        "Elementary school": {
            "Lower elementary school": ["Preschool", "1st-4th"],
            "Upper elementary school": ["5th-6th", "7th-8th"],
        },
        "High school": {
            "Junior high school": ["9th", "10th"],
            "Senior high school": ["11th", "12th", "HS-grad"],
        },
    },
    "Higher education": {
        "Undergraduate": {
            "Below bachelor": ["Some-college", "Assoc-voc", "Assoc-acdm"],
            "Bachelor": ["Bachelors"],
        },
        "Postgraduate": {
            "Master": ["Masters"],
            "Above master": ["Prof-school", "Doctorate"],
        },
    },
}

_MARITAL_STATUS = {
    "Married": {
        "Spouse present": ["Married-civ-spouse", "Married-AF-spouse"],
        "Spouse absent": ["Married-spouse-absent", "Separated"],
    },
    "Single": {
        "Formerly married": ["Divorced", "Widowed"],
        "Not yet married": ["Never-married"],
    },
}

_OCCUPATION = {
    "Management and professions": ["Exec-managerial", "Prof-specialty", "Tech-support"],
    "Sales and office": ["Adm-clerical", "Sales"],
    "Manual work": [
        "Craft-repair",
        "Farming-fishing",
        "Handlers-cleaners",
        "Machine-op-inspct",
        "Transport-moving",
    ],
    "Service and protection": [
        "Armed-Forces",
        "Other-service",
        "Priv-house-serv",
        "Protective-serv",
    ],
}

_RACE = {
    "White or Black": ["White", "Black"],
    "Asian, Native or other": ["Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"],
}

NATIVE_COUNTRY = {
    "America": {
        "Northern America": ["United-States", "Canada", "Outlying-US(Guam-USVI-etc)"],
        "Central America": ["Mexico", "El-Salvador", "Guatemala", "Honduras", "Nicaragua"],
        "Caribbean": [
            "Cuba",
            "Dominican-Republic",
            "Haiti",
            "Jamaica",
            "Puerto-Rico",
            "Trinadad&Tobago",
        ],
        "South America": ["Columbia", "Ecuador", "Peru"],
    },
    "Europe": {
        "Western Europe": [
            "England",
            "France",
            "Germany",
            "Holand-Netherlands",
            "Ireland",
            "Scotland",
        ],
        "Southern Europe": ["Greece", "Italy", "Portugal", "Yugoslavia"],
        "Eastern Europe": ["Hungary", "Poland"],
    },
    "Asia": {
        # The source's "South" is read as South Korea, "Hong" as Hong Kong.
        "East Asia": ["China", "Hong", "Japan", "South", "Taiwan"],
        "South-East Asia": ["Cambodia", "Laos", "Philippines", "Thailand", "Vietnam"],
        "South and West Asia": ["India", "Iran"],
    },
}

_TREES: dict[str, object] = {
    "workclass": _WORKCLASS,
    "education": _EDUCATION,
    "marital_status": _MARITAL_STATUS,
    "occupation": _OCCUPATION,
    "race": _RACE,
    "sex": ["Female", "Male"],
    "native_country": NATIVE_COUNTRY,
    "salary": ["<=50K", ">50K"],
}
_AGES = range(17, 91)
_AGE_WIDTHS = (5, 10, 20)


def adult_hierarchies(columns: Iterable[str] | None = None) -> dict[str, Taxonomy]:
    """Return a taxonomy for each of the nine Adult columns of Li et al. (2006), Table 2.

    Heights, in edges from the root to a leaf: age 4 (ranges of 5, 10 and 20 years), workclass 3,
    education 4, marital_status 3, occupation 2, race 2, sex 1, native_country 3, salary 1. All
    leaves of a tree are equally deep. They cover every value of `load_adult(missing="keep")` and
    of `make_census`.

    Args:
        columns: the columns wanted, in the order of the result; None for all nine. The other
            columns of Adult (`education_num`, say) have no taxonomy: treat them as numbers.

    Returns:
        A dict from column name to taxonomy.

    Raises:
        OptionError: a column has no taxonomy here.

    Li, J., Wong, R. C.-W., Fu, A. W.-C. & Pei, J. (2006). Achieving k-Anonymity by Clustering in
    Attribute Hierarchical Structures. DaWaK 2006.
    """
    return taxonomies({"age": _AGES, **_TREES}, columns, of="Adult")


def taxonomies(
    trees: Mapping[str, object], columns: Iterable[str] | None, *, of: str
) -> dict[str, Taxonomy]:
    """Return the taxonomies of columns from nested values, or from a range of ages.

    Raises:
        OptionError: a column has no taxonomy here.
    """
    from shoal.hierarchy import Taxonomy, interval_hierarchy

    if isinstance(columns, str):
        raise OptionError(
            "columns must be a list of column names, but the text {columns!r} was given.",
            columns=columns,
        )
    wanted = tuple(trees if columns is None else columns)
    for column in wanted:
        if column not in trees:
            raise OptionError(
                "No {table} taxonomy for column {column!r}: columns may name {columns}.{hint}",
                table=of,
                column=column,
                columns=", ".join(trees),
                hint=did_you_mean(str(column), tuple(trees)),
            )
    return {
        column: interval_hierarchy(values, widths=_AGE_WIDTHS)
        if isinstance(values := trees[column], range)
        else Taxonomy.from_nested(values)
        for column in wanted
    }


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
    return embedded("adult", missing, backend, part, _TRAIN_ROWS)


def embedded(
    name: str, missing: Missing, backend: Backend, part: Part | None = None, n_train: int = 0
) -> Any:
    """Return a table of the package, wherever that is installed (a zip file included).

    Args:
        name: of the file.
        missing: whether rows with an unknown value are dropped or kept.
        backend: the library of the table.
        part: of the source's two parts; None for both.
        n_train: rows of the first part.

    Raises:
        OptionError: an argument is none that is known.
    """
    check_choice("missing", missing, ("drop", "keep"))
    if part is not None:
        check_choice("part", part, ("train", "test"))
    check_backend(backend)
    import polars as pl

    raw = (resources.files("shoal.datasets") / f"{name}.parquet").read_bytes()
    # Files hold narrow integers and codes; users get what reading a CSV would give them.
    narrow: Any = {pl.Int8: pl.Int64, pl.Int16: pl.Int64, pl.Int32: pl.Int64}
    frame = pl.read_parquet(BytesIO(raw)).cast({**narrow, pl.Categorical: pl.String})
    if part == "train":
        frame = frame.head(n_train)
    elif part == "test":
        frame = frame.tail(-n_train)
    return to_backend(frame.drop_nulls() if missing == "drop" else frame, backend)
