"""Who is in which group is counted as a slow and obvious count has it, through every move."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.effort import share

from shoal.kernels.jit import kernel
from shoal.kernels.people import PERSON, Crowd, enter, leave, rows_inside
from shoal.measure.base import CostModel
from shoal.measure.scores import create_measure
from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness
from shoal.runtime.progress import no_progress
from shoal.search.enforce import count_people, enforce, violations
from shoal.search.refine import EFFORTS, Search
from shoal.search.scan import Run, Scanner
from shoal.table.encode import encode
from shoal.table.partition import Partition
from shoal.table.schema import Column, Kind, Role, Schema

K = 4
N_ROWS = 360


@kernel
def step(crowd, i, g, joins):
    return enter(crowd, PERSON, i, g) if joins else leave(crowd, PERSON, i, g)


@kernel
def look(crowd, i, g):
    return rows_inside(crowd, PERSON, i, g)


steps = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 4)), max_size=80)


@settings(max_examples=share(60), deadline=None)
@given(st.lists(st.integers(0, 3), min_size=12, max_size=12), steps)
def test_a_row_is_the_first_or_last_of_its_person_exactly_when_it_is(people, moves):
    room = 32  # rows may be in one group each, so the table is never full
    crowd = Crowd(
        np.array([people], np.int64),
        np.full(room, -1, np.int64),
        np.zeros(room, np.int64),
        np.array([5]),
    )
    where: dict[int, int] = {}
    inside: Counter = Counter()
    for i, g in moves:
        if i in where:
            pair = people[i], where.pop(i)
            inside[pair] -= 1
            assert step(crowd, i, pair[1], False) == (inside[pair] == 0)
        else:
            pair = people[i], g
            assert step(crowd, i, g, True) == (inside[pair] == 0)
            where[i] = g
            inside[pair] += 1
        for each, person in enumerate(people):
            for group in range(5):
                assert look(crowd, each, group) == inside[person, group]
    assert np.count_nonzero(crowd.keys >= 0) == sum(count > 0 for count in inside.values())


@pytest.fixture(scope="module", params=["few rows each", "one with half of them"])
def table(request):
    rng = np.random.default_rng(7)
    who = rng.integers(0, 110, N_ROWS)
    if request.param != "few rows each":
        who[rng.random(N_ROWS) < 0.5] = 0
    home = rng.choice(["Rome", "Oslo", "Bonn", "Nice"], 110)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, 110)[who] + rng.integers(0, 4, N_ROWS),
            "city": home[who],
            "who": who,
            "sick": rng.choice(["flu", "none", "cough"], N_ROWS),
        }
    )
    columns = (
        Column(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
        Column(name="city", role=Role.QUASI_IDENTIFIER, kind=Kind.FLAT),
        Column(name="who", role=Role.PERSON),
        Column(name="sick", role=Role.SENSITIVE),
    )
    return encode(frame, Schema(columns))


def brute(table, labels, g):
    """People of a group, and how many of them have each value."""
    rows = np.flatnonzero(labels == g).tolist()
    people = table.person.tolist()
    codes = table.sensitive[0].codes.tolist()
    values = Counter(value for _, value in {(people[row], codes[row]) for row in rows})
    return len({people[row] for row in rows}), values


def check(search, table, *, holding):
    groups = search.groups
    for g in np.flatnonzero(groups.size > 0):
        people, values = brute(table, groups.label, g)
        assert groups.people[g] == people
        assert people >= K or not holding
        if len(search.rules.private):
            for value in range(table.sensitive[0].size):
                assert groups.phist[g, value] == values[value]
    assert not groups.people[groups.size == 0].any()
    if holding:
        after = Partition.from_labels(groups.label)
        assert not violations(table, after, K, search.models).any()


@pytest.mark.parametrize(
    "privacy",
    [(), (AlphaK(0.8),), (LDiversity(2, kind="distinct"), TCloseness(0.5))],
    ids=["k only", "alpha", "two"],
)
@pytest.mark.parametrize("measure", ["ncp", "mi", "pmi"])
def test_every_move_keeps_k_people_and_the_counts_of_all_groups(table, measure, privacy):
    model = CostModel.bind(create_measure(measure), table, table.sensitive[0])
    scanner = Scanner.build(table, model)
    order = np.lexsort([attribute.codes for attribute in table.attributes])
    labels = np.empty(N_ROWS, np.int64)
    labels[order] = np.arange(N_ROWS) // 9
    start = enforce(table, Partition.from_labels(labels), scanner, K, privacy, no_progress)
    run = Run(K, model, scanner, np.random.default_rng(1), privacy)
    search = Search(table, start, run, EFFORTS["best"])
    search.models = privacy
    check(search, table, holding=True)
    before = search._cost()
    for sweep in range(2):
        for move in ("relocate", "slices", "dissolve", "rebuild"):
            if move == "rebuild" and scanner.n_classes > 1:
                continue
            search.move(move, sweep)
            check(search, table, holding=True)
    assert search._cost() <= before


def test_a_search_from_groups_of_too_few_people_counts_right_and_makes_no_new_ones(table):
    model = CostModel.bind(create_measure("ncp"), table)
    scanner = Scanner.build(table, model)
    labels = np.empty(N_ROWS, np.int64)
    labels[np.argsort(table.person, kind="stable")] = np.arange(N_ROWS) // 5
    start = Partition.from_labels(labels)
    few = int((count_people(start.labels, start.n_groups, table.person) < K).sum())
    assert few
    run = Run(K, model, scanner, np.random.default_rng(1))
    search = Search(table, start, run, EFFORTS["best"])
    for move in ("relocate", "slices", "dissolve", "rebuild"):
        search.move(move, 0)
        check(search, table, holding=False)
        used = search.groups.size > 0
        assert int((search.groups.people[used] < K).sum()) <= few


def test_people_of_groups_are_counted_as_by_hand(table):
    labels = np.arange(N_ROWS) % 31
    counted = count_people(labels, 31, table.person)
    assert counted.tolist() == [brute(table, labels, g)[0] for g in range(31)]


def test_a_part_of_a_table_is_judged_against_the_whole_table():
    """A region that is refined by itself must not be compared with itself."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"age": np.arange(80), "sick": np.where(np.arange(80) < 40, "flu", "cold")}
    ).with_columns(other=pl.Series(rng.integers(0, 2, 80)))
    columns = (
        Column(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMERIC),
        Column(name="sick", role=Role.SENSITIVE),
    )
    table = encode(frame, Schema(columns))
    young = np.arange(40)
    one = Partition(np.zeros(40, np.int32), 1)
    model = (TCloseness(0.2),)
    assert not violations(table.take(young), one, 2, model).any()
    assert violations(table.part(young), one, 2, model).all()
    assert violations(table.part(young).part(np.arange(20)), one_of(20), 2, model).all()


def one_of(n_rows):
    return Partition(np.zeros(n_rows, np.int32), 1)
