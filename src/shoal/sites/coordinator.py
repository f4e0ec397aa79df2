"""The coordinator: passes on what sites tell each other, deals random numbers, and sees no row."""

from __future__ import annotations

import asyncio
import contextlib
from hashlib import sha256
from typing import TYPE_CHECKING

from shoal.messages import Message
from shoal.sites.sharing import Wanted, deal
from shoal.sites.wire import HEAD, MOST_BYTES, NOTICE, Kind, SitesError

if TYPE_CHECKING:
    from collections.abc import Callable

    from shoal.sites.agreement import Agreement
    from shoal.sites.keys import Identity


class _Site:
    """A site that has called."""

    def __init__(self, place: int, writer: asyncio.StreamWriter) -> None:
        self.place, self.writer = place, writer
        self.sent = self.received = 0
        self.said: tuple[int, bytes] | None = None
        self.bytes = 0

    def send(self, kind: Kind, payload: bytes = b"", who: int = 0) -> None:
        """Send a frame; what is not taken yet waits in memory."""
        self.writer.write(HEAD.pack(kind, who, self.sent, len(payload)) + payload)
        self.sent += 1


class Coordinator:
    """One run: all sites call, ask for random numbers, and agree on a union."""

    def __init__(
        self,
        agreement: Agreement,
        me: Identity,
        *,
        patience: float,
        tell: Callable[[str], None],
    ) -> None:
        self.agreement, self.me = agreement, me
        self.patience, self.tell = patience, tell
        self.sites: dict[int, _Site] = {}
        self.bytes = self.messages = 0

    def run(self) -> None:
        """Wait for all sites, and serve until the release is written everywhere.

        Raises:
            SitesError: it is not; every site was told why.
        """
        asyncio.run(self._run())

    async def _run(self) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.changed = asyncio.Event()
        host, port = self.agreement.address
        context = self.me.context(server=True)
        server = await asyncio.start_server(self._greet, host, port, ssl=context)
        watch = asyncio.create_task(self._watch())
        try:
            self.tell(Message("Waiting for {party}.", party=", ".join(self.agreement.sites)))
            await self.ended
        except SitesError as error:
            for site in self.sites.values():
                site.send(Kind.STOP, error.pack())
            raise
        finally:
            watch.cancel()
            server.close()
            for site in self.sites.values():
                site.writer.close()  # once all that waits was taken
            for site in self.sites.values():
                with contextlib.suppress(OSError, TimeoutError):
                    await asyncio.wait_for(site.writer.wait_closed(), 5)

    def _end(self, error: SitesError | None = None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        name = self.me.party_of(shown)
        if name not in self.agreement.sites or self.ended.done():
            writer.close()
            return
        place = self.agreement.sites.index(name)
        if place in self.sites:
            writer.close()
            self._end(SitesError("twice", name))
            return
        site = self.sites[place] = _Site(place, writer)
        self.tell(Message("{party} is there.", party=name))
        try:
            while not self.ended.done():
                await self._take(site, reader)
        except SitesError as error:
            self._end(error)
        except asyncio.CancelledError:
            if not self.ended.done():  # nobody listens any more, once the run has ended
                raise
        except (OSError, asyncio.IncompleteReadError):
            if site.said is None or site.said[0] != Kind.END:  # who is done may leave
                self._end(SitesError("left", name))

    async def _take(self, site: _Site, reader: asyncio.StreamReader) -> None:
        """Take one frame of a site."""
        name = self.agreement.sites[site.place]
        kind, to, number, length = HEAD.unpack(await reader.readexactly(HEAD.size))
        if number != site.received:
            raise SitesError("twice", name)
        if length > MOST_BYTES:
            raise SitesError("malformed", name)
        site.received += 1
        payload = await reader.readexactly(length)
        self.messages += 1
        self.bytes += HEAD.size + length
        if kind == Kind.RELAY:
            if to not in self.sites or to == site.place:
                raise SitesError("malformed", name)
            self.sites[to].send(Kind.RELAY, payload, site.place)
        elif kind == Kind.STOP:
            found = SitesError.unpack(payload, self.agreement.parties)
            raise found if found.party else SitesError(found.why, name)
        elif kind not in (Kind.HELLO, Kind.ASK, Kind.DONE, Kind.END):
            raise SitesError("malformed", name)
        elif site.said is not None:
            raise SitesError("twice", name)
        else:
            site.said = kind, payload
            self.changed.set()
            self._answer()

    def _answer(self) -> None:
        """Answer all sites, once all of them have spoken."""
        if any(self._is_awaited(place) for place in range(len(self.agreement.sites))):
            return
        said = [self.sites[place].said for place in range(len(self.sites))]
        kinds = {each[0] for each in said if each is not None}
        payloads = [each[1] for each in said if each is not None]
        for site in self.sites.values():
            site.said = None
        if kinds == {Kind.HELLO}:
            for place, payload in enumerate(payloads):
                if payload != self.agreement.digest:
                    raise SitesError("other job", self.agreement.sites[place])
            self._send_all(Kind.START)
        elif kinds == {Kind.ASK}:
            self._deal(payloads)
        elif kinds == {Kind.DONE}:
            if len(set(payloads)) > 1:
                raise SitesError("other union")
            self._send_all(Kind.PUBLISH)
        elif kinds == {Kind.END}:
            self._end()
        else:
            raise SitesError("do not fit")

    def _deal(self, payloads: list[bytes]) -> None:
        asked = sha256(payloads[0]).digest()
        for place, payload in enumerate(payloads[1:], start=1):
            if payload != asked:
                raise SitesError("malformed", self.agreement.sites[place])
        try:
            wanted = Wanted.unpack(payloads[0])
        except ValueError:
            raise SitesError("malformed", self.agreement.sites[0]) from None
        for place, dealt in enumerate(deal(wanted, len(self.sites))):
            self.sites[place].send(Kind.DEALT, dealt.pack())

    def _send_all(self, kind: Kind) -> None:
        for site in self.sites.values():
            site.send(kind)

    def _is_awaited(self, place: int) -> bool:
        return place not in self.sites or self.sites[place].said is None

    async def _watch(self) -> None:
        """Say who is waited for, and end the run where that takes too long."""
        while True:
            self.changed.clear()
            slow: list[str] = []
            for pause in (NOTICE, max(self.patience - NOTICE, 0.0)):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.wait(), pause)
                    break
                places = range(len(self.agreement.sites))
                slow = [self.agreement.sites[p] for p in places if self._is_awaited(p)]
                if len(slow) == len(places):  # all compute, or none has called
                    continue
                for name in slow:
                    self.tell(Message("Waiting for {party}.", party=name))
                    for place, site in self.sites.items():
                        if not self._is_awaited(place):
                            site.send(Kind.WAIT, SitesError("silent", name).pack())
            else:
                self._end(SitesError("silent", slow[0]))
                return
