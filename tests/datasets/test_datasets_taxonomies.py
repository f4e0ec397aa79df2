"""The Adult taxonomies have the published heights and cover the data."""

from __future__ import annotations

import re

import pytest

from shoal.datasets import adult_hierarchies, load_adult, make_census
from shoal.errors import OptionError

HEIGHTS = {
    "age": 4,
    "workclass": 3,
    "education": 4,
    "marital_status": 3,
    "occupation": 2,
    "race": 2,
    "sex": 1,
    "native_country": 3,
    "salary": 1,
}


def test_heights_are_those_of_table_2_of_li_et_al() -> None:
    found = {name: taxonomy.tree_height for name, taxonomy in adult_hierarchies().items()}
    assert found == HEIGHTS


@pytest.mark.parametrize("column", HEIGHTS)
def test_leaves_are_exactly_the_values_of_the_whole_table(column: str) -> None:
    values = load_adult("keep")[column].drop_nulls().unique().to_list()
    leaves = adult_hierarchies([column])[column].leaf_labels
    assert sorted(leaves) == sorted(str(value) for value in values)


def test_every_value_of_the_synthetic_census_is_a_leaf() -> None:
    census = make_census(100_000, seed=9)
    for column, taxonomy in adult_hierarchies().items():
        values = [str(value) for value in census[column].unique()]
        assert taxonomy.leaf_codes(values).min() >= 0, column


@pytest.mark.parametrize("column", HEIGHTS)
def test_all_leaves_of_a_tree_are_equally_deep(column: str) -> None:
    taxonomy = adult_hierarchies([column])[column]
    assert set(taxonomy.depth[: taxonomy.n_leaves].tolist()) == {HEIGHTS[column]}


def test_age_ranges_are_5_10_and_20_years_wide() -> None:
    age = adult_hierarchies(["age"])["age"]
    for level, width in ((1, 5), (2, 10), (3, 20)):
        nodes = age.generalization(level).tolist()
        members: dict[int, list[int]] = {}
        for label, node in zip(age.leaf_labels, nodes, strict=True):
            members.setdefault(node, []).append(int(label))
        # Ranges at the ends of the domain may be cut short; those inside are complete.
        sizes = [len(ages) for ages in sorted(members.values())]
        assert set(sizes[1:-1]) == {width}
        assert max(sizes) <= width


def test_columns_choose_taxonomies_and_their_order() -> None:
    assert list(adult_hierarchies(("sex", "age"))) == ["sex", "age"]
    assert adult_hierarchies([]) == {}


def test_a_column_without_taxonomy_is_named_with_the_closest_one() -> None:
    with pytest.raises(OptionError, match=r"'maritalstatus'.*Did you mean 'marital_status'\?"):
        adult_hierarchies(["age", "maritalstatus"])
    with pytest.raises(OptionError, match=re.escape("columns must be a list of column names")):
        adult_hierarchies("age")
