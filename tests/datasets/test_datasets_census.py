"""The synthetic census looks like Adult, is reproducible and is no copy of it."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.datasets import ADULT_COLUMNS, ADULT_QUASI_IDENTIFIERS, load_adult, make_census
from shoal.errors import OptionError

N_ROWS = 200_000
# SHA-256 of 2,000 rows as CSV. A change here changes every benchmark on synthetic data.
PINNED_STREAM = "3ee8f13b5c030ca8c35e118ee129bc658d3f85e12d74a8ab1cc70179f93591f5"


@pytest.fixture(scope="module")
def adult() -> pl.DataFrame:
    return load_adult()


@pytest.fixture(scope="module")
def census() -> pl.DataFrame:
    return make_census(N_ROWS, seed=1)


def total_variation(one: pl.DataFrame, other: pl.DataFrame, columns: list[str]) -> float:
    """Half the sum of the differences between two tables' shares of each tuple of values."""
    shares = [frame.group_by(columns).agg(pl.len() / frame.height) for frame in (one, other)]
    both = shares[0].join(shares[1], on=columns, how="full", coalesce=True).fill_null(0.0)
    return float((both["len"] - both["len_right"]).abs().sum()) / 2


def correlation(frame: pl.DataFrame, column: str, condition: pl.Expr) -> float:
    """Pearson correlation of a numeric column with a yes/no condition."""
    yes = frame.select(condition.cast(pl.Int64)).to_series().to_numpy()
    return float(np.corrcoef(frame[column].to_numpy(), yes)[0, 1])


def test_schema_is_that_of_adult(adult: pl.DataFrame, census: pl.DataFrame) -> None:
    assert census.schema == adult.schema
    assert census.height == N_ROWS
    assert sum(census.null_count().row(0)) == 0


def test_the_same_seed_gives_the_same_table() -> None:
    assert make_census(50_000, seed=3).equals(make_census(50_000, seed=3))


def test_a_smaller_table_is_the_beginning_of_a_larger_one(census: pl.DataFrame) -> None:
    assert make_census(1, seed=1).equals(census.head(1))
    assert make_census(70_001, seed=1).equals(census.head(70_001))


def test_the_stream_of_seed_zero_is_pinned_for_every_machine() -> None:
    written = make_census(2_000, missing=0.1).write_csv().encode()
    assert hashlib.sha256(written).hexdigest() == PINNED_STREAM


def test_different_seeds_give_different_tables() -> None:
    one, other = make_census(1_000, seed=1), make_census(1_000, seed=2)
    assert sum(a == b for a, b in zip(one.rows(), other.rows(), strict=True)) == 0


@pytest.mark.parametrize(
    "column",
    [name for name in ADULT_COLUMNS if name != "fnlwgt"],
)
def test_marginal_distribution_is_close_to_that_of_adult(
    column: str, adult: pl.DataFrame, census: pl.DataFrame
) -> None:
    assert total_variation(adult, census, [column]) < 0.025


def test_weights_have_the_quartiles_and_the_long_tail_of_adult(
    adult: pl.DataFrame, census: pl.DataFrame
) -> None:
    for share in (0.05, 0.25, 0.5, 0.75, 0.95, 0.999):
        wanted = adult["fnlwgt"].quantile(share)
        assert census["fnlwgt"].quantile(share) == pytest.approx(wanted, rel=0.05)


@pytest.mark.parametrize(
    ("column", "condition"),
    [
        ("education_num", pl.col("salary") == ">50K"),
        ("age", pl.col("marital_status") == "Never-married"),
        ("age", pl.col("salary") == ">50K"),
        ("hours_per_week", pl.col("salary") == ">50K"),
        ("hours_per_week", pl.col("sex") == "Male"),
        ("education_num", pl.col("occupation") == "Prof-specialty"),
        ("education_num", pl.col("native_country") == "Mexico"),
        ("capital_gain", pl.col("salary") == ">50K"),
    ],
)
def test_dependence_between_columns_is_kept(
    column: str, condition: pl.Expr, adult: pl.DataFrame, census: pl.DataFrame
) -> None:
    wanted = correlation(adult, column, condition)
    assert abs(wanted) > 0.2
    assert correlation(census, column, condition) == pytest.approx(wanted, abs=0.05)


