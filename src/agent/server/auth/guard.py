"""Guard the door: every request from outside passes here before the server sees it.

ASGI middleware, the outermost. The server keeps some of its routes outside of its own
authentication, so a path that is not listed as open needs a key, whoever serves it.

How often keys may be guessed is limited: the wrong ones of the last minute count by their address,
the sign-in's among them. Only different keys count: a program that goes on sending a key that was
taken away guesses nothing, and must not keep its whole address waiting.
"""

import asyncio
import ipaddress
import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import NoReturn

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.core.concurrency import BoundedCache
from agent.core.strings import as_sentence
from agent.server.auth.api_keys import (
    HEALTH_PATHS,
    STUDIO,
    TOO_MANY,
    Access,
    access,
    key_digest,
    needs_no_key,
    sent_key,
)
from agent.server.auth.audit import auditing_deletions
from agent.server.auth.hosts import Host, Origin, is_loopback, parse_host, parse_origin

log = logging.getLogger(__name__)

_WINDOW = 60.0
_MOST_PEERS = 4096
_ONE_HOME = 64
"""Bits of an IPv6 address that name a network; whoever has one has all addresses in it."""


class RateLimit:
    """Count wrong keys by peer; `most` is how many of them a minute one may send."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: BoundedCache[str, dict[bytes, float]] = BoundedCache(
            _MOST_PEERS, seconds=_WINDOW, clock=clock
        )

    def wait(self, peer: str, most: int) -> float:
        """Return the seconds until this peer may try again; 0 is now."""
        oldest_first = list((self._failed.get(peer) or {}).values())[-most:]
        if len(oldest_first) < most:
            return 0.0
        return max(0.0, oldest_first[0] + _WINDOW - self._clock())

    def count(self, peer: str, key: str) -> None:
        """Count a wrong key; who has not tried for longest is forgotten where there are many."""
        now = self._clock()
        earlier = self._failed.get(peer) or {}
        digests = {digest: at for digest, at in earlier.items() if at + _WINDOW > now}
        # Not the key itself, which may be a right one with a slip.
        digests.setdefault(key_digest(key), now)
        self._failed.put(peer, digests)


def peer_of(connection: HTTPConnection) -> str:
    """Return whom wrong keys are counted for: the address, of IPv6 its network, or nothing."""
    host = connection.client.host if connection.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.IPv6Network((address, _ONE_HOME), strict=False))


_EXPOSED = "content-location, x-pagination-total, x-pagination-next, mcp-session-id"
_METHODS = "GET, POST, PUT, PATCH, DELETE"
_REMEMBERED_SECONDS = "600"


def is_preflight(method: str, headers: Headers) -> bool:
    """Return whether the request is a CORS preflight."""
    return (
        method == "OPTIONS" and "origin" in headers and "access-control-request-method" in headers
    )


def preflight(origin: str, headers: Headers) -> Response:
    """Answer a preflight of a listed origin, also from a public page into a private network."""
    allowed = {
        "access-control-allow-origin": origin,
        "access-control-allow-methods": _METHODS,
        "access-control-max-age": _REMEMBERED_SECONDS,
        "vary": "Origin, Access-Control-Request-Headers, Access-Control-Request-Private-Network",
    }
    if names := headers.get("access-control-request-headers"):
        allowed["access-control-allow-headers"] = names
    if headers.get("access-control-request-private-network") == "true":
        allowed["access-control-allow-private-network"] = "true"
    return Response(status_code=204, headers=allowed)


def with_cors(origin: str | None, send: Send) -> Send:
    """Replace the server's CORS headers by ours; `origin` is the listed one, or None."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": list(message.get("headers", []))}
            headers = MutableHeaders(raw=message["headers"])
            for name in {name for name in headers if name.startswith("access-control-")}:
                del headers[name]
            headers.add_vary_header("Origin")
            if origin is not None:
                headers["access-control-allow-origin"] = origin
                headers["access-control-expose-headers"] = _EXPOSED
        await send(message)

    return sent


