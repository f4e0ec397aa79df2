"""The allowance used for the others: who is kept loses least, and every promise holds for them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_checks import check_release
from tests.helpers.contract_samples import EVERY_COLUMN, PRIVACY, arguments, people

import shoal
from shoal import registry
from shoal.datasets import make_census
from shoal.errors import OptionError

K = 4
CENSUS = {"quasi_identifiers": ["age", "sex", "race", "education"], "sensitive": ["salary"]}
CHOOSING = [n for n in registry.algorithms() if not registry.load("algorithms", n).may_suppress]


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


@pytest.mark.parametrize("promise", PRIVACY)
@pytest.mark.parametrize("algorithm", ["auto", "mondrian", "mdav"])
def test_promises_hold_for_what_is_kept(algorithm, promise):
    frame = people(missing=True)
    options = {"seed": 5, "threads": 1, "shuffle": False, "privacy": PRIVACY[promise]}
    made = shoal.anonymize(
        frame,
        K,
        **arguments(EVERY_COLUMN),
        **options,
        algorithm=algorithm,
        max_suppression=0.15,
        suppress_for="kept",
    )
    check_release(made, frame, K, EVERY_COLUMN, PRIVACY[promise])
    assert made.n_suppressed <= int(0.15 * 90)


@pytest.mark.parametrize("algorithm", CHOOSING)
def test_any_algorithm_that_leaves_nobody_out_by_itself_can_be_asked(algorithm, census):
    plain, kept = (
        released(census.head(300), whose, algorithm=algorithm, max_suppression=share)
        for whose, share in (("all", 0.0), ("kept", 0.1))
    )
    assert 0 < kept.n_suppressed <= 30
    assert kept.kept_loss < plain.scores["ncp"]


def test_a_small_allowance_leaves_out_single_rows(census):
    kept = released(census.head(100), "kept", max_suppression=0.04)  # less than a group
    plain = released(census.head(100), "all", max_suppression=0.0)
    assert 0 < kept.n_suppressed <= 4
    assert kept.kept_loss < plain.scores["ncp"]


def test_people_with_several_rows_are_counted(census):
    frame = census.with_columns(who=pl.Series([i % 500 for i in range(1200)]))
    made = released(frame, "kept", person="who")
    who = frame["who"].to_numpy()
    assert 0 < made.n_suppressed <= 60
    kept = [g for g in range(int(made.groups.max()) + 1) if (made.groups == g).any()]
    assert all(len(set(who[made.groups == g])) >= 10 for g in kept)


def test_means_are_kept_close_by_leaving_out_what_has_the_largest_error():
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {f"x{j}": (1000 * np.exp(rng.normal(size=400))).astype(int) for j in range(3)}
    )
    error = {}
    for whose, share in (("all", 0.0), ("kept", 0.05)):
        made = shoal.anonymize(
            frame,
            5,
            quasi_identifiers=frame.columns,
            measure="sse",
            max_suppression=share,
            suppress_for=whose,
            seed=1,
            style={"numeric": "mean"},
            shuffle=False,
        )
        kept = frame.filter(pl.Series(made.groups >= 0))
        error[whose] = sum(
            ((kept[n].to_numpy() - made.frame[n].to_numpy()) ** 2).sum() / frame[n].var()
            for n in frame.columns
        )
    assert error["kept"] < 0.6 * error["all"]


def test_a_seed_gives_one_release_with_any_number_of_threads(census):
    first, second = (released(census, "kept", threads=threads) for threads in (1, 3))
    assert first.frame.equals(second.frame)
    assert first.groups.tolist() == second.groups.tolist()


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
