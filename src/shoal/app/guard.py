"""Who may ask the server anything: only the browser that was given the key, only from its pages.

Every request passes here first. A name that is not ours in ``Host`` is how another page reaches a
server on this machine (DNS rebinding); an ``Origin`` that is not ours is how another page posts a
form in our name. Both are refused before the key is looked at.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CONTENT_POLICY", "Guard", "Guarded", "is_loopback"]

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
    "This page is open to one browser only. Open the address that 'shoal app' printed in its "
    "terminal; it ends with a key."
)
_ELSEWHERE = (
    "This request comes from another page. Type or copy the address into the browser instead."
)
LOGIN = "/login"


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


@dataclass(frozen=True)
class Guard:
    """What is let in.

    Attributes:
        host: the name or address that the server is bound to.
        port: its port.
        tls: whether it speaks TLS.
        password: asked for instead of the key; None where only this machine can reach the server.
        key: in the address that is printed; whoever has it gets the cookie.
        token: what the cookie holds. Not the key, which stays in the history of the browser.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    tls: bool = False
    password: str | None = field(default=None, repr=False)
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

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

    @property
    def address_with_key(self) -> str:
        """What is printed and opened; with a password there is no key to print."""
        return self.address if self.password is not None else f"{self.address}?key={self.key}"

    def is_key(self, given: str) -> bool:
        """Tell whether this is the key, in a time that tells nothing."""
        return self.password is None and hmac.compare_digest(_digest(given), _digest(self.key))

    def is_password(self, given: str) -> bool:
        """Tell whether this is the password, in a time that tells nothing."""
        if self.password is None:
            return False
        return hmac.compare_digest(_digest(given), _digest(self.password))

    def let_in(self, where: str = "/") -> Response:
        """Return the answer that gives a browser its cookie."""
        response = RedirectResponse(where, status_code=303)
        response.set_cookie(
            self.cookie, self.token, httponly=True, samesite="strict", secure=self.tls, path="/"
        )
        return response

    def knows(self, headers: Headers) -> bool:
        """Tell whether a request carries the cookie."""
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(_digest(found.value), _digest(self.token))

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
        refusal = self._refusal(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return what is answered instead of the page; None lets the request pass."""
        guard, headers = self._guard, Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in guard.hosts:
            return PlainTextResponse("This server has another name.", status_code=421)
        if not guard.comes_from_us(scope["method"], headers):
            return PlainTextResponse(_ELSEWHERE, status_code=403)
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if scope["path"] == "/" and "key" in query and guard.is_key(query["key"][0]):
            return guard.let_in()
        return None if guard.knows(headers) else self._unknown(scope)

    def _unknown(self, scope: Scope) -> Response | None:
        """Return what a browser without the cookie is told."""
        if self._guard.password is None:
            return PlainTextResponse(_CLOSED, status_code=403)
        if scope["path"] in {LOGIN, "/static/app.css"}:
            return None
        if scope["method"] in _READING:
            return RedirectResponse(LOGIN, status_code=303)
        return PlainTextResponse(_CLOSED, status_code=403)
