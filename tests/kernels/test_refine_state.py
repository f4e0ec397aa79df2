"""What a search knows about its groups stays true through every move, also one that is undone."""

import numpy as np
import polars as pl
import pytest

from shoal.measure.base import CostModel
from shoal.measure.scores import create_measure
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.t_closeness import TCloseness
from shoal.runtime.progress import no_progress
from shoal.search.enforce import GroupState, enforce
from shoal.search.refine import EFFORTS, Search
from shoal.search.scan import Run, Scanner
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema

K = 5
N_ROWS = 400
KINDS = {"age": Kind.NUMERIC, "city": Kind.FLAT, "likes": Kind.SET}
MEASURES = ("ncp", "mi", "pmi")
MODEL = AlphaK(0.8)
MODELS = pytest.mark.parametrize("privacy", [(), (MODEL,)], ids=["k only", "alpha-k"])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, N_ROWS),
            "city": rng.choice(["Rome", "Oslo", "Bonn", "Nice"], N_ROWS),
            "likes": rng.choice(["tea", "milk", "mate", "rum", "gin"], N_ROWS),
            "sick": rng.choice(["flu", "none", "cough"], N_ROWS),
        }
    )
    rare = pl.Series(rng.random(N_ROWS) < 0.05)
    frame = frame.with_columns(age=pl.when(rare).then(None).otherwise(pl.col("age")))
    columns = [
        Column(name=name, role=Role.QUASI_IDENTIFIER, kind=kind) for name, kind in KINDS.items()
    ]
    return encode(frame, Schema((*columns, Column(name="sick", role=Role.SENSITIVE))))


