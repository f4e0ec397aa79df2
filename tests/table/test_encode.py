"""Every data type becomes narrow codes in the right order, whatever library carries it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.errors import DataError, HierarchyError
from shoal.hierarchy import Taxonomy
from shoal.table.encode import encode
from shoal.table.frames import to_polars
from shoal.table.infer import infer_kinds
from shoal.table.schema import Kind, build_schema

DAY = dt.date(2024, 2, 29)
NOON = dt.datetime(2024, 2, 29, 12)


def encode_frame(frame, *, sensitive=(), **options):
    polars = to_polars(frame)
    qis = [name for name in polars.columns if name not in sensitive]
    schema = build_schema(polars.columns, quasi_identifiers=qis, sensitive=sensitive, **options)
    return encode(polars, infer_kinds(schema, nw.from_native(polars)))


def encode_column(values, dtype=None, **options):
    series = values if isinstance(values, pl.Series) else pl.Series("x", values, dtype=dtype)
    table = encode_frame(series.alias("x").to_frame(), **options)
    return table.attributes[0]


# -- data types -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype",
    [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Int128],
)
def test_integers_are_ranked_and_placed_on_the_number_line(dtype):
    column = encode_column([30, 7, None, 30, 12], dtype)
    assert (column.kind, column.algebra) == (Kind.NUMERIC, "interval")
    assert column.codes.tolist() == [2, 0, 3, 2, 1]
    assert list(column.values) == [7, 12, 30]
    assert column.positions.tolist() == [7, 12, 30]
    assert column.counts.tolist() == [1, 1, 2, 1]
    assert column.has_missing


def test_the_largest_integers_keep_their_ranks():
    column = encode_column([2**64 - 1, 2**64 - 2, 0], pl.UInt64)
    assert column.codes.tolist() == [2, 1, 0]


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_floats_are_ranked_and_nan_is_missing(dtype):
    column = encode_column([0.5, float("nan"), -2.0, None, 0.5], dtype)
    assert column.codes.tolist() == [1, 2, 0, 2, 1]
    assert column.positions.tolist() == [-2.0, 0.5]


def test_minus_zero_is_zero():
    column = encode_column([-0.0, 0.0, 1.0])
    assert column.codes.tolist() == [0, 0, 1]
    assert str(column.values[0]) == "0.0"


def test_decimals_are_ranked_exactly():
    values = [Decimal("1.50"), Decimal("-2.25"), None, Decimal("1.51")]
    column = encode_column(values, pl.Decimal(10, 2))
    assert column.kind is Kind.NUMERIC
    assert column.codes.tolist() == [1, 0, 3, 2]
    assert column.positions.tolist() == [-2.25, 1.5, 1.51]


def test_booleans_are_flat():
    column = encode_column([True, None, False, True])
    assert (column.kind, column.algebra) == (Kind.FLAT, "tree")
    assert column.codes.tolist() == [1, 2, 0, 1]
    assert column.taxonomy.leaf_labels == ("false", "true")


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_text_is_flat_and_sorted(dtype):
    column = encode_column(["pear", "fig", None, "pear"], dtype)
    assert (column.kind, column.algebra) == (Kind.FLAT, "tree")
    assert column.codes.tolist() == [1, 0, 2, 1]
    assert list(column.values) == ["fig", "pear"]
    assert column.taxonomy.leaf_labels == ("fig", "pear")


def test_an_enum_is_ordinal_in_the_order_of_its_categories():
    column = encode_column(["high", "low", None], pl.Enum(["low", "middle", "high"]))
    assert (column.kind, column.algebra) == (Kind.ORDINAL, "interval")
    assert column.codes.tolist() == [2, 0, 3]
    assert column.size == 3
    assert column.positions.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("kind", "algebra"), [("flat", "tree"), ("set", "set")])
def test_an_enum_may_be_used_without_its_order(kind, algebra):
    dtype = pl.Enum(["low", "middle", "high"])
    column = encode_column(["high", "low", None], dtype, kinds={"x": kind})
    assert column.algebra == algebra
    assert column.codes.tolist() == [1, 0, 2]


def test_a_given_order_decides_the_codes_of_an_ordinal_column():
    column = encode_column(["m", "s", "m"], orders={"x": ["xs", "s", "m", "l"]})
    assert column.codes.tolist() == [2, 1, 2]
    assert column.size == 4
    assert column.values == ("xs", "s", "m", "l")


def test_dates_are_placed_by_day():
    column = encode_column([DAY, DAY - dt.timedelta(1), None, DAY + dt.timedelta(9)])
    assert column.kind is Kind.DATE
    assert column.codes.tolist() == [1, 0, 3, 2]
    assert np.diff(column.positions).tolist() == [1, 9]
    assert column.values[0] == DAY - dt.timedelta(1)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_datetimes_are_placed_by_time(unit, zone):
    hours = pl.Series([NOON, NOON - dt.timedelta(hours=2), None, NOON + dt.timedelta(hours=1)])
    column = encode_column(hours.cast(pl.Datetime(unit)).dt.replace_time_zone(zone))
    assert column.kind is Kind.DATETIME
    assert column.codes.tolist() == [1, 0, 3, 2]
    first, second = np.diff(column.positions)
    assert first == 2 * second


def test_datetimes_that_differ_by_nanoseconds_stay_apart():
    series = pl.Series([3, 1, 2]).cast(pl.Datetime("ns"))
    assert encode_column(series, kinds={"x": "flat"}).codes.tolist() == [2, 0, 1]


def test_sets_are_ranked_without_a_tree():
    column = encode_column(["b", "a", None, "b"], kinds={"x": "set"})
    assert (column.algebra, column.taxonomy, column.positions) == ("set", None, None)
    assert column.codes.tolist() == [1, 0, 2, 1]


def test_a_constant_column_has_one_code():
    column = encode_column([5, 5, 5])
    assert column.codes.tolist() == [0, 0, 0]
    assert (column.size, column.has_missing) == (1, False)
    assert column.counts.tolist() == [3, 0]


# -- hierarchies ----------------------------------------------------------------------------


def test_codes_of_a_categorical_column_are_the_leaves_of_its_tree():
    tree = Taxonomy.from_nested({"Asia": ["Iran", "India"], "America": ["USA", "Peru"]})
    column = encode_column(["USA", "India", None], hierarchies={"x": tree})
    assert column.taxonomy is tree
    assert column.codes.tolist() == [2, 1, 4]
    assert column.size == 4
    assert column.counts.tolist() == [0, 1, 1, 0, 1]


@pytest.mark.parametrize("values", [[17, 18], [17.0, 18.0], [Decimal("17.0"), Decimal("18.0")]])
def test_numbers_of_any_type_find_their_leaf(values):
    column = encode_column(values, hierarchies={"x": {"teens": ["18", "17"]}})
    assert column.codes.tolist() == [1, 0]


def test_a_value_outside_the_hierarchy_is_an_error_that_hides_the_value():
    with pytest.raises(HierarchyError, match="1 of 2 distinct values") as caught:
        encode_column(["a", "secret"], hierarchies={"x": ["a", "b"]})
    assert "secret" not in str(caught.value)


def test_a_value_outside_the_order_is_an_error_that_hides_the_value():
    with pytest.raises(HierarchyError, match="leaves out 1 of its 2 distinct values") as caught:
        encode_column(["a", "secret"], orders={"x": ["a", "b"]})
    assert "secret" not in str(caught.value)


# -- narrow types ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_values", "dtype"),
    [(2, np.uint8), (255, np.uint8), (256, np.uint16), (65_535, np.uint16), (65_536, np.uint32)],
)
def test_codes_are_as_narrow_as_the_domain_and_its_missing_code_allow(n_values, dtype):
    column = encode_column([*range(n_values), None])
    assert column.codes.dtype == dtype
    assert column.codes.tolist() == list(range(n_values + 1))


def test_a_tree_with_many_leaves_and_few_values_gets_the_codes_of_its_leaves():
    tree = Taxonomy.flat(range(300))
    column = encode_column([299, 0, None], hierarchies={"x": tree})
    assert column.codes.dtype == np.uint16
    assert column.codes.tolist() == [299, 0, 300]


def test_taking_rows_keeps_domains_and_counts():
    frame = pl.DataFrame({"a": [3, 1, 2, 1], "s": ["x", "y", "x", "x"]})
    table = encode_frame(frame, sensitive=["s"], weights={"a": 2.0})
    part = table.take(np.array([2, 0]))
    assert part.n_rows == 2
    assert part.attributes[0].codes.tolist() == [1, 2]
    assert part.attributes[0].counts.tolist() == [2, 1, 1, 0]
    assert part.sensitive[0].codes.tolist() == [0, 0]
    assert part.weights.tolist() == [2.0]


# -- sensitive columns ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "codes", "size", "ordered"),
    [
        (["b", None, "a"], [1, 2, 0], 3, False),
        ([2.5, float("nan"), 1.0], [1, 2, 0], 3, True),
        ([DAY, DAY], [0, 0], 1, True),
        ([None, None], [0, 0], 1, False),
        (pl.Series(["hi", "lo"], dtype=pl.Enum(["lo", "hi"])), [1, 0], 2, True),
        (pl.Series(["b", "a"], dtype=pl.Categorical), [1, 0], 2, False),
        ([True, False], [1, 0], 2, False),
    ],
    ids=["text", "numbers", "constant date", "nothing", "enum", "categorical", "boolean"],
)
def test_a_missing_sensitive_value_is_a_value_of_its_own(values, codes, size, ordered):
    frame = pl.DataFrame({"a": range(len(codes)), "s": values})
    column = encode_frame(frame, sensitive=["s"]).sensitive[0]
    assert column.codes.tolist() == codes
    assert (column.name, column.size, column.ordered) == ("s", size, ordered)
    assert column.counts.tolist() == np.bincount(codes).tolist()


# -- what cannot be encoded -----------------------------------------------------------------


@pytest.mark.parametrize("bad", [float("inf"), float("-inf")])
@pytest.mark.parametrize("sensitive", [(), ("x",)])
def test_infinite_numbers_are_an_error(bad, sensitive):
    frame = pl.DataFrame({"x": [1.0, bad], "y": [1, 2]})
    with pytest.raises(DataError, match="Column 'x' holds infinite numbers"):
        encode_frame(frame, sensitive=sensitive)


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([None, None], dtype=pl.Int64),
        pl.Series([None, None], dtype=pl.String),
        pl.Series([float("nan"), None]),
        pl.Series([None, None]),
    ],
    ids=["integers", "text", "NaN", "no type"],
)
def test_a_column_of_missing_values_only_is_an_error(values):
    with pytest.raises(DataError, match=r"Column 'x' has no value at all; .*'drop'"):
        encode_column(values)


def test_the_mark_of_suppression_as_a_value_is_an_error():
    with pytest.raises(DataError, match=r"Column 'x' already holds '\*'.*missing value"):
        encode_column(["a", "*"])


def test_python_objects_in_a_sensitive_column_are_an_error():
    frame = pl.DataFrame({"x": [1, 2], "s": pl.Series([object(), 1], dtype=pl.Object)})
    with pytest.raises(DataError, match="Column 's' holds values of mixed types"):
        encode_frame(frame, sensitive=["s"])


# -- pandas, polars and pyarrow -------------------------------------------------------------

COLUMNS = {
    "integer": [3, 1, 2, 3],
    "float": [0.5, None, -1.5, 0.5],
    "text": ["b", None, "a", "é"],
    "flag": [True, False, True, False],
    "day": [DAY, None, DAY - dt.timedelta(3), DAY],
    "time": [NOON, NOON, None, NOON - dt.timedelta(hours=5)],
    "amount": [Decimal("1.10"), Decimal("0.90"), None, Decimal("1.10")],
}
POLARS = pl.DataFrame(COLUMNS)


def as_pandas_objects():
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in COLUMNS.items()})


@pytest.mark.parametrize(
    "frame",
    [
        POLARS.lazy(),
        pa.table(COLUMNS),
        POLARS.to_arrow(),
        pa.concat_tables([pa.table(POLARS[:1].to_arrow()), POLARS[1:].to_arrow()]),
        pa.table(COLUMNS).to_pandas(),
        POLARS.to_pandas(use_pyarrow_extension_array=True),
        pa.table(COLUMNS).to_pandas().convert_dtypes(),
        as_pandas_objects(),
    ],
    ids=[
        "polars lazy",
        "pyarrow",
        "pyarrow from polars",
        "pyarrow in chunks",
        "pandas",
        "pandas on pyarrow",
        "pandas nullable",
        "pandas objects",
    ],
)
def test_the_same_table_gives_the_same_codes_from_every_library(frame):
    expected = encode_frame(POLARS).attributes
    for column, reference in zip(encode_frame(frame).attributes, expected, strict=True):
        assert column.codes.tolist() == reference.codes.tolist(), column.name
        assert (column.name, column.kind) == (reference.name, reference.kind)
        assert list(column.values) == list(reference.values)


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["b", None, "a"], dtype=object),
        pd.Series(["b", float("nan"), "a"], dtype=object),
        pd.Series(["b", pd.NA, "a"], dtype="string"),
        pd.Series(["b", None, "a"], dtype="str"),
        pd.Series(["b", None, "a"], dtype="category"),
        pd.Series(["b", None, "a"], dtype=pd.ArrowDtype(pa.string())),
        pd.Series(["b", None, "a"], dtype=pd.ArrowDtype(pa.large_string())),
    ],
    ids=["object", "object with NaN", "string", "str", "category", "arrow", "arrow large"],
)
def test_all_of_pandas_ways_to_hold_text_give_the_same_codes(series):
    table = encode_frame(pd.DataFrame({"x": series}))
    assert table.attributes[0].kind is Kind.FLAT
    assert table.attributes[0].codes.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("values", "dtype", "codes"),
    [
        ([3, None, 1], "Int64", [1, 2, 0]),
        ([3, None, 1], "UInt8", [1, 2, 0]),
        ([0.5, None, 0.25], "Float32", [1, 2, 0]),
        ([True, None, False], "boolean", [1, 2, 0]),
    ],
)
def test_nullable_pandas_columns_keep_their_gaps(values, dtype, codes):
    frame = pd.DataFrame({"x": pd.array(values, dtype=dtype)})
    assert encode_frame(frame).attributes[0].codes.tolist() == codes


def test_an_ordered_pandas_categorical_keeps_its_order():
    values = pd.Categorical(["high", None, "low"], ["low", "middle", "high"], ordered=True)
    column = encode_frame(pd.DataFrame({"x": values})).attributes[0]
    assert column.kind is Kind.ORDINAL
    assert column.codes.tolist() == [2, 3, 0]


def test_the_index_of_a_pandas_frame_does_not_matter():
    frame = pd.DataFrame({"x": [5, 4]}, index=[7, 7])
    assert encode_frame(frame).attributes[0].codes.tolist() == [1, 0]


def test_a_dictionary_encoded_arrow_column_is_text():
    table = pa.table({"x": pa.array(["b", None, "a"]).dictionary_encode()})
    assert encode_frame(table).attributes[0].codes.tolist() == [1, 2, 0]


@pytest.mark.parametrize("mixed", [["secret", 1], [1, True], [DAY, "secret"]])
def test_a_column_of_mixed_types_is_an_error_that_hides_the_values(mixed):
    frame = pd.DataFrame({"x": pd.Series(mixed, dtype=object)})
    with pytest.raises(DataError, match="Column 'x' holds values of mixed types") as caught:
        to_polars(frame)
    assert "secret" not in str(caught.value)


def test_two_columns_of_the_same_name_are_an_error():
    with pytest.raises(DataError, match="two columns of the same name"):
        to_polars(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_a_column_name_that_is_no_text_is_an_error():
    with pytest.raises(DataError, match="column name of the table must be text"):
        to_polars(pd.DataFrame([[1, 2]]))


@pytest.mark.parametrize("thing", [[1, 2], {"a": [1]}, "table.csv", None, np.ones((2, 2))])
def test_something_that_is_no_table_is_an_error(thing):
    with pytest.raises(DataError, match="must be a dataframe"):
        to_polars(thing)


def test_a_polars_frame_is_passed_through():
    assert to_polars(POLARS) is POLARS
