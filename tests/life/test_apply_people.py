"""Further rows where people are counted, beside an oracle of sets: people, cells and values."""

import random

import polars as pl
import pytest
from tests.life.conftest import others, register

import shoal
from shoal.errors import DataError, OptionError, PromiseError

QI = ["age", "sex"]


def rows(*told):
    """A table of rows (person, age, value), each with a tag that tells whose it is."""
    return pl.DataFrame(
        {
            "id": [who for who, _, _ in told],
            "age": [age for _, age, _ in told],
            "ill": [ill for _, _, ill in told],
            "tag": [f"{who} {at}" for at, (who, _, _) in enumerate(told)],
        }
    )


def first_of(table, k=2, **options):
    return shoal.anonymize(
        table,
        k,
        quasi_identifiers=["age"],
        sensitive=["ill"],
        insensitive=["tag"],
        person="id",
        algorithm="k-member",
        seed=1,
        **options,
    )


def told_by(frame):
    """What is published: (person, cell, value) of each row."""
    return [(row["tag"].split()[0], row["age"], row["ill"]) for row in frame.to_dicts()]


def people_and_values(published):
    """By cell: who is in it, and who has which value, each pair once."""
    found = {}
    for who, cell, ill in published:
        people, pairs = found.setdefault(cell, (set(), set()))
        people.add(who)
        pairs.add((who, ill))
    return found


def share_of(pairs, ill):
    return sum(each == ill for _, each in pairs) / len(pairs)


def farthest(published):
    """The largest distance of a group's values from all values: t, for values without an order."""
    everything = {(who, ill) for who, _, ill in published}
    values = {ill for _, ill in everything}
    return max(
        sum(abs(share_of(pairs, ill) - share_of(everything, ill)) for ill in values) / 2
        for _, pairs in people_and_values(published).values()
    )


def most_frequent(published):
    return max(
        share_of(pairs, ill)
        for _, pairs in people_and_values(published).values()
        for _, ill in pairs
    )


def fewest_values(published):
    return min(len({ill for _, ill in pairs}) for _, pairs in people_and_values(published).values())


JUDGES = {
    "alpha": (shoal.AlphaK(0.7), lambda rows: most_frequent(rows) <= 0.7 + 1e-9),
    "distinct": (shoal.LDiversity(2, kind="distinct"), lambda rows: fewest_values(rows) >= 2),
    "t": (shoal.TCloseness(0.4), lambda rows: farthest(rows) <= 0.4 + 1e-9),
}
NINE = [("p1", 30, "a")] * 9


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
def test_nine_rows_of_one_person_of_the_release_are_one_person():
    first = first_of(rows(*NINE, ("p2", 30, "b")), privacy=[shoal.TCloseness(0.05)])
    new = rows(*[(f"n{at}", 60, "a" if at else "b") for at in range(10)])
    # by rows 0.9 of everybody has a, wherever; by people one half of the first two
    assert farthest(told_by(first.frame) + told_by(new)) == pytest.approx(1 / 3)
    with pytest.raises(PromiseError):
        shoal.apply(new, first)


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
def test_what_holds_for_people_is_not_refused_for_rows():
    first = first_of(rows(*NINE, ("p2", 30, "b")), privacy=[shoal.AlphaK(0.5)])
    new = rows(*[(f"n{at}", 30, "ab"[at % 2]) for at in range(10)])
    applied = shoal.apply(new, first)
    assert applied.n_waiting == 0
    together = told_by(first.frame) + told_by(applied.frame)
    assert most_frequent(together) == 0.5
    assert applied.together.checks[-1].measured == pytest.approx(0.5)


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("seed", range(6))
def test_promises_hold_for_people_as_sets_count_them(name, seed):
    chance = random.Random(seed)
    model, holds = JUDGES[name]

    def some(n_rows, who):
        names = [f"{who}{chance.randrange(n_rows // 2)}" for _ in range(n_rows)]
        return rows(*[(each, chance.choice([20, 30, 40]), chance.choice("aab")) for each in names])

    try:
        first = first_of(some(30, "p"), privacy=[model])
        applied = shoal.apply(some(20, "n"), first, seed=1)
        again = shoal.apply(some(20, "m"), applied.kept, seed=1)
    except PromiseError:
        return
    told = [told_by(each.frame) for each in (first, applied, again)]
    for published in (*told, told[0] + told[1], [*told[0], *told[1], *told[2]]):
        assert min(len(people) for people, _ in people_and_values(published).values()) >= 2
        assert holds(published)
    assert again.together.n_rows == sum(map(len, told))


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("seed", range(4))
def test_whoever_has_the_tables_before_and_after_is_left_with_k_people_and_l_values(seed):
    """The attacker takes the smaller table from the larger one, cell by cell."""
    chance = random.Random(seed)
    grown = set()
    before = first_of(
        rows(*[(f"p{at}", chance.randint(20, 40), chance.choice("ab")) for at in range(30)]),
        k=3,
        privacy=[shoal.LDiversity(2, kind="distinct")],
    )
    out, kept = told_by(before.frame), before
    for batch in range(3):
        new = [(f"n{batch}.{at}", chance.randint(20, 40), chance.choice("ab")) for at in range(25)]
        applied = shoal.apply(rows(*new), kept, seed=1)
        after = out + told_by(applied.frame)
        came = list(after)
        for each in out:
            came.remove(each)
        for cell, (people, pairs) in people_and_values(came).items():
            grown.add(cell in people_and_values(out))
            assert len(people) >= 3
            assert len({ill for _, ill in pairs}) >= 2
        out, kept = after, applied.kept
    assert True in grown


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
def test_rows_that_nobody_owns_are_one_person_in_both_tables():
    first = first_of(rows((None, 30, "a"), (None, 30, "b"), ("p1", 30, "a"), ("p2", 30, "b")))
    new = rows((None, 30, "a"), ("n1", 30, "b"), ("n2", 30, "b"))
    applied = shoal.apply(new, first)
    assert applied.together.fewest_people == 5
    assert applied.kept.people.unknown == 3
    again = shoal.apply(rows(("m1", 30, "b"), ("m2", 30, "b")), applied.kept)
    assert again.together.fewest_people == 7


