"""Laws that hold for every tree, checked on random ones."""

from __future__ import annotations

import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy import (
    Taxonomy,
    frequency_hierarchy,
    interval_hierarchy,
    prefix_hierarchy,
)

LABELS = st.text(min_size=1, max_size=6).filter(str.strip)


@st.composite
def trees(draw, labels=None):
    """A random tree: each node hangs below a random earlier one, so any shape can occur."""
    size = draw(st.integers(2, 24))
    names = [f"n{node}" for node in range(size)]
    if labels is not None:
        names = draw(st.lists(labels, min_size=size, max_size=size, unique=True))
    parents = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, size)]
    paths = {node: [names[node]] for node in range(size)}
    for node in range(1, size):
        paths[node] += paths[parents[node]]
    leaves = draw(st.permutations(sorted(set(range(size)) - set(parents))))
    return Taxonomy.from_paths([paths[leaf] for leaf in leaves])


def ancestors(tree, node):
    path = [node]
    while tree.parent[path[-1]] >= 0:
        path.append(int(tree.parent[path[-1]]))
    return path


def all_pairs(tree):
    nodes = np.arange(tree.n_nodes)
    return nodes, tree.lca_many(nodes[:, None], nodes)


@given(trees())
def test_lca_equals_climbing_by_hand(tree):
    nodes, lowest = all_pairs(tree)
    for a in nodes:
        for b in nodes:
            above_b = set(ancestors(tree, b))
            expected = next(node for node in ancestors(tree, a) if node in above_b)
            assert lowest[a, b] == expected


@given(trees())
def test_lca_is_commutative_associative_and_idempotent(tree):
    nodes, lowest = all_pairs(tree)
    assert (lowest == lowest.T).all()
    assert (np.diagonal(lowest) == nodes).all()
    left = lowest[lowest[:, :, None], nodes]
    right = lowest[nodes[:, None, None], lowest[None, :, :]]
    assert (left == right).all()


@given(trees(), st.data())
def test_lca_of_a_set_of_leaves_is_the_lca_of_its_extremes(tree, data):
    leaves = data.draw(st.sets(st.integers(0, tree.n_leaves - 1), min_size=1))
    folded = min(leaves)
    for leaf in leaves:
        folded = tree.lca(folded, leaf)
    assert tree.lca_of_range(min(leaves), max(leaves)) == folded


@given(trees())
def test_arrays_agree_with_climbing_by_hand(tree):
    below = {node: [] for node in range(tree.n_nodes)}
    for leaf in range(tree.n_leaves):
        for steps, node in enumerate(ancestors(tree, leaf)):
            below[node].append((leaf, steps))
    for node, found in below.items():
        leaves = sorted(leaf for leaf, _ in found)
        assert leaves == list(range(tree.first_leaf[node], tree.last_leaf[node] + 1))
        assert tree.leaf_count[node] == len(leaves)
        assert tree.height[node] == max(steps for _, steps in found)
        assert tree.depth[node] == len(ancestors(tree, node)) - 1


@given(trees())
def test_levels_hold_the_ancestor_at_each_depth(tree):
    levels = tree.levels()
    assert levels.shape == (tree.tree_height + 1, tree.n_leaves)
    for leaf in range(tree.n_leaves):
        path = ancestors(tree, leaf)[::-1]
        expected = [path[min(depth, len(path) - 1)] for depth in range(tree.tree_height + 1)]
        assert levels[:, leaf].tolist() == expected


@given(trees())
def test_each_generalization_level_partitions_the_leaves_and_coarsens_the_one_below(tree):
    finer = tree.generalization(0)
    assert finer.tolist() == list(range(tree.n_leaves))
    for level in range(1, tree.tree_height + 1):
        coarser = tree.generalization(level)
        assert (coarser == tree.levels()[tree.tree_height - level]).all()
        assert sum(tree.leaf_count[node] for node in set(coarser.tolist())) == tree.n_leaves
        assert (tree.lca_many(finer, coarser) == coarser).all()
        finer = coarser
    assert set(finer.tolist()) == {tree.root}


@given(trees(LABELS), st.sampled_from(";,\t"))
def test_csv_round_trip_keeps_any_tree_with_any_labels(tree, delimiter):
    out = io.StringIO(newline="")
    tree.to_csv(out, delimiter=delimiter)
    again = Taxonomy.from_csv(io.StringIO(out.getvalue(), newline=""), delimiter, header=False)
    assert again == tree


@given(st.lists(st.integers(-500, 500) | st.decimals(-99, 99, places=2), min_size=1, max_size=30))
def test_every_interval_covers_the_numbers_below_it(values):
    tree = interval_hierarchy(values, widths=(5, 20))
    for path in tree.to_paths():
        for label in path[1:-1]:
            text, closed = label[1:-1], label.endswith("]")
            low, high = (float(part) for part in _bounds(text))
            number = float(path[0])
            assert low <= number
            assert number <= high if closed else number < high


def _bounds(text):
    cut = text.index("-", 1)
    return text[:cut], text[cut + 1 :]


@given(st.lists(st.text("0123456789", min_size=1, max_size=6), min_size=1, max_size=30))
def test_prefix_nodes_hold_exactly_the_codes_with_their_prefix(values):
    tree = prefix_hierarchy(values)
    codes = tree.leaf_labels
    assert set(codes) == set(values)
    for node in range(tree.n_leaves, tree.n_nodes):
        prefix = tree.labels[node].rstrip("*")
        below = codes[tree.first_leaf[node] : tree.last_leaf[node] + 1]
        assert below == tuple(sorted(code for code in codes if code.startswith(prefix)))


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.integers(2, 5))
def test_frequency_trees_keep_order_and_fanout(counts, fanout):
    tree = frequency_hierarchy(range(len(counts)), counts, fanout)
    assert tree.leaf_labels == tuple(map(str, range(len(counts))))
    assert np.bincount(tree.parent[:-1]).max() <= fanout
