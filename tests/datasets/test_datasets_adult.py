"""The embedded Adult table is the one the papers use."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import polars as pl
import pytest

from shoal import datasets
from shoal.datasets import ADULT_COLUMNS, ADULT_QUASI_IDENTIFIERS, load_adult
from shoal.errors import OptionError

INTEGERS = {
    "age",
    "fnlwgt",
    "education_num",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
}


@pytest.mark.parametrize(
    ("missing", "part", "n_rows"),
    [
        ("drop", None, 45_222),
        ("keep", None, 48_842),
        ("drop", "train", 30_162),
        ("keep", "train", 32_561),
        ("drop", "test", 15_060),
        ("keep", "test", 16_281),
    ],
)
def test_each_part_has_the_published_number_of_rows(missing: Any, part: Any, n_rows: int) -> None:
    assert load_adult(missing, part=part).height == n_rows


def test_complete_rows_have_the_published_class_counts() -> None:
    counts = dict(load_adult()["salary"].value_counts().iter_rows())
    assert counts == {"<=50K": 34_014, ">50K": 11_208}


def test_columns_are_named_ordered_and_typed_as_documented() -> None:
    schema = load_adult("keep").schema
    assert tuple(schema) == ADULT_COLUMNS
    assert {name for name, dtype in schema.items() if dtype == pl.Int64} == INTEGERS
    assert all(dtype == pl.String for name, dtype in schema.items() if name not in INTEGERS)


def test_default_table_has_no_null_and_the_kept_ones_are_where_the_source_has_them() -> None:
    assert sum(load_adult().null_count().row(0)) == 0
    nulls = load_adult("keep").null_count().row(0, named=True)
    found = {name: count for name, count in nulls.items() if count}
    assert found == {"workclass": 2_799, "occupation": 2_809, "native_country": 857}


def test_training_rows_come_first_in_source_order() -> None:
    whole, train, test = load_adult(), load_adult(part="train"), load_adult(part="test")
    assert whole.equals(pl.concat([train, test]))
    assert whole.row(0)[:6] == (39, "State-gov", 77_516, "Bachelors", 13, "Never-married")
    assert test.row(0)[:4] == (25, "Private", 226_802, "11th")


def test_the_eight_quasi_identifiers_have_the_known_number_of_distinct_tuples() -> None:
    columns = list(ADULT_QUASI_IDENTIFIERS)
    assert load_adult().select(columns).n_unique() == 24_766
    assert load_adult(part="train").select(columns).n_unique() == 18_109


def test_changing_a_loaded_table_in_place_does_not_change_the_next_one() -> None:
    load_adult("keep").drop_in_place("age")
    assert "age" in load_adult("keep").columns


def test_pandas_and_pyarrow_tables_hold_the_same_cells() -> None:
    expected = load_adult("keep")
    arrow = load_adult("keep", backend="pyarrow")
    assert type(arrow).__module__.startswith("pyarrow")
    assert pl.DataFrame(pl.from_arrow(arrow)).equals(expected)
    frame = load_adult("keep", backend="pandas")
    assert type(frame).__module__.startswith("pandas")
    assert pl.from_pandas(frame).equals(expected)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"missing": "kep"}, r"missing must be one of 'drop', 'keep'.*Did you mean 'keep'\?"),
        ({"part": "trian"}, r"part must be one of 'train', 'test'.*Did you mean 'train'\?"),
        ({"backend": "panda"}, r"backend must be one of .*Did you mean 'pandas'\?"),
        ({"missing": None}, r"missing must be one of 'drop', 'keep', but None was given"),
    ],
)
def test_an_unknown_option_is_named_with_the_closest_one(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(OptionError, match=said):
        load_adult(**options)


def test_a_backend_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.datasets import adult as backends

    def without_pandas(name: str) -> object:
        return None if name == "pandas" else object()

    monkeypatch.setattr(backends, "find_spec", without_pandas)
    with pytest.raises(OptionError, match="needs pandas, which cannot be imported"):
        load_adult(backend="pandas")


def test_importing_the_room_imports_no_heavy_package() -> None:
    code = (
        "import sys, shoal.datasets\n"
        "heavy = {'polars', 'numba', 'numpy', 'pandas', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_of_the_room_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="load_adlut"):
        datasets.load_adlut  # noqa: B018  # reading the attribute is the act under test
    assert set(dir(datasets)) == set(datasets.__all__)
