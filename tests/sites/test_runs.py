"""Runs of sites and a coordinator as processes of their own, over TLS."""

import json
import signal
import socket
import ssl
import struct

import polars as pl
import pytest
from tests.helpers.sites_samples import (
    SITES,
    ended,
    patients,
    set_up,
    start_coordinator,
    start_site,
)

import shoal
from shoal.sites.agreement import read_agreement
from shoal.sites.coordinator import Coordinator
from shoal.sites.keys import make_key, read_identity
from shoal.sites.regions import Search
from shoal.sites.sharing import Sharing
from shoal.sites.transcript import Transcript
from shoal.sites.wire import HEAD, Kind, Line, SitesError

QI = ["age", "town", "sex"]


def parts_of(*sizes):
    return {
        name: patients(n, seed) for seed, (name, n) in enumerate(zip(SITES, sizes, strict=True))
    }


def check_nothing_left(folder):
    assert not list(folder.glob("*safe.csv"))
    assert not list(folder.glob("*.jsonl"))
    assert not [each for each in folder.iterdir() if each.name.startswith(".")]


def test_three_sites_publish_one_verified_release_and_show_no_small_number(tmp_path):
    parts = parts_of(60, 50, 40)
    set_up(tmp_path, parts)
    coordinator = start_coordinator(tmp_path)
    sites = [start_site(tmp_path, name, "--transcript", f"{name}.jsonl") for name in SITES]
    outcomes = [ended(each) for each in (*sites, coordinator)]
    assert [status for status, _, _ in outcomes] == [0] * 4, outcomes
    written = {(tmp_path / f"{name}-safe.csv").read_bytes() for name in SITES}
    assert len(written) == 1
    union = pl.read_csv(tmp_path / "east-safe.csv", infer_schema=False)
    everybody = pl.concat(parts.values())
    assert union.height == 150
    assert sorted(union["illness"]) == sorted(everybody["illness"])
    assert shoal.verify(union, 5, quasi_identifiers=QI, sensitive="illness")
    for name in SITES:
        text = (tmp_path / f"{name}.jsonl").read_text(encoding="utf-8")
        lines = [json.loads(each) for each in text.splitlines()]
        check_transcript(lines, k=5, n_cuts=255)
        assert not any(each in text for each in ("Alm", "Berg", "flu", "person"))


def check_transcript(lines, k, n_cuts):
    """Holds what a site may see: kinds, parties, lengths, and opened numbers of three kinds."""
    assert {each["kind"] for each in lines} <= {
        "ask", "dealt", "lookup", "product", "opened", "published rows of one site",
        "open size", "open cut", "open holds", "open published",
    }  # fmt: skip
    opened = [each for each in lines if each["kind"] == "opened"]
    for each in lines:
        if each["kind"] != "opened":
            assert set(each) <= {"kind", "to", "by", "bytes"}
    by_kind = {what: [e["numbers"] for e in opened if e["what"] == what] for what in
               ("size", "cut", "holds", "published")}  # fmt: skip
    assert sum(map(len, by_kind.values())) == len(opened)
    sizes = [n for numbers in by_kind["size"] for n in numbers]
    assert len(sizes) > 10
    assert all(n == 0 or n >= k for n in sizes)
    assert {n for numbers in by_kind["holds"] for n in numbers} <= {0, 1}
    for numbers in by_kind["cut"]:  # a level of worth, and the place of a cut in a public list
        levels, places = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
        assert all(0 <= n <= 31 for n in levels)
        assert all(0 <= n < n_cuts for n in places)
    # the release itself comes last, once all groups are final: its sensitive values by group
    assert len(by_kind["published"]) == 1
    assert lines.index(opened[-1]) > max(
        place for place, e in enumerate(lines) if e["kind"] in ("lookup", "product")
    )


@pytest.mark.long
@pytest.mark.parametrize("signal_of_death", [signal.SIGKILL, signal.SIGTERM])
def test_a_site_that_dies_ends_the_run_everywhere(tmp_path, signal_of_death):
    set_up(tmp_path, parts_of(60, 50, 40))
    coordinator = start_coordinator(tmp_path)
    # the third site never comes, so the others are in the middle of the run when one dies
    sites = [start_site(tmp_path, name, "--transcript", f"{name}.jsonl") for name in SITES[:2]]
    said = {coordinator.stderr.readline().strip() for _ in range(3)}
    assert said >= {"east is there.", "north is there."}
    sites[0].send_signal(signal_of_death)
    ended(sites[0])
    for each in (sites[1], coordinator):
        status, _, err = ended(each)
        assert status == 1
        assert "east" in err
        assert "nothing is published" in err
        assert err.strip().splitlines()[-1].count(".") <= 2
        assert "Traceback" not in err
    check_nothing_left(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("k = 5", "k = 6"), "comes with another job"),
        (("age = [0, 99]", "age = [0, 110]"), "comes with another job"),
        (('"gout", ', '"gout", "measles", '), "comes with another job"),
    ],
)
def test_a_site_with_another_job_ends_the_run_everywhere(tmp_path, change, sentence):
    job = set_up(tmp_path, parts_of(60, 50, 40))
    (tmp_path / "other.toml").write_text(job.read_text().replace(*change))
    coordinator = start_coordinator(tmp_path)
    sites = [start_site(tmp_path, "east", job="other.toml")]
    sites += [start_site(tmp_path, name) for name in SITES[1:]]
    for each in (*sites, coordinator):
        status, _, err = ended(each)
        assert status == 1
        assert f"east {sentence}" in err
    check_nothing_left(tmp_path)


