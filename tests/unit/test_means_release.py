"""What a release of means publishes, and that `sse` is the error of just that."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.helpers.contract_array import TREES_ONLY
from tests.helpers.effort import further

import shoal
from shoal import LDiversity, registry
from shoal.errors import OptionError

MEANS = {"style": {"numeric": "mean"}, "shuffle": False, "seed": 4, "threads": 1}


def people(n=120):
    rng = np.random.default_rng(11)
    income = np.round(np.exp(rng.normal(8, 1, n)), 2).tolist()
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n).tolist(),
            "income": [None if i % 29 == 3 else v for i, v in enumerate(income)],
            "weight": np.round(rng.normal(70, 12, n), 1).tolist(),
            "sick": rng.choice(["flu", "gout", "none"], n).tolist(),
        }
    )


def published_error(frame, release, names):
    """The squared error of the cells of a release, told from the two tables alone."""
    kept = release.groups >= 0
    shares = []
    for name in names:
        value = frame[name].cast(pl.Float64).to_numpy()
        cell = np.full(len(value), np.nan)
        cell[kept] = release.frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
        known = ~np.isnan(value)
        middle = value[known].mean()
        cell = np.where(np.isnan(cell), middle, cell)
        lost = np.sum((value[known] - cell[known]) ** 2)
        shares.append(lost / np.sum((value[known] - middle) ** 2))
    return float(np.mean(shares))


NAMES = ["age", "income", "weight"]


@pytest.mark.parametrize("grid", [{}, {"grid": {"age": 10, "income": "powers of 10"}}])
@pytest.mark.parametrize("algorithm", ["auto", "mdav", "v-mdav", "mondrian"])
def test_sse_is_the_error_of_the_means_that_are_published(algorithm, grid):
    frame = people()
    release = shoal.anonymize(
        frame, 5, quasi_identifiers=NAMES, sensitive="sick", algorithm=algorithm, **MEANS, **grid
    )
    assert release.scores["sse"] == pytest.approx(published_error(frame, release, NAMES))
    assert set(release.scores.by_column["sse"]) == set(NAMES)


def test_rows_that_are_left_out_count_as_the_mean_of_all():
    frame = people()
    groups = np.arange(120) // 6
    groups[:12] = -1
    scores = shoal.score(frame, groups, quasi_identifiers=["age"], measures=["sse"])
    age = frame["age"].to_numpy().astype(float)
    cell = np.array([age[groups == g].mean() if g >= 0 else age.mean() for g in groups])
    assert scores["sse"] == pytest.approx(
        ((age - cell) ** 2).sum() / ((age - age.mean()) ** 2).sum()
    )


@pytest.mark.parametrize("promise", further(["k alone", "distinct"], lambda p: p == "distinct"))
@pytest.mark.parametrize("algorithm", [a for a in registry.algorithms() if a not in TREES_ONLY])
def test_any_algorithm_takes_sse_and_refinement_lowers_it(algorithm, promise):
    frame = people(90)
    privacy = [LDiversity(2, kind="distinct")] if promise == "distinct" else []
    plain, better = (
        shoal.anonymize(
            frame,
            4,
            quasi_identifiers=NAMES,
            sensitive="sick",
            algorithm=algorithm,
            measure="sse",
            privacy=privacy,
            refine=refine,
            max_suppression=0.0,
            **MEANS,
        )
        for refine in (None, "balanced")
    )
    assert plain.verification.holds
    assert better.verification.holds
    if plain.n_suppressed == better.n_suppressed:
        assert better.scores["sse"] <= plain.scores["sse"] + 1e-12


def test_auto_loses_less_than_mdav_and_best_no_more_than_balanced():
    frame = people(300).drop_nulls()
    error = {}
    for name, options in {
        "mdav": {"algorithm": "mdav"},
        "balanced": {},
        "best": {"algorithm_options": {"effort": "best"}},
    }.items():
        release = shoal.anonymize(
            frame, 5, quasi_identifiers=NAMES, sensitive="sick", measure="sse", **MEANS, **options
        )
        error[name] = release.scores["sse"]
    assert error["best"] <= error["balanced"] < 0.99 * error["mdav"]


def test_people_with_several_rows_are_counted_by_refinement_of_means():
    frame = people(200).with_columns(pl.Series("who", [i % 80 for i in range(200)]))
    release = shoal.anonymize(
        frame,
        5,
        quasi_identifiers=NAMES,
        sensitive="sick",
        person="who",
        measure="sse",
        **MEANS,
    )
    who = frame["who"].to_numpy()
    assert all(len(set(who[release.groups == g])) >= 5 for g in range(release.n_groups))


def test_sse_of_other_columns_than_numbers_is_refused_in_one_sentence():
    frame = people().with_columns(city=pl.Series(["Ur", "Uruk"] * 60))
    with pytest.raises(OptionError, match=r"^Measure 'sse' .*'city'.*'ncp'.*score\.$"):
        shoal.anonymize(
            frame, 5, quasi_identifiers=[*NAMES, "city"], sensitive="sick", measure="sse"
        )
    with pytest.raises(OptionError, match="no quasi-identifier is numeric"):
        shoal.score(frame, np.zeros(120, int), quasi_identifiers=["city"], measures=["sse"])


def test_a_lower_bound_of_sse_is_refused():
    with pytest.raises(OptionError, match="sse"):
        shoal.lower_bound(people(), 5, quasi_identifiers=NAMES, measure="sse")


def test_large_numbers_have_an_error_that_is_a_number():
    frame = pl.DataFrame({"x": [1e308, -1e308, 1e300, 0.0, 5.0, 9.9e307]})
    scores = shoal.score(frame, [0, 1, 0, 1, 0, 1], quasi_identifiers=["x"], measures=["sse"])
    assert 0 < scores["sse"] <= 1.5
