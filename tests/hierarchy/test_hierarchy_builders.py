"""Hierarchies built from the values of a column."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from shoal.errors import HierarchyError, OptionError
from shoal.hierarchy import (
    date_hierarchy,
    frequency_hierarchy,
    interval_hierarchy,
    prefix_hierarchy,
)


def path_of(tree, leaf):
    return tree.to_paths()[tree.leaf_labels.index(leaf)]


# -- intervals -------------------------------------------------------------------------


def test_ages_climb_through_intervals_of_5_10_and_20_years():
    tree = interval_hierarchy(range(15, 91))
    assert path_of(tree, "17") == ("17", "[15-19]", "[10-19]", "[0-19]", "*")
    assert path_of(tree, "20") == ("20", "[20-24]", "[20-29]", "[20-39]", "*")
    assert tree.leaf_labels == tuple(map(str, range(15, 91)))


def test_numbers_are_sorted_and_counted_once_whatever_carries_them():
    tree = interval_hierarchy([100, 9, 9.0, Decimal("9.00"), "33"], widths=(10,))
    assert tree.leaf_labels == ("9", "33", "100")


def test_decimals_get_half_open_intervals_with_exact_bounds():
    tree = interval_hierarchy([0.3, 0.29, 1.75], widths=(0.1, 0.5, 5))
    assert path_of(tree, "0.3") == ("0.3", "[0.3-0.4)", "[0.0-0.5)", "[0.0-5.0)", "*")
    assert path_of(tree, "0.29")[1] == "[0.2-0.3)"


def test_negative_numbers_fall_into_the_interval_below():
    tree = interval_hierarchy([-1, -5, -6, 0], widths=(5,))
    assert [path[1] for path in tree.to_paths()] == ["[-10--6]", "[-5--1]", "[-5--1]", "[0-4]"]


def test_intervals_begin_at_the_origin():
    assert path_of(interval_hierarchy([17, 18], widths=(5,), origin=18), "17")[1] == "[13-17]"


@pytest.mark.parametrize(
    "widths", [(), (0,), (-5, 5), (5, 12), (10, 5), (5, 5), (float("nan"),), ("x",), (True,)]
)
def test_widths_that_do_not_nest_are_refused(widths):
    with pytest.raises(OptionError, match="widths"):
        interval_hierarchy([1, 2], widths=widths)


@pytest.mark.parametrize("odd", ["secret", float("nan"), float("inf"), "1e999999999"])
def test_values_that_are_no_numbers_are_counted_and_not_shown(odd):
    with pytest.raises(HierarchyError, match=r"^1 of 2 values are no finite numbers") as caught:
        interval_hierarchy([1, odd])
    assert str(odd) not in str(caught.value).split("finite numbers")[1]


# -- prefixes --------------------------------------------------------------------------


def test_a_postcode_loses_one_digit_per_level():
    tree = prefix_hierarchy(["47918", "47906", "10115"])
    assert path_of(tree, "47918") == (
        "47918",
        "4791*",
        "479**",
        "47***",
        "4****",
        "*",
    )


def test_shorter_codes_meet_longer_ones_at_their_own_prefix():
    tree = prefix_hierarchy(["479", "47918", "4"])
    labels = [tree.labels[node] for node in (tree.lca(1, 2), tree.lca(0, 2))]
    assert tree.leaf_labels == ("4", "479", "47918")
    assert labels == ["479**", "4****"]


def test_keep_names_the_prefixes_of_the_levels():
    tree = prefix_hierarchy([47918, 47906], keep=(5, 3, 1), mask="#")
    assert path_of(tree, "47918") == ("47918", "479##", "4####", "*")
    assert path_of(prefix_hierarchy(["ab", "ac"], keep=1), "ab") == ("ab", "a*", "*")


def test_codes_of_one_character_are_flat():
    assert prefix_hierarchy(["a", "b"]).tree_height == 1


@pytest.mark.parametrize("keep", [(1, 3), (3, 3), (0,), (2, -1)])
def test_keep_must_fall(keep):
    with pytest.raises(OptionError, match="keep"):
        prefix_hierarchy(["47918"], keep=keep)


@pytest.mark.parametrize("mask", ["", "**", " "])
def test_mask_is_one_visible_character(mask):
    with pytest.raises(OptionError, match="mask"):
        prefix_hierarchy(["47918"], mask=mask)


def test_values_that_are_masked_already_ask_for_another_mask():
    with pytest.raises(HierarchyError, match=r"1 of 2 values .* mask other than '\*'") as caught:
        prefix_hierarchy(["4791*", "47918"])
    assert "4791" not in str(caught.value)
    assert prefix_hierarchy(["4791*", "47918"], mask="#").n_leaves == 2


# -- dates -----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [dt.date(2024, 5, 17), "2024-05-17"])
def test_a_date_climbs_through_month_year_and_decade(value):
    tree = date_hierarchy([value, dt.date(1999, 12, 31)])
    assert path_of(tree, "2024-05-17") == ("2024-05-17", "2024-05", "2024", "2020s", "*")
    assert tree.leaf_labels[0] == "1999-12-31"


def test_datetimes_go_to_their_day_first():
    tree = date_hierarchy([dt.datetime(2024, 5, 17, 9), dt.datetime(2024, 5, 17, 23)])
    assert path_of(tree, "2024-05-17 09:00:00")[:3] == (
        "2024-05-17 09:00:00",
        "2024-05-17",
        "2024-05",
    )


def test_date_levels_can_be_chosen():
    tree = date_hierarchy([dt.date(2024, 5, 17), dt.date(812, 1, 1)], levels=("quarter", "decade"))
    assert tree.to_paths() == [
        ("0812-01-01", "0812-Q1", "0810s", "*"),
        ("2024-05-17", "2024-Q2", "2020s", "*"),
    ]


def test_a_misspelt_or_misordered_date_level_is_refused():
    with pytest.raises(OptionError, match="Did you mean 'decade'"):
        date_hierarchy(["2024-05-17"], levels=("decad",))
    with pytest.raises(OptionError, match="fine to coarse"):
        date_hierarchy(["2024-05-17"], levels=("year", "month"))


def test_values_that_are_no_dates_are_counted_and_not_shown():
    with pytest.raises(HierarchyError, match="1 of 2 values are no ISO dates") as caught:
        date_hierarchy(["2024-05-17", "17th of May"])
    assert "17th" not in str(caught.value)


# -- frequencies -----------------------------------------------------------------------


def test_a_frequent_value_ends_up_near_the_root():
    tree = frequency_hierarchy(list("abcdefgh"), [100, 1, 1, 1, 1, 1, 1, 1], fanout=2)
    assert tree.depth[0] == 1
    assert tree.leaf_labels == tuple("abcdefgh")


def test_equal_frequencies_give_a_balanced_tree_with_the_fanout():
    tree = frequency_hierarchy(range(16), [5] * 16, fanout=4)
    assert tree.tree_height == 2
    assert set(tree.leaf_count[tree.n_leaves :].tolist()) == {4, 16}
    assert tree.labels[tree.n_leaves] == "{0 … 3}"


def test_labels_of_frequency_nodes_stay_unique():
    values = ["a", "b", "{a … b}", "d"]
    tree = frequency_hierarchy(values, [1, 1, 1, 1], fanout=2)
    assert tree.leaf_labels == tuple(values)
    assert "{a … b} (2)" in tree.labels


def test_values_without_count_are_kept():
    assert frequency_hierarchy(range(9), [0] * 9).n_leaves == 9


@pytest.mark.parametrize(
    ("counts", "fanout", "says"),
    [([1], 4, "one number per value, 2, but holds 1"), ([1, -1], 4, "negative"), ([1, 1], 1, "2")],
)
def test_counts_and_fanout_are_validated(counts, fanout, says):
    with pytest.raises(OptionError, match=says):
        frequency_hierarchy(["a", "b"], counts, fanout=fanout)


def test_repeated_values_are_refused_because_their_counts_would_be_ambiguous():
    with pytest.raises(HierarchyError, match="1 of 2 values are repetitions"):
        frequency_hierarchy(["a", "a"], [1, 1])


# -- common ----------------------------------------------------------------------------


@pytest.mark.parametrize("build", [interval_hierarchy, prefix_hierarchy, date_hierarchy])
@pytest.mark.parametrize(
    ("values", "says"), [([], "at least one value"), ([""], "empty text"), ([None], "missing")]
)
def test_nothing_to_build_from_is_an_error(build, values, says):
    with pytest.raises(HierarchyError, match=says):
        build(values)
