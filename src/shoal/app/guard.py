"""Who may ask the server anything: only a browser that was let in, only from its pages.

Every request passes here first. A name that is not ours in ``Host`` is how another page reaches a
server on this machine (DNS rebinding); an ``Origin`` that is not ours is how another page posts a
form in our name. Both are refused before anything else is looked at.

A key lets one browser in, once. That browser has a session: its pages lie below a path that nobody
can guess, and its cookie is for that path alone. Browsers send cookies of one port to every other
port of the same machine, but only below their path, which other servers do not learn.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.background import BackgroundTask
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from shoal.app.door import Door

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CONTENT_POLICY", "SESSION", "Guard", "Guarded", "Session", "is_loopback", "leads_to"]

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
