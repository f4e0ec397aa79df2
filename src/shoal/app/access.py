"""Who may ask the server anything: only a browser that was let in, only from its pages.

Every request passes here first. A name that is not ours in ``Host`` is how another page reaches a
server on this machine (DNS rebinding); an ``Origin`` that is not ours is how another page posts a
form in our name. Both are refused before anything else is looked at.

A key lets one browser in, once. That browser has a session: its pages lie below a path that nobody
can guess, and its cookie is for that path alone. Browsers send cookies of one port to every other
port of the same machine, but only below their path, which other servers do not learn.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from starlette.background import BackgroundTask
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr

from shoal.errors import OptionError
from shoal.io.location import input_files, is_database, parse_location, typed_name
from shoal.io.remote import is_remote

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Hashable, Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


# Which files a page may open: one place decides, for every option that names one.


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Which table is open.

    Attributes:
        kind: ``file`` (read where it lies), ``copy`` (dropped on the page) or ``database``.
        name: what the page calls it; a URL without user and password.
        path: what is read; a URL without a password.
        id: names the folder of its hierarchies.
    """

    kind: str
    name: str
    path: str
    id: str = field(default_factory=lambda: secrets.token_hex(4), compare=False)

    @property
    def lacks_copy(self) -> bool:
        """Whether it is a copy that the end of a server has removed."""
        return self.kind == "copy" and not Path(self.path).exists()


class Allowed:
    """Files that pages may open: those of a folder, and those that were named before.

    Attributes:
        folder: the private folder; what it holds is its own.
        root: files are opened by their path in this folder and below it, and nowhere else.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self.folder, self.root = folder, root
        self._typed: set[str] = set()  # files that somebody named in the terminal

    def _named(self) -> set[str]:
        """Return the files that the settings name already."""
        return set()

    def allow(self, names: Iterable[str]) -> None:
        """Let pages open files that somebody named in the terminal."""
        self._typed.update(names)

    def inside_root(self, path: str) -> Path:
        """Return a path that somebody typed or chose, if it lies where files may be opened.

        Raises:
            OptionError: it lies elsewhere; links are followed first.
        """
        if is_remote(path):
            raise OptionError(
                "Pages open files of this machine and tables of databases, no objects of stores; "
                "'shoal anonymize' does."
            )
        if "\0" in path:
            raise OptionError("No name of a file holds the character NUL.")
        full = (self.root / Path(path).expanduser()).resolve()
        if not full.is_relative_to(self.root):
            raise OptionError(
                "Files are opened only in {root!r} and below; drop the file on the page, or "
                "start 'shoal app' with --files and the folder it lies in.",
                root=str(self.root),
            )
        return full

    def check_database(self, url: str, *, anywhere: bool = False) -> Opened:
        """Return a table of a database as it may be remembered.

        Args:
            url: of the table.
            anywhere: whether its file may lie outside the root: somebody typed it in the terminal.

        Raises:
            OptionError: the URL is none, or its file lies elsewhere.
        """
        location = parse_location(url)
        if "url" in location.options:
            self.inside_root(location.options["url"])  # which says why not
        if location.path is not None and not anywhere:
            self.inside_root(str(location.path))
        return Opened(kind="database", name=location.shown, path=typed_name(url))

    def may_open(self, name: str) -> str:
        """Return a file that a job names, or refuse it: here alone it is decided.

        A page opens what the terminal named, what the job names already, what is its own, and
        what lies in the root; a folder or a pattern, if all that it stands for lies there.

        Raises:
            ShoalError: it lies elsewhere, or there is none.
        """
        if name in self._typed or name in self._named():
            return name
        if is_database(name):
            self.check_database(name)
            return name
        own = ((self.folder / each).resolve() for each in ("data", "hierarchies"))
        if "\0" not in name and any(Path(name).resolve().is_relative_to(each) for each in own):
            return name
        full = self.inside_root(name)
        for each in input_files(str(full)):
            if not self.inside_root(each).is_file():
                raise OptionError(
                    "There is no file {name!r} in {root!r}.", name=name, root=str(self.root)
                )
        return str(full)


# Connections that have shown no key yet: how many there may be, and for how long.


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


CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # not "no-referrer": browsers would then send no origin with a form, and it is checked
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_READING = frozenset({"GET", "HEAD"})
_CLOSED = (
    "This page is open to one browser only. Open the address that 'shoal app' printed last in its "
    "terminal; it ends with a key, and each key opens the page once."
)
_ELSEWHERE = (
    "This request comes from another page. Type or copy the address into the browser instead."
)
LOGIN = "/login"
SESSION = "shoal.session"
"""Where a request says which session it belongs to, in its scope."""


def is_loopback(host: str) -> bool:
    """Tell whether a name or an address is this machine and no other can reach it."""
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def leads_to(address: str) -> str:
    """Return a page that goes on to an address; a browser counts that as a step of that page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Shoal</title>\n'
        '<link rel="icon" href="data:,">\n'  # else browsers ask for one
        f'<meta http-equiv="refresh" content="0; url={address}"></head>\n'
        f'<body><p><a href="{address}">Shoal</a></p></body></html>\n'
    )


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Session:
    """A browser that was let in.

    Attributes:
        name: the beginning of the path of all its pages.
        token: what its cookie holds.
        flashes: sentences for its next page, each with its kind.
    """

    name: str = field(default_factory=_secret, repr=False)
    token: str = field(default_factory=_secret, repr=False)
    flashes: list[tuple[str, str]] = field(default_factory=list, repr=False)

    @property
    def path(self) -> str:
        """Where its pages begin."""
        return f"/{self.name}"