LARGEST_BODY = 1_000_000
"""Bytes; the server's own limit is 300 MB."""
_BODY_SECONDS = 60.0
"""In which a body has to be there that is no file; a piece of a file has its own time."""
DOCUMENTS = "/app/documents"
"""Where a file may be given, which is larger than other bodies; it is written as it comes."""
FILE_TYPE = "application/octet-stream"
_CLOSED = re.compile(r"/+(internal(/|$)|deploy|ui)")
"""Emptying everything, deploying and Studio's components: open in the server, and not ours."""
_LINKED = ("/", "/docs", "/app")
"""What a link on somebody else's page may open; it could set other reads off, but not read them."""
_PROXYS_OWN = re.compile(
    r"via|(x-)?forwarded(-.+)?|.+-(client-?ip|ip|addr)|client-ip"
    r"|x-(real|original|rewrite|envoy|proxy|proxyuser|azure|arr|vercel)-.+"
    r"|x-((url-)?scheme|host|varnish)|front-end-https|(cf|cdn|fastly|fly|tailscale)-.+"
)
"""Headers that proxies, load balancers and tunnels add, and programs on the same machine do not."""
_OPENAIS = "/v1/"
"""Below it clients of OpenAI's API ask, who read errors in its shape."""
_KEY_NEEDED = "a key is needed: x-api-key or Authorization: Bearer"
_BEARER = {"www-authenticate": "Bearer"}
_KEY_UNKNOWN = "this key is not known here: x-api-key or Authorization: Bearer"


@dataclass(frozen=True)
class Refusal:
    """Say why a request gets no further."""

    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)
    remedy: str = ""
    """What the operator can do about it; for the log alone."""


_TOO_SLOW = Refusal(408, "the body did not come in time")


def _too_large(most: int) -> Refusal:
    return Refusal(413, f"the body is larger than {most} bytes")


def _largest_body(connection: HTTPConnection, rules: Access) -> int:
    """Return how many bytes a body may have."""
    kind = connection.headers.get("content-type", "")
    is_file = _path(connection.scope) == DOCUMENTS and kind == FILE_TYPE
    return max(LARGEST_BODY, rules.upload_bytes) if is_file else LARGEST_BODY


class RequestGuard:
    """Guard an ASGI application; in-process calls of the server's own client pass untouched."""

    def __init__(self, app: ASGIApp, rate_limit: RateLimit | None = None) -> None:
        self._app, self._rate_limit = app, rate_limit or RateLimit()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"} or _in_process(scope):
            await self._app(scope, receive, send)
            return
        connection, rules = HTTPConnection(scope), access()
        reply = with_cors(_listed_origin(connection, rules), _nosniff(send))
        if scope["type"] == "http":
            reply = auditing_deletions(scope, reply)
        if denied := refusal(connection, rules, self._rate_limit):
            await _refuse(denied, scope, receive, reply)
        elif is_preflight(_method(scope), connection.headers):
            answer = preflight(connection.headers["origin"], connection.headers)
            await answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._app(scope, _short_messages(receive), send)
        else:
            most = _largest_body(connection, rules)
            await self._with_body_limit(most, scope, receive, reply)

    async def _with_body_limit(self, most: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request as long as its body is not too large; chunked ones are counted."""
        body = _Body(most, scope, receive, send)
        try:
            await self._app(scope, body.receive, body.send)
        except Exception:
            if not body.refusal_sent:
                raise


class _Body:
    """Answer 413 and disconnect where a body has too many bytes, 408 where it is too slow."""

    def __init__(self, most: int, scope: Scope, receive: Receive, send: Send) -> None:
        self._most = most
        self._scope, self._receive, self._send = scope, receive, send
        self._bytes = 0
        self._began = self._whole = False
        self._latest: float | None = None
        self.refusal_sent = False

    async def receive(self) -> Message:
        try:
            async with asyncio.timeout_at(self._deadline()):
                message = await self._receive()
        except TimeoutError:
            await self._end(_TOO_SLOW)
        self._whole = not message.get("more_body", False)
        self._bytes += len(message.get("body", b""))
        if self._bytes > self._most:
            await self._end(_too_large(self._most))
        return message

    def _deadline(self) -> float | None:
        """Return until when a piece is waited for; None for a file, and once the body is there."""
        if self._whole or self._most > LARGEST_BODY:
            return None
        self._latest = self._latest or asyncio.get_running_loop().time() + _BODY_SECONDS
        return self._latest

    async def _end(self, refusal: Refusal) -> NoReturn:
        if not (self.refusal_sent or self._began):
            self.refusal_sent = True
            await _refuse(refusal, self._scope, self._receive, self._send)
        raise ClientDisconnect

    async def send(self, message: Message) -> None:
        if not self.refusal_sent:
            self._began = True
            await self._send(message)


def _nosniff(send: Send) -> Send:
    """Add `nosniff` to every answer."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": list(message.get("headers", []))}
            MutableHeaders(raw=message["headers"])["x-content-type-options"] = "nosniff"
        await send(message)

    return sent


