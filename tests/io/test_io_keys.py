"""Keys of signatures: made once, kept by their owner, read without showing what they hold."""

import base64
import stat
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from shoal.errors import DataError, OptionError
from shoal.io.keys import is_weak, make_key_pair, public_half, read_private_key, read_public_key


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
    (tmp_path / "a.key").touch(0o600)
    (tmp_path / "a.key").write_text(
        "-----BEGIN PRIVATE KEY-----\n"
        + base64.b64encode(content).decode()
        + "\n-----END PRIVATE KEY-----\n"
    )
    assert public_half(read_private_key(tmp_path / "a.key")).hex() == (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    )


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_private_key_that_others_can_read_or_change_is_refused(tmp_path, key, mode):
    phrase = tmp_path / "phrase"
    phrase.write_text("correct horse")
    make_key_pair(tmp_path / "sealed.key", phrase)
    for each, secret in ((key, None), (tmp_path / "sealed.key", phrase)):
        each.chmod(mode)
        with pytest.raises(OptionError, match=r"Others can read or change .* chmod 600"):
            read_private_key(each, secret)
        each.chmod(0o400)
        assert read_private_key(each, secret)


P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


def add(a, b):
    """Add two points of the curve of RFC 8032, 5.1.4, in plain coordinates."""
    cross = D * a[0] * b[0] * a[1] * b[1]
    x = (a[0] * b[1] + b[0] * a[1]) * pow(1 + cross, -1, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - cross, -1, P)
    return x % P, y % P


def point_of(public):
    """Decode as RFC 8032, 5.1.3, but for numbers beyond the prime, which libraries take."""
    number = int.from_bytes(public, "little")
    y = number % 2**255 % P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    assert x * x % P == square
    return (x if x % 2 == number >> 255 else -x % P), y


def eightfold(point):
    for _ in range(3):
        point = add(point, point)
    return point


def test_keys_of_small_order_are_weak_in_each_of_their_forms():
    # Points of order 8 are found by multiplying any point with the order of the large group.
    order = 2**252 + 27742317777372353535851937790883648493
    found = set()
    for start in range(2, 40):
        try:
            power, small = point_of(start.to_bytes(32, "little")), (0, 1)
        except AssertionError:  # no point of the curve
            continue
        for bit in bin(order)[:1:-1]:
            small = add(small, power) if bit == "1" else small
            power = add(power, power)
        found.add(small)
    while len(found) < len({add(a, b) for a in found for b in found}):
        found = {add(a, b) for a in found for b in found}
    assert len(found) == 8
    forms = {
        (y + more + (sign << 255)).to_bytes(32, "little")
        for _, y in found
        for more in (0, P)
        for sign in (0, 1)
        if y + more < 2**255
    }
    assert all(eightfold(point_of(each)) == (0, 1) for each in forms)
    assert all(is_weak(each) for each in forms)


def test_a_key_that_somebody_has_is_not_weak(tmp_path, key):
    made = [public_half(read_private_key(key))]
    made += [
        ed25519.Ed25519PrivateKey.from_private_bytes(bytes([each] * 32))
        .public_key()
        .public_bytes_raw()
        for each in range(20)
    ]
    for each in made:
        assert eightfold(point_of(each)) != (0, 1)
        assert not is_weak(each)


def test_a_public_key_that_everybody_can_sign_for_is_refused(tmp_path):
    # SubjectPublicKeyInfo of the neutral point
    content = bytes.fromhex("302a300506032b6570032100" + "01" + "00" * 31)
    (tmp_path / "weak.pub").write_text(
        "-----BEGIN PUBLIC KEY-----\n"
        + base64.b64encode(content).decode()
        + "\n-----END PUBLIC KEY-----\n"
    )
    with pytest.raises(DataError, match="anybody can sign with"):
        read_public_key(tmp_path / "weak.pub")


def test_the_library_is_imported_only_where_it_is_used():
    code = (
        "import sys, shoal, shoal.cli.app, shoal.io.keys, shoal.report.certificate;"
        "sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_installation_without_the_library_says_what_it_lacks(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for call in (make_key_pair, read_private_key, read_public_key):
        with pytest.raises(DataError, match="pip install cryptography"):
            call(tmp_path / "officer.key")
    assert list(tmp_path.iterdir()) == []
