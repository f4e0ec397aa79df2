"""Release files whose hash is right and whose content is not: one sentence, whatever is in them."""

import contextlib
import hashlib
import json
import random

import polars as pl
import pytest
from tests.helpers.effort import share
from tests.life.conftest import register

import shoal
from shoal.errors import DataError, ShoalError

ODD = (
    *(None, True, 0, -1, 2, 40, 10**30, 1.5, 1e308, [], [[]], [None], {}, {"a": 1}),
    *("", "*", "\ud800", "\x00", "[1-", "1:AA==", "8:", "1:", "99:AAAA", "2020-01-01"),
    *("prefix", "numeric", "date", "categorical", "set", "Int8", "Datetime", "a" * 2000),
)
ROLES = {"quasi_identifiers": ["age", "zip", "day"], "sensitive": ["ill"], "person": "id"}


def people_of(n_rows, seed, first=0):
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 12, 31), eager=True)
    return register(n_rows, seed, first).select(
        "id", "age", "zip", "ill", day=days.sample(n_rows, seed=seed)
    )


def packed(body, name):
    data = json.dumps(body).encode()
    head = {"format": name, "version": 1, "bytes": len(data)}
    head["sha256"] = hashlib.sha256(data).hexdigest()
    return json.dumps(head).encode() + b"\n" + data + b"\n"


def places(node, path=()):
    """Ways to everything in a tree of JSON; of a list its first few."""
    inside = node.items() if isinstance(node, dict) else enumerate(node[:6])
    for key, value in inside:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def at(body, path):
    for key in path:
        body = body[key]
    return body


def mutated(body, chance):
    """A copy of a body with one to three things in it that do not belong there."""
    body = json.loads(json.dumps(body))
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        known = list(places(body))
        path = chance.choice(known)
        parent, key = at(body, path[:-1]), path[-1]
        value = parent[key]
        how = chance.randrange(6)
        if how == 0:
            del parent[key]
        elif how == 1:
            parent[key] = json.loads(json.dumps(at(body, chance.choice(known))))
        elif how == 2 and isinstance(parent, list):
            parent.insert(key, chance.choice([value, *ODD]))
        elif how == 3 and isinstance(value, str) and value:
            place = chance.randrange(len(value))
            letter = chance.choice(["", "0", "Z", "=", "\ud800"])
            parent[key] = value[:place] + letter + value[place + 1 :]
        elif how == 4 and isinstance(value, int):
            parent[key] = value + chance.choice([-1, 1, 100])
        else:
            parent[key] = chance.choice(ODD)
    return body


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The bodies of a release file and of its private half."""
    path = tmp_path_factory.mktemp("sound") / "a.shoal"
    release = shoal.anonymize(
        people_of(16, 1),
        3,
        **ROLES,
        hierarchies={"zip": {"rule": "prefix", "keep": [3, 1], "length": 5}},
        grid={"age": 5},
        privacy=[shoal.LDiversity(2, kind="distinct"), shoal.TCloseness(0.9)],
        algorithm="mondrian",
        seed=1,
    )
    release.save(path)
    return [
        json.loads(path.with_name(name).read_bytes().partition(b"\n")[2])
        for name in ("a.shoal", "a.shoal.people")
    ]


def use(kept):
    """Use a release file for all that it is for; what it asks may be refused in a sentence."""
    new = people_of(8, 2, 100)
    with contextlib.suppress(ShoalError):
        shoal.apply(new, kept, seed=1)
    with contextlib.suppress(ShoalError):
        shoal.anonymize(new, 3, **ROLES, previous=[kept], algorithm="mondrian", seed=1)


@pytest.mark.filterwarnings("ignore::shoal.ShoalWarning")
@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_release_file_says_it_is_used_or_refused_in_a_sentence(seed, sound, tmp_path):
    chance = random.Random(seed)
    public, private = sound
    path, beside = tmp_path / "a.shoal", tmp_path / "a.shoal.people"
    refused = []
    for number in range(share(400)):
        damaged = public if number % 3 == 0 else mutated(public, chance)
        path.write_bytes(packed(damaged, "shoal release"))
        of = {"of": hashlib.sha256(path.read_bytes()).hexdigest()}
        people = private | of
        if number % 3 == 0:
            people = mutated(people, chance)
        beside.write_bytes(packed(people, "shoal people"))
        try:
            kept = shoal.load_release(path)
        except DataError as error:
            refused.append(str(error))
        else:
            use(kept)
    assert len(refused) > 20
    assert all("\n" not in message and len(message) < 400 for message in refused)


def test_columns_of_different_lengths_and_trees_of_nothing_are_refused(sound, tmp_path):
    path = tmp_path / "a.shoal"
    for change in (
        lambda body: body["cells"][0]["values"].pop(),
        lambda body: body["columns"][2].update(hierarchy=[None]),
        lambda body: body["columns"][2].update(hierarchy=[7]),
    ):
        body = json.loads(json.dumps(sound[0]))
        change(body)
        path.write_bytes(packed(body, "shoal release"))
        with pytest.raises(DataError, match="does not fit together; make it again"):
            shoal.load_release(path)


@pytest.mark.parametrize("name", ["measure", "algorithm"])
def test_a_name_that_is_no_text_is_unknown(name):
    with pytest.raises(shoal.errors.OptionError, match=f"Unknown {name}"):
        shoal.anonymize(
            people_of(8, 1).drop("id"),
            2,
            **{**ROLES, "person": None, name: ["ncp"]},
            rows_are_people=True,
        )