def test_somebody_who_is_in_the_release_is_not_published_again_without_a_word(people, release):
    mixed = pl.concat([others(people), people.head(2).with_columns(id=pl.col("id") + pl.lit(" "))])
    with pytest.raises(DataError, match="2 people of the new table are in the release already"):
        shoal.apply(mixed, release)


def test_people_are_not_counted_without_the_private_half(saved, people):
    saved.with_name("release.shoal.people").unlink()
    with pytest.raises(OptionError, match=r"\.shoal\.people"):
        shoal.apply(others(people), shoal.load_release(saved))


def plain(table, previous=(), **options):
    return shoal.anonymize(
        table,
        options.pop("k", 3),
        quasi_identifiers=QI,
        sensitive=["ill"],
        drop=["zip"],
        person="id",
        algorithm="k-member",
        previous=previous,
        seed=1,
        **options,
    )


def test_a_release_beside_others_takes_no_further_rows():
    first = plain(register(30))
    second = plain(register(30), [first])
    with pytest.raises(OptionError, match="made beside others"):
        shoal.apply(register(30, 1, 100), second)


def groups_in(frame, ids):
    """The groups of a published table: sets of people."""
    found = {}
    for who, cell in zip(ids, frame.select(QI).rows(), strict=True):
        found.setdefault(cell, set()).add(who)
    return list(found.values())


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("seed", range(4))
def test_applied_tables_enter_the_chain(seed, tmp_path):
    """Whoever has release, further rows and the next release is left with k people."""
    chance = random.Random(seed)
    start = register(40, seed).with_columns(age=pl.Series(chance.choices(range(20, 40), k=40)))
    more = register(40, seed + 9, 100).with_columns(age=pl.Series(chance.choices(range(40), k=40)))
    more = more.with_columns(tag=pl.col("id"))
    first = shoal.anonymize(
        start.with_columns(tag=pl.col("id")),
        3,
        quasi_identifiers=QI,
        sensitive=["ill"],
        insensitive=["tag"],
        drop=["zip"],
        person="id",
        algorithm="k-member",
        seed=1,
    )
    applied = shoal.apply(more, first, seed=1)
    applied.kept.save(tmp_path / "both.shoal")
    # some leave, everybody else has another age
    stay = pl.concat([start, more.drop("tag")]).sample(fraction=0.9, seed=seed)
    moved = stay.with_columns(age=pl.Series(chance.choices(range(20, 60), k=stay.height)))
    later = plain(moved, [tmp_path / "both.shoal"])
    tables = [
        groups_in(first.frame, first.frame["tag"].to_list()),
        groups_in(applied.frame, applied.frame["tag"].to_list()),
        groups_in(later.frame, later.ids.to_list()),
    ]
    everybody = set().union(*(group for groups in tables for group in groups))
    assert everybody & set(more["id"])
    for who in everybody:
        mine = [group for groups in tables for group in groups if who in group]
        assert len(set.intersection(*mine)) >= 3
    assert later.verification.checks[-1].measured >= 3


def test_a_release_and_the_one_with_further_rows_are_not_given_together():
    first = plain(register(30))
    both = shoal.apply(register(30, 1, 100), first).kept
    with pytest.raises(OptionError, match="given twice"):
        plain(register(30), [first, both])
    assert plain(register(30), [both]).beside == (both.people.mark,)


def test_a_release_of_the_same_people_that_lies_beside_the_given_one_is_missed(tmp_path):
    first = plain(register(30))
    first.save(tmp_path / "one.shoal")
    shoal.apply(register(30, 1, 100), first).kept.save(tmp_path / "both.shoal")
    plain(register(30, 2, 200)).save(tmp_path / "strangers.shoal")
    with pytest.raises(OptionError, match=r"'both\.shoal' lies beside what is given"):
        plain(register(30), [tmp_path / "one.shoal"])
    assert plain(register(30), tmp_path / "both.shoal").verification.holds
    (tmp_path / "both.shoal.people").write_bytes(b"[" * 2000)  # nothing of ours
    assert plain(register(30), [tmp_path / "one.shoal"]).verification.holds
