"""A signature is about every byte of a certificate, and a certificate about one file."""

import copy
import hashlib
import json
import sqlite3

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from tests.helpers.cli_samples import patients
from tests.helpers.effort import THOROUGH

import shoal
from shoal.errors import DataError, OptionError, PromiseError
from shoal.io.keys import make_key_pair, read_private_key
from shoal.report.certificate import read_certificate, sign_certificate, signed_bytes
from shoal.report.verify_certificate import verify_certificate


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release with its certificate, and a key pair."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "patients.csv").write_text(patients(), encoding="utf-8")
    roles = {
        "name": "identifier", "age": "quasi-identifier", "zip": "quasi-identifier",
        "sex": "quasi-identifier", "diagnosis": "sensitive",
    }  # fmt: skip
    shoal.run_job(
        shoal.Job(
            input=str(folder / "patients.csv"),
            output=shoal.Output(
                table=str(folder / "safe.csv"),
                certificate=str(folder / "certificate.json"),
                title="Patients of 2025, Zürich",
            ),
            columns={name: shoal.JobColumn(role=role) for name, role in roles.items()},
            k=4,
            algorithm="mondrian",
            privacy=[shoal.LDiversity(2, kind="distinct")],
        )
    )
    make_key_pair(folder / "officer.key")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """The same, to be changed."""
    for name in ("safe.csv", "certificate.json", "officer.key", "officer.pub"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    (tmp_path / "officer.key").chmod(0o600)
    return tmp_path


@pytest.fixture
def signed(folder):
    sign_certificate(folder / "certificate.json", read_private_key(folder / "officer.key"))
    return folder


def check(folder, **more):
    return verify_certificate(folder / "safe.csv", folder / "certificate.json", **more)


def test_an_unsigned_certificate_is_said_to_be_unsigned(folder):
    found = check(folder)
    assert (found.holds, found.same_file, found.signed_by, found.trusted) == (
        True,
        True,
        None,
        None,
    )
    assert [line.partition(":")[0] for line in found.lines] == ["Promises", "File", "Signature"]
    assert "hold in this table (k = 4 and 1 more)" in found.lines[0]
    assert found.lines[2].startswith("Signature: NONE; anybody may have written")


def test_whoever_wants_a_signature_is_not_content_without_one(folder):
    found = check(folder, public_key=folder / "officer.pub")
    assert not found
    assert "a signature was asked for" in found.lines[2]


def test_a_signature_that_matches_the_key_inside_proves_nothing_about_who_signed(signed):
    found = check(signed)
    assert found.holds
    assert found.trusted is None
    assert found.lines[2].startswith("Signature: signed by a key that you have not named, ")
    assert "valid" not in found.lines[2]
    assert "give --public-key" in found.lines[2]


def test_a_key_that_everybody_can_sign_for_is_nobodys(signed):
    # The neutral point as key: this one signature fits whatever stands in the certificate.
    weak, value = "01" + "00" * 31, "01" + "00" * 63
    path = signed / "certificate.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    for k in (2, 4):
        content["parameters"]["k"] = k
        content["signature"] |= {"public_key": weak, "value": value}
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(weak)).verify(
            bytes.fromhex(value), signed_bytes(content)
        )
        found = check(signed)
        assert (found.holds, found.signed_by) == (False, None)
        assert found.lines[2].startswith("Signature: NOT VALID")


def test_a_signature_by_a_trusted_key_holds(signed):
    found = check(signed, public_key=signed / "officer.pub")
    assert found.holds
    assert found.trusted is True
    assert found.lines[2].startswith("Signature: valid, by the key that you trust; signed 20")


def test_a_valid_signature_by_another_key_is_refused(signed):
    make_key_pair(signed / "stranger.key")
    found = check(signed, public_key=signed / "stranger.pub")
    assert not found.holds
    assert "ANOTHER key" in found.lines[2]


def test_a_signature_of_a_stranger_in_place_of_the_officers_is_noticed(signed):
    make_key_pair(signed / "stranger.key")
    path = signed / "certificate.json"
    sign_certificate(path, read_private_key(signed / "stranger.key"), replace=True)
    assert check(signed).holds
    assert not check(signed, public_key=signed / "officer.pub").holds


