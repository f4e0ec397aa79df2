"""What decides who is whom and who may be published, beside oracles of sets: no arrays in them."""

import itertools
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.archive.kept import digests_of, keep, number_people, rows_of
from shoal.archive.release_file import ValueCounts
from shoal.errors import DataError, OptionError
from shoal.life.apply import whose_are
from shoal.life.guarantee import Stories, check_chain, needed_values, tell_stories
from shoal.life.rerelease import _decide, _enough

KEY = bytes(range(32))
SPELLINGS = ("p{}", "P{}", " p{}", "p{}\t", "\u00a0P{} ")


def released(rows, k=2, **options):
    """A release of rows (person, age, value)."""
    table = pl.DataFrame(
        {name: [row[at] for row in rows] for at, name in enumerate(("id", "age", "ill"))},
        schema={"id": pl.String, "age": pl.Int64, "ill": pl.String},
    )
    return shoal.anonymize(
        table,
        k,
        quasi_identifiers=["age"],
        sensitive=["ill"],
        person="id",
        algorithm="mondrian",
        seed=1,
        threads=1,
        **options,
    )


def told_by(release):
    """What is published: (person, cell, value) of each row."""
    cells = release.frame.select("age", "ill").rows()
    return [(who, *row) for who, row in zip(release.ids.to_list(), cells, strict=True)]


@pytest.mark.parametrize("seed", range(10))
def test_hashes_are_equal_for_one_person_however_the_id_is_written(seed):
    chance = random.Random(seed)
    ids = [
        chance.choice([None, chance.choice(SPELLINGS).format(chance.randrange(6))])
        for _ in "x" * 30
    ]
    who = [None if each is None else each.strip().lower() for each in ids]
    digests = digests_of(pl.Series(ids, dtype=pl.String), KEY)
    number, n_people = number_people(digests)
    assert n_people == len(set(who))
    for one, two in itertools.combinations(range(len(ids)), 2):
        same = who[one] == who[two]
        assert (digests[one].tolist() == digests[two].tolist()) == same
        assert (number[one] == number[two]) == same
    others = digests_of(pl.Series(["p0"]), bytes(32))
    assert others.tolist() != digests_of(pl.Series(["p0"]), KEY).tolist()


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("seed", range(6))
def test_the_rows_of_a_kept_release_are_those_that_are_published_and_whose_they_are(seed):
    chance = random.Random(seed)
    names = [chance.choice([None, f"p{chance.randrange(9)}"]) for _ in range(24)]
    names[:9] = [f"p{at}" for at in range(9)]
    release = released([(who, chance.randint(20, 40), chance.choice("ab")) for who in names])
    kept = keep(release)
    frame, digests = rows_of(kept)
    by_digest = {
        tuple(digest): who
        for who, digest in zip(
            names,
            digests_of(pl.Series(names, dtype=pl.String), kept.people.key).tolist(),
            strict=True,
        )
    }
    found = [
        (by_digest[tuple(digest)], *row)
        for digest, row in zip(digests.tolist(), frame.select("age", "ill").rows(), strict=True)
    ]
    assert Counter(found) == Counter(told_by(release))
    assert kept.people.unknown == names.count(None)


