"""The guard of the page.

It refuses requests that do more than read, name a foreign host, or lack the token.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mead.web.token import Token

METRICS = "/metrics"
MOST_REQUESTS = 48
"""Requests at a time that are not for metrics; fewer than there are connections."""

SLOWEST_S = 30.0
"""A client that does not accept a part of an answer for this long is disconnected."""

LONGEST_QUERY = 60_000
"""Bytes: enough for a question about the largest pipeline, and less than the server reads of a request."""

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

HEADERS = {
    # All content is local. The chart library sets inline styles.
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Whether a server at this host can be reached from this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Hosts:
    """The hosts that a request may name, as a defence against DNS rebinding.

    A foreign site can let its own name point to this machine, and then read the page. It cannot do so with an address,
    or with a name of this machine. Starlette's TrustedHostMiddleware takes a fixed list, but a server on 0.0.0.0 must
    accept any address, and no foreign name.
    """

    bound: str
    also: tuple[str, ...] = ()
    """More names of this machine, from the user."""

    def allow(self, header: str) -> bool:
        """Whether a request may have this ``Host`` header.

        >>> local = Hosts("127.0.0.1")
        >>> [local.allow(host) for host in ("localhost:8765", "127.0.0.1", "[::1]:80", "evil.example", "")]
        [True, True, True, False, False]
        """
        name = _without_port(header).lower()
        if name in LOOPBACK_NAMES or (name and name in {known.lower() for known in (self.bound, *self.also)}):
            return True
        return not is_loopback(self.bound) and (_is_address(name) or name == socket.gethostname().lower())


def _without_port(header: str) -> str:
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@dataclass
class Guard:
    """Refuses requests before the application sees them, and adds security headers to every answer."""

    app: ASGIApp
    hosts: Hosts
    token: Token | None = None
    _requests: int = field(default=0, init=False)
    """Requests that are being answered, without those for metrics."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await asyncio.wait_for(send(message), SLOWEST_S)

        refusal = self._refusal(scope)
        counted = scope["path"] != METRICS
        self._requests += counted
        try:
            await (refusal or self.app)(scope, receive, marked)
        finally:
            self._requests -= counted

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse("this server is read-only; use GET\n", 405, {"Allow": "GET, HEAD"})
        if not self.hosts.allow(headers.get("host", "")):
            return PlainTextResponse(f"this host is not served; use {self.hosts.bound}\n", 421)
        if headers.get("sec-fetch-site") == "cross-site" and scope["path"] != "/":
            return PlainTextResponse("cross-site requests are refused\n", 403)
        if self._requests >= MOST_REQUESTS and scope["path"] != METRICS:
            return PlainTextResponse("too many requests at a time; ask again\n", 503, {"Retry-After": "5"})
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return PlainTextResponse("no request here has a body; leave it out\n", 413, {"Connection": "close"})
        return _bad_query(scope["query_string"]) or _unauthorized(scope, headers, self.token)


def _unauthorized(scope: Scope, headers: Headers, token: Token | None) -> Response | None:
    """The answer to a client that has not presented the token, if there is one.

    Programs present it as a bearer token. A browser presents it once, as ``/?token=...``, and gets a cookie. Cookies
    do not know ports, so the port is part of the name.
    """
    if token is None:
        return None
    cookie = f"mead-token-{scope['server'][1]}"
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.matches(bearer.strip()):
        return None
    if token.matches(cookie_parser(headers.get("cookie", "")).get(cookie, "")):
        return None
    if scope["path"] == "/" and token.matches(QueryParams(scope["query_string"]).get("token", "")):
        welcome = RedirectResponse("/", 303)
        welcome.set_cookie(cookie, token.secret, httponly=True, samesite="lax")
        return welcome
    return PlainTextResponse(
        "this page needs a token: open /?token=TOKEN, or send the header Authorization: Bearer TOKEN\n",
        401,
        {"WWW-Authenticate": 'Bearer realm="mead"'},
    )


def _bad_query(query: bytes) -> PlainTextResponse | None:
    if not query.isascii():
        return PlainTextResponse("write non-ASCII characters in the query as %XX\n", 400)
    if len(query) > LONGEST_QUERY:
        return PlainTextResponse(f"the query is longer than {LONGEST_QUERY} bytes\n", 414)
    return None
