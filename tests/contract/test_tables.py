"""What holds for every release of several tables, whatever their columns are."""

import datetime as dt
import itertools
import json
import random

import polars as pl
import pytest

import shoal
from shoal.datasets import HOSPITAL_LINKS, HOSPITAL_ROLES, hospital_hierarchies, make_hospital
from shoal.io.keys import make_secret

LINKS = {"events.who": "people.who"}


def people_and_events(n=60, seed=0):
    """Return two tables with a column of each kind that events can have."""
    chance = random.Random(seed)
    people = pl.DataFrame(
        {
            "who": [f"P{n:03d}" for n in range(n)],
            "age": [chance.randrange(20, 80) for _ in range(n)],
            "secret": [chance.choice("abc") for _ in range(n)],
        }
    )
    whose = [f"P{chance.randrange(n):03d}" for _ in range(4 * n)]
    events = pl.DataFrame(
        {
            "who": whose,
            "numeric": [chance.choice([None, 1, 2, 3, 9]) for _ in whose],
            "date": [dt.date(2020, 1, 1) + dt.timedelta(chance.randrange(300)) for _ in whose],
            "flat": [chance.choice(["a", "b", "c"]) for _ in whose],
            "categorical": [chance.choice(["x1", "x2", "y1"]) for _ in whose],
            "ordinal": [chance.choice(["low", "middle", "high"]) for _ in whose],
        }
    )
    return {"people": people, "events": events}


DETAILS = {
    "categorical": {"hierarchies": {"categorical": {"x": ["x1", "x2"], "y": ["y1"]}}},
    "ordinal": {"orders": {"ordinal": ["low", "middle", "high"]}},
}


def run(tables, kind="flat", m=2, k=3, **options):
    others = [
        name for name in ("numeric", "date", "flat", "categorical", "ordinal") if name != kind
    ]
    roles = {
        "people": {"quasi_identifiers": "age", "sensitive": "secret"},
        "events": {"quasi_identifiers": [kind], "drop": others, **DETAILS.get(kind, {})},
    }
    return shoal.anonymize_tables(
        tables, k, links=LINKS, roles=roles, knows_events=m, **{"seed": 1, **options}
    )


@pytest.mark.parametrize(
    ("kind", "m"),
    list(itertools.product(["numeric", "date", "flat", "categorical", "ordinal"], [1, 2, 3])),
)
def test_every_kind_of_column_keeps_the_promise(kind, m):
    release = run(people_and_events(), kind, m)
    assert release.verification
    again = shoal.verify_tables(
        release.frames,
        3,
        links=LINKS,
        quasi_identifiers={"people": ["age"], "events": [kind]},
        knows_events=m,
    )
    assert again.fewest == release.verification.fewest


def test_keys_are_new_equal_across_tables_and_tell_no_order():
    tables = people_and_events()
    release = run(tables)
    people, events = release.frames["people"], release.frames["events"]
    assert not set(people["who"]) & set(tables["people"]["who"])
    assert set(events["who"]) <= set(people["who"])
    assert all(len(each) == 32 and int(each, 16) >= 0 for each in people["who"])
    assert set(run(tables).frames["people"]["who"]).isdisjoint(people["who"])  # a new key each time


def test_equal_ids_of_two_tables_have_different_pseudonyms():
    hospital = make_hospital(60, 1)
    hospital["stays"] = hospital["stays"].with_columns(
        stay_id=pl.int_range(pl.len()) + 10_000  # as patients are called
    )
    hospital = {name: hospital[name] for name in ("patients", "stays")}
    hospital["notes"] = hospital["stays"].select("stay_id", pl.lit("a").alias("kind"))
    roles = {name: HOSPITAL_ROLES[name] for name in ("patients", "stays")}
    links = {"stays.patient_id": "patients.patient_id", "notes.stay_id": "stays.stay_id"}
    release = shoal.anonymize_tables(
        hospital, 3, links=links, roles={**roles, "notes": {"kind": "quasi-identifier"}}
    )
    frames = release.frames
    assert set(frames["patients"]["patient_id"]).isdisjoint(frames["stays"]["stay_id"])
    assert set(frames["notes"]["stay_id"]) <= set(frames["stays"]["stay_id"])


def test_who_is_left_out_is_gone_from_all_tables():
    tables = people_and_events()
    tables["people"] = tables["people"].with_columns(
        age=pl.when(pl.col("who") == "P000").then(10_000).otherwise(pl.col("age"))
    )
    release = run(tables, max_suppression=0.02)
    assert release.left_out["people"] == 1
    theirs = tables["events"].filter(pl.col("who") == "P000").height
    assert release.left_out["events"] >= theirs > 0
    assert set(release.frames["events"]["who"]) <= set(release.frames["people"]["who"])


