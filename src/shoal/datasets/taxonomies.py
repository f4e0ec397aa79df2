"""Taxonomies for Adult with the heights of Li, Wong, Fu and Pei (2006), Table 2.

The paper gives the heights and the age ranges; the inner nodes are our own. Every leaf is at the
depth of its tree's height, so a level of the tree is a complete recoding of the column, as
full-domain algorithms need it. Labels of inner nodes differ from the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shoal.hierarchy import Taxonomy

__all__ = ["adult_hierarchies"]

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

_NATIVE_COUNTRY = {
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
    "native_country": _NATIVE_COUNTRY,
    "salary": ["<=50K", ">50K"],
}
_AGES = range(17, 91)
_AGE_WIDTHS = (5, 10, 20)
_COLUMNS = ("age", *_TREES)


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
    if isinstance(columns, str):
        msg = f"columns must be a list of column names, but the text {columns!r} was given."
        raise OptionError(msg)
    wanted = _COLUMNS if columns is None else tuple(columns)
    for column in wanted:
        if column not in _COLUMNS:
            msg = (
                f"No Adult taxonomy for column {column!r}: columns may name "
                f"{', '.join(_COLUMNS)}.{did_you_mean(str(column), _COLUMNS)}"
            )
            raise OptionError(msg)
    return {column: _build(column) for column in wanted}


def _build(column: str) -> Taxonomy:
    from shoal.hierarchy import Taxonomy, interval_hierarchy

    if column == "age":
        return interval_hierarchy(_AGES, widths=_AGE_WIDTHS)
    return Taxonomy.from_nested(_TREES[column])
