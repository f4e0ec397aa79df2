"""Several tables against sets and counting: what an attacker finds, written down case by case."""

import random
from itertools import combinations, permutations, product

import polars as pl
import pytest

import shoal

LINKS = {"stays.patient": "patients.id", "codes.stay": "stays.id"}
QUASI = {"patients": ["sex", "age"], "stays": ["ward", "days"], "codes": ["code"]}


def made_up(seed, n_people=30, missing=0.0):
    """Return small tables of three levels, in which much is shared and some things are rare."""
    chance = random.Random(seed)

    def maybe(value):
        return None if chance.random() < missing else value

    patients = [
        {"id": p, "sex": chance.choice("FM"), "age": maybe(chance.randrange(20, 60))}
        for p in range(n_people)
    ]
    stays, codes = [], []
    for patient in patients:
        for _ in range(chance.choice([0, 1, 1, 2, 3])):
            stay = {
                "id": len(stays),
                "patient": patient["id"],
                "ward": maybe(chance.choice(["a", "a", "b", "c"])),
                "days": chance.randrange(1, 9),
            }
            stays.append(stay)
            for _ in range(chance.choice([0, 1, 2, 2])):
                code = maybe(chance.choice(["x1", "x1", "x2", "y1", "y2"]))
                codes.append({"stay": stay["id"], "code": code})
    return {
        "patients": pl.DataFrame(patients),
        "stays": pl.DataFrame(stays),
        "codes": pl.DataFrame(codes),
    }


def fewest_found(tables, links, quasi, m, items=()):
    """Return the fewest people who have what 0, 1, … m events tell; written without arrays.

    ``items`` are columns of sets in the first table.
    """
    people = histories(tables, links, quasi, items)
    found = []
    for size in range(m + 1):
        who = {}
        for number, (group, events) in enumerate(people):
            for chosen in combinations(events, size):
                who.setdefault((group, told_together(chosen)), set()).add(number)
        found.append(min((len(each) for each in who.values()), default=None))
    return found


def histories(tables, links, quasi, items):
    """Return of each person the cells of the main table, and the events."""
    rows = {name: frame.to_dicts() for name, frame in tables.items()}
    key_of = {other.split(".")[0]: other.split(".")[1] for other in links.values()}
    top = next(name for name in tables if not any(one.startswith(f"{name}.") for one in links))
    people = [(tuple(str(row[c]) for c in quasi[top]), []) for row in rows[top]]
    known = {top: {}}  # of each key of a table: the person, and the rows from the person down
    for number, row in enumerate(rows[top]):
        known[top][row.get(key_of.get(top))] = (number, ())
        for column in items:
            for code in row[column] or []:
                people[number][1].append((((column, (str(code),)), (column, number, code)),))
    waiting = dict(links)
    while waiting:
        one = next(each for each in waiting if waiting[each].split(".")[0] in known)
        table, link = one.split(".")
        above = known[waiting.pop(one).split(".")[0]]
        known[table] = {}
        for place, row in enumerate(rows[table]):
            person, path = above[row[link]]
            told = (table, tuple(str(row[c]) for c in quasi[table]))
            mine = (*path, (told, (table, place)))
            people[person][1].append(mine)
            known[table][row.get(key_of.get(table))] = (person, mine)
    return people


def told_together(events):
    """Return what events tell: their cells with those above, and which rows above they share."""

    def as_listed(order):
        cells = tuple(tuple(told for told, _ in event) for event in order)
        shared = tuple(
            len({row for _, row in a} & {row for _, row in b}) for a, b in combinations(order, 2)
        )
        return cells, shared

    return min(as_listed(order) for order in permutations(events))


@pytest.mark.parametrize(("seed", "m"), list(product(range(6), (1, 2, 3))))
def test_verification_counts_what_sets_count(seed, m):
    tables = made_up(seed, missing=0.1 * (seed % 2))
    coarse = {
        "patients": tables["patients"].with_columns(age=pl.lit("*")),
        "stays": tables["stays"].with_columns(days=pl.lit("*")),
        "codes": tables["codes"].with_columns(pl.col("code").str.slice(0, 1)),
    }
    found = shoal.verify_tables(coarse, 5, links=LINKS, quasi_identifiers=QUASI, knows_events=m)
    expected = fewest_found(coarse, LINKS, QUASI, m)
    assert list(found.fewest) == expected
    assert found.holds == all(number >= 5 for number in expected)