def test_order_and_threads_change_nothing_but_pseudonyms(tmp_path):
    tables = people_and_events(n=200)
    secret = tmp_path / "key"
    make_secret(secret)
    first = run(tables, person_key=str(secret), threads=1)
    second = run(tables, person_key=str(secret), threads=2)
    for name in tables:
        assert first.frames[name].equals(second.frames[name])
    order = first.frames["people"]["who"].to_list()
    assert order != sorted(order)
    turned = {name: frame.reverse() for name, frame in tables.items()}
    assert len(run(turned, person_key=str(secret)).frames["people"]) == len(order)


def test_rows_of_nobody_are_left_out_and_told():
    tables = people_and_events()
    stray = tables["events"].head(2).with_columns(who=pl.lit("nobody"))
    tables["events"] = pl.concat([tables["events"], stray])
    with pytest.warns(shoal.ShoalWarning, match="2 rows of the input hang from no row"):
        release = run(tables)
    assert set(release.frames["events"]["who"]) <= set(release.frames["people"]["who"])


def test_l_diversity_of_people_is_kept():
    release = run(people_and_events(), privacy=[shoal.LDiversity(2)])
    groups = release.frames["people"].group_by("age").agg(pl.col("secret").n_unique())
    assert groups["secret"].min() >= 2


def test_the_certificate_names_the_attacker_and_no_cell(tmp_path):
    tables = people_and_events()
    release = run(tables)
    text = json.dumps(release.certificate())
    assert json.loads(text)["attacker"].startswith("Whoever knows somebody's quasi-identifiers")
    assert "P001" not in text
    release.report(tmp_path / "report.html", language="de")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "P001" not in page
    assert "höchstens 2" in page


def test_the_join_attack_finds_k_people_or_more_and_more_in_the_tables_as_they_were():
    hospital = make_hospital(150, 5)
    roles = {
        name: {**said, "hierarchies": hospital_hierarchies().get(name, {})}
        for name, said in HOSPITAL_ROLES.items()
    }
    release = shoal.anonymize_tables(hospital, 5, links=HOSPITAL_LINKS, roles=roles, seed=1)
    found = release.audit(hospital, targets=60)
    assert {each.attack for each in found.findings} == {"linkage"}
    assert all(each.worst <= 1 / 5 for each in found.findings)
    assert found["join: the rarest 2 events"].rate >= found["join: 0 events"].rate
    # the same attack has success where nothing is protected: it is able to
    for name in hospital:
        names = release.frames[name].columns
        release.releases[name].__dict__["frame"] = hospital[name].select(names)
    assert release.audit(hospital, targets=60)["join: the rarest 2 events"].rate > 0.9


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"links": {"events.who": "persons.who"}}, "There is no table 'persons'"),
        ({"links": {}}, "One table is about people"),
        ({"links": {"events.who": "people"}}, "names a table and a column"),
        ({"links": {"events.nobody": "people.who"}}, "nobody"),
        ({"links": {"people.who": "events.who", "events.who": "people.who"}}, "One table is about"),
        ({"knows_events": 4}, "1, 2 or 3"),
        ({"knows_events": True}, "knows_events"),
        ({"style": {"cells": "shuffled"}}, "generalised cells"),
        ({"style": {"numeric": "mean"}}, "generalised cells"),
        ({"roles": {"people": {"quasi_identifiers": "age"}, "nothing": {}}}, "which is no table"),
        ({"roles": {"people": {"age": "quasi-identifier"}}}, "secret"),
        ({"roles": {"people": {"quasi_identifiers": "age", "k": 3}}}, "for all tables together"),
        ({"roles": {"people": {"who": "identifier", "age": "quasi-identifier"}}}, "is a key"),
    ],
)
def test_what_is_wrong_is_said(change, words):
    tables = people_and_events()
    roles = {
        "people": {"quasi_identifiers": "age", "sensitive": "secret"},
        "events": {
            "quasi_identifiers": ["flat"],
            "drop": ["numeric", "date", "categorical", "ordinal"],
        },
    }
    asked = {"links": LINKS, "roles": roles, **change}
    if "roles" in change:
        asked["roles"] = {**roles, **change["roles"]}
    with pytest.raises(shoal.ShoalError) as error:
        shoal.anonymize_tables(tables, 3, **asked)
    assert words in str(error.value)


def test_two_people_of_one_key_are_refused():
    tables = people_and_events()
    tables["people"] = pl.concat([tables["people"], tables["people"].head(1)])
    with pytest.raises(shoal.DataError, match="one row for each person"):
        run(tables)