@pytest.mark.parametrize("seed", range(10))
def test_counts_without_some_rows_are_those_of_the_others(seed):
    chance = random.Random(seed)
    rows = Counter((chance.randrange(4), chance.randrange(3)) for _ in range(20))
    taken = chance.sample(sorted(rows.elements()), 8)
    if seed % 2:
        taken.append((3, 2))
    pairs = sorted(rows)
    counts = ValueCounts(
        pl.Series(["a", "b", "c"]),
        np.array([group for group, _ in pairs]),
        np.array([value for _, value in pairs]),
        np.array([rows[pair] for pair in pairs]),
    )
    left = counts.without(np.array([g for g, _ in taken]), np.array([v for _, v in taken]))
    found = {
        (int(group), int(value)): int(count)
        for group, value, count in zip(left.group, left.value, left.count, strict=True)
    }
    rows.subtract(taken)
    assert {pair: count for pair, count in found.items() if count} == {
        pair: count for pair, count in rows.items() if count
    }


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("seed", range(6))
def test_stories_are_who_was_where_with_what(seed):
    chance = random.Random(seed)
    releases = []
    for _ in range(3):
        there = chance.sample(range(14), 10)
        rows = [(f"p{who}", chance.randint(20, 40), chance.choice("ab")) for who in there]
        made = released(rows)
        releases.append(replace(made, key=KEY))
    *earlier, last = releases
    told = [{who: rest for who, *rest in told_by(each)} for each in releases]
    kept = [keep(each) for each in earlier]
    present = digests_of(last.ids, KEY)
    stories, now = tell_stories(kept, ["ill"], present, {"ill": last.frame.get_column("ill")})
    everybody = sorted(set().union(*told))
    number = {
        tuple(d): who
        for who, d in zip(everybody, digests_of(pl.Series(everybody), KEY).tolist(), strict=True)
    }
    # who each line is: by the rows of the releases themselves
    order = list(
        dict.fromkeys(number[tuple(d)] for each in kept for d in each.people.digests.tolist())
    )
    order += [who for who in last.ids.to_list() if who not in order]
    assert len(stories.row) == len(everybody) == len(order)
    for one, two in itertools.product(range(len(order)), repeat=2):
        for place in range(2):
            first, second = (told[place].get(order[who]) for who in (one, two))
            mine, theirs = (int(stories.groups[who, place]) for who in (one, two))
            assert (mine == -1) == (first is None)
            if first is not None and second is not None:
                assert (mine == theirs) == (first[0] == second[0])
                values = [int(stories.values["ill"][who, place]) for who in (one, two)]
                assert (values[0] == values[1]) == (first[1] == second[1])
    for at, who in enumerate(order):
        row = int(stories.row[at])
        assert (row == -1) == (who not in told[2])
        if row >= 0:
            assert last.ids.to_list()[row] == who
            for place in range(2):  # a value has one number in all releases
                if who in told[place]:
                    same = told[place][who][1] == told[2][who][1]
                    assert (int(stories.values["ill"][at, place]) == int(now["ill"][row])) == same


def numbered(told):
    return np.array([[-1 if cell is None else cell for cell in row] for row in told], np.int64)


