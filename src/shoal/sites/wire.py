"""How the parties speak: one TLS connection of each site to the coordinator, and TLS inside it.

Sites only call out; the coordinator alone is called. What a site tells another goes through the
coordinator, inside a TLS connection between these two (`ssl.MemoryBIO`), so that the coordinator
sees how long it is and nothing else. A frame is a kind, a party, a number that rises by one, a
length and that many bytes.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import time
from enum import IntEnum
from typing import TYPE_CHECKING

from shoal.errors import ShoalError
from shoal.messages import Message
from shoal.sites.sharing import Dealt

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.sites.agreement import Agreement
    from shoal.sites.keys import Identity
    from shoal.sites.sharing import Ints, Wanted
    from shoal.sites.transcript import Transcript

HEAD = struct.Struct(">BBIQ")
MOST_BYTES = 1 << 30
NOTICE = 10.0
"""Seconds until it is said who is waited for."""


class Kind(IntEnum):
    """What a frame is."""

    HELLO = 1
    """A site to the coordinator: the hash of what all have to agree on."""
    START = 2
    """The coordinator to a site: all are there."""
    ASK = 3
    """What random numbers are wanted: the first site in full, the others a hash of it."""
    DEALT = 4
    """The random numbers of one site."""
    RELAY = 5
    """Bytes of TLS between two sites."""
    WAIT = 6
    """The coordinator to a site: who is waited for."""
    DONE = 7
    """A site to the coordinator: the union is verified; its hash."""
    PUBLISH = 8
    """The coordinator to a site: all have verified the same."""
    END = 9
    """A site to the coordinator: the release is written."""
    STOP = 10
    """Why the run ends, and whose doing it is."""


class SitesError(ShoalError):
    """The run over several sites has ended, and nothing is published."""

    exit_status = 1

    def __init__(self, why: str, party: str = "") -> None:
        self.why, self.party = why, party
        super().__init__(Message(REASONS.get(why, REASONS["failed"]), party=party))

    def pack(self) -> bytes:
        """Return it as bytes."""
        return json.dumps([self.why, self.party]).encode()

    @classmethod
    def unpack(cls, given: bytes, parties: tuple[str, ...]) -> SitesError:
        """Return the error that another party tells of, in words of our own."""
        try:
            why, party = json.loads(given)
        except ValueError:
            return cls("failed")
        known = isinstance(party, str) and party in parties
        return cls(why if why in REASONS else "failed", party if known else "")


REASONS = {
    "left": Message("{party} ended the connection, so nothing is published; start the run again."),
    "other job": Message(
        "{party} comes with another job, so nothing is published; columns, hierarchies, ranges, "
        "values, promises and fingerprints have to be the same at all sites."
    ),
    "twice": Message("{party} answered twice, so nothing is published; start the run again."),
    "malformed": Message(
        "{party} sent a share that none can be, so nothing is published; all sites need the same "
        "version of Shoal."
    ),
    "do not fit": Message(
        "The counts of the sites do not fit together, so one of them is wrong and nothing is "
        "published."
    ),
    "silent": Message(
        "{party} did not answer in time, so nothing is published; start the run again, with more "
        "--patience if it needs longer."
    ),
    "too few": Message(
        "All sites together have fewer than k rows, or too few sensitive values, so no release "
        "can keep the promises and nothing is published."
    ),
    "other union": Message(
        "The sites did not arrive at the same union, so nothing is published; all of them need "
        "the same version of Shoal."
    ),
    "failed": Message("{party} could not go on, so nothing is published; see what it says."),
}


class Line:
    """The connection of a site to the coordinator, and through it to the other sites."""

    def __init__(
        self,
        agreement: Agreement,
        me: Identity,
        transcript: Transcript,
        *,
        patience: float,
        tell: Callable[[str], None],
    ) -> None:
        self.agreement, self.me, self.transcript = agreement, me, transcript
        self.patience, self.tell = patience, tell
        self.place = agreement.sites.index(me.name)
        self.n_sites = len(agreement.sites)
        self._sent = self._received = 0
        self._waiting: list[tuple[int, bytes]] = []
        self._peers: dict[int, Peer] = {}
        raw = self._call()
        raw.settimeout(patience)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            self.socket = me.context(server=False).wrap_socket(raw)
        except (OSError, ssl.SSLError):
            raise SitesError("left", "coordinator") from None
        if me.party_of(self.socket.getpeercert(binary_form=True)) != "coordinator":
            raise SitesError("malformed", "coordinator")

    def _call(self) -> socket.socket:
        """Return a connection to the coordinator, which may start a moment later."""
        host, port = self.agreement.address
        until, told = time.monotonic() + self.patience, False
        while True:
            try:
                return socket.create_connection((host, port), timeout=10)
            except OSError:
                if time.monotonic() > until:
                    raise SitesError("silent", "coordinator") from None
                if not told:
                    self.tell(Message("Waiting for {party}.", party="coordinator"))
                    told = True
                time.sleep(0.3)

    def start(self) -> None:
        """Agree with all others, and open TLS to each."""
        self.send(Kind.HELLO, self.agreement.digest)
        self._expect(Kind.START)
        for other in range(self.n_sites):
            if other != self.place:
                self._peers[other] = Peer(self, other)
        for first in range(self.n_sites):
            for second in range(first + 1, self.n_sites):
                if self.place in (first, second):
                    self._peers[first + second - self.place].shake_hands()

    # -- frames ----------------------------------------------------------------------------------

    def send(self, kind: Kind, payload: bytes, to: int = 0) -> None:
        """Send a frame to the coordinator."""
        head = HEAD.pack(kind, to, self._sent, len(payload))
        self._sent += 1
        try:
            self.socket.sendall(head + payload)
        except OSError:
            self._learn_why()
            raise SitesError("left", "coordinator") from None

    def _learn_why(self) -> None:
        """Raise the error that the coordinator has told before it left, if it has."""
        try:
            while True:
                self._read()
        except (SitesError, OSError) as error:
            if isinstance(error, SitesError) and error.why != "left":
                raise

    def _bytes(self, n: int, who: str) -> bytes:
        parts, missing = [], n
        begin, told = time.monotonic(), False
        while missing:
            self.socket.settimeout(1.0)
            try:
                part = self.socket.recv(min(missing, 1 << 20))
            except TimeoutError:
                waited = time.monotonic() - begin
                if waited > self.patience:
                    raise SitesError("silent", who) from None
                if waited > NOTICE and not told and who != "coordinator":
                    self.tell(Message("Waiting for {party}.", party=who))
                    told = True
                continue
            except OSError:
                raise SitesError("left", "coordinator") from None
            finally:
                self.socket.settimeout(self.patience)
            if not part:
                raise SitesError("left", "coordinator")
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _read(self, who: str = "coordinator") -> tuple[int, int, bytes]:
        kind, party, number, length = HEAD.unpack(self._bytes(HEAD.size, who))
        if number != self._received or length > MOST_BYTES:
            raise SitesError("malformed", "coordinator")
        self._received += 1
        payload = self._bytes(length, who)
        if kind == Kind.STOP:
            raise SitesError.unpack(payload, self.agreement.parties)
        return kind, party, payload

    def _next(self, who: str = "coordinator") -> tuple[int, bytes] | None:
        """Return the next frame, unless it was for one of the other sites or says who is slow."""
        kind, party, payload = self._read(who)
        if kind == Kind.RELAY and party in self._peers:
            self._peers[party].feed(payload)
            return None
        if kind == Kind.WAIT:
            slow = SitesError.unpack(payload, self.agreement.parties).party
            self.tell(Message("Waiting for {party}.", party=slow))
            return None
        return kind, payload

    def _expect(self, kind: Kind) -> bytes:
        while True:
            found = self._next()
            if found is None:
                continue
            if found[0] != kind:
                raise SitesError("malformed", "coordinator")
            return found[1]

    def listen_for(self, other: int) -> None:
        """Take one frame while something of another site is awaited."""
        if self._next(self.agreement.sites[other]) is not None:
            raise SitesError("malformed", "coordinator")

    # -- what sharing needs ----------------------------------------------------------------------

    def ask(self, wanted: Wanted) -> Dealt:
        """Return what the coordinator deals."""
        from hashlib import sha256

        asked = wanted.pack()
        self.transcript.note("ask", to="coordinator", bytes=len(asked))
        self.send(Kind.ASK, asked if self.place == 0 else sha256(asked).digest())
        given = self._expect(Kind.DEALT)
        self.transcript.note("dealt", by="coordinator", bytes=len(given))
        try:
            dealt = Dealt.unpack(given, wanted)
        except ValueError:
            raise SitesError("malformed", "coordinator") from None
        if len(wanted.sizes) and bool((dealt.shift >= wanted.sizes).any()):
            raise SitesError("malformed", "coordinator")
        return dealt

    def exchange(self, what: str, given: bytes, size: int | None) -> list[bytes]:
        """Send all other sites the same bytes; return theirs."""
        for peer in self._peers.values():
            peer.send(given)
        found = []
        for other, peer in self._peers.items():
            found.append(peer.receive(size))
            self.transcript.note(what, by=self.agreement.sites[other], bytes=len(found[-1]))
        return found

    def malformed(self, site: int | None) -> SitesError:
        """Return the error of a share that none can be; sites count without this one."""
        if site is None:
            return SitesError("do not fit")
        return SitesError("malformed", self.agreement.sites[list(self._peers)[site]])

    def note_opened(self, what: str, numbers: Ints) -> None:
        """Write down what was opened."""
        self.transcript.note("opened", what=what, numbers=numbers.tolist())

    # -- the end ---------------------------------------------------------------------------------

    def all_have(self, digest: bytes) -> None:
        """Return when every site has verified a union with this hash."""
        self.send(Kind.DONE, digest)
        self._expect(Kind.PUBLISH)

    def end(self) -> None:
        """Tell the coordinator that the release is written; nothing hangs on it any more."""
        try:
            self.send(Kind.END, b"")
        except (OSError, SitesError):
            return

    def stop(self, error: SitesError) -> None:
        """Tell the coordinator why this site ends the run, if it still listens."""
        try:
            self.send(Kind.STOP, error.pack())
        except (OSError, SitesError):
            return

    def close(self) -> None:
        """End the connection."""
        self.socket.close()


class Peer:
    """TLS to another site; the coordinator passes on what it does not understand."""

    def __init__(self, line: Line, other: int) -> None:
        self.line, self.other = line, other
        self.name = line.agreement.sites[other]
        self.into, self.out = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = line.place < other
        context = line.me.context(server=server)
        self.tls = context.wrap_bio(self.into, self.out, server_side=server)
        self._sent = self._received = 0

    def feed(self, payload: bytes) -> None:
        """Take bytes that came from the other site."""
        self.into.write(payload)

    def _flush(self) -> None:
        if self.out.pending:
            self.line.send(Kind.RELAY, self.out.read(), self.other)

    def shake_hands(self) -> None:
        """Make sure that it is this site that is spoken to."""
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush()
                self.line.listen_for(self.other)
            except ssl.SSLError:
                raise SitesError("malformed", self.name) from None
        self._flush()
        if self.line.me.party_of(self.tls.getpeercert(binary_form=True)) != self.name:
            raise SitesError("malformed", self.name)

    def send(self, payload: bytes) -> None:
        """Send a message: a number that rises by one, a length, and the bytes."""
        self.tls.write(HEAD.pack(0, 0, self._sent, len(payload)))
        self._sent += 1
        for begin in range(0, len(payload), 1 << 20):
            self.tls.write(payload[begin : begin + (1 << 20)])
            self._flush()
        self._flush()

    def receive(self, size: int | None) -> bytes:
        """Return the next message, of a known length unless None."""
        _, _, number, length = HEAD.unpack(self._read(HEAD.size))
        if number != self._received:
            raise SitesError("twice", self.name)
        if length > MOST_BYTES or (size is not None and length != size):
            raise SitesError("malformed", self.name)
        self._received += 1
        return self._read(length)

    def _read(self, n: int) -> bytes:
        parts, missing = [], n
        while missing:
            try:
                part = self.tls.read(min(missing, 1 << 20))
            except ssl.SSLWantReadError:
                self.line.listen_for(self.other)
                continue
            except ssl.SSLError:
                raise SitesError("malformed", self.name) from None
            if not part:
                raise SitesError("left", self.name)
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
