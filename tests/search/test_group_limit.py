"""An average risk limits how many groups there are; the search chooses which of them stay small."""

import itertools

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.datasets import ADULT_QUASI_IDENTIFIERS, load_adult

QIS = list(ADULT_QUASI_IDENTIFIERS)


def average(limit):
    return shoal.PopulationRisk(limit, kind="average")


def loss_of(frame, groups):
    """The mean share of its range (numbers) or 1 (labels that differ) that a cell stands for."""
    total = 0.0
    for name in frame.columns:
        cells = frame.get_column(name).to_list()
        if isinstance(cells[0], str):
            total += sum(len(g) for g in groups if len({cells[i] for i in g}) > 1)
            continue
        width = max(cells) - min(cells)
        for group in groups:
            inside = [cells[i] for i in group]
            total += len(group) * (max(inside) - min(inside)) / width
    return total / (frame.height * frame.width)


def ways(rows, least, most):
    """Every way to put rows into at most so many groups of at least so many rows."""
    if not rows:
        yield []
        return
    if not most:
        return
    first, rest = rows[0], rows[1:]
    for size in range(least - 1, len(rest) + 1):
        for others in itertools.combinations(rest, size):
            left = [row for row in rest if row not in others]
            for further in ways(left, least, most - 1):
                yield [[first, *others], *further]


def groups_of(release):
    return [np.flatnonzero(release.groups == g) for g in range(release.groups.max() + 1)]


def test_groups_found_are_hardly_dearer_than_the_best_of_all_that_there_are():
    ratios = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frame = pl.DataFrame(
            {
                "age": rng.choice([20, 21, 22, 30, 31, 47, 60], 9),
                "city": rng.choice(["Rome", "Oslo"], 9),
            }
        )
        if frame["age"].n_unique() < 2:
            continue
        limit = 3 / 9
        best = min(loss_of(frame, groups) for groups in ways(list(range(9)), 2, 3))
        release = shoal.anonymize(
            frame, 2, quasi_identifiers=["age", "city"], privacy=average(limit), seed=seed
        )
        found = groups_of(release)
        assert min(map(len, found)) >= 2
        assert len(found) <= 3
        assert release.scores["ncp"] == pytest.approx(loss_of(frame, found))
        assert release.scores["ncp"] >= best - 1e-9
        ratios.append((release.scores["ncp"] + 0.01) / (best + 0.01))
    assert np.mean(ratios) < 1.05


@pytest.fixture(scope="module")
def adult():
    return load_adult(part="train").head(2_000).select(QIS)


def test_groups_of_three_with_the_average_of_eleven_lose_a_tenth_less_than_groups_of_eleven(adult):
    limited = shoal.anonymize(adult, 3, quasi_identifiers=QIS, privacy=average(1 / 11), seed=0)
    plain = shoal.anonymize(adult, 11, quasi_identifiers=QIS, seed=0)
    assert limited.verification
    assert limited.verification.n_groups <= 2_000 / 11
    assert limited.scores["ncp"] < 0.9 * plain.scores["ncp"]


@pytest.mark.parametrize("options", [{"effort": "fast"}, {}, {"effort": "best"}], ids=str)
def test_every_effort_keeps_the_limit_in_blocks_and_repeats_with_its_seed(adult, options):
    some = adult.head(700)
    made = [
        shoal.anonymize(
            some,
            3,
            quasi_identifiers=QIS,
            privacy=average(0.08),
            algorithm_options=options,
            block_rows=150,
            threads=threads,
            seed=3,
        )
        for threads in (1, 2)
    ]
    sizes = np.bincount(made[0].groups)
    assert sizes.min() >= 3
    assert 1 / np.mean(sizes) <= 0.08 + 1e-9
    assert np.array_equal(made[0].groups, made[1].groups)


def test_the_average_over_the_rows_of_people_with_several_is_kept_beside_other_promises():
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "who": np.sort(rng.integers(0, 90, 260)),
            "age": rng.integers(20, 60, 260),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], 260),
            "sick": rng.choice(["flu", "none", "cough"], 260),
        }
    )
    release = shoal.anonymize(
        frame,
        3,
        quasi_identifiers=["age", "city"],
        sensitive="sick",
        person="who",
        privacy=[average(0.1), shoal.LDiversity(2, kind="distinct")],
        seed=1,
    )
    risks = []
    for group in groups_of(release):
        people = set(frame["who"].gather(group).to_list())
        assert len(people) >= 3
        assert len(set(frame["sick"].gather(group).to_list())) >= 2
        risks += [1 / len(people)] * len(group)
    assert np.mean(risks) <= 0.1 + 1e-9


@pytest.mark.parametrize("asked", [{}, {"block_rows": 150, "max_suppression": 0.1}], ids=str)
def test_a_share_of_a_population_counts_people_as_verification_does(asked):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "who": rng.integers(0, 150, 450),
            "age": rng.integers(20, 60, 450),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], 450),
        }
    )
    release = shoal.anonymize(
        frame,
        2,
        quasi_identifiers=["age", "city"],
        person="who",
        privacy=shoal.PopulationRisk(0.02, population_size=1_500),
        seed=1,
        **asked,
    )
    kept = frame.with_columns(group=pl.Series(release.groups)).filter(pl.col("group") >= 0)
    groups = kept.group_by("group").agg(pl.col("who").n_unique(), pl.len())
    # nobody can tell from the table whose rows in several groups are one person's
    share = min(groups["who"].sum() / 1_500, 1)
    assert share * (groups["len"] / groups["who"]).sum() / kept.height <= 0.02 + 1e-9


def test_an_algorithm_that_is_not_refined_keeps_its_way_and_groups_are_merged(adult):
    some = adult.head(300)
    release = shoal.anonymize(
        some, 3, quasi_identifiers=QIS, privacy=average(0.1), algorithm="mondrian", seed=1
    )
    refined = shoal.anonymize(
        some,
        3,
        quasi_identifiers=QIS,
        privacy=average(0.1),
        algorithm="mondrian",
        refine="balanced",
        seed=1,
    )
    assert release.verification
    assert refined.verification
    assert refined.scores["ncp"] < release.scores["ncp"]


def test_groups_that_are_refined_stay_within_the_limit_and_lose_no_more(adult):
    some = adult.head(600)
    asked = {"quasi_identifiers": QIS, "privacy": average(0.1)}
    made = shoal.anonymize(some, 3, seed=1, **asked)
    again = shoal.refine(some, made.groups, 3, seed=2, **asked)
    sizes = np.bincount(again.groups)
    assert sizes.min() >= 3
    assert 1 / np.mean(sizes) <= 0.1 + 1e-9
    assert again.scores["ncp"] <= made.scores["ncp"]


def test_the_rows_that_are_kept_keep_the_limit_where_others_are_left_out(adult):
    some = adult.head(600)
    asked = {"quasi_identifiers": QIS, "privacy": average(0.1), "seed": 1}
    everybody = shoal.anonymize(some, 3, **asked)
    release = shoal.anonymize(some, 3, max_suppression=0.05, suppress_for="kept", **asked)
    sizes = np.bincount(release.groups[release.groups >= 0])
    assert 0 < release.n_suppressed <= 30
    assert sizes.min() >= 3
    assert 1 / np.mean(sizes) <= 0.1 + 1e-9
    assert release.kept_loss < everybody.kept_loss
