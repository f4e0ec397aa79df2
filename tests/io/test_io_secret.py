"""A keyed hash ties a certificate to its input and tells others nothing."""

import hashlib
import hmac
import stat

import polars as pl
import pytest

import shoal
from shoal.errors import DataError, OptionError
from shoal.io.keys import keyed_sha256, make_secret, read_secret


@pytest.fixture
def key(tmp_path):
    make_secret(tmp_path / "officer.key")
    return tmp_path / "officer.key"


def test_a_key_is_random_and_readable_by_its_owner_alone(tmp_path, key):
    make_secret(tmp_path / "other.key")
    assert read_secret(key) != read_secret(tmp_path / "other.key")
    assert len(read_secret(key)) == 32
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_a_key_is_never_replaced(key):
    before = key.read_bytes()
    with pytest.raises(OptionError, match="never replaced"):
        make_secret(key)
    assert key.read_bytes() == before


def test_the_hash_is_the_standard_one_of_the_bytes_of_the_file(tmp_path, key):
    table = tmp_path / "t.csv"
    table.write_bytes(b"age,ill\n1,flu\n" * 200_000)
    expected = hmac.new(bytes.fromhex(key.read_text().strip()), table.read_bytes(), hashlib.sha256)
    assert keyed_sha256(table, key) == expected.hexdigest()
    assert shoal.keyed_sha256(table, key) == expected.hexdigest()
    table.write_bytes(table.read_bytes()[:-2] + b"x\n")
    assert keyed_sha256(table, key) != expected.hexdigest()


def test_rows_of_a_database_have_a_hash_whatever_their_order(key):
    frame = pl.DataFrame({"a": [1, 2, 3]})
    assert keyed_sha256(frame, key) == keyed_sha256(frame.reverse(), key)
    assert keyed_sha256(frame, key) != keyed_sha256(frame.head(2), key)


@pytest.mark.parametrize("content", [b"", b"secret", b"0" * 63, b"g" * 64, b"0" * 65, b"\xff" * 64])
def test_a_file_that_is_no_key_is_refused_without_its_content(tmp_path, content):
    wrong = tmp_path / "wrong.key"
    wrong.write_bytes(content)
    with pytest.raises(DataError, match="holds no key") as caught:
        read_secret(wrong)
    assert "secret'" not in str(caught.value).replace("'shoal secret'", "")


def test_a_key_that_others_can_read_is_refused(key):
    key.chmod(0o640)
    with pytest.raises(OptionError, match="Others can read or change"):
        read_secret(key)


def test_a_missing_key_says_how_to_make_one(tmp_path):
    with pytest.raises(DataError, match="shoal secret"):
        read_secret(tmp_path / "none.key")


def test_a_missing_input_is_one_sentence(tmp_path, key):
    with pytest.raises(DataError, match=r"Could not read .*none\.csv"):
        keyed_sha256(tmp_path / "none.csv", key)