@dataclass(frozen=True)
class Guard:
    """What is let in.

    Attributes:
        host: the name or address that the server is bound to.
        port: its port.
        tls: whether it speaks TLS.
        password: asked for instead of a key; None where only this machine can reach the server.
        door: keeps connections without a session few and short.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    tls: bool = False
    password: str | None = field(default=None, repr=False)
    door: Door = field(default_factory=Door, repr=False)
    _invited: dict[bytes, Callable[[], object]] = field(default_factory=dict, repr=False)
    _sessions: dict[bytes, Session] = field(default_factory=dict, repr=False)

    @property
    def origins(self) -> frozenset[str]:
        """Every origin that is ours."""
        names = {"127.0.0.1", "localhost", "[::1]"} if is_loopback(self.host) else set()
        names.add(f"[{self.host}]" if ":" in self.host else self.host.lower())
        scheme, usual = ("https", 443) if self.tls else ("http", 80)
        found = {f"{scheme}://{name}:{self.port}" for name in names}
        if self.port == usual:
            found |= {f"{scheme}://{name}" for name in names}
        return frozenset(found)

    @property
    def hosts(self) -> frozenset[str]:
        """What the header ``Host`` may say."""
        return frozenset(origin.partition("//")[2] for origin in self.origins)

    @property
    def cookie(self) -> str:
        """The name of the cookie; cookies do not tell ports apart, so the name does."""
        return f"shoal_{self.port}"

    @property
    def address(self) -> str:
        """The address without the key."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{name}:{self.port}/"

    def invite(self, then: Callable[[], object] = lambda: None) -> str:
        """Return an address with a new key, which lets one browser in.

        Args:
            then: called when the key is used, which is then worth nothing.
        """
        key = _secret()
        self._invited[_digest(key)] = then
        return f"{self.address}?key={key}"

    def is_password(self, given: str) -> bool:
        """Tell whether this is the password, in a time that tells nothing."""
        if self.password is None:
            return False
        return hmac.compare_digest(_digest(given), _digest(self.password))

    def let_in(self, then: Callable[[], object] = lambda: None) -> Response:
        """Return the answer that gives a browser a session.

        It is a page that goes on by itself: after a redirect, a browser that came from elsewhere
        would not send its cookie.
        """
        session = Session()
        self._sessions[_digest(session.name)] = session
        response = HTMLResponse(leads_to(f"{session.path}/"), background=BackgroundTask(then))
        response.set_cookie(
            self.cookie,
            session.token,
            httponly=True,
            samesite="strict",
            secure=self.tls,
            path=session.path,
        )
        return response

    def use_key(self, scope: Scope) -> Response | None:
        """Return the answer to a request that brings a key; None if it brings none that is good."""
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if scope["path"] != "/" or scope["method"] != "GET" or "key" not in query:
            return None
        then = self._invited.pop(_digest(query["key"][0]), None)
        return None if then is None else self.let_in(then)

    def session_of(self, path: str, headers: Headers) -> Session | None:
        """Return the session whose path is asked for, if its cookie comes along."""
        session = self._sessions.get(_digest(path[1:].partition("/")[0]))
        if session is None:
            return None
        # Another server of this machine can add cookies of the same name.
        pairs = [each.strip().partition("=") for each in headers.get("cookie", "").split(";")]
        given = [_digest(value) for name, _, value in pairs if name == self.cookie]
        token = _digest(session.token)
        return session if any(hmac.compare_digest(each, token) for each in given) else None

    def comes_from_us(self, method: str, headers: Headers) -> bool:
        """Tell whether a request comes from a page of ours, or from no page at all."""
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self.origins:
            return False
        if method not in _READING and origin is None:
            return False
        # Browsers say who asks; a link on somebody's page is no reason to answer.
        return headers.get("sec-fetch-site", "none") in {"none", "same-origin"}


class Guarded:
    """The application behind its guard; the outermost layer, so that nothing passes beside it."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no page of ours opens a socket
            return
        headers = Headers(scope=scope)
        session = self._guard.session_of(scope["path"], headers)
        refusal = self._refusal(scope, headers, session)
        if session is not None:
            inner = scope["path"][len(session.path) :] or "/"
            scope = {**scope, "path": inner, SESSION: session}
            if refusal is None:
                self._guard.door.forget(scope["client"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if session is not None and headers.get("location", "").startswith("/"):
                    headers["location"] = session.path + headers["location"]
            await send(message)

        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope, headers: Headers, session: Session | None) -> Response | None:
        """Return what is answered instead of the page; None lets the request pass."""
        guard = self._guard
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in guard.hosts:
            return PlainTextResponse("This server has another name.", status_code=421)
        # A key may come from anywhere: a file of ours leads here, and whoever has it is let in.
        if entered := guard.use_key(scope):
            return entered
        if not guard.comes_from_us(scope["method"], headers):
            return PlainTextResponse(_ELSEWHERE, status_code=403)
        return self._unknown(scope) if session is None else None

    def _unknown(self, scope: Scope) -> Response | None:
        """Return what a browser without a session is told."""
        if self._guard.password is None:
            return PlainTextResponse(_CLOSED, status_code=403)
        if scope["path"] in {LOGIN, "/static/app.css"}:
            return None
        if scope["method"] in _READING:
            return RedirectResponse(LOGIN, status_code=303)
        return PlainTextResponse(_CLOSED, status_code=403)
