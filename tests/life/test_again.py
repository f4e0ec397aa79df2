"""Releases beside releases: what is left to an attacker who has all of them, by brute force.

The attacker of these tests knows everything but the sensitive values: who is in which group of
which release. People whose values did not change keep one value over all releases.
"""

import itertools
import random
from datetime import date, timedelta

import polars as pl
import pytest
from tests.life.conftest import register

import shoal
from shoal.archive.kept import keep
from shoal.errors import DataError, OptionError, PromiseError
from shoal.io.keys import make_secret
from shoal.life.guarantee import Stories

QI = ["age", "sex"]


def table_of(people):
    return pl.DataFrame(
        {
            "id": list(people),
            "age": [each["age"] for each in people.values()],
            "sex": [each["sex"] for each in people.values()],
            "ill": [each["ill"] for each in people.values()],
        }
    )


def months(chance, n_people, n_months, change):
    """A small register over time: people come, leave and change."""
    fresh = itertools.count()

    def somebody():
        return {
            "age": chance.randint(20, 60),
            "sex": chance.choice("FM"),
            "ill": chance.choice("abc"),
        }

    people = {f"p{next(fresh)}": somebody() for _ in range(n_people)}
    for month in range(n_months):
        if month:
            for name in chance.sample(sorted(people), max(1, len(people) // 8)):
                del people[name]
            for name in chance.sample(sorted(people), len(people) // 5):
                people[name] = {**people[name], "age": chance.randint(20, 60)}
                if chance.random() < change:
                    people[name]["ill"] = chance.choice("abc")
            people |= {f"p{next(fresh)}": somebody() for _ in range(n_people // 5)}
        yield {name: dict(each) for name, each in people.items()}


def groups_of(release, people):
    """Who is in which published group, and what the group shows: [(people, values)]."""
    found = {}
    cells = release.frame.select(QI).rows()
    for owner, cell, ill in zip(
        release.ids.to_list(), cells, release.frame.get_column("ill").to_list(), strict=True
    ):
        assert people[owner]["ill"] == ill
        found.setdefault(cell, []).append((owner, ill))
    return [
        ([owner for owner, _ in rows], sorted(ill for _, ill in rows)) for rows in found.values()
    ]


def made(people_by_month, k, models, reserve, algorithm="k-member"):
    releases, published = [], []
    for people in people_by_month:
        try:
            release = shoal.anonymize(
                table_of(people),
                k,
                quasi_identifiers=QI,
                sensitive=["ill"],
                person="id",
                privacy=models,
                previous=releases,
                reserve=reserve,
                algorithm=algorithm,
                seed=1,
                threads=1,
            )
        except PromiseError:
            continue
        releases.append(release)
        published.append((groups_of(release, people), people))
    return releases, published


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("seed", range(8))
def test_the_groups_of_a_person_have_k_people_in_common(seed):
    chance = random.Random(seed)
    k = chance.choice([2, 3])
    releases, published = made(months(chance, 40, 4, 0.3), k, (), chance.choice([1.0, 2.0]))
    assert len(releases) > 1
    everybody = {owner for groups, _ in published for owners, _ in groups for owner in owners}
    for person in everybody:
        mine = [set(owners) for groups, _ in published for owners, _ in groups if person in owners]
        assert len(set.intersection(*mine)) >= k
    for release in releases:
        assert shoal.verify(release.frame, k, quasi_identifiers=QI)
    assert releases[-1].verification.checks[-1].measured >= k


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("change", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(8))
def test_the_groups_of_a_person_have_l_values_in_common(seed, change):
    chance = random.Random(seed)
    models = (shoal.LDiversity(2, kind="distinct"),)
    releases, published = made(months(chance, 40, 4, change), 2, models, 3.0)
    assert len(releases) > 1
    everybody = {owner for groups, _ in published for owners, _ in groups for owner in owners}
    for person in everybody:
        shown = [
            set(ills) for groups, _ in published for owners, ills in groups if person in owners
        ]
        assert len(set.intersection(*shown)) >= 2


def possible_values(published, values):
    """What the attacker can conclude if values never change: all that fit every release.

    A world gives each person one value; it is possible if every group shows what its people have.
    """
    groups = [group for each, _ in published for group in each]
    names = sorted({owner for owners, _ in groups for owner in owners})
    inside = {name: [g for g, (who, _) in enumerate(groups) if name in who] for name in names}
    left = [{value: ills.count(value) for value in values} for _, ills in groups]

    def some_world(order, first):
        """Whether there is a world in which the first of these people has this value."""
        if not order:
            return True
        name, *others = order
        for value in first or values:
            if all(left[g][value] for g in inside[name]):
                for g in inside[name]:
                    left[g][value] -= 1
                found = some_world(others, None)
                for g in inside[name]:
                    left[g][value] += 1
                if found:
                    return True
        return False

    def near(name):
        """Everybody, those first who share a group with this one, so that dead ends come early."""
        mine = set(inside[name])
        return sorted(names, key=lambda n: (n != name, not mine & set(inside[n]), inside[n]))

    return {name: {value for value in values if some_world(near(name), [value])} for name in names}


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("seed", range(6))
def test_whoever_has_all_releases_and_knows_who_is_where_is_left_with_l_values(seed):
    chance = random.Random(seed)
    models = (shoal.LDiversity(2, kind="distinct"),)
    releases, published = made(months(chance, 10, 3, 0.0), 2, models, 2.0)
    assert len(releases) > 1
    found = possible_values(published, "abc")
    assert min(map(len, found.values())) >= 2
    assert all(
        people[name]["ill"] in found[name]
        for _, people in published
        for name in people
        if name in found
    )


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
def test_without_previous_the_same_attacker_finds_values():
    """The brute force of the test above can fail: it does where releases ignore each other."""
    leaks = 0
    for seed in range(6):
        chance = random.Random(seed)
        published = []
        for people in months(chance, 10, 3, 0.0):
            release = shoal.anonymize(
                table_of(people),
                2,
                quasi_identifiers=QI,
                sensitive=["ill"],
                person="id",
                privacy=(shoal.LDiversity(2, kind="distinct"),),
                algorithm="k-member",
                seed=1,
                threads=1,
            )
            published.append((groups_of(release, people), people))
        leaks += sum(len(values) < 2 for values in possible_values(published, "abc").values())
    assert leaks > 0


def small(n_people=12, seed=0):
    chance = random.Random(seed)
    return next(months(chance, n_people, 1, 0))


def anonymize(people, previous=(), **options):
    options = {"k": 3, "person": "id", "algorithm": "k-member", "seed": 1, **options}
    return shoal.anonymize(
        table_of(people) if isinstance(people, dict) else people,
        quasi_identifiers=QI,
        sensitive=["ill"],
        previous=previous,
        **options,
    )


def test_nobody_waits_if_nothing_changes():
    people = small()
    first = anonymize(people)
    second = anonymize(people, [first])
    assert second.n_suppressed == 0
    third = anonymize(people, [first, second])
    assert third.n_suppressed == 0
    names = [check.name for check in third.verification.checks]
    assert "k-anonymity over 3 releases" in names


def test_people_wait_where_too_few_of_their_group_are_left():
    people = small()
    first = anonymize(people)
    group = first.groups[0]
    leaving = [n for n, g in zip(people, first.groups, strict=True) if g == group][1:]
    fewer = {name: each for name, each in people.items() if name not in leaving}
    with pytest.warns(shoal.ShoalWarning, match="1 of .* rows wait"):
        second = anonymize(fewer, [first])
    assert second.n_suppressed == 1
    assert second.groups[list(fewer).index(next(iter(people)))] == -1


def test_releases_are_linked_through_their_files_alone(tmp_path):
    # hashes are written in letters and digits: a name with a blank is in them by no chance
    people = {f"person {name}": row for name, row in small().items()}
    anonymize(people).save(tmp_path / "one.shoal")
    second = anonymize(people, tmp_path / "one.shoal")
    second.save(tmp_path / "two.shoal")
    both = [tmp_path / "one.shoal", tmp_path / "two.shoal"]
    assert anonymize(people, both).n_suppressed == 0
    assert "person p0" in people
    assert b"person p" not in (tmp_path / "two.shoal.people").read_bytes()
    with pytest.raises(OptionError, match=r"'one\.shoal' lies beside what is given"):
        anonymize(people, [tmp_path / "two.shoal"])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for file in tmp_path.glob("one.*"):
        file.rename(elsewhere / file.name)
    with pytest.raises(OptionError, match="1 earlier release"):
        anonymize(people, [tmp_path / "two.shoal"])
    (tmp_path / "two.shoal.people").unlink()
    with pytest.raises(OptionError, match="does not say who its people are"):
        anonymize(people, [elsewhere / "one.shoal", tmp_path / "two.shoal"])


def test_the_spelling_of_an_id_does_not_hide_a_person():
    people = small()
    first = anonymize(people)
    spelled = table_of(people).with_columns(id=pl.lit(" ") + pl.col("id").str.to_uppercase())
    second = anonymize(spelled, [first])
    # the same people: the same groups as before, and nobody is new
    assert sorted(second.frame.rows()) == sorted(first.frame.rows())
    assert keep(second).people.digests.tolist() == keep(first).people.digests.tolist()


def test_what_cannot_be_is_refused_in_a_sentence():
    people = small()
    first = anonymize(people)
    twice = pl.concat([table_of(people)] * 2)
    for options, error, words in (
        ({"max_suppression": 0.1}, OptionError, "max_suppression"),
        ({"pseudonyms": True}, OptionError, "Pseudonyms"),
        ({"algorithm": "incognito"}, OptionError, "choose another"),
        ({"person": None, "drop": ["id"], "rows_are_people": True}, OptionError, "person="),
        ({"previous": [first, first]}, OptionError, "given twice"),
        ({"previous": [7]}, OptionError, "not int"),
        ({"previous": [first, anonymize(people)]}, OptionError, "do not belong together"),
        ({"reserve": 0.5}, OptionError, "reserve must be"),
    ):
        with pytest.raises(error, match=words):
            anonymize(people, **{"previous": [first], **options})
    with pytest.raises(DataError, match="several rows"):
        anonymize(twice, [first])


def test_a_reserve_makes_groups_larger():
    people = small(60)
    assert anonymize(people, reserve=3).verification.smallest_group >= 9
    assert anonymize(people).verification.smallest_group < 9


def test_a_large_atom_is_split_when_its_people_change():
    people = register(60, 3).with_columns(age=pl.lit(30, pl.Int64), sex=pl.lit("F"))
    people = people.select("id", "age", "sex", "ill")
    first = anonymize(people)
    assert first.n_groups == 1
    moved = people.with_columns(age=pl.int_range(60) // 10 * 10)
    second = anonymize(moved, [first])
    assert second.n_groups > 3
    assert second.verification.checks[-1].holds


def test_the_counting_finds_what_it_should():
    import numpy as np

    from shoal.life.guarantee import fewest_people, fewest_values

    groups = np.array([[0, 0], [0, 0], [0, 1], [1, -1], [1, -1]])
    assert fewest_people(groups) == 1
    assert fewest_people(groups[[0, 1, 3, 4]]) == 2
    values = {"ill": np.array([[5, 5], [6, 6], [5, 6], [5, -1], [5, -1]])}
    stories = Stories(groups, values, np.zeros(5, np.int64))
    assert fewest_values(stories, "ill") == 0
    some = Stories(groups[:2], {"ill": values["ill"][:2]}, np.zeros(2, np.int64))
    assert fewest_values(some, "ill") == 2


def test_dates_of_people_in_two_releases_are_moved_alike_without_a_key_in_a_file(tmp_path):
    days = [date(2024, 1, 1) + timedelta(each) for each in range(60)]
    people = table_of(small(60)).with_columns(seen=pl.Series(days))
    asked = {"insensitive": ["seen"], "dates": {"seen": "shift"}, "shuffle": False}
    with pytest.warns(shoal.ShoalWarning):
        first = anonymize(people, **asked)
    with pytest.warns(shoal.ShoalWarning):
        again = anonymize(people, [first], **asked)
    with pytest.warns(shoal.ShoalWarning):
        alone = anonymize(people, **asked)
    assert again.frame["seen"].equals(first.frame["seen"])
    assert not alone.frame["seen"].equals(first.frame["seen"])
    make_secret(tmp_path / "other.key")
    with pytest.raises(OptionError, match="another than that of the releases"):
        anonymize(people, [first], **asked, person_key=tmp_path / "other.key")
