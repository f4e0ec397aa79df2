"""A release is kept: whole, without a row of the input, and read back or refused in a sentence."""

import datetime as dt
import hashlib
import json
import stat
from decimal import Decimal

import polars as pl
import pytest
from tests.life.conftest import ROLES, register, release_of

import shoal
from shoal.archive.kept import keep
from shoal.archive.release_file import column_from_json, column_to_json, to_bytes
from shoal.errors import DataError


def packed(body, **head):
    """A file with this body and a head that fits it."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    said = {
        "format": "shoal release",
        "version": 1,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        **head,
    }
    return json.dumps(said).encode() + b"\n" + data + b"\n"


def body_of(path):
    return json.loads(path.read_bytes().partition(b"\n")[2])


def without_chance(path):
    """The private file without key, marks and hashes: any five digits may be in those."""
    body = body_of(path)
    drawn = {name: body.pop(name) for name in ("key", "mark", "of", "people")}
    assert all(isinstance(text, str) for text in drawn.values())
    return json.dumps(body).encode()


def refused(path, content):
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        shoal.load_release(path)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    return message


def test_what_is_read_back_is_what_was_kept(release, saved):
    kept = shoal.load_release(saved)
    assert (kept.k, kept.n_rows, kept.n_groups) == (4, release.n_published, release.n_groups)
    cells = ["age", "zip", "sex", "ill"]
    published = release.frame.select(cells).sort(cells)
    assert kept.table().select(cells).sort(cells).equals(published)
    assert to_bytes(kept) == saved.read_bytes()
    assert kept.schema["zip"].rule is not None


def test_the_file_is_a_function_of_what_is_published(people, saved, tmp_path):
    again = release_of(people.sample(fraction=1, shuffle=True, seed=3), seed=7)
    twin = release_of(people)
    twin.save(tmp_path / "twin.shoal")
    assert (tmp_path / "twin.shoal").read_bytes() == saved.read_bytes()
    order = again.frame.sample(fraction=1, shuffle=True, seed=1)
    mixed = shoal.Release(**{**vars(again), "frame": order, "ids": None})
    assert to_bytes(keep(mixed)) == to_bytes(keep(again))


def test_neither_file_holds_an_id_or_an_exact_value_that_is_not_published(people, release, saved):
    private = saved.parent / "release.shoal.people"
    content = saved.read_bytes() + without_chance(private)
    assert b"person-" not in saved.read_bytes() + private.read_bytes()
    shown = {text for name in ("zip", "age") for text in release.frame.get_column(name).to_list()}
    hidden = {str(value) for value in people.get_column("zip").to_list()} - shown
    assert len(hidden) > 50
    assert [text for text in hidden if text.encode() in content] == []
    assert b'"seed"' not in saved.read_bytes() + private.read_bytes()


def test_values_that_a_hierarchy_was_not_given_for_are_not_kept(tmp_path):
    frame = register(40).with_columns(town=pl.Series(["a", "b", "c", "SECRETville"] * 10))
    release = release_of(
        frame,
        roles={"quasi_identifiers": ["age", "town"], "drop": ["zip", "sex"]},
        hierarchies={"town": {"north": ["a", "b"], "south": ["c"]}},
        unknown_values="root",
    )
    release = shoal.Release(
        **{**vars(release), "frame": release.frame.filter(pl.col("town") != "SECRETville")}
    )
    assert b"SECRETville" not in to_bytes(keep(shoal.Release(**{**vars(release), "ids": None})))


def test_the_private_half_can_be_read_by_its_owner_alone_and_says_who_is_where(
    people, release, saved
):
    private = saved.parent / "release.shoal.people"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    kept = shoal.load_release(saved)
    assert kept.people.alone
    assert len(kept.people.digests) == people.height
    private.unlink()
    assert shoal.load_release(saved).people is None


def test_the_private_half_of_another_release_is_refused(people, release, saved, tmp_path):
    other = tmp_path / "other.shoal"
    release_of(people.head(60)).save(other)
    (tmp_path / "other.shoal.people").rename(tmp_path / "release.shoal.people")
    with pytest.raises(DataError, match="belongs to another release file"):
        shoal.load_release(saved)


def test_without_a_person_there_is_no_private_half(people, tmp_path):
    release = release_of(people, roles={"person": None, "identifiers": ["id"]})
    release.save(tmp_path / "a.shoal")
    assert [path.name for path in tmp_path.iterdir()] == ["a.shoal"]


@pytest.mark.parametrize("cut", [0, 1, 50, 200, 1000, -2])
def test_a_truncated_file_is_refused(saved, cut):
    whole = saved.read_bytes()
    assert "release.shoal" in refused(saved, whole[:cut])


def test_every_flipped_byte_is_noticed(saved):
    whole = bytearray(saved.read_bytes())
    for place in range(0, len(whole) - 1, 97):
        damaged = bytes([*whole[:place], whole[place] ^ 1, *whole[place + 1 :]])
        refused(saved, damaged)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"age,sex\n1,F\n",
        b"PK\x03\x04" + bytes(500),
        b"\x1f\x8b" + bytes(100),
        b'{"format": "something else", "version": 1}\n{}',
        b"[" * 100_000,
        b"\x80\x04\x95pickle",
    ],
)
def test_a_foreign_file_is_refused(saved, content):
    assert "is no shoal release file" in refused(saved, content)


def test_a_later_version_is_named(saved):
    message = refused(saved, packed(body_of(saved), version=3))
    assert "version 3" in message
    assert "later version of Shoal" in message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda body: body.pop("k"), "'k' is missing"),
        (lambda body: body.update(k=True), "'k' is of the wrong type"),
        (lambda body: body.update(k=10**9), "smaller than promised"),
        (lambda body: body.update(rows="8:" + "/" * 1024), "too large"),
        (lambda body: body.update(rows="3:AAAA"), "holds no numbers"),
        (lambda body: body.update(rows="1:BQ=="), "do not belong together"),
        (lambda body: body.update(privacy=[{"model": "nonsense"}]), "wrong"),
        (lambda body: body.update(style={"numeric": "../../etc"}), "wrong"),
        (lambda body: body["cells"].pop(), "wrong"),
        (lambda body: body["cells"][0].update(type="Object"), "unknown type"),
        (lambda body: body["cells"][0].update(type="Int64"), "another type"),
        (lambda body: body["columns"][1].update(weight=float("inf")), "no number"),
        (lambda body: body["columns"][2].update(hierarchy=[["a"], ["a", "b"]]), "wrong"),
        (lambda body: body["sensitive"][0].update(group="1:AA=="), "do not belong together"),
        (lambda body: body["sensitive"].clear(), "not those of the schema"),
        (lambda body: body["sensitive"][0].update(order=[1]), "no text"),
    ],
)
def test_a_file_that_was_made_to_harm_is_refused_in_a_sentence(saved, change, words):
    body = body_of(saved)
    change(body)
    assert words in refused(saved, packed(body))


def test_huge_counts_take_no_memory(saved):
    body = body_of(saved)
    n_groups = len(body["cells"][0]["values"])
    import numpy as np

    from shoal.archive.release_file import numbers_to_json

    huge = np.full(n_groups, 1 << 38)
    body["rows"] = numbers_to_json(huge)
    assert "memory" in refused(saved, packed(body))


def test_nested_json_without_end_is_refused(saved):
    assert "cannot be used" in refused(saved, packed(b'{"columns":' + b"[" * 200_000))


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series("x", ["a", None, ""]),
        pl.Series("x", [1, None, -3], dtype=pl.Int16),
        pl.Series("x", [0.1, float("nan"), None, 1e300]),
        pl.Series("x", [True, None]),
        pl.Series("x", [dt.date(1900, 1, 1), None]),
        pl.Series("x", [dt.datetime(2020, 1, 1, 12, 0, 1), None]),
        pl.Series("x", [dt.datetime(2020, 1, 1)]).dt.replace_time_zone("Europe/Berlin"),
        pl.Series("x", [dt.timedelta(days=3)]),
        pl.Series("x", [dt.time(12, 3)]),
        pl.Series("x", [Decimal("1.50"), None], dtype=pl.Decimal(38, 2)),
    ],
    ids=lambda column: str(column.dtype),
)
def test_cells_of_every_type_come_back_as_they_were(cells):
    said = json.loads(json.dumps(column_to_json(cells)))
    back = column_from_json("x", said)
    assert back.dtype == cells.dtype
    assert back.equals(cells, null_equal=True)


def test_a_type_that_is_not_kept_is_refused_by_name(people):
    frame = people.with_columns(ill=pl.concat_list("ill"))
    release = release_of(
        frame.with_columns(pl.col("ill").list.first()), roles={"sensitive": ["ill"]}
    )
    nested = release.frame.with_columns(ill=pl.concat_list("ill"))
    with pytest.raises(DataError, match=r"Column 'ill' is of a type"):
        keep(shoal.Release(**{**vars(release), "frame": nested})).save("never.shoal")


def test_columns_called_as_our_own_are_kept_apart():
    frame = register(30).rename({"age": "class", "zip": "rows"})
    release = shoal.anonymize(
        frame,
        3,
        quasi_identifiers=["class", "rows"],
        sensitive=["ill"],
        drop=["id", "sex"],
        rows_are_people=True,
        seed=1,
    )
    kept = keep(release)
    assert kept.cells.columns == ["class", "rows"]
    assert kept.n_groups == release.n_groups


def test_bounds_keep_their_types(people, tmp_path):
    release = release_of(people, style={"numeric": "bounds"})
    release.save(tmp_path / "a.shoal")
    kept = shoal.load_release(tmp_path / "a.shoal")
    assert kept.cells.schema["age_low"] == pl.Int64
    assert ROLES["person"] not in kept.cells.columns
