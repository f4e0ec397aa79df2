"""Pseudonyms under a key: one for each person, the same in every table, and nobody's without it."""

import hashlib
import hmac

import polars as pl
import pytest

import shoal
from shoal.errors import DataError, OptionError
from shoal.io.keys import make_secret
from shoal.table.person_key import key_of_people, keyed_pseudonyms

KEY = bytes(range(32))
ONE_PERSON = [pl.Series(["007"]), pl.Series([7]), pl.Series([7.0]), pl.Series([" 7 "])]


def drawn(ids, key=KEY):
    return keyed_pseudonyms(pl.Series("id", ids), key).to_list()


def months():
    """Two tables that share people, whose ids are numbers in one and texts in the other."""
    first = pl.DataFrame({"id": [n // 2 for n in range(60)], "age": [20 + n for n in range(60)]})
    second = pl.DataFrame({"id": [f"00{n}" for n in range(10, 50)], "age": list(range(30, 70))})
    return first, second


def release_of(frame, **more):
    with pytest.warns(shoal.ShoalWarning, match="put the rows of one person together"):
        return shoal.anonymize(
            frame,
            k=3,
            quasi_identifiers="age",
            person="id",
            pseudonyms=True,
            algorithm="mondrian",
            shuffle=False,
            **more,
        )


@pytest.fixture
def key(tmp_path):
    make_secret(tmp_path / "people.key")
    return tmp_path / "people.key"


def test_a_pseudonym_is_the_hmac_of_the_id_with_a_key_for_people_and_stays_that():
    mine = hmac.new(bytes(range(32)), b"shoal people", hashlib.sha256).digest()
    assert key_of_people(bytes(range(32))) == mine
    name = hmac.new(mine, "pseudonym\0müller 1".encode(), hashlib.sha256).hexdigest()
    assert drawn(["Müller  1"], mine) == [name[:32]]
    number = hmac.new(mine, b"pseudonym\x00\x007\x001", hashlib.sha256).hexdigest()
    assert drawn([7], mine) == [number[:32]]


@pytest.mark.parametrize("ids", ONE_PERSON, ids=["text", "whole", "float", "spaces"])
def test_spellings_and_types_of_one_id_have_one_pseudonym(ids):
    assert keyed_pseudonyms(ids, KEY).to_list() == drawn([7])


def test_people_have_different_pseudonyms_and_rows_without_an_id_have_none():
    ids = [*(f"p{n}" for n in range(20_000)), None, "", "unknown"]
    found = drawn(ids)
    assert len(set(found[:20_000])) == 20_000
    assert found[20_000:] == [None, None, None]
    assert not set(found) & {each for each in drawn(ids, bytes(32)) if each}


def test_with_a_key_a_person_has_one_pseudonym_in_every_table(key):
    first, second = months()
    one, two = (release_of(each, person_key=key).frame for each in (first, second))
    names = dict(zip(first["id"], one["id"], strict=True))
    again = {int(n): name for n, name in zip(second["id"], two["id"], strict=True)}
    shared = set(names) & set(again)
    assert len(shared) == 20
    assert all(names[each] == again[each] for each in shared)
    assert len({*names.values(), *again.values()}) == len({*names, *again})


def test_without_a_key_tables_share_no_pseudonym():
    first, second = (release_of(each).frame for each in months())
    assert not set(first["id"]) & set(second["id"])


def test_kept_pseudonyms_are_an_open_point_that_says_what_k_means(key):
    release = release_of(months()[0], person_key=key)
    points = {each.what: each.sentence for each in release.judgement.open}
    assert "fewer people than k may fit all rows" in points["pseudonyms"]
    assert "k holds in none of them for what they tell together" in points["kept pseudonyms"]
    assert release.judgement == "amber"
    assert points["kept pseudonyms"] in release.certificate()["warnings"]
    assert "kept pseudonyms" not in {each.what for each in release_of(months()[0]).judgement.open}


def test_neither_the_key_nor_what_is_made_of_it_is_told(key):
    release = release_of(months()[0], person_key=key)
    told = repr(release) + str(release.certificate()) + str(release.summary())
    secret = key.read_text().strip()
    assert not [
        each for each in (secret, key_of_people(bytes.fromhex(secret)).hex()) if each in told
    ]
    assert str(key) not in told


@pytest.mark.parametrize("content", ["00" * 32, "0123456789abcdef" * 4, "deadbeef" * 8])
def test_a_key_that_nobody_drew_is_refused(key, content):
    key.write_text(content)
    with pytest.raises(OptionError, match="not drawn at random"):
        shoal.anonymize(
            months()[0],
            k=3,
            quasi_identifiers="age",
            person="id",
            pseudonyms=True,
            person_key=key,
        )


def test_a_key_without_a_use_or_that_is_no_file_is_refused(key, tmp_path):
    asked = {"k": 3, "quasi_identifiers": "age", "person": "id"}
    with pytest.raises(OptionError, match="neither is asked for"):
        shoal.anonymize(months()[0], **asked, person_key=key)
    with pytest.raises(OptionError, match="name of a file"):
        shoal.anonymize(months()[0], **asked, pseudonyms=True, person_key=b"x" * 32)
    with pytest.raises(DataError, match="shoal secret"):
        shoal.anonymize(months()[0], **asked, pseudonyms=True, person_key=tmp_path / "none.key")
