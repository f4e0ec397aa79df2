"""The covering array of the contract shows every pair, and what has ever failed, in few rows."""

from itertools import combinations

from tests.helpers.contract_array import ARRAY, EVER_FAILED, FACTORS, never_meet
from tests.helpers.covering import covering, pairs


def test_every_pair_of_values_is_in_some_row_of_the_array():
    shown = {pair for row in ARRAY for pair in combinations(enumerate(row), 2)}
    assert set(pairs(FACTORS.values(), never_meet)) - shown == set()


def test_the_array_is_as_short_as_its_two_longest_factors_allow():
    first, second, *_ = sorted(map(len, FACTORS.values()), reverse=True)
    assert len(ARRAY) <= 1.1 * first * second + len(EVER_FAILED)


def test_what_has_ever_failed_is_in_the_array():
    for seed in EVER_FAILED:
        assert any(all(s in (None, r) for s, r in zip(seed, row, strict=True)) for row in ARRAY)


def test_values_that_never_meet_are_in_no_row():
    rows = covering("ab", "xy", "pq", apart=lambda *two: set(two) == {"a", "y"})
    assert ("a", "y") not in {row[:2] for row in rows}
    assert {row[:2] for row in rows} == {("a", "x"), ("b", "x"), ("b", "y")}
