"""The algorithms as published, by which claims about time are judged, form the same groups."""

import numpy as np
import pytest
from benchmarks.papers import eight, li, li_plain, lin_plain
from benchmarks.papers.plain_times import prepared

import shoal
from shoal.algorithm.base import create_algorithm
from shoal.datasets import adult_hierarchies, load_adult


@pytest.fixture(scope="module")
def adult():
    return load_adult().sample(fraction=1.0, shuffle=True, seed=1).head(240)


def plain_groups(name, table, run):
    if name == "oka":
        return lin_plain.plain_oka(table, run)
    found, turns = lin_plain.plain_chiu_tsai(table, run)
    assert 1 <= turns <= 10
    return found


@pytest.mark.parametrize("k", [2, 7])
@pytest.mark.parametrize("name", ["oka", "chiu-tsai"])
def test_comparing_with_everything_forms_the_groups_of_shoal(adult, name, k):
    def run_of():
        return prepared(adult, eight.roles(adult, "trees"), "il", k, 3)

    ours = create_algorithm(name, {}).partition(*run_of())
    assert plain_groups(name, *run_of()).labels.tolist() == ours.labels.tolist()


def kaca_by_hand(codes, trees, k, stubs, seed):
    """Algorithm 1 with the tables of the trees, all classes at once; returns tuples and sizes."""
    rng = np.random.default_rng(seed)
    tuples, sizes = np.unique(np.stack(codes), axis=1, return_counts=True)
    while len(small := np.flatnonzero((sizes > 0) & (sizes < k))):
        one = int(rng.choice(small))
        taken = sizes.copy()
        if stubs:
            taken[sizes + sizes[one] >= 2 * k] = k - sizes[one]
        far, joins = np.zeros(len(sizes)), []
        for tree, row in zip(trees, tuples, strict=True):
            cost = li_plain._cost(tree, 0.0)
            join = tree.lca_many(np.full(len(row), row[one]), row)
            far += sizes[one] * (cost[join] - cost[row[one]])
            far += taken * (cost[join] - cost[row])
            joins.append(join)
        far[(sizes == 0) | (np.arange(len(sizes)) == one)] = np.inf
        two = int(np.argmin(far))
        tuples[:, one] = [join[two] for join in joins]
        sizes[one] += taken[two]
        sizes[two] -= taken[two]
    return tuples, sizes


@pytest.mark.parametrize("stubs", [True, False])
def test_plain_kaca_loses_what_the_algorithm_by_hand_loses(adult, stubs):
    frame = adult.select(li.COLUMNS[:4])
    known = adult_hierarchies(li.COLUMNS)
    trees = [known[name] for name in frame.columns]
    codes = [
        tree.leaf_codes(frame.get_column(name).cast(str).to_list())
        for name, tree in zip(frame.columns, trees, strict=True)
    ]
    tuples, sizes = kaca_by_hand(codes, trees, 5, stubs, 2)
    lost = sum(
        float((sizes * li_plain._cost(tree, 0.0)[row]).sum())
        for tree, row in zip(trees, tuples, strict=True)
    )
    found = li_plain.kaca(frame, known, 5, stubs=stubs, seed=2)
    assert found["ratio"] == pytest.approx(lost / (frame.height * frame.width))
    assert found["smallest"] == sizes[sizes > 0].min() >= 5


def test_incognito_is_timed_on_what_it_publishes(adult):
    known = adult_hierarchies(li.COLUMNS)
    frame = adult.select(li.COLUMNS[:3])
    told = {"quasi_identifiers": frame.columns, "hierarchies": {n: known[n] for n in frame.columns}}
    release = shoal.anonymize(frame, 5, **told, algorithm="incognito", measure="whd", seed=0)
    found = li_plain.plain("incognito", frame, known, 5)
    assert found["ratio"] == pytest.approx(release.scores["whd"] / (frame.height * frame.width))
