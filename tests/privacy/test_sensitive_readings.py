"""A run counts sensitive values as a person would, so that what it makes passes verification."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import PromiseError

SPELLINGS = ["flu", "Flu ", "FLU", "cold", " cold", "gout", "", None, "N/A"]


def patients(n=90, cells=SPELLINGS):
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {"age": rng.integers(20, 40, n), "illness": [cells[i % len(cells)] for i in range(n)]}
    )


@pytest.mark.parametrize("algorithm", ["mondrian", "k-member", "sequential", "incognito"])
def test_a_group_is_not_diverse_by_the_spelling_of_one_value(algorithm):
    release = shoal.anonymize(
        patients(),
        4,
        quasi_identifiers="age",
        sensitive="illness",
        hierarchies={"age": {f"{ten}s": list(range(ten, ten + 10)) for ten in (20, 30)}},
        privacy=[shoal.LDiversity(3, kind="distinct"), shoal.TCloseness(0.6)],
        algorithm=algorithm,
        seed=1,
    )
    assert release.verification
    (note,) = release.verification.notes
    assert "9 values as written, but only 4 after cleaning" in note
    assert note in release.warnings
    assert note in release.certificate()["warnings"]


def test_a_table_that_is_diverse_only_by_spelling_is_refused_before_the_search():
    frame = patients(cells=["flu", "flu ", "Flu"])
    with pytest.raises(PromiseError, match="it has 1 different values"):
        shoal.anonymize(
            frame,
            2,
            quasi_identifiers="age",
            sensitive="illness",
            privacy=shoal.LDiversity(2, kind="distinct"),
        )


def test_missing_numbers_of_two_kinds_are_one_value_and_keep_their_cells():
    frame = patients(cells=[1.5, float("nan"), None, -0.0, 0.0])
    release = shoal.anonymize(
        frame,
        6,
        quasi_identifiers="age",
        sensitive="illness",
        privacy=[shoal.LDiversity(3, kind="distinct"), shoal.TCloseness(0.5, distance="ordered")],
        algorithm="mondrian",
    )
    assert release.verification
    published = release.frame.get_column("illness")
    assert published.null_count() == frame.get_column("illness").null_count() == 18
    assert published.is_nan().sum() == 18


def test_with_strict_a_difference_between_the_readings_is_an_error():
    with pytest.raises(PromiseError, match="with strict it is not made: Column 'illness' has 9"):
        shoal.anonymize(
            patients(),
            4,
            quasi_identifiers="age",
            sensitive="illness",
            privacy=shoal.LDiversity(2),
            algorithm="mondrian",
            strict=True,
        )