def _short_messages(receive: Receive) -> Receive:
    """Pass a web socket's messages on until one is too large: that ends the conversation."""

    async def receive_short() -> Message:
        message = await receive()
        body = message.get("bytes") or (message.get("text") or "").encode()
        return (
            {"type": "websocket.disconnect", "code": 1009} if len(body) > LARGEST_BODY else message
        )

    return receive_short


def refusal(connection: HTTPConnection, rules: Access, rate_limit: RateLimit) -> Refusal | None:
    """Return why a request from outside may not pass, or None. Wrong keys are counted."""
    path = _path(connection.scope)
    # The server logs the paths that it answers as they are: a line end would begin a line there.
    if _CLOSED.match(path) or not path.isprintable():
        return Refusal(404, "Not Found")
    if path in HEALTH_PATHS:
        return _of_origin(connection, rules) or (
            None if rules.problem else _of_key(connection, rules, rate_limit)
        )
    if rules.problem:
        return Refusal(503, rules.problem)
    return (
        _of_host(connection, rules)
        or _of_peer(connection, rules)
        or _of_origin(connection, rules)
        or _of_length(connection, rules)
        or _of_key(connection, rules, rate_limit)
        or _of_foreign_script(path, rules)
    )


def _of_host(connection: HTTPConnection, rules: Access) -> Refusal | None:
    """Refuse foreign names: a page can have its own lead here (DNS rebinding)."""
    host = _host(connection)
    if host and rules.answers_to(host):
        return None
    return Refusal(403, "the server does not go by this Host: TANLU_ALLOWED_HOSTS names others")


def _of_peer(connection: HTTPConnection, rules: Access) -> Refusal | None:
    """Refuse, without keys, all but this machine, unless the operator named hosts to be reached by.

    A proxy on this machine makes strangers look like neighbours, but mostly says that it is one.
    """
    if not rules.open or rules.is_exposed:
        return None
    peer = connection.client.host if connection.client else ""
    if is_loopback(peer) and not _through_a_proxy(connection):
        return None
    return Refusal(403, "without TANLU_API_KEYS the server answers this machine only")


def _through_a_proxy(connection: HTTPConnection) -> bool:
    # nginx as it is installed adds no header, but asks in HTTP/1.0, which no client does any more.
    old = connection.scope.get("http_version") == "1.0"
    return old or any(_PROXYS_OWN.fullmatch(name) for name in connection.headers)


def _of_origin(connection: HTTPConnection, rules: Access) -> Refusal | None:
    """Keep pages of others from driving the server with their visitor's access."""
    if "origin" not in connection.headers:
        origin, foreign = None, _led_here(connection)
    else:
        origin = _origin(connection)
        foreign = not origin or not (_own(origin, connection) or _is_listed(origin, rules))
    if not foreign:
        return None
    detail = "pages of this origin may not call the server: see TANLU_CORS_ORIGINS"
    remedy = f"to let its pages in, add {origin} to TANLU_CORS_ORIGINS" if origin else ""
    return Refusal(403, detail, remedy=remedy)


