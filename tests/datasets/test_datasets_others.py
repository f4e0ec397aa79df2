"""The embedded Census-Income and German Credit tables are those of their source."""

import pytest

from shoal.datasets import (
    CENSUS_INCOME_QUASI_IDENTIFIERS,
    GERMAN_CREDIT_QUASI_IDENTIFIERS,
    census_income_hierarchies,
    german_credit_hierarchies,
    load_census_income,
    load_german_credit,
)
from shoal.errors import OptionError


def counts(frame, column):
    return dict(frame[column].value_counts().iter_rows())


def test_census_income_has_the_published_rows_and_classes():
    train = load_census_income("keep", part="train")
    assert train.shape == (199_523, 25)
    assert counts(train, "salary") == {"<=50K": 187_141, ">50K": 12_382}
    test = load_census_income("keep", part="test")
    assert counts(test, "salary") == {"<=50K": 93_576, ">50K": 6_186}


def test_rows_for_training_come_first_and_unknown_values_are_countries_only():
    whole = load_census_income("keep")
    assert whole.head(199_523).equals(load_census_income("keep", part="train"))
    unknown = {name: n for name, n in whole.null_count().row(0, named=True).items() if n}
    assert unknown == {"father_country": 10_142, "mother_country": 9_191, "native_country": 5_157}
    assert load_census_income().height == whole.drop_nulls().height == 286_775


def test_german_credit_has_the_published_rows_and_classes():
    frame = load_german_credit()
    assert frame.shape == (1_000, 21)
    assert counts(frame, "credit_risk") == {"good": 700, "bad": 300}
    assert counts(frame, "foreign_worker") == {"yes": 963, "no": 37}
    assert (frame["age"].min(), frame["age"].max()) == (19, 75)


@pytest.mark.parametrize(
    ("frame", "trees", "quasi_identifiers"),
    [
        (load_census_income("keep"), census_income_hierarchies(), CENSUS_INCOME_QUASI_IDENTIFIERS),
        (load_german_credit(), german_credit_hierarchies(), GERMAN_CREDIT_QUASI_IDENTIFIERS),
    ],
    ids=["census-income", "german-credit"],
)
def test_leaves_are_the_values_and_equally_deep(frame, trees, quasi_identifiers):
    words = {name for name in quasi_identifiers if frame[name].dtype.is_numeric() is False}
    assert words <= set(trees)
    for column, tree in trees.items():
        assert sorted(tree.leaf_labels) == sorted(frame[column].drop_nulls().unique()), column
        assert set(tree.depth[: tree.n_leaves].tolist()) == {tree.tree_height}, column


def test_a_taxonomy_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(OptionError, match=r"No German Credit taxonomy for column 'age'.*housing"):
        german_credit_hierarchies(["age"])
