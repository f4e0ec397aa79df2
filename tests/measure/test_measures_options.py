"""Options of measures that the papers name: weights of levels, norms, several private columns."""

from collections import Counter
from math import log2

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import OptionError
from shoal.hierarchy import Taxonomy
from shoal.measure.whd import given_distance, weighted_distance

CITY = Taxonomy.from_paths(
    [(f"{a}{b}{c}", f"{a}{b}", a, "*") for a in "xy" for b in "12" for c in "pq"]
)
LEAVES = list(CITY.leaf_labels)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    n = 240
    wealth = rng.integers(0, 2, n)
    return pl.DataFrame(
        {
            "city": [LEAVES[i] for i in rng.integers(0, 8, n)],
            "age": rng.integers(20, 60, n) + 15 * wealth,
            "sex": rng.choice(["f", "m"], n),
            "rich": wealth,
            "sick": rng.choice(["flu", "cold", "none"], n),
        }
    )


ROLES = {
    "quasi_identifiers": ["city", "age", "sex"],
    "sensitive": ["rich", "sick"],
    "hierarchies": {"city": CITY},
}


def test_weights_of_levels_are_normed_sums_of_the_steps_climbed():
    # w_{2,1} = 5, w_{3,2} = 3, w_{4,3} = 2: a step above the leaves costs 2 of 10
    assert given_distance([5, 3, 2]).tolist() == [0.0, 0.2, 0.5, 1.0]
    assert given_distance([1, 1, 1]) == pytest.approx(weighted_distance(4, 0.0))
    assert given_distance([1, 1 / 2, 1 / 3]) == pytest.approx(weighted_distance(4, 1.0))


def scored(frame, labels, measures, **options):
    return shoal.score(frame, labels, measures=measures, measure_options=options, **ROLES)


def test_a_group_pays_the_user_s_weights_of_its_steps_in_the_named_column_only(people):
    two = people.head(2).with_columns(city=pl.Series(["x1p", "x1q"]), sex=pl.Series(["f", "m"]))
    plain = scored(two, [0, 0], ["whd"]).by_column["whd"]
    ours = scored(two, [0, 0], ["whd"], level_weights={"city": [5, 3, 2]}).by_column["whd"]
    assert ours["city"] == pytest.approx(2 * 0.2)
    assert plain["city"] == pytest.approx(2 / 3)
    assert ours["sex"] == plain["sex"] == 2.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1, 2], "must map columns to lists"),
        ({"city": 3}, "must be a list of numbers"),
        ({"city": [0, 0, 0]}, "not all of them 0"),
        ({"city": [1, -1, 1]}, "at least 0"),
        ({"city": [1, True, 1]}, "must be a list of numbers"),
        ({"city": [1, 2]}, "has 2 weights for column 'city', whose hierarchy has 3 steps"),
        ({"town": [1, 2, 3]}, "names column 'town', which is no quasi-identifier"),
    ],
)
def test_weights_of_levels_that_make_no_sense_are_refused_in_one_sentence(people, given, message):
    with pytest.raises(OptionError, match=message):
        scored(people, [0] * people.height, ["whd"], level_weights=given)


def test_cheap_upper_levels_make_kaca_climb_higher_there(people):
    made = {
        name: shoal.anonymize(
            people, 6, **ROLES, algorithm="kaca", measure="whd", measure_options=options, seed=2
        )
        for name, options in (
            ("cheap", {"level_weights": {"city": [0.01, 0.01, 1.0]}}),
            ("dear", {"level_weights": {"city": [1.0, 1.0, 0.01]}}),
        )
    }
    whole = {name: int((r.frame["city"] == "*").sum()) for name, r in made.items()}
    assert whole["cheap"] > whole["dear"]


def test_the_distortion_ratio_by_height_divides_the_distortion_by_height(people):
    labels = np.arange(people.height) // 6
    for beta in (1.0, 2.5):
        found = scored(people, labels, ["whd-height", "distortion-ratio"], beta=beta)
        assert found["distortion-ratio"] == pytest.approx(found["whd-height"] / (people.height * 3))
    uniform = scored(people, labels, ["whd", "distortion-ratio"])
    assert uniform["distortion-ratio"] == pytest.approx(uniform["whd"] / (people.height * 3))
    assert uniform["distortion-ratio"] > found["distortion-ratio"]
    with pytest.raises(OptionError, match="beta of 'whd-height' must be at least 1"):
        scored(people, labels, ["distortion-ratio"], beta=0.5)