def sorted_groups(table, size):
    """Groups of similar rows: some rows fit elsewhere, but no group can be given up."""
    order = np.lexsort([attribute.codes for attribute in table.attributes])
    labels = np.empty(N_ROWS, np.int64)
    labels[order] = np.minimum(np.arange(N_ROWS) // size, N_ROWS // size - 1)
    return Partition.from_labels(labels)


def search_of(table, measure, size, privacy, seed=1, price=0):
    model = CostModel.bind(create_measure(measure), table, table.sensitive[0])
    scanner = Scanner.build(table, model).priced(price)
    start = enforce(table, sorted_groups(table, size), scanner, K, privacy, no_progress)
    run = Run(K, model, scanner, np.random.default_rng(seed), privacy)
    return Search(table, start, run, EFFORTS["best"])


def check(search):
    """Compare everything with what the labels alone say."""
    groups, scanner = search.groups, search.scanner
    after = Partition.from_labels(groups.label)
    state = GroupState(scanner, after)
    pillars = np.flatnonzero(groups.pillar)
    spanned = GroupState(
        scanner.take(pillars), Partition(after.labels[pillars], after.n_groups)
    ).groups
    used = np.flatnonzero(groups.size > 0)
    renamed = np.array([after.labels[groups.head[g]] for g in used])
    assert np.array_equal(groups.costs[used], state.costs[renamed])
    assert groups.costs.sum() == state.costs.sum()
    assert np.array_equal(groups.size[used], after.sizes[renamed])
    assert np.array_equal(groups.hists[:, used], state.hists[:, renamed])
    for kept, anew, by_pillars in zip(groups.columns, state.groups, spanned, strict=True):
        assert np.array_equal(kept[:, used], anew[:, renamed])
        assert np.array_equal(by_pillars, anew)
    assert not search.undo.kept.any()
    for g in used:
        assert chain(groups, g) == np.flatnonzero(groups.label == g).tolist()


def chain(groups, g):
    members, p = [], groups.head[g]
    while p >= 0:
        members.append(int(p))
        p = groups.after[p]
    return sorted(members)


@MODELS
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("size", [K, 13, 100])
@pytest.mark.parametrize("share", [0.0, 1.0], ids=["cold", "hot"])
def test_closures_costs_and_pillars_equal_those_computed_anew_after_every_move(
    table, measure, size, privacy, share
):
    search = search_of(table, measure, size, privacy)
    search.scratch.annealing.temperature[0] = share * search._first_temperature()
    check(search)
    for sweep in range(3):
        for move in ("relocate", "slices", "dissolve"):
            search.move(move, sweep)
            check(search)
        if search.scanner.n_classes > 1:
            continue
        for apart in (False, True):
            search._rebuild(search._seeds(search._dearest_first(0)), sweep, apart=apart)
            check(search)


@MODELS
@pytest.mark.parametrize("measure", MEASURES)
def test_moves_weigh_the_price_of_a_group_like_what_its_rows_cost(table, measure, privacy):
    plain = search_of(table, measure, K, privacy)
    price = int(plain.groups.costs.sum()) // (4 * np.count_nonzero(plain.groups.size))
    search = search_of(table, measure, K, privacy, price=price)
    check(search)
    costs = [search._cost()]
    for sweep in range(2):
        for move in ("relocate", "slices", "dissolve", "rebuild")[
            : 4 if plain.scanner.n_classes == 1 else 3
        ]:
            search.move(move, sweep)
            check(search)
            costs.append(search._cost())
    assert (np.diff(costs) <= 0).all(), "a move costs more than it saves, prices counted"
    for sweep in range(2):
        plain._sweep(sweep)
    groups = [np.count_nonzero(each.groups.size) for each in (search, plain)]
    assert groups[0] < groups[1], "dear groups are not fewer"
    assert groups[0] > 1


@pytest.mark.parametrize("measure", MEASURES)
def test_hot_moves_raise_the_cost_and_keep_k_people(table, measure):
    search = search_of(table, measure, K, ())
    for sweep in range(6):
        search._sweep(sweep)
    costs = [search._cost()]
    for sweep in range(4):
        search.sweep_at(1.0, sweep)
        costs.append(search._cost())
        assert search.groups.size[search.groups.size > 0].min() >= K
    assert (np.diff(costs) > 0).any()
    assert search.scratch.annealing.temperature[0] == 0.0, "what follows is cold again"


@MODELS
@pytest.mark.parametrize("measure", MEASURES)
def test_a_dissolution_that_does_not_pay_leaves_everything_as_it_was(table, measure, privacy):
    search = search_of(table, measure, 40, privacy)
    search.move("relocate", 0)
    search.move("dissolve", 0)  # what pays is done
    groups, undo = search.groups, search.undo
    undo.costs[:] = -1
    label, pillar, costs = groups.label.copy(), groups.pillar.copy(), groups.costs.copy()
    search.move("dissolve", 0)
    assert (undo.costs >= 0).any(), "no row was moved, so nothing was undone"
    assert np.array_equal(groups.label, label)
    assert np.array_equal(groups.pillar, pillar)
    assert np.array_equal(groups.costs, costs)
    check(search)


@MODELS
@pytest.mark.parametrize("measure", MEASURES)
def test_slices_that_do_not_pay_leave_groups_costs_and_closures_as_they_were(
    table, measure, privacy
):
    search = search_of(table, measure, 40, privacy)
    groups, costs = search.groups, [search._cost()]
    while len(costs) < 3 or costs[-1] < costs[-2]:
        label, each = groups.label.copy(), groups.costs.copy()
        search.move("slices", 0)
        costs.append(search._cost())
        check(search)
    assert costs[-1] < costs[0], "no slice was moved"
    assert (groups.people > K).any(), "no slice was left to be tried"
    assert np.array_equal(groups.label, label)
    assert np.array_equal(groups.costs, each)


# a tight model, so that a group which took one row of the rest cannot take the next
@pytest.mark.parametrize(("size", "model"), [(5, AlphaK(0.4)), (5, TCloseness(0.2))])
def test_a_group_taken_apart_in_vain_is_put_together_again(table, size, model):
    search = search_of(table, "ncp", size, (model,))
    groups, undo = search.groups, search.undo
    undone = 0
    for seed in range(N_ROWS):
        undo.costs[:] = -1
        label, costs = groups.label.copy(), groups.costs.copy()
        search._rebuild(np.array([seed]), 0, apart=True)
        if (undo.costs < 0).all():
            continue  # the rest of its group was never moved
        check(search)
        if np.array_equal(groups.costs, costs):
            undone += 1
            assert np.array_equal(groups.label, label)
        else:
            assert groups.costs.sum() < costs.sum()
    assert undone > 0


def test_few_rows_of_a_large_group_are_pillars(table):
    search = search_of(table, "ncp", 100, ())
    search.move("relocate", 0)
    groups = search.groups
    largest = int(np.argmax(groups.size))
    assert groups.size[largest] > 50
    assert groups.pillar[groups.label == largest].sum() < groups.size[largest] / 3
