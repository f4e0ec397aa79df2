"""``shoal sign`` and ``shoal verify --certificate``: who vouches for a release, and for which."""

import json

import pytest
from tests.helpers.cli_samples import ROLES, but_progress


@pytest.fixture
def released(shoal_runs, table, tmp_path, monkeypatch):
    """A release with certificate and report, and a key pair, in the folder one works in."""
    monkeypatch.chdir(tmp_path)
    outcome = shoal_runs(
        "anonymize", table, "-o", "safe.csv", "--k", 4, *ROLES, "--algorithm", "mondrian",
        "--certificate", "certificate.json", "--report", "report.html", "--title", "Patients <1>",
        "--owner", "Data & office", "--purpose", "Teaching", "--quiet",
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    outcome = shoal_runs("sign", "--new-key", "officer.key")
    assert outcome.status == 0, outcome.err
    assert "give officer.pub to everybody" in outcome.out
    return tmp_path


VERIFY = ["verify", "safe.csv", "--certificate", "certificate.json"]


def test_a_release_is_signed_and_checked_in_one_go(shoal_runs, released):
    outcome = shoal_runs(*VERIFY)
    assert outcome.status == 0, outcome.err
    assert "\nSignature: NONE;" in outcome.out
    outcome = shoal_runs("sign", "certificate.json", "--key", "officer.key")
    assert outcome.status == 0, outcome.err
    shown = outcome.out.splitlines()
    assert shown[0].startswith("Promised with k = 4: k-anonymity")
    roles = [line.split() for line in shown[1:-1]]
    assert sorted(roles) == [
        ["identifier", "name"],
        ["quasi-identifier", "age"],
        ["quasi-identifier", "sex"],
        ["quasi-identifier", "zip"],
        ["sensitive", "diagnosis"],
    ]
    assert shown[-1].startswith("Signed: k = 4, a file with the SHA-256 ")
    outcome = shoal_runs(*VERIFY, "--public-key", "officer.pub")
    assert outcome.status == 0, outcome.err
    lines = outcome.out.splitlines()[-3:]
    assert lines[0] == "Promises: hold in this table (k = 4)."
    assert lines[1] == "File: the one that the certificate is about (SHA-256)."
    assert lines[2].startswith("Signature: valid, by the key that you trust")


def test_a_changed_release_a_changed_certificate_and_a_stranger_end_with_status_1(
    shoal_runs, released
):
    assert shoal_runs("sign", "certificate.json", "--key", "officer.key").status == 0
    shoal_runs("sign", "--new-key", "stranger.key")
    assert shoal_runs(*VERIFY, "--public-key", "stranger.pub").status == 1
    certificate, safe = released / "certificate.json", released / "safe.csv"
    data = certificate.read_text()
    certificate.write_text(data.replace('"seconds": ', '"seconds": 1'))
    outcome = shoal_runs(*VERIFY)
    assert outcome.status == 1
    assert "Signature: NOT VALID" in outcome.out
    certificate.write_text(data)
    safe.write_text(safe.read_text() + "\n")
    outcome = shoal_runs(*VERIFY)
    assert outcome.status == 1
    assert "File: NOT the one" in outcome.out


def test_a_key_that_others_can_read_signs_nothing(shoal_runs, released):
    (released / "officer.key").chmod(0o644)
    before = (released / "certificate.json").read_bytes()
    outcome = shoal_runs("sign", "certificate.json", "--key", "officer.key")
    assert (outcome.status, outcome.out) == (2, "")
    assert "Others can read or change the key 'officer.key'" in outcome.err
    assert (released / "certificate.json").read_bytes() == before


def test_quiet_says_it_by_the_status_alone(shoal_runs, released):
    outcome = shoal_runs(*VERIFY, "--quiet")
    assert (outcome.status, outcome.out) == (0, "")
    (released / "safe.csv").write_text("age,zip,sex,diagnosis\n1,2,3,4\n")
    outcome = shoal_runs(*VERIFY, "--quiet")
    assert (outcome.status, outcome.out) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*VERIFY, "--k", "3"], "The certificate says what was promised"),
        ([*VERIFY, "--qi", "age"], "The certificate says what was promised"),
        ([*VERIFY, "--alpha", "0.5"], "The certificate says what was promised"),
        (["verify", "safe.csv", "--k", "3", "--qi", "age", "--public-key", "x"], "--certificate"),
        (["verify", "-", *VERIFY[2:]], "A stream has no hash"),
        ([*VERIFY[:2], "--certificate", "none.json"], "There is no certificate"),
        ([*VERIFY[:2], "--certificate", "safe.csv"], "no certificate of Shoal"),
        ([*VERIFY, "--public-key", "safe.csv"], "no public Ed25519 key"),
        (["verify", "none.csv", *VERIFY[2:]], "none.csv"),
        (["sign"], "Say what to sign"),
        (["sign", "certificate.json"], "Say with which key"),
        (["sign", "certificate.json", "--key", "none.key"], "There is no file 'none.key'"),
        (["sign", "certificate.json", "--key", "safe.csv"], "no private Ed25519 key"),
        (["sign", "safe.csv", "--key", "officer.key"], "no certificate of Shoal"),
        (["sign", "officer.key", "--key", "officer.key"], "no certificate of Shoal"),
        (["sign", "--new-key", "officer.key"], "never replaced"),
        (["sign", "--new-key", "a.key", "--key", "officer.key"], "Give --key"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_changes_nothing(
    shoal_runs, released, arguments, words
):
    before = {path.name: path.read_bytes() for path in released.iterdir()}
    outcome = shoal_runs(*arguments)
    assert outcome.status == 2, outcome.out
    assert words in outcome.err
    assert len(but_progress(outcome.err.splitlines())) <= 2
    assert "SECRET" not in outcome.err
    assert {path.name: path.read_bytes() for path in released.iterdir()} == before


def test_a_key_can_be_made_and_used_at_once_with_a_passphrase(shoal_runs, released):
    (released / "phrase").write_text("correct horse\n")
    arguments = ["certificate.json", "--new-key", "b.key", "--passphrase", "phrase"]
    outcome = shoal_runs("sign", *arguments)
    assert outcome.status == 0, outcome.err
    assert "correct" not in outcome.out + outcome.err
    assert shoal_runs(*VERIFY, "--public-key", "b.pub").status == 0
    outcome = shoal_runs("sign", "certificate.json", "--key", "officer.key")
    assert outcome.status == 2
    assert "--replace" in outcome.err
    assert shoal_runs("sign", "certificate.json", "--key", "officer.key", "--replace").status == 0
    assert shoal_runs(*VERIFY, "--public-key", "officer.pub").status == 0


def test_title_owner_and_purpose_are_in_certificate_and_report(shoal_runs, released):
    about = json.loads((released / "certificate.json").read_text())["about"]
    assert about == {"title": "Patients <1>", "owner": "Data & office", "purpose": "Teaching"}
    page = (released / "report.html").read_text()
    assert "<h1>Patients &lt;1&gt;</h1>" in page
    assert "<dd>Data &amp; office</dd>" in page
    assert "let <b>Patients &lt;1&gt;</b> be published for this purpose: Teaching." in page


@pytest.mark.parametrize("name", ["title", "owner", "purpose"])
def test_what_is_said_about_a_release_has_to_be_printable_and_short(
    shoal_runs, table, refused, previous, name
):
    options = ("anonymize", table, "-o", previous, "--k", 4, *ROLES)
    refused(shoal_runs(*options, f"--{name}", "x"), 2, "are for the report and the certificate")
    report = ("--report", previous.parent.parent / "r.html")
    refused(shoal_runs(*options, *report, f"--{name}", "x" * 501), 2, f"{name} has 501 characters")
    refused(shoal_runs(*options, *report, f"--{name}", "a\x1b[31m"), 2, "cannot be printed")


def test_a_job_file_says_title_owner_and_purpose(shoal_runs, table, tmp_path):
    job = tmp_path / "job.toml"
    job.write_text(
        'k = 4\nalgorithm = "mondrian"\n[input]\npath = "patients.csv"\n[output]\n'
        'table = "safe.csv"\ncertificate = "c.json"\ntitle = "  Two\\n words "\nowner = ""\n'
        + "".join(
            f'[columns.{name}]\nrole = "{role}"\n'
            for name, role in (
                ("name", "drop"), ("age", "quasi-identifier"), ("zip", "quasi-identifier"),
                ("sex", "quasi-identifier"), ("diagnosis", "sensitive"),
            )
        )
    )  # fmt: skip
    outcome = shoal_runs("anonymize", "--job", job, "--purpose", "Tests")
    assert outcome.status == 0, outcome.err
    about = json.loads((tmp_path / "c.json").read_text())["about"]
    assert about == {"title": "Two words", "owner": None, "purpose": "Tests"}


def test_json_says_what_was_found_about_promises_file_and_signature(shoal_runs, released):
    assert shoal_runs("sign", "certificate.json", "--key", "officer.key").status == 0
    found = json.loads(shoal_runs(*VERIFY, "--public-key", "officer.pub", "--json").out)
    assert (found["holds"], found["same_file"], found["trusted"]) == (True, True, True)
    assert len(bytes.fromhex(found["signed_by"])) == 32
    (released / "safe.csv").write_text((released / "safe.csv").read_text() + "\n")
    outcome = shoal_runs(*VERIFY, "--json")
    found = json.loads(outcome.out)
    assert (outcome.status, found["holds"], found["same_file"]) == (1, False, False)
    assert found["promises"][0]["holds"]
