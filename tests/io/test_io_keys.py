"""Keys of signatures: made once, kept by their owner, read without showing what they hold."""

import base64
import stat
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from shoal.errors import DataError, OptionError
from shoal.io.keys import make_key_pair, public_half, read_private_key, read_public_key


@pytest.fixture
def key(tmp_path):
    make_key_pair(tmp_path / "officer.key")
    return tmp_path / "officer.key"


def test_a_private_key_is_readable_by_its_owner_alone_and_has_its_public_half_beside_it(
    tmp_path, key
):
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert read_public_key(tmp_path / "officer.pub") == public_half(read_private_key(key))
    other, number = make_key_pair(tmp_path / "other.key")
    assert other == tmp_path / "other.pub"
    assert read_public_key(other) == number != public_half(read_private_key(key))


@pytest.mark.parametrize("there", ["officer.key", "officer.pub"])
def test_neither_half_is_ever_replaced_and_nothing_is_left_behind(tmp_path, there):
    (tmp_path / there).write_text("precious")
    with pytest.raises(OptionError, match="never replaced"):
        make_key_pair(tmp_path / "officer.key")
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "precious"


def test_a_private_key_cannot_have_the_name_of_a_public_one(tmp_path):
    with pytest.raises(OptionError, match="another ending"):
        make_key_pair(tmp_path / "officer.pub")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match=r"Could not write .*No such file"):
        make_key_pair(tmp_path / "none" / "officer.key")


def test_a_passphrase_protects_a_key(tmp_path):
    phrase, wrong = tmp_path / "phrase", tmp_path / "wrong"
    phrase.write_text("correct horse\nnot this line\n")
    wrong.write_text("battery staple")
    key = tmp_path / "officer.key"
    make_key_pair(key, phrase)
    assert b"ENCRYPTED" in key.read_bytes()
    assert public_half(read_private_key(key, phrase)) == read_public_key(tmp_path / "officer.pub")
    with pytest.raises(OptionError, match="--passphrase FILE"):
        read_private_key(key)
    with pytest.raises(DataError, match="does not open") as caught:
        read_private_key(key, wrong)
    assert "battery" not in str(caught.value)
    wrong.write_text("\nsecond line\n")
    with pytest.raises(DataError, match="first line is empty"):
        read_private_key(key, wrong)


def test_a_passphrase_for_a_key_without_one_is_refused(tmp_path, key):
    (tmp_path / "phrase").write_text("x")
    with pytest.raises(OptionError, match="leave --passphrase out"):
        read_private_key(key, tmp_path / "phrase")


def other_keys():
    curve = ec.generate_private_key(ec.SECP256R1())
    plain = form.NoEncryption()
    yield b""
    yield b"SECRET" * 20
    yield b"0" * 64 + b"\n"
    yield b"-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n"
    yield curve.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, plain)
    yield curve.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    raw = ed25519.Ed25519PrivateKey.generate().private_bytes_raw()
    yield raw


@pytest.mark.parametrize("content", list(other_keys()), ids=range(7))
def test_a_file_that_is_no_such_key_is_refused_without_its_content(tmp_path, content):
    wrong = tmp_path / "wrong.key"
    wrong.write_bytes(content)
    for read, words in ((read_private_key, "no private"), (read_public_key, "no public")):
        with pytest.raises(DataError, match=f"holds {words} Ed25519 key") as caught:
            read(wrong)
        assert "SECRET" not in str(caught.value)


def test_the_two_halves_are_not_taken_for_each_other(tmp_path, key):
    with pytest.raises(DataError, match="no public"):
        read_public_key(key)
    with pytest.raises(DataError, match="no private"):
        read_private_key(tmp_path / "officer.pub")


def test_a_missing_key_says_how_to_get_one(tmp_path):
    with pytest.raises(DataError, match="--new-key"):
        read_private_key(tmp_path / "none.key")
    with pytest.raises(DataError, match="ask whoever signs"):
        read_public_key(tmp_path / "none.pub")


def test_a_key_in_the_form_of_openssl_is_a_key(tmp_path):
    # As `openssl genpkey -algorithm ed25519` writes it, with the seed of RFC 8032, 7.1, test 1.
    seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    content = bytes.fromhex("302e020100300506032b657004220420" + seed)
    (tmp_path / "a.key").write_text(
        "-----BEGIN PRIVATE KEY-----\n"
        + base64.b64encode(content).decode()
        + "\n-----END PRIVATE KEY-----\n"
    )
    assert public_half(read_private_key(tmp_path / "a.key")).hex() == (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    )


def test_the_library_is_imported_only_where_it_is_used():
    code = (
        "import sys, shoal, shoal.cli.app, shoal.io.keys, shoal.report.signature;"
        "sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_installation_without_the_library_says_what_it_lacks(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for call in (make_key_pair, read_private_key, read_public_key):
        with pytest.raises(DataError, match="pip install cryptography"):
            call(tmp_path / "officer.key")
    assert list(tmp_path.iterdir()) == []