def fields(value, place=()):
    """Yield the place of every value of a certificate, and of every table and list."""
    yield place
    if isinstance(value, dict):
        for key, each in value.items():
            yield from fields(each, (*place, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from fields(each, (*place, number))


def other(value):
    """Return something else of the same type, as close as possible."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    if isinstance(value, dict):
        return {**value, "more": 1}
    return [*value, 1] if isinstance(value, list) else 0


def test_a_change_of_any_field_breaks_the_signature(signed):
    path = signed / "certificate.json"
    content = json.loads(path.read_bytes())
    places = [place for place in fields(content) if place]
    assert len(places) > 80
    for place in places:
        for change in ("another value", "gone"):
            changed = copy.deepcopy(content)
            inside = changed
            for step in place[:-1]:
                inside = inside[step]
            if change == "gone":
                del inside[place[-1]]
            else:
                inside[place[-1]] = other(inside[place[-1]])
            path.write_text(json.dumps(changed, indent=2, ensure_ascii=False) + "\n")
            try:
                found = check(signed, public_key=signed / "officer.pub")
            except shoal.ShoalError:
                continue  # no certificate any more, or one about other columns
            assert not found.holds, (place, change)
            assert found.trusted is False, (place, change)


def test_a_change_of_any_byte_breaks_the_signature(signed):
    path = signed / "certificate.json"
    data = path.read_bytes()
    key = read_certificate(path).signed_by()
    assert key is not None
    for place in range(0, len(data), 1 if THOROUGH else 7):
        for byte in (data[place] ^ 1, data[place] ^ 32):
            path.write_bytes(data[:place] + bytes([byte]) + data[place + 1 :])
            try:
                assert read_certificate(path).signed_by() is None, place
            except DataError:
                continue


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data + b"\n",
        lambda data: data.rstrip(b"\n"),
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"  ", b"\t", 1),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace("ü".encode(), b"\\u00fc"),
        lambda data: json.dumps(json.loads(data)).encode(),
        lambda data: data.replace(b'"k": 4', b'"k": 4.0'),
        lambda data: data.replace(b'"holds": true', b'"holds": true,\n  "holds": true', 1),
    ],
)
def test_the_same_content_in_other_bytes_is_not_what_was_signed(signed, change):
    path = signed / "certificate.json"
    before = path.read_bytes()
    path.write_bytes(change(before))
    assert path.read_bytes() != before
    try:
        assert read_certificate(path).signed_by() is None
    except DataError as error:
        assert "no certificate of Shoal" in str(error)  # noqa: PT017 - either is right


@pytest.mark.parametrize("place", [0, 40, -2])
def test_a_changed_byte_of_the_release_is_noticed(signed, place):
    path = signed / "safe.csv"
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(bytes(data))
    try:
        found = check(signed, public_key=signed / "officer.pub")
    except shoal.ShoalError:
        return  # a column has another name
    assert not found.holds
    assert not found.same_file
    assert found.lines[1].startswith("File: NOT the one")
    assert found.trusted is True


def test_a_release_that_breaks_its_promise_is_broken_whatever_is_signed(signed):
    path = signed / "safe.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:3]))
    found = check(signed)
    assert not found.promises.holds
    assert found.lines[0].startswith("Promises: BROKEN in this table: k-anonymity")


def test_the_hash_is_that_of_the_bytes_of_the_published_file(made):
    stated = json.loads((made / "certificate.json").read_text())["output"]["sha256"]
    assert stated == hashlib.sha256((made / "safe.csv").read_bytes()).hexdigest()


def test_what_is_signed_is_the_file_without_the_value_of_the_signature(signed):
    data = (signed / "certificate.json").read_bytes()
    head, _, rest = data.rpartition(b',\n    "value": "')
    message = head + rest[128 + 1 :]
    stated = json.loads(data)["signature"]
    assert list(stated) == ["algorithm", "signed", "public_key", "value"]
    assert stated["algorithm"] == "Ed25519"
    assert message == signed_bytes(json.loads(data))
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(stated["public_key"]))
    public.verify(bytes.fromhex(stated["value"]), message)


def test_signing_changes_nothing_else_and_is_done_once(folder):
    path, key = folder / "certificate.json", read_private_key(folder / "officer.key")
    before = json.loads(path.read_text())
    sign_certificate(path, key)
    after = json.loads(path.read_text())
    assert after.pop("signature")
    assert after == before
    data = path.read_bytes()
    with pytest.raises(OptionError, match="signed already"):
        sign_certificate(path, key)
    assert path.read_bytes() == data
    sign_certificate(path, key, replace=True)
    assert check(folder, public_key=folder / "officer.pub").holds


def test_a_certificate_that_says_no_or_belongs_to_no_file_is_not_signed(folder):
    path, key = folder / "certificate.json", read_private_key(folder / "officer.key")
    content = json.loads(path.read_text())
    for change, error in (
        ({"holds": False}, PromiseError),
        ({"promises": [{**content["promises"][0], "holds": False}]}, PromiseError),
        ({"output": {**content["output"], "sha256": None}}, OptionError),
    ):
        path.write_text(json.dumps({**content, **change}))
        before = path.read_bytes()
        with pytest.raises(error):
            sign_certificate(path, key)
        assert path.read_bytes() == before


def test_a_certificate_without_a_hash_is_about_no_file(folder):
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "output": {**content["output"], "sha256": None}}))
    found = check(folder)
    assert not found.holds
    assert "holds no hash" in found.lines[1]


def test_a_promise_that_nobody_can_check_is_not_passed_over(folder):
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    promises = [*content["promises"], {**content["promises"][0], "name": "everlasting secrecy"}]
    path.write_text(json.dumps({**content, "promises": promises}))
    with pytest.raises(DataError, match="'everlasting secrecy', but does not say how"):
        check(folder)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", "null", "SECRET", '{"schema_version": 2}', '{"a": 1, "a": 2}',
        "[" * 100_000, '{"schema_version": NaN}', "\ud800",
    ],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_certificate_is_one_sentence(folder, text):
    (folder / "certificate.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(DataError, match="is no certificate of Shoal") as caught:
        check(folder)
    assert "SECRET" not in str(caught.value)


def test_a_certificate_of_a_newer_version_is_not_misread(folder):
    path = folder / "certificate.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 99}))
    with pytest.raises(DataError, match="newer version"):
        check(folder)


def test_a_table_of_a_database_has_a_certificate_too(made, folder):
    url = f"sqlite:///{folder / 'clinic.db'}?table=safe"
    columns = {
        name: shoal.JobColumn(role=role)
        for name, role in (
            ("name", "drop"),
            ("age", "quasi-identifier"),
            ("diagnosis", "sensitive"),
        )
    }
    columns |= {name: shoal.JobColumn(role="insensitive") for name in ("zip", "sex")}
    certificate = folder / "certificate.json"
    shoal.run_job(
        shoal.Job(
            input=str(made / "patients.csv"),
            output=shoal.Output(table=url, certificate=str(certificate), replace=True),
            columns=columns,
            k=4,
            algorithm="mondrian",
        )
    )
    sign_certificate(certificate, read_private_key(folder / "officer.key"))
    assert verify_certificate(url, certificate, public_key=folder / "officer.pub").holds
    with sqlite3.connect(folder / "clinic.db") as base:
        base.execute("UPDATE safe SET diagnosis = 'other' WHERE rowid = 1")
    base.close()
    found = verify_certificate(url, certificate)
    assert found.promises.holds
    assert not found.same_file


def test_lines_of_a_grid_are_checked_with_the_certificate(made, folder):
    certificate, safe = folder / "certificate.json", folder / "safe.csv"
    shoal.run_job(
        shoal.Job(
            input=str(made / "patients.csv"),
            output=shoal.Output(table=str(safe), certificate=str(certificate), replace=True),
            columns={
                "name": shoal.JobColumn(role="drop"),
                "age": shoal.JobColumn(role="quasi-identifier", grid="5"),
                "zip": shoal.JobColumn(role="drop"),
                "sex": shoal.JobColumn(role="drop"),
                "diagnosis": shoal.JobColumn(role="sensitive"),
            },
            k=4,
            algorithm="mondrian",
            style={"interval_format": "{low} up to {high}"},
        )
    )
    found = check(folder)
    assert found.holds
    assert [each.name for each in found.promises.checks] == ["k-anonymity", "grid of 'age'"]
    lines = safe.read_text().splitlines()
    cell = next(line.partition(",")[0] for line in lines[1:] if " up to " in line)
    low, _, high = cell.partition(" up to ")
    safe.write_text(safe.read_text().replace(cell, f"{int(low) + 1} up to {high}"))
    assert check(folder).lines[0] == "Promises: BROKEN in this table: grid of 'age'."


def test_python_signs_and_checks_as_the_command_line_does(made, folder):
    public = shoal.make_key(folder / "second.key")
    assert public == folder / "second.pub"
    certificate = folder / "certificate.json"
    key = shoal.sign(certificate, folder / "second.key", replace=True)
    found = shoal.verify_certificate(folder / "safe.csv", certificate, public_key=public)
    assert isinstance(found, shoal.Certified)
    assert found.holds
    assert found.trusted
    assert found.signed_by == key
    assert not shoal.verify_certificate(
        folder / "safe.csv", certificate, public_key=folder / "officer.pub"
    )
    with pytest.raises(OptionError, match="signed already"):
        shoal.sign(certificate, folder / "officer.key")