def test_dm_counts_groups_as_formed_or_rows_that_a_reader_cannot_tell_apart(people):
    release = shoal.anonymize(people, 3, **ROLES, algorithm="k-member", seed=5)
    formed = sum(n**2 for n in Counter(release.groups.tolist()).values())
    rows = release.frame.select("city", "age", "sex").rows()
    seen = sum(n**2 for n in Counter(rows).values())
    assert scored(people, release.groups, ["dm"])["dm"] == formed
    assert scored(people, release.groups, ["dm"], classes="published")["dm"] == seen
    twice = [0, 0, 1, 1]
    same = pl.concat([people.head(2)] * 2)
    assert scored(same, twice, ["dm"])["dm"] == 8
    assert scored(same, twice, ["dm"], classes="published")["dm"] == 16
    kinds = {"city": "set"}
    told = {**ROLES, "hierarchies": {}, "kinds": kinds}
    options = {"measures": ["dm"], "measure_options": {"classes": "published"}}
    assert shoal.score(same, twice, **told, **options)["dm"] == 16
    with pytest.raises(OptionError, match="classes of 'dm' must be one of formed, published"):
        scored(people, release.groups, ["dm"], classes="seen")


def private_information(frame, release, private):
    """Equation 14 for the column of sexes, from the published cells."""
    cells = release.frame.get_column("sex").to_list()
    own = [tuple(row) for row in release.frame.select(private).rows()]
    table = list(zip(frame.get_column("sex"), frame.select(private).rows(), strict=True))
    lost = 0.0
    for cell, y in zip(cells, own, strict=True):
        covered = [other for sex, other in table if cell in ("*", sex)]
        lost -= log2(sum(other == y for other in covered) / len(covered))
    return lost / len(cells)


def test_private_information_about_several_columns_is_that_about_their_tuples(people):
    release = shoal.anonymize(
        people,
        5,
        **ROLES,
        algorithm="sequential",
        measure="pmi",
        measure_options={"column": ["rich", "sick"]},
        seed=1,
    )
    found = release.scores.by_column["pmi"]["sex"]
    assert found == pytest.approx(private_information(people, release, ["rich", "sick"]))
    alone = scored(people, release.groups, ["pmi"], column="rich").by_column["pmi"]["sex"]
    assert alone == pytest.approx(private_information(people, release, ["rich"]))
    # what is minimised is what is scored: a release made for one column tells less about both
    other = shoal.anonymize(people, 5, **ROLES, algorithm="sequential", measure="pmi", seed=1)
    both = scored(people, other.groups, ["pmi"], column=["rich", "sick"])["pmi"]
    assert release.scores["pmi"] < both


@pytest.mark.parametrize(
    ("column", "message"),
    [(["rich", "age"], "column 'age', which is not a sensitive"), ([], "names no column at all")],
)
def test_several_columns_must_be_sensitive_ones(people, column, message):
    with pytest.raises(OptionError, match=message):
        scored(people, [0] * people.height, ["pmi"], column=column)


@pytest.mark.parametrize(("norm", "measure"), [("l2", "pmi-l2"), ("max", "pmi-max")])
def test_a_search_for_a_norm_tells_at_least_as_much_in_it_as_one_for_the_sum(people, norm, measure):
    more = 0
    for seed in range(4):
        given = {**ROLES, "algorithm": "sequential", "measure": "pmi", "seed": seed}
        plain = shoal.anonymize(people, 8, **given)
        ours = shoal.anonymize(people, 8, **given, measure_options={"norm": norm})
        told = [scored(people, made.groups, [measure])[measure] for made in (plain, ours)]
        assert told[1] >= told[0]
        more += told[1] > told[0]
    assert more >= 2


def test_the_norm_of_the_sum_is_the_default_and_others_are_refused(people):
    given = {**ROLES, "algorithm": "sequential", "measure": "pmi", "seed": 3}
    plain = shoal.anonymize(people, 8, **given)
    named = shoal.anonymize(people, 8, **given, measure_options={"norm": "l1"})
    assert plain.groups.tolist() == named.groups.tolist()
    with pytest.raises(OptionError, match="norm of 'pmi' must be one of l1, l2, max"):
        shoal.anonymize(people, 8, **given, measure_options={"norm": "l3"})


def test_a_norm_works_with_rows_left_out_and_in_blocks(people):
    given = {**ROLES, "algorithm": "sequential", "measure": "pmi", "seed": 3}
    made = shoal.anonymize(
        people, 8, **given, measure_options={"norm": "l2"}, max_suppression=0.05, block_rows=100
    )
    assert made.verification.holds
    assert made.n_suppressed <= 12


@pytest.mark.parametrize("measure", ["pmi", "wmi", "mi"])
@pytest.mark.parametrize("effort", ["fast", "balanced"])
@pytest.mark.parametrize("missing", ["category", "suppress"])
def test_one_sensitive_value_is_a_target_like_any_other(measure, effort, missing):
    table = pl.DataFrame(
        {
            "age": [30, 31, 32, 60, None, 62, 63, 64],
            "sex": ["F", "M", "F", "M", "F", None, "F", "M"],
            "ill": ["flu"] * 8,
        }
    )
    release = shoal.anonymize(
        table, k=2, quasi_identifiers=["age", "sex"], sensitive="ill", measure=measure,
        missing=missing, algorithm_options={"effort": effort},
    )  # fmt: skip
    assert release.verification.holds
    if measure == "pmi":  # who knows the only value beforehand learns nothing about it
        assert release.scores["pmi"] == pytest.approx(0.0)
