"""The tree itself: numbering, heights, lowest common ancestors, levels."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest

from shoal.errors import HierarchyError, OptionError
from shoal.hierarchy import Taxonomy, load_hierarchy, prefix_hierarchy

COUNTRY = {
    "Country": {
        "America": {"North": ["USA", "Canada"], "South": ["Peru", "Brazil"]},
        "Asia": {"West": ["Iran", "Egypt"], "East": ["India", "Japan"]},
    }
}


def node_of(tree, label):
    return tree.labels.index(label)


def distance(tree, a, b):
    """Byun's δ: height of the lowest common ancestor's subtree over the tree's height."""
    code_a, code_b = tree.leaf_codes([a, b]).tolist()
    return tree.height[tree.lca(code_a, code_b)] / tree.tree_height


@pytest.fixture
def country():
    return Taxonomy.from_nested(COUNTRY)


def test_byun_example_1_distances_follow_from_the_heights_of_the_country_tree(country):
    assert country.tree_height == 3
    assert distance(country, "India", "USA") == 1
    assert distance(country, "India", "Iran") == pytest.approx(2 / 3)
    assert distance(country, "India", "India") == 0


def test_byun_example_1_every_two_occupations_of_the_flat_tree_are_at_distance_1():
    tree = Taxonomy.flat(["Armed-Force", "Teacher", "Doctor", "Salesman", "Tech-support"])
    assert tree.tree_height == 1
    assert distance(tree, "Teacher", "Doctor") == 1


def test_li_postcode_hierarchy_has_five_levels():
    tree = prefix_hierarchy(["4350", "4351", "4352", "4361"])
    assert tree.to_paths()[1] == ("4351", "435*", "43**", "4***", "*")
    assert tree.tree_height + 1 == 5


def test_leaves_come_first_in_depth_first_order_and_the_root_comes_last(country):
    leaves = ("USA", "Canada", "Peru", "Brazil", "Iran", "Egypt", "India", "Japan")
    assert country.leaf_labels == leaves
    assert country.labels[country.root] == "Country"
    assert country.root == country.n_nodes - 1
    assert country.parent[country.root] == -1
    assert (country.parent[:-1] > np.arange(country.root)).all()


def test_every_node_covers_a_contiguous_range_of_leaves(country):
    asia = node_of(country, "Asia")
    assert (country.first_leaf[asia], country.last_leaf[asia], country.leaf_count[asia]) == (
        4,
        7,
        4,
    )
    assert (country.last_leaf - country.first_leaf + 1 == country.leaf_count).all()
    assert country.leaf_count[country.root] == country.n_leaves == 8


def test_heights_of_an_unbalanced_tree_count_down_to_the_deepest_leaf():
    tree = Taxonomy.from_nested({"a": None, "B": {"b": None, "C": ["c", "d"]}})
    heights = dict(zip(tree.labels, tree.height.tolist(), strict=True))
    assert heights == {"a": 0, "b": 0, "c": 0, "d": 0, "C": 1, "B": 2, "*": 3}
    assert tree.depth[node_of(tree, "a")] == 1


def test_levels_repeat_a_leaf_that_lies_above_them():
    tree = Taxonomy.from_nested({"a": None, "B": {"b": None, "C": ["c", "d"]}})
    shown = [[tree.labels[node] for node in row] for row in tree.levels()]
    assert shown == [
        ["*", "*", "*", "*"],
        ["a", "B", "B", "B"],
        ["a", "b", "C", "C"],
        ["a", "b", "c", "d"],
    ]


def test_generalization_climbs_from_the_leaves_to_the_root(country):
    assert country.generalization(0).tolist() == list(range(8))
    assert {country.labels[node] for node in country.generalization(2)} == {"America", "Asia"}
    assert set(country.generalization(3).tolist()) == {country.root}


@pytest.mark.parametrize("level", [-1, 4])
def test_a_level_outside_the_tree_is_an_option_error(country, level):
    with pytest.raises(OptionError, match=rf"between 0 and 3, but {level} was given"):
        country.generalization(level)


def test_lca_of_inner_nodes_and_of_a_node_with_its_own_ancestor(country):
    west, asia, north = (node_of(country, label) for label in ("West", "Asia", "North"))
    assert country.lca(west, asia) == country.lca(asia, west) == asia
    assert country.lca(west, north) == country.root


def test_lca_in_a_chain_of_only_children_is_the_upper_node():
    tree = Taxonomy.from_paths([("a", "B", "C", "*")])
    b, c = node_of(tree, "B"), node_of(tree, "C")
    assert tree.lca(b, c) == tree.lca(c, b) == c
    assert tree.lca(0, b) == b


def test_lca_of_range_is_the_lowest_node_over_the_leaves_between(country):
    nodes = country.lca_of_range([0, 0, 4, 6], [0, 3, 5, 7])
    assert [country.labels[node] for node in nodes] == ["USA", "America", "West", "East"]
    assert nodes.dtype == np.int32


def test_lca_many_broadcasts_and_takes_empty_arrays(country):
    assert country.lca_many(np.arange(8)[:, None], np.arange(8)).shape == (8, 8)
    assert country.lca_many([], []).shape == (0,)


