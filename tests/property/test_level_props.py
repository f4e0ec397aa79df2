"""Laws of levels and of steps of words, on random trees, orders and rows."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from tests.property.test_hierarchy_props import trees

from shoal.publish.label_check import LabelPromise
from shoal.publish.recode import Style, published_cells
from shoal.table.closure import close
from shoal.table.encode import encode_values
from shoal.table.grid import parse_grid
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role


@st.composite
def held_trees(draw):
    tree = draw(trees().filter(lambda each: each.tree_height > 1))
    level = draw(st.integers(1, tree.tree_height - 1))
    leaves = st.integers(0, tree.n_leaves - 1) | st.none()
    rows = draw(st.lists(leaves, min_size=1, max_size=20).filter(any_value))
    return tree, level, rows, draw(groups_of(len(rows)))


def any_value(rows):
    return any(row is not None for row in rows)


def groups_of(n):
    return st.lists(st.integers(-1, 4), min_size=n, max_size=n)


@given(held_trees())
def test_the_cell_of_a_group_covers_its_rows_and_lies_at_the_level_or_above(given_tree):
    tree, level, rows, labels = given_tree
    column = Column(
        name="x",
        role=Role.QUASI_IDENTIFIER,
        kind=Kind.CATEGORICAL,
        hierarchy=tree,
        grid=parse_grid(f"level {level}", column="x"),
    )
    names = [None if row is None else tree.labels[row] for row in rows]
    attribute = encode_values(pl.Series("x", names, dtype=pl.String), column)
    partition = Partition.from_labels(np.array(labels))
    nodes = close(attribute, partition).node
    promise = LabelPromise.of_level("x", tree.to_paths(), level)
    for group in range(partition.n_groups):
        members = [row for row, each in zip(rows, partition.labels, strict=True) if each == group]
        known = [row for row in members if row is not None]
        node = int(nodes[group])
        if not known:
            assert node == tree.n_nodes
            continue
        assert all(tree.first_leaf[node] <= row <= tree.last_leaf[node] for row in known)
        assert promise.holds(tree.labels[node])
        above = tree.generalization(level)
        if len(known) < len(members):
            assert node == tree.root
        elif len({int(above[row]) for row in known}) == 1:
            assert node == above[known[0]]
        else:
            assert node == tree.lca_of_range(min(known), max(known))
    assert attribute.as_they_were.tolist() == [tree.n_leaves if r is None else r for r in rows]


@given(st.data())
def test_intervals_of_words_are_whole_steps_that_cover_their_rows(data):
    n_words = data.draw(st.integers(3, 12))
    words = [f"w{number}" for number in range(n_words)]
    step = data.draw(st.integers(2, n_words - 1))
    rows = data.draw(st.lists(st.integers(0, n_words - 1), min_size=1, max_size=20))
    labels = data.draw(groups_of(len(rows)))
    column = Column(
        name="x",
        role=Role.QUASI_IDENTIFIER,
        kind=Kind.ORDINAL,
        order=tuple(words),
        grid=parse_grid(step, column="x"),
    )
    attribute = encode_values(pl.Series("x", [words[row] for row in rows]), column)
    partition = Partition.from_labels(np.array(labels))
    (cells,) = published_cells(attribute, partition, Style())
    promise = LabelPromise.of_words("x", words, step)
    for group, cell in enumerate(cells):
        members = [row for row, each in zip(rows, partition.labels, strict=True) if each == group]
        first, _, last = cell.strip("[]").partition("-")
        low, high = words.index(first), words.index(last or first)
        assert low == min(members) // step * step
        assert high == min(max(members) // step * step + step, n_words) - 1
        assert promise.holds(cell)
    assert promise.told_by(cells.to_frame()).starts <= promise.starts
