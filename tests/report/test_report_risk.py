"""Risks by hand on class sizes small enough to count."""

import pytest

from shoal.errors import OptionError
from shoal.report.risk import (
    check_fraction,
    coarse_sizes,
    population_uniques,
    risk_of,
    rows_by_risk,
)

# Two unique rows, one pair, one class of four: eight rows in four classes.
SIZES = ((1, 2), (2, 1), (4, 1))


def test_risks_are_those_of_the_smallest_class_and_of_the_mean_row():
    risk = risk_of(SIZES)
    assert (risk.rows, risk.classes, risk.uniques) == (8, 4, 2)
    assert risk.prosecutor_highest == 1
    assert risk.prosecutor_mean == 4 / 8
    assert risk.journalist_highest == risk.prosecutor_highest
    assert risk.marketer == 4 / 8


def test_a_sample_shares_the_risk_of_journalist_and_marketer_with_the_population():
    risk = risk_of(((5, 2),), 0.1)
    assert risk.prosecutor_highest == pytest.approx(1 / 5)
    assert risk.journalist_highest == pytest.approx(1 / 50)
    assert risk.marketer == pytest.approx(2 / 10 / 10)


def test_every_row_is_in_one_band_of_risk():
    bands = dict(rows_by_risk((*SIZES, (100, 1), (3, 4))))
    assert sum(bands.values()) == pytest.approx(1)
    assert bands["100"] == pytest.approx(2 / 120)
    assert bands["≤50"] == pytest.approx(2 / 120)
    assert bands["≤33"] == pytest.approx((12 + 4) / 120)
    assert bands["≤1"] == pytest.approx(100 / 120)


def test_population_uniques_follow_the_estimator_by_hand():
    # n_1² ÷ Σ n_F F (1 − π)^(F − 1) with π = ½: 4 ÷ (2 + 1·2·½ + 1·4·⅛)
    assert population_uniques(SIZES, 0.5) == pytest.approx(4 / 3.5)


def test_in_a_whole_population_every_unique_row_is_a_unique_person():
    assert population_uniques(SIZES, 1.0) == 2


def test_a_table_without_unique_rows_has_no_population_uniques():
    assert population_uniques(((2, 7), (9, 1)), 0.01) == 0


@pytest.mark.parametrize("fraction", [0, -0.1, 1.5, "half", True, float("nan")])
def test_a_sampling_fraction_that_is_no_share_is_refused(fraction):
    with pytest.raises(OptionError, match="sampling_fraction must be the share"):
        check_fraction(fraction)


def test_a_sampling_fraction_may_be_left_out_or_be_everybody():
    assert check_fraction(None) is None
    assert check_fraction(1) == 1.0


def test_class_sizes_of_the_original_are_told_in_steps_of_k_rows():
    sizes = ((1, 503), (2, 41), (6, 3), (8, 2), (137, 1))
    told = dict(coarse_sizes(sizes, 20))
    assert set(told) == {1, 2, 5, 7, 150}
    assert told[1] % 20 == 0
    assert abs(told[1] - 503) <= 10
    assert all(abs(round(size * n / 20) * 20 - size * n) < size for size, n in told.items())


@pytest.mark.parametrize("uniques", range(496, 510))
def test_one_row_more_or_less_is_not_seen_but_on_an_edge(uniques):
    told = [coarse_sizes(((1, uniques + more), (5, 100)), 20) for more in (0, 1)]
    assert (told[0] == told[1]) is (uniques != 509)


def test_a_size_that_occurs_is_never_told_as_none():
    assert coarse_sizes(((1, 1), (2, 5000)), 10)[0] == (1, 101)
