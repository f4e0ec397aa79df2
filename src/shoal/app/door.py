"""Connections that have shown no key yet: how many there may be, and for how long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr

if TYPE_CHECKING:
    import ssl
    from collections.abc import Hashable

__all__ = ["Door"]


class Door:
    """Keeps connections of strangers few and short.

    A connection counts as a stranger's until a request on it comes from a browser that was let in,
    and its TLS handshake counts from the first byte. Where there are too many, the oldest goes: a
    browser of ours says who it is at once.

    Attributes:
        most: how many strangers wait at a time.
        patience: seconds after which a stranger is sent away.
    """

    def __init__(self, most: int = 64, patience: float = 20.0) -> None:
        self.most, self.patience = most, patience
        self._waiting: dict[Hashable, tuple[asyncio.Transport, asyncio.TimerHandle]] = {}

    @property
    def strangers(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def came(self, client: Hashable, transport: asyncio.Transport) -> None:
        """Take note of a new connection."""
        self.forget(client)  # one from the same port that is gone
        timer = asyncio.get_running_loop().call_later(self.patience, transport.abort)
        self._waiting[client] = transport, timer
        if self.strangers > self.most:
            oldest = next(iter(self._waiting))
            self._waiting[oldest][0].abort()
            self.forget(oldest)

    def left(self, client: Hashable, transport: asyncio.Transport | None) -> None:
        """Take note of the end of a connection."""
        if client in self._waiting and self._waiting[client][0] is transport:
            self.forget(client)

    def forget(self, client: Hashable) -> None:
        """Let a connection be: it is of a browser that was let in, or it is gone."""
        if client in self._waiting:
            self._waiting.pop(client)[1].cancel()

    def protocol(self, tls: ssl.SSLContext | None = None) -> type[asyncio.Protocol]:
        """Return the protocol of a server behind this door, which agrees on TLS if that is given.

        The server itself is to know nothing of TLS: it would tell of a connection only after the
        handshake, so that nobody would count those who never end it.
        """
        watched = type("Watched", (_Watched,), {"door": self})
        if tls is None:
            return watched
        return type("Greeting", (_Greeting,), {"door": self, "tls": tls, "behind": watched})


class _Watched(H11Protocol):
    door: Door
    knocked: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.knocked is None:  # else it has been counted since its handshake began
            self.knocked = transport
            self.door.came(self.client, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.door.left(self.client, self.knocked)
        super().connection_lost(exc)


class _Greeting(asyncio.Protocol):
    """A connection until TLS is agreed on; then it is handed over."""

    door: Door
    tls: ssl.SSLContext
    behind: type[_Watched]

    def __init__(self, **given: Any) -> None:
        self._behind = self.behind(**given)
        self._early: list[bytes] = []
        self._gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._behind.knocked = transport
        self.door.came(get_remote_addr(transport), transport)
        self._task = asyncio.get_running_loop().create_task(self._greet(transport))

    async def _greet(self, transport: asyncio.Transport) -> None:
        client, secure = get_remote_addr(transport), None
        try:
            loop = asyncio.get_running_loop()
            secure = await loop.start_tls(transport, self, self.tls, server_side=True)
        except OSError:  # it speaks no TLS, or hung up
            transport.abort()
        if secure is None or self._gone:
            self.door.left(client, transport)
            return
        secure.set_protocol(self._behind)
        self._behind.connection_made(secure)
        for each in self._early:
            self._behind.data_received(each)

    def data_received(self, data: bytes) -> None:
        self._early.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._gone = True
