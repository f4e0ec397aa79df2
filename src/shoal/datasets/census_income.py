"""The Census-Income table (Lane & Kohavi, 1999), embedded as a 2 MB Parquet file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shoal.datasets.adult import NATIVE_COUNTRY, embedded, taxonomies

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shoal.datasets.adult import Backend, Missing, Part
    from shoal.hierarchy import Taxonomy

CENSUS_INCOME_QUASI_IDENTIFIERS = (
    "age",
    "class_of_worker",
    "education",
    "marital_status",
    "occupation",
    "race",
    "sex",
    "native_country",
)
"""Eight of the 25 columns: those that are the quasi-identifiers of Adult."""

_NOT_IN_UNIVERSE = "Not in universe"

_EDUCATION = {
    "Up to high school": {
        "Elementary school": [
            "Children",
            "Less than 1st grade",
            "1st 2nd 3rd or 4th grade",
            "5th or 6th grade",
            "7th and 8th grade",
        ],
        "High school": [
            "9th grade",
            "10th grade",
            "11th grade",
            "12th grade no diploma",
            "High school graduate",
        ],
    },
    "Higher education": {
        "Undergraduate": [
            "Some college but no degree",
            "Associates degree-occup /vocational",
            "Associates degree-academic program",
            "Bachelors degree(BA AB BS)",
        ],
        "Postgraduate": [
            "Masters degree(MA MS MEng MEd MSW MBA)",
            "Prof school degree (MD DDS DVM LLB JD)",
            "Doctorate degree(PhD EdD)",
        ],
    },
}

# Adult's countries under the names of this source, and two that are only here.
_OTHER_NAMES = {
    "Outlying-US(Guam-USVI-etc)": "Outlying-U S (Guam USVI etc)",
    "Hong": "Hong Kong",
    "South": "South Korea",
}
_COUNTRIES: dict[str, Any] = {
    continent: {
        region: [_OTHER_NAMES.get(country, country) for country in countries]
        for region, countries in regions.items()
    }
    for continent, regions in NATIVE_COUNTRY.items()
}
_COUNTRIES["America"]["Central America"].append("Panama")

_TREES: dict[str, object] = {
    "class_of_worker": {
        "Paid": {
            "Private sector": ["Private"],
            "Self-employed": ["Self-employed-incorporated", "Self-employed-not incorporated"],
            "Government": ["Federal government", "Local government", "State government"],
        },
        "Unpaid": {
            "Unwaged": ["Without pay", "Never worked"],
            "Children and others": [_NOT_IN_UNIVERSE],
        },
    },
    "education": _EDUCATION,
    "marital_status": {
        "Married": {
            "Spouse present": ["Married-civilian spouse present", "Married-A F spouse present"],
            "Spouse absent": ["Married-spouse absent", "Separated"],
        },
        "Single": {
            "Formerly married": ["Divorced", "Widowed"],
            "Not yet married": ["Never married"],
        },
    },
    "occupation": {
        "Management and professions": [
            "Executive admin and managerial",
            "Professional specialty",
            "Technicians and related support",
        ],
        "Sales and office": ["Adm support including clerical", "Sales"],
        "Manual work": [
            "Farming forestry and fishing",
            "Handlers equip cleaners etc",
            "Machine operators assmblrs & inspctrs",
            "Precision production craft & repair",
            "Transportation and material moving",
        ],
        "Service and protection": [
            "Armed Forces",
            "Other service",
            "Private household services",
            "Protective services",
        ],
        "No occupation": [_NOT_IN_UNIVERSE],
    },
    "race": {
        "White or Black": ["White", "Black"],
        "Asian, Native or other": [
            "Asian or Pacific Islander",
            "Amer Indian Aleut or Eskimo",
            "Other",
        ],
    },
    "sex": ["Female", "Male"],
    **dict.fromkeys(("native_country", "father_country", "mother_country"), _COUNTRIES),
}


def census_income_hierarchies(columns: Iterable[str] | None = None) -> dict[str, Taxonomy]:
    """Return a taxonomy for each categorical column that has more than a few values.

    Heights: education, class_of_worker, marital_status and countries 3, occupation and race 2,
    sex 1. They cover every value of `load_census_income(missing="keep")`; the other columns have
    few values or are numbers.

    Args:
        columns: the columns wanted, in the order of the result; None for all nine.

    Raises:
        OptionError: a column has no taxonomy here.
    """
    return taxonomies(_TREES, columns, of="Census-Income")


def load_census_income(
    missing: Missing = "drop", *, part: Part | None = None, backend: Backend = "polars"
) -> Any:
    """Return 25 columns of the UCI Census-Income (KDD) table: people of the US census of 1994/95.

    `age`, `employees`, `self_employed`, `veterans_benefits` and `weeks_worked` are integers
    (`self_employed` and `veterans_benefits` are codes), everything else is text; `salary` is
    ``<=50K`` or ``>50K``. Rows of the source's training file come first. Left out are the weight
    of a row, sums of money, codes that repeat other columns, and the columns on moving.

    Args:
        missing: ``"drop"`` keeps the rows without an unknown value; ``"keep"`` returns all 299,285
            rows, with nulls in the three columns of countries.
        part: ``"train"`` for the source's 199,523 rows for training, ``"test"`` for its 99,762
            rows for tests, None for both.
        backend: the library of the returned table: ``"polars"``, ``"pandas"`` or ``"pyarrow"``.

    Raises:
        OptionError: an argument is none of the above, or the backend is not installed.

    Lane, T. & Kohavi, R. (1999). Census-Income (KDD). UCI Machine Learning Repository, CC BY 4.0,
    https://doi.org/10.24432/C5N30T.
    """
    return embedded("census_income", missing, backend, part, 199_523)
