"""Columns that undo a release are found, and ordinary ones are left alone."""

import warnings

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.datasets import load_adult

N_ROWS = 240


@pytest.fixture
def people():
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, N_ROWS)
    return pl.DataFrame(
        {
            "age": age,
            "city": rng.choice([f"{letter}{n}" for letter in "abcd" for n in range(6)], N_ROWS),
            "ill": rng.choice(["flu", "cold", "none"], N_ROWS, p=[0.1, 0.2, 0.7]),
        }
    )


def warnings_of(frame, **options):
    kept = [name for name in frame.columns if name not in {"age", "city", "ill"}]
    release = shoal.anonymize(
        frame,
        5,
        quasi_identifiers=["age", "city"],
        sensitive=["ill"],
        insensitive=kept,
        algorithm="mondrian",
        seed=1,
        **options,
    )
    assert release.certificate()["warnings"] == list(release.warnings)
    return " ".join(release.warnings)


def test_ordinary_columns_are_no_danger(people):
    rng = np.random.default_rng(6)
    frame = people.with_columns(
        visits=pl.Series(rng.integers(0, 9, N_ROWS)),
        often=pl.Series(rng.choice(["no", "yes"], N_ROWS, p=[0.99, 0.01])),
        constant=pl.lit("here"),
        empty=pl.lit(None, dtype=pl.String),
    )
    assert warnings_of(frame) == ""


@pytest.mark.parametrize(
    "column",
    [
        pl.int_range(N_ROWS),
        pl.int_range(N_ROWS).cast(pl.String) + " in the ward",
        (pl.int_range(N_ROWS) // 3 * 3 == pl.int_range(N_ROWS)).replace_strict(
            {True: None, False: 1}, return_dtype=pl.Int64
        )
        * pl.int_range(N_ROWS),
        pl.int_range(N_ROWS).map_elements(lambda n: [n], return_dtype=pl.List(pl.Int64)),
    ],
    ids=["numbers", "texts", "with missing cells", "lists"],
)
def test_a_column_of_unique_values_is_named(people, column):
    said = warnings_of(people.with_columns(token=column))
    assert "value of its own in column 'token'" in said


@pytest.mark.parametrize(
    ("column", "other"),
    [
        (pl.col("age") // 10, "'age'"),
        (2024 - pl.col("age"), "'age'"),
        (pl.col("city").str.slice(0, 1), "'city'"),
        (pl.col("city") + (pl.int_range(N_ROWS) % 3).cast(pl.String), "'city'"),
        (2024 - pl.col("age") - pl.int_range(N_ROWS) % 2, "'age'"),
    ],
    ids=["coarser", "equal", "initial", "finer", "nearly in step"],
)
def test_a_column_that_goes_together_with_a_quasi_identifier_is_named(people, column, other):
    said = warnings_of(people.with_columns(token=column))
    assert f"'token' is published as it is and goes together with {other}" in said


def test_nothing_is_given_away_where_nothing_was_generalised(people):
    frame = people.with_columns(age=pl.lit(40), token=pl.lit(41))
    assert warnings_of(frame) == ""


def test_sensitive_columns_are_looked_at_too(people):
    release = shoal.anonymize(
        people.with_columns(born=2024 - pl.col("age")),
        5,
        quasi_identifiers=["age", "city"],
        sensitive=["ill", "born"],
        algorithm="mondrian",
    )
    assert any("'born'" in sentence for sentence in release.warnings)


def test_large_tables_are_judged_by_a_part_of_their_rows():
    frame = load_adult().with_row_index("number").with_columns(decade=pl.col("age") // 10)
    frame = pl.concat([frame, frame.with_columns(pl.col("number") + 50_000)])
    release = shoal.anonymize(
        frame.select("age", "sex", "salary", "number", "decade"),
        10,
        quasi_identifiers=["age", "sex"],
        sensitive=["salary"],
        insensitive=["number", "decade"],
        algorithm="mondrian",
    )
    said = [(each.point.what, each.point.column) for each in release.warnings]
    assert said == [
        ("names people", "number"),
        ("unique column", "number"),
        ("related column", "decade"),
    ]


def test_with_strict_a_warning_is_an_error(people):
    frame = people.with_columns(token=pl.int_range(N_ROWS))
    with pytest.raises(shoal.PromiseError, match=r"with strict it is not made: .*'token'"):
        warnings_of(frame, strict=True)
    assert warnings_of(people, strict=True) == ""


def test_python_is_warned_as_well(people):
    frame = people.with_columns(token=pl.int_range(N_ROWS))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings_of(frame)
    assert [each.category for each in caught] == [shoal.ShoalWarning]
    assert "token" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_what_was_left_out_has_no_part_in_a_warning(people):
    """The rows that make a column unique are suppressed: what remains is not."""
    rng = np.random.default_rng(1)
    few = people.head(60).with_columns(token=pl.Series(rng.integers(0, 5, 60)))
    many = people.with_columns(age=pl.lit(None, dtype=pl.Int64), token=pl.int_range(N_ROWS) + 10)
    frame = pl.concat([few, many.select(few.columns)])
    assert warnings_of(frame, missing="suppress") == ""


def test_where_people_have_several_rows_one_row_of_each_is_looked_at():
    rng = np.random.default_rng(4)
    whose = np.repeat(np.arange(120), 3)
    frame = pl.DataFrame(
        {
            "who": whose,
            "born": rng.permutation(120)[whose] * 7,
            "blood": rng.choice(["a", "b", "ab", "0"], 120)[whose],
            "own": rng.permutation(120)[whose] + 0.5,
        }
    )
    release = shoal.anonymize(
        frame,
        5,
        quasi_identifiers="born",
        sensitive=["blood", "own"],
        person="who",
        algorithm="mondrian",
        seed=1,
    )
    (warned,) = [each for each in release.warnings if "'own'" in each]
    assert "value of its own" in warned
    assert not any("'blood'" in each for each in release.warnings)
