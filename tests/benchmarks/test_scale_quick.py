"""The scripts of `benchmarks.scale` run, and what they compare makes the same groups."""

from benchmarks.scale import adult, growth


def test_straightforward_scans_make_the_groups_of_the_algorithms():
    found = adult.ratios(500)
    assert {row["algorithm"] for row in found} == {"k-member", "sequential"}
    assert all(row["identical"] for row in found)


def test_growth_measures_every_size_below_the_cap():
    for mode in growth.MODES:
        found = growth.one("mondrian", mode, [2_000, 4_000], cap=300)
        assert set(found["seconds"]) == {2_000, 4_000}
        assert found["stopped"] is None


def test_growth_stops_at_the_cap_and_says_where():
    found = growth.one("sequential", "whole", [2_000, 4_000], cap=0.0)
    assert found["seconds"] == {}
    assert found["stopped"] == 2_000


def test_the_exponent_is_that_of_a_power_law():
    assert growth.exponent({"1000": 2.0, "10000": 20.0 * 10**0.5}) == 1.5
    assert growth.exponent({"1000": 2.0}) is None