@pytest.mark.parametrize(
    "columns",
    [
        ["marital_status", "relationship", "sex"],
        ["occupation", "sex"],
        ["occupation", "workclass"],
        ["race", "native_country"],
        ["marital_status", "salary"],
    ],
)
def test_joint_distribution_is_close_to_that_of_adult(
    columns: list[str], adult: pl.DataFrame, census: pl.DataFrame
) -> None:
    assert total_variation(adult, census, columns) < 0.05


def test_education_and_its_number_always_agree(adult: pl.DataFrame, census: pl.DataFrame) -> None:
    pairs = ["education", "education_num"]
    assert set(census.select(pairs).unique().rows()) <= set(adult.select(pairs).unique().rows())


def test_distinct_tuples_keep_growing_with_the_number_of_rows(census: pl.DataFrame) -> None:
    tuples = census.select(ADULT_QUASI_IDENTIFIERS)
    assert tuples.n_unique() > 1.4 * tuples.head(N_ROWS // 2).n_unique()


def test_as_many_rows_as_adult_hold_about_as_many_distinct_tuples(
    adult: pl.DataFrame, census: pl.DataFrame
) -> None:
    wanted = adult.select(ADULT_QUASI_IDENTIFIERS).n_unique()
    found = census.head(adult.height).select(ADULT_QUASI_IDENTIFIERS).n_unique()
    assert found == pytest.approx(wanted, rel=0.1)


def test_rows_are_not_copies_of_adult(adult: pl.DataFrame, census: pl.DataFrame) -> None:
    everything = list(adult.columns)
    copied = census.join(adult.unique(), on=everything, how="semi").height
    assert copied < census.height / 10_000
    unseen = census.join(adult, on=list(ADULT_QUASI_IDENTIFIERS), how="anti").height
    assert unseen > census.height / 5


def test_missing_is_the_share_of_nulls_and_leaves_the_other_cells_alone() -> None:
    holes, whole = make_census(50_000, seed=5, missing=0.1), make_census(50_000, seed=5)
    nulls = holes.null_count().row(0, named=True)
    touched = {"workclass", "occupation", "native_country"}
    assert {name for name, count in nulls.items() if count} == touched
    assert all(nulls[name] == pytest.approx(5_000, rel=0.1) for name in touched)
    assert holes["workclass"].is_null().equals(holes["occupation"].is_null())
    for name in whole.columns:
        known = holes[name].is_not_null()
        assert holes[name].filter(known).equals(whole[name].filter(known))
    assert make_census(10, missing=1).null_count()["occupation"].item() == 10


@pytest.mark.parametrize("backend", ["pandas", "pyarrow"])
def test_other_backends_hold_the_same_cells(backend: Any) -> None:
    table = make_census(100, backend=backend, missing=0.2)
    assert type(table).__module__.startswith(backend)
    columns = table.to_dict("list") if backend == "pandas" else table.to_pydict()
    expected = make_census(100, missing=0.2)
    assert list(columns) == expected.columns
    assert columns["age"] == expected["age"].to_list()
    assert columns["salary"] == expected["salary"].to_list()


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((0,), {}, "n_rows must be a whole number of at least 1, but 0 was given"),
        ((-5,), {}, "n_rows must be a whole number of at least 1, but -5 was given"),
        ((1.5,), {}, "n_rows must be a whole number"),
        ((True,), {}, "n_rows must be a whole number"),
        ((10, -1), {}, "seed must be a whole number of at least 0"),
        ((10,), {"missing": 1.1}, "missing must be a share from 0 to 1"),
        ((10,), {"missing": float("nan")}, "missing must be a share from 0 to 1"),
        ((10,), {"missing": "0.1"}, "missing must be a share from 0 to 1"),
        ((10,), {"backend": "polar"}, r"Did you mean 'polars'\?"),
    ],
)
def test_an_argument_outside_its_range_is_named(
    arguments: tuple[Any, ...], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(OptionError, match=said):
        make_census(*arguments, **options)