@pytest.mark.parametrize(("seed", "m", "k"), list(product(range(4), (1, 2, 3), (2, 4))))
def test_whoever_knows_m_events_finds_k_people(seed, m, k):
    tables = made_up(seed, n_people=40, missing=0.1 * (seed % 2))
    roles = {name: {"quasi_identifiers": columns} for name, columns in QUASI.items()}
    roles["codes"]["hierarchies"] = {"code": {"x": ["x1", "x2"], "y": ["y1", "y2"]}}
    release = shoal.anonymize_tables(
        tables, k, links=LINKS, roles=roles, knows_events=m, seed=seed, threads=1
    )
    expected = fewest_found(release.frames, LINKS, QUASI, m)
    assert list(release.verification.fewest) == expected
    assert all(number is None or number >= k for number in expected)
    assert release.frames["codes"].height > tables["codes"].height / 2  # it is not all left out


@pytest.mark.parametrize(("seed", "m"), list(product(range(4), (1, 2, 3))))
def test_sets_of_codes_are_events(seed, m):
    chance = random.Random(seed)
    people = pl.DataFrame(
        {
            "sex": [chance.choice("FM") for _ in range(40)],
            "codes": [
                chance.sample(["x1", "x2", "y1", "y2", "z"], chance.choice([0, 1, 2, 3]))
                for _ in range(40)
            ],
        }
    )
    release = shoal.anonymize_tables(
        {"people": people},
        3,
        links={},
        roles={
            "people": {
                "quasi_identifiers": ["sex", "codes"],
                "kinds": {"codes": "items"},
                "hierarchies": {"codes": {"x": ["x1", "x2"], "y": ["y1", "y2"], "zz": ["z"]}},
            }
        },
        knows_events=m,
        seed=seed,
    )
    frames = release.frames
    expected = fewest_found(frames, {}, {"people": ["sex"]}, m, items=["codes"])
    assert all(number is None or number >= 3 for number in expected)
    assert any(frames["people"].get_column("codes").to_list())


def test_a_history_that_k_people_have_is_published_as_it_is():
    tables = {
        "patients": pl.DataFrame({"id": range(6), "age": [30] * 6}),
        "stays": pl.DataFrame(
            {"patient": [p for p in range(6) for _ in "ab"], "ward": ["a", "b"] * 6}
        ),
    }
    release = shoal.anonymize_tables(
        tables,
        3,
        links={"stays.patient": "patients.id"},
        roles={"patients": {"age": "quasi-identifier"}, "stays": {"ward": "quasi-identifier"}},
        knows_events=3,
    )
    assert sorted(release.frames["stays"]["ward"].to_list()) == ["a"] * 6 + ["b"] * 6
    assert release.left_out == {"patients": 0, "stays": 0}


def test_that_two_events_are_of_one_stay_is_known_as_well():
    """Everybody has x and y, but only one person has both in one stay."""
    stays, codes = [], []
    for person in range(6):
        for code in "xy":
            if person and (code == "y"):
                stays.append({"id": f"{person}y", "patient": person})
            if code == "x":
                stays.append({"id": f"{person}x", "patient": person})
            where = f"{person}x" if person == 0 else f"{person}{code}"
            codes.append({"stay": where, "code": code})
    stays.append({"id": "0y", "patient": 0})
    tables = {
        "patients": pl.DataFrame({"id": range(6), "sex": ["F"] * 6}),
        "stays": pl.DataFrame(stays).with_columns(ward=pl.lit("a")),
        "codes": pl.DataFrame(codes),
    }
    quasi = {"patients": ["sex"], "stays": ["ward"], "codes": ["code"]}
    found = shoal.verify_tables(tables, 3, links=LINKS, quasi_identifiers=quasi, knows_events=2)
    assert found.fewest == (6, 6, 1)
    roles = {name: {"quasi_identifiers": columns} for name, columns in quasi.items()}
    release = shoal.anonymize_tables(tables, 3, links=LINKS, roles=roles, knows_events=2)
    assert fewest_found(release.frames, LINKS, quasi, 2)[2] >= 3
