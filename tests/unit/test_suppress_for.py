"""The allowance used for the others: who is kept loses least, and every promise holds for them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import EVERY_COLUMN, PRIVACY, arguments, people
from tests.helpers.effort import further

import shoal
from shoal.datasets import make_census
from shoal.errors import OptionError

K = 4
CENSUS = {"quasi_identifiers": ["age", "sex", "race", "education"], "sensitive": ["salary"]}


@pytest.fixture(scope="module")
def census():
    columns = [*CENSUS["quasi_identifiers"], "salary"]
    return make_census(1200, seed=3).select(columns)


def released(frame, whose, **more):
    options = {"max_suppression": 0.05, "suppress_for": whose, "seed": 2, "threads": 1, **more}
    return shoal.anonymize(frame, 10, **CENSUS, **options)


def test_the_kept_rows_lose_much_less_and_no_more_are_left_out_than_allowed(census):
    everybody = released(census, "all", max_suppression=0.0)
    lost = {whose: released(census, whose) for whose in ("all", "kept")}
    assert lost["all"].n_suppressed <= lost["kept"].n_suppressed <= 60
    assert lost["kept"].n_suppressed > 30
    assert lost["kept"].kept_loss < 0.85 * lost["all"].kept_loss
    assert lost["kept"].kept_loss < everybody.scores["ncp"]
    assert lost["kept"].verification.holds
    assert lost["kept"].verification.smallest_group >= 10


def test_the_loss_of_the_kept_rows_is_the_mean_over_their_cells():
    frame = pl.DataFrame({"x": [0, 1, 2, 3, 10, 12, 50, 100]})
    groups = np.array([0, 0, 0, 0, 1, 1, -1, -1])
    made = shoal.refine(frame, groups, 2, quasi_identifiers=["x"], sweeps=1, seed=1)
    widths = {g: np.ptp(frame["x"].to_numpy()[made.groups == g]) for g in set(made.groups) - {-1}}
    expected = np.mean([widths[g] / 100 for g in made.groups if g >= 0])
    assert made.n_suppressed == 2
    assert made.kept_loss == pytest.approx(expected)
    assert made.scores["ncp"] == pytest.approx((expected * 6 + 2) / 8)


@pytest.mark.parametrize(
    "promise",
    further(
        PRIVACY, lambda name: name in {"k alone", "distinct", "t equal", "alpha", "two columns"}
    ),
)
def test_promises_hold_for_what_is_kept(promise):
    frame = people(missing=True)
    options = {"seed": 5, "threads": 1, "shuffle": False, "privacy": PRIVACY[promise]}
    made = shoal.anonymize(
        frame,
        K,
        **arguments(EVERY_COLUMN),
        **options,
        max_suppression=0.15,
        suppress_for="kept",
    )
    check_release(made, frame, K, EVERY_COLUMN, PRIVACY[promise])
    assert made.n_suppressed <= int(0.15 * 90)


def test_a_small_allowance_leaves_out_single_rows(census):
    kept = released(census.head(200), "kept", max_suppression=0.02)  # less than a group
    plain = released(census.head(200), "all", max_suppression=0.0)
    assert 0 < kept.n_suppressed <= 4
    assert kept.kept_loss < plain.scores["ncp"]


def test_people_with_several_rows_are_counted(census):
    frame = census.with_columns(who=pl.Series([i % 500 for i in range(1200)]))
    made = released(frame, "kept", person="who")
    who = frame["who"].to_numpy()
    assert 0 < made.n_suppressed <= 60
    kept = [g for g in range(int(made.groups.max()) + 1) if (made.groups == g).any()]
    assert all(len(set(who[made.groups == g])) >= 10 for g in kept)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_suppression": 0.0}, r"^suppress_for='kept' .* none may be; .*above 0\.$"),
        ({"algorithm": "loukides-shao"}, r"^Algorithm 'loukides-shao' chooses by itself .*\.$"),
        ({"suppress_for": "others"}, r"^suppress_for must be one of all, kept, got 'others'\.$"),
    ],
)
def test_an_option_that_would_have_no_effect_is_refused(census, options, sentence):
    with pytest.raises(OptionError, match=sentence):
        released(census, options.pop("suppress_for", "kept"), **options)


def test_a_certificate_says_for_whom_and_how_many_and_not_who(census):
    made = released(census, "kept")
    said = made.certificate()
    assert said["parameters"]["suppress_for"] == "kept"
    outlier = census.with_row_index().filter(pl.Series(made.groups < 0))["index"][0]
    changed = census.with_columns(
        salary=pl.when(pl.int_range(pl.len()) == outlier)
        .then(pl.lit("none of it"))
        .otherwise("salary")
    )
    again = released(changed, "kept")
    assert again.groups.tolist() == made.groups.tolist()
    assert again.frame.rows() == made.frame.rows()
    other = again.certificate()
    for each in (said, other):
        each.pop("created", None)
    assert {k: v for k, v in said.items() if "second" not in k and "time" not in k} == {
        k: v for k, v in other.items() if "second" not in k and "time" not in k
    }
