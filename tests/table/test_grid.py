"""Grids: how they are written, which cells they make, and which are chosen by default."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share

from shoal.errors import OptionError
from shoal.hierarchy import canonical_label
from shoal.table.encode import encode
from shoal.table.grid import CALENDAR, NO_GRID, Grid, parse_grid
from shoal.table.grid_cells import find_cells
from shoal.table.infer import infer_kinds, settle_grids
from shoal.table.schema import Kind, build_schema, suggest_grid


def cells(values, grid, dtype=None):
    domain = pl.Series("x", values, dtype=dtype, strict=False).unique().sort()
    return domain, find_cells(domain, parse_grid(grid, column="x"), "x")


def texts(values, grid, dtype=None):
    _, lines = cells(values, grid, dtype)
    narrow = dtype == pl.Float32
    both = (each.to_numpy() if narrow else each.to_list() for each in (lines.lower, lines.upper))
    ends = zip(*both, strict=True)
    return [(canonical_label(low), canonical_label(high)) for low, high in ends]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (5, "5"),
        (5.0, "5"),
        ("5", "5"),
        (0.1, "0.1"),
        ("0.010", "0.01"),
        (np.float64(0.25), "0.25"),
        (Decimal("2.50"), "2.5"),
        (1000, "1000"),
        ("1e3", "1000"),
        (" Month ", "month"),
        ("powers of 10", "powers of 10"),
        ("powers-of-2", "powers of 2"),
        ("none", "none"),
    ],
)
def test_a_grid_is_read_from_numbers_and_words(given, read):
    grid = parse_grid(given, column="age")
    assert str(grid) == read
    assert parse_grid(str(grid), column="age") == grid


@pytest.mark.parametrize(
    "given",
    [0, -5, True, "0", "", "fortnight", float("nan"), float("inf"), None, [5], "powers of 3"],
)
def test_what_is_no_grid_is_refused_in_one_sentence(given):
    with pytest.raises(OptionError, match="grid of column 'age' must be a number above 0"):
        parse_grid(given, column="age")


@pytest.mark.parametrize("given", ["1e-30", "1e30", "1.2345678901234567891"])
def test_a_step_beyond_what_numbers_can_tell_is_refused(given):
    with pytest.raises(OptionError, match="must lie between"):
        parse_grid(given, column="age")


def test_a_misspelt_unit_is_recognised():
    with pytest.raises(OptionError, match="Did you mean 'month'"):
        parse_grid("mnth", column="d")


@pytest.mark.parametrize(
    ("values", "grid", "expected"),
    [
        ([23], 5, [("20", "24")]),
        ([-1, 0, 4, 5], 5, [("-5", "-1"), ("0", "4"), ("5", "9")]),
        ([23, 24], 1, [("23", "23"), ("24", "24")]),
        (
            [0, 1, 9, 10, 99, 100],
            "powers of 10",
            [("0", "0"), ("1", "9"), ("10", "99"), ("100", "999")],
        ),
        ([-100, -99, -1], "powers of 10", [("-999", "-100"), ("-99", "-10"), ("-9", "-1")]),
        ([1, 2, 3, 4], "powers of 2", [("1", "1"), ("2", "3"), ("4", "7")]),
    ],
)
def test_cells_of_whole_numbers_hold_both_their_ends(values, grid, expected):
    assert texts(values, grid) == expected


@pytest.mark.parametrize(
    ("values", "grid", "expected"),
    [
        ([23.4178], 0.01, [("23.41", "23.42")]),
        ([0.3], 0.1, [("0.3", "0.4")]),
        ([0.7, 0.1 + 0.2], 0.1, [("0.3", "0.4"), ("0.7", "0.8")]),
        ([-0.05, 0.0], 0.1, [("-0.1", "0"), ("0", "0.1")]),
        ([1234567.891], 1000, [("1234000", "1235000")]),
        (
            [0.02, 0.5, 5.0, 10.0],
            "powers of 10",
            [("0.01", "0.1"), ("0.1", "1"), ("1", "10"), ("10", "100")],
        ),
        ([-5.0, 0.0], "powers of 10", [("-10", "-1"), ("0", "0")]),
        ([-10.0, -1.0], "powers of 10", [("-10", "-1"), ("-1", "-0.1")]),
        ([-4.0, -0.5, 4.0], "powers of 2", [("-4", "-2"), ("-0.5", "-0.25"), ("4", "8")]),
        ([0.3], 0.25, [("0.25", "0.5")]),
    ],
)
def test_cells_of_floats_end_where_the_next_begins(values, grid, expected):
    assert texts(values, grid) == expected


def test_narrow_floats_have_short_lines():
    assert texts([0.3, 0.35], 0.1, pl.Float32) == [("0.3", "0.4")]
    _, lines = cells([0.3], 0.1, pl.Float32)
    assert lines.lower.dtype == pl.Float32


def test_decimals_are_cut_exactly_however_long_they_are():
    values = [Decimal("12345678901234567890123456.78"), Decimal("-0.01")]
    found = texts(values, "0.1", pl.Decimal(38, 2))
    assert found == [
        ("-0.1", "0"),
        ("12345678901234567890123456.7", "12345678901234567890123456.8"),
    ]


def test_decimals_below_0_end_where_the_next_begins():
    values = [Decimal("-10.00"), Decimal("-9.99"), Decimal("-1.00"), Decimal("10.00")]
    lines = [("-10", "-1"), ("-1", "-0.1"), ("10", "100")]
    assert texts(values, "powers of 10", pl.Decimal(10, 2)) == lines


def test_a_step_finer_than_the_decimals_is_refused():
    with pytest.raises(OptionError, match="finer than its numbers"):
        cells([Decimal("1.25")], "0.001", pl.Decimal(10, 2))


@pytest.mark.parametrize(
    ("values", "grid", "dtype", "message"),
    [
        ([1e300], 1, None, "finer than its largest numbers"),
        ([1e15], 100, pl.Float32, "finer than its largest numbers"),
        ([1, 2], 0.5, None, "must be a whole number"),
        ([2**63 - 1], 10, None, "too large for that grid"),
        ([2**64 - 1], 10, pl.UInt64, "too large for that grid"),
        ([1e308], "powers of 10", None, "too large for that grid"),
        ([2e38], "powers of 10", pl.Float32, "too large for that grid"),
        ([2**62], "powers of 10", None, "too large for that grid"),
        ([Decimal("0.30")], "powers of 2", pl.Decimal(10, 2), "do not fit the decimals"),
    ],
)
def test_a_grid_that_does_not_fit_the_numbers_is_refused_without_a_cell(
    values, grid, dtype, message
):
    with pytest.raises(OptionError, match=message) as caught:
        cells(values, grid, dtype)
    assert str(values[0]) not in str(caught.value)


def test_narrow_whole_numbers_may_have_cells_beyond_their_type():
    assert texts([127, -128], 50, pl.Int8) == [("-150", "-101"), ("100", "149")]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("day", ("2024-02-29", "2024-02-29")),
        ("week", ("2024-02-26", "2024-03-03")),
        ("month", ("2024-02-01", "2024-02-29")),
        ("quarter", ("2024-01-01", "2024-03-31")),
        ("year", ("2024-01-01", "2024-12-31")),
        ("decade", ("2020-01-01", "2029-12-31")),
    ],
)
def test_cells_of_days_are_units_of_the_calendar(unit, expected):
    assert texts([dt.date(2024, 2, 29)], unit) == [expected]


@pytest.mark.parametrize("unit", CALENDAR)
def test_the_first_and_the_last_moment_of_the_calendar_have_cells(unit):
    moments = [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)]
    domain, lines = cells(moments, unit)
    low, high = lines.lower.to_list(), lines.upper.to_list()
    for value, cell in zip(domain.to_list(), lines.of_value.tolist(), strict=True):
        assert low[cell] <= value <= high[cell]
    if unit not in ("second", "minute", "hour"):
        days = [dt.date(1, 1, 1), dt.date(9999, 12, 31)]
        domain, lines = cells(days, unit)
        assert lines.lower.to_list()[0] == dt.date(1, 1, 1)
        assert lines.upper.to_list()[-1] == dt.date(9999, 12, 31)


def test_datetimes_end_where_the_next_unit_begins():
    found = texts([dt.datetime(1969, 12, 31, 23, 59, 59, 5)], "hour")
    assert found == [("1969-12-31 23:00:00", "1970-01-01 00:00:00")]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_every_resolution_of_datetimes_has_the_same_lines(unit):
    found = texts([dt.datetime(2024, 2, 29, 12, 34)], "month", pl.Datetime(unit))
    assert found == [("2024-02-01 00:00:00", "2024-03-01 00:00:00")]


def test_days_of_a_time_zone_begin_at_its_own_midnight_also_where_that_is_skipped():
    # In Santiago the clocks of 2022-09-11 went from 00:00 to 01:00.
    zone = "America/Santiago"
    moments = pl.Series("x", [dt.datetime(2022, 9, 11, 12), dt.datetime(2022, 7, 1, 12)])
    domain = moments.dt.replace_time_zone(zone).sort()
    lines = find_cells(domain, Grid(unit="day"), "x")
    assert [str(each)[:16] for each in lines.lower.to_list()] == [
        "2022-07-01 00:00",
        "2022-09-11 01:00",
    ]
    month = find_cells(domain, Grid(unit="month"), "x")
    assert str(month.lower.to_list()[0]) == "2022-07-01 00:00:00-04:00"


STEPS = st.sampled_from(
    ["1", "5", "0.1", "0.01", "0.25", "2.5", "100", "powers of 10", "powers of 2"]
)
FLOATS = st.floats(-1e9, 1e9, allow_nan=False).map(lambda v: v + 0.0)


@settings(max_examples=share(150), deadline=None)
@given(st.lists(FLOATS | st.integers(-10000, 10000).map(lambda n: n / 100), min_size=1), STEPS)
def test_every_float_lies_in_its_cell_and_cells_do_not_overlap(values, step):
    domain, lines = cells(values, step, pl.Float64)
    low, high = lines.lower.to_list(), lines.upper.to_list()
    for value, cell in zip(domain.to_list(), lines.of_value.tolist(), strict=True):
        if low[cell] == high[cell]:
            assert value == low[cell]
        else:
            assert low[cell] <= value < high[cell]
    assert all(a <= b for a, b in zip(high, low[1:], strict=False))
    if not step.startswith("powers"):
        for line in (*low, *high):
            assert Fraction(Decimal(canonical_label(line))) % Fraction(Decimal(step)) == 0


@settings(max_examples=share(100), deadline=None)
@given(st.lists(st.integers(-(10**12), 10**12), min_size=1), st.sampled_from([1, 2, 5, 7, 1000]))
def test_every_whole_number_lies_in_one_cell(values, step):
    domain, lines = cells(values, step, pl.Int64)
    low, high = lines.lower.to_list(), lines.upper.to_list()
    for value, cell in zip(domain.to_list(), lines.of_value.tolist(), strict=True):
        assert low[cell] <= value <= high[cell]
    assert all(each % step == 0 for each in low)
    assert [b - a for a, b in zip(low, high, strict=True)] == [step - 1] * len(low)


@settings(max_examples=share(100), deadline=None)
@given(
    st.lists(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9998, 1, 1)), min_size=1),
    st.sampled_from(CALENDAR),
)
def test_every_moment_lies_in_its_cell_and_lines_do_not_depend_on_the_others(values, unit):
    domain, lines = cells(values, unit)
    low, high = lines.lower.to_list(), lines.upper.to_list()
    for value, cell in zip(domain.to_list(), lines.of_value.tolist(), strict=True):
        assert low[cell] <= value < high[cell]
        assert texts([value], unit) == [(canonical_label(low[cell]), canonical_label(high[cell]))]


# -- by default ----------------------------------------------------------------------------------


def chosen(values, kind=Kind.NUMERIC, **more):
    return str(suggest_grid(kind, pl.Series("x", values), **more))


def test_floats_have_a_power_of_ten_of_which_a_hundred_fit_between_the_quartiles():
    rng = np.random.default_rng(1)
    assert chosen(rng.uniform(0, 1, 999)) == "0.001"
    assert chosen(rng.uniform(0, 1000, 999)) == "1"
    assert chosen(rng.uniform(-180, 180, 999)) == "1"
    assert chosen(rng.normal(8, 0.01, 999)) == "0.0001"


def test_whole_numbers_days_and_short_decimals_have_none():
    rng = np.random.default_rng(1)
    assert chosen(rng.integers(0, 10**6, 999)) == "none"
    assert chosen(rng.integers(0, 10**6, 999).astype(float)) == "none"
    assert chosen(rng.integers(10, 99, 999) / 10) == "none"
    days = [dt.date(2000, 1, 1) + dt.timedelta(int(n)) for n in rng.integers(0, 9999, 99)]
    assert chosen(days, Kind.DATE) == "none"
    midnights = [dt.datetime(each.year, each.month, each.day) for each in days]
    assert chosen(midnights, Kind.DATETIME) == "none"
    assert chosen(["a", "b"], Kind.FLAT) == "none"


@pytest.mark.parametrize(
    ("days", "unit"), [(0.02, "second"), (1, "minute"), (30, "hour"), (600, "day"), (9000, "month")]
)
def test_datetimes_have_a_unit_of_the_calendar_of_which_a_hundred_fit(days, unit):
    rng = np.random.default_rng(1)
    since = [dt.timedelta(seconds=float(s)) for s in rng.uniform(0, days * 86400, 999)]
    assert chosen([dt.datetime(2000, 1, 1) + each for each in since], Kind.DATETIME) == unit


def test_an_outlier_changes_nothing_about_the_default():
    rng = np.random.default_rng(1)
    usual = rng.normal(50, 10, 999).tolist()
    assert chosen([*usual, 1e12]) == chosen([*usual, -3.0]) == chosen(usual)


@pytest.mark.parametrize(
    "values", [[1.5] * 9, [1e300, 1.5, -1e300, 2.25], [5e-324, 1e-320, 2e-322], [float("nan"), 1.5]]
)
def test_numbers_without_a_sensible_step_have_none(values):
    assert chosen(values) == "none"


def test_columns_of_one_value_and_a_few_others_use_wider_quantiles():
    values = [0.0] * 900 + np.random.default_rng(1).uniform(0, 100, 100).tolist()
    assert chosen(values) == "0.1"


def test_for_a_job_whole_numbers_and_days_may_have_one_too():
    rng = np.random.default_rng(1)
    assert chosen(rng.integers(0, 10**6, 999), whole=True) == "1000"
    assert chosen(rng.integers(0, 90, 999), whole=True) == "none"
    days = [dt.date(1920, 1, 1) + dt.timedelta(int(n)) for n in rng.integers(0, 30000, 999)]
    assert chosen(days, Kind.DATE, whole=True) == "month"
    assert chosen(days[:99], Kind.NUMERIC, whole=True) == "none"


def test_what_was_asked_for_stays_and_the_rest_is_settled():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"a": rng.normal(0, 1, 99), "b": rng.normal(0, 1, 99), "c": rng.normal(0, 1, 99)}
    )
    schema = build_schema(
        ["a", "b", "c"], quasi_identifiers=["a", "b", "c"], grid={"a": 2, "b": "none"}
    )
    schema = infer_kinds(schema, nw.from_native(frame))
    settled = settle_grids(schema, frame)
    assert [str(each) for each in settled.grids.values()] == ["2", "none", "0.01"]
    assert [each.by_default for each in settled.grids.values()] == [False, False, True]
    off = settle_grids(schema, frame, by_default=False)
    assert [str(each) for each in off.grids.values()] == ["2", "none", "none"]
    assert not NO_GRID


@pytest.mark.parametrize(
    ("column", "grid", "message"),
    [
        ([1, 2], "month", "holds numbers"),
        ([dt.date(2020, 1, 1)] * 2, 5, "holds dates"),
        ([dt.date(2020, 1, 1)] * 2, "hour", "holds days"),
        (["a", "b"], 5, "no ends on a number line"),
    ],
)
def test_a_grid_that_does_not_fit_its_column_is_refused(column, grid, message):
    frame = pl.DataFrame({"x": column})
    schema = build_schema(["x"], quasi_identifiers=["x"], grid={"x": grid})
    with pytest.raises(OptionError, match=message):
        settle_grids(infer_kinds(schema, nw.from_native(frame)), frame)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ("month", "grid must be 'none' or map columns"),
        (5, "grid must be 'none' or map columns"),
        ({"y": 5}, "'y', which is not a quasi-identifier"),
        ({"ag": 5}, "'ag', which is not in the table. Did you mean 'age'"),
    ],
)
def test_a_grid_of_another_column_is_refused(grid, message):
    with pytest.raises(OptionError, match=message):
        build_schema(["age", "y"], quasi_identifiers=["age"], insensitive=["y"], grid=grid)


def test_an_encoded_column_knows_its_cells_and_its_original_values():
    frame = pl.DataFrame({"x": [3, 21, 23, 23, None, 40]})
    schema = build_schema(["x"], quasi_identifiers=["x"], grid={"x": 10})
    found = encode(frame, infer_kinds(schema, nw.from_native(frame))).attributes[0]
    assert found.codes.tolist() == [0, 1, 1, 1, 3, 2]
    assert found.counts.tolist() == [1, 3, 1, 1]
    assert found.positions.tolist() == [0, 20, 40]
    assert found.cells.upper_positions.tolist() == [9, 29, 49]
    assert found.cells.n_values.tolist() == [1, 2, 1]
    assert found.as_they_were.tolist() == [0, 1, 2, 2, 4, 3]
    assert found.take(np.array([4, 2])).original.tolist() == [4, 2]