def _of_length(connection: HTTPConnection, rules: Access) -> Refusal | None:
    length, most = connection.headers.get("content-length", "0"), _largest_body(connection, rules)
    if length.isascii() and length.isdigit() and int(length[:20]) <= most:
        return None
    return _too_large(most)


def _of_key(connection: HTTPConnection, rules: Access, rate_limit: RateLimit) -> Refusal | None:
    free = needs_no_key(_path(connection.scope)) or is_preflight(
        _method(connection.scope), connection.headers
    )
    if free or rules.open:
        return None
    key, peer = sent_key(connection.headers), peer_of(connection)
    if not key:
        return Refusal(401, _KEY_NEEDED, _BEARER)
    # Before the key is looked at: an answer to the right one would tell it from the wrong ones.
    if wait := rate_limit.wait(peer, rules.wrong_keys):
        return Refusal(429, TOO_MANY, {"retry-after": str(ceil(wait))})
    if rules.owner_of(key) is not None:
        return None
    rate_limit.count(peer, key)
    return Refusal(401, _KEY_UNKNOWN, _BEARER)


def _of_foreign_script(path: str, rules: Access) -> Refusal | None:
    """Refuse /docs with keys: it loads a foreign script, which could act with the cookie."""
    if rules.open or path.strip("/") != "docs":
        return None
    return Refusal(404, "not shown with keys, for it loads a script from elsewhere: /openapi.json")


def _led_here(connection: HTTPConnection) -> bool:
    """Return whether another site's page makes the browser ask, other than by a link."""
    headers = connection.headers
    if headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
        return False
    followed = (_method(connection.scope), headers.get("sec-fetch-mode"),
                headers.get("sec-fetch-dest"))  # fmt: skip
    path = _path(connection.scope)
    linked = path in (*_LINKED, *HEALTH_PATHS) or path.startswith(("/app/", "/shared/"))
    return not linked or followed != ("GET", "navigate", "document")


def of_own_page(connection: HTTPConnection) -> bool:
    """Return whether no page but the server's own asks; a program says nothing of a page."""
    origin = _origin(connection)
    return "origin" not in connection.headers or bool(origin and _own(origin, connection))


def _own(origin: Origin, connection: HTTPConnection) -> bool:
    host = _host(connection)
    return host is not None and origin.is_of(host, connection.scope["scheme"])


def _is_listed(origin: Origin, rules: Access) -> bool:
    return str(origin) in rules.origins or (rules.open and str(origin) == STUDIO)


def _listed_origin(connection: HTTPConnection, rules: Access) -> str | None:
    """Return the request's origin as sent, where pages of it may read the answer."""
    origin = _origin(connection)
    return connection.headers["origin"] if origin and _is_listed(origin, rules) else None


def _origin(connection: HTTPConnection) -> Origin | None:
    return parse_origin(connection.headers.get("origin", ""))


def _host(connection: HTTPConnection) -> Host | None:
    named = connection.headers.getlist("host")
    return parse_host(named[0]) if len(named) == 1 else None


def _path(scope: Scope) -> str:
    """Return the path as our routes know it, that is below what the server is mounted at."""
    return str(scope["path"]).removeprefix(scope.get("root_path", ""))


def _method(scope: Scope) -> str:
    return str(scope.get("method", "GET"))


def _in_process(scope: Scope) -> bool:
    """Return whether the server's own client asks; no request from outside can look so."""
    root: str = scope.get("root_path", "")
    return root == "/noauth" or root.startswith("/noauth/")


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    level = logging.WARNING if refusal.remedy else logging.INFO
    words = "; ".join(filter(None, (refusal.detail, refusal.remedy)))
    log.log(level, "%s for %r: %s", refusal.status, _path(scope)[:200], words)
    detail = as_sentence(refusal.detail)
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": detail})
        return
    body: dict[str, object] = {"detail": detail}
    if _path(scope).startswith(_OPENAIS):
        kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
        body["error"] = {"message": detail, "type": kind, "param": None, "code": None}
    answer = JSONResponse(body, refusal.status, refusal.headers)
    await answer(scope, receive, send)
