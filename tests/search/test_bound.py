"""`shoal.lower_bound` and `release.gap`: units, refusals, and known values."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import DataError, OptionError, PromiseError

QIS = ["age", "city"]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, 200),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], 200),
            "sick": rng.choice(["yes", "no"], 200),
        }
    )


def test_the_bound_of_a_known_table_is_counted_by_hand():
    # k = 2: each row joins its neighbour at distance 1 of 10, except 10, which is 9 away from 1
    # and draws that one in, too; it is charged for both, but no more than left out: 1
    frame = pl.DataFrame({"x": [0, 1, 10]})
    assert shoal.lower_bound(frame, 2, quasi_identifiers="x") == pytest.approx(
        (0.1 + 0.1 + 1.0) / 3
    )


def test_what_stays_exact_must_be_shared_by_k_rows():
    # every row has a twin in two of the columns, but no two twins are the same: at k = 3 the
    # nearest two rows cost 1 each, while no closure of three rows costs less than 2
    frame = pl.DataFrame({"a": ["p", "p", "q", "r"], "b": ["s", "t", "s", "u"]})
    kinds = {"a": "flat", "b": "flat"}
    found = shoal.lower_bound(frame, 3, quasi_identifiers=["a", "b"], kinds=kinds)
    assert found == pytest.approx(1.0)


@pytest.mark.parametrize("measure", ["ncp", "lm", "suppression", "mi", "tree", "whd"])
@pytest.mark.parametrize("k", [2, 7])
def test_no_release_is_below_the_bound(frame, measure, k):
    release = shoal.anonymize(
        frame, k, quasi_identifiers=QIS, sensitive="sick", measure=measure, seed=1, bound=True
    )
    assert release.bound == shoal.lower_bound(
        frame, k, quasi_identifiers=QIS, kinds={"city": "flat"}, measure=measure
    )
    assert 0 < release.bound <= release.scores[measure] + 1e-9
    assert release.gap == pytest.approx(max(1.0, release.scores[measure] / release.bound))


def test_the_bound_rises_with_k_and_depends_on_nothing_else(frame):
    found = [shoal.lower_bound(frame, k, quasi_identifiers=QIS) for k in (2, 5, 20, 200)]
    assert found == sorted(found)
    again = shoal.lower_bound(frame.sample(fraction=1, shuffle=True, seed=1), 5,
                              quasi_identifiers=QIS, threads=1)  # fmt: skip
    assert again == pytest.approx(found[1])


def test_one_group_of_all_rows_is_the_best_at_k_equal_to_the_number_of_rows(frame):
    release = shoal.anonymize(
        frame, 200, quasi_identifiers="city", drop=["age", "sick"], seed=1, bound=True
    )
    assert release.gap == pytest.approx(1.0)


def test_without_asking_there_is_no_bound(frame):
    release = shoal.anonymize(frame, 5, quasi_identifiers=QIS, sensitive="sick", seed=1)
    assert release.bound is None
    assert release.gap is None
    assert "lower_bound" not in release.certificate()


@pytest.mark.parametrize("measure", ["pmi", "wmi"])
def test_a_measure_that_may_fall_when_groups_grow_has_no_bound(frame, measure):
    with pytest.raises(OptionError, match="no lower bound is known"):
        shoal.lower_bound(frame, 5, quasi_identifiers=QIS, sensitive="sick", measure=measure)
    with pytest.raises(OptionError, match="no lower bound is known"):
        shoal.anonymize(
            frame, 5, quasi_identifiers=QIS, sensitive="sick", measure=measure, bound=True
        )


def test_wrong_input_is_refused(frame):
    with pytest.raises(OptionError, match="is a score"):
        shoal.lower_bound(frame, 5, quasi_identifiers=QIS, measure="dm")
    with pytest.raises(OptionError, match="at least 2"):
        shoal.lower_bound(frame, 1, quasi_identifiers=QIS)
    with pytest.raises(PromiseError, match="fewer than k"):
        shoal.lower_bound(frame, 201, quasi_identifiers=QIS)
    with pytest.raises(DataError, match="no rows"):
        shoal.lower_bound(frame.head(0), 2, quasi_identifiers=QIS)
    with pytest.raises(OptionError, match="bound must be True or False"):
        shoal.anonymize(frame, 5, quasi_identifiers=QIS, drop="sick", bound="yes")
