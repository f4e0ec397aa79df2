"""Verification of grids, from published cells alone."""

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import OptionError
from shoal.hierarchy import canonical_label
from shoal.publish.grid_check import GridPromise, cells_off_grid


def holds(step, *cells):
    return [GridPromise("x", step).holds(cell) for cell in cells]


@pytest.mark.parametrize(
    ("step", "cell"),
    [
        ("5", "[20-24]"),
        ("5", "[-5 to 14]"),
        ("5", "[20-25]"),
        ("1", "23"),
        ("0.01", "[23.41-23.42]"),
        ("0.01", "[-1.5 to -1.49]"),
        ("0.1", (0.3, 0.4)),
        ("0.1", (Decimal("0.30"), Decimal("0.40"))),
        ("5", (20, 24)),
        ("powers of 10", "[10-99]"),
        ("powers of 10", "[-99 to -10]"),
        ("powers of 10", "[-99 to 9]"),
        ("powers of 10", "[0.001-10]"),
        ("powers of 10", "0"),
        ("powers of 2", "1"),
        ("powers of 2", "[0.125-0.5]"),
        ("month", "[2024-02-01 to 2024-02-29]"),
        ("week", "[2024-02-26 to 2024-03-03]"),
        ("decade", "[2020-01-01 to 2029-12-31]"),
        ("year", "[0001-01-01 to 9999-12-31]"),
        ("day", "2024-02-29"),
        ("hour", "[2024-02-29 13:00:00 to 2024-02-29 14:00:00]"),
        ("hour", "[2024-02-29 13:30:00+05:30 to 2024-02-29 14:30:00+05:30]"),
        ("day", "[2022-09-11 01:00:00-03:00 to 2022-09-12 00:00:00-03:00]"),
        ("month", (dt.datetime(2024, 2, 1), dt.datetime(2024, 4, 1))),
        ("month", (dt.datetime(9999, 12, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999))),
        ("month", (dt.date(2024, 2, 1), dt.date(2024, 2, 29))),
        ("month", ("2024-02-01T00:00:00.000000", "2024-03-01T00:00:00.000000")),
        ("5", None),
        ("5", "*"),
        ("5", ""),
        ("5", (None, None)),
        ("5", '"[20-24]"'),
        ("1", "'-5"),
        ("5", '{"low":20,"high":24}'),
        ("0.1", '{"low":"-1.50","high":"2.30"}'),
        ("1", '{"low":-936.0,"high":1e+15}'),
        ("day", '{"low":"2024-01-29T00:00:00-05:00","high":"2024-02-05T00:00:00-05:00"}'),
        ("month", '{"low":null,"high":null}'),
        ("day", ("2023-10-28T05:00:00Z", "2023-10-29T05:00:00Z")),
        ("month", ("2023-12-31T23:00:00Z", "2024-02-29T23:00:00Z")),
        ("month", ("2024-01-01T05:45:00Z", "2024-02-01T05:45:00Z")),
    ],
)
def test_ends_on_lines_are_found_to_be_so(step, cell):
    assert holds(step, cell) == [True]


@pytest.mark.parametrize(
    ("step", "cell"),
    [
        ("5", "23"),
        ("5", "[21-24]"),
        ("5", "[20-23]"),
        ("5", "[24-20]"),
        ("5", "20"),
        ("0.01", "23.4178"),
        ("0.01", "[23.41-23.4178]"),
        ("0.01", "23.41"),
        ("0.1", (0.30000000000000004, 0.4)),
        ("powers of 10", "[20-99]"),
        ("powers of 10", "[1-98]"),
        ("powers of 10", "5"),
        ("month", "[2024-02-02 to 2024-02-29]"),
        ("month", "[2024-02-01 to 2024-02-28]"),
        ("month", "2024-02-01"),
        ("hour", "[2024-02-29 13:00:01 to 2024-02-29 14:00:00]"),
        ("hour", "[2024-02-29 13:00:00 to 2024-02-29 13:59:59]"),
        ("day", "[2024-02-29 13:00:00 to 2024-03-01 00:00:00]"),
        ("5", "anything"),
        ("5", ("20", "x")),
        ("month", 5),
        ("5", float("nan")),
        ("5", '{"low":21,"high":24}'),
        ("5", '{"low":20}'),
        ("5", '{"low":'),
        ("day", ("2023-10-28T05:07:00Z", "2023-10-29T05:00:00Z")),
        ("month", ("2023-12-30T23:00:00Z", "2024-02-29T23:00:00Z")),
        ("month", ("9999-12-01T00:00:00Z", "9999-12-31T20:00:00Z")),
    ],
)
def test_ends_off_the_lines_are_found_to_be_so(step, cell):
    assert holds(step, cell) == [False]


def test_other_ways_to_write_an_interval_are_read():
    promise = GridPromise("x", "5", ("{low}..{high}", "{low} … {high}"), "any")
    assert [promise.holds(cell) for cell in ("20..24", "-5 … 4", "any", "[20-24]")] == [
        True,
        True,
        True,
        False,
    ]


def test_a_grid_without_a_rule_is_refused():
    with pytest.raises(OptionError, match="no rule to verify the grid 'fortnight'"):
        GridPromise("x", "fortnight")


