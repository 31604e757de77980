"""Send HTTP for the search services: one client per event loop, size-capped JSON, our errors."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from agent.core.calls import retry_after_seconds
from agent.core.concurrency import PerLoop
from agent.core.errors import (
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.core.outside import parse_json
from agent.core.proxies import ProxiedTransport
from agent.core.redaction import scrub
from agent.models.connections import tls

MAX_BYTES = 2 << 20
# Many runs search at the same moment; httpx would make the 101st wait.
_CONNECTIONS = httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=30)
_QUOTA = (402, 432, 433)
_STATUSES = frozenset(map(str, range(400, 600)))
_RATE_WORDS = ("rate limit", "too many requests", "rate_limit")
_QUOTA_WORDS = ("credit", "quota", "usage limit", "balance", "enough money")
_KEY_WORDS = ("unauthorized", "api key", "api_key", "apikey")
_LONGEST_MESSAGE = 200
# httpx logs every URL at INFO.
logging.getLogger("httpx").setLevel(logging.WARNING)

Json = dict[str, Any]
Refine = Callable[[int, Any], ProviderError | None]
"""(status, parsed body or None) → the error a service words in its own way, or None."""


class SearchHttp:
    """Hold a client for each event loop, so that graphs on several loops can share this."""

    def __init__(self, *, timeout: float = 20, max_bytes: int = MAX_BYTES) -> None:
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._clients: PerLoop[httpx.AsyncClient] = PerLoop(
            self._open, httpx.AsyncClient.aclose, lambda client: None
        )

    async def post(
        self,
        provider: str,
        url: str,
        body: Json,
        *,
        headers: Mapping[str, str] | None = None,
        refine: Refine | None = None,
        only_objects: bool = True,
    ) -> Any:
        """Return the JSON object of a reply; raise ProviderError.

        Without `only_objects` the reply may be any JSON; None where it is none.
        """
        ask = self._json if only_objects else self._request
        return await ask(provider, "POST", url, refine, json=body, headers=headers)

    async def get(
        self,
        provider: str,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        refine: Refine | None = None,
    ) -> Json:
        """Return the JSON object of a reply to GET; raise ProviderError."""
        return await self._json(provider, "GET", url, refine, params=params, headers=headers)

    async def redirect_target(self, provider: str, url: str) -> str | None:
        """Return the Location that a URL redirects to, without following or reading it."""
        client = await self._clients.get()
        for method in ("HEAD", "GET"):
            try:
                async with client.stream(method, url) as response:
                    if response.is_redirect:
                        return response.headers["location"]
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise _transport_error(provider, error) from None
        return None

    async def aclose(self) -> None:
        """Close the clients of all loops; those of loops that have ended are dropped."""
        await self._clients.aclose()

    async def _open(self) -> httpx.AsyncClient:
        # Reading the certificates blocks for tens of milliseconds.
        return _new_client(self._timeout, await asyncio.to_thread(tls))

    async def _json(
        self, provider: str, method: str, url: str, refine: Refine | None, **request: Any
    ) -> Json:
        parsed = await self._request(provider, method, url, refine, **request)
        if not isinstance(parsed, dict):
            raise MalformedReply(provider, "the reply is not a JSON object")
        return parsed

    async def _request(
        self, provider: str, method: str, url: str, refine: Refine | None, **request: Any
    ) -> Any:
        client = await self._clients.get()
        try:
            async with client.stream(method, url, **request) as response:
                raw = await self._read(provider, response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _transport_error(provider, error) from None
        parsed = _parse(raw)
        if refine and (refined := refine(response.status_code, parsed)):
            raise refined
        if failed := _failure(provider, response, raw, parsed):
            raise failed
        return parsed

    async def _read(self, provider: str, response: httpx.Response) -> bytes:
        raw = bytearray()
        async for chunk in response.aiter_bytes():
            raw += chunk
            if len(raw) > self._max_bytes:
                raise MalformedReply(
                    provider, f"the reply is larger than {self._max_bytes} bytes", code="too_large"
                )
        return bytes(raw)


def error_message(body: Any) -> str:
    """Return the message of an error body, without keys, at most 200 characters."""
    while isinstance(body, dict):
        body = next((body[k] for k in ("error", "detail", "message", "msg") if body.get(k)), "")
    return " ".join(scrub(body).split())[:_LONGEST_MESSAGE] if isinstance(body, str) else ""


def _new_client(timeout: float, context: ssl.SSLContext) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
        transport=ProxiedTransport(verify=context, limits=_CONNECTIONS),
        headers={"accept": "application/json"},
    )


def _parse(raw: bytes) -> Any:
    try:
        return parse_json(raw)
    except ValueError:
        return None


def _transport_error(provider: str, error: Exception) -> ProviderError:
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return ProviderRefused(
            provider,
            f"{provider.upper()}_BASE_URL is not a usable http(s) address",
            code="search_misconfigured",
        )
    if isinstance(error, httpx.DecodingError):
        return MalformedReply(provider, "the reply cannot be decoded")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return ProviderUnavailable(provider, "cannot be reached", code="unreachable")
    if isinstance(error, httpx.TimeoutException):
        return ProviderUnavailable(provider, "no answer in time", code="timeout")
    if isinstance(error, httpx.ProxyError):
        return ProviderUnavailable(provider, "the proxy does not let us through", code="proxy")
    return ProviderUnavailable(provider, f"connection failed ({type(error).__name__})")


def _failure(
    provider: str, response: httpx.Response, raw: bytes, parsed: Any
) -> ProviderError | None:
    """Return the error of a reply by its status, or by an error object under HTTP 200."""
    if parsed is None and response.status_code < 500 and raw.lstrip()[:1] == b"<":
        message = f"HTTP {response.status_code}: a web page came instead of a reply"
        kind = MalformedReply if response.is_success else ProviderRefused
        return kind(provider, message, code="web_page")
    detail = error_message(parsed)
    if response.is_success:
        body = parsed if isinstance(parsed, dict) else {}
        if not (body.get("error") or body.get("detail")):
            return None
        return _refusal(provider, response, _status_within(body), detail)
    return _refusal(provider, response, response.status_code, detail)


def _status_within(body: Json) -> int:
    """Return the HTTP status that an error object names; 400 where it names none."""
    inner = body["error"] if isinstance(body.get("error"), dict) else body
    named = (str(inner.get(name)) for name in ("code", "status", "statusCode"))
    return next((int(word) for word in named if word in _STATUSES), 400)


def _refusal(provider: str, response: httpx.Response, status: int, detail: str) -> ProviderError:
    message = f"HTTP {status}" + (f": {detail}" if detail else "")
    words = detail.lower()
    if status == 429 or (status < 500 and any(word in words for word in _RATE_WORDS)):
        wait = retry_after_seconds(response.headers.get("retry-after"))
        return RateLimited(provider, message, retry_after=wait)
    if status >= 500 or status == 408:
        return ProviderUnavailable(provider, message)
    if status in _QUOTA or any(word in words for word in _QUOTA_WORDS):
        return ProviderRefused(provider, message, code="search_quota")
    if status == 401 or any(word in words for word in _KEY_WORDS):
        return ProviderRefused(provider, message, code="search_key_invalid")
    if 300 <= status < 400:
        message = f"{message}, a redirect; is {provider.upper()}_BASE_URL right?"
        return ProviderRefused(provider, message, code="search_misconfigured")
    return ProviderRefused(provider, message, code="search_refused")