@pytest.mark.parametrize("least", [0, 2, 3])
@pytest.mark.parametrize("seed", range(15))
def test_of_people_with_one_story_nobody_is_published_or_enough_with_enough_values(seed, least):
    chance = random.Random(seed)
    n_people, n_releases, k = chance.randint(6, 30), chance.randint(1, 2), chance.choice([2, 3])
    told = [
        tuple(chance.choice([None, 0, 0, 1]) for _ in range(n_releases)) for _ in range(n_people)
    ]
    had = [
        tuple(None if cell is None else value for cell in story)
        for story, value in zip(told, chance.choices([0, 0, 1, 2], k=n_people), strict=True)
    ]
    there = [chance.random() < 0.8 or not any(c is not None for c in story) for story in told]
    present = [who for who in range(n_people) if there[who]]
    has = {
        who: chance.choice([max((v for v in had[who] if v is not None), default=0), 0, 1])
        for who in present
    }
    taking = {who: chance.random() < 0.9 for who in present}
    row = [present.index(who) if there[who] else -1 for who in range(n_people)]
    needed = {"ill": least} if least else {}
    plan = _decide(
        Stories(numbered(told), {"ill": numbered(had)}, np.array(row, np.int64)),
        {"ill": np.array([has[who] for who in present], np.int64)} if least else {},
        np.array([taking[who] for who in present], np.bool_),
        k,
        needed,
    )
    waits = {who for who in present if plan.wait[present.index(who)]}
    for story in {each for each in told if any(cell is not None for cell in each)}:
        twins = [who for who in range(n_people) if told[who] == story]
        out = [who for who in twins if there[who] and taking[who] and who not in waits]
        gone = [who for who in twins if not (there[who] and taking[who])]
        held = [who for who in twins if who not in out]
        before = {who: next(v for v in had[who] if v is not None) for who in twins}
        stayed = {before[who] for who in out if has[who] == before[who]}
        if out:
            assert len(out) >= k
            assert len(stayed) >= least or not least
            assert not (least and gone) or len({before[who] for who in held}) >= least
        whole = {before[who] for who in twins if there[who] and has[who] == before[who]}
        if not gone and len(twins) >= k and len(whole) >= least:
            assert out == twins  # nobody waits without need
        atoms = {int(plan.atom[present.index(who)]) for who in twins if there[who]}
        assert len(atoms) <= 1
        assert -1 not in atoms
        if least:
            for part in (out, out[: len(out) // 2]):
                rows = np.array([present.index(who) for who in part], np.int64)
                kinds = {before[who] for who in part if has[who] == before[who]}
                assert _enough(plan, rows) == (len(kinds) >= least)
    for who in present:
        if all(cell is None for cell in told[who]):
            assert int(plan.atom[present.index(who)]) == -1
            assert who not in waits


def test_as_many_values_are_needed_as_l_diversity_promises():
    schema = released([(f"p{at}", 30, "a") for at in range(4)]).schema
    for models, needed in (
        ((), {}),
        ((shoal.AlphaK(0.5),), {}),
        ((shoal.LDiversity(3, kind="distinct"),), {"ill": 3}),
        ((shoal.LDiversity(2.5), shoal.LDiversity(2, kind="distinct")), {"ill": 3}),
        ((shoal.LDiversity(2, column="other"),), {}),
    ):
        assert needed_values(models, schema) == needed


@pytest.mark.parametrize("seed", range(30))
def test_a_chain_is_whole_if_every_release_is_there_once(seed):
    chance = random.Random(seed)
    kept = keep(released([(f"p{at}", 30, "a") for at in range(4)]))

    def made(mark):
        others = [each for each in "abcd" if each != mark]
        beside, holds = (
            tuple(chance.sample(others, chance.choice([0, 0, 1]))) for _ in ("beside", "holds")
        )
        return replace(kept, people=replace(kept.people, mark=mark, beside=beside, holds=holds))

    given = [made(chance.choice("abcd")) for _ in range(chance.randint(1, 3))]
    marks = [mark for each in given for mark in (each.people.mark, *each.people.holds)]
    wanted = {mark for each in given for mark in each.people.beside}
    if len(set(marks)) == len(marks) and wanted <= set(marks):
        assert len(check_chain(given)) == len(given)
    else:
        with pytest.raises(OptionError):
            check_chain(given)


@pytest.mark.parametrize("seed", range(10))
def test_people_of_two_tables_are_told_apart_as_their_ids_are(seed):
    chance = random.Random(seed)
    old = [f"p{chance.randrange(6)}" for _ in range(12)] + ["p0", "p1"]
    release = released([(who, 30, "a") for who in old])
    new = [f" P{chance.randrange(4, 12)}" for _ in range(6)]
    table = pl.DataFrame({"id": new, "age": [30] * 6, "ill": ["a"] * 6})
    again = {each.strip().lower() for each in new} & set(old)
    if again:
        with pytest.raises(DataError, match=f"{len(again)} people of the new table"):
            whose_are(keep(release), table)
        return
    found = whose_are(keep(release), table)
    assert len(set(found.old_person.tolist())) == len(set(old))
    assert len(set(found.person.tolist())) == len({each.strip() for each in new})
    assert not set(found.old_person.tolist()) & set(found.person.tolist())
