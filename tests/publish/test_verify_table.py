"""The second opinion: what a published table keeps of what it promises."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shoal.api import verify as verify_table
from shoal.errors import DataError, OptionError, RoleError
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness


@pytest.fixture
def published():
    return pl.DataFrame(
        {
            "age": ["[20-30]", "[20-30]", "[31-40]", "[31-40]", "[31-40]"],
            "zip": ["47*", "47*", None, None, None],
            "illness": ["flu", "cold", "flu", "flu", "flu"],
            "cost": [1.0, 2.0, 3.0, 4.0, 5.0],
        }
    )


def test_a_table_that_keeps_its_promise_holds(published):
    result = verify_table(published, k=2, quasi_identifiers=["age", "zip"])
    assert result
    assert (result.smallest_group, result.n_groups, result.n_rows) == (2, 2, 5)
    assert result.highest_risk == 0.5
    assert (result.violating_groups, result.violating_rows) == (0, 0)
    assert [check.name for check in result.checks] == ["k-anonymity"]
    assert result.sentences()[-1] == "Every promise holds."


def test_a_table_that_breaks_its_promise_does_not_hold(published):
    result = verify_table(published, k=3, quasi_identifiers=["age", "zip"])
    assert not result
    assert (result.violating_groups, result.violating_rows) == (1, 2)
    assert result.sentences() == (
        (
            "Broken: every row shares its quasi-identifiers with at least 2 others; "
            "the smallest group has 2 rows."
        ),
        "2 rows in 1 group must not be published like this.",
    )


def test_privacy_models_are_checked_against_the_published_rows(published):
    result = verify_table(
        published,
        k=2,
        quasi_identifiers=["age", "zip"],
        sensitive=["illness", "cost"],
        privacy=[
            LDiversity(2, kind="distinct"),
            TCloseness(0.3, column="illness"),
            {"model": "alpha-k", "alpha": 0.6, "column": "illness"},
            TCloseness(0.4, distance="ordered", column="cost"),
        ],
    )
    assert [(c.name, pytest.approx(c.measured), c.holds) for c in result.checks[1:]] == [
        ("l-diversity of 'illness'", 1.0, False),
        ("l-diversity of 'cost'", 2.0, True),
        ("t-closeness of 'illness'", 0.3, True),
        ("alpha-k of 'illness'", 1.0, False),
        ("t-closeness of 'cost'", 0.375, True),
    ]
    assert not result.holds
    assert (result.violating_groups, result.violating_rows) == (1, 3)


def test_the_worst_over_all_checks_counts_each_group_once(published):
    result = verify_table(
        published,
        k=3,
        quasi_identifiers="age",
        sensitive="illness",
        privacy=[LDiversity(2), AlphaK(0.5)],
    )
    assert (result.violating_groups, result.violating_rows) == (2, 5)


def test_missing_cells_equal_each_other():
    frame = pl.DataFrame({"a": [None, None, 1.0, 1.0], "s": [1, 2, 3, 4]})
    assert verify_table(frame, k=2, quasi_identifiers=["a"]).smallest_group == 2


def readable_apart(*cells, dtype=None):
    """Whether the two cells of a quasi-identifier make two groups."""
    frame = pl.DataFrame({"a": pl.Series([*cells, *cells], dtype=dtype)})
    return verify_table(frame, k=2, quasi_identifiers="a").n_groups == 2


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ((None, float("nan")), pl.Float64),
        ((0.0, -0.0), pl.Float64),
        ((0.0, -0.0), pl.Float32),
        (([0.0], [-0.0]), pl.List(pl.Float64)),
        (({"low": float("nan")}, {"low": None}), pl.Struct({"low": pl.Float64})),
        (("1", "1.0"), pl.String),
        (("1", "1 "), pl.Categorical),
        (("", None), pl.String),
        (("NA", None), pl.String),
        ((2**53, 2**53 + 1), pl.Int64),
    ],
    ids=str,
)
def test_cells_that_a_reader_can_tell_apart_make_different_groups(cells, dtype):
    assert readable_apart(*cells, dtype=dtype)
    assert not readable_apart(cells[0], cells[0], dtype=dtype)


SAME = [
    ("flu", "flu "),
    ("flu", "FLU"),
    ("flu", "\tflu\n"),
    ("bad  cold", "bad cold"),
    ("flu", "\uff46lu"),  # a letter in full width
    ("flu", "f\u200blu"),  # a blank without width
    ("stra\u00dfe", "STRASSE"),
    ("flu", '"flu"'),
    ("5.0", "5.00"),
    ("5", "5.0"),
    ("+5", "05"),
    ("1.5e3", "1500"),
    ("", None),
    ("NA", None),
    ("n/a", "?"),
    ("Unknown", "-"),
]


@pytest.mark.parametrize("values", SAME, ids=str)
def test_values_that_a_person_would_call_equal_do_not_make_a_group_diverse(values):
    frame = pl.DataFrame({"a": ["x"] * 2, "s": values})
    privacy = LDiversity(2, kind="distinct")
    result = verify_table(frame, k=2, quasi_identifiers="a", sensitive="s", privacy=privacy)
    assert [(check.measured, check.holds) for check in result.checks[1:]] == [(1, False)]
    assert "2 values as written, but only 1 after cleaning" in result.notes[0]


@pytest.mark.parametrize(
    "values", [("flu", "flue"), ("12e4", "120000"), ("5", "5.01"), ("a", None)]
)
def test_values_that_stay_different_after_cleaning_are_different(values):
    frame = pl.DataFrame({"a": ["x"] * 2, "s": values})
    privacy = LDiversity(2, kind="distinct")
    result = verify_table(frame, k=2, quasi_identifiers="a", sensitive="s", privacy=privacy)
    assert result.holds
    assert result.notes == ()


def test_nan_and_null_are_one_sensitive_value():
    frame = pl.DataFrame({"a": ["x"] * 3, "s": [None, float("nan"), -0.0]})
    model = LDiversity(3, kind="distinct")
    result = verify_table(frame, k=2, quasi_identifiers="a", sensitive="s", privacy=model)
    assert result.checks[1].measured == 2


def test_a_marker_of_the_user_stands_for_a_missing_value():
    frame = pl.DataFrame({"a": ["x"] * 2, "s": [" Not Asked", None]})
    options = {"k": 2, "quasi_identifiers": "a", "sensitive": "s"}
    model = LDiversity(2, kind="distinct")
    assert verify_table(frame, **options, privacy=model)
    assert not verify_table(frame, **options, privacy=model, missing_values="not asked")


def test_a_distance_must_hold_for_the_values_as_written():
    # After cleaning both groups are like the table; as written they have nothing in common.
    frame = pl.DataFrame({"a": ["x", "x", "y", "y"], "s": ["flu", "flu", "Flu", "Flu"]})
    options = {"k": 2, "quasi_identifiers": "a", "sensitive": "s"}
    result = verify_table(frame, **options, privacy=TCloseness(0.2))
    assert result.checks[1].measured == 0.5
    assert not result


def test_a_missing_sensitive_value_is_a_value():
    frame = pl.DataFrame({"a": ["x", "x"], "s": [None, "flu"]})
    privacy = LDiversity(2, kind="distinct")
    assert verify_table(frame, k=2, quasi_identifiers="a", sensitive="s", privacy=privacy)


def test_the_order_of_an_ordered_category_is_that_of_its_type():
    # In alphabetical order "mid" would be the last value, at a distance of 1/2.
    grades = pl.Series(["low", "high", "mid"], dtype=pl.Enum(["low", "mid", "high"]))
    frame = pl.DataFrame({"a": ["x", "x", "y"], "s": grades})
    model = TCloseness(0.5, distance="ordered")
    result = verify_table(frame, k=2, quasi_identifiers="a", sensitive="s", privacy=model)
    assert result.checks[1].measured == pytest.approx(1 / 3)


def test_bounds_are_found_under_the_name_of_their_column():
    frame = pl.DataFrame({"age_low": [1, 1, 1, 1], "age_high": [2, 2, 3, 3]})
    assert verify_table(frame, k=2, quasi_identifiers=["age"]).n_groups == 2
    assert verify_table(frame, k=2, quasi_identifiers=["age_low"]).n_groups == 1


def test_structs_are_compared_whole():
    frame = pl.DataFrame({"age": [{"low": 1, "high": 2}] * 2 + [{"low": 1, "high": 3}] * 2})
    assert verify_table(frame, k=2, quasi_identifiers=["age"]).n_groups == 2


@pytest.mark.parametrize(
    "convert",
    [lambda f: f, pl.DataFrame.lazy, pl.DataFrame.to_arrow, lambda f: pd.DataFrame(f.to_dict())],
    ids=["polars", "lazy", "pyarrow", "pandas"],
)
def test_any_dataframe_is_accepted(published, convert):
    frame = convert(published)
    result = verify_table(
        frame, k=2, quasi_identifiers=["age", "zip"], sensitive="illness", privacy=AlphaK(0.9)
    )
    assert (result.n_groups, result.smallest_group, result.violating_rows) == (2, 2, 3)


def test_the_result_is_ready_for_json_and_shows_no_cell(published):
    result = verify_table(
        published,
        k=3,
        quasi_identifiers=["age", "zip"],
        sensitive=["illness"],
        privacy=[LDiversity(2), TCloseness(0.1)],
    )
    text = json.dumps(result.to_dict()) + " ".join(result.sentences())
    for cell in ("[20-30]", "47*", "flu", "cold"):
        assert cell not in text
    assert json.loads(json.dumps(result.to_dict()))["checks"][0]["promised"] == 3


@pytest.mark.parametrize("k", [1, 0, -3, 2.0, "5", None, True])
def test_k_is_a_whole_number_of_at_least_two(published, k):
    with pytest.raises(OptionError, match="k must be a whole number of at least 2, but "):
        verify_table(published, k=k, quasi_identifiers=["age"])


def test_k_may_be_a_number_of_numpy(published):
    result = verify_table(published, k=np.int64(2), quasi_identifiers=["age"])
    assert type(result.to_dict()["k"]) is int


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quasi_identifiers": ["aeg"]}, r"no column 'aeg' .* Did you mean 'age'"),
        ({"quasi_identifiers": ["q"]}, r"no column 'q' .* It has 'age', 'zip'"),
        ({"quasi_identifiers": []}, "no quasi-identifier"),
        ({"quasi_identifiers": [3]}, "list of column names"),
        ({"quasi_identifiers": ["age", "age"]}, "'age' is named twice"),
        ({"quasi_identifiers": ["age"], "sensitive": ["ilness"]}, "Did you mean 'illness'"),
        ({"quasi_identifiers": ["age"], "sensitive": ["age"]}, "'age' is given two roles"),
    ],
)
def test_a_wrong_column_is_named(published, arguments, message):
    with pytest.raises(RoleError, match=message):
        verify_table(published, k=2, **arguments)


def test_a_model_without_a_sensitive_column_says_so(published):
    with pytest.raises(OptionError, match="none was given"):
        verify_table(published, k=2, quasi_identifiers="age", privacy=LDiversity(2))
    with pytest.raises(OptionError, match="list of privacy models"):
        verify_table(published, k=2, quasi_identifiers="age", privacy="l-diversity")
    with pytest.raises(OptionError, match="needs numbers, dates or ordered"):
        verify_table(
            published,
            k=2,
            quasi_identifiers="age",
            sensitive="illness",
            privacy=TCloseness(0.2, distance="ordered"),
        )


def test_an_empty_table_is_an_error_and_not_a_success(published):
    with pytest.raises(DataError, match="no rows"):
        verify_table(published.head(0), k=2, quasi_identifiers=["age"])


def test_what_is_no_table_is_refused():
    with pytest.raises(DataError, match="pandas, polars, pyarrow"):
        verify_table([1, 2], k=2, quasi_identifiers=["age"])


def test_columns_may_have_any_name():
    frame = pl.DataFrame({"row": [1, 1], "q0": ["a", "b"], "": [1, 2]})
    assert verify_table(frame, k=2, quasi_identifiers=["row"]).n_groups == 1
    assert verify_table(frame, k=2, quasi_identifiers=["q0", "row", ""]).n_groups == 2