@pytest.mark.long
def test_a_site_whose_table_does_not_fit_ends_the_run_everywhere(tmp_path):
    parts = parts_of(60, 50, 40)
    set_up(tmp_path, {**parts, "north": parts["north"].with_columns(age=pl.lit(200))})
    coordinator = start_coordinator(tmp_path)
    sites = {name: start_site(tmp_path, name) for name in SITES}
    for name, each in (*sites.items(), ("", coordinator)):
        status, _, err = ended(each)
        assert status == (2 if name == "north" else 1)
        assert ("outside of what the job says" if name == "north" else "north could not") in err
        assert "200" not in err
    check_nothing_left(tmp_path)


class Liar(Line):
    """A site that follows the protocol but for one message."""

    how = ""
    count = 0

    def send(self, kind, payload, to=0):
        Liar.count += 1
        if self.how == "twice" and kind == Kind.ASK:
            super().send(kind, payload, to)
        if self.how == "asks for something else" and kind == Kind.ASK:
            payload = bytes(len(payload))
        if self.how == "old number" and kind == Kind.ASK:
            self._sent -= 1
        super().send(kind, payload, to)

    def exchange(self, what, given, size):
        if self.how == "short share" and what == "lookup":
            given = given[:-4]
        if self.how == "share too large" and what == "lookup":
            given = struct.pack("<I", 0xFFFFFFFF) * (len(given) // 4)
        if self.how == "wrong sum" and what == "open size":
            given = bytes(range(1, 9)) * (len(given) // 8)
        return super().exchange(what, given, size)


def take_part(line, search):
    line.start()
    search.run()


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("twice", "south answered twice"),
        ("old number", "south answered twice"),
        ("asks for something else", "south sent a share that none can be"),
        ("short share", "south sent a share that none can be"),
        ("share too large", "south sent a share that none can be"),
        ("wrong sum", "do not fit together"),
    ],
)
def test_a_site_that_lies_or_repeats_itself_ends_the_run_everywhere(tmp_path, how, sentence):
    parts = parts_of(60, 50, 40)
    job = set_up(tmp_path, parts)
    coordinator = start_coordinator(tmp_path)
    honest = [start_site(tmp_path, name, "--transcript", f"{name}.jsonl") for name in SITES[:2]]
    agreement = read_agreement(job)
    me = read_identity(tmp_path / "south.key", tmp_path, agreement.fingerprints)
    line = Liar(agreement, me, Transcript(), patience=60, tell=lambda text: None)
    line.how = how
    codes = [c.codes(parts["south"][c.name]) for c in agreement.columns]
    secrets = [agreement.sensitive_codes("illness", parts["south"]["illness"])]
    with pytest.raises(SitesError):
        take_part(line, Search(agreement, codes, secrets, Sharing(line)))
    line.close()
    told = [ended(each) for each in (*honest, coordinator)]
    assert all(status == 1 for status, _, _ in told), told
    assert sum(sentence in err for _, _, err in told) == 3, told
    check_nothing_left(tmp_path)


@pytest.mark.long
def test_only_parties_of_the_job_may_speak(tmp_path):
    job = set_up(tmp_path, parts_of(60, 50, 40))
    make_key("stranger", tmp_path)
    agreement = read_agreement(job)
    coordinator = start_coordinator(tmp_path, "--patience", "60")
    assert "Waiting" in coordinator.stderr.readline()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(tmp_path / "coordinator.crt")
    context.load_cert_chain(tmp_path / "stranger.crt", tmp_path / "stranger.key")

    def speak():
        with (
            socket.create_connection(agreement.address) as raw,
            context.wrap_socket(raw) as line,
        ):
            line.sendall(HEAD.pack(Kind.HELLO, 0, 0, 32) + bytes(32))
            if not line.recv(1):
                raise ConnectionResetError

    with pytest.raises(OSError):  # TLS 1.3 refuses at the first answer
        speak()
    coordinator.terminate()
    ended(coordinator)


@pytest.mark.long
def test_a_slow_site_is_named_and_then_given_up(tmp_path):
    job = set_up(tmp_path, parts_of(60, 50, 40))
    agreement = read_agreement(job)
    me = read_identity(tmp_path / "coordinator.key", tmp_path, agreement.fingerprints)
    told = []
    sites = [start_site(tmp_path, name) for name in SITES[:2]]
    with pytest.raises(SitesError, match="south did not answer in time"):
        Coordinator(agreement, me, patience=45, tell=told.append).run()
    assert "Waiting for south." in told
    for each in sites:
        status, _, err = ended(each)
        assert status == 1
        assert "south did not answer in time" in err
        assert "Waiting for south." in err
    check_nothing_left(tmp_path)
