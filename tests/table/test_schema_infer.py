"""Facts about the kinds that data types stand for."""

import datetime as dt
from decimal import Decimal

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.errors import DataError, OptionError
from shoal.table.infer import infer_kinds
from shoal.table.schema import Kind, build_schema

DAY = dt.date(2020, 2, 29)
NOON = dt.datetime(2020, 2, 29, 12)


def infer(native, **options):
    frame = nw.from_native(native, eager_only=True)
    schema = build_schema(frame.columns, quasi_identifiers=frame.columns, **options)
    return infer_kinds(schema, frame)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None], Kind.NUMERIC),
        ([1.5, None], Kind.NUMERIC),
        ([Decimal("1.5"), None], Kind.NUMERIC),
        ([True, None], Kind.FLAT),
        (["x", None], Kind.FLAT),
        ([DAY, None], Kind.DATE),
        ([NOON, None], Kind.DATETIME),
        ([None, None], Kind.FLAT),
    ],
)
@pytest.mark.parametrize("library", [pl.DataFrame, pa.table])
def test_each_data_type_has_its_kind(values, kind, library):
    assert infer(library({"x": values}))["x"].kind is kind


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (pd.Series([1, 2]), Kind.NUMERIC),
        (pd.Series([1.5, None]), Kind.NUMERIC),
        (pd.Series([True, False]), Kind.FLAT),
        (pd.Series(["x", None]), Kind.FLAT),
        (pd.Series([NOON, None]), Kind.DATETIME),
        (pd.Series(["x", "y"], dtype="category"), Kind.FLAT),
    ],
)
def test_each_pandas_type_has_its_kind(series, kind):
    assert infer(series.to_frame("x"))["x"].kind is kind


def test_an_ordered_type_is_ordinal_and_brings_its_order():
    levels = ["low", "middle", "high"]
    frames = [
        pl.DataFrame({"x": pl.Series(["high", "low"], dtype=pl.Enum(levels))}),
        pd.DataFrame({"x": pd.Categorical(["high", "low"], categories=levels, ordered=True)}),
    ]
    for frame in frames:
        column = infer(frame)["x"]
        assert column.kind is Kind.ORDINAL
        assert column.order == ("low", "middle", "high")
        assert infer(frame, kinds={"x": "ordinal"})["x"].order == ("low", "middle", "high")


def test_a_categorical_without_order_is_flat():
    frame = pl.DataFrame({"x": pl.Series(["b", "a"], dtype=pl.Categorical)})
    assert infer(frame)["x"].kind is Kind.FLAT


def test_ordinal_without_an_order_anywhere_is_an_error():
    with pytest.raises(OptionError, match="'x' is ordinal but has no order"):
        infer(pl.DataFrame({"x": ["a", "b"]}), kinds={"x": "ordinal"})


def test_what_the_user_says_stays():
    frame = pl.DataFrame({"a": [1], "b": [2], "c": ["u"], "d": [3]})
    schema = infer(
        frame,
        kinds={"a": "set", "b": "flat"},
        orders={"c": ["u", "v"]},
        hierarchies={"d": {"*": ["3"]}},
    )
    kinds = [column.kind for column in schema.columns]
    assert kinds == [Kind.SET, Kind.FLAT, Kind.ORDINAL, Kind.CATEGORICAL]


@pytest.mark.parametrize("kind", ["numeric", "date", "datetime"])
def test_a_kind_the_data_cannot_carry_is_an_error(kind):
    with pytest.raises(OptionError, match=f"'x' is given the kind '{kind}'"):
        infer(pl.DataFrame({"x": ["cell"]}), kinds={"x": kind})


@pytest.mark.parametrize(
    "values", [[[1, 2]], [{"a": 1}], [b"bytes"], [dt.timedelta(days=1)], [dt.time(1)]]
)
def test_nested_binary_and_clock_types_are_errors_that_name_the_column(values):
    with pytest.raises(DataError, match="'x'"):
        infer(pl.DataFrame({"x": values}))


def test_mixed_types_are_an_error_that_shows_no_cell():
    frame = pd.DataFrame({"x": pd.Series([1, "secret", None], dtype=object)})
    with pytest.raises(DataError, match="'x' holds values of mixed") as caught:
        infer(frame)
    assert "secret" not in str(caught.value)


def test_columns_that_are_not_quasi_identifiers_keep_no_kind():
    frame = nw.from_native(pl.DataFrame({"age": [1], "notes": [[1, 2]]}), eager_only=True)
    schema = build_schema(frame.columns, quasi_identifiers="age", insensitive="notes")
    assert infer_kinds(schema, frame)["notes"].kind is None
