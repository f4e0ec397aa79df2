"""Groups that lie within the values of one column."""

from __future__ import annotations

import random
from collections import Counter

import polars as pl
import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.errors import OptionError, PromiseError

QUASI = ["age", "sex"]


def patients(n_rows=300, hospitals="ABC", seed=1):
    chance = random.Random(seed)
    return pl.DataFrame(
        {
            "age": [chance.randint(18, 90) for _ in range(n_rows)],
            "sex": [chance.choice("FM") for _ in range(n_rows)],
            "hospital": [chance.choice(hospitals) for _ in range(n_rows)],
            "ill": [chance.choice(["flu", "gout", "asthma"]) for _ in range(n_rows)],
        }
    )


def released(frame, k=4, **more):
    asked = {"quasi_identifiers": QUASI, "sensitive": "ill", "within": "hospital", "seed": 2}
    return shoal.anonymize(frame, k, **(asked | more))


@pytest.mark.parametrize("algorithm", ["auto", "mondrian", "k-member", "incognito"])
def test_no_group_has_rows_of_two_values_and_the_value_is_published_exactly(algorithm):
    frame = patients()
    more = {"kinds": {"age": "flat"}, "max_suppression": 0.2} if algorithm == "incognito" else {}
    made = released(frame, algorithm=algorithm, **more)
    values = {}
    for group, hospital in zip(made.groups.tolist(), frame["hospital"].to_list(), strict=True):
        values.setdefault(group, set()).add(hospital)
    assert all(len(found) == 1 for group, found in values.items() if group >= 0)
    assert set(made.frame["hospital"]) == {"A", "B", "C"}
    cells = Counter(made.frame.select("age", "sex", "hospital").iter_rows())
    assert min(cells.values()) >= 4
    assert shoal.verify(made.frame, 4, quasi_identifiers=[*QUASI, "hospital"])


def test_the_strata_are_counted_in_the_published_table():
    made = released(patients(hospitals="ABBBC"))
    cells = Counter(made.frame.select("hospital", "age", "sex").iter_rows())
    for stratum in made.strata:
        sizes = [n for cell, n in cells.items() if cell[0] == stratum.label]
        assert (stratum.rows, stratum.groups) == (sum(sizes), len(sizes))
        assert stratum.smallest == min(sizes)
    lost = sum(each.rows * each.loss for each in made.strata) / made.n_published
    assert lost == pytest.approx(made.public_scores["ncp"], abs=1e-4)
    told = made.certificate()["strata"]
    assert [each["label"] for each in told] == [each.label for each in made.strata]
    assert [each.rows for each in made.strata] == sorted(e.rows for e in made.strata)[::-1]


def test_promises_hold_in_every_group_and_people_are_counted_within_a_value():
    frame = patients(240).with_columns(who=pl.Series([n // 2 for n in range(240)]))
    made = released(frame, person="who", privacy=[shoal.LDiversity(2, kind="distinct")])
    people, illnesses = {}, {}
    rows = frame.select("who", "ill").iter_rows()
    for group, (who, ill) in zip(made.groups.tolist(), rows, strict=True):
        people.setdefault(group, set()).add(who)
        illnesses.setdefault(group, set()).add(ill)
    assert min(map(len, people.values())) >= 4
    assert min(map(len, illnesses.values())) >= 2


def test_a_missing_value_is_a_stratum():
    frame = patients().with_columns(
        hospital=pl.when(pl.col("hospital") == "A").then(None).otherwise("hospital")
    )
    made = released(frame)
    assert {each.label for each in made.strata} == {"B", "C", "missing"}
    assert made.frame["hospital"].null_count() == frame["hospital"].null_count()


def test_values_of_fewer_than_k_people_are_refused_or_left_out():
    few = patients(3, hospitals="Z")
    frame = pl.concat([patients(), few])
    with pytest.raises(PromiseError, match="1 of the 4 values of column 'hospital'"):
        released(frame)
    made = released(frame, max_suppression=0.01)
    assert made.n_suppressed == 3
    assert "Z" not in set(made.frame["hospital"])
    one = pl.concat([patients(), patients(9, "Z").with_columns(ill=pl.lit("flu"))])
    with pytest.raises(PromiseError, match="by itself"):
        released(one, privacy=[shoal.LDiversity(2, kind="distinct")])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"grid": {"ward": 10}, "within": "ward"}, "leave out its grid"),
        ({"within": "ill"}, "ill"),
        ({"within": ["hospital", "age"]}, "one column"),
        ({"within": "clinic"}, "clinic"),
        (
            {"privacy": shoal.PopulationRisk(0.2, kind="average", sampling_fraction=0.5)},
            "as a whole",
        ),
        ({"reserve": 2.0}, "beside earlier ones"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(more, said):
    frame = patients().with_columns(ward=pl.Series([n % 3 for n in range(300)]))
    drop = ["hospital"] if more.get("within") == "ward" else ["ward"]
    with pytest.raises((OptionError, shoal.errors.RoleError), match=said):
        released(frame, drop=drop, **more)


def test_the_same_seed_gives_the_same_release_whatever_the_threads():
    frame = patients()
    first, second = (released(frame, threads=threads) for threads in (1, 2))
    assert first.frame.equals(second.frame)


def test_jobs_and_commands_say_it(tmp_path):
    def run_cli(*words):
        return CliRunner().invoke(app, [str(each) for each in words])

    patients().write_csv(tmp_path / "p.csv")
    done = run_cli(
        *("anonymize", tmp_path / "p.csv", "-o", tmp_path / "s.csv", "--k", "4", "--qi", "age,sex"),
        *("--sensitive", "ill", "--within", "hospital", "--report", tmp_path / "r.html"),
        *("--certificate", tmp_path / "c.json"),
    )
    assert done.exit_code == 0, done.output
    assert "What became of each stratum" in (tmp_path / "r.html").read_text()
    done = run_cli("verify", tmp_path / "s.csv", "--certificate", tmp_path / "c.json")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("algorithm", ["incognito", "datafly", "top-down-specialization"])
def test_a_value_is_exact_where_whole_columns_are_recoded(algorithm):
    tree = {"north": ["A", "B"], "south": ["C"]}
    made = released(
        patients().with_columns(age=pl.col("age") // 30),
        algorithm=algorithm,
        hierarchies={"hospital": tree, "sex": {"any": ["F", "M"]}},
        kinds={"age": "flat"},
        max_suppression=0.3,
    )
    assert set(made.frame["hospital"]) == {"A", "B", "C"}
    assert made.verification
