"""Connections that have shown no key yet: how many there may be, and for how long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["Door"]


class Door:
    """Keeps connections of strangers few and short.

    A connection counts as a stranger's until a request on it comes from a browser that was let in.
    Where there are too many, the oldest goes: a browser of ours says who it is at once.

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
        timer = asyncio.get_running_loop().call_later(self.patience, transport.abort)
        self._waiting[client] = transport, timer
        if self.strangers > self.most:
            oldest = next(iter(self._waiting))
            self._waiting[oldest][0].abort()
            self.forget(oldest)

    def forget(self, client: Hashable) -> None:
        """Let a connection be: it is of a browser that was let in, or it is gone."""
        if client in self._waiting:
            self._waiting.pop(client)[1].cancel()

    def protocol(self) -> type[H11Protocol]:
        """Return the protocol of a server behind this door."""
        door = self

        class Watched(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                door.came(self.client, transport)

            def connection_lost(self, exc: Exception | None) -> None:
                door.forget(self.client)
                super().connection_lost(exc)

        return Watched
