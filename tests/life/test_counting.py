"""The counts that decide about safety, beside an oracle of sets of people: no arrays in it."""

import itertools
import random

import numpy as np
import pytest

from shoal.life.guarantee import Stories, fewest_people, fewest_values


def common(stories):
    """The fewest people who are in all groups of somebody; None where they are absent."""
    sizes = []
    for mine in stories:
        shared = set(range(len(stories)))
        for release, group in enumerate(mine):
            if group is not None:
                shared &= {who for who, other in enumerate(stories) if other[release] == group}
        if any(group is not None for group in mine):
            sizes.append(len(shared))
    return min(sizes, default=len(stories))


def possible(stories, values):
    """The fewest values that did not change among the people with the story of somebody."""
    found = []
    for mine in stories:
        if all(group is None for group in mine):
            continue
        twins = [who for who, other in enumerate(stories) if other == mine]
        had = [{value for value in values[who] if value is not None} for who in twins]
        found.append(len({next(iter(each)) for each in had if len(each) == 1}))
    return min(found, default=0)


def number(table):
    return np.array([[-1 if cell is None else cell for cell in row] for row in table], np.int64)


def random_stories(chance, n_people, n_releases):
    return [
        tuple(chance.choice([None, 0, 0, 1]) for _ in range(n_releases)) for _ in range(n_people)
    ]


def test_two_people_who_are_never_together_are_alone():
    assert fewest_people(np.array([[0, 0], [1, 1]])) == 1
    assert fewest_people(np.array([[0, 1], [0, 1]])) == 2


def test_every_small_table_of_stories_is_counted_as_sets_are():
    for n_people, n_releases in ((1, 1), (2, 2), (3, 2), (2, 3)):
        for told in itertools.product(
            itertools.product([None, 0, 1], repeat=n_releases), repeat=n_people
        ):
            assert fewest_people(number(told)) == common(told), told


@pytest.mark.parametrize("seed", range(20))
def test_however_an_array_lies_in_memory_people_are_counted_as_sets_are(seed):
    chance = random.Random(seed)
    for n_people, n_releases in itertools.product(range(1, 7), range(1, 5)):
        told = random_stories(chance, n_people, n_releases)
        groups = number(told)
        for laid in (groups, np.asfortranarray(groups), np.repeat(groups, 2, axis=0)[::2]):
            assert fewest_people(laid) == common(told), told


@pytest.mark.parametrize("seed", range(20))
def test_however_an_array_lies_in_memory_values_are_counted_as_sets_are(seed):
    chance = random.Random(seed)
    for n_people, n_releases in itertools.product(range(1, 7), range(1, 5)):
        told = random_stories(chance, n_people, n_releases)
        if all(group is None for mine in told for group in mine):
            continue
        values = [
            tuple(None if group is None else chance.choice([0, 0, 1, 2]) for group in mine)
            for mine in told
        ]
        row = np.full(n_people, -1, np.int64)
        for lay in (np.ascontiguousarray, np.asfortranarray):
            stories = Stories(lay(number(told)), {"ill": lay(number(values))}, row)
            assert fewest_values(stories, "ill") == possible(told, values), told
            same = stories.atoms()
            for one, two in itertools.combinations(range(n_people), 2):
                assert (same[one] == same[two]) == (told[one] == told[two])