@pytest.mark.parametrize("bad", [-1, 15])
def test_a_node_id_outside_the_tree_is_refused_instead_of_wrapping_around(country, bad):
    with pytest.raises(IndexError, match="0 to 14"):
        country.lca_many([0], [bad])


def test_leaf_codes_are_minus_1_for_unknown_labels_and_for_inner_nodes(country):
    assert country.leaf_codes(["Japan", "Asia", "Atlantis", "USA"]).tolist() == [7, -1, -1, 0]


def test_a_taxonomy_cannot_be_changed(country):
    with pytest.raises(ValueError, match="read-only"):
        country.parent[0] = 3
    with pytest.raises(AttributeError):
        country.labels = ()


def test_equality_looks_at_labels_tree_and_order(country):
    assert country == Taxonomy.from_nested(COUNTRY)
    assert hash(country) == hash(Taxonomy.from_nested(COUNTRY))
    assert Taxonomy.flat("ab") != Taxonomy.flat("ba")
    assert Taxonomy.flat("ab") != "ab"


def test_repr_is_one_line_without_leaves(country):
    assert repr(country) == "Taxonomy(8 leaves, height 3, root 'Country')"


def test_a_taxonomy_survives_pickling(country):
    again = pickle.loads(pickle.dumps(country))  # noqa: S301  our own bytes
    assert again == country
    assert again.leaf_codes(["India"]).tolist() == [6]


def test_several_top_keys_get_the_star_as_root_and_one_key_is_the_root():
    two = Taxonomy.from_nested({"Asia": ["India", "Iran"], "America": {"North": ["USA"]}})
    assert two.labels[two.root] == "*"
    assert two.to_paths()[2] == ("USA", "North", "America", "*")
    one = Taxonomy.from_nested({"World": ["India", "USA"]})
    assert one.labels == ("India", "USA", "World")
    assert Taxonomy.from_nested(["a", "b"], root="any").labels == ("a", "b", "any")


def test_nested_forms_of_the_same_tree_are_equal():
    tree = Taxonomy.from_nested({"A": [1, {"B": ("x", "y")}], "c": {}})
    assert tree == Taxonomy.from_nested({"A": {"1": None, "B": {"x": {}, "y": []}}, "c": None})
    assert tree == Taxonomy.from_paths([("1", "A", "*"), "xBA*", "yBA*", "c*"])


def test_a_single_value_below_a_key_needs_no_list():
    assert Taxonomy.from_nested({"A": "x", "B": "y"}).to_paths() == [
        ("x", "A", "*"),
        ("y", "B", "*"),
    ]


@pytest.mark.parametrize(
    ("nested", "says"),
    [
        ({"A": [["x"]], "B": ["y"]}, "list inside a list below 'A' has no label"),
        ({"A": [None], "B": ["y"]}, "missing value has no label"),
        (17, "a dict or a list.*but a int was given"),
        ({}, "no leaf"),
        ([], "no leaf"),
    ],
)
def test_nested_forms_that_are_no_tree_are_named(nested, says):
    with pytest.raises(HierarchyError, match=says):
        Taxonomy.from_nested(nested)


def test_flat_messages_never_show_a_value():
    with pytest.raises(HierarchyError) as caught:
        Taxonomy.flat(["secret", "x", "secret"])
    assert "1 of 3 values are repetitions" in str(caught.value)
    assert "secret" not in str(caught.value)
    with pytest.raises(HierarchyError, match=r"root label '\*' is also one of the values"):
        Taxonomy.flat(["a", "*"])
    with pytest.raises(HierarchyError, match="at least one value"):
        Taxonomy.flat([])


def test_flat_takes_an_empty_text_because_data_may_hold_one():
    assert Taxonomy.flat(["", "a"]).leaf_codes([""]).tolist() == [0]


def test_load_hierarchy_takes_a_taxonomy_a_path_and_nested_forms(country, tmp_path):
    country.to_csv(tmp_path / "country.csv")
    assert load_hierarchy(country) is country
    assert load_hierarchy(tmp_path / "country.csv") == country
    assert load_hierarchy(str(tmp_path / "country.csv")) == country
    assert load_hierarchy(COUNTRY) == country


def test_a_very_deep_hierarchy_does_not_meet_the_recursion_limit():
    nested = ["leaf"]
    for depth in range(3000):
        nested = {f"n{depth}": nested}
    tree = Taxonomy.from_nested(nested)
    assert tree.tree_height == 3000
    assert tree.n_leaves == 1


def test_50_000_leaves_are_read_and_queried_in_well_under_a_second(tmp_path):
    codes = [f"{number:05d}" for number in range(50_000)]
    path = tmp_path / "zip.csv"
    path.write_text("".join(f"{c};{c[:4]}*;{c[:3]}**;{c[:2]}***;{c[0]}****;*\n" for c in codes))
    # CPU time, so that other work on the machine does not decide.
    start = time.process_time()
    tree = Taxonomy.from_csv(path)
    leaves = np.arange(50_000)
    lowest = tree.lca_many(leaves, leaves[::-1])
    levels = tree.levels()
    elapsed = time.process_time() - start
    assert (tree.n_leaves, tree.n_nodes, tree.tree_height) == (50_000, 55_556, 5)
    assert lowest[0] == tree.root
    assert levels.shape == (6, 50_000)
    assert tree.leaf_codes(codes).tolist() == leaves.tolist()
    assert elapsed < 2