def off(step, *columns):
    return cells_off_grid(GridPromise("x", step), pl.DataFrame(columns)).tolist()


def test_rows_off_the_grid_are_told_for_text_bounds_and_structs():
    text = pl.Series("x", ["[20-24]", "[20-23]", None, "*"])
    assert off("5", text) == [False, True, False, False]
    low, high = pl.Series("x_low", [20, 20, None]), pl.Series("x_high", [24, 23, None])
    assert off("5", low, high) == [False, True, False]
    both = pl.DataFrame([low.alias("low"), high.alias("high")]).to_struct("x")
    assert off("5", both) == [False, True, False]
    narrow = [pl.Series(name, [end], dtype=pl.Float32) for name, end in (("l", 0.3), ("h", 0.4))]
    assert off("0.1", *narrow) == [False]


def test_verify_counts_what_is_off_the_grid_and_says_which_column():
    table = pl.DataFrame({"age": ["[20-24]"] * 3 + ["[25-28]"] * 3, "ill": list("abcabc")})
    found = shoal.verify(table, 3, quasi_identifiers="age", grid={"age": 5})
    assert not found.holds
    check = found.checks[1]
    assert (check.name, check.promised, check.measured) == ("grid of 'age'", 1.0, 0.5)
    assert "Broken: every interval of 'age' ends on lines of its grid (5)" in check.sentence
    assert (found.violating_groups, found.violating_rows) == (1, 3)
    assert shoal.verify(table, 3, quasi_identifiers="age").holds
    with_promise = shoal.verify(
        table,
        3,
        quasi_identifiers="age",
        sensitive="ill",
        privacy=[shoal.LDiversity(3, kind="distinct")],
        grid={"age": 5},
    )
    assert (with_promise.holds, with_promise.violating_groups) == (False, 1)
    right = table.with_columns(pl.col("age").str.replace("28", "29"))
    assert shoal.verify(right, 3, quasi_identifiers="age", grid={"age": "5"}).holds


ENDS_OF_FLOATS = (-290, -45, -38, -20, -1, 0, 14, 15, 16, 17, 22, 23, 25, 38, 100, 298)


@pytest.mark.parametrize("base", [2, 10])
@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32])
@pytest.mark.parametrize("numeric", ["interval", "bounds"])
def test_a_release_between_powers_is_kept_at_both_ends_of_floating_point(base, dtype, numeric):
    for exponent in ENDS_OF_FLOATS:
        values = pl.Series([s * float(f"{n}e{exponent}") for n in (1, 3, 7) for s in (1, -1)])
        narrow = values.cast(dtype)
        if narrow.is_infinite().any() or not (narrow != 0).all():
            continue
        release = shoal.anonymize(
            pl.DataFrame({"x": narrow, "ill": ["flu"] * 6}), k=3, quasi_identifiers="x",
            sensitive="ill", grid={"x": f"powers of {base}"}, algorithm="mondrian",
            style={"numeric": numeric},
        )  # fmt: skip
        assert release.verification.holds, exponent


def test_the_smallest_number_below_0_ends_at_0():
    # As the hunt found: half of it was rounded to itself, and the release refused.
    table = pl.DataFrame({"x": [-5e-324, -5e-324, 0.3, 0.3, 1e15, 1e15]})
    release = shoal.anonymize(
        table, k=2, quasi_identifiers="x", grid={"x": "powers of 2"}, algorithm="mondrian"
    )
    assert "[-5e-324 to 0]" in release.frame["x"].to_list()


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.xlsx", "t.parquet", "t.arrow"])
@pytest.mark.parametrize("numeric", ["interval", "bounds"])
@pytest.mark.parametrize(
    ("grid", "size"), [("powers of 10", 1e25), ("powers of 2", 1e25), ("1000000000000000", 1e25)]
)
def test_lines_that_are_no_floats_are_lines_in_every_file(tmp_path, name, numeric, grid, size):
    table = pl.DataFrame({"x": [n * size for n in (1.1, 1.3, 3.3, 3.7)], "ill": ["flu"] * 4})
    release = shoal.anonymize(
        table, k=2, quasi_identifiers="x", sensitive="ill", grid={"x": grid},
        algorithm="mondrian", style={"numeric": numeric},
    )  # fmt: skip
    release.write(tmp_path / name)
    assert (tmp_path / name).exists()


def test_a_number_next_to_a_power_is_none():
    for exponent in range(2, 26):
        line = 10**exponent
        for near in range(line - 3, line + 4):
            expected = near in (line, int(float(line)))
            assert holds("powers of 10", f"[{near} to {10**30}]") == [expected], near
            assert holds("powers of 10", f"[0.5-{near}.5]") == [False]


def test_a_number_of_a_thousand_million_digits_is_no_line():
    assert holds("5", "[0 to 1e999999999]", "[0 to 1e-999999999]") == [False, False]
    assert holds("powers of 10", "[0 to 1e999999999]") == [False]


def test_whole_floats_are_published_with_their_short_digits():
    for exponent in range(1, 300, 7):
        value = float(f"1.5e{exponent}")
        text = canonical_label(value)
        assert float(text) == value
        assert int(text) == 15 * 10 ** (exponent - 1)
    assert canonical_label(np.float32(1e23)) == "1" + "0" * 23
