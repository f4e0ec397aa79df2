"""Attackers who know some columns: every combination is counted by sets, and the search by a twin.

The twin counts classes in dictionaries of tuples, without arrays or any helper of the package.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import combinations

import polars as pl
import pytest

import shoal
from shoal.errors import OptionError

QUASI = ["age", "sex", "zip", "job", "score"]
TREE = {"north": {"a": None, "b": None}, "south": {"c": None, "d": None, "e": None}}


def people(n_rows=150, seed=1):
    chance = random.Random(seed)

    def maybe(value):
        return None if chance.random() < 0.05 else value

    rows = [
        {
            "age": maybe(chance.randint(18, 90)),
            "sex": chance.choice("FFM"),
            "zip": maybe(chance.choice("aaabcde")),
            "job": maybe(chance.choice(["x", "x", "y", "z", "w"])),
            "score": maybe(chance.choice([0.0, 0.0, 0.5, chance.random()])),
            "ill": chance.choice(["flu", "gout", "asthma", "asthma"]),
        }
        for _ in range(n_rows)
    ]
    return pl.DataFrame(rows)


def released(frame, k=4, **more):
    asked = {"quasi_identifiers": QUASI, "sensitive": "ill", "seed": 3}
    asked["hierarchies"] = {"zip": TREE}
    return shoal.anonymize(frame, k, **(asked | more))


def classes(frame, names):
    """The rows of each class: rows that look the same in these columns."""
    found = defaultdict(list)
    for place, row in enumerate(frame.select(names).iter_rows()):
        found[row].append(place)
    return found


def smallest(frame, all_known):
    return min(len(rows) for known in all_known for rows in classes(frame, known).values())


@pytest.mark.parametrize("knows", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("seed", [1, 2])
def test_every_combination_of_at_most_so_many_columns_keeps_k(knows, seed):
    made = released(people(seed=seed), knows=knows)
    known = [each for size in range(1, min(knows, 5) + 1) for each in combinations(QUASI, size)]
    assert smallest(made.frame, known) >= 4
    assert made.verification.smallest_group == smallest(made.frame, known)
    assert made.n_suppressed == 0


def test_chosen_combinations_keep_k_and_others_need_not():
    chosen = [["age", "zip"], ["age", "job", "sex"]]
    made = released(people(300), combinations=chosen)
    assert smallest(made.frame, chosen) >= 4
    assert smallest(made.frame, [QUASI]) < 4
    scores = made.frame["score"].to_list()  # nobody is said to know it: as it was
    assert not any("to" in str(each) and "*" in str(each) for each in scores)


def test_both_are_kept_where_both_are_asked_for():
    made = released(people(300), knows=1, combinations=[["age", "zip", "sex"]])
    assert smallest(made.frame, [["age", "zip", "sex"], *([name] for name in QUASI)]) >= 4


@pytest.mark.parametrize("ell", [2, 3])
def test_diversity_holds_in_every_class_of_every_combination(ell):
    made = released(people(300), knows=2, privacy=[shoal.LDiversity(ell, kind="distinct")])
    illnesses = made.frame["ill"].to_list()
    for known in combinations(QUASI, 2):
        for rows in classes(made.frame, known).values():
            assert len({illnesses[row] for row in rows}) >= ell


def test_no_illness_is_too_sure_in_any_class():
    made = released(people(300), knows=2, privacy=[shoal.AlphaK(0.7)])
    illnesses = made.frame["ill"].to_list()
    for known in combinations(QUASI, 2):
        for rows in classes(made.frame, known).values():
            most = Counter(illnesses[row] for row in rows).most_common(1)[0][1]
            assert most <= 0.7 * len(rows) + 1e-9


def test_people_are_counted_where_they_have_several_rows():
    frame = people(300).with_columns(who=pl.Series([n * 7 % 120 for n in range(300)]))
    made = released(frame, knows=2, person="who", shuffle=False)
    whose = frame["who"].to_list()
    for known in combinations(QUASI, 2):
        for rows in classes(made.frame, known).values():
            assert len({whose[row] for row in rows}) >= 4
    assert made.verification.fewest_people >= 4


def holds(cell, value):
    """Whether a published cell stands for a value, read as a person reads it."""
    if value is None:
        return cell in (None, "*")
    if cell is None:
        return False
    if cell == "*" or cell == str(value):
        return True
    if cell in TREE:
        return value in TREE[cell]
    if cell.startswith("["):
        low, high = cell[1:-1].replace(" to ", "|").replace("-", "|").split("|")
        return float(low) <= float(value) <= float(high)
    return False


def test_every_cell_stands_for_the_value_it_was_made_of():
    frame = people(300)
    made = released(frame, knows=2, shuffle=False, default_grid=False)
    for name in QUASI:
        for cell, value in zip(made.frame[name], frame[name], strict=True):
            assert holds(cell, value) or float(cell) == value, (name, cell, value)


def test_whoever_knows_so_many_values_of_a_person_finds_k_rows_that_fit():
    frame = people(200)
    made = released(frame, knows=2, default_grid=False)
    cells = made.frame.select("age", "zip", "job").rows()
    for age, zip_code, job in frame.select("age", "zip", "job").iter_rows():
        for known in combinations(range(3), 2):
            values = (age, zip_code, job)
            fit = [row for row in cells if all(holds(row[c], values[c]) for c in known)]
            assert len(fit) >= 4


def test_less_is_lost_the_less_is_known():
    frame = people(600)
    lost = [released(frame, knows=knows).scores["ncp"] for knows in (1, 2, 3)]
    everything = released(frame).scores["ncp"]
    assert lost[0] < lost[1] < lost[2]
    assert lost[1] < 0.75 * everything


def test_the_same_seed_gives_the_same_release_whatever_the_threads():
    frame = people(300)
    first, second = (released(frame, knows=2, threads=threads) for threads in (1, 4))
    assert first.frame.equals(second.frame)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"algorithm": "mondrian"}, "algorithm"),
        ({"max_suppression": 0.1}, "max_suppression"),
        ({"within": "sex"}, "within"),
        ({"reserve": 2.0}, "previous"),
        ({"refine": "fast"}, "refine"),
        ({"bound": True}, "bound"),
        ({"measure": "pmi"}, "pmi"),
        ({"style": {"numeric": "mean"}}, "mean"),
        ({"style": {"categories": "values"}}, "values"),
        ({"combinations": [["age", "shoe"]]}, "shoe"),
        ({"combinations": ["age", 3]}, "lists of column names"),
        ({"knows": 0}, "at least 1"),
        ({"privacy": shoal.PopulationRisk(0.2, kind="average", sampling_fraction=0.5)}, "groups"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(more, said):
    with pytest.raises(OptionError, match=said):
        released(people(), **({"knows": 2} | more))


def test_too_many_combinations_are_refused():
    wide = pl.DataFrame({f"c{n}": [n, 2, 3, 4] * 5 for n in range(40)})
    with pytest.raises(OptionError, match="lower knows"):
        shoal.anonymize(wide, 2, quasi_identifiers=wide.columns, knows=10, seed=1)
